"""Reductions over names and shared nodes, and to a form that TVMScript can write."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from itertools import count
from typing import Any

import tvm
import tvm_ffi

from ...compat.script import read_script
from ...compat.serialization import load_json, save_json
from ...generators.rewrite.dims import symbols
from ...oracles.execute.fork import in_fork
from ...oracles.graph import Graph
from ...oracles.inspect import bindings_of
from ...oracles.metamorphic.twins import unshared
from .reduction import Edit, runs

FUNCTIONS = ("f", "g", "h")
PARAMS = ("x", "y", "z", "u", "v")
LOCAL_PARAMS = ("a", "b", "c", "d")
WEIGHTS = ("w",)
SYMBOLS = ("n", "m", "k")

LONGEST = 10
"""Letters of the longest name that stays: PrimFuncs are named after their work, and passes create
long names."""

Renames = dict[int, str]
"""Nodes of a graph, and their new names."""


def plain_names(mod: tvm.IRModule) -> Iterator[Edit]:
    """Use conventional names: everywhere, then in runs of functions.

    The names are `main`, `f` and `g` for functions, `x` and `w` for parameters, `lv` and `gv` for
    bindings, `n` and `m` for dimensions. Each edit leaves fewer unconventional names.
    """
    for run in runs([part for part, renames in _plan(Graph(mod), mod).items() if renames]):
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
        return None  # a new name stays in use until its owner is renamed
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
    """The renames in parts: each function, the variables of each, all dimensions."""
    plan: dict[str, Renames] = {}
    for gvar, name in _functions(graph).items():
        plan[f"function {graph.name(gvar)}"] = _changed(graph, {gvar: name}, "name_hint")
    for gvar, func in graph.functions():
        if graph.nodes[func]["type"] == "relax.expr.Function":
            names = _variables(graph, func)
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


def _variables(graph: Graph, func: int) -> Renames:
    """New names of the variables of a function, by their nodes."""
    names: Renames = {}
    inner, outer, local_params = _endless(("lv",)), _endless(("gv",)), _endless(LOCAL_PARAMS)

    def kind(node: int) -> str:
        return str(graph.nodes[node]["type"])

    def field(node: int, name: str) -> Any:
        return graph.nodes[node]["data"][name]

    def items(node: int, name: str) -> list[int]:
        found: list[int] = graph.nodes[field(node, name)]["data"]
        return found

    def rename(variables: list[int], fresh: Iterator[str]) -> None:
        for index in variables:
            if kind(field(index, "ty")) != "ir.PrimType":  # otherwise it is a dimension
                names[index] = next(fresh)

    def sequence(seq: int) -> None:
        if kind(seq) != "relax.expr.SeqExpr":
            return
        for block in items(seq, "blocks"):
            for binding in items(block, "bindings"):
                value(field(binding, "value"))
                var = field(binding, "var")
                rename([var], inner if kind(var) == "relax.expr.DataflowVar" else outer)

    def value(node: int) -> None:
        match kind(node):
            case "relax.expr.If":
                sequence(field(node, "true_branch"))
                sequence(field(node, "false_branch"))
            case "relax.expr.Function":
                rename(items(node, "params"), local_params)
                sequence(field(node, "body"))

    params = items(func, "params")
    found = graph.attrs(func).get("num_input")
    number = None if found is None else graph.nodes[found]["data"]
    inputs = number if isinstance(number, int) else len(params)
    rename(params[:inputs], _endless(PARAMS))
    rename(params[inputs:], _endless(WEIGHTS))
    sequence(field(func, "body"))
    return names


def _endless(names: tuple[str, ...]) -> Iterator[str]:
    """The names, then the last one with numbers."""
    yield from names
    for number in count(1):
        yield f"{names[-1]}{number}"


def unshare(mod: tvm.IRModule) -> Iterator[Edit]:
    """Duplicate shapes that are used more than once, which leaves fewer shared nodes."""
    graph = Graph(mod)
    uses: Counter[int] = Counter()

    def count(index: int) -> int:
        uses[index] += graph.is_a(index, "ShapeExpr")
        return index

    graph.replace_uses(count)
    for run in runs([index for index, times in uses.items() if times > 1]):
        yield partial(unshared, mod, frozenset(run))


def as_scripted(mod: tvm.IRModule) -> Iterator[Edit]:
    """Take the module that TVMScript reads back, if it cannot write this one; it can write that."""
    yield partial(_scripted, mod)


def _scripted(mod: tvm.IRModule) -> tvm.IRModule | None:
    (text,) = in_fork(partial(_parsed, mod))[0] or [""]
    if not text:
        return None
    graph = Graph(load_json(text))
    nowhere = graph.add("None", None)
    for node in graph.nodes:  # a position in the text is not content
        if isinstance(node.get("data"), dict) and "span" in node["data"]:
            node["data"]["span"] = nowhere
    made = graph.load()
    if tvm_ffi.structural_equal(mod, made, map_free_vars=True):
        return None
    return made if len(bindings_of(made)) <= len(bindings_of(mod)) else None


def _parsed(mod: tvm.IRModule) -> Iterator[str]:
    """The module that its script form gives, or nothing. The parser may kill the process."""
    with contextlib.suppress(Exception):
        # The search determines whether it is well-formed.
        made = read_script(mod.script(show_meta=True), check_well_formed=False)
        yield save_json(made)
