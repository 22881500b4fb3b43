"""How each kind of Relax node and type is written."""

from collections.abc import Mapping

from .graph import Id
from .layout import Doc, call, flat, group, keyword
from .writer import Emitter, Writer, quoted

# Ops whose function in `relax.op` takes exactly the operands and adds no attributes.
_PLAIN_OPS = """
abs acos acosh add asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos
cosh divide equal erf exp floor floor_divide floor_mod greater greater_equal isfinite isinf isnan
less less_equal log logical_and logical_not logical_or logical_xor maximum minimum mod multiply
negative nn.relu nn.silu not_equal power round rsqrt sigmoid sign sin sinh sqrt square subtract tan
tanh trunc
"""
PLAIN_OPS = frozenset(f"relax.{name}" for name in _PLAIN_OPS.split())


# Types


def _pointer_type(w: Writer, i: Id) -> Doc:
    element, scope = w.g.field(i, "element_type"), w.text(w.g.field(i, "storage_scope"))
    dtype = w.g.dtype(element)
    inner = w.e(element) if dtype is None else call("tvm.ir.PrimType", quoted(dtype))
    return call("tvm.ir.PointerType", inner, *([quoted(scope)] if scope else []))


def _inline_shape(w: Writer, i: Id) -> Doc | None:
    """A shape expression as a tuple, if it is not shared."""
    if w.g.kinds[i] != "relax.expr.ShapeExpr" or w.mentions[i] > 1:
        return None
    if "ty" not in w.implied.get(i, ()):
        return None
    dims = [w.d(dim) for dim in w.g.items(w.g.field(i, "values"))]
    return group("(", dims, ",)" if len(dims) == 1 else ")")


def _tensor_type(w: Writer, i: Id) -> Doc:
    g = w.g
    shape, dtype, vdevice = (g.field(i, f) for f in ("shape", "dtype", "vdevice"))
    dtype_text = "None" if w.null(dtype) else quoted(str(g.dtype(dtype)))
    display = None if w.null(shape) else _inline_shape(w, shape)
    if display is not None and w.mentions[i] == 1 and not w.null(dtype) and w.null(vdevice):
        return call("R.Tensor", display, dtype_text)
    args = [display or w.e(shape), dtype_text]
    if not w.null(vdevice):
        args.append(keyword("vdevice", w.e(vdevice)))
    if w.null(shape):
        args.append(f"ndim={g.field(i, 'ndim')}")
    return call("TensorType", *args)


def _shape_type(w: Writer, i: Id) -> Doc:
    values = w.g.field(i, "values")
    if w.null(values):
        return call("ShapeType", f"ndim={w.g.field(i, 'ndim')}")
    return call("ShapeType", w.array(values, w.d))


def _func_type(w: Writer, i: Id) -> Doc:
    g = w.g
    params, ret, derive = (g.field(i, f) for f in ("params", "ret", "derive_func"))
    purity = g.field(i, "purity")
    if not w.null(params):
        return call("FuncType", *[w.array(params), w.e(ret), *([] if purity else ["False"])])
    options: list[Doc] = ["purity=True"] if purity else []
    if w.null(derive):
        options.insert(0, keyword("ret", w.e(ret)))
    else:
        options.insert(0, keyword("derive_func", w.e(derive)))
    return call("FuncType.opaque_func", *options)


# Expressions


def _var(w: Writer, i: Id) -> Doc:
    g = w.g
    name, ty = quoted(w.text(g.field(i, "name"))), g.field(i, "ty")
    dtype = g.dtype(ty)
    if g.kinds[i] == "relax.expr.DataflowVar":
        return call("relax.DataflowVar", name, w.e(ty))
    if dtype is not None and i not in w.relaxed:
        return call("tirx.Var", name, quoted(dtype))
    if g.kinds[ty] == "tirx.BufferType":
        return buffer_var(w, i)
    if g.kinds[ty] == "ir.PointerType":
        return call("tirx.Var", name, w.e(ty))
    return call("relax.Var", name, w.e(ty))


