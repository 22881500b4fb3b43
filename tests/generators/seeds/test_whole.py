"""Real modules as they are, but for their weights."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from relaxfuzz.generators.rewrite.dims import sizes_of
from relaxfuzz.generators.seeds import pieces_of, recorded, whole, whole_of
from relaxfuzz.oracles.checkers import flaw

WEIGHT = np.ones((512, 512), "float32")


TYPE = relax.TensorType((4, 512), "float32")


def layer(
    builder: relax.BlockBuilder, name: str, weight: relax.Expr, ty: relax.Type = TYPE
) -> relax.GlobalVar:
    x = relax.Var("x", ty)
    with builder.function(name, [x]):
        once = builder.emit(relax.op.matmul(x, weight))
        both = relax.Tuple([builder.emit(relax.op.add(once, relax.const(1.0))), once])
        builder.emit_func_output(builder.emit(both))
    return builder.get().get_global_var(name)


def test_sizes_stay_and_weights_become_parameters() -> None:
    builder = relax.BlockBuilder()
    layer(builder, "forward", relax.const(WEIGHT))
    found = whole_of(builder.finalize(), "model")
    assert found is not None
    with recorded() as names:
        mod = found.load()
    assert names == ["model"]
    assert flaw(mod) is None
    func = mod["forward"]
    assert [str(param.name) for param in func.params] == ["x", "w0"]
    assert sizes_of(mod)[512] > 0
    assert len(found.text) < 10_000


@pytest.mark.parametrize(("weight", "can"), [(WEIGHT, False), (WEIGHT[:4, :4], True)])
def test_functions_that_are_called_keep_their_weights(weight: np.ndarray, can: bool) -> None:
    builder = relax.BlockBuilder()
    ty = relax.TensorType((4, len(weight)), "float32")
    inner = layer(builder, "inner", relax.const(weight), ty)
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.Call(inner, [x])))
    assert (whole_of(builder.finalize(), "model") is not None) == can


def test_weights_in_tuples_become_parameters() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    with builder.function("main", [x]):
        rows = relax.Tuple([x, relax.const(WEIGHT)])
        builder.emit_func_output(builder.emit(relax.op.concat(rows, axis=0)))
    mod = builder.finalize()
    found = whole_of(mod, "model")
    assert found is not None
    assert flaw(found.load()) is None
    assert len(found.load()["main"].params) == 2
    (piece,) = pieces_of(mod, "model")
    assert piece.ops == ("concat",)


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = relax.BlockBuilder()
    layer(builder, "forward", relax.const(WEIGHT))
    mod = builder.finalize()
    monkeypatch.setattr(whole, "LARGEST", 100)
    assert whole_of(mod, "model") is None
