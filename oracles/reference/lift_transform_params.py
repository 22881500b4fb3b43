"""LiftTransformParams: what depends on weights alone is computed once, in a function of its own.

What is promised, and where:

- "Lift transformation of the parameters [...] to a separate function [...] takes a tuple of the
  original parameters as input and returns a tuple of the transformed parameters. The original
  function will be rewritten to accept a tuple of transformed parameters": the docstring, of
  functions with the attribute num_input. `f(x, *f_transform_params(weights))` is `f(x, *weights)`.
- The other promises are those of tests/python/relax/test_transform_lift_transform_params.py: the
  run-time inputs come first; then a shape, where symbolic variables are needed that no other
  parameter defines; then weights and then what is made of them, each only if it is needed. What
  depends on no weight is not lifted, nor is what stands outside of dataflow blocks. After
  stop_lift_params, which goes, nothing is lifted. A second run changes nothing. With a transform
  of that name in the module, "the functions are composed together". A shared transform computes
  what all of its functions have in common.
- What the function itself returns is needed too (apache/tvm#17231).

Whoever calls such a function inside of the module still gives it the weights as they are: it calls
a private copy of the whole function. Nothing is lifted beside a transform that does not give what
the function takes: there is nothing to compose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import BaseFunc, DictAttrs, GlobalVar
from tvm.relax.analysis import type_base_check

from ...generators.rewrite.nodes import (
    global_var,
    substitute,
    unused_name,
    with_fresh_variables,
    with_functions,
    with_type,
)
from ..errors import NoAnswer
from ..inspect import attr, bindings_of, global_vars, relax_functions
from .liftable import Target, closed
from .lifting import Lifting

SUFFIX = "transform_params"


def lift_transform_params(
    shared_transform: bool | list[str] = False, *, forgets_returned: bool = False
) -> tvm.transform.Pass:
    """The right behaviour of `relax.transform.LiftTransformParams`.

    The option relax.lift_transform_params.consume_params of a PassContext is not regarded: it lets
    weights be freed and changes no value.

    Args:
        shared_transform: as there.
        forgets_returned: the fault that TVM has (apache/tvm#17231): what the function returns does
            not count as needed, and is not defined where nothing else needs it.

    The pass raises:
        ValueError: a name in `shared_transform` is of no function with the attribute num_input.
        RuntimeError: functions that are to share a transform take other weights.
        NoAnswer: there is a match_cast in a function that is to share one, which TVM refuses.
    """

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = dict(mod.functions_items())
        for name, targets in _by_transform(mod, shared_transform).items():
            _lift(functions, name, targets, forgets_returned)
        return with_functions(mod, functions)

    return tvm.transform.module_pass(transform, opt_level=1, name="LiftTransformParams")


def _by_transform(mod: tvm.IRModule, shared: bool | list[str]) -> dict[str, list[Target]]:
    """The functions to split, by the name of their transform."""
    weighted = {
        gvar.name_hint: Target(gvar, func, int(number))
        for gvar, func in sorted(relax_functions(mod), key=lambda item: str(item[0].name_hint))
        if (number := attr(func, "num_input")) is not None
    }
    targets = [weighted[name] for name in weighted if not name.endswith(SUFFIX)]
    if shared is False:
        return {f"{target.gvar.name_hint}_{SUFFIX}": [target] for target in targets}
    if isinstance(shared, list) and shared:
        for name in shared:
            if name not in weighted:
                raise ValueError(
                    f"Expected functions with the attribute num_input, which are "
                    f"{', '.join(weighted)}, but got {name!r}"
                )
        targets = [weighted[name] for name in sorted(set(shared))]
    for target in targets:
        if any(isinstance(binding, relax.MatchCast) for binding in bindings_of(target.func)):
            raise NoAnswer("MatchCast is not supported in global lifting")
    for target in targets[1:]:
        first = targets[0]
        types = [relax.TupleType([w.ty for w in each.weights]) for each in (first, target)]
        if not tvm_ffi.structural_equal(*types, map_free_vars=True):
            raise RuntimeError(
                f"Expected functions of one shared transform to take the same weights but "
                f"{first.gvar.name_hint!r} takes {types[0]} and "
                f"{target.gvar.name_hint!r} takes {types[1]}"
            )
    return {SUFFIX: targets} if targets else {}


def _lift(
    functions: dict[GlobalVar, BaseFunc], name: str, targets: Sequence[Target], forgets: bool
) -> None:
    """Split the functions and put in the transform, or compose it with the one of that name."""
    targets = [closed(replace(target, func=functions[target.gvar])) for target in targets]
    lifting = Lifting(targets, forgets)
    old = next((gvar for gvar in functions if gvar.name_hint == name), None)
    if old is not None:
        functions[old] = functions[old].with_attr("global_symbol", name)
        if not lifting.keeps_weights and not _fits(functions[old], targets[0]):
            return
    called = {gvar for func in functions.values() for gvar in global_vars(func)}
    whole: dict[GlobalVar, GlobalVar] = {}
    if old is None:
        _put(functions, name, _transform(lifting, targets[0], name))
    elif not lifting.keeps_weights:
        whole[old] = _keep_whole(functions, old)
        _put(functions, name, _composed(lifting, targets[0], whole[old], functions.pop(old)))
    for part in lifting.parts:
        gvar = part.target.gvar
        function = part.rewritten(lifting.symbols, lifting.outputs)
        if lifting.keeps_weights and part.target.func.same_as(functions[gvar]):
            functions[gvar] = function
            continue
        if gvar in called:
            whole[gvar] = _keep_whole(functions, gvar)
        del functions[gvar]
        _put(functions, gvar.name_hint, function)
    for gvar, func in functions.items():
        functions[gvar] = substitute(func, whole)


def _transform(lifting: Lifting, target: Target, name: str) -> relax.Function:
    params = relax.Var("params", relax.TupleType([weight.ty for weight in target.weights]))
    given = [
        relax.VarBinding(weight, relax.TupleGetItem(params, index))
        for index, weight in enumerate(target.weights)
    ]
    attrs = DictAttrs({"num_input": 0, "global_symbol": name})
    return lifting.transform([params], [], given, attrs)


def _composed(
    lifting: Lifting, target: Target, gvar: GlobalVar, before: relax.Function
) -> relax.Function:
    """What is made of the weights that another function makes."""
    results = relax.Var("before", before.ret_ty)
    call = with_type(relax.Call(gvar, before.params), before.ret_ty)
    given: list[relax.Binding] = []
    for index, weight in enumerate(target.weights):
        result = relax.TupleGetItem(results, index)
        if tvm_ffi.structural_equal(result.ty, weight.ty):
            given.append(relax.VarBinding(weight, result))
        else:
            field = relax.DataflowVar(weight.name, result.ty)
            given += [relax.VarBinding(field, result), relax.MatchCast(weight, field, weight.ty)]
    first = relax.VarBinding(results, call)
    return lifting.transform(before.params, [first], given, before.attrs, before.is_pure)


def _fits(before: BaseFunc, target: Target) -> bool:
    """A function gives what the other can take for weights."""
    if not isinstance(before, relax.Function) or not isinstance(before.ret_ty, relax.TupleType):
        return False
    given, taken = before.ret_ty.fields, [weight.ty for weight in target.weights]
    return len(given) == len(taken) and all(
        int(type_base_check(*types)) > 0 for types in zip(taken, given, strict=True)
    )


def _put(functions: dict[GlobalVar, BaseFunc], name: str, func: relax.Function) -> GlobalVar:
    gvar = global_var(name, func.ty)
    functions[gvar] = func
    return gvar


def _keep_whole(functions: dict[GlobalVar, BaseFunc], gvar: GlobalVar) -> GlobalVar:
    """Add the function as it is under a private name, for those that call it."""
    func = with_fresh_variables(
        functions[gvar].without_attr("global_symbol").without_attr("num_input")
    )
    taken = {other.name_hint for other in functions}
    return _put(functions, unused_name(f"{gvar.name_hint}_whole", taken), func)