def buffer_var(w: Writer, i: Id) -> Doc:
    """A buffer, written as `tirx.decl_buffer` where its type is not shared."""
    g = w.g
    name, ty = quoted(w.text(g.field(i, "name"))), g.field(i, "ty")
    if w.mentions[ty] > 1 or g.items(g.field(ty, "allocated_addr")):
        return call("tirx.Var", name, w.e(ty))
    shape, offset = g.field(ty, "shape"), g.field(ty, "elem_offset")
    dtypes = {w.dtype_of(k) for k in g.items(shape) if g.kinds[k] == "ir.IntImm"}
    wide = dtypes == {"int64"} and w.null(g.field(ty, "layout"))
    display = w.array(shape, w.d if wide else w.p)
    args: list[Doc] = [display, quoted(str(g.dtype(g.field(ty, "dtype")))), name]
    if g.items(g.field(ty, "strides")):
        args.append(keyword("strides", w.array(g.field(ty, "strides"), w.p)))
    if not _default_offset(w, shape, offset):
        args.append(keyword("elem_offset", w.p(offset)))
    scope = w.text(g.field(ty, "storage_scope"))
    if scope != "global":
        args.append(f"scope={quoted(scope)}")
    if g.field(ty, "data_alignment") != 64:
        args.append(f"data_alignment={g.field(ty, 'data_alignment')}")
    if g.field(ty, "offset_factor") != 1:
        args.append(f"offset_factor={g.field(ty, 'offset_factor')}")
    if wide:
        return call("buffer", *args)
    args.append(keyword("layout", w.e(g.field(ty, "layout"))))
    return call("tirx.decl_buffer", *args)


def _default_offset(w: Writer, shape: Id, offset: Id) -> bool:
    """Whether the offset is the zero that a declaration without offset gets."""
    dims = w.g.items(shape)
    dtype = w.dtype_of(dims[0]) if dims else "int64"
    return dtype is not None and w.int_of(offset, dtype) == 0


def _tuple(w: Writer, i: Id) -> Doc:
    if i in w.typed:
        return call("tuple_of", w.e(w.g.field(i, "ty")), _operands(w, w.g.field(i, "fields")))
    return call("relax.Tuple", _operands(w, w.g.field(i, "fields")))


def _tuple_get_item(w: Writer, i: Id) -> Doc:
    field = w.e(w.g.field(i, "tuple_value")), str(w.g.field(i, "index"))
    if i in w.typed:
        return call("item_of", w.e(w.g.field(i, "ty")), *field)
    return call("relax.TupleGetItem", *field)


def operand(w: Writer, i: Id) -> Doc:
    """An expression among Relax expressions, where old releases wrap primitive values."""
    if w.dtype_of(i) is None or i in w.relaxed:
        return w.e(i)
    value = w.int_of(i, "int64")
    return call("prim_value", w.e(i) if value is None else str(value))


def _operands(w: Writer, i: Id) -> Doc:
    return group("[", (operand(w, item) for item in w.g.items(i)), "]")


def _call(w: Writer, i: Id) -> Doc:
    g = w.g
    op, args, attrs, ty_args = (g.field(i, f) for f in ("op", "args", "attrs", "ty_args"))
    name = g.data[op] if g.kinds[op] == "ir.Op" else None
    if name is not None and not name.startswith("relax."):
        return _prim_call(w, i)
    bare = w.null(attrs) and not g.items(ty_args)
    if bare and name in PLAIN_OPS:
        return call(
            f"relax.op.{name.removeprefix('relax.')}",
            *(operand(w, arg) for arg in g.items(args)),
        )
    if name is not None and i in w.attributed:
        return _attributed_call(w, i, name.removeprefix("relax."))
    if name is not None and bare:
        return call("op", quoted(name.removeprefix("relax.")), _operands(w, args))
    if name in _PLAIN_CALLEES and _is_plain_call(w, i, _PLAIN_CALLEES[name]):
        func, given = g.items(args)
        inputs = _operands(w, g.field(given, "fields"))
        function = name.replace("relax.", "relax.op.")
        return call(function, w.e(func), inputs, w.e(g.items(ty_args)[0]))
    parts = [w.e(op), _operands(w, args)]
    if not bare:
        parts.append(w.e(attrs))
    if g.items(ty_args):
        parts.append(w.array(ty_args))
    return call("relax.Call", *parts)


