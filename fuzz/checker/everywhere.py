"""One observer for all builds of a process: in each PassContext, and where there is none."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call `then` as soon as a module has been imported; never if it is not."""
    sys.meta_path.insert(0, _Finder(name, then))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the other finders find, with a loader that tells when it is done."""
        if fullname != self._name:
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


def observe(observer: Any) -> None:
    """Let every PassContext of this process have the observer among its instruments.

    Contexts keep the instruments of their own. A context that was not made by Python (the one that
    is there without any `with`, in each thread) gets it at the first pass that runs in it.
    """
    from tvm.ir.transform import Pass, PassContext

    def has(instruments: Sequence[Any]) -> bool:
        return any(each.same_as(observer) for each in instruments)

    def added(instruments: Sequence[Any] | None) -> list[Any]:
        given = list(instruments or ())
        return given if has(given) else [*given, observer]

    init, override, call = PassContext.__init__, PassContext.override_instruments, Pass.__call__

    @functools.wraps(init)
    def __init__(
        self: Any,
        opt_level: Any = 2,
        required_pass: Any = None,
        disabled_pass: Any = None,
        instruments: Any = None,
        config: Any = None,
    ) -> None:
        init(self, opt_level, required_pass, disabled_pass, added(instruments), config)

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
            # Without a `with` there is no end of a context, at which it would be told.
            observer.left(error)
            raise

    PassContext.__init__ = __init__
    PassContext.override_instruments = override_instruments
    Pass.__call__ = __call__
