"""Loop nests around blocks, as te and the passes make them, each written as one call.

What a call leaves out is checked here, node by node: the helpers in the text make fresh loop
variables, ranges and literals, so each of these must have no other place in the module.
"""

from collections.abc import Mapping

from .graph import Id
from .layout import Doc, call, group, keyword
from .writer import Emitter, Plan, Writer, quoted

_AXIS_KINDS = {0: "S", 2: "R"}


def plan_region(w: Writer, i: Id) -> None:
    """`at(buffer, index, ...)`: the region of one element."""
    g = w.g
    ranges = g.items(g.field(i, "region"))
    if ranges and all(_is_point(w, k) for k in ranges):
        w.parts[i] = [g.field(i, "source"), *(g.field(k, "min") for k in ranges)]


def _is_point(w: Writer, i: Id) -> bool:
    g = w.g
    dtype = w.dtype_of(g.field(i, "min"))
    return (
        w.is_own(i, "ir.Range")
        and dtype in ("int32", "int64")
        and w.int_of(g.field(i, "extent"), dtype) == 1
    )


def region(w: Writer, i: Id) -> Doc:
    if i in w.parts:
        return call("at", *map(w.e, w.parts[i]))
    source, ranges = w.g.field(i, "source"), w.g.field(i, "region")
    return call("tirx.BufferRegion", w.e(source), w.array(ranges))


def _plan_realize(w: Writer, i: Id) -> None:
    """`root(statement, ...)`: the block without axes around the body of a function."""
    g = w.g
    block = g.field(i, "block")
    if g.items(g.field(i, "iter_values")) or not _always(w, i) or not _is_root(w, block):
        return
    body = g.field(block, "body")
    statements = g.items(g.field(body, "seq")) if w.is_own(body, "tirx.SeqStmt") else [body]
    w.parts[i] = [*statements, *g.items(g.field(block, "alloc_buffers"))]
    w.bodies[i] = statements


def _always(w: Writer, realize: Id) -> bool:
    return w.int_of(w.g.field(realize, "predicate"), "bool") == 1


def _is_root(w: Writer, block: Id) -> bool:
    g = w.g
    empty = ("iter_vars", "reads", "writes", "match_buffers", "annotations")
    return (
        w.is_own(block, "s_tir.SBlock")
        and w.text(g.field(block, "name_hint")) == "root"
        and w.null(g.field(block, "init"))
        and not any(g.items(g.field(block, name)) for name in empty)
    )


def _realize(w: Writer, i: Id) -> Doc:
    g = w.g
    block = g.field(i, "block")
    if i in w.bodies:
        return call("root", *map(w.e, w.bodies[i]), *_options(w, block))
    always = w.int_of(g.field(i, "predicate"), "bool")
    when = w.e(g.field(i, "predicate")) if always is None else str(bool(always))
    return call("SBlockRealize", w.array(g.field(i, "iter_values"), w.p), when, w.e(block))


def _options(w: Writer, block: Id) -> list[Doc]:
    """The parts of a block that most blocks do not have."""
    g = w.g
    options: list[Doc] = []
    if not w.null(g.field(block, "init")):
        options.append(keyword("init", w.e(g.field(block, "init"))))
    options.extend(
        keyword(name, w.array(g.field(block, name)))
        for name in ("alloc_buffers", "match_buffers")
        if g.items(g.field(block, name))
    )
    if g.items(g.field(block, "annotations")):
        options.append(keyword("annotations", w.mapping(g.field(block, "annotations"))))
    return options


def _block(w: Writer, i: Id) -> Doc:
    g = w.g
    lists = [w.array(g.field(i, name)) for name in ("iter_vars", "reads", "writes")]
    hint, body = w.e(g.field(i, "name_hint")), w.e(g.field(i, "body"))
    return call("SBlock", *lists, hint, body, *_options(w, i))


# Loops


def _plan_for(w: Writer, i: Id) -> None:
    """`nest(...)`: plain loops, one for each axis of the block inside them."""
    g = w.g
    if i in w.inner:
        return
    loops = [i]
    while _is_plain_loop(w, loops[-1]) and w.is_own(g.field(loops[-1], "body"), "tirx.For"):
        loops.append(g.field(loops[-1], "body"))
    realize = g.field(loops[-1], "body")
    if not _is_plain_loop(w, loops[-1]) or not w.is_own(realize, "s_tir.SBlockRealize"):
        return
    block = g.field(realize, "block")
    if not _always(w, realize) or not w.is_own(block, "s_tir.SBlock"):
        return
    axes, values = g.items(g.field(block, "iter_vars")), g.items(g.field(realize, "iter_values"))
    if (
        len(axes) != len(loops)
        or values != [g.field(k, "loop_var") for k in loops]
        or not all(_is_axis_of(w, axis, loop) for axis, loop in zip(axes, loops, strict=True))
    ):
        return
    w.inner.update(loops)
    w.nests[i] = block
    w.parts[i] = [
        *(g.field(axis, "var") for axis in axes),
        *(_extent(w, axis) for axis in axes),
        *(k for name in ("reads", "writes") for k in g.items(g.field(block, name))),
        *(g.field(block, name) for name in ("body", "init")),
        *(g.field(block, name) for name in ("alloc_buffers", "match_buffers", "annotations")),
    ]


