"""Conformance of the operator records: every one builds, type checks, evaluates and executes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.idioms import suits
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import LEFT_OUT, OP_FAMILIES, new_ops, table
from relaxfuzz.generators.ops.convolution import SPATIAL
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.traits import Trait
from relaxfuzz.generators.values import Dim
from relaxfuzz.oracles.errors import Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import Failure, Plan, execute, fork
from relaxfuzz.oracles.expected.comparison import difference as first_difference
from relaxfuzz.oracles.expected.comparison import perturbed
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from tests.faulty_kernels import FAULTY_KERNELS

EXAMPLES = 16
BATCH = 24
"""Functions built together: one build has to end in the time that the executor allows."""

TRAITS = (
    frozenset(Trait),
    frozenset(Trait) - {Trait.INCOMPLETE_TYPES},
    frozenset({Trait.CONSTANTS}),
    frozenset[Trait](),
)


def random_bytes(op: Op, number: int) -> bytes:
    """The simplest choices, then random ones, the same in every process."""
    if number == 0:
        return b""
    return np.random.default_rng([zlib.crc32(op.name.encode()), number]).bytes(48)


def scope_for(op: Op, number: int, module: ModuleScope) -> Scope:
    dims: list[Dim] = [(2, 3, 4)[number % 3], (4, 2, 8)[number // 3 % 3], 3]
    if number % 4 in (1, 3):
        dims.append(1)
    if number % 4 == 2:
        dims.append(0)
    if number % 2:
        n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
        dims += [n, m, n * 2]
    dtypes = op.dtypes
    return Scope(module, dims, [dtypes[number % len(dtypes)], dtypes[number // 2 % len(dtypes)]])


def add_function(
    op: Op, number: int, module: ModuleScope, *, static: bool = False, checked: bool = False
) -> str:
    """Add a function that calls the operator once; its name.

    Args:
        checked: match_cast the result to the type that TVM infers, for the evaluator to check.
    """
    c = Choices(random_bytes(op, number))
    s = scope_for(op, number, module)
    s.dataflow(op.pure)
    s.exporting = True
    result = s.bind(op.build(c, s))
    if checked:
        s.match_cast(result, result.ty)
    s.pure = op.pure
    s.close()
    func = finish(s, result)
    name = op.name.replace(".", "_") + f"_{number}"
    module.add(name, func.with_attr("global_symbol", name))
    return name


KINDS = ("whole", "quarters", "boundary", "special")
"""Sets of values that every function is called with; the last one where `Op.nonfinite`."""


def inputs(op: Op, func: relax.Function, number: int, kind: str = "quarters") -> list[Any]:
    low, high = op.domain
    rng = np.random.default_rng([number, KINDS.index(kind)])

    def fit(value: Any) -> Any:
        return value if isinstance(value, tuple) else np.asarray(_fit(value))

    def _fit(value: Any) -> Any:
        if value.dtype == np.bool_:
            return value
        if value.dtype.kind in "iu":
            return value if kind in ("whole", "quarters") else _extreme(value, rng)
        if kind == "special":
            return rng.choice(specials(value.dtype), value.shape)
        if kind == "boundary":
            return rng.choice(np.clip(WIDE, low, high).astype(value.dtype), value.shape)
        # Quarters are exact in every float and hit the half-way cases of rounding.
        scale = 0.75 if kind == "quarters" else 1
        return np.clip(value.astype("float64") * scale, low, high).astype(value.dtype)

    numbers = InputKind.POSITIVE if low >= 0 else InputKind.WHOLE
    return [fit(value) for value in drawn(func, numbers, number)]


WIDE = (0.0, 1e-3, -1e-3, 0.5, -1.0, 3.25, 17.5, -17.5, 100.25, -100.25)


SMALL = {"int32": 1 << 15, "int64": 1 << 31}
"""Products of smaller numbers do not overflow; see `test_extremes.py` for larger ones."""


def _extreme(value: Any, rng: np.random.Generator) -> Any:
    """The ends of the dtype, within what is sure not to overflow, among smaller numbers."""
    info = np.iinfo(value.dtype)
    most = min(int(info.max), SMALL.get(value.dtype.name, int(info.max)))
    ends = [most, max(int(info.min), -most), most - 1, 1, 0, max(int(info.min), -1)]
    return rng.choice(np.array(ends, value.dtype), value.shape)


def specials(dtype: Any) -> Any:
    """NaN, infinities, zeros of both signs, the largest and the smallest number, and usual ones."""
    info = ml_dtypes.finfo(dtype)
    ends = [info.max, info.min, info.smallest_subnormal]
    usual = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5], dtype)
    return np.concatenate([usual, np.array(ends, dtype)])


def evaluate(mod: tvm.IRModule) -> Evaluator:
    """An evaluator that computes what it can, undefined or not: here NaN is a value like others."""
    return Evaluator(mod, perturb=lambda result: result)


def single_module(op: Op, number: int) -> tvm.IRModule:
    module = ModuleScope(TRAITS[number % len(TRAITS)])
    add_function(op, number, module, checked=True)
    return whole(module, module.functions)


def whole(module: ModuleScope, functions: Mapping[relax.GlobalVar, relax.Function]) -> tvm.IRModule:
    """Functions made in this scope, and the devices that they speak of."""
    infos = {"vdevice": module.vdevices} if module.vdevices else None
    return tvm.IRModule(functions, global_infos=infos)


@pytest.mark.parametrize("op", table.values(), ids=table.keys())
def test_record(op: Op) -> None:
    """The name is registered, the call well-formed, the reference's result of the inferred type."""
    registered = tvm.ir.Op.get(f"relax.{op.name}")
    assert (registered.get_attr("FLegalize") is not None) == op.legalizes
    assert bool(registered.get_attr("FPurity")) == op.pure
    seen, without_value = set(), 0
    for number in range(EXAMPLES):
        mod = single_module(op, number)
        assert relax.analysis.check_well_formed(mod), str(mod)
        (func,) = mod.functions.values()
        assert called(op, func).op == registered
        args = inputs(op, func, number)
        try:
            evaluate(mod).run(next(iter(mod.functions)).name_hint, args)
        except Unsupported:
            without_value += 1
        except Exception as error:
            raise AssertionError(f"{error}\n{mod}") from error
        seen.add(str(func.ret_ty))
    assert len(seen) > 1 or op.name in ONE_TYPE
    assert without_value <= EXAMPLES // 8


