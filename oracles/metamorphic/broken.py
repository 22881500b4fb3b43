"""Modules that break one rule of well-formedness, made from modules that keep them all.

Constructors of TVM refuse some of these modules; loading JSON does not. So the edits change the
graph of nodes that is saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import tvm

from ..metamorphic.graph import Graph

Edit = Callable[[], None]

CHECKER = "src/relax/analysis/well_formed.cc, rule {}"
INFERENCE = (
    "docstring of BlockBuilder.normalize: 'Normalize an Expr to complete its shape and type'"
)
RETURN = "include/tvm/relax/expr.h, FunctionNode::ret_ty: 'The return type of the function.'"
ANNOTATION = "the checker: 'All information in Type annotations must be correct'"
INDEX = "the constructor of TupleGetItem: 'Index out of bounds'"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of well-formedness, and the edits that break it."""

    broken: str
    """What is wrong with a module that breaks it."""
    source: str
    """Where TVM states the rule."""
    edits: Callable[[Graph], Iterator[Edit]]
    """One for each place of the module at which the rule can be broken."""


def _blocks(graph: Graph, *classes: str) -> Iterator[tuple[int, list[int]]]:
    """Blocks of these classes, with their bindings."""
    for block in graph.of(*classes):
        yield block, graph.items(block, "bindings")


def _relax_functions(graph: Graph) -> list[int]:
    """The GlobalVars of Relax functions."""
    return [gvar for gvar, func in graph.functions() if graph.is_a(func, "Function")]


def _bindings(graph: Graph, seq: int) -> list[int]:
    """The bindings of a SeqExpr, without those of what it contains."""
    blocks = graph.items(seq, "blocks")
    return [binding for block in blocks for binding in graph.items(block, "bindings")]


def _bound(graph: Graph) -> dict[int, int]:
    """Variables of VarBindings, with their values."""
    return {graph.get(each, "var"): graph.get(each, "value") for each in graph.of("VarBinding")}


def _variables(graph: Graph) -> set[int]:
    """Parameters, and variables of bindings."""
    found = {graph.get(binding, "var") for binding in graph.of("VarBinding", "MatchCast")}
    return found.union(*(graph.items(func, "params") for func in graph.of("Function")))


def _takes_fixed_number(graph: Graph, call: int) -> bool:
    """Whether this is a call of an operator of Relax that takes so many operands and no more."""
    callee = graph.get(call, "op")
    if not graph.is_a(callee, "Op") or not graph.text(callee).startswith("relax."):
        return False
    return bool(tvm.ir.Op.get(graph.text(callee)).num_inputs >= 0)


def _is_impure(graph: Graph, call: int) -> bool:
    """Whether this is a call of an operator or function with effects."""
    if not graph.is_a(call, "Call"):
        return False
    callee = graph.get(call, "op")
    if graph.is_a(callee, "Op"):
        return tvm.ir.Op.get(graph.text(callee)).get_attr("FPurity") is False
    if graph.is_a(callee, "GlobalVar", "Var"):
        ty = graph.get(callee, "ty")
        return graph.is_a(ty, "FuncType") and not graph.nodes[ty]["data"]["purity"]
    return graph.is_a(callee, "ExternFunc")


def _with_other_dtype(graph: Graph, ty: int) -> int:
    """A type like this one of tensors, of another dtype."""
    dtype = graph.get(ty, "dtype")
    other = "float32" if graph.nodes[dtype]["data"]["dtype"] != "float32" else "int32"
    return graph.copy(ty, dtype=graph.copy(dtype, dtype=other))


def _has_dtype(graph: Graph, ty: int) -> bool:
    return graph.is_a(ty, "TensorType") and graph.is_a(graph.get(ty, "dtype"), "PrimType")


def _operands(graph: Graph) -> Iterator[tuple[int, int, int]]:
    """Calls, with the position of an operand that is a variable, and the variable."""
    variables = _variables(graph)
    for call in graph.of("Call"):
        for at, arg in enumerate(graph.items(call, "args")):
            if arg in variables:
                yield call, at, arg


