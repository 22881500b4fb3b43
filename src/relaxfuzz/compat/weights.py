"""Large constants by reference: their bytes are in files, not in the JSON of modules.

In a process for which `VARIABLE` names a folder, JSON of a module has a short tensor in place of
each large constant, with the name of a file in the folder. The name is a digest of the contents, so
that equal constants are one file, which all processes map into memory. The JSON of ViT-B/32 takes
0.4 MB and 0.5 s, not 476 MB and 4 s.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import math
import mmap
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FOLDER = "weights"
"""The name of the folder among findings."""

VARIABLE = "RELAXFUZZ_WEIGHTS"
"""The environment variable with the folder of the files; unset: constants are in the JSON."""

LARGE = 1 << 14
"""The least bytes of a constant that goes into a file."""

MOST = 1 << 24
"""Most bytes of large constants in the JSON of a finding. Those of ViT-B/32, written into it, took
45 s and 3.8 GB of memory for each finding."""

_MARK = b"relaxfuzz weight: "
"""The mark of a short tensor; its base64 has no slash."""

_HEADER = struct.Struct("<QQiiiBBH")
"""The header of a tensor as TVM writes it: magic, reserved, device, rank, dtype."""

_MAGIC = 0xDD5E40F096B4A13F
_BLOB = re.compile(rb'"([A-Za-z0-9+/\\]{%d,}={0,2})"' % (LARGE * 4 // 3))
"""A large tensor in base64, with slashes escaped as JSON may have them."""
_DTYPES = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64"}
_DTYPES |= {(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)}
_DTYPES |= {(2, bits): f"float{bits}" for bits in (16, 32, 64)}


@contextlib.contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Keep large constants in this folder in the context, for this process and its children."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder.absolute())
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before
        with contextlib.suppress(OSError):  # it is not empty, or does not exist
            folder.rmdir()


def use(folder: Path) -> None:
    """Read the modules of this folder's findings, if their large constants are in files."""
    if VARIABLE not in os.environ and folder.is_dir():
        os.environ[VARIABLE] = str(folder.absolute())
        install()


def beside(path: Path) -> Iterator[Path]:
    """The folders that may have the constants of the module in a file."""
    home = path.absolute().parent
    yield from (folder for each in (home, home.parent) if (folder := each / FOLDER).is_dir())


def use_beside(path: str) -> None:
    """Read the module of a reproducer, whose large constants are in a folder near its file."""
    for folder in itertools.islice(beside(Path(path)), 1):
        use(folder)


def bring(text: str, to: Path, origins: Iterable[Path] = ()) -> None:
    """Link the files that JSON in a text needs into a folder, from the first folder that has them.

    Symbolic links are left out, since they may lead anywhere.

    Args:
        origins: the folders; none: the one in use.
    """
    if not is_short(text):
        return
    folders = [*origins] or [Path(os.environ[VARIABLE])]
    for name in {Path(each).name for each in _files(text)}:
        there = next((path for each in folders if (path := each / name).is_file()), None)
        if there is not None and not there.is_symlink() and not (to / name).exists():
            to.mkdir(parents=True, exist_ok=True)
            try:
                os.link(there, to / name)
            except OSError:  # another file system
                shutil.copyfile(there, to / name)


def install() -> None:
    """Make TVM's own functions for JSON leave large constants in files, if a folder is named.

    All processes that exchange modules use these functions; the text of checks in reproducers,
    which others run, stays the same.
    """
    from tvm_ffi import serialization

    if hasattr(serialization.to_json_graph_str, "plain"):
        return
    save, load = serialization.to_json_graph_str, serialization.from_json_graph_str

    def saved(value: Any, metadata: Any = None) -> str:
        if VARIABLE not in os.environ:
            return str(save(value, metadata))
        with _left_out(value):
            return str(save(value, metadata))

    def loaded(text: str) -> Any:
        value = load(text)
        if is_short(text):
            _put_back(value)
        return value

    saved.plain = save  # type: ignore[attr-defined]
    serialization.to_json_graph_str = saved
    serialization.from_json_graph_str = loaded


