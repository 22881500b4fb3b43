"""Reads a user's module file in children of the zygote, where it can do no harm.

A Python file is a program. It is executed in a process of its own, which writes the module as TVM
JSON. JSON is data, but TVM's reader and checkers may crash on it. So a second process reads it, in
which no program of the user has run.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import io
import json
import math
import os
import re
import signal
import sys
import tokenize
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import tvm

from ...compat import weights
from ...compat.release import is_installed, tvm_version
from ...compat.script import quick_frames
from ...compat.serialization import load_json, save_json, upgraded_json
from ...generators.seeds import pieces_of, whole_of
from ...oracles.structural.checkers import flaw, inferred_flaw
from ...oracles.values.frameworks import Reference
from ..output.readable import sentence
from ..system.sandbox import HUNG, OUT_OF_MEMORY, ForkLimits, run_in_fork
from .errors import UserError
from .models import imported, named
from .node_graph import BadGraph, examine
from .options import function_in, is_function

GIGABYTE = 1 << 30
MOST = GIGABYTE // 4
"""Bytes of a file, and of its module as JSON, which is enough for constants of 190 MB."""
MEMORY = 4 * GIGABYTE
OF_FRAMEWORKS = 24 * GIGABYTE
"""Address space where a function gives the model: PyTorch alone maps libraries of 6 GB."""

RESULT = "module.json"
"""The file that the reader writes to its folder."""
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


class BadModule(UserError):
    """The file has no well-formed module; the message says why in one sentence."""


def read(path: Path, folder: Path, *, well_formed: bool, seconds: float) -> str | None:
    """Read a module file, and write the module as JSON to `folder`.

    What the framework of a model says of it is written there as well, see `frameworks.saved`.

    Args:
        path: a file, `FILE.py:function` or `package.module:function`. A function gives an object
            that `models.imported` reads.
        well_formed: refuse an ill-formed module.
        seconds: the time limit for executing a Python file, and again for reading the result.

    Returns:
        Why there is no module, in one sentence; None if there is one.
    """
    fence = ForkLimits(seconds, MEMORY, 2 * MOST)
    built = path
    is_program = path.suffix == ".py" or is_call(str(path))
    if is_program:
        built = folder / _BUILT
        around = _while_built(fence, str(path))
        problem = _sandboxed(lambda: _build(path, built), path, around, folder)
        if problem is not None:
            return problem
    return _sandboxed(
        lambda: _take(built, path, folder, well_formed, is_program), path, fence, folder
    )


def read_pieces(source: str, folder: Path, *, seconds: float) -> str | None:
    """Cut a module into pieces, and write them and the whole, without weights, to `folder`.

    A module is cut in the process that builds it: its weights go nowhere else.

    Args:
        source: a file or a function as for `read`, or an ONNX file.
        seconds: the time limit for building and cutting, and again for checking the pieces.

    Returns:
        Why there are none, in one sentence; None if there are.
    """
    fence = ForkLimits(seconds, MEMORY, 2 * MOST)
    path, built = Path(source), folder / _BUILT
    around = _while_built(fence, source)
    problem = _sandboxed(lambda: _cut(source, built), path, around, folder)
    if problem is not None:
        return problem
    return _sandboxed(lambda: _take_pieces(source, built, folder), path, fence, folder)


def _cut(source: str, built: Path) -> None:
    mod = _module(source)
    try:
        pieces = [dataclasses.asdict(piece) for piece in pieces_of(mod, source)]
        unchanged = whole_of(mod, source)
    except MemoryError:
        raise
    except Exception as error:
        raise BadModule(
            f"the module of '{sentence(source)}' cannot be cut into pieces: {_line(error)}"
        ) from None
    found = {"pieces": pieces, "whole": unchanged and dataclasses.asdict(unchanged)}
    built.write_text(json.dumps(found), encoding="utf-8")


def _module(source: str) -> tvm.IRModule:
    path = Path(source)
    if path.suffix == ".onnx":
        mod = _from_onnx(path)
    elif is_call(source):
        mod, _ = _imported(source)
    elif path.suffix == ".py":
        mod = execute(path)
    else:
        mod = parse_json(_text(path), source)
    return mod


def _from_onnx(path: Path) -> tvm.IRModule:
    name = f"'{sentence(str(path))}'"
    try:
        onnx = importlib.import_module("onnx")
        from tvm.relax.frontend.onnx import from_onnx
    except ImportError as error:
        raise BadModule(f"{name} needs 'relaxfuzz[onnx]': {_line(error)}") from None
    try:
        return from_onnx(onnx.load(str(path)), keep_params_in_input=True)
    except MemoryError:
        raise
    except Exception as error:
        raise BadModule(f"{name} cannot be imported: {_line(error)}") from None


def _while_built(fence: ForkLimits, source: str) -> ForkLimits:
    """The limits for executing the user's code."""
    return dataclasses.replace(fence, memory=OF_FRAMEWORKS) if is_call(source) else fence


