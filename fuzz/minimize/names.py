"""Reductions over names, and over nodes that are shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from itertools import count

import tvm

from ...oracles.metamorphic.graph import Graph
from ...oracles.metamorphic.twins import SHAPE, unshared
from .reduction import Edit, runs
from .shapes import symbols

FUNCTIONS = ("f", "g", "h")
PARAMS = ("x", "y", "z", "u", "v")
LOCAL_PARAMS = ("a", "b", "c", "d")
WEIGHTS = ("w",)
SYMBOLS = ("n", "m", "k")

LONGEST = 10
"""Letters: PrimFuncs are called after what they do, and long names are what passes made up."""

Renames = dict[int, str]
"""Nodes of a graph, and the names they get."""


def plain_names(mod: tvm.IRModule) -> Iterator[Edit]:
    """Conventional names: everywhere, then in runs of functions.

    `main`, `f` and `g` for functions, `x` and `w` for parameters, `lv` and `gv` for bindings, `n`
    and `m` for dimensions. Fewer names are others.
    """
    parts = [part for part, renames in _plan(Graph(mod), mod).items() if renames]
    for run in runs(parts):
        yield partial(_renamed, mod, frozenset(run))


def _renamed(mod: tvm.IRModule, parts: Collection[str]) -> tvm.IRModule | None:
    graph = Graph(mod)
    plan = _plan(graph, mod)
    functions = dict(graph.functions())
    for part in parts:
        for index, name in plan[part].items():
            if index in functions:
                graph.rename(index, name)
                _rename_symbol(graph, functions[index], name)
            else:
                graph.nodes[index]["data"]["name"] = graph.add("ffi.String", name)
    if len({graph.name(gvar) for gvar in functions}) < len(functions):
        return None  # one gets a name that another has until it is renamed too
    graph.set_functions(list(functions.items()))
    return graph.load()


def _rename_symbol(graph: Graph, func: int, name: str) -> None:
    if not graph.is_public(func):
        return
    attrs = graph.nodes[graph.nodes[func]["data"]["attrs"]]["data"]
    flat = graph.nodes[attrs["__dict__"]]["data"]
    place = [graph.text(key) for key in flat[::2]].index("global_symbol")
    attrs["__dict__"] = graph.add(
        "ffi.Map", [*flat[: 2 * place + 1], graph.add("ffi.String", name), *flat[2 * place + 2 :]]
    )


def _plan(graph: Graph, mod: tvm.IRModule) -> dict[str, Renames]:
    """What to rename, in parts that can be renamed on their own.

    The name of each function is a part, and so are the variables of each, and all dimensions.
    """
    plan: dict[str, Renames] = {}
    for gvar, name in _functions(graph).items():
        plan[f"function {graph.name(gvar)}"] = _changed(graph, {gvar: name}, "name_hint")
    for gvar, func in graph.functions():
        if graph.nodes[func]["type"] == "relax.expr.Function":
            names = _Variables(graph, func).names
            plan[f"variables of {graph.name(gvar)}"] = _changed(graph, names, "name")
    dimensions = dict(zip(symbols(mod), _endless(SYMBOLS), strict=False))
    nodes = {
        index: dimensions[graph.text(node["data"]["name"])]
        for index, node in enumerate(graph.nodes)
        if node["type"] == "ir.Var"
        and graph.nodes[node["data"]["ty"]]["type"] == "ir.PrimType"
        and graph.text(node["data"]["name"]) in dimensions
    }
    plan["dimensions"] = _changed(graph, nodes, "name")
    return plan


def _changed(graph: Graph, names: Renames, field: str) -> Renames:
    return {
        index: name
        for index, name in names.items()
        if graph.text(graph.nodes[index]["data"][field]) != name
    }


def _functions(graph: Graph) -> Renames:
    """New names of GlobalVars."""
    every = dict(graph.functions())
    relax = [g for g, func in every.items() if graph.nodes[func]["type"] == "relax.expr.Function"]
    kernels = [g for g, func in every.items() if graph.nodes[func]["type"] == "tirx.PrimFunc"]
    long = [gvar for gvar in kernels if len(graph.name(gvar)) > LONGEST]
    taken = {graph.name(gvar) for gvar in every} - {graph.name(g) for g in (*relax, *long)}
    names: Renames = {}
    main = next((gvar for gvar in relax if graph.name(gvar) == "main"), None)
    if main is None:
        main = next((gvar for gvar in relax if graph.is_public(every[gvar])), None)
    if main is not None and "main" not in taken:
        names[main] = "main"
        taken.add("main")
    for gvars, series in ((relax, FUNCTIONS), (long, ("kernel",))):
        fresh = (name for name in _endless(series) if name not in taken)
        names |= {gvar: next(fresh) for gvar in gvars if gvar not in names}
    return names


class _Variables:
    """New names of the variables of a function, by their nodes."""

    def __init__(self, graph: Graph, func: int) -> None:
        self.names: Renames = {}
        self._graph = graph
        self._inner = _endless(("lv",))
        self._outer = _endless(("gv",))
        self._local_params = _endless(LOCAL_PARAMS)
        params = self._items(func, "params")
        inputs = self._inputs(func, len(params))
        for series, some in ((PARAMS, params[:inputs]), (WEIGHTS, params[inputs:])):
            self._name(some, _endless(series))
        self._seq(self._field(func, "body"))

    def _inputs(self, func: int, params: int) -> int:
        found = self._graph.attrs(func).get("num_input")
        if found is None:
            return params
        value = self._graph.nodes[found]["data"]
        return int(value) if isinstance(value, int) else params

    def _name(self, variables: list[int], fresh: Iterator[str]) -> None:
        for index in variables:
            ty = self._graph.nodes[self._field(index, "ty")]["type"]
            if ty != "ir.PrimType":  # that is a dimension
                self.names[index] = next(fresh)

    def _seq(self, seq: int) -> None:
        if self._graph.nodes[seq]["type"] != "relax.expr.SeqExpr":
            return
        for block in self._items(seq, "blocks"):
            for binding in self._items(block, "bindings"):
                self._value(self._field(binding, "value"))
                var = self._field(binding, "var")
                inner = self._graph.nodes[var]["type"] == "relax.expr.DataflowVar"
                self._name([var], self._inner if inner else self._outer)

    def _value(self, value: int) -> None:
        match self._graph.nodes[value]["type"]:
            case "relax.expr.If":
                self._seq(self._field(value, "true_branch"))
                self._seq(self._field(value, "false_branch"))
            case "relax.expr.Function":
                self._name(self._items(value, "params"), self._local_params)
                self._seq(self._field(value, "body"))

    def _field(self, node: int, name: str) -> int:
        found: int = self._graph.nodes[node]["data"][name]
        return found

    def _items(self, node: int, name: str) -> list[int]:
        found: list[int] = self._graph.nodes[self._field(node, name)]["data"]
        return found


def _endless(names: tuple[str, ...]) -> Iterator[str]:
    """The names, then the last one with numbers."""
    yield from names
    for number in count(1):
        yield f"{names[-1]}{number}"


def unshare(mod: tvm.IRModule) -> Iterator[Edit]:
    """Shapes that are used more than once become as many nodes. Fewer nodes are shared."""
    graph = Graph(mod)
    uses: Counter[int] = Counter()

    def count(index: int) -> int:
        uses[index] += graph.nodes[index]["type"] == SHAPE
        return index

    graph.replace_uses(count)
    for run in runs([index for index, times in uses.items() if times > 1]):
        yield partial(unshared, mod, frozenset(run))