ONE_TYPE = frozenset(
    {"nonzero", "size", "null_value", "print", "assert_op"}
    | {name for name in table if name.startswith("inspect.")}
)
"""Operators whose result has one type only."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A call for which this TVM does not do what it documents."""

    op: str
    when: Callable[[relax.Call], object]
    what: str
    kinds: tuple[str, ...] = KINDS
    """The sets of values for which it does not."""


def small(call: relax.Call) -> bool:
    """Integers whose least and largest value are among the operands."""
    return str(call.args[0].ty.dtype) in ("int8", "int16", "uint8")


def inlined_zero_divisor(call: relax.Call) -> bool:
    """A zero that constant folding meets: of remainders it folds those of int32 and int64."""
    y = call.args[1]
    if not isinstance(y, ir.GenericConst) or y.ty.ndim != 0 or ir.constant_data(y).numpy() != 0:
        return False
    name, dtype = call.op.name.removeprefix("relax."), str(y.ty.dtype)
    by_quotient = name != "mod" and ("divide" in name or "float" in dtype)
    return by_quotient or dtype in ("int32", "int64")


def shorter_indices(call: relax.Call) -> bool:
    """Smaller than the data along an axis that they do not index."""
    data, indices = (list(arg.ty.shape.values) for arg in call.args[:2])
    del data[int(call.attrs.axis)], indices[int(call.attrs.axis)]
    return [int(size) for size in data] != [int(size) for size in indices]


