"""Rare forms of layers, images and quantization: all that type inference accepts, mostly valued."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.convolution import from_layout
from relaxfuzz.generators.scope import Scope
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.expected.inputs import InputKind, drawn

BUILDS = range(50)


def rare_forms(name: str) -> Iterator[tvm.IRModule]:
    """Functions of one call, whose first decision asks for what is rare."""
    op = table[name]
    for number in BUILDS:
        data = np.random.default_rng([zlib.crc32(name.encode()), number]).bytes(64)
        s = Scope(ModuleScope(frozenset()), (2, 3, 4, tirx.Var("n", "int64")), op.dtypes)
        s.dataflow(op.pure)
        s.exporting = True
        result = s.bind(op.build(Choices(b"\xff" + data), s))
        s.match_cast(result, result.ty)
        yield tvm.IRModule({relax.GlobalVar("main"): finish(s, result)})


def call_of(mod: tvm.IRModule) -> relax.Call:
    return mod["main"].body.blocks[0].bindings[0].value


def dims(call: relax.Call) -> list[object]:
    return list(call.args[0].ty.shape.values)


Feature = Callable[[relax.Call], object]


def other_dtypes(call: relax.Call) -> bool:
    return call.args[0].ty.dtype != call.args[1].ty.dtype


def symbolic_length(call: relax.Call) -> bool:
    return not all(isinstance(dim, tirx.IntImm) for dim in dims(call)[2:])


def inner(name: str) -> Feature:
    return lambda call: not str(getattr(call.attrs, name)).isalpha()


def other_layout(name: str) -> Feature:
    return lambda call: call.attrs.out_layout != getattr(call.attrs, name)


def unsorted_axes(call: relax.Call) -> bool:
    places = [int(axis) % len(dims(call)) for axis in call.attrs.axes]
    return places != sorted(places)


def batch_among_axes(call: relax.Call) -> bool:
    return 0 in [int(axis) % len(dims(call)) for axis in call.attrs.axes]


def one_of(name: str, value: object) -> Feature:
    return lambda call: str(getattr(call.attrs, name)) == str(value)


CONVOLUTION = (
    *(inner("data_layout"), inner("kernel_layout"), inner("out_layout")),
    *(other_layout("data_layout"), other_dtypes, symbolic_length),
    lambda call: call.attrs.out_dtype is not None,
)
POOLING = (inner("layout"), other_layout("layout"), symbolic_length)

FEATURES: dict[str, tuple[Feature, ...]] = {
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv2d_transpose"), CONVOLUTION),
    **dict.fromkeys(("nn.max_pool2d", "nn.avg_pool1d", "nn.adaptive_avg_pool2d"), POOLING),
    "nn.layer_norm": (unsorted_axes, batch_among_axes),
    "nn.rms_norm": (unsorted_axes, batch_among_axes),
    "nn.group_norm": (
        unsorted_axes,
        batch_among_axes,
        lambda call: call.attrs.channel_axis not in (1, -1),
    ),
    "nn.instance_norm": (
        unsorted_axes,
        batch_among_axes,
        lambda call: call.attrs.channel_axis < 0,
    ),
    "nn.batch_norm": (lambda call: call.attrs.axis == 0, lambda call: call.attrs.axis < -1),
    "nn.attention": (
        lambda call: int(dims(call)[2]) > int(call.args[1].ty.shape.values[2]),
        lambda call: call.attrs.window_size is not None,
    ),
    "nn.nll_loss": (
        lambda call: str(call.args[1].ty.dtype) == "uint8",
        lambda call: call.attrs.reduction == "mean" and len(call.args) == 3,
        lambda call: len(dims(call)) == 5,
    ),
    "nn.pad": (lambda call: min(call.attrs.pad_width) < 0,),
    "nn.pixel_shuffle": (
        lambda call: len(dims(call)) == 3,
        lambda call: len(dims(call)) == 5,
        lambda call: not isinstance(dims(call)[-1], tirx.IntImm),
    ),
    "image.resize2d": (
        inner("layout"),
        one_of("rounding_method", "round_prefer_floor"),
        one_of("out_dtype", "int32"),
        lambda call: str(call.args[0].ty.dtype) == "uint8" and call.attrs.method == "linear",
    ),
    "image.grid_sample": (inner("layout"), symbolic_length),
    "image.affine_grid": (
        lambda call: not all(isinstance(dim, tirx.IntImm) for dim in call.args[1].values),
        lambda call: (
            call.attrs.align_corners
            and 1 in [int(d) for d in call.args[1].values if isinstance(d, tirx.IntImm)]
        ),
    ),
    "vision.non_max_suppression": (
        lambda call: call.attrs.coord_start == 0,
        lambda call: call.attrs.top_k == 0,
        lambda call: int(dims(call)[2]) == 5,
    ),
    "vision.roi_align": (other_dtypes, symbolic_length),
    "vision.roi_pool": (other_dtypes, symbolic_length),
    "quantize": (
        one_of("out_dtype", "uint16"),
        one_of("out_dtype", "float8_e5m2"),
        lambda call: call.args[1].ty.ndim > 1,
        lambda call: str(call.args[2].ty.dtype) == "float16",
    ),
    "dequantize": (
        lambda call: str(call.args[0].ty.dtype) == "int32",
        lambda call: str(call.args[0].ty.dtype) == "float16",
    ),
}
"""What some of the rare forms of each operator have."""


@pytest.mark.parametrize("name", FEATURES)
def test_rare_forms(name: str) -> None:
    """All are well-formed, have what is expected, and mostly a defined value."""
    mods = list(rare_forms(name))
    assert all(map(relax.analysis.check_well_formed, mods))
    calls = list(map(call_of, mods))
    never = [at for at, has in enumerate(FEATURES[name]) if not any(map(has, calls))]
    assert not never
    valued = sum(map(has_value, mods))
    assert valued >= len(mods) * SILENT.get(name, 0.5)


SILENT = {"nn.attention": 0.3}
"""Where more than half have no value. A sliding window has none."""


def has_value(mod: tvm.IRModule) -> bool:
    try:
        Evaluator(mod).run("main", drawn(mod["main"], InputKind.WHOLE))
    except Unsupported:
        return False
    return True


@pytest.mark.parametrize(
    ("layout", "other", "shape"),
    [
        ("NCHW", "NHWC", (2, 3, 4, 6)),
        ("NCHW", "HN2hCW", (4, 2, 2, 4, 6)),
        ("OIHW", "OIHW2i2o", (1, 2, 3, 5, 2, 2)),
    ],
)
def test_layouts_there_and_back(layout: str, other: str, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    source = other if x.ndim > 4 else layout
    target = layout if x.ndim > 4 else other
    there = from_layout(x, source, target)
    assert not np.array_equal(there.shape, x.shape)
    np.testing.assert_array_equal(from_layout(there, target, source), x)


def test_an_odd_axis_has_no_inner_part() -> None:
    with pytest.raises(ValueError, match="groups of 2"):
        from_layout(np.zeros((1, 3, 4, 4)), "NCHW", "NCHW2c")
