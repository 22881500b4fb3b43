"""Reads a user's module file in children of the zygote, where it can do no harm.

A Python file is a program. It is executed in a separate process, which writes the module as TVM
JSON. JSON is data, but TVM's reader and checkers may crash on it. So a second process, in which no
user program has run, reads it.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import tvm

from ...compat import weights
from ...compat.release import is_installed, tvm_version
from ...compat.script import quick_frames
from ...compat.serialization import load_json, save_json, upgraded_json
from ...generators.seeds import pieces_of, whole_of
from ...oracles.checkers import flaw, inferred_flaw
from ...oracles.values.frameworks import FrameworkReference
from ..output.readable import sentence
from ..system.errors import UserError
from ..system.limits import PROCESSES
from ..system.sandbox import HUNG, OUT_OF_MEMORY, ForkLimits, run_in_fork
from ..system.supervisor import TOO_MANY
from .models import imported, named
from .sources import function_in, is_function

GIGABYTE = 1 << 30
MOST = GIGABYTE // 4
"""Most bytes of a file, and of its module as JSON; enough for constants of 190 MB."""
MEMORY = 4 * GIGABYTE
OF_FRAMEWORKS = 24 * GIGABYTE
"""Address space if a function returns the model: PyTorch alone maps libraries of 6 GB."""

RESULT = "module.json"
"""The file that the reader writes to its folder."""
_BUILT, _PROBLEM = "built.json", "problem.txt"

PREFERRED = ("mod", "Module", "module")


class BadModule(UserError):
    """The file has no well-formed module, for the reason in the message."""


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turn any failure inside, even an exit of the user's program, into `BadModule`.

    Args:
        what: the beginning of the sentence, before the exception.
    """
    try:
        yield
    except (BadModule, MemoryError):
        raise
    except BaseException as error:
        raise BadModule(f"{what} {type(error).__name__}: {_line(error)}") from None


def _quoted(source: object) -> str:
    return f"'{sentence(str(source))}'"


def read(
    source: str, folder: Path, *, well_formed: bool, pieces: bool, seconds: float
) -> str | None:
    """Read a module, and write it to `folder` as JSON, or else its pieces and the whole, without
    weights.

    The results of the framework of a model are written there as well, see `frameworks.saved`. A
    module is cut in the process that builds it, so its weights stay there.

    Args:
        source: a file, `FILE.py:function` or `package.module:function`. A function returns an
            object that `models.imported` reads.
        well_formed: refuse an ill-formed module.
        pieces: cut the module into pieces.
        seconds: the time limit for executing a Python file, and again for reading the result.

    Returns:
        The reason why there is no module, or no piece, in one sentence; None if there is one.
    """
    path, built = Path(source), folder / _BUILT
    fence = ForkLimits(seconds, MEMORY, 2 * MOST)
    is_program = path.suffix in (".py", ".onnx") or is_call(source)
    if is_program or pieces:
        build = _cut if pieces else _build
        around = _while_built(fence, source)
        problem = _sandboxed(lambda: build(source, built), path, around, folder)
        if problem is not None:
            return problem

    def take() -> None:
        if pieces:
            _take_pieces(source, built, folder)
        else:
            _take(built if is_program else path, source, folder, well_formed, is_program)

    return _sandboxed(take, path, fence, folder)


def _cut(source: str, built: Path) -> None:
    mod, _ = _module(source, keeps=True)
    with _refusing(f"the module of {_quoted(source)} cannot be cut into pieces:"):
        pieces = [dataclasses.asdict(piece) for piece in pieces_of(mod, source)]
        unchanged = whole_of(mod, source)
    found = {"pieces": pieces, "whole": unchanged and dataclasses.asdict(unchanged)}
    built.write_text(json.dumps(found), encoding="utf-8")


def _module(source: str, *, keeps: bool) -> tuple[tvm.IRModule, FrameworkReference | None]:
    """The module of a source, and the framework's results for a model from a function.

    Args:
        keeps: the weights of an ONNX model are parameters.
    """
    path = Path(source)
    if path.suffix == ".onnx":
        with _refusing(f"{_quoted(source)} cannot be imported by 'relaxfuzz[onnx]':"):
            onnx = importlib.import_module("onnx")
            from tvm.relax.frontend.onnx import from_onnx

            return from_onnx(onnx.load(source), keep_params_in_input=keeps), None
    if is_call(source):
        return _imported(source)
    return execute(path) if path.suffix == ".py" else parse_json(_text(path), source), None