DIFFERENCES = (
    Difference(
        "scatter_elements",
        shorter_indices,
        "the place of an index is computed by the shape of the data",
    ),
    Difference(
        "log_add_exp",
        lambda call: True,
        "the exponentials leave the range of the floats, though their sum's logarithm is inside",
        ("boundary",),
    ),
    Difference(
        "argmax",
        lambda call: str(call.args[0].ty.dtype) == "uint8",
        "the reduction starts with index -1 at the least value, which then wins over equal ones",
    ),
    *(
        Difference(
            name,
            small,
            "the reduction starts with index -1 at the end of the dtype, which beats equal ones",
            ("boundary",),
        )
        for name in ("argmax", "argmin")
    ),
    *(
        Difference(
            name,
            lambda call: str(call.args[0].ty.dtype) == "bool" and call.attrs.dtype is None,
            "the sum of two bools does not build",
        )
        for name in ("cumsum", "cumprod")
    ),
    Difference(
        "not_equal",
        lambda call: "float" in str(call.args[0].ty.dtype),
        "generated code compares for 'less or greater', of which a NaN is neither",
        ("special",),
    ),
    Difference(
        "unique",
        lambda call: bool(call.args[3].value) and len(call.args) < 6 and call.args[0].ty.ndim > 1,
        "the inverse has the operand's shape with NumPy 2, not the one axis of its type",
    ),
    *(
        Difference(
            name,
            inlined_zero_divisor,
            "LegalizeOps fails on a constant scalar zero, which it inlines: Divide by zero",
        )
        for name in ("divide", "floor_divide", "mod", "floor_mod")
    ),
    Difference(
        "concat",
        lambda call: call.attrs.axis is None,
        "LegalizeOps fails without an axis: cannot convert None to int",
    ),
    Difference(
        "take",
        lambda call: call.attrs.axis is None and not isinstance(call.args[1].ty, relax.TensorType),
        "LegalizeOps fails on a number for the index without an axis: IntImm is no te.Tensor",
    ),
    Difference(
        "take",
        lambda call: call.attrs.axis is None and str(call.attrs.mode) == "nan",
        "LegalizeOps fails in this mode without an axis: an element is taken for an index",
    ),
    Difference(
        "strided_slice",
        lambda call: any(axis.value < 0 for axis in call.args[1].fields) and symbolic(call),
        "LegalizeOps fails on a negative axis of a symbolic shape: axis < src_tensor_dim",
    ),
    Difference(
        "eye_like",
        lambda call: call.ty.dtype != call.args[0].ty.dtype,
        "LegalizeOps takes the operand's dtype for the attribute's",
    ),
    Difference(
        "nn.batch_norm",
        lambda call: call.attrs.axis < 0 and call.attrs.training,
        "LegalizeOps fails with an axis counted from the end: list.remove(x): x not in list",
    ),
    Difference(
        "nn.batch_norm",
        lambda call: str(call.args[0].ty.dtype) == "float16",
        "LegalizeOps returns float32 for float16",
    ),
    *(
        Difference(
            name,
            lambda call: call.attrs.causal_mask is not None,
            "masked scores count as 0 in the maximum: far below it 0 is divided by 0",
            ("boundary",),
        )
        for name in ("nn.attention", "nn.attention_bias")
    ),
    Difference(
        "nn.attention",
        lambda call: call.attrs.scale is not None and str(call.ty.dtype) == "float16",
        "LegalizeOps returns float32 for float16 with a scale",
    ),
    Difference(
        "nn.attention_bias",
        lambda call: call.attrs.scale is not None and str(call.ty.dtype) == "float16",
        "LegalizeOps returns float32 for float16 with a scale",
    ),
    *(
        Difference(
            f"nn.{name}",
            lambda call: not (call.attrs.center and call.attrs.scale),
            "LegalizeOps ignores center=False and scale=False",
        )
        for name in ("layer_norm", "group_norm", "instance_norm")
    ),
    *(
        Difference(
            f"nn.{name}",
            lambda call: out_of_order(call) and (call.op.name != "relax.nn.rms_norm" or last(call)),
            "the weights are read in the order of the data's axes, outside of them, too",
        )
        for name in ("layer_norm", "rms_norm")
    ),
    Difference(
        "nn.rms_norm",
        lambda call: not last(call) or len(call.attrs.axes) == call.args[0].ty.ndim,
        "LegalizeOps fails unless the axes are the last ones, and not all: dimension mismatch",
    ),
    Difference(
        "nn.instance_norm",
        lambda call: call.attrs.channel_axis < 0,
        "LegalizeOps fails with an axis counted from the end: Index -1 out of bounds",
    ),
    *(
        Difference(
            name,
            lambda call: heads(call.args[0]) != heads(call.args[1]),
            "heads of keys that several heads of queries share are read as if each had its own",
        )
        for name in ("nn.attention", "nn.attention_bias")
    ),
    *(
        Difference(
            name,
            lambda call: call.attrs.window_size is not None,
            "LegalizeOps fails: sliding-window attention is not supported",
        )
        for name in ("nn.attention", "nn.attention_bias")
    ),
    Difference(
        "nn.nll_loss",
        lambda call: str(call.args[1].ty.dtype) == "uint32" and call.attrs.ignore_index < 0,
        "LegalizeOps fails on such targets: cannot make uint from negative value -100",
    ),
    *(
        Difference(
            f"nn.conv{n}d",
            lambda call: not in_other_layout(call) and spatial_axes_permuted(call),
            "takes the first spatial axis of a layout for the height, whatever its letter",
        )
        for n in (2, 3)
    ),
    *(
        Difference(
            f"nn.{name}{n}d{transpose}",
            lambda call: in_other_layout(call),
            "is not lowered: TOPI does not know the layout, of which only the log speaks",
        )
        for n in (1, 2, 3)
        for name, transpose in (
            ("conv", ""),
            ("conv", "_transpose"),
            ("max_pool", ""),
            ("avg_pool", ""),
            ("adaptive_avg_pool", ""),
        )
    ),
    Difference(
        "nn.prelu",
        lambda call: not isinstance(call.args[1].ty.shape.values[0], tirx.IntImm),
        "LegalizeOps fails on a symbolic channel: expect value to be constant int",
    ),
    Difference(
        "nn.adaptive_avg_pool1d",
        lambda call: call.attrs.output_size is None,
        "LegalizeOps fails without an output size: IntImm is no Array",
    ),
    Difference(
        "grad.take_backward",
        lambda call: call.attrs.axis is not None and call.attrs.axis < 0,
        "writes outside of the gradient for a negative axis, which take itself accepts",
    ),
    Difference(
        "grad.max_pool2d_backward",
        lambda call: beyond_last_window(call),
        "reads past the upper gradient where windows would begin after the last one",
    ),
    Difference(
        "grad.avg_pool2d_backward",
        lambda call: call.attrs.ceil_mode and call.attrs.count_include_pad,
        "divides by the whole window also where it reaches beyond the padding; avg_pool2d does not",
    ),
    *(
        difference
        for name in ("image.resize2d", "image.resize3d")
        for difference in (
            Difference(
                name,
                lambda call: (
                    1 in resized(call)
                    and str(call.attrs.coordinate_transformation_mode)
                    in ("align_corners", "tf_crop_and_resize")
                ),
                "LegalizeOps fails on size 1, for which ONNX's Resize is defined: Divide by zero",
            ),
            Difference(
                name,
                lambda call: call.attrs.out_dtype is not None,
                "LegalizeOps ignores out_dtype",
            ),
        )
    ),
    Difference(
        "image.resize2d",
        lambda call: (
            str(call.attrs.coordinate_transformation_mode) == "asymmetric"
            and str(call.attrs.rounding_method) == "floor"
            and any(
                isinstance(size, tirx.IntImm) and not isinstance(length, tirx.IntImm)
                for size, length in zip(call.args[1].values, spatial(call), strict=True)
            )
        ),
        "LegalizeOps fails on a symbolic size of the image: Div has no value",
    ),
    *(
        Difference(
            name,
            lambda call: (
                str(call.attrs.coordinate_transformation_mode) in ("asymmetric", "align_corners")
                and str(call.attrs.method) != "nearest_neighbor"
                and not all(isinstance(size, tirx.IntImm) for size in call.args[1].values)
            ),
            "the build fails on a symbolic size of the result: an IntImm of type float32",
        )
        for name in ("image.resize2d", "image.resize3d")
    ),
    Difference(
        "image.resize3d",
        lambda call: (
            str(call.attrs.coordinate_transformation_mode) == "tf_crop_and_resize"
            and 1 not in resized(call)
        ),
        "takes the roi's width for its depth, and does not extrapolate along the depth",
    ),
    Difference(
        "image.resize3d",
        lambda call: (
            str(call.attrs.method) == "cubic"
            and call.attrs.cubic_exclude
            and str(call.attrs.coordinate_transformation_mode) != "tf_crop_and_resize"
        ),
        "cubic_exclude takes the weights of the width for those of the depth",
    ),
    *(
        Difference(
            f"image.{name}",
            lambda call: not str(call.attrs.layout).startswith(("NCHW", "NHWC", "NCDHW", "NDHWC")),
            "LegalizeOps fails on another layout: not supported",
        )
        for name in ("resize2d", "resize3d")
    ),
    Difference(
        "image.grid_sample",
        lambda call: str(call.attrs.layout) not in ("NCHW", "NCDHW"),
        "LegalizeOps fails on another layout: not supported",
    ),
    Difference(
        "image.affine_grid",
        lambda call: call.attrs.align_corners and {0, 1} & {*resized(call)},
        "LegalizeOps fails: target spatial dims should be greater than 1",
    ),
    Difference(
        "image.affine_grid",
        lambda call: len(resized(call)) < len(call.args[1].values),
        "LegalizeOps fails on a symbolic size: requires static target_shape",
    ),
    Difference(
        "image.affine_grid",
        lambda call: 0 in resized(call),
        "LegalizeOps fails on a size of 0: float division by zero",
    ),
    Difference(
        "image.grid_sample",
        lambda call: (
            str(call.attrs.padding_mode) == "reflection"
            and call.attrs.align_corners
            and 1 in [getattr(dim, "value", None) for dim in call.args[0].ty.shape.values[2:]]
        ),
        "LegalizeOps fails on an axis of size 1: Divide by zero",
    ),
    Difference(
        "vision.all_class_non_max_suppression",
        lambda call: float(ir.constant_data(call.args[3]).numpy()) == 0,
        "selects nothing for an IoU threshold of 0, the default of ONNX",
    ),
    Difference(
        "median",
        lambda call: call.attrs.axis is not None and len(call.attrs.axis) > 1,
        "over several axes, takes the first for all, and reads outside",
    ),
    Difference(
        "median",
        lambda call: call.attrs.axis is None and call.attrs.keepdims and call.args[0].ty.ndim > 1,
        "of all elements with keepdims, LegalizeOps gives one axis only",
    ),
    Difference(
        "vision.non_max_suppression",
        lambda call: str(call.args[0].ty.dtype) != "float32",
        "fails when it runs: only supports input dtype to be float32",
    ),
    Difference(
        "vision.roi_align",
        lambda call: {str(arg.ty.dtype) for arg in call.args} not in ({"float32"}, {"float64"}),
        "the result has the dtype of the regions, and is never of half precision",
    ),
    Difference(
        "dequantize",
        lambda call: str(call.args[2].ty.dtype) == "uint32",
        "the difference from an unsigned zero point is taken as unsigned, too",
    ),
    Difference(
        "nn.pixel_shuffle",
        lambda call: True,
        "LegalizeOps fails: topi.nn has no pixel_shuffle",
    ),
)


