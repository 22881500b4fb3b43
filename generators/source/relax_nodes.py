"""Emitters for each kind of Relax node and type."""

from collections.abc import Mapping

from .graph import Id
from .layout import Doc, call, flat, group, keyword
from .values import derives_type, is_plain_shape
from .writer import Emitter, Writer, quoted

# Ops whose function in `relax.op` takes exactly the operands and adds no attributes.
_PLAIN_OPS = """
abs acos acosh add asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos
cosh divide equal erf exp floor floor_divide floor_mod greater greater_equal isfinite isinf isnan
less less_equal log logical_and logical_not logical_or logical_xor maximum minimum mod multiply
negative nn.relu nn.silu not_equal power round rsqrt sigmoid sign sin sinh sqrt square subtract tan
tanh trunc
"""
_OPAQUE_DERIVE = "tvm.relax.type.infer_by_ty_args"
PLAIN_OPS = frozenset(f"relax.{name}" for name in _PLAIN_OPS.split())


# Types


def _pointer_type(w: Writer, i: Id) -> Doc:
    element, scope = w.graph.field(i, "element_type"), w.text(w.graph.field(i, "storage_scope"))
    dtype = w.graph.dtype(element)
    inner = w.node(element) if dtype is None else call("tvm.ir.PrimType", quoted(dtype))
    return call("tvm.ir.PointerType", inner, *([quoted(scope)] if scope else []))


def _tensor_type(w: Writer, i: Id) -> Doc:
    g = w.graph
    shape, dtype, vdevice = (g.field(i, f) for f in ("shape", "dtype", "vdevice"))
    dtype_text = "None" if w.null(dtype) else quoted(str(g.dtype(dtype)))
    plain = is_plain_shape(w, shape)
    doc = _dimensions(w, shape) if plain else w.node(shape)
    if plain and w.is_written_once(i) and not w.null(dtype) and w.null(vdevice):
        return call("R.Tensor", doc, dtype_text)
    args = [doc, dtype_text]
    if not w.null(vdevice):
        args.append(keyword("vdevice", w.node(vdevice)))
    if w.null(shape):
        args.append(f"ndim={g.field(i, 'ndim')}")
    return call("TensorType", *args)


def _dimensions(w: Writer, shape: Id) -> Doc:
    """A shape expression as a tuple."""
    dims = [w.dimension(dim) for dim in w.graph.items(w.graph.field(shape, "values"))]
    return group("(", dims, ",)" if len(dims) == 1 else ")")


def _shape_type(w: Writer, i: Id) -> Doc:
    values = w.graph.field(i, "values")
    if w.null(values):
        return call("ShapeType", f"ndim={w.graph.field(i, 'ndim')}")
    return call("ShapeType", w.array(values, w.dimension))


def _func_type(w: Writer, i: Id) -> Doc:
    g = w.graph
    params, ret, derive = (g.field(i, f) for f in ("params", "ret", "derive_func"))
    purity = g.field(i, "purity")
    if not w.null(derive) and not (w.null(params) and g.kinds[ret] == "relax.AnyType"):
        return w.make_node(i)
    if not w.null(params):
        return call("FuncType", *[w.array(params), w.node(ret), *([] if purity else ["False"])])
    options: list[Doc] = ["purity=True"] if purity else []
    if w.null(derive):
        options.insert(0, keyword("ret", w.node(ret)))
    else:
        options.insert(0, keyword("derive_func", w.node(derive)))
    return call("FuncType.opaque_func", *options)


# Expressions


def _var(w: Writer, i: Id) -> Doc:
    g = w.graph
    name, ty = quoted(w.text(g.field(i, "name"))), g.field(i, "ty")
    dtype = g.dtype(ty)
    if g.kinds[i] == "relax.expr.DataflowVar":
        return call("relax.DataflowVar", name, w.node(ty))
    if dtype is not None and i not in w.relaxed:
        return call("tirx.Var", name, quoted(dtype))
    if g.kinds[ty] == "tirx.BufferType":
        return buffer_var(w, i)
    if g.kinds[ty] == "ir.PointerType":
        return call("tirx.Var", name, w.node(ty))
    return call("relax.Var", name, w.node(ty))


