"""Contracts of the passes that bind, lift, bundle, lazily load, or retype parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ...generators.choices import Choices
from ...generators.ops.roles import IN_PLACE
from ...generators.rewrite.nodes import defined_symbolic_vars
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import (
    Exemption,
    NormalForm,
    PassContract,
    Rejection,
    Relation,
    Sought,
)
from ..inspect import (
    attr,
    complete,
    global_vars,
    is_public,
    nodes,
    ops_used,
    public_functions,
    relax_functions,
)
from ..pass_arguments import argument, positional
from ..passcall import PassCall
from ..text import messages
from .common import CLEANUP, PURE, for_all_operators, named_functions, one_of, spelled

NUM_INPUT = 'only functions with the attribute "num_input" have weights (docstring)'


def _with_weights(mod: tvm.IRModule) -> list[tuple[str, relax.Function, int]]:
    """Functions with the attribute num_input: the parameters after that many inputs are weights."""
    return [
        (name, func, int(number))
        for name, func in named_functions(mod)
        if (number := attr(func, "num_input")) is not None
    ]


def _without_weights(mod: tvm.IRModule) -> str | None:
    return _impossible_inputs(mod) or (None if _with_weights(mod) else NUM_INPUT)


def _impossible_inputs(mod: tvm.IRModule) -> str | None:
    """BundleModelParams: "Function was declared to have 3 runtime inputs, but only has 2"."""
    if all(0 <= number <= len(func.params) for _, func, number in _with_weights(mod)):
        return None
    return "a num_input that is no number of parameters (message of BundleModelParams)"


def _bundle(params: Sequence[relax.Var]) -> relax.TupleType:
    return relax.TupleType([param.ty for param in params])


def _same(a: object, b: object) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))


# LiftTransformParams


def _liftable(mod: tvm.IRModule) -> list[tuple[str, relax.Function, int]]:
    return [item for item in _with_weights(mod) if not item[0].endswith("transform_params")]


CONSUME = "relax.lift_transform_params.consume_params"


def _lift_transform_params(c: Choices, mod: tvm.IRModule) -> PassCall:
    targets = _liftable(mod)
    alternatives: list[object] = [None]
    for _, func, number in targets[:1]:
        weights = _bundle(func.params[number:])
        agreeing = [n for n, f, k in targets if _same(_bundle(f.params[k:]), weights)]
        alternatives.append(agreeing)
        if len(agreeing) == len(targets):
            alternatives.append(True)
    config = {CONSUME: True} if c.flag(0.1) else {}
    return PassCall(
        spelled("LiftTransformParams", shared_transform=c.pick(alternatives)), config=config
    )


def _composable(before: tvm.IRModule, transform: str, func: relax.Function, number: int) -> bool:
    """True if no transform exists, or it returns the weights' types, which a match_cast joins."""
    return transform not in before or _same(before[transform].ret_ty, _bundle(func.params[number:]))


def _closed(func: relax.Function, number: int) -> relax.TupleType:
    """The types of the weights, without shapes whose dimensions no weight defines."""
    weights = _bundle(func.params[number:])
    dims = relax.analysis.definable_tir_vars_in_type(weights)
    known = {dim: dim for dim in dims if dim not in func.params}
    return relax.analysis.erase_to_well_defined(weights, known)


def _lifted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: transform_params makes the rewritten function's arguments from the weights."""
    shared = argument(call, "shared_transform", 0)
    functions = dict(named_functions(after))
    for name, func, number in _liftable(before):
        if isinstance(shared, list) and name not in shared:
            continue
        transform_name = "transform_params" if shared else f"{name}_transform_params"
        transform = functions.get(transform_name)
        if transform is None:
            return "there is no function that transforms the parameters"
        if not is_public(transform):
            return "the function that transforms the parameters cannot be called from outside"
        accepted = functions[name].params
        if not _same(_bundle(accepted[:number]), _bundle(func.params[:number])):
            return "a runtime input of a function changed"
        if _composable(before, transform_name, func, number) and not any(
            _same(taken, transform.ret_ty)
            for taken in (_bundle(accepted[number:]), _closed(functions[name], number))
        ):
            return "what transform_params returns is not what the function accepts"
        if transform_name not in before and not (
            len(transform.params) == 1
            and any(
                _same(transform.params[0].ty, taken)
                for taken in (_bundle(func.params[number:]), _closed(func, number))
            )
        ):
            return "transform_params does not take a tuple of the original parameters"
    return None


# BundleModelParams, LazyGetInput, LazySetOutput, LazyTransformParams


