"""What a user's pass does only because TVM's rewriting by patterns does it is not its fault."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case
from tests.first_drafts import SPECIMENS

(POOLING,) = (each for each in SPECIMENS if each.name == "GlobalPoolAsMean")
"""It makes the mean of adaptive_avg_pool2d by `rewrite_call`, and leaves all else as it is."""


@I.ir_module
class ReadBranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", "n"), "float32")):
        if c:
            lv = R.nn.relu(x)
            y = lv
        else:
            y = x
        return R.eye_like(y, 0)


def typed(expr: relax.Expr, ty: relax.Type) -> relax.Expr:
    relax.expr._update_type(expr, ty)
    return expr


def branch() -> tvm.IRModule:
    """The result is an If of symbolic shape, beside a field of which less is declared."""
    n = tvm.tirx.Var("n", "int64")
    symbolic, static = relax.TensorType([n, 2], "float32"), relax.TensorType([2, 2], "float32")
    declared = relax.TupleType([relax.TensorType(dtype="float32", ndim=2), symbolic])
    x, y, z = relax.Var("x", symbolic), relax.Var("y", symbolic), relax.Var("z", static)
    lv = relax.Var("lv", symbolic)
    relu = relax.VarBinding(lv, typed(relax.op.nn.relu(x), symbolic))
    then = typed(relax.SeqExpr([relax.BindingBlock([relu])], lv), symbolic)
    other = typed(relax.SeqExpr([], x), symbolic)
    chosen = typed(relax.If(relax.const(False), then, other), symbolic)
    block = relax.BindingBlock([relax.VarBinding(y, chosen)])
    body = typed(relax.SeqExpr([block], relax.Tuple([z, y])), declared)
    main = relax.Function([x, z], body, declared)
    return tvm.IRModule({"main": main.with_attr("global_symbol", "main")})


def pooled(out_layout: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3, 4, 4), "float32"))
    with builder.function("main", [x]):
        result = builder.emit(relax.op.nn.adaptive_avg_pool2d(x, 1, "NCHW", out_layout))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(
    ("mod", "oracle", "culprit"),
    [
        pytest.param(branch(), "signature", "PatternMatchingRewriter", id="types"),
        pytest.param(ReadBranch, "crash", "PatternMatchingRewriter", id="exception"),
        pytest.param(pooled("NHWC"), "well-formed", POOLING.name, id="own"),
    ],
)
def test_who_is_to_blame(mod: tvm.IRModule, oracle: str, culprit: str) -> None:
    call = PassCall(f"{POOLING.name}()", factory=POOLING.target)
    found = check(Case(mod, (call,)), oracles=(oracle,))
    assert [each.pass_name for each in found] == [culprit]