def _is_plain_loop(w: Writer, i: Id) -> bool:
    g = w.g
    return (
        g.field(i, "kind") == 0
        and w.null(g.field(i, "thread_binding"))
        and w.null(g.field(i, "step"))
        and not g.items(g.field(i, "annotations"))
        and w.references[g.field(i, "loop_var")] == 2
    )


def _is_axis_of(w: Writer, axis: Id, loop: Id) -> bool:
    """Whether the loop follows from the axis: its variable's name and dtype, its range."""
    g = w.g
    dom, var, loop_var = g.field(axis, "dom"), g.field(axis, "var"), g.field(loop, "loop_var")
    dtype = w.dtype_of(var)
    return (
        w.is_own(axis, "tirx.IterVar")
        and g.kinds[dom] == "ir.Range"
        and w.references[dom] == 1
        and not w.text(g.field(axis, "thread_tag"))
        and g.field(axis, "iter_type") in _AXIS_KINDS
        and dtype in ("int32", "int64")
        and dtype == w.dtype_of(loop_var)
        and loop_name(w.text(g.field(var, "name"))) == w.text(g.field(loop_var, "name"))
        and w.int_of(g.field(loop, "min"), dtype) == 0
        and 0 in (w.int_of(g.field(dom, "min"), dtype), w.int_of(g.field(dom, "min"), "int32"))
        and g.same_value(g.field(dom, "extent"), g.field(loop, "extent"))
    )


def loop_name(axis: str) -> str:
    """The name of the loop variable behind an axis, as `nest` in the text finds it."""
    return axis[1:].lstrip("_") or "v"


def _nest(w: Writer, i: Id) -> Doc:
    g = w.g
    block = w.nests[i]
    axes = g.items(g.field(block, "iter_vars"))
    kinds = "".join(_AXIS_KINDS[g.field(axis, "iter_type")] for axis in axes)
    return call(
        "nest",
        w.e(g.field(block, "name_hint")),
        quoted(kinds),
        group("[", (w.e(g.field(axis, "var")) for axis in axes), "]"),
        group("[", (_extent_text(w, axis) for axis in axes), "]"),
        w.array(g.field(block, "reads")),
        w.array(g.field(block, "writes")),
        w.e(g.field(block, "body")),
        *_options(w, block),
    )


def _extent(w: Writer, axis: Id) -> Id:
    """The extent of an axis, or its range if that starts with a zero of another dtype."""
    dom, dtype = w.g.field(axis, "dom"), str(w.dtype_of(w.g.field(axis, "var")))
    zero = w.int_of(w.g.field(dom, "min"), dtype) == 0
    return int(w.g.field(dom, "extent") if zero else dom)


def _extent_text(w: Writer, axis: Id) -> Doc:
    """The extent, where 1 means a literal of the axis' own dtype."""
    extent = _extent(w, axis)
    value = w.int_of(extent, str(w.dtype_of(w.g.field(axis, "var"))))
    return w.e(extent) if value is None else str(value)


_FOR_KINDS = ("SERIAL", "PARALLEL", "VECTORIZED", "UNROLLED", "THREAD_BINDING")


def _for(w: Writer, i: Id) -> Doc:
    g = w.g
    if i in w.nests:
        return _nest(w, i)
    args = [w.e(g.field(i, "loop_var")), w.p(g.field(i, "min")), w.p(g.field(i, "extent"))]
    args.append(f"tirx.ForKind.{_FOR_KINDS[g.field(i, 'kind')]}")
    args.append(w.e(g.field(i, "body")))
    if not w.null(g.field(i, "thread_binding")):
        args.append(keyword("thread_binding", w.e(g.field(i, "thread_binding"))))
    if g.items(g.field(i, "annotations")):
        args.append(keyword("annotations", w.mapping(g.field(i, "annotations"))))
    if not w.null(g.field(i, "step")):
        args.append(keyword("step", w.p(g.field(i, "step"))))
    return call("tirx.For", *args)


EMITTERS: Mapping[str, Emitter] = {
    "ir.TensorRegion": region,
    "tirx.For": _for,
    "s_tir.SBlock": _block,
    "s_tir.SBlockRealize": _realize,
}

PLANS: Mapping[str, Plan] = {
    "tirx.For": _plan_for,
    "s_tir.SBlockRealize": _plan_realize,
}
