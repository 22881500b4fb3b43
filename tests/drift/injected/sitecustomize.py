"""Changes the installed TVM for everybody but itself, as another release of it would differ.

Python imports this file at its start where its folder is on PYTHONPATH, so a command, its zygote
and all children see the same TVM. The variable RELAXFUZZ_DRIFT holds one change on each line:

    remove tvm.relax.op.abs
    rename tvm.tirx.BufferLoad.indices subscripts
    keyword tvm.relax.op.nn.conv2d strides stride
    unregister relax.memory.view
    add /path/to/file.py

TVM's own code goes on as it is: it would have been changed along. Whatever else asks for a name
that is removed gets the exception that Python raises where there is none, and the name is appended
to the file that the variable RELAXFUZZ_DRIFT_ASKED names.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import runpy
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

VARIABLE = "RELAXFUZZ_DRIFT"
ASKED = "RELAXFUZZ_DRIFT_ASKED"
GONE = object()

_noted: set[str] = set()


def _is_tvm(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("tvm", "tvm_ffi")


def _note(name: str) -> None:
    """Write down that somebody has asked for a name that is gone."""
    if name not in _noted and ASKED in os.environ:
        _noted.add(name)
        with open(os.environ[ASKED], "a") as file:
            file.write(f"{name}\n")


def _raise(error: Exception) -> NoReturn:
    """Raise it in the name of whoever asked: the last frame has their variables."""

    def fail() -> NoReturn:
        raise error

    asker = sys._getframe(2).f_globals
    types.FunctionType(fail.__code__, asker, "fail", None, fail.__closure__)()
    raise AssertionError


class Changed(types.ModuleType):
    """A module that shows itself unchanged to TVM only."""

    changes: dict[str, object]

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        changes = get("changes")
        if (name not in changes and name != "__dict__") or _is_tvm(sys._getframe(1)):
            return get(name)
        if name == "__dict__":
            merged = {**get(name), **changes}
            return {key: value for key, value in merged.items() if value is not GONE}
        if changes[name] is not GONE:
            return changes[name]
        _note(name)
        text = f"module {get('__name__')!r} has no attribute {name!r}"
        return _raise(AttributeError(text, name=name, obj=self))

    def __dir__(self) -> list[str]:
        return sorted(name for name in super().__dir__() if self.changes.get(name) is not GONE)


class Attribute:
    """An attribute of a class that shows itself unchanged to TVM only."""

    def __init__(self, name: str, original: Any, change: object) -> None:
        self.name, self.original, self.change = name, original, change

    def __get__(self, instance: object, owner: type) -> Any:
        changed = not _is_tvm(sys._getframe(1))
        if changed and self.change is GONE:
            _note(self.name)
            what = f"type object {owner.__name__!r}" if instance is None else repr(owner.__name__)
            text = f"{what}{'' if instance is None else ' object'} has no attribute {self.name!r}"
            of = owner if instance is None else instance
            return _raise(AttributeError(text, name=self.name, obj=of))
        shown = self.change if changed else self.original
        get = getattr(type(shown), "__get__", None)
        return shown if get is None else get(shown, instance, owner)

    def __set__(self, instance: object, value: object) -> None:
        self.original.__set__(instance, value)


def _owner(name: str) -> tuple[Any, str]:
    """What has the attribute: a module or a class, and the attribute's name."""
    *parts, last = name.split(".")
    owner: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], 2):
        if not hasattr(owner, part):
            importlib.import_module(".".join(parts[:depth]))
        owner = getattr(owner, part)
    if isinstance(owner, type):
        owner = next(each for each in owner.__mro__ if last in vars(each))
    return owner, last


def _change(name: str, value: object) -> None:
    """Show another value under this name, and wherever else in TVM the same object has it."""
    owner, last = _owner(name)
    if isinstance(owner, type):
        setattr(owner, last, Attribute(last, vars(owner)[last], value))
        return
    if owner.__name__.endswith("._ffi_api"):
        delattr(owner, last)  # what TVM's library has not, TVM's Python code has not either
        return
    original = getattr(owner, last)
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] != "tvm" or vars(module).get(last) is not original:
            continue
        if not isinstance(module, Changed):
            module.changes = {}  # type: ignore[attr-defined]
            module.__class__ = Changed
        object.__getattribute__(module, "changes")[last] = value


def _field(owner: type, name: str) -> Iterator[Any]:
    """TVM's own description of a field."""
    info = getattr(owner, "__tvm_ffi_type_info__", None)
    yield from (field for field in (info.fields or ()) if field.name == name) if info else ()


def remove(name: str) -> None:
    """There is no such class, function or field."""
    _change(name, GONE)


def rename(name: str, new: str) -> None:
    """A class, function or field has another name."""
    owner, last = _owner(name)
    original = vars(owner)[last]
    _change(name, GONE)
    setattr(owner, new, original)
    if isinstance(original, type):
        original.__name__ = original.__qualname__ = new
    for field in _field(owner, last) if isinstance(owner, type) else ():
        field.name = new


def keyword(name: str, old: str, new: str) -> None:
    """A parameter of a function, or of a class's constructor, has another name."""
    owner, last = _owner(name)
    function = vars(owner)[last]
    if isinstance(function, type):
        keyword(f"{name}.__init__", old, new)
        return
    code = function.__code__
    names = tuple(new if each == old else each for each in code.co_varnames)
    assert names != code.co_varnames, f"{name} has no parameter {old}"
    cells = tuple(new if each == old else each for each in code.co_cellvars)
    changed = types.FunctionType(
        code.replace(co_varnames=names, co_cellvars=cells),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    changed.__kwdefaults__ = {
        new if key == old else key: value for key, value in (function.__kwdefaults__ or {}).items()
    }
    changed.__doc__ = function.__doc__
    changed.__module__ = function.__module__
    changed.__qualname__ = function.__qualname__
    _change(name, changed)


def unregister(name: str) -> None:
    """There is no such operator, and no function that calls it."""
    from tvm.ir import Op

    get = Op.get

    @staticmethod  # type: ignore[misc]
    @functools.wraps(get)
    def without(op_name: str) -> Any:
        if op_name == name and not _is_tvm(sys._getframe(1)):
            _note(op_name)
            check = "Check failed: (reg != nullptr) is false"
            raise AttributeError(f"{check}: Operator {op_name} is not registered")
        return get(op_name)

    Op.get = without
    remove(f"tvm.{name.replace('relax.', 'relax.op.', 1)}")


def add(path: str) -> None:
    """Further functions, which a file adds."""
    runpy.run_path(path)


CHANGES = {each.__name__: each for each in (remove, rename, keyword, unregister, add)}


def apply(changes: str) -> None:
    """Apply the changes of the variable, one on each line."""
    for line in filter(None, map(str.strip, changes.splitlines())):
        kind, *arguments = line.split()
        CHANGES[kind](*arguments)


class AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds TVM as it is found anyway, and changes it when its import has ended."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "tvm":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            self.original = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        assert self.original is not None
        return self.original.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        assert self.original is not None
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.original
        self.original.exec_module(module)
        apply(os.environ[VARIABLE])


if os.environ.get(VARIABLE):
    sys.meta_path.insert(0, AfterImport())