def _while_built(fence: ForkLimits, source: str) -> ForkLimits:
    """The limits for executing the user's code."""
    needs = is_call(source) or source.endswith(".onnx")
    return dataclasses.replace(fence, memory=OF_FRAMEWORKS) if needs else fence


def is_call(source: str) -> bool:
    """Return whether it is `FILE.py:function` or `package.module:function`, but not a file."""
    spelled = function_in(source) is not None or is_function(source)
    return spelled and not Path(source).exists()


def _imported(source: str) -> tuple[tvm.IRModule, FrameworkReference | None]:
    """The module of a function's result, and the results of the framework."""
    made = _called(source)
    with _refusing(f"{_quoted(source)} gives {named(made)}, which cannot be imported:"):
        try:
            return imported(made)
        except UserError as error:
            raise BadModule(f"{_quoted(source)} {error}") from None


def _called(source: str) -> object:
    """The object that a user's function returns."""
    in_file = function_in(source)
    sys.path.insert(0, os.getcwd())
    with _refusing(f"{_quoted(source)} raised"):
        if in_file is None:
            module, _, function = source.partition(":")
            home = importlib.import_module(module)
        else:
            path, function = in_file
            home = _import(path)
        if not callable(made := getattr(home, function, None)):
            kind = "not there" if made is None else f"of the type {type(made).__name__}"
            raise BadModule(f"{_quoted(source)} is {kind}; expected a function without arguments")
        return made()


def _take_pieces(source: str, built: Path, folder: Path) -> None:
    """Keep the pieces that this TVM loads and finds well-formed, and the whole module likewise."""
    found = json.loads(_text(built))
    kept = [piece for piece in found["pieces"] if _is_good(piece)]
    if not kept:
        raise BadModule(
            f"the module of {_quoted(source)} has no bindings, none whose sizes can be made "
            "small, or is not well-formed"
        )
    unchanged = found["whole"] if found["whole"] and _is_good(found["whole"]) else None
    result = {"pieces": kept, "whole": unchanged}
    (folder / RESULT).write_text(json.dumps(result), encoding="utf-8")


def _is_good(module: Mapping[str, str]) -> bool:
    """Return whether this TVM loads the module, and finds it well-formed."""
    try:
        _check(parse_json(module["text"], module["name"]), module["name"], True)
    except BadModule:
        return False
    return True


def _sandboxed(work: Callable[[], None], path: Path, fence: ForkLimits, folder: Path) -> str | None:
    """Do the work in a separate process; return the problem with the file, if there is one."""
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
    name = _quoted(path)
    if code == HUNG:
        return f"{name} did not finish within {fence.seconds:.0f} s"
    if code == OUT_OF_MEMORY:
        return f"{name} takes more than {fence.memory // GIGABYTE} GB of memory"
    if code == TOO_MANY:
        return f"reading {name}: it starts more than {PROCESSES} processes"
    names = {int(each): each.name for each in signal.Signals}
    how = f"ended with code {code}" if code > 0 else f"was killed by {names.get(-code, -code)}"
    return f"reading {name}: the process {how}"


def _build(source: str, built: Path) -> None:
    mod, reference = _module(source, keeps=False)
    built.write_text(_saved(mod, source), encoding="utf-8")
    if reference is not None:
        reference.save(built.parent)


def _take(built: Path, origin: str, folder: Path, well_formed: bool, compiled: bool) -> None:
    """Load JSON, check the module, and write it as JSON again."""
    text = _saved(parse_json(_text(built), origin, compiled=compiled), origin)
    about = f"TVM cannot check whether the module of {_quoted(origin)} is well-formed:"
    with _refusing(about):
        mod = load_json(text)
        # A module that TVM itself makes ill-formed is a finding of any check.
        _check(mod, origin, well_formed and inferred_flaw(mod) is None)
    (folder / RESULT).write_text(text, encoding="utf-8")


def _saved(mod: tvm.IRModule, origin: str) -> str:
    with _refusing(f"the module of {_quoted(origin)} cannot be written as JSON:"):
        text = save_json(mod)
        size = len(text.encode())
    if size > MOST:
        raise BadModule(f"the module of {_quoted(origin)} has {too_large(size)}")
    return text


def too_large(size: float) -> str:
    """The end of a message: the size, and the largest size."""
    megabytes = "unlimited" if math.isinf(size) else f"{size / 1e6:,.0f} MB of"
    return f"{megabytes} text; at most {MOST / 1e6:,.0f} MB are read"


