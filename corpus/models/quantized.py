"""Networks of eight bits."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F32, I8, I32, const, module, parameters, tensor


def quantize_dequantize() -> tvm.IRModule:
    """A convolution between pairs of quantize and dequantize, as quantizers of ONNX and PyTorch
    leave it: a scale for each channel of the weights, one with a zero point for activations."""
    x = tensor("x", (1, 32, 28, 28))
    weight = tensor("weight", (64, 32, 3, 3), I8)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        scale, zero = const(0.0235), relax.const(-128, I8)

        def through(value: relax.Expr) -> relax.Expr:
            small = bb.emit(op.quantize(value, scale, zero, axis=1, out_dtype=I8))
            return bb.emit(op.dequantize(small, scale, zero, axis=1, out_dtype=F32))

        scales = const([0.01 + 0.001 * at for at in range(64)])
        zeros = const([0] * 64, I8)
        kernel = bb.emit(op.dequantize(weight, scales, zeros, axis=0, out_dtype=F32))
        features = bb.emit(op.nn.conv2d(through(x), kernel, padding=[1, 1]))
        active = through(bb.emit(op.nn.relu(features)))
        return through(bb.emit(op.nn.avg_pool2d(active, [2, 2], strides=[2, 2])))

    return module([x, weight], body, inputs=1)


def integer_matmul() -> tvm.IRModule:
    """A product of eight bits summed in 32, and brought back by a scale (Jacob et al., 2018), with
    the sum of each row for the zero point; a scale of each token, found at run time."""
    x = tensor("x", (16, 512))
    weight = tensor("weight", (256, 512), I8)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        peak = bb.emit(op.max(op.abs(x), axis=[-1], keepdims=True))
        scale = bb.emit(op.divide(op.maximum(peak, const(1e-5)), const(127.0)))
        small = bb.emit(op.astype(op.clip(op.round(op.divide(x, scale)), -128, 127), I8))
        whole = bb.emit(op.matmul(small, op.permute_dims(weight), out_dtype=I32))
        rows = bb.emit(op.sum(op.astype(small, I32), axis=[-1], keepdims=True))
        exact = bb.emit(op.subtract(whole, op.multiply(rows, relax.const(3, I32))))
        number = bb.emit(op.multiply(op.astype(exact, F32), scale))
        return op.nn.relu(op.multiply(number, parameters((256,))))

    return module([x, weight], body, inputs=1)
