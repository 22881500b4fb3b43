"""Turning a node graph into statements: what is named or inlined, which types are implied."""

import itertools
import keyword as python_keywords
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from .graph import VALUES, Graph, Id
from .layout import DEEPEST, PRELUDE, Doc, Group, call, flat, group, keyword, layout, prelude

Emitter: TypeAlias = Callable[["Writer", Id], Doc]
Plan: TypeAlias = Callable[["Writer", Id], None]

_VARIABLES = frozenset({"ir.Var", "relax.expr.DataflowVar"})
_FUNCTIONS = frozenset({"relax.expr.Function", "tirx.PrimFunc"})
_ALWAYS_NAMED = _VARIABLES | _FUNCTIONS
# Parents may write the parts of these themselves.
_ON_DEMAND = frozenset(
    {
        "ir.Tuple",
        "relax.expr.SeqExpr",
        "relax.expr.ShapeExpr",
        "tirx.BufferType",
        "ir.DictAttrs",
        "ir.GlobalVar",
    }
)
_ROW = 4  # scalars that one statement defines
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
    """The state of one translation.

    `plans` find out, for a kind of node, which fields follow from its constructor or its place;
    they run first, parents before children. `emitters` then give the constructor call. The kinds of
    `writes_type` have their type in that call; the type of any other expression is set afterwards,
    unless it is implied. What has no emitter, or is `raw`, is made field by field.
    """

    def __init__(
        self,
        graph: Graph,
        plans: Mapping[str, Plan],
        emitters: Mapping[str, Emitter],
        writes_type: frozenset[str],
        stale_names: Collection[str] = (),
    ) -> None:
        self.g = graph
        self.plans = plans
        self.emitters = emitters
        self.writes_type = writes_type
        self.stale_names = stale_names  # functions whose type their constructor does not give
        self.docs: list[Doc | None] = [None] * len(graph.kinds)
        self.lines: list[str] = []
        self.taken: set[str] = set()
        self.suffixes: dict[str, int] = {}  # the last number tried behind a name
        self.names: dict[Id, str] = {}
        self.references = self._count_references(mentioned_only=False)
        self.implied: dict[Id, frozenset[str]] = {}  # fields that follow from something else
        self.parts: dict[Id, list[Id]] = {}  # what a node's text mentions, if not its fields
        self.raw: set[Id] = set()
        self.forced: set[Id] = set()  # named although mentioned once
        self.attributed: set[Id] = set()  # calls whose own text includes their attributes
        self.bound: set[Id] = set()  # values whose type is set with their binding
        self.relaxed: set[Id] = set()  # variables that stand for Relax values
        self.typed: set[Id] = set()  # expressions whose own call includes the type
        self.hints: dict[Id, str] = {}
        self.mentions: list[int] = []
        self.owners: dict[Id, list[Id]] = {}  # function -> its global variables
        self.early: dict[Id, Id] = {}  # global variable with a type from the start -> its function
        self.stale: set[Id] = set()
        self.donors: dict[Id, Id] = {}  # type -> the expression that it is taken from
        self.typed_by_functions = False
        self.bodies: dict[Id, list[Id]] = {}  # root block -> its statements
        self.nests: dict[Id, Id] = {}  # outermost loop -> the block inside
        self.inner: set[Id] = set()  # loops within these

    def e(self, i: Id) -> Doc:
        """The node exactly as it is, wherever any object may stand."""
        doc = self.docs[i]
        return self._write(i) if doc is None else doc

    def p(self, i: Id) -> Doc:
        """The node where a primitive expression is expected, so that 1 means int32 1."""
        value = self.int_of(i, "int32")
        return self.e(i) if value is None else str(value)

    def s(self, i: Id) -> Doc:
        """The same where TVM itself turns a string into a literal, whose class has moved."""
        if self.g.kinds[i] in ("ir.StringImm", "tirx.StringImm"):
            return quoted(self.text(self.g.field(i, "value")))
        return self.p(i)

    def d(self, i: Id) -> Doc:
        """The node as a dimension of a shape, where 1 means int64 1."""
        value = self.int_of(i, "int64")
        return self.e(i) if value is None else str(value)

    def int_of(self, i: Id, dtype: str) -> int | None:
        """The value of an integer literal of this dtype that Python and the FFI take as it is."""
        g = self.g
        if g.kinds[i] != "ir.IntImm" or g.dtype(g.data[i]["ty"]) != dtype or i in self.raw:
            return None
        value = g.content(i, "value")
        return value if isinstance(value, int) and -(2**31) <= value < 2**31 else None

    def array(self, i: Id, element: Callable[[Id], Doc] | None = None) -> Doc:
        """An array as a list display, or the variable that a very deep one was given."""
        if element is None and isinstance(named := self.docs[i], str):
            return named
        return group("[", map(element or self.e, self.g.items(i)), "]")

    def mapping(self, i: Id) -> Doc:
        """A map as a dict display."""
        entries = []
        for k, v in self.g.pairs(i):
            entries.append(keyword(flat(self.e(k)), self.e(v), ": "))
        return group("{", entries, "}")

    def null(self, i: Id) -> bool:
        """Whether this is None."""
        return self.g.kinds[i] == "None"

    def text(self, i: Id) -> str:
        """The content of a string node."""
        value = self.g.data[i]
        assert isinstance(value, str)
        return value

    def make_node(self, i: Id) -> Doc:
        """The node built field by field, which works for every reflected type."""
        if self.g.kinds[i] == "tirx.PrimFunc":  # in TVM 0.25 it has other fields
            return call("stale_func", *self.keywords(i))
        args, awkward = [quoted(self.g.kinds[i]), *self.keywords(i)], []
        for name, value, is_index in self.g.fields(i):
            if not _is_name(name):
                doc = self.e(value) if is_index else plain(value)
                awkward.append(keyword(repr(name), doc, ": "))
        if "span" in self.g.data[i]:
            args.append("span=None")
        if "source_map" in self.g.data[i]:
            args.append('source_map=make_node("ir.SourceMap", source_map={})')
        if awkward:
            args.append(group("**{", awkward, "}"))
        return call("make_node", *args)

    def keywords(self, i: Id) -> list[Doc]:
        """The fields as keyword arguments, those that Python has a name for."""
        return [
            keyword(name, self.e(value) if is_index else plain(value))
            for name, value, is_index in self.g.fields(i)
            if _is_name(name)
        ]

    def type_of(self, i: Id) -> Id | None:
        """The type of an expression, None for what is no expression."""
        data = self.g.data[i]
        return data.get("ty") if isinstance(data, dict) else None

    def dtype_of(self, i: Id) -> str | None:
        """The dtype of a primitive expression, None for anything else."""
        ty = self.type_of(i)
        return None if ty is None else self.g.dtype(ty)

    def is_missing(self, ty: Id) -> bool:
        """Whether this is the placeholder for a type not known yet."""
        return self.g.kinds[ty] == "ir.Type"

    def is_void(self, ty: Id) -> bool:
        """Whether this is the type of the empty tuple."""
        return self.g.kinds[ty] == "ir.TupleType" and not self.g.items(self.g.field(ty, "fields"))

    def is_own(self, i: Id, kind: str) -> bool:
        """Whether the node is of this kind and has one parent only."""
        return self.g.kinds[i] == kind and self.references[i] == 1

    def imply(self, i: Id, *fields: str) -> None:
        """State that these fields of the node need not be written."""
        self.implied[i] = self.implied.get(i, frozenset()) | frozenset(fields)

    def derive(self, i: Id, parents: int = 1) -> None:
        """State that the constructor gives the node its type.

        If other nodes have that very type too, beyond so many, they take it from this node; for
        TVM does not let a type be replaced.
        """
        ty = self.g.data[i]["ty"]
        if self.references[ty] > parents:
            if ty in self.donors:
                self.raw.add(i)
                return
            self.donors[ty] = i
            self.forced.add(i)
        self.imply(i, "ty")

    def written(self) -> str:
        """The whole text, ending in the definition of `mod`."""
        for i in range(self.g.root, -1, -1):
            plan = self.plans.get(self.g.kinds[i])
            if plan is not None and self.references[i]:
                plan(self, i)
        self.mentions = self._count_references(mentioned_only=True)
        for i, count in enumerate(self.mentions):
            if count > 1 or (count and self.g.kinds[i] not in _ON_DEMAND) or i in self.forced:
                self.e(i)
        mod = self.e(self.g.root)
        lines = [*_gathered(self.lines), "mod = " + layout(mod, 6), *self._late_types()]
        body = "\n".join(lines).strip("\n")
        return prelude(body) + "\n\n" + body + "\n"

    def _late_types(self) -> list[str]:
        """The statements that give global variables the types of their functions."""
        if self.typed_by_functions:
            loop = "for var, func in mod.functions.items():"
            return [loop, "    set_type(var, type_of(func))"]
        return [
            f"set_type({self.e(gv)}, type_of({self.e(func)}))"
            for func, variables in self.owners.items()
            for gv in variables
            if gv not in self.early
        ]

    def _count_references(self, *, mentioned_only: bool) -> list[int]:
        g = self.g
        counts = [0] * len(g.kinds)
        counts[g.root] = 1
        for i in range(g.root, -1, -1):
            if not counts[i] or (mentioned_only and i in self.donors):
                continue
            # A value is written out at each of its places, and so are its parts.
            times = counts[i] if g.kinds[i] in VALUES else 1
            implied = self.implied.get(i) if mentioned_only else None
            if mentioned_only and i in self.parts:
                for child in self.parts[i]:
                    counts[child] += times
            elif implied is None:
                for child in g.children(i):
                    counts[child] += times
            else:
                for name, child, is_index in g.fields(i):
                    if is_index and name not in implied:
                        counts[child] += times
        return counts

    def _write(self, i: Id) -> Doc:
        if i in self.donors:
            self.docs[i] = doc = call("type_of", self.e(self.donors[i]))
            return doc
        kind = self.g.kinds[i]
        emitter = Writer.make_node if i in self.raw else self.emitters.get(kind, Writer.make_node)
        doc = emitter(self, i)
        if self._needs_type(i):
            doc = call("typed", doc, self.e(self.g.data[i]["ty"]))
        elif i in self.early:
            doc = call("typed", doc, call("type_of", self.e(self.early[i])))
        shared = self.mentions[i] > 1 and kind not in VALUES
        deep = isinstance(doc, Group) and doc.depth > DEEPEST
        if i != self.g.root and (shared or deep or kind in _ALWAYS_NAMED or i in self.forced):
            name = self.name(i)
            self.lines.append(f"{name} = " + layout(doc, len(name) + 3))
            if kind == "relax.expr.Function" and i not in self.raw:
                self._write_body_type(i, name)
            if kind in _FUNCTIONS:
                self.lines.append("")
            doc = name
        self.docs[i] = doc
        return doc

    def _write_body_type(self, i: Id, name: str) -> None:
        """Set the body's type afterwards: a constructor would make the return type more precise."""
        body = self.g.field(i, "body")
        if not self.is_missing(self.g.field(body, "ty")):
            result = flat(self.e(self.g.field(body, "body")))
            self.lines.append(f"set_type({name}.body, type_of({result}))")

    def _needs_type(self, i: Id) -> bool:
        kind, data = self.g.kinds[i], self.g.data[i]
        if kind not in self.emitters or kind in self.writes_type or not isinstance(data, dict):
            return False
        if i in self.raw or i in self.typed:
            return False
        return "ty" in data and "ty" not in self.implied.get(i, ())

    def name(self, i: Id) -> str:
        """The Python variable of the node."""
        known = self.names.get(i)
        if known is not None:
            return known
        base = re.sub(r"\W", "_", self.hints.get(i) or self._own_name(i), flags=re.ASCII) or "_"
        if base[0].isdigit():
            base = "_" + base
        name, k = base, self.suffixes.get(base, 0)
        while name in self.taken or name in _RESERVED or python_keywords.iskeyword(name):
            k += 1
            name = f"{base}_{k}"
        self.suffixes[base] = k
        self.taken.add(name)
        self.names[i] = name
        return name

    def _own_name(self, i: Id) -> str:
        kind = self.g.kinds[i]
        if kind in _VARIABLES:
            return self.text(self.g.data[i]["name"])
        if kind == "ir.GlobalVar":
            return self.text(self.g.data[i]["name_hint"]) + "_gv"
        return _BASE_NAMES.get(kind, "stmt" if kind.startswith(("tirx.", "s_tir.")) else "expr")


_SCALAR = re.compile(r'(\w+) = tirx\.Var\(("[^"\\]*"), ("[^"]*")\)')


def _gathered(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with scalars of one dtype that follow each other in one statement."""
    for dtype, group_ in itertools.groupby(lines, _scalar_dtype):
        run = list(group_)
        found = [match for match in map(_SCALAR.fullmatch, run) if match is not None]
        for start in range(0, len(run), _ROW):
            row = found[start : start + _ROW]
            if len(row) < 2:
                yield from run[start : start + _ROW]
                continue
            names, hints = (", ".join(match[k] for match in row) for k in (1, 2))
            yield f"{names} = variables({dtype}, {hints})"


def _scalar_dtype(line: str) -> str | None:
    match = _SCALAR.fullmatch(line)
    return None if match is None else match[3]


def _is_name(name: str) -> bool:
    return name.isidentifier() and not python_keywords.iskeyword(name)


def plain(value: object) -> str:
    """A number, flag or string as a Python literal."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A string literal in double quotes where that needs no escapes."""
    shown = repr(text)
    return shown if '"' in text or "\\" in shown else '"' + shown[1:-1] + '"'
