"""The process that `relaxfuzz watch` runs a script in: as `python script.py` would, but watched."""

from __future__ import annotations

import builtins
import faulthandler
import importlib.machinery
import io
import os
import runpy
import sys
import zipfile
from pathlib import Path
from types import TracebackType

import __main__

from .everywhere import observe, when_imported

LAST_WORDS = "last-words"


def main() -> None:
    """`FOLDER SEMANTICS file|module NAME [ARGUMENT]...`"""
    folder, semantics, kind, name, *args = sys.argv[1:]
    place = Path(folder)
    # A script may choose another file for it.
    words = (place / LAST_WORDS).open("w", encoding="utf-8")
    faulthandler.enable(words)
    when_imported("tvm", lambda: _watch(place, semantics=semantics == "1"))
    sys.argv = [name, *args]
    try:
        (_run_module if kind == "module" else _run_file)(name)
    except SystemExit:
        raise
    except BaseException as error:
        shown = error.with_traceback(_own(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _watch(folder: Path, *, semantics: bool) -> None:
    from .witness import Witness

    observe(Witness(folder, semantics=semantics))


def _run_file(name: str) -> None:
    if os.path.isdir(name) or zipfile.is_zipfile(name):
        sys.path[0] = name
        runpy.run_path(name, run_name="__main__")
        return
    sys.path[0] = str(Path(name).resolve().parent)
    path = os.path.abspath(name)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    # Threads, pickles and handlers at the exit look at the real `__main__`.
    scope = vars(__main__)
    scope.clear()
    scope |= {
        "__name__": "__main__",
        "__doc__": None,
        "__package__": None,
        "__loader__": importlib.machinery.SourceFileLoader("__main__", path),
        "__spec__": None,
        "__builtins__": builtins,
        "__file__": path,
        "__cached__": None,
    }
    exec(code, scope)


def _run_module(name: str) -> None:
    sys.path[0] = os.getcwd()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _own(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that start the script."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    return trace


_OURS = (__file__, runpy.run_path.__code__.co_filename)
