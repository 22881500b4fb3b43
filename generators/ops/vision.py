"""Object detection: suppression of overlapping boxes, decoding of boxes, pooling of regions."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import accepted, relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import variation
from .accepts import Accepted, Place, index
from .convolution import from_layout
from .operands import in_single, positive, quiet, some_dim
from .record import FLOATS, WIDE, Op
from .undefined import OutsideError
from .variation import RARE

__all__ = ["OPS"]

vision = relax_op.vision


# Boxes


def _boxes(c: Choices, shape: Sequence[int], *, flipped: bool = False) -> Any:
    """Distinct boxes of whole corners that overlap in part; `flipped` exchanges some corners."""
    count = shape[-1]
    start = c.pick((1, 3, 0)) * np.arange(count)
    boxes = np.stack([start, np.zeros(count, int), start + 2, 2 + np.arange(count)], axis=-1)
    if flipped and c.flag(0.3):
        boxes[::2] = boxes[::2][:, [2, 3, 0, 1]]
    return np.broadcast_to(boxes, (*shape, 4))


def _scores(c: Choices, shape: Sequence[int]) -> Any:
    """Positive scores, distinct along the last axis: the result of a tie is not documented."""
    count = shape[-1]
    rows = np.arange(int(np.prod(shape[:-1])))[:, None]
    order = (np.arange(count) * c.pick((1, 5)) + rows + c.below(count)) % max(count, 1)
    return ((1 + order) / 8).reshape(shape)


BOXES = (4, 3, 2, 1)
"""Numbers of boxes; 5 is prime to each, so that the scores are a permutation."""

OVERLAPS = (0.45, 0.1, 0.7)
"""Thresholds that no overlap of the boxes of `_boxes` is close to."""


def _overlap(a: Any, b: Any) -> float:
    """Intersection over union; a box is given by any two opposite corners."""
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    both = np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0))
    union = np.prod(high_a - low_a) + np.prod(high_b - low_b) - both
    return float(both / union) if union > 0 else 0.0


def _tell(differences: Any) -> None:
    """Raise a ValueError if two numbers are too close: the result of a tie is not documented."""
    if (np.abs(differences) < 1e-4).any():
        raise ValueError("a tie, or a number on a threshold")


# all_class_non_max_suppression


def _build_all_class(c: Choices, s: Scope) -> relax.Expr:
    batch, classes, count = c.pick((1, 2)), c.pick((1, 2, 3)), c.pick(BOXES)
    boxes = _boxes(c, (batch, count), flipped=True).astype("float32")
    scores = _scores(c, (batch, classes, count)).astype("float32")
    output = c.pick(("tensorflow", "onnx"))
    most, overlap, score = c.pick((count, 2, 1)), c.pick((*OVERLAPS, 0.0)), c.pick((0.05, 0.3))
    if output == "onnx":
        # TVM infers the type for all boxes in this format, which is right only if all are selected.
        boxes = boxes + np.float32(8) * np.arange(count, dtype="float32")[:, None]
        most, overlap, score = count, OVERLAPS[0], 0.05
    return vision.all_class_non_max_suppression(
        relax.const(boxes, "float32"),
        relax.const(scores, "float32"),
        relax.const(most, "int64"),
        relax.const(overlap, "float32"),
        relax.const(score, "float32"),
        output,
    )


def _all_class(args: Sequence[Any], attrs: Any) -> Any:
    """As ONNX's NonMaxSuppression: for each batch and class, the best boxes that do not overlap."""
    boxes, scores, most, overlap, least = args
    batches, classes, count = scores.shape
    limit, threshold, score = (np.reshape(arg, -1)[0] for arg in (most, overlap, least))
    chosen = {
        (b, k): _select(boxes[b], scores[b, k], int(limit), float(threshold), float(score))
        for b in range(batches)
        for k in range(classes)
    }
    if str(attrs.output_format) == "onnx":
        rows = [(b, k, i) for (b, k), places in chosen.items() for i in places]
        return np.array(rows, "int64").reshape(-1, 3), np.array([len(rows)], "int64")
    indices = np.zeros((batches, classes * count, 2), "int64")
    values = np.zeros((batches, classes * count), "float32")
    totals = np.zeros(batches, "int64")
    for (b, k), places in chosen.items():
        for i in places:
            indices[b, totals[b]], values[b, totals[b]] = (k, i), scores[b, k, i]
            totals[b] += 1
    return indices, values, totals