def _attributed_call(w: Writer, i: Id, name: str) -> Doc:
    g = w.g
    args, attrs = g.field(i, "args"), g.field(i, "attrs")
    types = [g.kinds[g.field(arg, "ty")] for arg in g.items(args)]
    if name == "layout_transform" and types == ["relax.TensorType"]:
        # Its attributes have more fields in old releases.
        pad = g.field(attrs, "pad_value")
        given = [*g.items(args), g.field(attrs, "index_map"), *([] if w.null(pad) else [pad])]
        return call("relax.op.layout_transform", *(operand(w, k) for k in given))
    kind = quoted(g.kinds[attrs].removeprefix("relax.attrs."))
    return call("op", quoted(name), _operands(w, args), kind, *w.keywords(attrs))


_PLAIN_CALLEES = {
    "relax.call_tir": "ir.GlobalVar",
    "relax.call_dps_packed": "relax.expr.ExternFunc",
}


def _is_plain_call(w: Writer, i: Id, callee: str) -> bool:
    """Whether the function in `relax.op` makes this call: inputs in a tuple, one output."""
    g = w.g
    args, types = g.items(g.field(i, "args")), g.items(g.field(i, "ty_args"))
    if len(args) != 2 or len(types) != 1 or not w.null(g.field(i, "attrs")):
        return False
    func, inputs = args
    if g.kinds[func] != callee or not w.is_own(inputs, "ir.Tuple") or inputs in w.typed:
        return False
    shape = g.field(types[0], "shape") if g.kinds[types[0]] == "relax.TensorType" else None
    return shape is not None and g.kinds[shape] == "relax.expr.ShapeExpr"


def _prim_call(w: Writer, i: Id) -> Doc:
    g = w.g
    parts: list[Doc] = [quoted(g.data[g.field(i, "op")]), w.array(g.field(i, "args"), w.s)]
    declared = None if "ty" in w.implied.get(i, ()) else g.dtype(g.field(i, "ty"))
    if w.null(g.field(i, "attrs")) and not g.items(g.field(i, "ty_args")) and declared is not None:
        return call("prim_call", *parts, quoted(declared))
    if not w.null(g.field(i, "attrs")):
        parts.append(keyword("attrs", w.e(g.field(i, "attrs"))))
    if g.items(g.field(i, "ty_args")):
        parts.append(keyword("ty_args", w.array(g.field(i, "ty_args"))))
    if "ty" not in w.implied.get(i, ()):
        ty = g.field(i, "ty")
        dtype = g.dtype(ty)
        parts.append(keyword("ret_ty", w.e(ty) if dtype is None else quoted(dtype)))
    return call("tvm.ir.Call", *parts)


def _if(w: Writer, i: Id) -> Doc:
    parts = (w.e(w.g.field(i, f)) for f in ("cond", "true_branch", "false_branch"))
    return call("relax.If", *parts)


# Bindings, blocks, functions


def _var_binding(w: Writer, i: Id) -> Doc:
    var, value = w.g.field(i, "var"), w.g.field(i, "value")
    if value in w.bound:
        return call("bind", w.e(var), w.e(value))
    return call("relax.VarBinding", w.e(var), operand(w, value))


def _match_cast(w: Writer, i: Id) -> Doc:
    var, value, ty = (w.g.field(i, f) for f in ("var", "value", "ty"))
    return call("relax.MatchCast", w.e(var), operand(w, value), w.e(ty))


