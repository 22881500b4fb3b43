"""Turn a node graph into statements: each kind of node has an emitter that gives its text."""

import keyword as python_keywords
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from .graph import VALUES, Id, NodeGraph
from .layout import DEEPEST, PRELUDE, Doc, Group, call, flat, group, keyword, layout, prelude

Emitter: TypeAlias = Callable[["Writer", Id], Doc]

_VARIABLES = frozenset({"ir.Var", "relax.expr.DataflowVar"})
_FUNCTIONS = frozenset({"relax.expr.Function", "tirx.PrimFunc"})
_ALWAYS_NAMED = _VARIABLES | _FUNCTIONS
_BINDABLE = frozenset({"ir.Call", "relax.expr.If"})
_RESERVED = frozenset(PRELUDE) | frozenset({"mod", "getattr", "hasattr", "float"})

_BASE_NAMES = {
    "relax.TensorType": "ty",
    "relax.ShapeType": "ty",
    "relax.FuncType": "ty",
    "ir.TupleType": "ty",
    "tirx.BufferType": "ty",
    "relax.expr.ShapeExpr": "shape",
    "relax.VDevice": "vdevice",
    "ir.GenericConst": "const",
    "ffi.Tensor": "data",
    "ir.Range": "range_",
    "tirx.IterVar": "axis",
    "ir.DictAttrs": "attrs",
}