def buffer_var(w: Writer, i: Id) -> Doc:
    """A buffer, written as `tirx.decl_buffer` if its type is not shared."""
    g = w.graph
    name, ty = quoted(w.text(g.field(i, "name"))), g.field(i, "ty")
    if w.references[ty] > 1 or g.items(g.field(ty, "allocated_addr")):
        return call("tirx.Var", name, w.node(ty))
    shape, offset = g.field(ty, "shape"), g.field(ty, "elem_offset")
    dtypes = {w.dtype_of(k) for k in g.items(shape) if g.kinds[k] == "ir.IntImm"}
    wide = dtypes == {"int64"} and w.null(g.field(ty, "layout"))
    display = w.array(shape, w.dimension if wide else w.primitive)
    args: list[Doc] = [display, quoted(str(g.dtype(g.field(ty, "dtype")))), name]
    if g.items(g.field(ty, "strides")):
        args.append(keyword("strides", w.array(g.field(ty, "strides"), w.primitive)))
    if not _default_offset(w, shape, offset):
        args.append(keyword("elem_offset", w.primitive(offset)))
    scope = w.text(g.field(ty, "storage_scope"))
    if scope != "global":
        args.append(f"scope={quoted(scope)}")
    if g.field(ty, "data_alignment") != 64:
        args.append(f"data_alignment={g.field(ty, 'data_alignment')}")
    if g.field(ty, "offset_factor") != 1:
        args.append(f"offset_factor={g.field(ty, 'offset_factor')}")
    if wide:
        return call("buffer", *args)
    args.append(keyword("layout", w.node(g.field(ty, "layout"))))
    return call("tirx.decl_buffer", *args)


def _default_offset(w: Writer, shape: Id, offset: Id) -> bool:
    """True if the offset is the zero of a declaration without offset."""
    dims = w.graph.items(shape)
    dtype = w.dtype_of(dims[0]) if dims else "int64"
    return dtype is not None and w.int_of(offset, dtype) == 0


def _shape(w: Writer, i: Id) -> Doc:
    if not derives_type(w, i) or not w.gives_type(i):
        return w.make_node(i)
    return call("relax.ShapeExpr", w.array(w.graph.field(i, "values"), w.dimension))


def _tuple(w: Writer, i: Id) -> Doc:
    g = w.graph
    ty, fields = g.field(i, "ty"), g.field(i, "fields")
    if any(w.known_type(field) is None for field in g.items(fields)):
        return w.typed(i, call("relax.Tuple", _operands(w, fields)))
    if _is_tuple_type(w, i) and w.gives_type(i):
        return call("relax.Tuple", _operands(w, fields))
    return call("tuple_of", w.node(ty), _operands(w, fields))


def _is_tuple_type(w: Writer, i: Id) -> bool:
    """True if the type of a tuple consists of those of its fields."""
    g = w.graph
    ty, fields = g.field(i, "ty"), g.items(g.field(i, "fields"))
    return g.kinds[ty] == "ir.TupleType" and g.items(g.field(ty, "fields")) == [
        w.known_type(field) for field in fields
    ]


def _tuple_get_item(w: Writer, i: Id) -> Doc:
    g = w.graph
    ty, value, index = (g.field(i, f) for f in ("ty", "tuple_value", "index"))
    args = [w.node(value), str(index)]
    whole = w.type_of(value)
    if whole is None or g.kinds[whole] != "ir.TupleType":
        return w.typed(i, call("relax.TupleGetItem", *args))
    if g.items(g.field(whole, "fields"))[index] == ty:
        return call("relax.TupleGetItem", *args)
    return call("item_of", w.node(ty), *args)


def operand(w: Writer, i: Id) -> Doc:
    """An operand in a Relax expression, where old releases wrap primitive values."""
    if w.dtype_of(i) is None or i in w.relaxed:
        return w.node(i)
    value = w.int_of(i, "int64")
    return call("prim_value", w.node(i) if value is None else str(value))


def _operands(w: Writer, i: Id) -> Doc:
    return group("[", (operand(w, item) for item in w.graph.items(i)), "]")


def _call(w: Writer, i: Id) -> Doc:
    op = w.graph.field(i, "op")
    name = w.graph.data[op] if w.graph.kinds[op] == "ir.Op" else None
    if name is not None and not name.startswith("relax."):
        return _prim_call(w, i)
    return w.typed(i, _untyped_call(w, i, name))


