"""Functions of any bindings, and helpers that close functions of all forms."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax, tirx
from tvm.ir import PrimType

from .. import bindings
from ..bindings import Callee
from ..bindings.kind import finish
from ..choices import Choices
from ..module_scope import ModuleScope
from ..ops.record import Op
from ..scope import DEFAULT_DTYPE, DTYPES, Scope, near
from ..traits import Trait
from ..values import Dim

OBSERVED, MOST_RESULTS = 0.2, 8
"""The share of functions that return all values they compute, so that no wrong one stays hidden;
the most values they return."""

OTHERS = 0.2
"""The share of functions whose result is or contains a tuple, a shape or a number."""

OTHER_FIELD = 0.3
"""The chance that a tuple as parameter has a field of each kind that is no tensor and that the
module may have."""

LESS_KNOWN = 0.3
"""The chance that the result is annotated with less than TVM infers, if types may be incomplete."""

LONGEST = 64
"""The largest size that is taken from the numbers of a module."""


def scope(c: Choices, module: ModuleScope) -> Scope:
    """A scope with its own palette of dims and dtypes; symbolic variables are fresh."""
    sizes: list[Dim] = [c.pick((2, 3, 4)), c.pick((3, 4, 8))]
    if Trait.EQUAL_DIMS in module.traits:  # then types do not show which axis is meant
        sizes = sizes[1:]
    for _ in range(2 if module.numbers else 0):
        size = int(near(module.numbers, c.below(256)))
        sizes.append(size if 1 <= size <= LONGEST else 2)
    if Trait.UNIT_DIMS in module.traits:
        sizes.append(1)
    if Trait.ZERO_SIZE in module.traits:
        sizes.append(0)
    if Trait.SYMBOLIC_SHAPES in module.traits and c.flag(0.8):
        n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
        sizes += [n, m]
        if Trait.COMPOSITE_DIMS in module.traits:
            sizes.append(c.pick((n * 2, n * 4 + 1, n + m)))
    dtypes = [c.pick(module.dtypes) if module.dtypes else DEFAULT_DTYPE]
    if Trait.DTYPES in module.traits:
        one, other = c.pick(DTYPES), c.pick(DTYPES)
        dtypes = [*dtypes, other] if module.dtypes else [one, other]
    return Scope(module, sizes, dtypes)


def general(
    c: Choices,
    module: ModuleScope,
    body: Sequence[bytes],
    ops: Sequence[Op],
    callees: Sequence[Callee],
) -> relax.Function:
    """A function of any bindings, one binding for each byte string of the body."""
    s = scope(c, module)
    if s.has(Trait.TUPLES) and c.flag(0.3):
        tuple_param(c, s)
    dataflow = not (s.has(Trait.NON_DATAFLOW) and c.flag(0.3))
    observed = c.flag(OBSERVED)
    kinds = bindings.kinds(s)
    for number, data in enumerate(body):
        choices = Choices(data)
        kind = choices.pick(kinds)
        if s.has(Trait.NON_DATAFLOW) and choices.flag(0.15):
            dataflow = not dataflow
        s.dataflow(dataflow and kind.dataflow)
        s.device = choices.pick([None, *module.vdevices])
        # Decided in any case, so that removing a later binding changes no other decision.
        s.exporting = choices.flag(0.2) or number == len(body) - 1 or observed
        kind.emit(choices, s, ops, callees)
    s.close()
    everything = observed or s.has(Trait.ALL_RETURNED)
    result = _everything(c, s) if everything else _result(c, s)
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag(LESS_KNOWN):
        s.dataflow(dataflow)
        result = module.builder.normalize(result)
        result = s.bind(result, var=relax.Var("out", _less_known(c, result.ty)))
    return finish(s, result)


def tuple_param(c: Choices, s: Scope) -> relax.Var:
    """A parameter that is a tuple of one to three tensors, sometimes with a tuple inside.

    If the module has such values, a field may be a shape, a number or anything else.
    """
    fields: list[relax.Type] = [
        relax.TensorType(s.shape(c, c.pick((2, 1))), c.pick(s.dtypes))
        for _ in range(1 + c.below(3))
    ]
    if c.flag(0.25):
        fields.append(relax.TupleType(fields[:1]))
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag():
        fields.append(relax.TensorType(dtype=c.pick(s.dtypes), ndim=c.pick((2, -1))))
    others = {
        Trait.SHAPE_VALUES: relax.ShapeType(ndim=2),
        Trait.NUMBERS: PrimType("int64"),
        Trait.ANY: relax.AnyType(),
    }
    fields += [ty for trait, ty in others.items() if s.has(trait) and c.flag(OTHER_FIELD)]
    var = s.param(relax.TupleType(fields), "params")
    s.tuples.append(var)
    return var


def _everything(c: Choices, s: Scope) -> relax.Expr:
    """All tensors that the function computes, or the last ones if there are many.

    Sometimes one of its values of other types is added, so that a tuple may contain a tuple.
    """
    params = set(s.params)
    values = [v.expr for v in s.values if isinstance(v.expr, relax.Var) and v.expr not in params]
    fields = values[-MOST_RESULTS:] or [s.tensor(c).expr]
    if (others := _no_tensors(s)) and c.flag(OTHERS):
        fields.append(c.pick(others))
    return fields[0] if len(fields) == 1 else relax.Tuple(fields)


def _no_tensors(s: Scope) -> list[relax.Expr]:
    """The tuples, shapes and numbers that the function makes, the latest of each kind first."""
    params = set(s.params)
    found = (*s.tuples[::-1], *s.shapes[::-1], *s.numbers[::-1])
    return [var for var in found if var not in params]


def _result(c: Choices, s: Scope) -> relax.Expr:
    """The function's result: its last value, several values, a parameter or a constant."""
    values = [v.expr for v in s.values] or [s.tensor(c).expr]
    if s.tuples and c.flag(0.3):
        return c.pick((s.tuples[-1], s.tuples[0]))
    if (others := _no_tensors(s)) and c.flag(OTHERS):
        other = c.pick(others)
        return other if c.flag() else relax.Tuple([values[-1], other])
    kind = c.below(8)
    if s.has(Trait.TRIVIAL_OUTPUTS):
        if kind == 7 and s.params:
            return c.pick(s.params)
        if kind == 6:
            return s.constant(c, (2,), DEFAULT_DTYPE).expr
        if kind == 5:
            return relax.Tuple([values[-1], values[0], values[-1]])
    if kind in (3, 4):
        fields = [values[-1 - i] for i in range(min(len(values), kind))]
        if s.has(Trait.TUPLES):
            fields += [v.expr for v in s.values if v.shape is None][:1]
        result = relax.Tuple(fields)
        return s.bind(result) if s.has(Trait.TUPLES) and c.flag(0.4) else result
    return values[-1]


def _less_known(c: Choices, ty: relax.Type) -> relax.Type:
    """The type with less known of each tensor: mostly its rank and dtype, or one, or nothing."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([_less_known(c, field) for field in ty.fields])
    if not isinstance(ty, relax.TensorType):
        return ty
    match c.pick(("both", "both", "dtype", "rank", "nothing")):
        case "dtype":
            return relax.TensorType(dtype=ty.dtype, ndim=-1)
        case "rank":
            return relax.TensorType(dtype="", ndim=ty.ndim)
        case "nothing":
            return relax.AnyType()
    return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)