def is_call(source: str) -> bool:
    """It is `FILE.py:function` or `package.module:function`, and no file has that name."""
    spelled = function_in(source) is not None or is_function(source)
    return spelled and not Path(source).exists()


def _imported(source: str) -> tuple[tvm.IRModule, Reference | None]:
    """The module of what a function gives, and what the framework says of it."""
    made = _called(source)
    try:
        return imported(made)
    except MemoryError:
        raise
    except UserError as error:
        raise BadModule(f"'{sentence(source)}' {error}") from None
    except BaseException as error:
        raise BadModule(
            f"'{sentence(source)}' gives {named(made)}, which cannot be imported: "
            f"{type(error).__name__}: {_line(error)}"
        ) from None


def _called(source: str) -> object:
    """The object that a function of the user's gives."""
    name = f"'{sentence(source)}'"
    in_file = function_in(source)
    sys.path.insert(0, os.getcwd())
    try:
        if in_file is None:
            module, _, function = source.partition(":")
            home = importlib.import_module(module)
        else:
            path, function = in_file
            home = _import(path)
        if not callable(made := getattr(home, function, None)):
            kind = "not there" if made is None else f"of the type {type(made).__name__}"
            raise BadModule(f"{name} is {kind}; expected a function without arguments")
        return made()
    except (BadModule, MemoryError):
        raise
    except BaseException as error:  # also SystemExit and KeyboardInterrupt
        raise BadModule(f"{name} raised {type(error).__name__}: {_line(error)}") from None


def _take_pieces(source: str, built: Path, folder: Path) -> None:
    """Keep the pieces that this TVM loads and finds well-formed; the whole, too, if it is."""
    found = json.loads(_text(built))
    kept = [piece for piece in found["pieces"] if _is_good(piece)]
    if not kept:
        raise BadModule(
            f"the module of '{sentence(source)}' has no bindings, none whose sizes can be made "
            "small, or is not well-formed"
        )
    unchanged = found["whole"] if found["whole"] and _is_good(found["whole"]) else None
    result = {"pieces": kept, "whole": unchanged}
    (folder / RESULT).write_text(json.dumps(result), encoding="utf-8")


def _is_good(module: Mapping[str, str]) -> bool:
    """This TVM loads it, and finds it well-formed."""
    try:
        _check(parse_json(module["text"], module["name"]), module["name"], True)
    except BadModule:
        return False
    return True


def _sandboxed(work: Callable[[], None], path: Path, fence: ForkLimits, folder: Path) -> str | None:
    """Do the work in a process of its own; the problem with the file, if there is one."""
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
    mod, reference = _imported(str(path)) if is_call(str(path)) else (execute(path), None)
    built.write_text(_saved(mod, str(path)), encoding="utf-8")
    if reference is not None:
        reference.save(built.parent)