def _check(mod: tvm.IRModule, origin: str, well_formed: bool) -> None:
    if not mod.functions:
        raise BadModule(f"the module of {_quoted(origin)} has no functions")
    if well_formed and (problem := flaw(mod)) is not None:
        raise BadModule(
            f"the module of {_quoted(origin)} is not well-formed: {sentence(problem.title)}"
        )


def _bytes(path: Path, *, is_json: bool = False) -> bytes:
    """The contents of the file.

    Args:
        is_json: large constants may become files of their own.
    """
    data: bytes | None
    if is_json and weights.VARIABLE in os.environ:
        data = weights.read(path, MOST)
    else:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
    if data is None or len(data) > MOST:  # it has grown since `inspect`
        raise BadModule(f"{_quoted(path)} has {too_large(path.stat().st_size)}")
    return data


def _text(path: Path) -> str:
    data = _bytes(path, is_json=True)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadModule(
            f"{_quoted(path)} is neither a Python file (*.py) nor JSON of a module: "
            f"byte {data[error.start]:#04x} at {error.start} is not UTF-8"
        ) from None
    if weights.VARIABLE in os.environ:
        weights.bring(text, Path(os.environ[weights.VARIABLE]), weights.beside(path))
    return text


def parse_json(text: str, origin: str, *, compiled: bool = False) -> tvm.IRModule:
    """The module in a TVM JSON text.

    Args:
        compiled: accept compiled code in it.

    Raises:
        BadModule: it is not JSON, or not JSON of a module that this TVM can load.
    """
    name = _quoted(origin)
    try:
        document = json.loads(text)
    except RecursionError:
        raise BadModule(f"{name} is JSON that is nested too deeply to be read") from None
    except ValueError as error:
        raise BadModule(
            f"{name} is neither a Python file (*.py) nor JSON of a module: {sentence(str(error))}"
        ) from None
    if not compiled and _has_code(document):
        raise BadModule(
            f"{name} holds compiled code, which is not loaded from a data file; use a Python file "
            "that builds the module"
        )
    try:
        mod = load_json(upgraded_json(text))
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


def _has_code(document: object) -> bool:
    """Return whether a node of TVM's JSON is machine code."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    return isinstance(nodes, list) and any(
        isinstance(node, dict) and node.get("type") == "ffi.Module" for node in nodes
    )


def _writer(document: object) -> str | None:
    """The version of TVM that wrote the document, if it differs from this one."""
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
    name = _quoted(path)
    data = _bytes(path)
    try:
        tree = ast.parse(data, str(path))
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (RecursionError, MemoryError):  # Python's parser raises it when its stack is full
        raise BadModule(f"{name} does not parse: it is nested too deeply, or too large") from None
    except (SyntaxError, ValueError) as error:
        raise BadModule(f"{name} does not parse: {_line(error)}") from None
    hint = NO_CONSTANTS if _lacks_constants(tree) else ""
    with _refusing(f"{name}{hint} raised"), quick_frames():
        if _is_script(tree):
            found: dict[str, object] = {"mod": tvm.script.from_source(text)}
        else:
            found = _names(_import(path))
        modules = {name: value for name, value in found.items() if isinstance(value, tvm.IRModule)}
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


METADATA = "metadata"
"""The name that TVMScript gives to the constants of a module."""

NO_CONSTANTS = (
    ", which was printed without its constants (print it with mod.script(show_meta=True), or save "
    "the module with tvm.ir.save_json),"
)


def _is_script(tree: ast.Module) -> bool:
    """Return whether a file is the output of `mod.script()`: TVMScript with imports in comments."""
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
        return False
    return bool(tree.body) and all(
        (isinstance(node, ast.ClassDef | ast.FunctionDef) and node.decorator_list)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == METADATA)
        for node in tree.body
    )


def _lacks_constants(tree: ast.Module) -> bool:
    """Return whether a file refers to constants that it does not define."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == METADATA]
    return bool(names) and all(isinstance(node.ctx, ast.Load) for node in names)


def _names(imported: ModuleType) -> dict[str, object]:
    """The names that the file defines, including those of its `__getattr__`."""
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
    except BaseException:  # __str__ of a user's class
        text = ""
    lines = [line for line in _BLOCK.split(text[:100_000].strip()) if line]
    # TVM writes its diagnostics over several lines, the message after "error:".
    errors = [line for line in lines if line.startswith("error:")]
    return sentence((errors or lines or [type(error).__name__])[0])