def _with_operand(graph: Graph, call: int, at: int, operand: Callable[[], int]) -> Edit:
    def edit() -> None:
        args = graph.items(call, "args")
        graph.set_items(call, "args", [*args[:at], operand(), *args[at + 1 :]])

    return edit


def _with_field(graph: Graph, index: int, name: str, make: Callable[[], int]) -> Edit:
    return lambda: graph.set(index, name, make())


def _undefined(graph: Graph) -> Iterator[Edit]:
    for call, at, var in _operands(graph):
        yield _with_operand(graph, call, at, partial(graph.copy, var))


def _early(graph: Graph) -> Iterator[Edit]:
    for block, bindings in _blocks(graph, "BindingBlock", "DataflowBlock"):
        for at, (first, second) in enumerate(itertools.pairwise(bindings)):
            value = graph.get(second, "value")
            operands = graph.items(value, "args") if graph.is_a(value, "Call") else []
            if graph.get(first, "var") in operands:
                order = [*bindings[:at], second, first, *bindings[at + 2 :]]
                yield partial(graph.set_items, block, "bindings", order)


def _twice(graph: Graph) -> Iterator[Edit]:
    for block, bindings in _blocks(graph, "BindingBlock", "DataflowBlock"):
        for binding in bindings:
            yield partial(graph.set_items, block, "bindings", [*bindings, binding])


def _as_kind(graph: Graph, block: int, kind: str) -> Edit:
    def edit() -> None:
        graph.nodes[block]["type"] = f"relax.expr.{kind}"

    return edit


def _dataflow_var_outside(graph: Graph) -> Iterator[Edit]:
    for block, bindings in _blocks(graph, "DataflowBlock"):
        if any(graph.is_a(graph.get(binding, "var"), "DataflowVar") for binding in bindings):
            yield _as_kind(graph, block, "BindingBlock")


def _dataflow_var_returned(graph: Graph) -> Iterator[Edit]:
    for seq in graph.of("SeqExpr"):
        for binding in _bindings(graph, seq):
            var = graph.get(binding, "var")
            if graph.is_a(var, "DataflowVar"):
                yield partial(graph.set, seq, "body", var)


def _out_of_branch(graph: Graph) -> Iterator[Edit]:
    for func in graph.of("Function"):
        seq = graph.get(func, "body")
        values = [graph.get(binding, "value") for binding in _bindings(graph, seq)]
        branches = [graph.get(v, "true_branch") for v in values if graph.is_a(v, "If")]
        for branch in branches:
            for binding in _bindings(graph, branch):
                var = graph.get(binding, "var")
                if var != graph.get(branch, "body"):
                    yield partial(graph.set, seq, "body", var)


def _bound_seq(graph: Graph) -> Iterator[Edit]:
    variables = _variables(graph)
    for binding in graph.of("VarBinding"):
        value = graph.get(binding, "value")
        if value in variables:

            def edit(binding: int = binding, value: int = value) -> None:
                seq = {name: graph.get(value, name) for name in ("span", "ty")}
                seq |= {"blocks": graph.add("ffi.Array", []), "body": value}
                graph.set(binding, "value", graph.add("relax.expr.SeqExpr", seq))

            yield edit


def _nested_in_call(graph: Graph) -> Iterator[Edit]:
    bound = _bound(graph)
    for call, at, var in _operands(graph):
        if var in bound and graph.is_a(bound[var], "Call"):
            yield _with_operand(graph, call, at, partial(bound.__getitem__, var))


def _nested_in_tuple(graph: Graph) -> Iterator[Edit]:
    bound = _bound(graph)
    for tup in graph.of("Tuple"):
        fields = graph.items(tup, "fields")
        for at, var in enumerate(fields):
            if var in bound and graph.is_a(bound[var], "Call"):
                nested = [*fields[:at], bound[var], *fields[at + 1 :]]
                yield partial(graph.set_items, tup, "fields", nested)