def _select(boxes: Any, scores: Any, limit: int, threshold: float, least: float) -> list[int]:
    _tell(np.diff(np.sort(scores)))
    _tell(scores - least)
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) >= limit or scores[i] <= least:
            break
        overlaps = np.array([_overlap(boxes[i], boxes[j]) for j in kept])
        if threshold > 0:
            _tell(overlaps - threshold)
        if np.all(overlaps <= threshold):
            kept.append(int(i))
    return kept


# get_valid_counts, non_max_suppression


def _build_valid_counts(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=FLOATS, shape=(some_dim(c, s), c.pick((3, 4, 1)), c.pick((6, 5))))
    # No usual value lies on the threshold: no document says if such a value is valid.
    threshold = c.pick((0.1, -1.1, 1.9))
    return vision.get_valid_counts(x.expr, threshold, c.pick((0, -1, 1)), c.pick((1, 0, 2)))


def _valid_counts(args: Sequence[Any], attrs: Any) -> Any:
    """The valid boxes first, in their order; -1 for the rest."""
    x = args[0]
    score, label = int(attrs.score_index), int(attrs.id_index)
    _tell(x[:, :, score].astype("float64") - float(attrs.score_threshold))
    valid = x[:, :, score] > x.dtype.type(float(attrs.score_threshold))
    if label >= 0:
        valid &= x[:, :, label] >= 0
    boxes, indices = np.full_like(x, -1), np.full(x.shape[:2], -1, "int32")
    for b, places in enumerate(map(np.flatnonzero, valid)):
        boxes[b, : len(places)] = x[b, places]
        indices[b, : len(places)] = places
    return valid.sum(axis=1).astype("int32"), boxes, indices


PLACES = ((4, 0, 5), (0, 4, 5), (2, 0, 1), (1, 0, 6), (1, 0, 0))
"""Other places of the corners, the score and the class in a box's data."""