class Writer:
    """The translation of one module.

    An emitter decides from the graph alone how a node is written, and asks for the text of every
    other node that its own text contains. All emitters run twice. The first time, from the module
    down to the leaves, the writer counts how often the text of each node is asked for. The second
    time, from the leaves up, each text that was asked for more than once gets a variable. A node
    without an emitter is made field by field.
    """

    def __init__(
        self, graph: NodeGraph, emitters: Mapping[str, Emitter], stale_names: Collection[str] = ()
    ) -> None:
        """
        Args:
            stale_names: PrimFuncs whose type differs from the one that the constructor gives.
        """
        self.graph = graph
        self.references = graph.references()
        self.relaxed, self.bound = _relax_values(graph, self.references)
        functions = list(graph.pairs(graph.field(graph.root, "functions")))
        self.followers: dict[Id, Id] = {}
        self.followers = {
            gv: func for gv, func in functions if graph.field(gv, "ty") == self.known_type(func)
        }
        """The global variables that share their function's type, with that function. Their types
        are set at the end of the text."""
        self._owned = Counter(self.followers.values())
        self.all_follow = len(self.followers) == len(functions) > 0
        self._hints = {func: self.text(graph.field(gv, "name_hint")) for gv, func in functions}
        self.stale = {func for func, name in self._hints.items() if name in stale_names}
        self._emitters = emitters
        self._counting = True
        self._places = 1  # the number of places where the node being counted occurs
        self._uses = [0] * len(graph.kinds)
        self._docs: list[Doc | None] = [None] * len(graph.kinds)
        self._lines: list[str] = []
        self._afterwards: list[str] = []
        self._suffixes: dict[str, int] = {}  # the last number tried as a suffix of a name
        self._names: dict[Id, str] = {}
        self._taken: set[str] = set()
        self._donors: dict[Id, Id] = {}  # type -> the expression that it is taken from

    def written(self) -> str:
        """The whole text, ending in the definition of `mod`."""
        root = self.graph.root
        self._uses[root] = 1
        for i in range(root, -1, -1):
            if self._uses[i]:
                # A value and its parts are written out at each place.
                self._places = self._uses[i] if self.graph.kinds[i] in VALUES else 1
                self._emit(i)
        self._places = 1
        self._late_types()
        self._counting = False
        for func in self._hints:
            self.name(func)
        for i in range(root):
            if self._uses[i]:
                self.node(i)
        mod = self.node(root)
        lines = [*self._lines, "mod = " + layout(mod, 6), *self._late_types()]
        body = "\n".join(lines).strip("\n")
        return prelude(body) + "\n\n" + body + "\n"

    # The text of other nodes

    def node(self, i: Id) -> Doc:
        """The node unchanged, for places that accept any object."""
        if self._counting:
            self._uses[i] += self._places
            return "_"
        doc = self._docs[i]
        return self._write(i) if doc is None else doc

    def primitive(self, i: Id) -> Doc:
        """The node for places that expect a primitive expression, so that 1 means int32 1."""
        value = self.int_of(i, "int32")
        return self.node(i) if value is None else str(value)

    def dimension(self, i: Id) -> Doc:
        """The node as a dimension of a shape, where 1 means int64 1."""
        value = self.int_of(i, "int64")
        return self.node(i) if value is None else str(value)

    def argument(self, i: Id) -> Doc:
        """A primitive expression, or a literal string, for which TVM takes Python's."""
        if self.graph.kinds[i] in ("ir.StringImm", "tirx.StringImm"):
            return quoted(self.text(self.graph.field(i, "value")))
        return self.primitive(i)

    def array(self, i: Id, element: Callable[[Id], Doc] | None = None) -> Doc:
        """An array as a list display."""
        return group("[", map(element or self.node, self.graph.items(i)), "]")

    def mapping(self, i: Id) -> Doc:
        """A map as a dict display."""
        entries = [keyword(flat(self.node(k)), self.node(v), ": ") for k, v in self.graph.pairs(i)]
        return group("{", entries, "}")

    def make_node(self, i: Id) -> Doc:
        """The node built field by field, which works for every reflected type."""
        g = self.graph
        if g.kinds[i] == "tirx.PrimFunc":  # in TVM 0.25 it has other fields
            return call("stale_func", *self.keywords(i))
        args, awkward = [quoted(g.kinds[i]), *self.keywords(i)], []
        for name, value, is_index in g.fields(i):
            if not _is_name(name):
                doc = self.node(value) if is_index else plain(value)
                awkward.append(keyword(repr(name), doc, ": "))
        if "span" in g.data[i]:
            args.append("span=None")
        if "source_map" in g.data[i]:
            args.append('source_map=make_node("ir.SourceMap", source_map={})')
        if awkward:
            args.append(group("**{", awkward, "}"))
        return call("make_node", *args)

    def keywords(self, i: Id) -> list[Doc]:
        """The fields that have a name in Python, as keyword arguments."""
        return [
            keyword(name, self.node(value) if is_index else plain(value))
            for name, value, is_index in self.graph.fields(i)
            if _is_name(name)
        ]

    # Types

    def typed(self, i: Id, doc: Doc) -> Doc:
        """The text of an expression whose constructor sets no type, with its type if it has one."""
        ty = self.graph.field(i, "ty")
        if i in self.bound or self.is_missing(ty):
            return doc
        return call("typed", doc, self.node(ty))

    def typed_like(self, expr: Id, ty: Id) -> Doc:
        """The type, as `type_of(expr)`; in full if `expr` itself gets its type here."""
        return self.node(ty) if expr in self.followers else call("type_of", self.node(expr))

    def set_body_type(self, func: Id, ty: Doc) -> None:
        """Write a statement after a function that gives its body a type."""
        if not self._counting:
            self._afterwards.append(f"set_type({self.name(func)}.body, {flat(ty)})")

    def gives_type(self, i: Id) -> bool:
        """True if the node may be left to derive its type, as its constructor does.

        TVM does not allow a type to be replaced. So if other nodes hold the same type, they take
        it from this node. Only one node can give a type, and it must not need the type before it
        exists.
        """
        ty = self.graph.field(i, "ty")
        if self.references[ty] <= 1 + self._owned[i]:
            return True
        if self._counting and ty not in self._donors and not self._needs(i, ty):
            self._donors[ty] = i
        return self._donors.get(ty) == i

    def _needs(self, start: Id, ty: Id) -> bool:
        """True if a type must be written before the expression `start`, which has it."""
        g = self.graph
        pending, seen = [start], {start}
        while pending:
            i = pending.pop()
            if i in self._donors:
                below = [self._donors[i]]
            elif i == start or i in self.followers:
                below = [k for name, k, is_index in g.fields(i) if is_index and name != "ty"]
            else:
                below = g.children(i)
            if ty in below:
                return True
            pending += [k for k in below if k not in seen]
            seen.update(below)
        return False

    def type_of(self, i: Id) -> Id | None:
        """The type of an expression, None for any other node."""
        data = self.graph.data[i]
        return data.get("ty") if isinstance(data, dict) else None

    def known_type(self, i: Id) -> Id | None:
        """The type that an expression has as soon as it is made, or None."""
        ty = self.type_of(i)
        late = ty is None or i in self.followers or self.is_missing(ty)
        return None if late else ty

    def dtype_of(self, i: Id) -> str | None:
        """The dtype of a primitive expression, None for anything else."""
        ty = self.type_of(i)
        return None if ty is None else self.graph.dtype(ty)

    def is_missing(self, ty: Id) -> bool:
        """True if this is the placeholder for a type not known yet."""
        return self.graph.kinds[ty] == "ir.Type"

    def is_void(self, ty: Id) -> bool:
        """True if this is the type of the empty tuple."""
        g = self.graph
        return g.kinds[ty] == "ir.TupleType" and not g.items(g.field(ty, "fields"))

    # Other properties

    def int_of(self, i: Id, dtype: str) -> int | None:
        """The value of an integer literal of this dtype that Python and the FFI keep unchanged."""
        g = self.graph
        if g.kinds[i] != "ir.IntImm" or self.dtype_of(i) != dtype:
            return None
        value = g.content(i, "value")
        return value if isinstance(value, int) and -(2**31) <= value < 2**31 else None

    def null(self, i: Id) -> bool:
        """True if this is None."""
        return self.graph.kinds[i] == "None"

    def text(self, i: Id) -> str:
        """The content of a string node."""
        value = self.graph.data[i]
        assert isinstance(value, str)
        return value

    def is_own(self, i: Id, kind: str) -> bool:
        """True if the node is of this kind and has one parent only."""
        return self.graph.kinds[i] == kind and self.references[i] == 1

    def no_attributes(self, i: Id) -> bool:
        """True if the attributes of a function are what the constructor makes of none."""
        g = self.graph
        return self.references[i] == 1 and not g.items(g.data[i]["__dict__"])

    def is_written_once(self, i: Id) -> bool:
        """True if only one place contains the text of the node; valid in the node's emitter."""
        return self._uses[i] == 1

    # Statements

    def _late_types(self) -> list[str]:
        """The statements that give global variables the types of their functions."""
        if self.all_follow:
            loop = "for var, func in mod.functions.items():"
            return [loop, "    set_type(var, type_of(func))"]
        return [
            f"set_type({flat(self.node(gv))}, type_of({flat(self.node(func))}))"
            for gv, func in self.followers.items()
        ]

    def _emit(self, i: Id) -> Doc:
        if i in self._donors:
            return call("type_of", self.node(self._donors[i]))
        return self._emitters.get(self.graph.kinds[i], Writer.make_node)(self, i)

    def _write(self, i: Id) -> Doc:
        doc, kind = self._emit(i), self.graph.kinds[i]
        shared = self._uses[i] > 1 and kind not in VALUES and i not in self._donors
        deep = isinstance(doc, Group) and doc.depth > DEEPEST
        if i != self.graph.root and (shared or deep or kind in _ALWAYS_NAMED):
            name = self.name(i)
            self._lines += [f"{name} = " + layout(doc, len(name) + 3), *self._afterwards]
            self._afterwards.clear()
            if kind in _FUNCTIONS:
                self._lines.append("")
            doc = name
        self._docs[i] = doc
        return doc

    def name(self, i: Id) -> str:
        """The Python variable of the node."""
        known = self._names.get(i)
        if known is not None:
            return known
        base = re.sub(r"\W", "_", self._hints.get(i) or self._own_name(i), flags=re.ASCII) or "_"
        if base[0].isdigit():
            base = "_" + base
        name, k = base, self._suffixes.get(base, 0)
        while name in self._taken or name in _RESERVED or python_keywords.iskeyword(name):
            k += 1
            name = f"{base}_{k}"
        self._suffixes[base] = k
        self._taken.add(name)
        self._names[i] = name
        return name

    def _own_name(self, i: Id) -> str:
        kind = self.graph.kinds[i]
        if kind in _VARIABLES:
            return self.text(self.graph.data[i]["name"])
        if kind == "ir.GlobalVar":
            return self.text(self.graph.data[i]["name_hint"]) + "_gv"
        return _BASE_NAMES.get(kind, "stmt" if kind.startswith(("tirx.", "s_tir.")) else "expr")


def _relax_values(g: NodeGraph, references: list[int]) -> tuple[set[Id], set[Id]]:
    """The variables that stand for Relax values; and the values that share the type of their
    variable and get it together with the binding."""
    variables: set[Id] = set()
    bound: set[Id] = set()
    for i, kind in enumerate(g.kinds):
        if kind == "relax.expr.Function":
            variables.update(g.items(g.field(i, "params")))
        elif kind in ("relax.expr.VarBinding", "relax.expr.MatchCast"):
            var, value = g.field(i, "var"), g.field(i, "value")
            variables.add(var)
            if (
                kind == "relax.expr.VarBinding"
                and g.kinds[value] in _BINDABLE
                and references[value] == 1
                and g.field(value, "ty") == g.field(var, "ty")
                and g.kinds[g.field(var, "ty")] != "ir.Type"
            ):
                bound.add(value)
    return variables, bound


def _is_name(name: str) -> bool:
    return name.isidentifier() and not python_keywords.iskeyword(name)


def plain(value: object) -> str:
    """A number, flag or string as a Python literal."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A string literal, in double quotes if that needs no escapes."""
    shown = repr(text)
    return shown if '"' in text or "\\" in shown else '"' + shown[1:-1] + '"'