def heads(operand: relax.Expr) -> int:
    return int(operand.ty.shape.values[2])


def axes_of(call: relax.Call) -> list[int]:
    return [int(axis) % call.args[0].ty.ndim for axis in call.attrs.axes]


def out_of_order(call: relax.Call) -> bool:
    return axes_of(call) != sorted(axes_of(call))


def last(call: relax.Call) -> bool:
    ndim = call.args[0].ty.ndim
    return sorted(axes_of(call)) == list(range(ndim - len(call.attrs.axes), ndim))


def in_other_layout(call: relax.Call) -> bool:
    """What the legalization of convolutions and pooling leaves as it is."""
    attrs = call.attrs
    if not hasattr(attrs, "kernel_layout"):
        return bool(attrs.out_layout != attrs.layout)
    layouts = (str(attrs.data_layout), str(attrs.kernel_layout))
    if attrs.out_layout != attrs.data_layout or not all(map(str.isalpha, layouts)):
        return True
    letters = SPATIAL[len(attrs.strides)]
    return hasattr(attrs, "output_padding") and layouts != ("NC" + letters, "IO" + letters)


def spatial_axes_permuted(call: relax.Call) -> bool:
    letters = SPATIAL[len(call.attrs.strides)]
    layouts = (str(call.attrs.data_layout), str(call.attrs.kernel_layout))
    return any("".join(axis for axis in text if axis in letters) != letters for text in layouts)


