"""Contracts of the passes that turn operators into calls of TensorIR functions."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...generators.choices import Choices
from ...generators.rewrite.defaults import fields
from ...generators.rewrite.nodes import used_vars
from ...generators.stages import Stage
from ..contract import Exemption, NormalForm, PassContract, Post, Rejection, Sought, Variants
from ..errors import Mismatch, TooLarge, Undefined, Unsupported
from ..evaluate import Evaluator
from ..expected.inputs import InputKind, drawn
from ..inspect import (
    attr,
    bindings_of,
    calls_of,
    complete,
    has_op_attr,
    is_bound_to_threads,
    nodes,
    op_name,
    ops_used,
    prim_funcs,
    relax_functions,
    static,
)
from ..pass_arguments import argument
from ..passcall import PassCall
from ..tensorir import SMALL, sanitize, translate
from ..text import messages
from .common import any_of, named_functions, spelled

APPLY = "relax.transform.apply_legalize_ops"

CUSTOM = {
    "relax.add": "lambda bb, call: bb.call_te(topi.add, call.args[1], call.args[0])",
    "relax.multiply": "lambda bb, call: bb.call_te(topi.multiply, call.args[1], call.args[0])",
    # Legalized to another operator, which the pass has to legalize in turn.
    "relax.square": "lambda bb, call: relax.op.multiply(call.args[0], call.args[0])",
}
"""Legalizations by a user, as in the docstring's example."""


def _has_legalizable(mod: tvm.IRModule) -> bool:
    return any(has_op_attr(op, "FLegalize") for op in ops_used(mod))


def _has_no_op_pattern(mod: tvm.IRModule) -> bool:
    return any(attr(func, "op_pattern") is None for _, func in prim_funcs(mod))


def _legalize_ops(c: Choices, mod: tvm.IRModule) -> PassCall:
    used = sorted(ops_used(mod))
    way = c.pick(["default", "default", "skip_ops", "customize_legalize_map", "apply_legalize_ops"])
    if way == "skip_ops":
        skipped = c.subset([op for op in used if has_op_attr(op, "FLegalize")])
        return PassCall(spelled("LegalizeOps", skip_ops=skipped or None))
    custom = [op for op in CUSTOM if op in used]
    if way == "customize_legalize_map" and custom:
        chosen = c.subset(custom) or [c.pick(custom)]
        entries = ", ".join(f"{op!r}: {CUSTOM[op]}" for op in chosen)
        expression = f"LegalizeOps(customize_legalize_map={{{entries}}})"
        return PassCall(expression, imports=("from tvm import topi",))
    if way == "apply_legalize_ops":
        return PassCall("LegalizeOps()", config={APPLY: False})
    return PassCall("LegalizeOps()")


DECLINES = frozenset(
    f"relax.{op}"
    for op in (
        "grad.avg_pool2d_backward",
        "grad.max_pool2d_backward",
        "hamming_window",
        *(f"nn.{kind}_pool{n}d" for kind in ("adaptive_avg", "avg", "max") for n in (1, 2, 3)),
        *(f"nn.conv{n}d{suffix}" for n in (1, 2, 3) for suffix in ("", "_transpose")),
        "nn.nll_loss",
    )
)
"""Operators whose legalization leaves calls with some attributes unchanged (a warning names them:
"... can not be automatically legalized for now")."""


