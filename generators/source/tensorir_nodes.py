"""How each kind of TensorIR node is written."""

import re
from collections.abc import Callable, Mapping

from . import blocks
from .graph import VALUES, Id
from .layout import Doc, call, keyword
from .plan import is_plain_shape
from .writer import Emitter, Plan, Writer, plain, quoted

_INTEGERS = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_LITERAL_DTYPES = _INTEGERS | {"bool", "float16", "bfloat16", "float32", "float64"}
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max")
_COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or")
_INTEGER_DTYPE = re.compile(r"(u?)int(\d+)")
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
_OPERATORS = {"prim.Add": "+", "prim.Sub": "-", "prim.Mul": "*"}
_BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LShift", "RShift")
_SHORT = 40  # longest arithmetic that is written with operators

# Kind: the constructor and the fields that are its arguments, in order; "=" marks one to be named.
_SIMPLE: dict[str, tuple[str, str]] = {
    **{f"prim.{name}": (f"tirx.{name}", "a b") for name in (*_ARITHMETIC, *_COMPARISONS)},
    **{f"prim.{name}": (name, "a b") for name in _BITS},
    "prim.BitwiseNot": ("BitwiseNot", "a"),
    "prim.Not": ("tirx.Not", "a"),
    "prim.Select": ("tirx.Select", "condition true_value false_value"),
    "prim.Ramp": ("tirx.Ramp", "base stride lanes"),
    "prim.Broadcast": ("tirx.Broadcast", "value lanes"),
    "prim.Let": ("tirx.Let", "var value body"),
    "tirx.Bind": ("tirx.Bind", "var value"),
    "tirx.While": ("tirx.While", "condition body"),
    "tirx.BufferStore": ("tirx.BufferStore", "buffer value indices"),
    "tirx.DeclBuffer": ("tirx.DeclBuffer", "buffer data="),
    "tirx.SeqStmt": ("tirx.SeqStmt", "seq"),
    "tirx.IfThenElse": ("tirx.IfThenElse", "condition then_case else_case"),
    "tirx.Evaluate": ("tirx.Evaluate", "value"),
    "tirx.Return": ("tirx.stmt.Return", "value"),
    "ir.Range": ("interval", "min extent"),
    "s_tir.MatchBufferRegion": ("MatchBufferRegion", "buffer source"),
}


def _simple(constructor: str, parameters: str) -> Emitter:
    names = parameters.split()

    def emit(w: Writer, i: Id) -> Doc:
        args = []
        for parameter in names:
            field = parameter.rstrip("=")
            value = w.g.field(i, field)
            doc = w.array(value, w.p) if w.g.kinds[value] == "ffi.Array" else w.p(value)
            args.append(keyword(field, doc) if field != parameter else doc)
        return call(constructor, *args)

    return emit


def _arithmetic(w: Writer, i: Id) -> Doc:
    """`a + b` if Python's operator folds and drops nothing here, else the constructor."""
    kind = w.g.kinds[i]
    doc = _BY_CONSTRUCTOR[kind](w, i)
    a, b = w.g.field(i, "a"), w.g.field(i, "b")
    dtype = w.dtype_of(a)
    if dtype not in ("int32", "int64") or dtype != w.dtype_of(b) or w.g.kinds[a] == "ir.IntImm":
        return doc
    left, right = w.e(a), w.e(b)
    if w.g.kinds[b] == "ir.IntImm":
        value = w.int_of(b, dtype)
        if value is None or value < (2 if kind == "prim.Mul" else 1):
            return doc
        right = str(value)
    if not isinstance(left, str) or not isinstance(right, str):
        return doc
    text = f"({left} {_OPERATORS[kind]} {right})"
    return text if len(text) <= _SHORT else doc


def _int_imm(w: Writer, i: Id) -> Doc:
    dtype, value = str(w.g.dtype(w.g.field(i, "ty"))), w.g.content(i, "value")
    if dtype in _LITERAL_DTYPES:
        return call(f"T.{dtype}", str(bool(value)) if dtype == "bool" else str(value))
    return call("tirx.IntImm", quoted(dtype), str(value))


def _float_imm(w: Writer, i: Id) -> Doc:
    dtype, value = str(w.g.dtype(w.g.field(i, "ty"))), w.g.field(i, "value")
    # On its way through T.float64 a value passes as a float32 literal.
    if dtype in _LITERAL_DTYPES and abs(value) <= _LARGEST["float32"]:
        return call(f"T.{dtype}", plain(value))
    return call("tirx.FloatImm", quoted(dtype), plain(value))


