"""Reductions over attributes of modules, functions and operators, and over constants."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...generators.rewrite.defaults import defaults, fields, spread, unusual
from ...generators.rewrite.nodes import references, with_functions
from ...generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...oracles.inspect import is_public, nodes, relax_functions
from .kernels import HAS_BLOCKS
from .reduction import Edit, grouped, runs

MODULE = 0
"""Stands for the module where functions are named by their hashes."""

PUBLIC = "global_symbol"
FORCE_PURE = "relax.force_pure"

Named = tuple[int, str]
"""The hash of a function or call, and the name of an attribute of it."""


def drop_attributes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without attributes of the module and its functions: all, those of one name, then runs."""
    found: list[Named] = [(MODULE, str(name)) for name in dict(mod.attrs or {})]
    for _, func in mod.functions_items():
        for each in nodes(func, relax.Function) if isinstance(func, relax.Function) else [func]:
            blocks = isinstance(each, tirx.PrimFunc) and nodes(each, ir.SBlockRealize)
            kept = {PUBLIC, FORCE_PURE, *([HAS_BLOCKS] if blocks else [])}
            found += [(hash(each), str(n)) for n in dict(each.attrs or {}) if str(n) not in kept]
    names = list(dict.fromkeys(name for _, name in found))
    if 1 < len(names) < len(found):
        yield partial(_without, mod, found)
        for name in names:
            yield partial(_without, mod, [each for each in found if each[1] == name])
    for run in runs(found):
        yield partial(_without, mod, run)
    # Most functions that have it are ill-formed without it.
    for _, func in relax_functions(mod):
        if FORCE_PURE in (func.attrs or {}):
            yield partial(_without, mod, [(hash(func), FORCE_PURE)])


def make_private(mod: tvm.IRModule) -> Iterator[Edit]:
    """Functions that others call are called from nowhere else. Fewer functions are public."""
    called = {name for _, func in mod.functions_items() for name in references(func)}
    public = [g.name_hint for g, f in mod.functions_items() if is_public(f)]
    for run in runs([name for name in public if name in called]):
        if len(run) < len(public):
            by_name = {gvar.name_hint: func for gvar, func in mod.functions_items()}
            yield partial(_without, mod, [(hash(by_name[name]), PUBLIC) for name in run])


def make_pure(mod: tvm.IRModule) -> Iterator[Edit]:
    """Functions that are declared impure and have no side effects become pure: all, then runs."""
    impure = [
        hash(func)
        for _, top in relax_functions(mod)
        for func in nodes(top, relax.Function)
        if not func.is_pure and not relax.analysis.contains_impure_call(func)
    ]
    for run in runs(impure):
        yield _Pure(mod, run).run


