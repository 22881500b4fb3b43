"""Modules as they are inside of a compiler: partitioned, scheduled, on devices, lowered."""

from __future__ import annotations

import tvm
from tvm import relax, te
from tvm.relax import op

from ...generators.stages import Stage, advance
from .building import F16, add_function, linear, module, size, tensor, virtual_device, weights


def partitioned() -> tvm.IRModule:
    """A network whose convolutions and their followers go to an external code generator, after
    `FuseOpsByPattern` and `MergeCompositeFunctions`, as vendors' backends partition."""
    x = tensor("x", (1, 64, 56, 56))
    first, second, bias = weights(
        {"first": (64, 64, 3, 3), "second": (64, 64, 3, 3), "bias": (1, 64, 1, 1)}
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        one = bb.emit(op.nn.relu(op.add(op.nn.conv2d(x, first, padding=[1, 1]), bias)))
        two = bb.emit(op.nn.relu(op.add(op.nn.conv2d(one, second, padding=[1, 1]), bias)))
        return op.add(op.exp(op.negative(two)), x)

    is_op, wildcard = relax.dpl.is_op, relax.dpl.wildcard
    convolution = is_op("relax.nn.conv2d")(wildcard(), wildcard())
    biased = is_op("relax.add")(convolution, wildcard())
    pattern = ("vendor.conv2d_bias_relu", is_op("relax.nn.relu")(biased))
    fused = relax.transform.FuseOpsByPattern([pattern])(
        module([x, first, second, bias], body, inputs=1)
    )
    return relax.transform.MergeCompositeFunctions()(fused)


def two_devices() -> tvm.IRModule:
    """A model whose head runs on another device than its features, as `RealizeVDevice` takes it."""
    host, device = virtual_device("llvm", 0), virtual_device("cuda", 0)
    x, image = tensor("x", (16, 512)), tensor("image", (16, 512))
    first, second = weights({"first": (512, 512), "second": (512, 512)})
    own, head = weights({"own": (512, 512), "head": (128, 512)})
    bb = relax.BlockBuilder()

    def features() -> relax.Expr:
        hidden = bb.emit(op.nn.gelu(linear(x, first)))
        return op.add(op.nn.gelu(linear(hidden, second)), x)

    def whole() -> relax.Expr:
        made = bb.emit(relax.Call(bb.get().get_global_var("features"), [image, own, own]))
        moved = bb.emit(op.to_vdevice(made, device))
        scores = bb.emit(linear(moved, bb.emit(op.to_vdevice(head, device))))
        return op.to_vdevice(scores, host)

    add_function(bb, "features", [x, first, second], features)
    add_function(bb, "main", [image, own, head], whole, inputs=1)
    mod = bb.finalize()
    mod.update_global_info("vdevice", [host, device])
    return mod


def symbolic_kernels() -> tvm.IRModule:
    """Kernels that a compiler of language models writes itself, in tensor expressions over lengths
    known at run time: a masked softmax, and the sum of pairs of a cache."""
    n, m = size("n"), size("m")
    scores, cache = tensor("scores", (n, m)), tensor("cache", (m, 64))

    def masked(a: te.Tensor) -> te.Tensor:
        rows, columns = a.shape
        return te.compute(
            (rows, columns),
            lambda i, j: tvm.tirx.if_then_else(i + columns >= j + rows, a[i, j], -1e30),
            name="masked",
        )

    def pairs(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, a.shape[1]), "k")
        return te.compute(
            (a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="pairs"
        )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        chances = bb.emit(op.nn.softmax(bb.emit_te(masked, scores)))
        return bb.emit_te(pairs, chances, cache)

    return module([scores, cache], body)


def scheduled_kernels() -> tvm.IRModule:
    """A small network whose kernels DLight's rules have scheduled for a GPU. Its sizes are small
    from the start: the tiles of a schedule do not fit others."""
    n = size("n")
    x = tensor("x", (n, 64), F16)
    up, down = weights({"up": (64, 64), "down": (32, 64)}, F16)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        hidden = bb.emit(op.nn.silu(linear(x, up)))
        return op.nn.softmax(linear(hidden, down))

    from tvm.s_tir import dlight  # imported here: a TVM without it still has the other models

    target = tvm.target.Target("nvidia/nvidia-a100")
    rules = (dlight.gpu.GeneralReduction(), dlight.gpu.Fallback())
    with target:
        legal = relax.transform.LegalizeOps()(module([x, up, down], body, inputs=1))
        return dlight.ApplyDefaultSchedule(*rules)(legal)


def in_place_updates() -> tvm.IRModule:
    """A model after `DataflowUseInplaceCalls`: kernels that write into an operand that is not
    needed any more."""
    x = tensor("x", (8, 512))
    weight, bias = weights({"weight": (512, 512), "bias": (512,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        product = bb.emit(op.matmul(x, weight))
        biased = bb.emit(op.add(product, op.broadcast_to(bias, (8, 512))))
        active = bb.emit(op.nn.silu(biased))
        return op.multiply(active, op.exp(active))

    return relax.transform.DataflowUseInplaceCalls()(module([x, weight, bias], body, inputs=1))


def lowered() -> tvm.IRModule:
    """A perceptron at the end of the default pipeline: storage, tensors in it, calls of kernels and
    of the virtual machine's functions."""
    n = size("n")
    x = tensor("x", (n, 64))
    first, second = weights({"first": (128, 64), "second": (32, 128)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        hidden = bb.emit(op.nn.relu(linear(x, first)))
        return op.nn.softmax(op.reshape(linear(hidden, second), (n * 2, 16)))

    return advance(module([x, first, second], body, inputs=1), Stage.KILLED)
