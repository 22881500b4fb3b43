"""What of a Relax node follows from its constructor or its place, and so is not written."""

from collections.abc import Mapping, Sequence

from .graph import Id
from .values import shape_and_dtype
from .writer import Plan, Writer

_BINDABLE = frozenset({"ir.Call", "relax.expr.If"})
_OPAQUE_DERIVE = "tvm.relax.type.infer_by_ty_args"


def _plan_binding(w: Writer, i: Id) -> None:
    var, value = w.g.field(i, "var"), w.g.field(i, "value")
    w.relaxed.add(var)
    if w.g.kinds[value] in _BINDABLE and w.references[value] == 1:
        ty = w.g.field(value, "ty")
        if ty == w.type_of(var) and not w.is_missing(ty):
            w.imply(value, "ty")
            w.bound.add(value)


def _plan_match_cast(w: Writer, i: Id) -> None:
    w.relaxed.add(w.g.field(i, "var"))


def _plan_call(w: Writer, i: Id) -> None:
    g = w.g
    op = g.field(i, "op")
    if g.kinds[op] == "ir.Op" and not g.data[op].startswith("relax."):
        w.typed.add(i)
    if w.is_missing(g.field(i, "ty")):
        w.imply(i, "ty")
    attrs, args = g.field(i, "attrs"), g.items(g.field(i, "args"))
    if g.kinds[op] != "ir.Op" or w.references[attrs] != 1 or g.items(g.field(i, "ty_args")):
        return
    if g.kinds[attrs].startswith("relax.attrs."):
        ty = [] if "ty" in w.implied.get(i, ()) else [g.field(i, "ty")]
        w.attributed.add(i)
        w.parts[i] = [*args, *g.children(attrs), *ty]


def _plan_type(w: Writer, i: Id) -> None:
    if w.is_missing(w.g.field(i, "ty")):
        w.imply(i, "ty")


def _need_type(w: Writer, values: Sequence[Id]) -> None:
    """State that these expressions must have their types where they are used.

    So must global variables whose functions, without which the types are not known, can come first.
    """
    for gv in values:
        func = next((func for func, owned in w.owners.items() if gv in owned), None)
        if func is not None and gv not in w.early and not _refers(w, func, gv):
            w.early[gv] = func
            w.typed_by_functions = False
            w.forced.update(*w.owners.values())


def _refers(w: Writer, start: Id, to: Id) -> bool:
    """Whether a node is among those that another one needs before it."""
    pending, seen = [start], {start}
    while pending:
        i = pending.pop()
        for child in [*w.g.children(i), *([w.early[i]] if i in w.early else [])]:
            if child == to:
                return True
            if child not in seen:
                seen.add(child)
                pending.append(child)
    return False


def _plan_tuple(w: Writer, i: Id) -> None:
    g = w.g
    _need_type(w, g.items(g.field(i, "fields")))
    ty = g.field(i, "ty")
    fields = [w.type_of(f) for f in g.items(g.field(i, "fields"))]
    if any(f is None or w.is_missing(f) for f in fields):
        if w.is_missing(ty):
            w.imply(i, "ty")
    elif g.kinds[ty] == "ir.TupleType" and g.items(g.field(ty, "fields")) == fields:
        w.derive(i)
    else:
        w.raw.add(i)
    if i in w.raw:
        w.raw.remove(i)
        w.typed.add(i)


def _plan_item(w: Writer, i: Id) -> None:
    g = w.g
    ty, whole = g.field(i, "ty"), w.type_of(g.field(i, "tuple_value"))
    if whole is not None and g.kinds[whole] == "ir.TupleType":
        if g.items(g.field(whole, "fields"))[g.field(i, "index")] == ty:
            w.imply(i, "ty")
        else:
            w.typed.add(i)
    elif w.is_missing(ty):
        w.imply(i, "ty")


def _plan_shape(w: Writer, i: Id) -> None:
    g = w.g
    if any(w.dtype_of(v) != "int64" for v in g.items(g.field(i, "values"))):
        w.raw.add(i)
    elif is_plain_shape(w, i):
        w.derive(i)
    else:
        w.raw.add(i)


def is_plain_shape(w: Writer, i: Id) -> bool:
    """Whether the type of a ShapeExpr is the one that its constructor derives."""
    g = w.g
    ty = g.field(i, "ty")
    if g.kinds[ty] != "relax.ShapeType" or w.null(g.field(ty, "values")):
        return False
    ours, theirs = g.items(g.field(i, "values")), g.items(g.field(ty, "values"))
    return len(ours) == len(theirs) and all(map(g.same_value, ours, theirs))


def _plan_constant(w: Writer, i: Id) -> None:
    g = w.g
    value, ty = g.field(i, "value"), g.field(i, "ty")
    if (isinstance(value, str) or g.kinds[value] == "DataType") and g.kinds[ty] == "relax.AnyType":
        w.imply(i, "ty")
    elif g.kinds[value] != "ffi.Tensor":
        w.raw.add(i)
    elif w.is_own(ty, "relax.TensorType") and _is_tensor_type_of(w, ty, g.data[value]):
        w.imply(i, "ty")


