"""Emitters for each kind of TensorIR node."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from . import blocks
from .graph import VALUES, Id
from .layout import Doc, call, keyword
from .values import is_plain_shape
from .writer import Emitter, Writer, plain, quoted

_Rule: TypeAlias = Callable[[Writer, Id], str | None]

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
            value = w.graph.field(i, field)
            doc = (
                w.array(value, w.primitive)
                if w.graph.kinds[value] == "ffi.Array"
                else w.primitive(value)
            )
            args.append(keyword(field, doc) if field != parameter else doc)
        return call(constructor, *args)

    return emit


def _arithmetic(w: Writer, i: Id) -> Doc:
    """`a + b` if Python's operator folds and drops nothing here, else the constructor."""
    kind = w.graph.kinds[i]
    constructor, _ = _SIMPLE[kind]
    a, b = w.graph.field(i, "a"), w.graph.field(i, "b")
    left, right = w.primitive(a), w.primitive(b)
    if _is_never_folded(w, kind, a, b) and isinstance(left, str) and isinstance(right, str):
        value = w.int_of(b, str(w.dtype_of(a)))
        text = f"({left} {_OPERATORS[kind]} {right if value is None else value})"
        if len(text) <= _SHORT:
            return text
    return call(constructor, left, right)


def _is_never_folded(w: Writer, kind: str, a: Id, b: Id) -> bool:
    dtype = w.dtype_of(a)
    if dtype not in ("int32", "int64") or dtype != w.dtype_of(b):
        return False
    if w.graph.kinds[b] == "ir.IntImm":
        value = w.int_of(b, dtype)
        if value is None or value < (2 if kind == "prim.Mul" else 1):
            return False
    return w.graph.kinds[a] != "ir.IntImm"


def _int_imm(w: Writer, i: Id) -> Doc:
    dtype, value = str(w.dtype_of(i)), w.graph.content(i, "value")
    if not _holds(dtype, value):
        return w.make_node(i)
    if dtype in _LITERAL_DTYPES:
        return call(f"T.{dtype}", str(bool(value)) if dtype == "bool" else str(value))
    return call("tirx.IntImm", quoted(dtype), str(value))


def _holds(dtype: str, value: int) -> bool:
    """False for a value beyond the dtype: passes make these, and the constructor refuses them."""
    match = _INTEGER_DTYPE.fullmatch(dtype)
    if match is None:
        return True
    bits = int(match[2])
    low, high = (0, 1 << bits) if match[1] else (-1 << (bits - 1), 1 << (bits - 1))
    return low <= value < high


def _float_imm(w: Writer, i: Id) -> Doc:
    dtype, value = str(w.dtype_of(i)), w.graph.field(i, "value")
    if dtype in _LARGEST and _LARGEST[dtype] < abs(value) < float("inf"):
        return w.make_node(i)
    # T.float64 converts its argument through a float32 literal.
    if dtype in _LITERAL_DTYPES and abs(value) <= _LARGEST["float32"]:
        return call(f"T.{dtype}", plain(value))
    return call("tirx.FloatImm", quoted(dtype), plain(value))


def _cast(w: Writer, i: Id) -> Doc:
    return call("tirx.Cast", quoted(str(w.dtype_of(i))), w.primitive(w.graph.field(i, "value")))


def _load(w: Writer, i: Id) -> Doc:
    """`buffer[i, j]`, which needs at least one index."""
    source, indices = (
        w.node(w.graph.field(i, "source")),
        w.array(w.graph.field(i, "indices"), w.primitive),
    )
    if not isinstance(source, str) or not isinstance(indices, str) or indices == "[]":
        return call("tirx.BufferLoad", source, indices)
    return source + indices


def _iter_var(w: Writer, i: Id) -> Doc:
    g = w.graph
    dom, var, tag = (g.field(i, f) for f in ("dom", "var", "thread_tag"))
    args = [w.node(dom), w.node(var), str(g.field(i, "iter_type"))]
    if w.text(tag):
        args.append(w.node(tag))
    return call("tirx.IterVar", *args)


def _attr_stmt(w: Writer, i: Id) -> Doc:
    g = w.graph
    node, key, value, body = (g.field(i, f) for f in ("node", "attr_key", "value", "body"))
    return call("tirx.AttrStmt", w.node(node), w.node(key), w.argument(value), w.node(body))