def _untyped_call(w: Writer, i: Id, name: str | None) -> Doc:
    g = w.graph
    op, args, attrs, ty_args = (g.field(i, f) for f in ("op", "args", "attrs", "ty_args"))
    bare = w.null(attrs) and not g.items(ty_args)
    if bare and name in PLAIN_OPS:
        return call(
            f"relax.op.{name.removeprefix('relax.')}",
            *(operand(w, arg) for arg in g.items(args)),
        )
    own = w.references[attrs] == 1 and g.kinds[attrs].startswith("relax.attrs.")
    if name is not None and own and not g.items(ty_args):
        return _attributed_call(w, i, name.removeprefix("relax."))
    if name is not None and bare:
        return call("op", quoted(name.removeprefix("relax.")), _operands(w, args))
    if name in _PLAIN_CALLEES and _is_plain_call(w, i, _PLAIN_CALLEES[name]):
        func, given = g.items(args)
        inputs = _operands(w, g.field(given, "fields"))
        function = name.replace("relax.", "relax.op.")
        return call(function, w.node(func), inputs, w.node(g.items(ty_args)[0]))
    parts = [w.node(op), _operands(w, args)]
    if not bare:
        parts.append(w.node(attrs))
    if g.items(ty_args):
        parts.append(w.array(ty_args))
    return call("relax.Call", *parts)


def _attributed_call(w: Writer, i: Id, name: str) -> Doc:
    g = w.graph
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
    """True if the function in `relax.op` makes this call: inputs in a tuple, one output."""
    g = w.graph
    args, types = g.items(g.field(i, "args")), g.items(g.field(i, "ty_args"))
    if len(args) != 2 or len(types) != 1 or not w.null(g.field(i, "attrs")):
        return False
    func, inputs = args
    if g.kinds[func] != callee or not w.is_own(inputs, "ir.Tuple"):
        return False
    if not _is_tuple_type(w, inputs) or w.references[g.field(inputs, "ty")] != 1:
        return False
    shape = g.field(types[0], "shape") if g.kinds[types[0]] == "relax.TensorType" else None
    return shape is not None and g.kinds[shape] == "relax.expr.ShapeExpr"


def _prim_call(w: Writer, i: Id) -> Doc:
    g = w.graph
    ty, attrs, ty_args = (g.field(i, f) for f in ("ty", "attrs", "ty_args"))
    untyped = i in w.bound or w.is_missing(ty)
    parts = [quoted(g.data[g.field(i, "op")]), w.array(g.field(i, "args"), w.argument)]
    dtype = g.dtype(ty)
    if w.null(attrs) and not g.items(ty_args) and dtype is not None and not untyped:
        return call("prim_call", *parts, quoted(dtype))
    if not w.null(attrs):
        parts.append(keyword("attrs", w.node(attrs)))
    if g.items(ty_args):
        parts.append(keyword("ty_args", w.array(ty_args)))
    if not untyped:
        parts.append(keyword("ret_ty", w.node(ty) if dtype is None else quoted(dtype)))
    return call("tvm.ir.Call", *parts)


def _if(w: Writer, i: Id) -> Doc:
    parts = (w.node(w.graph.field(i, f)) for f in ("cond", "true_branch", "false_branch"))
    return w.typed(i, call("relax.If", *parts))


def _extern(w: Writer, i: Id) -> Doc:
    g = w.graph
    ty = g.field(i, "ty")
    opaque = (
        g.data[g.field(ty, "derive_func")] == _OPAQUE_DERIVE
        and g.kinds[g.field(ty, "ret")] == "relax.AnyType"
        and not g.field(ty, "purity")
    )
    if not opaque or not w.no_attributes(g.field(i, "attrs")) or not w.gives_type(i):
        return w.make_node(i)
    return call("relax.ExternFunc", quoted(w.text(g.field(i, "global_symbol"))))


def _global_var(w: Writer, i: Id) -> Doc:
    doc = call("tvm.ir.GlobalVar", quoted(w.text(w.graph.field(i, "name_hint"))))
    return doc if i in w.followers else w.typed(i, doc)


# Bindings, blocks, functions


def _var_binding(w: Writer, i: Id) -> Doc:
    var, value = w.graph.field(i, "var"), w.graph.field(i, "value")
    if value in w.bound:
        return call("bind", w.node(var), w.node(value))
    return call("relax.VarBinding", w.node(var), operand(w, value))


def _match_cast(w: Writer, i: Id) -> Doc:
    var, value, ty = (w.graph.field(i, f) for f in ("var", "value", "ty"))
    return call("relax.MatchCast", w.node(var), operand(w, value), w.node(ty))


def _block(w: Writer, i: Id) -> Doc:
    name = w.graph.kinds[i].removeprefix("relax.expr.")
    return call(f"relax.{name}", w.array(w.graph.field(i, "bindings")))


def _seq_expr(w: Writer, i: Id) -> Doc:
    g = w.graph
    ty, result = g.field(i, "ty"), g.field(i, "body")
    doc = call("relax.SeqExpr", w.array(g.field(i, "blocks")), operand(w, result))
    if w.is_missing(ty):
        return doc
    same = ty == w.type_of(result)
    return call("typed", doc, w.typed_like(result, ty) if same else w.node(ty))