def whole(text: str) -> str:
    """The JSON of a module with its constants, which any TVM can read.

    Constants of more than `MOST` bytes together stay in their files.
    """
    if not is_short(text) or in_files(text):
        return text
    from tvm_ffi import serialization

    metadata = json.loads(text).get("metadata")
    save = getattr(serialization.to_json_graph_str, "plain", serialization.to_json_graph_str)
    return str(save(serialization.from_json_graph_str(text), metadata))


def is_short(text: str) -> bool:
    """True if constants of the JSON of a module are in files."""
    return _TEXT_MARK in text


def in_files(text: str) -> bool:
    """True if constants of the JSON of a module stay in files, being more than `MOST` bytes."""
    if not is_short(text):
        return False
    folder = Path(os.environ[VARIABLE])
    return sum((folder / name).stat().st_size for name in _files(text)) > MOST


def sweep(folder: Path, texts: Iterable[str]) -> None:
    """Remove the files that none of these texts with JSON of modules needs."""
    if folder.is_dir():
        needed = set().union(*map(_files, texts))
        for path in folder.iterdir():
            if path.name not in needed:
                path.unlink()


def _files(text: str) -> set[str]:
    """The names of the files that JSON in a text needs."""
    rests = (base64.b64decode(each.replace("\\", "")) for each in _SHORT.findall(text))
    return {rest.partition(b" ")[0].decode() for rest in rests}


def read(path: Path, most: int) -> bytes | None:
    """The JSON of a file without its large constants, which become files of the folder.

    Returns:
        None if more than `most` bytes are left.
    """
    parts, size, at = [], 0, 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for found in _BLOB.finditer(data):
            if (short := _extracted(found[1])) is not None:
                parts += [data[at : found.start(1)], short]
                size += len(parts[-1]) + len(parts[-2])
                at = found.end(1)
            if size > most:
                return None
        if size + len(data) - at > most:
            return None
        return b"".join([*parts, data[at:]])


def _extracted(blob: bytes) -> bytes | None:
    """The text of the short tensor for a large one; None if the text is not a large tensor."""
    try:
        stream = memoryview(base64.b64decode(blob.replace(b"\\", b""), validate=True))
        magic, reserved, device, id, rank, code, bits, lanes = _HEADER.unpack_from(stream)
        shape = struct.unpack_from(f"<{rank}q", stream, _HEADER.size)
    except (ValueError, struct.error):
        return None
    dtype = _DTYPES.get((code, bits))
    begin = _HEADER.size + 8 * rank + 8
    if magic != _MAGIC or dtype is None or lanes != 1 or device != 1:
        return None
    if len(stream) - begin != math.prod(shape) * bits // 8:
        return None
    short = _kept(stream[begin:], dtype, shape)
    head = _HEADER.pack(_MAGIC, reserved, device, id, 1, 1, 8, 1)
    return base64.b64encode(head + struct.pack("<qq", len(short), len(short)) + short)


def _kept(data: Any, dtype: str, shape: Any) -> bytes:
    """Keep the bytes of a tensor in a file, and return the contents of its short tensor."""
    kind = json.dumps([dtype, list(map(int, shape))], separators=(",", ":"))
    name = hashlib.blake2b(data, digest_size=16, key=kind.encode()[:64]).hexdigest()
    folder = Path(os.environ[VARIABLE])
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        os.replace(file.name, folder / name)
    return _MARK + f"{name} {kind}".encode()


_known: dict[bytes, Any] = {}
"""Tensors by the contents of the short ones: one for all modules of this process."""


def _tensor(short: bytes) -> Any:
    import numpy as np
    import tvm_ffi

    if short not in _known:
        name, _, kind = short.removeprefix(_MARK).decode().partition(" ")
        dtype, shape = json.loads(kind)
        path = Path(os.environ[VARIABLE]) / Path(name).name
        data = np.memmap(path, dtype, mode="c", shape=tuple(shape))
        _known[short] = tensor = tvm_ffi.from_dlpack(np.asarray(data))
        _contents[hash(tensor)] = short
    return _known[short]