def _take(built: Path, path: Path, folder: Path, well_formed: bool, compiled: bool) -> None:
    """Load JSON, check the module, and write it as JSON again."""
    origin = str(path)
    text = _saved(parse_json(_text(built), origin, compiled=compiled), origin)
    try:
        examine(json.loads(text), compiled=compiled)
    except BadGraph as error:
        raise BadModule(f"the module of '{sentence(origin)}' cannot be used: {error}") from None
    try:
        mod = load_json(text)
        # A module that TVM itself makes ill-formed is a finding of any check.
        _check(mod, origin, well_formed and inferred_flaw(mod) is None)
    except (BadModule, MemoryError):
        raise
    except Exception as error:
        raise BadModule(
            f"TVM cannot check whether the module of '{sentence(origin)}' is well-formed: "
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
    """The end of a message: the size, and the largest size."""
    megabytes = "unlimited" if math.isinf(size) else f"{size / 1e6:,.0f} MB of"
    return f"{megabytes} text; at most {MOST / 1e6:,.0f} MB are read"


def _check(mod: tvm.IRModule, origin: str, well_formed: bool) -> None:
    if not mod.functions:
        raise BadModule(f"the module of '{sentence(origin)}' has no functions")
    if well_formed and (problem := flaw(mod)) is not None:
        raise BadModule(
            f"the module of '{sentence(origin)}' is not well-formed: {sentence(problem.title)}"
        )


def _bytes(path: Path, *, is_json: bool = False) -> bytes:
    """The contents of the file, unless it is packed or in a wide encoding.

    Args:
        is_json: large constants may become files of their own.
    """
    name = f"'{sentence(str(path))}'"
    data: bytes | None
    if is_json and weights.VARIABLE in os.environ:
        data = weights.read(path, MOST)
    else:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
    if data is None or len(data) > MOST:  # it has grown since `inspect`
        raise BadModule(f"{name} has {too_large(path.stat().st_size)}")
    for magic, packer in _PACKED.items():
        if data.startswith(magic):
            raise BadModule(f"{name} is packed with {packer}; unpack it first")
    if data.startswith(_WIDE):
        raise BadModule(f"{name} is UTF-16 or UTF-32; expected UTF-8")
    return data


def _text(path: Path) -> str:
    data = _bytes(path, is_json=True)
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
        compiled: accept compiled code in it.

    Raises:
        BadModule: it is no JSON, or no JSON of a module that this TVM can load.
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
                f"{name} was written by TVM {writer}, whose JSON TVM {tvm_version()} cannot load"
            ) from None
        raise BadModule(
            f"{name} is not JSON that TVM {tvm_version()} can load: {_line(error)}"
        ) from None
    if not isinstance(mod, tvm.IRModule):
        raise BadModule(f"{name} holds a {type(mod).__name__}, not an IRModule")
    return mod


def _loaded(document: object, text: str, compiled: bool) -> object:
    try:
        text = upgraded_json(text)
    except (AttributeError, KeyError, TypeError):  # it expects a valid node graph
        examine(document, compiled=compiled)
        raise
    examine(json.loads(text), compiled=compiled)
    return load_json(text)


def _writer(document: object) -> str | None:
    """The version of TVM that wrote the document, if it is another than this one."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    found = metadata.get("tvm_version") if isinstance(metadata, dict) else None
    if not isinstance(found, str) or is_installed(found):
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
    except (RecursionError, MemoryError):  # Python's parser raises it when its stack is full
        raise BadModule(f"{name} does not parse: it is nested too deeply, or too large") from None
    except ValueError as error:
        raise BadModule(f"{name} does not parse: {_line(error)}") from None
    try:
        with quick_frames():
            if not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
                # The output of `mod.script()`: TVMScript with its imports in comments.
                found: dict[str, object] = {"mod": tvm.script.from_source(text)}
            else:
                found = _names(_import(path))
        modules = {name: value for name, value in found.items() if isinstance(value, tvm.IRModule)}
    except MemoryError:
        raise
    except BaseException as error:  # also SystemExit and KeyboardInterrupt
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
    """The names that the file defines, those of its `__getattr__` included."""
    preferred = {name: getattr(imported, name, None) for name in PREFERRED}
    return {**vars(imported), **preferred}


def _import(path: Path) -> ModuleType:
    # TVMScript reads the source of the decorated class, so the file must be imported.
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
    try:
        text = str(error)
    except BaseException:  # __str__ of a class of the user's
        text = ""
    lines = [line for line in _BLOCK.split(text[:100_000].strip()) if line]
    # TVM writes its diagnostics over several lines, the message after "error:".
    errors = [line for line in lines if line.startswith("error:")]
    return sentence((errors or lines or [type(error).__name__])[0])