def _nested_in(kind: str, field: str) -> Callable[[Graph], Iterator[Edit]]:
    def edits(graph: Graph) -> Iterator[Edit]:
        bound = _bound(graph)
        for node in graph.of(kind):
            var = graph.get(node, field)
            if var in bound and graph.is_a(bound[var], "Call"):
                yield partial(graph.set, node, field, bound[var])

    return edits


def _if_in_dataflow(graph: Graph) -> Iterator[Edit]:
    for block, bindings in _blocks(graph, "BindingBlock"):
        if any(graph.is_a(graph.get(binding, "value"), "If") for binding in bindings):
            yield _as_kind(graph, block, "DataflowBlock")


def _impure_in_dataflow(graph: Graph) -> Iterator[Edit]:
    for block, bindings in _blocks(graph, "BindingBlock"):
        if any(_is_impure(graph, graph.get(binding, "value")) for binding in bindings):
            yield _as_kind(graph, block, "DataflowBlock")


def _impure_in_pure(graph: Graph) -> Iterator[Edit]:
    for func in graph.of("Function"):
        bindings = _bindings(graph, graph.get(func, "body"))
        impure = any(_is_impure(graph, graph.get(binding, "value")) for binding in bindings)
        if impure and not graph.nodes[func]["data"]["is_pure"]:
            yield partial(graph.set, func, "is_pure", True)


def _no_function(graph: Graph) -> Iterator[Edit]:
    """Only in Relax functions: the rule is the checker's of Relax, which leaves PrimFuncs alone."""

    def other(gvar: int) -> int:
        return graph.copy(gvar, name_hint=graph.add("ffi.String", "no_function"))

    functions = _relax_functions(graph)
    for call in graph.of("Call"):
        callee = graph.get(call, "op")
        if callee in functions:
            yield _with_field(graph, call, "op", partial(other, callee))
        for at, arg in enumerate(graph.items(call, "args")):
            if graph.is_a(arg, "GlobalVar"):
                yield _with_operand(graph, call, at, partial(other, arg))


def _other_symbol(graph: Graph) -> Iterator[Edit]:
    for _, func in graph.functions():
        attrs = graph.attrs(func)
        if graph.is_a(func, "Function") and "global_symbol" in attrs:

            def edit(func: int = func) -> None:
                attrs = graph.get(func, "attrs")
                flat = graph.items(attrs, "__dict__")
                at = [graph.nodes[key]["data"] for key in flat[::2]].index("global_symbol")
                flat[2 * at + 1] = graph.add("ffi.String", "other_symbol")
                graph.set(func, "attrs", graph.copy(attrs, __dict__=graph.add("ffi.Map", flat)))

            yield edit


def _same_parameters(graph: Graph) -> Iterator[Edit]:
    for gvar, func in graph.functions():
        if graph.is_a(func, "Function") and graph.items(func, "params"):

            def edit(gvar: int = gvar, func: int = func) -> None:
                name = graph.add("ffi.String", "second")
                attrs = graph.copy(graph.get(func, "attrs"), __dict__=graph.add("ffi.Map", []))
                second = graph.copy(gvar, name_hint=name), graph.copy(func, attrs=attrs)
                graph.set_functions([*graph.functions(), second])

            yield edit


def _wrong_annotation(graph: Graph) -> Iterator[Edit]:
    for binding in graph.of("VarBinding"):
        var, value = graph.get(binding, "var"), graph.get(binding, "value")
        ty = graph.get(var, "ty")
        if graph.is_a(value, "Call") and _has_dtype(graph, ty):
            yield _with_field(graph, var, "ty", partial(_with_other_dtype, graph, ty))


def _wrong_return(graph: Graph) -> Iterator[Edit]:
    for func in graph.of("Function"):
        ty = graph.get(func, "ret_ty")
        if _has_dtype(graph, ty):
            yield _with_field(graph, func, "ret_ty", partial(_with_other_dtype, graph, ty))


