"""Reductions over attributes of modules, functions and operators, and over constants."""

from __future__ import annotations

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
"""Owner that represents the module; functions are named by their hashes."""

PUBLIC = "global_symbol"
FORCE_PURE = "relax.force_pure"

Named = tuple[int, str]
"""The hash of a function or call, and the name of one of its attributes."""


def drop_attributes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop attributes of the module and its functions: all, then those of one name, then runs."""
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
    # Most functions with this attribute are ill-formed without it.
    for _, func in relax_functions(mod):
        if FORCE_PURE in (func.attrs or {}):
            yield partial(_without, mod, [(hash(func), FORCE_PURE)])


def make_private(mod: tvm.IRModule) -> Iterator[Edit]:
    """Make functions private that other functions call. This leaves fewer public functions."""
    called = {name for _, func in mod.functions_items() for name in references(func)}
    public = [g.name_hint for g, f in mod.functions_items() if is_public(f)]
    for run in runs([name for name in public if name in called]):
        if len(run) < len(public):
            by_name = {gvar.name_hint: func for gvar, func in mod.functions_items()}
            yield partial(_without, mod, [(hash(by_name[name]), PUBLIC) for name in run])


def make_pure(mod: tvm.IRModule) -> Iterator[Edit]:
    """Make functions pure that are declared impure and have no side effects: all, then runs."""
    impure = [
        hash(func)
        for _, top in relax_functions(mod)
        for func in nodes(top, relax.Function)
        if not func.is_pure and not relax.analysis.contains_impure_call(func)
    ]
    for run in runs(impure):
        yield _Pure(mod, run).run


def default_attributes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Reset attributes of operators to their defaults: all, then runs of them.

    Each edit leaves fewer attributes that differ from the defaults of the function in `relax.op`
    that makes the call.
    """
    for run in runs(list(dict.fromkeys(_unusual_in(mod)))):
        yield _Defaulted(mod, run).run


def _unusual_in(mod: tvm.IRModule) -> Iterator[tuple[int, str]]:
    """The attributes that differ from their defaults, each with the hash of its call."""
    for _, func in relax_functions(mod):
        for call in nodes(func, relax.Call):
            for name in unusual(call):
                yield hash(call), name


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
    """The default in the form of the attribute."""
    if isinstance(value, tirx.IntImm) and isinstance(default, int):
        return tirx.IntImm(value.ty, default)
    if isinstance(value, tvm_ffi.Array) and default is not None:
        return list(map(_converted, value, spread(default, len(value))))
    return default


def _without(mod: tvm.IRModule, gone: Sequence[Named]) -> tvm.IRModule | None:
    functions = dict(mod.functions_items())
    if {owner for owner, _ in gone} - {MODULE, *map(hash, functions.values())}:
        return _Without(mod, gone).run()
    for gvar, func in functions.items():  # no type needs to be inferred again
        for name in [name for owner, name in gone if owner == hash(func)]:
            functions[gvar] = functions[gvar].without_attr(name)
    for name in [name for owner, name in gone if owner == MODULE]:
        mod = mod.without_attr(name)
    return with_functions(mod, functions)


LARGEST_LOOKED_AT = 1 << 20
"""Elements of the largest constant to compare; larger ones count as arbitrary."""


def plain_constants(mod: tvm.IRModule, above: int = 0) -> Iterator[Edit]:
    """Fill constants with ones, zeros, or 0, 1, 2 ...: first all, then ever shorter runs of them.

    The `_level` of some constants falls, and of none rises.

    Args:
        above: only constants of a higher level.
    """
    levels = {hash(const): level for const, level in _levels(mod)}
    for some in runs([address for address, level in levels.items() if level > above]):
        for level in range(max((levels[address] for address in some), default=0)):
            lower = [address for address in some if levels[address] > level]
            yield _Filled(mod, frozenset(lower), level).run


PLAIN: tuple[Callable[[tuple[int, ...]], Any], ...] = (
    np.ones,
    np.zeros,
    lambda shape: np.arange(int(np.prod(shape))).reshape(shape),
)
"""Fillings from plain to special; ones come first, since zeros make distinct things equal."""


ARBITRARY = len(PLAIN)
"""The level of data that is not in `PLAIN`."""


def arbitrary_constants(mod: tvm.IRModule) -> list[ir.GenericConst]:
    """The constants whose data is not in `PLAIN`."""
    return [const for const, level in _levels(mod) if level == ARBITRARY]


def _levels(mod: tvm.IRModule) -> list[tuple[ir.GenericConst, int]]:
    tensors = (
        each for each in nodes(mod, ir.GenericConst) if isinstance(each.ty, relax.TensorType)
    )
    return [(const, _level(const)) for const in tensors]


def _level(const: ir.GenericConst) -> int:
    """The rank of the data: its place in `PLAIN`, or the number after the last place."""
    shape = tuple(map(int, ir.constant_data(const).shape))
    if int(np.prod(shape)) > LARGEST_LOOKED_AT:
        return ARBITRARY
    data = ir.constant_data(const).numpy()
    return next(
        (level for level, fill in enumerate(PLAIN) if np.array_equal(data, fill(shape))),
        ARBITRARY,
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
        # Any element type works, including those without a name in NumPy.
        data = PLAIN[self._level](shape).astype(ir.constant_data(const).numpy().dtype)
        return ir.GenericConst(tvm.runtime.tensor(data), const.ty)
