"""Read a module of the user's: TVM JSON, a TVMScript file, or a Python file that builds one.

A Python file is somebody's program, and JSON of another TVM version may crash the reader, so the
file is read in a process of its own (`python -m relaxfuzz.fuzz.load FILE RESULT`), which hands the
module back as JSON.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType

import tvm

from ..oracles.well_formed import flaw

SECONDS = 120
"""For executing a module file; importing TVM is part of it."""

_ANYTHING = "--ill-formed-too"

PREFERRED = ("mod", "Module", "module")


class BadModule(Exception):
    """The file gives no well-formed module; the text says why in one sentence."""


def load(path: Path, *, well_formed: bool = True) -> str:
    """The module of a file, as TVM JSON.

    Args:
        well_formed: refuse a module that is not.

    Raises:
        BadModule: there is no such file, it does not parse, holds no module or several, dies when
            it is executed, or its module is not well-formed.
    """
    if not path.is_file():
        raise BadModule(f"no module file '{path}'")
    return _read_apart(path, well_formed)


def parse_json(text: str, origin: str) -> tvm.IRModule:
    """The module in a TVM JSON text.

    Raises:
        BadModule: it is no JSON, or JSON of something else, or of another TVM version.
    """
    try:
        json.loads(text)
    except ValueError as error:
        raise BadModule(
            f"'{origin}' is neither a Python file (*.py) nor JSON of a module: {error}"
        ) from None
    try:
        mod = tvm.ir.load_json(text)
    except Exception as error:
        raise BadModule(
            f"'{origin}' is not JSON that TVM {tvm.__version__} can load: {_line(error)}"
        ) from None
    if not isinstance(mod, tvm.IRModule):
        raise BadModule(f"'{origin}' holds a {type(mod).__name__}, not an IRModule")
    return mod


def execute(path: Path) -> tvm.IRModule:
    """Execute a Python file in this process and return the module that it defines.

    Raises:
        BadModule: it does not parse, raises, or defines no module or several.
    """
    text = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        raise BadModule(f"'{path}' does not parse: {error.msg} (line {error.lineno})") from None
    try:
        if not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
            # What `mod.script()` prints: TVMScript with its imports in comments.
            found: dict[str, object] = {"mod": tvm.script.from_source(text)}
        else:
            found = vars(_import(path))
    except (Exception, SystemExit) as error:
        raise BadModule(f"'{path}' raised {type(error).__name__}: {_line(error)}") from None
    modules = {name: value for name, value in found.items() if isinstance(value, tvm.IRModule)}
    distinct = list({id(mod): mod for mod in modules.values()}.values())
    for name in PREFERRED:
        if name in modules:
            return modules[name]
    if len(distinct) == 1:
        return distinct[0]
    if not distinct:
        raise BadModule(
            f"'{path}' defines no IRModule; name it 'mod', or write it as an @I.ir_module class"
        )
    raise BadModule(
        f"'{path}' defines several IRModules ({', '.join(modules)}); name the one to check 'mod'"
    )


def _import(path: Path) -> ModuleType:
    # TVMScript reads the source of the decorated class, so it must come from an imported file.
    sys.path.insert(0, str(path.absolute().parent))
    spec = importlib.util.spec_from_file_location("relaxfuzz_user_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _check(mod: tvm.IRModule, origin: str, well_formed: bool) -> None:
    if not mod.functions:
        raise BadModule(f"the module of '{origin}' has no functions")
    if well_formed and (problem := flaw(mod)) is not None:
        raise BadModule(f"the module of '{origin}' is not well-formed: {problem.title}")


def _read_apart(path: Path, well_formed: bool) -> str:
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-load-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "relaxfuzz.fuzz.load", str(path.absolute()), str(result)]
        command += [_ANYTHING] * (not well_formed)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise BadModule(f"'{path}' did not finish within {SECONDS} s") from None
        if not result.is_file():
            how = f"ended with code {done.returncode}"
            if done.returncode < 0:
                how = f"was killed by {signal.Signals(-done.returncode).name}"
            raise BadModule(f"reading '{path}': the process {how}")
        answer = json.loads(result.read_text(encoding="utf-8"))
    if "fault" in answer:
        raise RuntimeError(answer["fault"])
    if "error" in answer:
        raise BadModule(answer["error"].replace(str(path.absolute()), str(path)))
    module: str = answer["module"]
    return module


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TVM writes its diagnostics over several lines, the message after "error:".
    said = [line for line in lines if line.startswith("error:")]
    return (said or lines or [type(error).__name__])[0]


def main() -> None:
    """Execute the file of the first argument; write JSON to that of the second."""
    path, result = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        if path.suffix == ".py":
            mod = execute(path)
        else:
            mod = parse_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
        _check(mod, str(path), _ANYTHING not in sys.argv[3:])
        answer = {"module": tvm.ir.save_json(mod)}
    except BadModule as error:
        answer = {"error": str(error)}
    except Exception:
        answer = {"fault": traceback.format_exc()}
    part = result.with_suffix(".part")
    part.write_text(json.dumps(answer), encoding="utf-8")
    os.replace(part, result)
    sys.stdout.flush()
    os._exit(0)  # whatever threads the file has left behind


if __name__ == "__main__":
    main()