def symbolic(call: relax.Call) -> bool:
    return not all(isinstance(dim, tirx.IntImm) for dim in call.args[0].ty.shape.values)


def beyond_last_window(call: relax.Call) -> bool:
    upper, x = (
        [int(arg.ty.shape.values[str(call.attrs.layout).index(letter)]) for letter in "HW"]
        for arg in call.args
    )
    before, strides = call.attrs.padding[:2], call.attrs.strides
    return any(
        (length - 1 + pad) // stride >= count
        for count, length, pad, stride in zip(upper, x, before, strides, strict=True)
    )


def spatial(call: relax.Call) -> list[Any]:
    layout = str(call.attrs.layout)
    shape = call.args[0].ty.shape.values
    return [shape[layout.index(letter)] for letter in "DHW" if letter in layout]


def resized(call: relax.Call) -> list[int]:
    return [int(dim) for dim in call.args[1].values if isinstance(dim, tirx.IntImm)]


def differences(op: Op, func: relax.Function) -> set[str]:
    """The sets of values for which TVM is known to differ on this call."""
    call = called(op, func)
    return {kind for d in DIFFERENCES if d.op == op.name and d.when(call) for kind in d.kinds}


def unloadable(func: relax.Function) -> bool:
    """A constant without elements comes up, which the VM cannot load from a library."""
    if 0 not in [getattr(dim, "value", None) for dim in dims_of(func.ret_ty)]:
        return False
    mod = tvm.IRModule({relax.GlobalVar("main"): func})
    mod = relax.transform.FoldConstant()(relax.transform.LegalizeOps()(mod))
    empty: list[bool] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, ir.GenericConst) and 0 in ir.constant_data(expr).shape:
            empty.append(True)

    relax.analysis.post_order_visit(mod["main"], visit)
    return bool(empty)