def _bundled(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the parameters after the first num_input become one tuple of the given name."""
    wanted = argument(call, "param_tuple_name", 0) or "model_params"
    functions = dict(named_functions(after))
    for name, func, number in _with_weights(before):
        params = functions[name].params
        if len(params) != number + 1 or not isinstance(params[number].ty, relax.TupleType):
            return "a function does not take its inputs and one tuple"
        if params[number].name != wanted:
            return "the tuple of parameters has another name than asked for"
        if not _same(_bundle(params[:number]), _bundle(func.params[:number])):
            return "a runtime input of a function changed"
        weights = _bundle(func.params[number:])
        if not any(_same(params[number].ty, ty) for ty in (weights, _closed(func, number))):
            return "the types of the bundled parameters changed"
    return None


def _gets_lazily(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: a function takes its inputs and a callback that loads the weights."""
    functions = dict(named_functions(after))
    for gvar, func in public_functions(before):
        number = int(attr(func, "num_input") or 0)
        params = functions[gvar.name_hint].params
        if len(params) != number + 1 or not isinstance(params[number].ty, relax.FuncType):
            return "a function does not take its inputs and one callback"
        if not _same(_bundle(params[:number]), _bundle(func.params[:number])):
            return "a runtime input of a function changed"
    return None


def _sets_lazily(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: a function takes an additional callback and returns the empty tuple."""
    functions = dict(named_functions(after))
    for gvar, func in public_functions(before):
        result = functions[gvar.name_hint]
        if not _same(result.ret_ty, relax.TupleType([])):
            return "a function does not return the empty tuple"
        callbacks = [p for p in result.params if isinstance(p.ty, relax.FuncType)]
        if len(result.params) != len(func.params) + 1 or not callbacks:
            return "a function does not take one callback more"
    return None


def _lazy_transform_params(c: Choices, mod: tvm.IRModule) -> PassCall:
    holder = "[relax.Var('loader', relax.AnyType())]"
    extra = c.pick(["", f"extra_get_item_params={holder}", f"extra_set_item_params={holder}"])
    # Without the import the pass fails unless TVMScript was already imported.
    return PassCall(f"LazyTransformParams({extra})", imports=("import tvm.relax.op.vm",))


def _transforms(mod: tvm.IRModule) -> list[tuple[str, relax.Function]]:
    return [item for item in named_functions(mod) if item[0].endswith("transform_params")]


def _without_transforms(mod: tvm.IRModule) -> str | None:
    for _, func in _transforms(mod):
        params = func.params[int(attr(func, "num_input") or 0) :]
        tuples = (*(param.ty for param in params), func.ret_ty)
        if len(params) != 1 or not all(isinstance(ty, relax.TupleType) for ty in tuples):
            return (
                "a transform_params function that does not make a tuple from a tuple "
                "(docstring of LiftTransformParams)"
            )
    return None if _transforms(mod) else "no transform_params function (docstring)"


def _transforms_lazily(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: weights are loaded on demand and, if `fset_item` is given, stored one by one."""
    stores = argument(call, "fset_item", 1, "set_item") is not None
    for _, func in _transforms(after):
        if any(isinstance(param.ty, relax.TupleType) for param in func.params):
            return "a transform_params function still takes a tuple of weights"
        if stores and isinstance(func.ret_ty, relax.TupleType) and len(func.ret_ty.fields):
            return "a transform_params function still returns a tuple of weights"
    return None


# BindParams, BindSymbolicVars


def _called(mod: tvm.IRModule) -> set[str]:
    return {gvar.name_hint for gvar in global_vars(mod)}


def _bind_params(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    """Constants for some parameters of one function, preferably one that no other one calls."""
    called = _called(mod)
    bindable = {name: found for name, func in named_functions(mod) if (found := _bindable(func))}
    if not bindable:
        return None
    name = c.pick(sorted(bindable, key=lambda name: (name in called, name)))
    texts = bindable[name]
    chosen = c.subset(list(texts)) or [c.pick(list(texts))]
    params = ", ".join(f"{param!r}: {texts[param]}" for param in chosen)
    return PassCall(f"BindParams({name!r}, {{{params}}})")


SYMBOLIC_EXTENT = 3
"""The value of every symbolic dimension of a bound parameter: one for all, so that they agree."""


LARGEST_BOUND = 1 << 14
"""Elements of a bound parameter: real-model weights as constants would fill the memory."""


def _bindable(func: relax.Function) -> dict[str, str]:
    """NumPy expressions that fit the tensor parameters, by name."""
    names = [param.name for param in func.params]
    texts = {}
    for param in func.params:
        ty = param.ty
        if names.count(param.name) > 1 or not isinstance(ty, relax.TensorType) or ty.dtype is None:
            continue
        dims = [_extent(dim) for dim in ty.shape.values] if _has_shape(ty) else [None]
        known = [dim for dim in dims if dim is not None]
        if len(known) == len(dims) and math.prod(known) <= LARGEST_BOUND:
            dtype = str(ty.dtype).removeprefix("T.")
            texts[param.name] = f"np.resize(np.arange(3), {tuple(known)}).astype({dtype!r})"
    return texts


def _has_shape(ty: relax.TensorType) -> bool:
    return isinstance(ty.shape, relax.ShapeExpr)


def _updates(mod: tvm.IRModule) -> str | None:
    """Refuse in-place updates: an updated parameter changes between calls, a constant must not.

    Docstring of call_tir_inplace: the passes that insert it have checked that it is safe. With a
    constant in place of a parameter it is not safe.
    """
    if ops_used(mod).isdisjoint(IN_PLACE):
        return None
    return "operands are updated in place, perhaps parameters (docstring of call_tir_inplace)"


def _extent(dim: tvm.ir.Expr) -> int | None:
    if isinstance(dim, tirx.IntImm):
        return int(dim.value)
    return SYMBOLIC_EXTENT if isinstance(dim, tirx.Var) else None


def _params_bound(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """The bound parameters disappear, the others stay in order; other functions stay unchanged."""
    target, bound = positional(call)
    old, new = dict(named_functions(before)), dict(named_functions(after))
    if old.keys() != new.keys():
        return "the functions of the module changed"
    for name, func in old.items():
        gone = bound if name == target else ()
        expected = [param.name for param in func.params if param.name not in gone]
        if [param.name for param in new[name].params] != expected:
            return "the parameters that are left are not the ones that were not bound"
    return None


def _bind_symbolic_vars(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    """Values for symbolic variables of uncalled functions; calls would still pass shapes."""
    called = _called(mod)
    variables = {name: _symbolic(func) for name, func in named_functions(mod)}
    taken = {
        var for name, func in named_functions(mod) for var in _untouchable(func, name in called)
    }
    free = {name: found for name, found in variables.items() if name not in called and found}
    if not free:
        return None
    name = c.pick(sorted(free))
    everywhere = [var for var in free[name] if var not in taken]
    whole_module = bool(everywhere) and c.flag(0.6)
    chosen = c.subset(everywhere if whole_module else free[name])
    chosen = chosen or [c.pick(everywhere if whole_module else free[name])]
    values = ["4", "1", "2", "7"]
    if not whole_module:  # one variable must not belong to two functions
        values.append("tvm.tirx.Var('renamed', 'int64')")
    bound = ", ".join(f"{var!r}: {c.pick(values)}" for var in chosen)
    target = "" if whole_module else f", {name!r}"
    return PassCall(f"BindSymbolicVars({{{bound}}}{target})")


def _untouchable(func: relax.Function, called: bool) -> Iterator[str]:
    """Names that a call for the whole module must not bind. The pass looks them up in each function
    and refuses a name that several variables of the function have."""
    defined = _defined(func)
    return (name for name in defined if called or defined.count(name) > 1)


def _defined(func: relax.Function) -> list[str]:
    """The name of each symbolic variable that the function defines."""
    return [str(var.name) for var in defined_symbolic_vars(func)]


def _symbolic(func: relax.Function) -> list[str]:
    """Names of the symbolic dimensions of the parameters, except names shared by several variables.

    A variable in the type of a parameter that is a function is defined by that type, for itself
    (src/relax/ir/expr_functor.cc: 'Do not recurse into function type as they won't contain ref to
    values in current scope').
    """
    defined = _defined(func)
    values = [param for param in func.params if not nodes(param.ty, relax.FuncType)]
    dims = relax.analysis.definable_tir_vars_in_type(_bundle(values))
    names = dict.fromkeys(str(var.name) for var in dims if var not in func.params)
    return [name for name in names if defined.count(name) == 1]


def _vars_bound(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """The bound variables are gone from the named function, or from all functions."""
    bound, *target = positional(call)
    for name, func in named_functions(after):
        if (not target or name in target) and set(bound) & set(_symbolic(func)):
            return "a symbolic variable that was bound is left"
    return None


# ExpandTupleArguments, RemoveUnusedParameters, RemoveUnusedOutputs


def _without_private(mod: tvm.IRModule) -> str | None:
    if any(not is_public(func) for _, func in relax_functions(mod)):
        return None
    return "no internal function (docstring)"


def _expanded(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: tuple arguments to internal functions are expanded."""
    for _, func in relax_functions(after):
        if not is_public(func) and any(isinstance(p.ty, relax.TupleType) for p in func.params):
            return "an internal function takes a tuple"
    return None


def _no_unused_parameters(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: unused arguments to internal functions are removed."""
    results = dict(named_functions(after))
    for name, func in named_functions(before):
        if is_public(func) or name not in results:
            continue
        # A parameter may exist to define a symbolic variable, and a new one may take its place.
        if relax.analysis.definable_tir_vars_in_type(_bundle(func.params)):
            continue
        # A number may be used as a dim.
        if any(isinstance(param.ty, PrimType) for param in func.params):
            continue
        used = set(relax.analysis.free_vars(func.body))
        if len(results[name].params) > sum(param in used for param in func.params):
            return "an internal function has a parameter that it does not use"
    return None


def _no_unused_outputs(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: unused outputs of internal functions go; a use in dead code counts as a use."""
    left = _outputs(after)
    if not left:
        return None
    outputs = _outputs(before)
    results = {gvar.name_hint: func.ret_ty for gvar, func in relax_functions(before)}
    used: dict[str, set[int]] = {}
    for _, func in relax_functions(before):
        _collect_used_outputs(func, outputs, used)
    for name, indices in used.items():
        fields = [results[name].fields[index] for index in indices]
        # A single used output becomes the result, which may itself be a tuple.
        alone = len(fields) == 1 and isinstance(fields[0], relax.TupleType)
        if (len(fields[0].fields) if alone else len(fields)) < left.get(name, 0):
            return "an internal function returns a field that no caller uses"
    return None


def _outputs(mod: tvm.IRModule) -> dict[str, int]:
    """The number of outputs of each internal function that returns a tuple, by name."""
    return {
        gvar.name_hint: len(func.ret_ty.fields)
        for gvar, func in relax_functions(mod)
        if not is_public(func) and isinstance(func.ret_ty, relax.TupleType)
    }


def _collect_used_outputs(
    func: relax.Function, outputs: dict[str, int], used: dict[str, set[int]]
) -> None:
    bound: dict[relax.Var, str] = {}
    for seq in reversed(nodes(func, relax.SeqExpr)):  # outer ones first
        bindings = [binding for block in seq.blocks for binding in block.bindings]
        for binding in bindings:
            value = binding.value
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
                name = value.op.name_hint
                if name in outputs:
                    bound[binding.var] = name
                    used.setdefault(name, set())
        for expr in (*(binding.value for binding in bindings), seq.body):
            if isinstance(expr, relax.TupleGetItem) and expr.tuple_value in bound:
                used[bound[expr.tuple_value]].add(int(expr.index))
                continue
            for var in relax.analysis.free_vars(expr):
                if var in bound:
                    used[bound[var]].update(range(outputs[bound[var]]))


def _of_extents(error: Exception, mod: tvm.IRModule) -> bool:
    """True if the two types in the message do not differ in a virtual device."""
    expected, _, given = messages.text_of(error).partition(", given ")
    return not given or ("vdevice=" in expected) == ("vdevice=" in given)


CONTRADICTIONS = (
    Rejection(
        r"convertible from the old|should equal to the product|to be divisible|"
        r"type mismatch|cannot be broadcasted|Cannot broadcast|must have the same",
        "the message names the types that contradict each other for the bound extents",
        when=_of_extents,
    ),
    Rejection(
        r"\A(?!Check failed)",
        "type inference says which operands of an operator do not fit for the bound extents",
        function=r"relax::(?:Infer|\w*Check)",
    ),
)


def _has_claims(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if type inference can neither confirm nor refute the annotated extents of a call."""
    builder = relax.BlockBuilder()
    return any(
        _is_claim(builder, each)
        for _, func in relax_functions(mod)
        if _defined(func)
        for each in nodes(func, relax.Call)
    )


def _is_claim(builder: relax.BlockBuilder, call: relax.Call) -> bool:
    try:
        bare = relax.Call(call.op, call.args, call.attrs, call.ty_args)
        inferred = builder.normalize(bare).ty
        found = relax.analysis.type_base_check(call.ty, inferred)
    except Exception:  # an expression valid only within its function, or without a type
        return False
    return complete(inferred) and int(found) == _UNKNOWN_RELATION


_UNKNOWN_RELATION = 2
"""`relax.analysis.BaseCheckResult`: 'due to unknown symbolic variable relations'."""

CLAIMS = Exemption(
    "well-formed",
    "a type that is right for some extents only contradicts the module for others",
    "src/relax/analysis/well_formed.cc: 'cases that are neither provably correct nor provably "
    "incorrect' are accepted while the extents are unknown",
    when=_has_claims,
)

LAZY = (Stage.RAW, Stage.LEGALIZED, Stage.TIR_FUSED, Stage.IMPERATIVE)

_of_params = functools.partial(for_all_operators, stages=PURE)

CONTRACTS: tuple[PassContract, ...] = (
    _of_params(
        name="LiftTransformParams",
        variants=_lift_transform_params,
        requires=_without_weights,
        relation=Relation.LIFTED_PARAMS,
        post=_lifted,
        normal_form=NormalForm(
            "tests/python/relax/test_transform_lift_transform_params.py, "
            "test_lift_transform_is_idempotent; with consume_params each run resets the items of "
            "the tuple once more",
            when=lambda mod, call: not call.config.get(CONSUME),
        ),
        rejections=(
            Rejection("MatchCast is not supported in global lifting", "the message itself"),
        ),
        inside=CLEANUP,
    ),
    _of_params(
        name="BundleModelParams",
        variants=one_of(
            "BundleModelParams()",
            "BundleModelParams(param_tuple_name='params')",
            "BundleModelParams(param_tuple_name='weights')",
        ),
        requires=_without_weights,
        relation=Relation.BUNDLED_PARAMS,
        post=_bundled,
    ),
    _of_params(
        name="LazyGetInput",
        stages=LAZY,
        requires=_impossible_inputs,
        relation=Relation.LAZY_INPUT,
        post=_gets_lazily,
        inside=("EliminateCommonSubexpr", "DeadCodeElimination"),
    ),
    _of_params(
        name="LazySetOutput",
        stages=LAZY,
        requires=_impossible_inputs,
        relation=Relation.LAZY_OUTPUT,
        post=_sets_lazily,
    ),
    _of_params(
        name="LazyTransformParams",
        variants=_lazy_transform_params,
        # Docstring: ToNonDataflow and RemovePurityTracking should be invoked before this pass.
        stages=(Stage.IMPERATIVE,),
        requires=_without_transforms,
        looks_for=Sought(
            lambda mod: _without_transforms(mod) is None, traits=(Trait.TRANSFORM_PARAMS,)
        ),
        relation=Relation.LAZY_PARAMS,
        post=_transforms_lazily,
        exemptions=(
            Exemption(
                "attributes",
                "relax.force_pure goes, since a function that calls get_item is impure",
                "the well-formed checker: relax.force_pure only if is_pure",
            ),
        ),
        inside=("EliminateCommonSubexpr", "DeadCodeElimination"),
    ),
    _of_params(
        name="BindParams",
        variants=_bind_params,
        no_variants="no function has a parameter of a known dtype and shape to bind",
        requires=_updates,
        relation=Relation.BOUND_PARAMS,
        post=_params_bound,
        rejections=CONTRADICTIONS,
        exemptions=(CLAIMS,),
    ),
    _of_params(
        name="BindSymbolicVars",
        variants=_bind_symbolic_vars,
        no_variants="no function has a symbolic dimension to bind",
        relation=Relation.BOUND_SIZES,
        post=_vars_bound,
        rejections=CONTRADICTIONS,
        exemptions=(CLAIMS,),
    ),
    _of_params(
        name="UpdateParamType",
        variants=one_of("UpdateParamType(lambda var: var.ty)", "UpdateParamType(lambda var: None)"),
        normal_form=NormalForm("docstring: 'Update parameter types': to those that are asked for"),
        exemptions=tuple(
            Exemption(
                promise,
                "it changes types of parameters, and its arguments are not known",
                "docstring: 'Update parameter types'",
                lambda mod, call: call.expr == "UpdateParamType()",
            )
            for promise in ("signature", "values")
        ),
    ),
    _of_params(
        name="ExpandTupleArguments",
        stages=PURE[:-1],  # FuseTIR leaves no internal Relax function
        requires=_without_private,
        post=_expanded,
        inside=CLEANUP,
    ),
    _of_params(
        name="RemoveUnusedParameters",
        stages=PURE[:-1],  # FuseTIR leaves no internal Relax function
        requires=_without_private,
        post=_no_unused_parameters,
        inside=("DeadCodeElimination",),
    ),
    _of_params(
        name="RemoveUnusedOutputs",
        stages=PURE[:-1],  # FuseTIR leaves no internal Relax function
        requires=_without_private,
        post=_no_unused_outputs,
        inside=CLEANUP,
    ),
)
