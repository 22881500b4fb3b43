"""LegalizeOps: every call of an operator becomes one of a PrimFunc, or the pass names it.

The promises and their sources:

- "Legalize high-level operator calls in Relax functions to call_tir with corresponding low-level
  TIR PrimFuncs": the docstring. The operator's attribute FLegalize says how; it "takes a context
  BlockBuilder and the Call being legalized as input, and returns the legalized call".
- An operator with the attribute FCallPacked is a packed function of that name
  (tvm/relax/op_attr_types.h).
- Code without side effects may stand in a dataflow block, so its legalization must not have any
  either (tvm/relax/expr.h, DataflowBlock): call_pure_packed calls a packed function as a pure one.
- A PrimFunc whose results lie on a virtual device is built for the target of that device
  (tvm/relax/type.h, VDevice).
- Calls that are left are for a later pass (`lowering_gaps`). If there is none, the build fails:
  this pass refuses the module, and names the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op

from relaxfuzz.generators.rewrite.nodes import with_functions
from relaxfuzz.oracles.inspect import (
    attr,
    global_vars,
    has_op_attr,
    op_name,
    prim_funcs,
    relax_functions,
    tensor_types,
)
from relaxfuzz.oracles.lowering_gaps import keeps_type, passed_over, unknown

Legalize = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


@tvm_ffi.register_error  # so that it keeps its class when a pass raises it
class CannotLower(ValueError):
    """A call that neither this pass nor any later pass lowers."""


def legalize_ops(*, skips_in_silence: bool = False) -> tvm.transform.Pass:
    """The right behaviour of `relax.transform.LegalizeOps`.

    Args:
        skips_in_silence: the fault of TVM's pass: calls that no pass lowers stay, and the build
            fails many passes later (apache/tvm#15722: CodeGenVM cannot handle this intrinsic now:
            Op(relax.add)).

    The pass raises:
        CannotLower: no pass lowers a call; the message names operator, function and reason.
    """

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        legalizer = _Legalizer(mod)
        for gvar, func in relax_functions(mod):
            legalizer.builder_.update_func(gvar, legalizer.visit_expr(func))
        result = _without_unused(legalizer.builder_.finalize(), before=mod)
        left = [] if skips_in_silence else passed_over(result)
        if left:
            gap = left[0]
            more = f", and {len(left) - 1} more" if len(left) > 1 else ""
            raise CannotLower(
                f"Cannot lower {gap.op} in function {gap.function}: {gap.reason} ({gap.what}){more}"
            )
        return result

    return tvm.transform.module_pass(transform, opt_level=0, name="LegalizeOps")


@relax.expr_functor.mutator
class _Legalizer(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        name = op_name(call)
        legalize = None if name is None else _legalization(call, name)
        if legalize is None:
            return call
        builder = self.builder_
        if builder.current_block_is_dataflow():
            builder._begin_dataflow_block()
        else:
            builder._begin_binding_block()
        try:
            result = legalize(builder, call)
            if not call.same_as(result):
                result = builder.normalize(self._placed(_as_pure_as(call, result), call))
            if not keeps_type(call, result):
                result = call
        except Exception:
            # The gap that is left says what is wrong with the legalization.
            result = call
        finally:
            block = builder._end_block()
        if call.same_as(result):
            return call
        # The operators in a legalization may have to be legalized in turn.
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.visit_expr(result)

    def _placed(self, result: relax.Expr, call: relax.Call) -> relax.Expr:
        """Bind the new PrimFunc to the target of the device where the call's result lives."""
        if op_name(result) != "relax.call_tir":
            return result
        devices = (tensor.vdevice for ty in result.ty_args for tensor in tensor_types(ty))
        target = next((device.target for device in devices if device is not None), None)
        func = self.builder_.get()[result.args[0]]
        if target is None or attr(func, "target") is not None:
            return result
        # The original stays, and the two share no variables.
        func = tvm.ir.load_json(tvm.ir.save_json(func)).with_attr("target", target)
        gvar = self.builder_.add_func(func, result.args[0].name_hint)
        return relax.Call(result.op, [gvar, *result.args[1:]], result.attrs, result.ty_args)


def _legalization(call: relax.Call, name: str) -> Legalize | None:
    """The function that lowers the operator, if everything that it needs is known."""
    if has_op_attr(name, "FLegalize") and unknown(call, name) is None:
        legalize: Legalize = Op.get(name).get_attr("FLegalize")
        return legalize
    if has_op_attr(name, "FCallPacked"):
        packed = str(Op.get(name).get_attr("FCallPacked"))
        return lambda builder, call: relax.Call(
            relax.ExternFunc(packed), call.args, ty_args=[call.ty]
        )
    return None


def _as_pure_as(call: relax.Call, result: relax.Expr) -> relax.Expr:
    if not isinstance(result, relax.Call) or not _pure(call) or _pure(result):
        return result
    return relax.op.call_pure_packed(result.op, *result.args, ty_args=list(result.ty_args))


def _pure(call: relax.Call) -> bool:
    if isinstance(call.op, Op):
        return bool(call.op.get_attr("FPurity"))
    ty: Any = call.op.ty
    return isinstance(ty, relax.FuncType) and bool(ty.purity)


def _without_unused(mod: tvm.IRModule, before: tvm.IRModule) -> tvm.IRModule:
    used = {gvar.name_hint for _, func in mod.functions_items() for gvar in global_vars(func)}
    old = {gvar.name_hint for gvar in before.get_global_vars()}
    made = {gvar.name_hint for gvar, _ in prim_funcs(mod)} - old
    functions = {g: f for g, f in mod.functions_items() if g.name_hint not in made - used}
    return with_functions(mod, functions)