def _cast(w: Writer, i: Id) -> Doc:
    dtype = w.g.dtype(w.g.field(i, "ty"))
    return call("tirx.Cast", quoted(str(dtype)), w.p(w.g.field(i, "value")))


def _load(w: Writer, i: Id) -> Doc:
    """`buffer[i, j]`, for which there must be an index."""
    source, indices = w.e(w.g.field(i, "source")), w.array(w.g.field(i, "indices"), w.p)
    if not isinstance(source, str) or not isinstance(indices, str) or indices == "[]":
        return call("tirx.BufferLoad", source, indices)
    return source + indices


def _iter_var(w: Writer, i: Id) -> Doc:
    g = w.g
    dom, var, tag = (g.field(i, f) for f in ("dom", "var", "thread_tag"))
    args = [w.e(dom), w.e(var), str(g.field(i, "iter_type"))]
    if w.text(tag):
        args.append(w.e(tag))
    return call("tirx.IterVar", *args)


def _attr_stmt(w: Writer, i: Id) -> Doc:
    g = w.g
    node, key, value, body = (g.field(i, f) for f in ("node", "attr_key", "value", "body"))
    return call("tirx.AttrStmt", w.e(node), w.e(key), w.s(value), w.e(body))


def _alloc_buffer(w: Writer, i: Id) -> Doc:
    annotations = w.g.field(i, "annotations")
    args = [w.e(w.g.field(i, "buffer"))]
    if w.g.items(annotations):
        args.append(w.mapping(annotations))
    return call("tirx.AllocBuffer", *args)


def _prim_func(w: Writer, i: Id) -> Doc:
    g = w.g
    params = g.items(g.field(i, "params"))
    args = [w.array(g.field(i, "params")), w.e(g.field(i, "body"))]
    ret = g.field(i, "ret_type")
    if "ret_type" not in w.implied.get(i, ()):
        args.append(keyword("ret_type", w.e(ret)))
    if "attrs" not in w.implied.get(i, ()):
        args.append(keyword("attrs", w.e(g.field(i, "attrs"))))
    buffers = any(g.kinds[k] == "tirx.BufferType" for k in map(w.type_of, params) if k is not None)
    return call("prim_func" if buffers else "tirx.PrimFunc", *args)


_BY_CONSTRUCTOR: dict[str, Emitter] = {
    kind: _simple(constructor, parameters) for kind, (constructor, parameters) in _SIMPLE.items()
}

EMITTERS: Mapping[str, Emitter] = {
    **_BY_CONSTRUCTOR,
    **blocks.EMITTERS,
    **dict.fromkeys(_OPERATORS, _arithmetic),
    "ir.IntImm": _int_imm,
    "ir.FloatImm": _float_imm,
    "prim.Cast": _cast,
    "ir.TensorLoad": _load,
    "tirx.IterVar": _iter_var,
    "tirx.AttrStmt": _attr_stmt,
    "tirx.AllocBuffer": _alloc_buffer,
    "tirx.PrimFunc": _prim_func,
}

WRITES_TYPE = frozenset({"ir.IntImm", "ir.FloatImm"})


# What follows from the constructors, and so is not written


def _lanes(dtype: str) -> str:
    _, cross, lanes = dtype.partition("x")
    return cross + lanes


def _result_dtype(rule: Callable[[Writer, Id], str | None]) -> Plan:
    """The type is implied if it is the dtype that `rule` computes."""

    def plan(w: Writer, i: Id) -> None:
        dtype = w.dtype_of(i)
        if dtype is not None and dtype == rule(w, i):
            w.imply(i, "ty")
        else:
            w.raw.add(i)

    return plan


def _as_field(name: str) -> Callable[[Writer, Id], str | None]:
    return lambda w, i: w.dtype_of(w.g.field(i, name))


def _vector(name: str) -> Callable[[Writer, Id], str | None]:
    """The dtype of a vector whose elements are like the named scalar."""

    def rule(w: Writer, i: Id) -> str | None:
        lanes = w.int_of(w.g.field(i, "lanes"), "int32")
        return f"{w.dtype_of(w.g.field(i, name))}x{lanes}"

    return rule


def _comparison(w: Writer, i: Id) -> str | None:
    dtype = w.dtype_of(w.g.field(i, "a"))
    return None if dtype is None else "bool" + _lanes(dtype)


def _loaded(w: Writer, i: Id) -> str | None:
    ty = w.g.data[w.g.field(i, "source")]["ty"]
    indices = [w.dtype_of(k) for k in w.g.items(w.g.field(i, "indices"))]
    if w.g.kinds[ty] != "tirx.BufferType" or any(k is None or "x" in k for k in indices):
        return None
    return w.g.dtype(w.g.field(ty, "dtype"))