def _function(w: Writer, i: Id) -> Doc:
    g = w.graph
    if not _is_plain_function(w, i) or not w.gives_type(i):
        return w.make_node(i)
    params, body, ret, attrs = (g.field(i, f) for f in ("params", "body", "ret_ty", "attrs"))
    result, ty = g.field(body, "body"), g.field(body, "ty")
    typed = not w.is_missing(ty)
    parts = [
        w.array(params),
        call("relax.SeqExpr", w.array(g.field(body, "blocks")), operand(w, result)),
        w.typed_like(result, ret) if ret == ty and typed else w.node(ret),
        str(g.field(i, "is_pure")),
    ]
    if not w.no_attributes(attrs):
        parts.append(w.node(attrs))
    elif g.field(i, "is_pure"):
        parts.pop()
    if typed:
        # With a type, the body would make the return type more precise.
        w.set_body_type(i, w.typed_like(result, ty))
    return call("relax.Function", *parts)


def _is_plain_function(w: Writer, i: Id) -> bool:
    """True if the body has the type of its result or none, and the function has that of both."""
    g = w.graph
    body, ty = g.field(i, "body"), g.field(i, "ty")
    body_ty = g.field(body, "ty")
    params = [w.type_of(p) for p in g.items(g.field(i, "params"))]
    return (
        w.references[body] == 1
        and (w.is_missing(body_ty) or body_ty == w.type_of(g.field(body, "body")))
        and not any(t is None or w.is_missing(t) for t in params)
        and g.kinds[ty] == "relax.FuncType"
        and not w.null(g.field(ty, "params"))
        and g.items(g.field(ty, "params")) == params
        and w.null(g.field(ty, "derive_func"))
        and g.field(ty, "ret") == g.field(i, "ret_ty")
        and g.field(ty, "purity") == g.field(i, "is_pure")
    )


def _module(w: Writer, i: Id) -> Doc:
    g = w.graph
    functions = list(g.pairs(g.field(i, "functions")))
    names = {w.text(g.field(gv, "name_hint")): gv for gv, _ in functions}
    if names != {w.text(k): gv for k, gv in g.pairs(g.field(i, "global_var_map_"))}:
        return w.make_node(i)
    entries = []
    for gv, func in functions:
        by_name = w.all_follow or w.is_missing(g.field(gv, "ty"))
        only_here = by_name and w.references[gv] == _PLACES_IN_MODULE
        key = quoted(w.text(g.field(gv, "name_hint"))) if only_here else flat(w.node(gv))
        entries.append(keyword(key, w.node(func), ": "))
    parts: list[Doc] = [group("{", entries, "}")]
    attrs, infos = g.data[g.field(i, "attrs")]["__dict__"], g.field(i, "global_infos")
    if g.items(attrs):
        parts.append(keyword("attrs", w.mapping(attrs)))
    if g.items(infos):
        parts.append(keyword("global_infos", w.mapping(infos)))
    return call("tvm.IRModule", *parts)


_PLACES_IN_MODULE = 2  # the functions, and the index of their names


EMITTERS: Mapping[str, Emitter] = {
    "ir.Type": lambda w, i: "tvm.ir.Type.missing()",
    "ir.PrimType": lambda w, i: call("PrimType", quoted(w.graph.data[i]["dtype"])),
    "ir.PointerType": _pointer_type,
    "ir.TupleType": lambda w, i: call("TupleType", w.array(w.graph.field(i, "fields"))),
    "relax.AnyType": lambda w, i: call("AnyType"),
    "relax.TensorType": _tensor_type,
    "relax.ShapeType": _shape_type,
    "relax.FuncType": _func_type,
    "ir.Var": _var,
    "relax.expr.DataflowVar": _var,
    "ir.GlobalVar": _global_var,
    "ir.Call": _call,
    "ir.Tuple": _tuple,
    "ir.TupleGetItem": _tuple_get_item,
    "relax.expr.ShapeExpr": _shape,
    "relax.expr.If": _if,
    "relax.expr.ExternFunc": _extern,
    "relax.expr.VarBinding": _var_binding,
    "relax.expr.MatchCast": _match_cast,
    "relax.expr.BindingBlock": _block,
    "relax.expr.DataflowBlock": _block,
    "relax.expr.SeqExpr": _seq_expr,
    "relax.expr.Function": _function,
    "ir.IRModule": _module,
}