def kills_a_dtype(func: relax.Function) -> bool:
    """TVM 0.26 cannot build a function in which a variable of a dtype dies before the end."""
    kind = getattr(relax, "DataTypeImm", ())  # newer ones have no such class
    return any(
        isinstance(getattr(binding, "value", None), kind)
        for block in func.body.blocks
        for binding in block.bindings
    )


def slow_to_build(op: Op, func: relax.Function) -> bool:
    """The index arithmetic of a scan along one of several symbolic axes is simplified for long."""
    dims = dims_of(called(op, func).args[0].ty) if op.name in ("cumsum", "cumprod") else []
    return sum(not isinstance(dim, tirx.IntImm) for dim in dims) > 2


def dims_of(ty: relax.Type) -> list[Any]:
    """The dimensions of all tensors of the type."""
    if isinstance(ty, relax.TupleType):
        return [dim for field in ty.fields for dim in dims_of(field)]
    shape = getattr(ty, "shape", None)
    return list(shape.values) if isinstance(shape, relax.ShapeExpr) else []


def called(op: Op, func: relax.Function) -> relax.Call:
    registered = tvm.ir.Op.get(f"relax.{op.name}")
    values = [b.value for block in func.body.blocks for b in block.bindings]
    return next(v for v in values if isinstance(v, relax.Call) and v.op == registered)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are built at once here, also while the machine is busy."""
    monkeypatch.setattr(fork, "WALL_SECONDS", 60.0)


EXECUTED, FURTHER = range(2), range(2, 6)
"""Examples of each operator that are built and run; further ones where these compare nothing."""

BUILDS = ("default", "cpu_generic")

STATIC = frozenset({Trait.DTYPES, Trait.CONSTANTS})


@pytest.mark.parametrize("family", OP_FAMILIES)
def test_family_executes(family: str) -> None:
    """What the VM computes is what the references compute, within tolerance."""
    compared: set[str] = set()
    executed = [op for op in OP_FAMILIES[family] if op.executes and op.name not in FAULTY_KERNELS]
    wrong = [text for op in batched(executed, EXECUTED, compared) for text in op]
    left = [op for op in executed if op.name not in compared]
    wrong += [text for op in batched(left, FURTHER, compared) for text in op]
    assert not wrong, "\n".join(wrong)
    assert {op.name for op in executed} <= compared


def batched(ops: Sequence[Op], numbers: Sequence[int], compared: set[str]) -> Iterator[list[str]]:
    """Where the VM and the references differ, over these examples of the operators.

    Args:
        ops: the operators.
        numbers: which examples of each.
        compared: gets the names of those for which there was something to compare.
    """
    module = ModuleScope(STATIC)
    calls: dict[relax.GlobalVar, tuple[Op, int]] = {}
    for op in ops:
        if op.executes and op.name not in FAULTY_KERNELS:
            for number in numbers:
                add_function(op, number, module)
                gvar = list(module.functions)[-1]
                func = module.functions[gvar]
                if differences(op, func) == set(KINDS):
                    continue  # first: what follows legalizes it, which may be what fails
                if not (unloadable(func) or kills_a_dtype(func) or slow_to_build(op, func)):
                    calls[gvar] = (op, number)
    gvars = list(calls)
    for start in range(0, len(gvars), BATCH):
        chosen = {gvar: calls[gvar] for gvar in gvars[start : start + BATCH]}
        functions = {gvar: module.functions[gvar] for gvar in chosen}
        wrong = disagreements(functions, chosen, differences, compared)
        yield [f"{module.functions[gvar]}\n{reason}" for gvar, reason in wrong.items()]


def disagreements(
    functions: Mapping[relax.GlobalVar, relax.Function],
    ops: Mapping[relax.GlobalVar, tuple[Op, int]],
    skipped: Callable[[Op, relax.Function], Collection[str]],
    compared: set[str],
    pipelines: Sequence[str] = BUILDS,
) -> dict[relax.GlobalVar, str]:
    """Where the VM and the references differ; one build serves a batch of functions."""
    mod = tvm.IRModule(functions)
    cases = [
        (gvar, args, expected, shaken)
        for gvar, (op, number) in ops.items()
        for args, expected, shaken in expectations(op, number, mod, gvar, skipped(op, mod[gvar]))
    ]
    compared |= {ops[gvar][0].name for gvar, *_ in cases}
    wrong: dict[relax.GlobalVar, str] = {}
    for pipeline in pipelines:
        actuals = results(functions, [case[:2] for case in cases], pipeline)
        for (gvar, args, expected, shaken), actual in zip(cases, actuals, strict=True):
            if actual is DIED or isinstance(actual, Failure):
                reason: str | None = str(actual)
            else:
                bounds = ops[gvar][0].tolerance
                reason = first_difference(expected, actual, shaken, tolerance=bounds)
            if reason is not None:
                wrong.setdefault(gvar, f"{pipeline}: {reason}\nfor {args}\nexpected {expected}")
    return wrong


def expectations(
    op: Op, number: int, mod: tvm.IRModule, gvar: relax.GlobalVar, skipped: Collection[str] = ()
) -> Iterator[tuple[list[Any], Any, Any]]:
    """Arguments, what the reference gives where the operator is defined for them, and beside it."""
    kinds = KINDS if op.nonfinite else KINDS[:-1]
    for kind in [kind for kind in kinds if kind not in skipped]:
        args = inputs(op, mod[gvar], number, kind)
        try:
            expected = Evaluator(mod).run(gvar.name_hint, args)
        except (Unsupported, Undefined):
            continue
        shaken = []
        if kind == "boundary":
            # Numbers of all sizes cancel out: what a tiny change of the operands does is no error.
            for phases in ((0, 0), (1, 1), (0, 1), (2, 1)):
                near = [moved(arg, phases[place % 2]) for place, arg in enumerate(args)]
                shaken.append(evaluate(mod).run(gvar.name_hint, near))
        yield args, expected, shaken
        if not any(isinstance(arg, np.ndarray) and arg.size for arg in args):
            return


DIED = "the process died or took too long"
"""In place of a result, which may be None itself."""


def moved(arg: Any, phase: int) -> Any:
    return np.asarray(perturbed(arg, phase)) if isinstance(arg, np.ndarray) else arg


def results(
    functions: Mapping[relax.GlobalVar, relax.Function],
    calls: Sequence[tuple[relax.GlobalVar, list[Any]]],
    pipeline: str,
) -> list[Any]:
    """What the VM gives for each call; halves of a module that fails as a whole are tried alone."""
    found = execute(tvm.IRModule(functions), [call(*one) for one in calls], pipeline)
    if isinstance(found, list):
        return found
    if len(functions) == 1:
        return [DIED if found is None else found] * len(calls)
    gvars = list(functions)
    half = set(gvars[: len(gvars) // 2])
    parts = []
    for chosen in (half, set(gvars) - half):
        part = {gvar: functions[gvar] for gvar in gvars if gvar in chosen}
        parts.append(iter(results(part, [one for one in calls if one[0] in chosen], pipeline)))
    return [next(parts[0] if gvar in half else parts[1]) for gvar, _ in calls]


def call(gvar: relax.GlobalVar, args: list[Any]) -> Plan:
    return lambda run: run(gvar.name_hint, args)


@pytest.mark.parametrize("known", DIFFERENCES, ids=lambda known: known.op)
def test_known_difference(known: Difference) -> None:
    """TVM still differs; where it does not any more, the entry has to go."""
    op = table[known.op]
    found = 0
    for number in range(2000):
        module = ModuleScope(STATIC)
        add_function(op, number, module)
        (gvar,) = module.functions
        if known.when(called(op, module.functions[gvar])):
            found += 1
            if differs(known, module.functions, {gvar: (op, number)}):
                return
            if found == 40:
                break
    raise AssertionError(f"Expected a difference in one of {found} examples of {known}")


LEGALIZATION_ERRORS = (
    *(AssertionError, AttributeError, IndexError),
    *(RuntimeError, TypeError, ValueError),
)


def differs(
    known: Difference,
    functions: Mapping[relax.GlobalVar, relax.Function],
    ops: Mapping[relax.GlobalVar, tuple[Op, int]],
) -> bool:
    if "LegalizeOps fails" not in known.what:
        # One build that differs is enough.
        return any(
            disagreements(functions, ops, lambda op, func: (), set(), [pipeline])
            for pipeline in BUILDS
        )
    with pytest.raises(LEGALIZATION_ERRORS):
        relax.transform.LegalizeOps()(tvm.IRModule(functions))
    return True


def test_table_is_complete() -> None:
    """Every operator that this TVM registers has a record, or a reason for having none."""
    names = {name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")}
    assert not set(table) & set(LEFT_OUT)
    assert {f"relax.{name}" for name in (*table, *LEFT_OUT)} == names
    assert all(LEFT_OUT.values())
    assert new_ops() == ()


def test_an_operator_waits_for_the_trait_that_it_needs() -> None:
    needy = {op.name for op in table.values() if op.needs is not None}
    assert needy >= {op.name for op in table.values() if not op.pure} | {"to_vdevice"}
    impure = frozenset({Trait.IMPURE, Trait.NO_LEGALIZE})
    assert suits(table["print"], impure)
    assert not suits(table["print"], impure - {Trait.IMPURE})
    assert not suits(table["to_vdevice"], impure)


def test_onnx_suppression_of_all_classes() -> None:
    """Its reference selects some boxes only, for which TVM infers the type of all."""
    boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 3], [5, 5, 6, 6], [8, 8, 9, 9]]], "float32")
    scores = np.array([[[0.9, 0.8, 0.7, 0.01], [0.1, 0.6, 0.5, 0.4]]], "float32")
    x, y = (
        relax.Var(n, relax.TensorType(v.shape, "float32")) for n, v in (("x", boxes), ("y", scores))
    )
    bounds = (relax.const(2, "int64"), relax.const(0.5, "float32"), relax.const(0.05, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        chosen = bb.emit(relax.op.vision.all_class_non_max_suppression(x, y, *bounds, "onnx"))
        bb.emit_func_output(chosen)
    mod = bb.get()
    indices, count = evaluate(mod).run("main", [boxes, scores])
    assert indices.tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 1], [0, 1, 2]]
    assert count.tolist() == [4]
    (actual,) = execute(mod, [lambda run: run("main", [boxes, scores])])
    assert first_difference((indices, count), actual) is None
    assert mod["main"].ret_ty.fields[0].shape.values[0] == 8