def _legalized(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: high-level operator calls become call_tir; skipped operators stay."""
    if not call.config.get(APPLY, True):
        same = tvm_ffi.structural_equal(before, after, map_free_vars=True)
        return None if same else "changes a module although apply_legalize_ops is off"
    skipped = set() if "lambda" in call.expr else set(argument(call, "skip_ops", 1) or ())
    for node in calls_of(after):
        name = op_name(node)
        if (
            name is not None
            and name not in skipped
            and name not in DECLINES
            and has_op_attr(name, "FLegalize")
            and complete(node.ty)
            and all(complete(arg.ty) for arg in node.args)
        ):
            return f"{name} is left though the types of its arguments and result are complete"
    # With virtual devices the pass removes dead code, calls of skipped operators among it.
    if skipped and not before.global_infos.get("vdevice"):
        had, has = _uses(before), _uses(after)
        lost = sorted(op for op in skipped if has[op] < had[op])
        if lost:
            return f"{lost[0]} was legalized although skip_ops names it"
    return None


def _uses(mod: tvm.IRModule) -> Counter[str | None]:
    return Counter(map(op_name, calls_of(mod)))


OPAQUE = 8
"""The greatest OpPatternKind."""


def _annotated(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """tvm/relax/transform.h: every PrimFunc gets its op_pattern; a user's own one stays."""
    for gvar, func in prim_funcs(after):
        pattern = attr(func, "op_pattern")
        if pattern is None:
            return "a PrimFunc has no op_pattern"
        if not 0 <= pattern <= OPAQUE:
            return "an op_pattern is no OpPatternKind"
        given = attr(before[gvar], "op_pattern")
        if given is not None and given != pattern:
            return "an op_pattern that was there is replaced"
    for gvar, relax_func in relax_functions(before):
        if not tvm_ffi.structural_equal(after[gvar], relax_func):
            return "a Relax function changes"
    return None


DECOMPOSED = ("relax.nn.batch_norm", "relax.tensor_to_shape")
DECOMPOSED_FOR_TRAINING = (*DECOMPOSED, "relax.nn.layer_norm")


def _decompose(name: str, ops: Collection[str]) -> Variants:
    def variants(c: Choices, mod: tvm.IRModule) -> PassCall:
        functions = dict(named_functions(mod))
        having = [each for each, func in functions.items() if not ops_used(func).isdisjoint(ops)]
        chosen = having if having and c.flag(0.7) else [*functions]
        return PassCall(spelled(name, func_name=c.pick([None, *chosen])))

    return variants


def _decomposed(*ops: str) -> Post:
    """Docstring: these composite operators are decomposed, in the named function or in all."""

    def post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        chosen = argument(call, "func_name", 0)
        for name, func in named_functions(after):
            if chosen in (None, name):
                left = sorted(ops_used(func).intersection(ops))
                if left:
                    return f"{left[0]} is left"
            elif not tvm_ffi.structural_equal(before[name], func, map_free_vars=True):
                return "a function that func_name does not name changes"
        return None

    return post


def _normalizes_batches(training: bool) -> Callable[[tvm.IRModule, PassCall], bool]:
    """True if the module has a batch_norm with this value of the attribute `training`."""

    def when(mod: tvm.IRModule, call: PassCall) -> bool:
        calls = calls_of(mod, "relax.nn.batch_norm")
        return any(bool(node.attrs.training) is training for node in calls)

    return when


FOLDED_AT_MOST = 1024
"""Elements; above that, fold_constant.cc leaves calls without tensor operands unchanged."""


def _folded(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Fold constant expressions within dataflow blocks" (one static result)."""
    for block in nodes(after, relax.DataflowBlock):
        for binding in block.bindings:
            value = binding.value
            if op_name(value) != "relax.call_tir" or not _constant(value.args[1]):
                continue
            ty = value.ty_args[0]
            if (
                isinstance(ty, relax.TensorType)
                and static(ty)
                and prod(int(dim) for dim in ty.shape.values) <= FOLDED_AT_MOST
                and _runs_on_host(after.functions.get(value.args[0]))
            ):
                return "a call_tir of constants is left in a dataflow block"
    return None


def _runs_on_host(func: tvm.ir.BaseFunc | None) -> bool:
    """True if it is a PrimFunc that is not bound to the threads of a device.

    The pass computes on the CPU, and skips functions that cannot be built for it (fold_constant.cc,
    GetCachedBuild).
    """
    return isinstance(func, tirx.PrimFunc) and not is_bound_to_threads(func)


def _undefined(mod: tvm.IRModule) -> bool:
    """True if a function has undefined behaviour for usual arguments.

    If the evaluator cannot run the whole function, its computations on constants count.
    """
    for gvar, func in relax_functions(mod):
        known = _is_defined(mod, str(gvar.name_hint), drawn(func, InputKind.WHOLE))
        if known is None:
            known = _is_defined(_of_constants_alone(mod, func), "main", []) is not False
        if not known:
            return True
    return False


def _is_defined(mod: tvm.IRModule, name: str, args: list[Any]) -> bool | None:
    """True if a call has defined behaviour; None if the evaluator does not know it."""
    try:
        Evaluator(mod, prim=_sanitized).run(name, args)
    except Undefined:
        return False
    except (Unsupported, Mismatch):
        return None
    return True


def _of_constants_alone(mod: tvm.IRModule, func: relax.Function) -> tvm.IRModule:
    """The PrimFuncs of the module, and a function with the calls that depend on constants only.

    They may depend on them via other calls: the pass folds one after the other.
    """
    given: list[relax.Binding] = []
    folded: set[int] = set()
    for binding in bindings_of(func):
        value = binding.value
        is_foldable = op_name(value) == "relax.call_tir" or not isinstance(
            value, relax.Call | relax.If | relax.Function
        )
        if is_foldable and used_vars([value, value.ty]) <= folded:
            given.append(relax.VarBinding(binding.var, value))
            folded.add(hash(binding.var))
    result = relax.Tuple([binding.var for binding in given])
    body = relax.SeqExpr([relax.BindingBlock(given)], result)
    main = relax.Function([], body, ret_ty=result.ty)
    return tvm.IRModule({**dict(prim_funcs(mod)), tvm.ir.GlobalVar("main"): main})


def _sanitized(func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> Any:
    with contextlib.suppress(TooLarge):  # code that depends on its result may be small
        fault = sanitize(func, args, SMALL, outputs)
        if fault is not None:
            raise Undefined(fault.statement)
    return translate(func)(*args)


def _folds_the_undefined(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if PrimFuncs that the pass may run, also of operators, have no defined result."""
    if not any(map(_of_constants, nodes(mod, relax.Call))):
        return False
    try:
        return _undefined(relax.transform.LegalizeOps()(mod))
    except Exception:  # a failure of LegalizeOps is for its own check to report
        return False


def _of_constants(call: relax.Call) -> bool:
    fields = (field for arg in call.args for field in getattr(arg, "fields", [arg]))
    return not any(isinstance(field, relax.Var) for field in fields)


def _constant(args: relax.Expr) -> bool:
    return len(args.fields) > 0 and all(isinstance(arg, ir.GenericConst) for arg in args.fields)


def _names_an_attribute(error: Exception, mod: tvm.IRModule) -> bool:
    """True if the message contains the text of an attribute of a call: a layout, a method."""
    words = set(re.findall(r"\w+", messages.explanation(messages.text_of(error))))
    attrs = [call.attrs for call in calls_of(mod) if call.attrs is not None]
    values = (getattr(each, name) for each in attrs for name in fields(each))
    return any(type(value) is str and value in words for value in values)  # no dtype


UNSUPPORTED_ATTRIBUTE = Rejection(
    "[Nn]ot supported|[Uu]nsupported",
    "the message names the attribute's value, which the function in TOPI does not support",
    when=_names_an_attribute,
)
"""Refusals of attributes that type inference accepts."""

REFUSED_OPERANDS = Rejection(
    r"not supported for \w+ op|lead to negative output shape|repeat only accepts"
    r"|[Oo]nly supports? (?:input dtype|\w+ and)"
    r"|Legalization (?:for|of) [\w -]+ is not supported yet"
    r"|legalization requires static|the valid \w+ range is"
    # index_put also refuses equal shapes if a dimension is symbolic.
    r"|Cannot broadcast index shapes: (?:[][(), \d]|T\.int64\()+$",
    "the message itself, of the operator's legalization or the function in TOPI that it becomes",
)
"""Refusals of operands that type inference accepts."""


def _slices_outside(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if a slice claims that its bounds lie inside the tensor, but they do not."""
    return any(map(_outside, calls_of(mod, "relax.strided_slice")))


def _outside(call: relax.Call) -> bool:
    x, axes, begin, end, *_ = call.args
    shape = getattr(x.ty, "shape", None)
    tuples = all(isinstance(each, relax.Tuple) for each in (axes, begin, end))
    if not call.attrs.assume_inbound or not isinstance(shape, relax.ShapeExpr) or not tuples:
        return False
    numbers = zip(axes.fields, begin.fields, end.fields, strict=True)
    for axis, *bounds in numbers:
        known = [bound for bound in bounds if isinstance(bound, tirx.IntImm)]
        extent = shape.values[int(axis)]
        if any(int(bound) < 0 for bound in known):
            return True
        if isinstance(extent, tirx.IntImm) and any(int(bound) > int(extent) for bound in known):
            return True
    return False


FALSE_BOUNDS = Exemption(
    "signature",
    "what type inference and legalization make of a slice outside of its tensor is left open",
    "docstring of relax.op.strided_slice, assume_inbound: 'Whether to assume the indices are in "
    "bound'",
    when=_slices_outside,
)

CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="LegalizeOps",
        variants=_legalize_ops,
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.FUSED, Stage.IMPERATIVE),
        looks_for=Sought(_has_legalizable),
        post=_legalized,
        lowers=True,
        normal_form=NormalForm(
            "docstring: 'Legalize high-level operator calls in Relax functions to call_tir'"
        ),
        exemptions=(FALSE_BOUNDS,),
        rejections=(
            UNSUPPORTED_ATTRIBUTE,
            REFUSED_OPERANDS,
            Rejection(
                r"To legalize R\.\w+ into R\.call_tir, the dtype of both operands must be known\.",
                "the message itself, of the legalization of matmul",
            ),
            Rejection(
                r"Cannot lower relax\.[\w.]+ in function \S+: ",
                "a message that names the operator, the function and the reason; this TVM's pass "
                "has none, a pass that refuses so is right",
            ),
        ),
        inside=("DeadCodeElimination",),
    ),
    PassContract(
        name="AnnotateTIROpPattern",
        stages=(Stage.LEGALIZED, Stage.RAW, Stage.ANNOTATED, Stage.TIR_FUSED),
        looks_for=Sought(_has_no_op_pattern),
        post=_annotated,
        normal_form=NormalForm(
            "tvm/relax/transform.h: annotates PrimFuncs that have no op_pattern yet"
        ),
    ),
    PassContract(
        name="DecomposeOpsForInference",
        variants=_decompose("DecomposeOpsForInference", DECOMPOSED),
        stages=(Stage.RAW,),
        looks_for=any_of(*DECOMPOSED),
        post=_decomposed(*DECOMPOSED),
        normal_form=NormalForm("docstring: 'Decompose composite operators'"),
        exemptions=(
            Exemption(
                "values",
                "batch_norm gets its meaning of inference, whatever its attribute is",
                'docstring: decomposes operators "during inference"',
                when=_normalizes_batches(training=True),
            ),
        ),
    ),
    PassContract(
        name="DecomposeOpsForTraining",
        variants=_decompose("DecomposeOpsForTraining", DECOMPOSED_FOR_TRAINING),
        stages=(Stage.RAW,),
        looks_for=any_of(*DECOMPOSED_FOR_TRAINING),
        post=_decomposed(*DECOMPOSED_FOR_TRAINING),
        normal_form=NormalForm("docstring: 'Decompose composite operators'"),
        exemptions=(
            Exemption(
                "values",
                "batch_norm gets its meaning of training, whatever its attribute is",
                'docstring: decomposes operators "during training"',
                when=_normalizes_batches(training=False),
            ),
        ),
    ),
    PassContract(
        name="FoldConstant",
        stages=(Stage.LEGALIZED, Stage.RAW, Stage.FUSED),
        post=_folded,
        exemptions=(
            FALSE_BOUNDS,
            Exemption(
                "chance",
                "it runs the PrimFunc, which reads unwritten memory or memory that is not its own",
                "docs/deep_dive/tensor_ir/abstraction.rst: buffers have a shape; such PrimFuncs "
                "are reported under LegalizeOps, by the oracle sanitized",
                when=_folds_the_undefined,
            ),
        ),
        rejections=(UNSUPPORTED_ATTRIBUTE, REFUSED_OPERANDS),
        inside=("LegalizeOps", "DeadCodeElimination"),
    ),
)