def _is_tensor_type_of(w: Writer, ty: Id, data: str) -> bool:
    g = w.g
    shape, dtype = g.field(ty, "shape"), g.field(ty, "dtype")
    if w.null(shape) or not w.null(g.field(ty, "vdevice")) or w.null(dtype):
        return False
    if not w.is_own(shape, "relax.expr.ShapeExpr") or not is_plain_shape(w, shape):
        return False
    dims = tuple(w.int_of(v, "int64") for v in g.items(g.field(shape, "values")))
    return (dims, g.dtype(dtype)) == shape_and_dtype(data)


def _plan_extern(w: Writer, i: Id) -> None:
    g = w.g
    ty, attrs = g.field(i, "ty"), g.field(i, "attrs")
    if i in w.owners:  # what gives its type to a global variable is no copy of it
        w.forced.add(i)
    if g.items(g.data[attrs]["__dict__"]) or w.references[attrs] != 1:
        w.raw.add(i)
        return
    derive, ret = g.field(ty, "derive_func"), g.field(ty, "ret")
    opaque = g.data[derive] == _OPAQUE_DERIVE and g.kinds[ret] == "relax.AnyType"
    if opaque and not g.field(ty, "purity"):
        w.imply(i, "attrs")
        w.derive(i)
    else:
        w.raw.add(i)


def _plan_func_type(w: Writer, i: Id) -> None:
    g = w.g
    opaque, derive = w.null(g.field(i, "params")), g.field(i, "derive_func")
    if w.null(derive):
        return
    if not opaque or g.kinds[g.field(i, "ret")] != "relax.AnyType":
        w.raw.add(i)
    else:
        w.imply(i, "ret")


def _plan_sequence(w: Writer, i: Id) -> None:
    ty, result = w.g.field(i, "ty"), w.g.field(i, "body")
    if w.is_missing(ty):
        w.imply(i, "ty")
    elif ty == w.type_of(result):
        w.imply(i, "ty")
        w.forced.add(result)
        _need_type(w, [result])


def _plan_function(w: Writer, i: Id) -> None:
    g = w.g
    params, body, attrs = (g.field(i, f) for f in ("params", "body", "attrs"))
    result, untyped = w.type_of(g.field(body, "body")), w.is_missing(g.field(body, "ty"))
    types = [w.type_of(p) for p in g.items(params)]
    w.relaxed.update(g.items(params))
    if (
        w.references[body] != 1
        or not (untyped or g.field(body, "ty") == result)
        or any(t is None or w.is_missing(t) for t in types)
    ):
        w.raw.add(i)
        return
    if not untyped:
        w.forced.add(g.field(body, "body"))
        _need_type(w, [g.field(body, "body")])
    if g.field(i, "ret_ty") == result and not untyped:
        w.imply(i, "ret_ty")
    if not g.items(g.data[attrs]["__dict__"]) and w.references[attrs] == 1:
        w.imply(i, "attrs")
    if _is_function_type(w, i, types):
        w.derive(i, 1 + len(w.owners.get(i, ())))
    else:
        w.implied.pop(i, None)
        w.raw.add(i)


def _is_function_type(w: Writer, i: Id, params: Sequence[Id | None]) -> bool:
    g = w.g
    ty = g.field(i, "ty")
    return (
        g.kinds[ty] == "relax.FuncType"
        and not w.null(g.field(ty, "params"))
        and g.items(g.field(ty, "params")) == params
        and w.null(g.field(ty, "derive_func"))
        and g.field(ty, "ret") == g.field(i, "ret_ty")
        and g.field(ty, "purity") == g.field(i, "is_pure")
    )


def _plan_module(w: Writer, i: Id) -> None:
    """Names for functions; which global variables have their functions' types or none."""
    g = w.g
    entries = list(g.pairs(g.field(i, "functions")))
    for gv, func in entries:
        w.hints[func] = w.text(g.field(gv, "name_hint"))
        w.name(func)
        if w.hints[func] in w.stale_names:
            w.stale.add(func)
        if g.field(gv, "ty") == w.type_of(func):
            w.owners.setdefault(func, []).append(gv)
            w.imply(gv, "ty")
    variables = {gv for gv, _ in entries}
    followers = {gv for owned in w.owners.values() for gv in owned}
    w.typed_by_functions = followers == variables != set()
    if not w.typed_by_functions:
        w.forced |= {gv for gv in variables if not w.is_missing(g.field(gv, "ty"))}
    index = {w.text(k): gv for k, gv in g.pairs(g.field(i, "global_var_map_"))}
    if index == {w.text(g.field(gv, "name_hint")): gv for gv in variables}:
        w.imply(i, "global_var_map_")
    else:
        w.forced |= variables
        w.raw.add(i)


PLANS: Mapping[str, Plan] = {
    "ir.IRModule": _plan_module,
    "ir.GlobalVar": _plan_type,
    "relax.expr.Function": _plan_function,
    "relax.expr.SeqExpr": _plan_sequence,
    "relax.expr.VarBinding": _plan_binding,
    "relax.expr.MatchCast": _plan_match_cast,
    "relax.expr.ExternFunc": _plan_extern,
    "relax.expr.If": _plan_type,
    "relax.expr.ShapeExpr": _plan_shape,
    "relax.FuncType": _plan_func_type,
    "ir.Call": _plan_call,
    "ir.Tuple": _plan_tuple,
    "ir.TupleGetItem": _plan_item,
    "ir.GenericConst": _plan_constant,
}