def _undefined_dim(graph: Graph) -> Iterator[Edit]:
    for binding in graph.of("VarBinding"):
        var = graph.get(binding, "var")
        ty = graph.get(var, "ty")
        if not graph.is_a(ty, "TensorType") or not graph.is_a(graph.get(ty, "shape"), "ShapeExpr"):
            continue
        if any(graph.is_a(dim, "Var") for dim in graph.items(ty, "shape", "values")):

            def edit(var: int = var, ty: int = ty) -> None:
                dims = [
                    graph.copy(dim) if graph.is_a(dim, "Var") else dim
                    for dim in graph.items(ty, "shape", "values")
                ]
                shape = graph.copy(graph.get(ty, "shape"), values=graph.add("ffi.Array", dims))
                graph.set(var, "ty", graph.copy(ty, shape=shape))

            yield edit


def _arity(graph: Graph) -> Iterator[Edit]:
    functions = _relax_functions(graph)
    for call in graph.of("Call"):
        callee, args = graph.get(call, "op"), graph.items(call, "args")
        if callee in functions and args:
            yield partial(graph.set_items, call, "args", args[:-1])
            yield partial(graph.set_items, call, "args", [*args, args[0]])


def _more_operands(graph: Graph) -> Iterator[Edit]:
    for call in graph.of("Call"):
        args = graph.items(call, "args")
        if args and _takes_fixed_number(graph, call):
            yield partial(graph.set_items, call, "args", [*args, args[0]])


def _function_operand(graph: Graph) -> Iterator[Edit]:
    functions = _relax_functions(graph)
    for call, at, var in _operands(graph):
        if _takes_fixed_number(graph, call) and graph.is_a(graph.get(var, "ty"), "TensorType"):
            yield _with_operand(graph, call, at, partial(functions.__getitem__, 0))


def _index(graph: Graph) -> Iterator[Edit]:
    for item in graph.of("TupleGetItem"):
        yield partial(graph.set, item, "index", 1000)


RULES: tuple[Rule, ...] = (
    Rule("a variable is used that nothing defines", CHECKER.format(5), _undefined),
    Rule("a variable is used before its definition", CHECKER.format(5), _early),
    Rule("a variable is defined twice", CHECKER.format(6), _twice),
    Rule("a DataflowVar is bound in a BindingBlock", CHECKER.format(7), _dataflow_var_outside),
    Rule("a DataflowVar is used outside its block", CHECKER.format(7), _dataflow_var_returned),
    Rule("a variable of a branch is used outside it", CHECKER.format(8), _out_of_branch),
    Rule("a SeqExpr is bound to a variable", CHECKER.format(9), _bound_seq),
    Rule("a call is an operand of a call", CHECKER.format(10), _nested_in_call),
    Rule("a call is a field of a tuple", CHECKER.format(10), _nested_in_tuple),
    Rule(
        "a call is the tuple of a TupleGetItem",
        CHECKER.format(10),
        _nested_in("TupleGetItem", "tuple_value"),
    ),
    Rule("a call is the condition of an If", CHECKER.format(10), _nested_in("If", "cond")),
    Rule("an If is in a DataflowBlock", CHECKER.format(12), _if_in_dataflow),
    Rule("an impure call is in a DataflowBlock", CHECKER.format(13), _impure_in_dataflow),
    Rule("an impure call is in a pure function", CHECKER.format(14), _impure_in_pure),
    Rule("a GlobalVar is used that has no function", CHECKER.format(2), _no_function),
    Rule("the global_symbol is another name", CHECKER.format(3), _other_symbol),
    Rule("two functions have the same parameters", CHECKER.format(4), _same_parameters),
    Rule("the type of a variable contradicts its value", ANNOTATION, _wrong_annotation),
    Rule("the return type contradicts the result", RETURN, _wrong_return),
    Rule("a dimension is used that nothing defines", CHECKER.format(5), _undefined_dim),
    Rule("a function is called with too few or too many arguments", INFERENCE, _arity),
    Rule("an operator has more operands than it takes", INFERENCE, _more_operands),
    Rule("an operator that takes a tensor is given a function", INFERENCE, _function_operand),
    Rule("the index of a TupleGetItem is out of range", INDEX, _index),
)