_contents: dict[int, bytes] = {}
"""Digests of the contents of the tensors in `_known`, by their addresses."""


def content(value: Any) -> int:
    """A hash of an IR node or module, its constants included: equal for structurally equal ones.

    Constants that came out of files, which nobody writes to, are not read again: ViT-B/32 takes
    10 ms instead of 200.
    """
    import tvm_ffi

    plain = tvm_ffi.structural_hash
    if not _contents:
        return int(plain(value, map_free_vars=True))
    tensors = map(_data, _constants(value))
    marks = [_contents.get(hash(each)) or b"%d" % plain(each) for each in tensors]
    whole = int(plain(value, map_free_vars=True, skip_tensor_content=True))
    return whole ^ int.from_bytes(hashlib.blake2b(b" ".join(marks), digest_size=7).digest())


@contextlib.contextmanager
def _left_out(value: Any) -> Iterator[None]:
    """Replace large constants in the value by short tensors in the context."""
    import tvm

    changed = []
    try:
        for const in _constants(value):
            tensor = _data(const)
            if (short := _shortened(tensor)) is not None:
                changed.append((const, tensor))
                _set(const, tvm.runtime.tensor(_bytes(short)))
        yield
    finally:
        for const, tensor in changed:
            _set(const, tensor)


def _shortened(tensor: Any) -> bytes | None:
    """The contents of the short tensor for a large one; None for any other.

    A tensor that came out of a file, which nobody writes to, is not read again: that was a quarter
    of the time of `relaxfuzz check` on ResNet-18.
    """
    if (known := _contents.get(hash(tensor))) is not None:
        return known
    array = _array(tensor)
    if array is None or array.nbytes < LARGE:
        return None
    return _kept(memoryview(array.reshape(-1)).cast("B"), str(array.dtype), array.shape)


def _put_back(value: Any) -> None:
    for const in _constants(value):
        array = _array(_data(const))
        if array is not None and str(array.dtype) == "uint8" and array.ndim == 1:
            short = array.tobytes()
            if short.startswith(_MARK):
                _set(const, _tensor(short))


def _bytes(short: bytes) -> Any:
    import numpy as np

    return np.frombuffer(short, "uint8")


def _constants(value: Any) -> list[Any]:
    """The nodes of constant tensors, each once."""
    import tvm
    import tvm_ffi

    from .ir import GenericConst

    found: dict[int, Any] = {}

    def find(node: Any) -> None:
        found[hash(node)] = node

    tvm_ffi.structural_walk(value, (GenericConst, find))
    return [node for node in found.values() if isinstance(_data(node), tvm.runtime.Tensor)]


def _data(const: Any) -> Any:
    from .ir import constant_data

    return constant_data(const)


def _array(tensor: Any) -> Any:
    """The elements, without a copy; None if NumPy does not support the tensor."""
    import numpy as np

    try:
        array = np.from_dlpack(tensor)
    except (RuntimeError, TypeError, ValueError, BufferError):
        return None
    return array if str(array.dtype) in _DTYPES.values() and array.flags.c_contiguous else None


def _set(const: Any, tensor: Any) -> None:
    """Exchange the tensor of a constant that nothing has read yet, or reads meanwhile."""
    fields = {field.name: field for field in type(const).__tvm_ffi_type_info__.fields}
    fields["value" if "value" in fields else "data"].setter(const, tensor)


_TEXT_MARK = base64.b64encode(_MARK[: len(_MARK) // 3 * 3]).decode()
"""The mark in a text with short tensors; the 48 bytes before it are a multiple of three."""

_SHORT = re.compile(rf"{_TEXT_MARK}([A-Za-z0-9+/\\]+=*)")
"""The rest of the contents of a short tensor."""