def default_attributes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Default attributes of operators: all, then runs of them.

    Fewer attributes differ from the default of the function in `relax.op` that makes the call.
    """
    for run in runs(list(dict.fromkeys(_unusual_in(mod)))):
        yield _Defaulted(mod, run).run


def _unusual_in(mod: tvm.IRModule) -> Iterator[tuple[int, str]]:
    """The attributes that differ from their defaults, each with the hash of its call."""
    for _, func in relax_functions(mod):
        for call in nodes(func, relax.Call):
            for name in unusual(call):
                yield hash(call), name


def with_attributes(mod: tvm.IRModule, names: Collection[str]) -> tvm.IRModule:
    """With default attributes of operators, but for those of these names, where that is typed."""
    found = [(call, name) for call, name in _unusual_in(mod) if name not in names]
    with contextlib.suppress(CannotRewrite):
        return (_Defaulted(mod, found).run() if found else None) or mod
    return mod


class _Without(Rewriter):
    def __init__(self, mod: tvm.IRModule, gone: Sequence[Named]) -> None:
        super().__init__(mod)
        self._gone = grouped(gone)

    def attrs(self, func: relax.Function, *, local: bool) -> Any:
        gone = self._gone.get(hash(func), set())
        if not func.attrs or not gone:
            return func.attrs
        return tvm.ir.DictAttrs({k: v for k, v in dict(func.attrs).items() if str(k) not in gone})


class _Pure(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Sequence[int]) -> None:
        super().__init__(mod)
        self._chosen = frozenset(chosen)

    def purity(self, func: relax.Function) -> bool:
        return hash(func) in self._chosen or super().purity(func)


class _Defaulted(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Sequence[Named]) -> None:
        super().__init__(mod)
        self._chosen = grouped(chosen)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        chosen = self._chosen.get(hash(call))
        if chosen:
            default = defaults(str(call.op.name))
            values = {
                name: _converted(getattr(call.attrs, name), default[name])
                for name in fields(call.attrs)
                if name in chosen
            }
            try:
                attrs = ir.with_fields(call.attrs, **values)
            except (TypeError, ValueError) as error:
                raise CannotRewrite(str(error)) from error
            call = relax.Call(call.op, call.args, attrs, call.ty_args)
        return super().call(call, args)


def _converted(value: Any, default: Any) -> Any:
    """The default in the form that the attribute has."""
    if isinstance(value, tirx.IntImm) and isinstance(default, int):
        return tirx.IntImm(value.ty, default)
    if isinstance(value, tvm_ffi.Array) and default is not None:
        return list(map(_converted, value, spread(default, len(value))))
    return default


def _without(mod: tvm.IRModule, gone: Sequence[Named]) -> tvm.IRModule | None:
    functions = dict(mod.functions_items())
    if {owner for owner, _ in gone} - {MODULE, *map(hash, functions.values())}:
        return _Without(mod, gone).run()
    for gvar, func in functions.items():  # nothing has to be inferred anew
        for name in [name for owner, name in gone if owner == hash(func)]:
            functions[gvar] = functions[gvar].without_attr(name)
    for name in [name for owner, name in gone if owner == MODULE]:
        mod = mod.without_attr(name)
    return with_functions(mod, functions)


LARGEST_LOOKED_AT = 1 << 20
"""Elements: beyond that a constant counts as arbitrary without a look at its data."""


def plain_constants(mod: tvm.IRModule) -> Iterator[Edit]:
    """Constants of ones, or zeros, or 0, 1, 2 ...: all of them, then ever shorter runs of them.

    `_level` of some constants falls, and of none it rises.
    """
    levels = {
        hash(const): _level(const)
        for const in nodes(mod, ir.GenericConst)
        if isinstance(const.ty, relax.TensorType)
    }
    for some in runs([address for address, level in levels.items() if level > 0]):
        for level in range(max((levels[address] for address in some), default=0)):
            lower = [address for address in some if levels[address] > level]
            yield _Filled(mod, frozenset(lower), level).run


PLAIN: tuple[Callable[[tuple[int, ...]], Any], ...] = (
    np.ones,
    np.zeros,
    lambda shape: np.arange(int(np.prod(shape))).reshape(shape),
)
"""From plain to special; ones first, since with zeros much is equal that should not be."""


def _level(const: ir.GenericConst) -> int:
    """How plain the data is: its place in `PLAIN`, or after all of them."""
    shape = tuple(map(int, ir.constant_data(const).shape))
    if int(np.prod(shape)) > LARGEST_LOOKED_AT:
        return len(PLAIN)
    data = ir.constant_data(const).numpy()
    return next(
        (level for level, fill in enumerate(PLAIN) if np.array_equal(data, fill(shape))),
        len(PLAIN),
    )


class _Filled(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Collection[int], level: int) -> None:
        super().__init__(mod)
        self._chosen = chosen
        self._level = level

    def constant(self, const: ir.GenericConst) -> Any:
        if hash(const) not in self._chosen:
            return const
        shape = tuple(map(int, ir.constant_data(const).shape))
        # Any element type, those among them that NumPy does not know by name.
        data = PLAIN[self._level](shape).astype(ir.constant_data(const).numpy().dtype)
        return ir.GenericConst(tvm.runtime.tensor(data), const.ty)
