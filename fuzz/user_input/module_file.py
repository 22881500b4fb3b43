"""A module file of the user's, read where that can do no harm: in a child of the zygote.

A Python file is somebody's program. It is executed in a process of its own, which leaves the
module as TVM JSON. JSON, from there or from the user, is data; still TVM's reader may crash on it,
and so may its checkers. So it is read in a second process, in which no program of the user's ran.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import math
import re
import signal
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import tvm

from ...generators.tvm_api import load_json, save_json, upgraded_json
from ...oracles.structural.checkers import flaw
from ..output.readable import sentence
from ..system.sandbox import HUNG, OUT_OF_MEMORY, ForkLimits, run_in_fork
from .mistake import Mistake
from .node_graph import BadGraph, examine

GIGABYTE = 1 << 30
MOST = GIGABYTE // 4
"""Bytes of a file, and of the JSON of its module: constants of 190 MB."""
MEMORY = 4 * GIGABYTE

RESULT = "module.json"
"""What the reader leaves in its folder."""
_BUILT, _PROBLEM = "built.json", "problem.txt"

PREFERRED = ("mod", "Module", "module")

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class BadModule(Mistake):
    """The file gives no well-formed module; the text says why in one sentence."""


def read(path: Path, folder: Path, *, well_formed: bool, seconds: float) -> str | None:
    """Read a module file; the module's JSON is left in `folder`.

    Args:
        well_formed: refuse a module that is not.
        seconds: for executing a Python file, and again for reading what it made.

    Returns:
        Why there is no module, in one sentence; None where there is one.
    """
    fence = ForkLimits(seconds, MEMORY, 2 * MOST)
    built = path
    is_program = path.suffix == ".py"
    if is_program:
        built = folder / _BUILT
        said = _told(lambda: _build(path, built), path, fence, folder)
        if said is not None:
            return said
    return _told(lambda: _take(built, path, folder, well_formed, is_program), path, fence, folder)


def _told(work: Callable[[], None], path: Path, fence: ForkLimits, folder: Path) -> str | None:
    """Do it apart; what was wrong with the file."""
    problem = folder / _PROBLEM

    def guarded() -> None:
        try:
            work()
        except BadModule as error:
            problem.write_text(str(error), encoding="utf-8", errors="backslashreplace")

    code = run_in_fork(guarded, fence, folder)
    if problem.is_file():
        with problem.open(encoding="utf-8", errors="replace") as file:
            return sentence(file.read(10_000))
    if code == 0:
        return None
    name = f"'{sentence(str(path))}'"
    if code == HUNG:
        return f"{name} did not finish within {fence.seconds:.0f} s"
    if code == OUT_OF_MEMORY:
        return f"{name} takes more than {fence.memory // GIGABYTE} GB of memory"
    how = f"ended with code {code}" if code > 0 else f"was killed by {_signal(-code)}"
    return f"reading {name}: the process {how}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals has a name
        return f"signal {number}"


def _build(path: Path, built: Path) -> None:
    mod = execute(path)
    built.write_text(_saved(mod, str(path)), encoding="utf-8")


def _take(built: Path, path: Path, folder: Path, well_formed: bool, compiled: bool) -> None:
    """From JSON to a module and back: what is left has been read by TVM once."""
    origin = str(path)
    mod = parse_json(_text(built), origin, compiled=compiled)
    text = _saved(mod, origin)
    try:
        examine(json.loads(text), compiled=compiled)
    except BadGraph as error:
        raise BadModule(f"the module of '{sentence(origin)}' cannot be used: {error}") from None
    try:
        _check(load_json(text), origin, well_formed)
    except (BadModule, MemoryError):
        raise
    except Exception as error:
        raise BadModule(
            f"TVM cannot say whether the module of '{sentence(origin)}' is well-formed: "
            f"{_line(error)}"
        ) from None
    (folder / RESULT).write_text(text, encoding="utf-8")


def _saved(mod: tvm.IRModule, origin: str) -> str:
    try:
        text = save_json(mod)
        size = len(text.encode())
    except MemoryError:
        raise
    except Exception as error:
        raise BadModule(
            f"the module of '{sentence(origin)}' cannot be written as JSON: {_line(error)}"
        ) from None
    if size > MOST:
        raise BadModule(f"the module of '{sentence(origin)}' has {too_large(size)}")
    return text


def too_large(size: float) -> str:
    """How large it is, and how large it may be."""
    megabytes = "without end" if math.isinf(size) else f"{size / 1e6:,.0f} MB"
    return f"{megabytes} of text; at most {MOST / 1e6:,.0f} MB are read"


def _check(mod: tvm.IRModule, origin: str, well_formed: bool) -> None:
    if not mod.functions:
        raise BadModule(f"the module of '{sentence(origin)}' has no functions")
    if well_formed and (problem := flaw(mod)) is not None:
        raise BadModule(
            f"the module of '{sentence(origin)}' is not well-formed: {sentence(problem.title)}"
        )


def _bytes(path: Path) -> bytes:
    """What is in the file, as far as it is text of one byte a letter."""
    name = f"'{sentence(str(path))}'"
    with path.open("rb") as file:
        data = file.read(MOST + 1)
    if len(data) > MOST:  # it has grown since it was looked at
        raise BadModule(f"{name} has {too_large(len(data))}")
    for magic, packer in _PACKED.items():
        if data.startswith(magic):
            raise BadModule(f"{name} is packed with {packer}; unpack it first")
    if data.startswith(_WIDE):
        raise BadModule(f"{name} is UTF-16 or UTF-32; expected UTF-8")
    return data


def _text(path: Path) -> str:
    data = _bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadModule(
            f"'{sentence(str(path))}' is neither a Python file (*.py) nor JSON of a module: "
            f"byte {data[error.start]:#04x} at {error.start} is not UTF-8"
        ) from None


def parse_json(text: str, origin: str, *, compiled: bool = False) -> tvm.IRModule:
    """The module in a TVM JSON text.

    Args:
        compiled: compiled code in it is welcome.

    Raises:
        BadModule: it is no JSON, or JSON of something else, or of another TVM version.
    """
    name = f"'{sentence(origin)}'"
    try:
        document = json.loads(text)
    except RecursionError:
        raise BadModule(f"{name} is JSON that is nested too deeply to be read") from None
    except ValueError as error:
        raise BadModule(
            f"{name} is neither a Python file (*.py) nor JSON of a module: {sentence(str(error))}"
        ) from None
    try:
        mod = _loaded(document, text, compiled)
    except MemoryError:
        raise
    except Exception as error:
        if (writer := _writer(document)) is not None:
            raise BadModule(
                f"{name} was written by TVM {writer}, whose JSON TVM {tvm.__version__} cannot load"
            ) from None
        raise BadModule(
            f"{name} is not JSON that TVM {tvm.__version__} can load: {_line(error)}"
        ) from None
    if not isinstance(mod, tvm.IRModule):
        raise BadModule(f"{name} holds a {type(mod).__name__}, not an IRModule")
    return mod


def _loaded(document: object, text: str, compiled: bool) -> object:
    try:
        text = upgraded_json(text)
    except (AttributeError, KeyError, TypeError):  # it looks at nothing before it uses it
        examine(document, compiled=compiled)
        raise
    examine(json.loads(text), compiled=compiled)
    return load_json(text)


def _writer(document: object) -> str | None:
    """The version of TVM that wrote it, where it says that it is another one."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    found = metadata.get("tvm_version") if isinstance(metadata, dict) else None
    if not isinstance(found, str) or found == tvm.__version__:
        return None
    return sentence(found, 40)