def _alloc_buffer(w: Writer, i: Id) -> Doc:
    annotations = w.graph.field(i, "annotations")
    args = [w.node(w.graph.field(i, "buffer"))]
    if w.graph.items(annotations):
        args.append(w.mapping(annotations))
    return call("tirx.AllocBuffer", *args)


def _prim_func(w: Writer, i: Id) -> Doc:
    g = w.graph
    if not _is_signature(w, i) or not w.gives_type(i):
        return w.make_node(i)
    params, ret, attrs = (g.field(i, f) for f in ("params", "ret_type", "attrs"))
    args = [w.array(params), w.node(g.field(i, "body"))]
    if not w.is_void(ret) or w.references[ret] != 1:
        args.append(keyword("ret_type", w.node(ret)))
    if not w.no_attributes(attrs):
        args.append(keyword("attrs", w.node(attrs)))
    buffers = any(g.kinds[g.field(p, "ty")] == "tirx.BufferType" for p in g.items(params))
    return call("prim_func" if buffers else "tirx.PrimFunc", *args)


def _is_signature(w: Writer, i: Id) -> bool:
    """True if the function's type is the one that the constructor derives, down to its parts."""
    g = w.graph
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
    """True if a part of a correct function type is also not shared."""
    g = w.graph
    if g.kinds[given] != "tirx.BufferType":
        return given == derived or g.kinds[derived] in VALUES
    if not w.is_own(derived, "relax.TensorType"):
        return False
    shape = g.field(derived, "shape")
    if not is_plain_shape(w, shape):
        return False
    ours, theirs = g.items(g.field(given, "shape")), g.items(g.field(shape, "values"))
    return all(_same_dimension(w, a, b) for a, b in zip(ours, theirs, strict=True))


def _same_dimension(w: Writer, given: Id, derived: Id) -> bool:
    """True if a cast of a buffer's dimension to int64 gives the derived one."""
    if given == derived:
        return True
    value = w.int_of(derived, "int64")
    return value is not None and value in (w.int_of(given, "int32"), w.int_of(given, "int64"))


# The dtype that a constructor gives to an expression. Others have theirs written out.


def _like(name: str) -> _Rule:
    return lambda w, i: w.dtype_of(w.graph.field(i, name))


def _vector_of(name: str) -> _Rule:
    def rule(w: Writer, i: Id) -> str | None:
        lanes = w.int_of(w.graph.field(i, "lanes"), "int32")
        return f"{w.dtype_of(w.graph.field(i, name))}x{lanes}"

    return rule


def _comparison(w: Writer, i: Id) -> str | None:
    dtype = w.dtype_of(w.graph.field(i, "a"))
    if dtype is None:
        return None
    _, cross, lanes = dtype.partition("x")
    return f"bool{cross}{lanes}"


def _loaded(w: Writer, i: Id) -> str | None:
    ty = w.graph.field(w.graph.field(i, "source"), "ty")
    indices = [w.dtype_of(k) for k in w.graph.items(w.graph.field(i, "indices"))]
    if w.graph.kinds[ty] != "tirx.BufferType" or any(k is None or "x" in k for k in indices):
        return None
    return w.graph.dtype(w.graph.field(ty, "dtype"))


_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys((f"prim.{n}" for n in (*_ARITHMETIC, *_BITS)), _like("a")),
    **dict.fromkeys((f"prim.{n}" for n in _COMPARISONS), _comparison),
    **dict.fromkeys(("prim.Not", "prim.BitwiseNot"), _like("a")),
    "prim.Select": _like("true_value"),
    "prim.Let": _like("body"),
    "prim.Ramp": _vector_of("base"),
    "prim.Broadcast": _vector_of("value"),
    "prim.Cast": lambda w, i: w.dtype_of(i),
    "ir.TensorLoad": _loaded,
}


def _following(rule: _Rule, emit: Emitter) -> Emitter:
    """An emitter for nodes whose dtype is the rule's; others are made field by field."""

    def checked(w: Writer, i: Id) -> Doc:
        dtype = w.dtype_of(i)
        return emit(w, i) if dtype is not None and dtype == rule(w, i) else w.make_node(i)

    return checked


_WITHOUT_RULES: Mapping[str, Emitter] = {
    **{kind: _simple(constructor, fields) for kind, (constructor, fields) in _SIMPLE.items()},
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

EMITTERS: Mapping[str, Emitter] = {
    kind: _following(_RULES[kind], emit) if kind in _RULES else emit
    for kind, emit in _WITHOUT_RULES.items()
}
