"""Emitters for loops, blocks and regions of buffers."""

from collections.abc import Mapping

from .graph import Id
from .layout import Doc, call, keyword
from .writer import Emitter, Writer


def _region(w: Writer, i: Id) -> Doc:
    g = w.graph
    source, ty = g.field(i, "source"), g.data[i].get("ty")
    typed = ty is None or g.kinds[ty] == "tirx.BufferRegionType"
    if not typed or g.kinds[g.field(source, "ty")] != "tirx.BufferType":
        return w.make_node(i)
    return call("tirx.BufferRegion", w.node(source), w.array(g.field(i, "region")))


def _realize(w: Writer, i: Id) -> Doc:
    g = w.graph
    always = w.int_of(g.field(i, "predicate"), "bool")
    when = w.node(g.field(i, "predicate")) if always is None else str(bool(always))
    values = w.array(g.field(i, "iter_values"), w.primitive)
    return call("SBlockRealize", values, when, w.node(g.field(i, "block")))


def _options(w: Writer, block: Id) -> list[Doc]:
    """The parts of a block that most blocks do not have."""
    g = w.graph
    options: list[Doc] = []
    if not w.null(g.field(block, "init")):
        options.append(keyword("init", w.node(g.field(block, "init"))))
    options.extend(
        keyword(name, w.array(g.field(block, name)))
        for name in ("alloc_buffers", "match_buffers")
        if g.items(g.field(block, name))
    )
    if g.items(g.field(block, "annotations")):
        options.append(keyword("annotations", w.mapping(g.field(block, "annotations"))))
    return options


def _block(w: Writer, i: Id) -> Doc:
    g = w.graph
    lists = [w.array(g.field(i, name)) for name in ("iter_vars", "reads", "writes")]
    hint, body = w.node(g.field(i, "name_hint")), w.node(g.field(i, "body"))
    return call("SBlock", *lists, hint, body, *_options(w, i))


_FOR_KINDS = ("SERIAL", "PARALLEL", "VECTORIZED", "UNROLLED", "THREAD_BINDING")


def _for(w: Writer, i: Id) -> Doc:
    g = w.graph
    args = [
        w.node(g.field(i, "loop_var")),
        w.primitive(g.field(i, "min")),
        w.primitive(g.field(i, "extent")),
    ]
    args.append(f"tirx.ForKind.{_FOR_KINDS[g.field(i, 'kind')]}")
    args.append(w.node(g.field(i, "body")))
    if not w.null(g.field(i, "thread_binding")):
        args.append(keyword("thread_binding", w.node(g.field(i, "thread_binding"))))
    if g.items(g.field(i, "annotations")):
        args.append(keyword("annotations", w.mapping(g.field(i, "annotations"))))
    if not w.null(g.field(i, "step")):
        args.append(keyword("step", w.primitive(g.field(i, "step"))))
    return call("tirx.For", *args)


EMITTERS: Mapping[str, Emitter] = {
    "ir.TensorRegion": _region,
    "tirx.For": _for,
    "s_tir.SBlock": _block,
    "s_tir.SBlockRealize": _realize,
}