def execute(path: Path) -> tvm.IRModule:
    """Execute a Python file in this process and return the module that it defines.

    Raises:
        BadModule: it does not parse, raises, or defines no module or several.
    """
    name = f"'{sentence(str(path))}'"
    data = _bytes(path)
    try:
        tree = ast.parse(data, str(path))
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except SyntaxError as error:
        where = "" if error.lineno is None else f" (line {error.lineno})"
        raise BadModule(f"{name} does not parse: {sentence(error.msg)}{where}") from None
    except (RecursionError, MemoryError):  # the latter is Python's word for its parser's stack
        raise BadModule(f"{name} does not parse: it is nested too deeply, or too large") from None
    except ValueError as error:
        raise BadModule(f"{name} does not parse: {_line(error)}") from None
    try:
        if not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
            # What `mod.script()` prints: TVMScript with its imports in comments.
            found: dict[str, object] = {"mod": tvm.script.from_source(text)}
        else:
            found = _names(_import(path))
        modules = {name: value for name, value in found.items() if isinstance(value, tvm.IRModule)}
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit and KeyboardInterrupt, too
        raise BadModule(f"{name} raised {type(error).__name__}: {_line(error)}") from None
    distinct = list({id(mod): mod for mod in modules.values()}.values())
    for preferred in PREFERRED:
        if preferred in modules:
            return modules[preferred]
    if len(distinct) == 1:
        return distinct[0]
    if not distinct:
        raise BadModule(
            f"{name} defines no IRModule; name it 'mod', or write it as an @I.ir_module class"
        )
    raise BadModule(
        f"{name} defines several IRModules ({sentence(', '.join(modules), 200)}); "
        "name the one to check 'mod'"
    )


def _names(imported: ModuleType) -> dict[str, object]:
    """What the file defines, and what it makes when it is asked for it."""
    asked = {name: getattr(imported, name, None) for name in PREFERRED}
    return {**vars(imported), **asked}


def _import(path: Path) -> ModuleType:
    # TVMScript reads the source of the decorated class, so it must come from an imported file.
    sys.path.insert(0, str(path.absolute().parent))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("relaxfuzz_user_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_BLOCK = re.compile(r"\s*\n\s*")


def _line(error: BaseException) -> str:
    """What an exception says, in one line."""
    try:
        text = str(error)
    except BaseException:  # of a class of the user's
        text = ""
    lines = [line for line in _BLOCK.split(text[:100_000].strip()) if line]
    # TVM writes its diagnostics over several lines, the message after "error:".
    said = [line for line in lines if line.startswith("error:")]
    return sentence((said or lines or [type(error).__name__])[0])
