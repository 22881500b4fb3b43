"""The process in which `relaxfuzz watch` runs a script: `python script.py` with an observer."""

from __future__ import annotations

import builtins
import faulthandler
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import os
import runpy
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import __main__

from . import NUMBER, UNCAUGHT

STACKS = "stacks"
"""File to which `faulthandler` writes the stacks of a process that dies."""


def main() -> None:
    """Run with the arguments `FOLDER ALL TIMEOUT file|module NAME [ARGUMENT]...`."""
    folder, semantics, timeout, kind, name, *args = sys.argv[1:]
    place = Path(folder)
    in_threads = threading.excepthook

    def in_thread(ended: threading.ExceptHookArgs) -> None:
        _note_uncaught(place, ended.exc_value)
        in_threads(ended)

    threading.excepthook = in_thread
    # Stderr is unsuitable, as a script may redirect it.
    stacks = (place / STACKS).open("w", encoding="utf-8")
    faulthandler.enable(stacks)
    values = True if semantics == "1" else None
    sys.meta_path.insert(0, _Finder(lambda: _watch(place, values, float(timeout))))
    sys.argv = [name, *args]
    try:
        (_run_module if kind == "module" else _run_file)(name)
    except SystemExit:
        raise
    except BaseException as error:
        _note_uncaught(place, error)
        shown = error.with_traceback(_own(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _watch(folder: Path, semantics: bool | None, timeout: float) -> None:
    from .log import LoggingObserver

    _observe(LoggingObserver(folder, semantics=semantics, timeout=timeout))


def _note_uncaught(folder: Path, error: BaseException | None) -> None:
    """Write the numbers of an exception and of its causes."""
    numbers: dict[int, str] = {}  # by exception, as there may be a cycle
    while error is not None and id(error) not in numbers:
        numbers[id(error)] = str(vars(error).get(NUMBER, ""))
        error = error.__cause__ or error.__context__
    with (folder / UNCAUGHT).open("a", encoding="utf-8") as file:
        file.writelines(f"{number}\n" for number in numbers.values() if number)


def _run_file(name: str) -> None:
    if os.path.isdir(name) or zipfile.is_zipfile(name):
        sys.path[0] = name
        runpy.run_path(name, run_name="__main__")
        return
    sys.path[0] = str(Path(name).resolve().parent)
    path = os.path.abspath(name)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    # Threads, pickles and exit handlers use the real `__main__`.
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


class _Finder(importlib.abc.MetaPathFinder):
    """Calls `then` as soon as TVM has been imported, if it ever is."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The result of the other finders, with a loader that calls back when it is done."""
        if fullname != "tvm":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                self._then()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _observe(observer: Any) -> None:
    """Add the observer to all PassContexts; to a thread's default context at its first pass."""
    from tvm.ir.transform import Pass, PassContext

    def has(instruments: Sequence[Any]) -> bool:
        return any(each.same_as(observer) for each in instruments)

    def added(instruments: Sequence[Any] | None) -> list[Any]:
        given = list(instruments or ())
        return given if has(given) else [*given, observer]

    init, override, call = PassContext.__init__, PassContext.override_instruments, Pass.__call__

    signature = inspect.signature(init)

    @functools.wraps(init)
    def __init__(*args: Any, **options: Any) -> None:
        bound = signature.bind(*args, **options)
        bound.arguments["instruments"] = added(bound.arguments.get("instruments"))
        init(*bound.args, **bound.kwargs)

    @functools.wraps(override)
    def override_instruments(self: Any, instruments: Any) -> None:
        override(self, added(instruments))

    @functools.wraps(call)
    def __call__(self: Any, mod: Any) -> Any:
        context = PassContext.current()
        if not has(context.instruments):
            context.override_instruments(context.instruments)
        try:
            return call(self, mod)
        except BaseException as error:
            # The end of a PassContext reports exceptions, but only if a `with` has entered it.
            observer.exception_left(error)
            raise

    PassContext.__init__ = __init__
    PassContext.override_instruments = override_instruments
    Pass.__call__ = __call__