def _region(w: Writer, i: Id) -> None:
    ty, source = w.g.data[i].get("ty"), w.g.data[w.g.field(i, "source")]["ty"]
    typed = ty is None or w.g.kinds[ty] == "tirx.BufferRegionType"
    if typed and w.g.kinds[source] == "tirx.BufferType":
        if ty is not None:
            w.imply(i, "ty")
        blocks.plan_region(w, i)
    else:
        w.raw.add(i)


def _int_plan(w: Writer, i: Id) -> None:
    """A literal that its own dtype cannot hold: passes make them, the constructor refuses them."""
    match = _INTEGER_DTYPE.fullmatch(w.dtype_of(i) or "")
    value = w.g.content(i, "value")
    if match is None:
        return
    bits = int(match[2])
    low, high = (0, 2**bits) if match[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if not low <= value < high:
        w.raw.add(i)


def _float_plan(w: Writer, i: Id) -> None:
    value, largest = w.g.field(i, "value"), _LARGEST.get(w.dtype_of(i) or "")
    if largest is not None and largest < abs(value) < float("inf"):
        w.raw.add(i)


def _prim_func_plan(w: Writer, i: Id) -> None:
    g = w.g
    ret, attrs = g.field(i, "ret_type"), g.field(i, "attrs")
    if w.is_void(ret) and w.references[ret] == 1:
        w.imply(i, "ret_type")
    if not g.items(g.data[attrs]["__dict__"]) and w.references[attrs] == 1:
        w.imply(i, "attrs")
    if _is_signature(w, i):
        w.derive(i, 1 + len(w.owners.get(i, ())))
    else:
        w.implied.pop(i, None)
        w.raw.add(i)


def _is_signature(w: Writer, i: Id) -> bool:
    """Whether the function's type is the one that the constructor derives, down to its parts."""
    g = w.g
    ty = g.field(i, "ty")
    if i in w.stale or g.kinds[ty] != "relax.FuncType":
        return False
    params, types = g.items(g.field(i, "params")), g.items(g.field(ty, "params"))
    ret = g.field(ty, "ret")
    if w.is_void(ret) and w.references[ret] != 1:
        return False
    return all(
        _is_parameter_type(w, g.field(p, "ty"), t) for p, t in zip(params, types, strict=True)
    )


def _is_parameter_type(w: Writer, given: Id, derived: Id) -> bool:
    """Whether a part of a function type that is right is also not shared."""
    g = w.g
    if g.kinds[given] != "tirx.BufferType":
        return given == derived or g.kinds[derived] in VALUES
    shape = g.field(derived, "shape")
    if not w.is_own(derived, "relax.TensorType") or not w.is_own(shape, "relax.expr.ShapeExpr"):
        return False
    ours, theirs = g.items(g.field(given, "shape")), g.items(g.field(shape, "values"))
    return is_plain_shape(w, shape) and all(
        _same_dimension(w, a, b) for a, b in zip(ours, theirs, strict=True)
    )


def _same_dimension(w: Writer, given: Id, derived: Id) -> bool:
    """Whether casting a buffer's dimension to int64 gives the derived one."""
    if given == derived:
        return True
    value = w.int_of(derived, "int64")
    return value is not None and value in (w.int_of(given, "int32"), w.int_of(given, "int64"))


PLANS: Mapping[str, Plan] = {
    **blocks.PLANS,
    **dict.fromkeys((f"prim.{n}" for n in _ARITHMETIC), _result_dtype(_as_field("a"))),
    **dict.fromkeys((f"prim.{n}" for n in _COMPARISONS), _result_dtype(_comparison)),
    **dict.fromkeys(
        ("prim.Not", "prim.BitwiseNot", *(f"prim.{n}" for n in _BITS)),
        _result_dtype(_as_field("a")),
    ),
    "prim.Select": _result_dtype(_as_field("true_value")),
    "prim.Let": _result_dtype(_as_field("body")),
    "ir.IntImm": _int_plan,
    "ir.FloatImm": _float_plan,
    "prim.Ramp": _result_dtype(_vector("base")),
    "prim.Broadcast": _result_dtype(_vector("value")),
    "prim.Cast": _result_dtype(lambda w, i: w.dtype_of(i)),
    "ir.TensorLoad": _result_dtype(_loaded),
    "ir.TensorRegion": _region,
    "tirx.PrimFunc": _prim_func_plan,
}
