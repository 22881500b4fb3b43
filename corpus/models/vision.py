"""Networks for images: convolutions in both layouts, normalization, pooling, detection."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F32, I32, I64, const, module, size, tensor, weights


def _normalized(x: relax.Expr, stats: list[relax.Var], axis: int = 1) -> relax.Expr:
    """Batch normalization for inference: the result without the statistics."""
    return relax.TupleGetItem(op.nn.batch_norm(x, *stats, axis=axis, training=False), 0)


def _stats(name: str, channels: int) -> list[relax.Var]:
    names = ("gamma", "beta", "mean", "variance")
    return [tensor(f"{name}_{each}", (channels,)) for each in names]


def training_convolution() -> tvm.IRModule:
    """The stem of a network in training: batch normalization updates its statistics, which are
    results beside the features, and dropout follows."""
    n = size("n")
    x = tensor("x", (n, 3, 224, 224))
    kernel, bias = weights({"kernel": (64, 3, 7, 7), "bias": (1, 64, 1, 1)})
    stats = _stats("bn", 64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        features = bb.emit(op.nn.conv2d(x, kernel, strides=[2, 2], padding=[3, 3, 3, 3]))
        biased = bb.emit(op.add(features, bias))
        normal = bb.emit(
            op.nn.batch_norm(biased, *stats, axis=1, epsilon=1e-5, momentum=0.1, training=True)
        )
        active = bb.emit(op.nn.relu(normal[0]))
        pooled = bb.emit(
            op.nn.max_pool2d(active, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
        )
        dropped = bb.emit(op.nn.dropout(pooled, rate=0.1))
        return relax.Tuple([bb.emit(relax.TupleGetItem(dropped, 0)), normal[1], normal[2]])

    return module([x, kernel, bias, *stats], body, inputs=1)


def depthwise_separable() -> tvm.IRModule:
    """The block of MobileNet v2 (Sandler et al., 2018) as TFLite stores it: NHWC, HWIO, a filter a
    channel with padding of its own, relu6, squeeze and excitation (Hu et al., 2018)."""
    x = tensor("x", (1, 112, 112, 32))
    kernels = weights(
        {
            "expand": (1, 1, 32, 192),
            "depthwise": (3, 3, 1, 192),
            "squeeze": (1, 1, 192, 8),
            "excite": (1, 1, 8, 192),
            "project": (1, 1, 192, 32),
        }
    )
    stats = _stats("bn", 192)
    nhwc = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": "NHWC"}

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        expand, depthwise, squeeze, excite, project = kernels
        wide = bb.emit(op.nn.relu6(op.nn.conv2d(x, expand, **nhwc)))
        padded = bb.emit(op.nn.pad(wide, [0, 0, 0, 1, 0, 1, 0, 0], pad_value=0.0))
        filtered = bb.emit(op.nn.conv2d(padded, depthwise, strides=[2, 2], groups=192, **nhwc))
        active = bb.emit(op.nn.relu6(_normalized(filtered, stats, axis=3)))
        mean = bb.emit(op.mean(active, axis=[1, 2], keepdims=True))
        gate = bb.emit(
            op.nn.conv2d(op.nn.relu(op.nn.conv2d(mean, squeeze, **nhwc)), excite, **nhwc)
        )
        # Hard sigmoid, as Howard et al. (2019) have it.
        share = bb.emit(op.divide(op.clip(op.add(gate, const(3.0)), 0, 6), const(6.0)))
        return op.nn.conv2d(op.multiply(active, share), project, **nhwc)

    return module([x, *kernels, *stats], body, inputs=1)


def upsampling_decoder() -> tvm.IRModule:
    """The decoder of a U-Net (Ronneberger et al., 2015): a transposed convolution, the features of
    the encoder beside it, pixels out of channels (Shi et al., 2016), a mask by a sigmoid."""
    deep, skip = tensor("deep", (1, 512, 28, 28)), tensor("skip", (1, 256, 56, 56))
    kernels = weights(
        {"up": (512, 256, 2, 2), "merge": (256, 512, 3, 3), "out": (4, 256, 1, 1), "slope": (256,)}
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        up, merge, out, slope = kernels
        wide = bb.emit(op.nn.conv2d_transpose(deep, up, strides=[2, 2]))
        both = bb.emit(op.concat([wide, skip], axis=1))
        merged = bb.emit(op.nn.prelu(op.nn.conv2d(both, merge, padding=[1, 1]), slope, axis=1))
        fine = bb.emit(op.nn.pixel_shuffle(op.nn.conv2d(merged, out), 2))
        return op.sigmoid(op.squeeze(fine, axis=[1]))

    return module([deep, skip, *kernels], body, inputs=2)


def pooling_heads() -> tvm.IRModule:
    """Heads of classifiers: pyramid pooling (Zhao et al., 2017), a global mean, and the best five
    classes."""
    n = size("n")
    x = tensor("x", (n, 512, 14, 14))
    matrix, bias = weights({"matrix": (1000, 512), "bias": (1000,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        small = bb.emit(op.nn.avg_pool2d(x, [2, 2], strides=[2, 2], count_include_pad=True))
        coarse = bb.emit(op.nn.adaptive_avg_pool2d(x, [7, 7]))
        bright = bb.emit(op.nn.max_pool2d(x, [3, 3], strides=[2, 2], padding=[1, 1, 1, 1]))
        mixed = bb.emit(op.maximum(op.add(small, coarse), bright))
        mean = bb.emit(op.nn.batch_flatten(op.nn.adaptive_avg_pool2d(mixed, [1, 1])))
        scores = bb.emit(op.add(op.matmul(mean, op.permute_dims(matrix)), bias))
        best = bb.emit(op.topk(op.nn.log_softmax(scores), k=5, axis=1, ret_type="both"))
        return relax.Tuple([best[0], best[1], bb.emit(op.variance(scores, axis=[1]))])

    return module([x, matrix, bias], body, inputs=1)


def preprocessing() -> tvm.IRModule:
    """The preprocessing of a classifier: bytes of an image, resized, cut, normalized by channel."""
    image = tensor("image", (1, 480, 640, 3), "uint8")

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        number = bb.emit(op.astype(image, F32))
        small = bb.emit(
            op.image.resize2d(
                number,
                (256, 256),
                layout="NHWC",
                method="linear",
                coordinate_transformation_mode="half_pixel",
            )
        )
        cut = bb.emit(op.strided_slice(small, axes=[1, 2], begin=[16, 16], end=[240, 240]))
        unit = bb.emit(op.clip(op.divide(cut, const(255.0)), 0, 1))
        mean, deviation = const([0.485, 0.456, 0.406]), const([0.229, 0.224, 0.225])
        normal = bb.emit(op.divide(op.subtract(unit, mean), deviation))
        both = bb.emit(op.concat([normal, op.flip(normal, axis=2)], axis=0))
        return op.permute_dims(both, [0, 3, 1, 2])

    return module([image], body)


def detection_head() -> tvm.IRModule:
    """The head of a one-stage detector (Redmon and Farhadi, 2018): boxes from offsets and anchors,
    scores by sigmoids, the best boxes of each class without those that overlap."""
    raw = tensor("raw", (1, 2535, 85))
    grid, anchors = weights({"grid": (1, 2535, 2), "anchors": (1, 2535, 2)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        parts = bb.emit(op.split(raw, [2, 4, 5], axis=-1))
        centre = bb.emit(op.multiply(op.add(op.sigmoid(parts[0]), grid), const(32.0)))
        extent = bb.emit(op.multiply(op.exp(parts[1]), op.multiply(anchors, const(0.5))))
        boxes = bb.emit(op.concat([op.subtract(centre, extent), op.add(centre, extent)], axis=-1))
        scores = bb.emit(op.multiply(op.sigmoid(parts[2]), op.sigmoid(parts[3])))
        classes = bb.emit(op.permute_dims(scores, [0, 2, 1]))
        kept = bb.emit(
            op.vision.all_class_non_max_suppression(
                boxes,
                classes,
                relax.const(100, I64),
                relax.const(0.5, F32),
                relax.const(0.25, F32),
            )
        )
        best = bb.emit(op.argmax(classes, axis=1))
        return relax.Tuple([boxes, best, kept[0], kept[1]])

    return module([raw, grid, anchors], body, inputs=1)


def region_features() -> tvm.IRModule:
    """The second stage of a Mask R-CNN (He et al., 2017): features of each region, a class and a
    box for it, and the boxes that count."""
    features = tensor("features", (1, 256, 50, 50))
    regions = tensor("regions", (100, 5))
    params = weights({"classes": (81, 12544), "boxes": (4, 12544)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        cut = bb.emit(
            op.vision.roi_align(
                features, regions, (7, 7), spatial_scale=0.0625, sample_ratio=2, mode="avg"
            )
        )
        flat = bb.emit(op.reshape(cut, (100, 12544)))
        chances = bb.emit(op.nn.softmax(op.matmul(flat, op.permute_dims(params[0])), axis=-1))
        moved = bb.emit(op.matmul(flat, op.permute_dims(params[1])))
        corner = bb.emit(op.strided_slice(regions, axes=[1], begin=[1], end=[5]))
        best = bb.emit(op.max(chances, axis=-1, keepdims=True))
        rows = bb.emit(op.concat([best, op.add(corner, moved)], axis=1))
        counted = bb.emit(op.vision.get_valid_counts(op.expand_dims(rows, 0), 0.05, -1, 0))
        return relax.Tuple([counted[0], counted[1], bb.emit(op.argmax(chances, axis=-1))])

    return module([features, regions, *params], body, inputs=2)


def diffusion_block() -> tvm.IRModule:
    """The block of the U-Net of a diffusion model (Rombach et al., 2022): group normalization, a
    convolution, the embedding of the time step added, attention over the pixels."""
    x = tensor("x", (1, 320, 64, 64))
    step = tensor("step", (1,), I32)
    params = weights(
        {
            "gamma": (320,),
            "beta": (320,),
            "kernel": (320, 320, 3, 3),
            "embed": (320, 320),
            "qkv": (960, 320),
            "out": (320, 320),
        }
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        gamma, beta, kernel, embed, qkv, out = params
        # Sinusoids of the time step, as Ho et al. (2020) have them.
        ramp = const([-0.0575646 * at for at in range(160)])
        angles = bb.emit(
            op.multiply(op.expand_dims(op.astype(step, F32), 1), op.expand_dims(op.exp(ramp), 0))
        )
        waves = bb.emit(op.concat([op.cos(angles), op.sin(angles)], axis=-1))
        time = bb.emit(op.matmul(op.nn.silu(waves), op.permute_dims(embed)))
        normal = bb.emit(
            op.nn.group_norm(x, gamma, beta, num_groups=8, channel_axis=1, axes=[2, 3])
        )
        features = bb.emit(op.nn.conv2d(op.nn.silu(normal), kernel, padding=[1, 1]))
        timed = bb.emit(op.add(features, op.reshape(time, (1, 320, 1, 1))))
        pixels = bb.emit(op.permute_dims(op.reshape(timed, (1, 320, 4096)), [0, 2, 1]))
        three = bb.emit(op.split(op.matmul(pixels, op.permute_dims(qkv)), 3, axis=-1))
        heads = [bb.emit(op.reshape(three[at], (1, 4096, 8, 40))) for at in range(3)]
        mixed = bb.emit(op.reshape(op.nn.attention(*heads), (1, 4096, 320)))
        back = bb.emit(op.permute_dims(op.matmul(mixed, op.permute_dims(out)), [0, 2, 1]))
        return op.add(op.reshape(back, (1, 320, 64, 64)), x)

    return module([x, step, *params], body, inputs=2)