def _block(w: Writer, i: Id) -> Doc:
    name = w.g.kinds[i].removeprefix("relax.expr.")
    return call(f"relax.{name}", w.array(w.g.field(i, "bindings")))


def _seq_expr(w: Writer, i: Id) -> Doc:
    body = operand(w, w.g.field(i, "body"))
    doc = call("relax.SeqExpr", w.array(w.g.field(i, "blocks")), body)
    if w.is_missing(w.g.field(i, "ty")) or "ty" not in w.implied.get(i, ()):
        return doc
    return call("typed", doc, call("type_of", body))


def _function(w: Writer, i: Id) -> Doc:
    g = w.g
    params, body, ret, attrs = (g.field(i, f) for f in ("params", "body", "ret_ty", "attrs"))
    result = operand(w, g.field(body, "body"))
    implied = w.implied.get(i, ())
    parts = [
        w.array(params),
        call("relax.SeqExpr", w.array(g.field(body, "blocks")), result),
        call("type_of", result) if "ret_ty" in implied else w.e(ret),
        str(g.field(i, "is_pure")),
    ]
    if "attrs" not in implied:
        parts.append(w.e(attrs))
    elif g.field(i, "is_pure"):
        parts.pop()
    return call("relax.Function", *parts)


def _module(w: Writer, i: Id) -> Doc:
    g = w.g
    entries = []
    for gv, func in g.pairs(g.field(i, "functions")):
        named = w.mentions[gv] > 1 or gv in w.forced
        key = flat(w.e(gv)) if named else quoted(w.text(g.field(gv, "name_hint")))
        entries.append(keyword(key, w.e(func), ": "))
    parts: list[Doc] = [group("{", entries, "}")]
    attrs, infos = g.data[g.field(i, "attrs")]["__dict__"], g.field(i, "global_infos")
    if g.items(attrs):
        parts.append(keyword("attrs", w.mapping(attrs)))
    if g.items(infos):
        parts.append(keyword("global_infos", w.mapping(infos)))
    return call("tvm.IRModule", *parts)


EMITTERS: Mapping[str, Emitter] = {
    "ir.Type": lambda w, i: "tvm.ir.Type.missing()",
    "ir.PrimType": lambda w, i: call("PrimType", quoted(w.g.data[i]["dtype"])),
    "ir.PointerType": _pointer_type,
    "ir.TupleType": lambda w, i: call("TupleType", w.array(w.g.field(i, "fields"))),
    "relax.AnyType": lambda w, i: call("AnyType"),
    "relax.TensorType": _tensor_type,
    "relax.ShapeType": _shape_type,
    "relax.FuncType": _func_type,
    "ir.Var": _var,
    "relax.expr.DataflowVar": _var,
    "ir.GlobalVar": lambda w, i: call(
        "tvm.ir.GlobalVar", quoted(w.text(w.g.field(i, "name_hint")))
    ),
    "ir.Call": _call,
    "ir.Tuple": _tuple,
    "ir.TupleGetItem": _tuple_get_item,
    "relax.expr.ShapeExpr": lambda w, i: call(
        "relax.ShapeExpr", w.array(w.g.field(i, "values"), w.d)
    ),
    "relax.expr.If": _if,
    "relax.expr.ExternFunc": lambda w, i: call(
        "relax.ExternFunc", quoted(w.text(w.g.field(i, "global_symbol")))
    ),
    "relax.expr.VarBinding": _var_binding,
    "relax.expr.MatchCast": _match_cast,
    "relax.expr.BindingBlock": _block,
    "relax.expr.DataflowBlock": _block,
    "relax.expr.SeqExpr": _seq_expr,
    "relax.expr.Function": _function,
    "ir.IRModule": _module,
}

WRITES_TYPE = frozenset({"ir.Var", "relax.expr.DataflowVar", "relax.expr.MatchCast"})