def _build_suppression(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    batch, count = c.pick((1, 2)), c.pick(BOXES)
    label = c.pick((0, -1))
    corner, score = 2, 1
    if rarely:
        corner, score, label = c.pick(PLACES)
    data = np.zeros((batch, count, max(corner + 4, score + 1, label + 1)))
    data[..., max(label, 0)] = np.arange(count) // c.pick((4, 1, 2))
    data[..., score] = _scores(c, (batch, count))
    data[..., corner : corner + 4] = _boxes(c, (batch, count))
    dtype = c.pick(FLOATS) if rarely else "float32"
    valid = [count - (c.below(count) if c.flag(0.4) else 0) for _ in range(batch)]
    indices = np.broadcast_to(np.arange(count), (batch, count)).copy()
    for b, number in enumerate(valid):
        data[b, number:], indices[b, number:] = -1, -1
    if c.flag(0.3):
        indices = np.where(indices < 0, -1, indices * 2 + 1)
    soft = c.flag(0.25)
    return vision.non_max_suppression(
        relax.const(data.astype(dtype), dtype),
        relax.const(np.array(valid, "int32"), "int32"),
        relax.const(indices.astype("int32"), "int32"),
        max_output_size=c.pick((-1, 1, 2, 0, 9) if rarely else (-1, 1, 2)),
        # No document says if soft suppression also removes boxes.
        iou_threshold=1.0 if soft else c.pick(OVERLAPS),
        force_suppress=c.flag(0.3),
        top_k=c.pick((-1, 2, 3, 0, 9) if rarely else (-1, 2, 3)),
        coord_start=corner,
        score_index=score,
        id_index=label,
        return_indices=not c.flag(0.3),
        invalid_to_bottom=c.flag(0.3),
        soft_nms_sigma=0.5 if soft else 0.0,
        score_threshold=c.pick((0.0, 0.2)) if soft else 0.0,
    )


def _suppression(args: Sequence[Any], attrs: Any) -> Any:
    """Boxes of each class, by falling score, that do not overlap with better ones."""
    data, valid, indices = args
    if ((valid < 0) | (valid > data.shape[1])).any():
        raise ValueError(f"Expected at most {data.shape[1]} boxes but got {valid}")
    out, places = np.full_like(data, -1), np.full(indices.shape, -1, "int32")
    counts = np.zeros((len(data), 1), "int32")
    soft = float(attrs.soft_nms_sigma) > 0
    for b in range(len(data)):
        chosen = (_softly if soft else _greedily)(data[b, : valid[b]], attrs)
        moves = soft or bool(attrs.invalid_to_bottom)
        for rank, (row, i, box) in enumerate(chosen):
            out[b, rank if moves else row] = box
            places[b, rank] = indices[b, i]
            counts[b, 0] += 1
    if not attrs.return_indices:
        return out
    return (out, places, counts) if soft else (places, counts)


Chosen = Iterator[tuple[int, int, Any]]
"""Boxes that stay: their rank among all by score, their index, their data."""


def _candidates(boxes: Any, attrs: Any) -> list[int]:
    scores = boxes[:, int(attrs.score_index)]
    _tell(np.diff(np.sort(scores)))
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order[: int(attrs.top_k)] if attrs.top_k > 0 else order


def _compete(a: Any, b: Any, attrs: Any) -> bool:
    label = int(attrs.id_index)
    return bool(attrs.force_suppress) or label < 0 or bool(a[label] == b[label])


def _greedily(boxes: Any, attrs: Any) -> Chosen:
    at = slice(int(attrs.coord_start), int(attrs.coord_start) + 4)
    kept: list[int] = []
    for row, i in enumerate(_candidates(boxes, attrs)):
        if 0 < attrs.max_output_size <= len(kept):
            return
        rivals = [j for j in kept if _compete(boxes[i], boxes[j], attrs)]
        overlaps = np.array([_overlap(boxes[i][at], boxes[j][at]) for j in rivals])
        _tell(overlaps - float(attrs.iou_threshold))
        if not (overlaps >= float(attrs.iou_threshold)).any():
            kept.append(i)
            yield row, i, boxes[i]


def _softly(boxes: Any, attrs: Any) -> Chosen:
    """The best box lowers the scores of overlapping boxes; then the next best box is chosen."""
    at = slice(int(attrs.coord_start), int(attrs.coord_start) + 4)
    score, boxes = int(attrs.score_index), boxes.copy()
    rest = _candidates(boxes, attrs)
    taken = 0
    while rest and not 0 < attrs.max_output_size <= taken:
        best = max(rest, key=lambda i: boxes[i, score])
        if boxes[best, score] <= float(attrs.score_threshold):
            return
        rest.remove(best)
        yield taken, best, boxes[best].copy()
        taken += 1
        for i in list(rest):
            if _compete(boxes[best], boxes[i], attrs):
                overlap = _overlap(boxes[best][at], boxes[i][at])
                if overlap >= float(attrs.iou_threshold):
                    rest.remove(i)
                boxes[i, score] *= np.exp(-0.5 / float(attrs.soft_nms_sigma) * overlap * overlap)


# multibox_transform_loc


def _build_multibox(c: Choices, s: Scope) -> relax.Expr:
    batch, classes, anchors = some_dim(c, s), c.pick((2, 3, 1)), c.pick((3, 2, 1))
    logits = s.tensor(c, dtype=FLOATS, shape=(batch, classes, anchors))
    assert logits.dtype is not None
    codes = s.tensor(c, dtype=logits.dtype, shape=(batch, 4 * anchors))
    priors = _boxes(c, (1, anchors)) / 8
    return vision.multibox_transform_loc(
        logits.expr,
        codes.expr,
        relax.const(priors.astype(logits.dtype), logits.dtype),
        clip=c.flag(0.3),
        # No score computed from the usual logits lies on the threshold.
        threshold=c.pick((0.0, 0.4)),
        variances=c.pick(((1.0, 1.0, 1.0, 1.0), (0.1, 0.1, 0.2, 0.2), (0.5, 0.25, 1.0, 0.125))),
        keep_background=not c.flag(0.3),
        **accepted(vision.multibox_transform_loc, apply_softmax=not c.flag(0.3)),
    )


def _multibox(args: Sequence[Any], attrs: Any) -> Any:
    """Centres and sizes relative to the anchors; scores as given, or by softmax over classes."""
    logits, codes, anchors = args
    batch, _, count = logits.shape
    x, y, w, h = np.moveaxis(codes.reshape(batch, count, 4), -1, 0)
    left, top, right, bottom = np.moveaxis(anchors[0], -1, 0)
    vx, vy, vw, vh = (logits.dtype.type(float(v)) for v in attrs.variances)
    width, height = right - left, bottom - top
    centre_x, centre_y = x * vx * width + (left + right) / 2, y * vy * height + (top + bottom) / 2
    half_w, half_h = np.exp(w * vw) * width / 2, np.exp(h * vh) * height / 2
    boxes = np.stack(
        [centre_y - half_h, centre_x - half_w, centre_y + half_h, centre_x + half_w], axis=-1
    )
    scores = logits
    if getattr(attrs, "apply_softmax", True):
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores = scores / scores.sum(axis=1, keepdims=True)
    if attrs.threshold != 0:
        _tell(scores.astype("float64") - float(attrs.threshold))
    scores = np.where(scores >= float(attrs.threshold), scores, 0)
    if not attrs.keep_background:
        scores[:, 0] = 0
    boxes = np.clip(boxes, 0, 1) if attrs.clip else boxes
    return boxes.astype(logits.dtype), scores.astype(logits.dtype)


# roi_align, roi_pool


def _regions(c: Choices, s: Scope, layout: str, rarely: bool) -> tuple[Value, relax.Expr, float]:
    """An image, regions of it (and beyond), and the scale from the regions to the image."""
    images = c.pick((1, 2))
    dims: dict[str, Dim] = {"N": images, "C": some_dim(c, s)}
    dims |= {"H": c.pick((4, 3, 5)), "W": c.pick((4, 5))}
    if rarely:
        dims |= dict(zip("HW", c.picks((4, *positive(s.dims)), 2), strict=True))
    x = s.tensor(c, dtype=FLOATS if rarely else WIDE, shape=[dims[letter] for letter in layout])
    assert x.dtype is not None
    scale = c.pick((1.0, 0.5))
    rows = [
        [c.below(images), left, top, left + c.pick((2, 1, 4)), top + c.pick((2, 3))]
        for left, top in ((c.below(3), c.below(3)) for _ in range(c.pick((2, 1, 3))))
    ]
    # Corners are whole numbers after scaling, since the rounding of halves is not documented.
    regions = np.array(rows) * [1, *[1 / scale] * 4]
    dtype = c.pick(FLOATS) if rarely else x.dtype
    return x, relax.const(regions.astype(dtype), dtype), scale


def _build_roi_align(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    layout = c.pick(("NCHW", "NHWC"))
    x, regions, scale = _regions(c, s, layout, rarely)
    return vision.roi_align(
        x.expr,
        regions,
        c.pick((2, (2, 4), 1)),
        scale,
        sample_ratio=c.pick((2, -1, 1, 0)),
        aligned=c.flag(),
        layout=layout,
        mode=c.pick(("avg", "max")),
    )


def _roi_align(args: Sequence[Any], attrs: Any) -> Any:
    """The mean or maximum of interpolated samples in each cell of a region."""
    x, layout = from_layout(args[0], str(attrs.layout), "NCHW"), str(attrs.layout)
    height, width = (int(size) for size in attrs.pooled_size)
    combine = np.mean if str(attrs.mode) == "avg" else np.max
    out = np.zeros((len(args[1]), x.shape[1], height, width))
    for r, region in enumerate(args[1]):
        left, top, right, bottom = region[1:] * float(attrs.spatial_scale)
        least = -np.inf if attrs.aligned else 1.0
        cell_h, cell_w = max(bottom - top, least) / height, max(right - left, least) / width
        ratio = int(attrs.sample_ratio)
        rows = ratio if ratio > 0 else int(np.ceil(cell_h))
        columns = ratio if ratio > 0 else int(np.ceil(cell_w))
        if rows < 1 or columns < 1:
            raise ValueError(f"Expected a region of some size but got {region}")
        image = x[_image_of(region, x)]
        for i, j in np.ndindex(height, width):
            samples = [
                _bilinear(
                    image,
                    top + (i + (a + 0.5) / rows) * cell_h,
                    left + (j + (b + 0.5) / columns) * cell_w,
                )
                for a, b in np.ndindex(rows, columns)
            ]
            out[r, :, i, j] = combine(samples, axis=0)
    return from_layout(out.astype(x.dtype), "NCHW", layout)


def _images(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Regions in images of the batch: the first number is the image."""
    return {(1,): index(shapes[0][0])}


_of_regions = functools.partial(Op, dtypes=WIDE, accepts=_images)


def _image_of(region: Any, x: Any) -> int:
    if not 0 <= region[0] < len(x):
        raise OutsideError(f"Expected an image in [0, {len(x)}) but got {region[0]}")
    return int(region[0])


def _bilinear(image: Any, y: float, x: float) -> Any:
    """The interpolated value; up to one pixel beyond the border it is the border's, then zero."""
    _, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (1 - (x - left)) + image[:, top, right] * (x - left)
    lower = image[:, bottom, left] * (1 - (x - left)) + image[:, bottom, right] * (x - left)
    return upper * (1 - (y - top)) + lower * (y - top)


def _build_roi_pool(c: Choices, s: Scope) -> relax.Expr:
    x, regions, scale = _regions(c, s, "NCHW", c.flag(RARE))
    return vision.roi_pool(x.expr, regions, c.pick((2, (2, 3), 1)), scale)


def _roi_pool(args: Sequence[Any], attrs: Any) -> Any:
    """As in ONNX's MaxRoiPool: the maximum of each cell, and 0 for an empty cell."""
    x, regions = args
    sizes = [int(size) for size in attrs.pooled_size]
    out = np.zeros((len(regions), x.shape[1], *sizes), x.dtype)
    for r, region in enumerate(regions):
        corners = region[1:] * float(attrs.spatial_scale)
        _tell(corners % 1 - 0.5)
        left, top, right, bottom = np.floor(corners + 0.5)
        spans = [
            [_cell(int(start), int(end), i, size, length) for i in range(size)]
            for start, end, size, length in (
                (top, bottom, sizes[0], x.shape[2]),
                (left, right, sizes[1], x.shape[3]),
            )
        ]
        for i, j in np.ndindex(*sizes):
            cell = x[_image_of(region, x), :, spans[0][i], spans[1][j]]
            if cell.size:
                out[r, :, i, j] = cell.max(axis=(1, 2))
    return out


def _cell(start: int, end: int, i: int, cells: int, length: int) -> slice:
    """Cell i of a region from start to end, both included, as far as it lies in the image."""
    size = max(end - start + 1, 1)
    low, high = start + i * size // cells, start - (-(i + 1) * size // cells)
    return slice(min(max(low, 0), length), min(max(high, 0), length))


OPS = (
    Op(
        name="vision.get_valid_counts",
        build=_build_valid_counts,
        reference=_valid_counts,
        dtypes=FLOATS,
    ),
    Op(
        name="vision.non_max_suppression",
        build=_build_suppression,
        reference=_suppression,
        dtypes=FLOATS,
    ),
    Op(
        name="vision.all_class_non_max_suppression",
        deadly=(variation.unknown,),
        build=_build_all_class,
        reference=_all_class,
        dtypes=("float32",),
    ),
    Op(
        name="vision.multibox_transform_loc",
        build=_build_multibox,
        reference=quiet(in_single(_multibox)),
        dtypes=FLOATS,
        # Documented: the exponential of large codes overflows.
        domain=(-8.0, 8.0),
    ),
    _of_regions(name="vision.roi_align", build=_build_roi_align, reference=_roi_align),
    _of_regions(name="vision.roi_pool", build=_build_roi_pool, reference=_roi_pool),
)
