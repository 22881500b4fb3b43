"""Conformance of the operator records: every one builds, type checks, evaluates and executes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.ops import FAMILIES, _tabulate, table
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.scope import Dim, ModuleScope, Scope
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import Failure, Plan, execute
from relaxfuzz.oracles.inputs import arguments

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
    usable = [dtype for dtype in op.dtypes if dtype != "bfloat16"]
    return Scope(module, dims, [usable[number % len(usable)], usable[number // 2 % len(usable)]])


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
    func = finish(Choices(b""), s, result)
    name = op.name.replace(".", "_") + f"_{number}"
    module.add(name, func.with_attr("global_symbol", name))
    return name


def inputs(op: Op, func: relax.Function, number: int) -> list[Any]:
    low, high = op.domain

    def fit(value: Any) -> Any:
        if isinstance(value, tuple):
            return value
        if value.dtype.kind in "iub":
            return value
        # Quarters are exact in every float and hit the half-way cases of rounding.
        quarters = np.clip(value.astype("float64") * 0.75, low, high)
        return np.asarray(quarters).astype(value.dtype)

    return [fit(value) for value in arguments(func, number, positive=low >= 0)]


def evaluate(mod: tvm.IRModule) -> Evaluator:
    """An evaluator that computes what it can, undefined or not: here NaN is a value like others."""
    return Evaluator(mod, perturb=lambda result: result)


def single_module(op: Op, number: int) -> tvm.IRModule:
    module = ModuleScope(TRAITS[number % len(TRAITS)])
    add_function(op, number, module, checked=True)
    return tvm.IRModule(module.functions)


@pytest.mark.parametrize("op", table.values(), ids=table.keys())
def test_record(op: Op) -> None:
    """The name is registered, the call well-formed, the reference's result of the inferred type."""
    registered = tvm.ir.Op.get(f"relax.{op.name}")
    assert (registered.get_attr("FLegalize") is not None) == op.legalizes
    assert bool(registered.get_attr("FPurity")) == op.pure
    seen = set()
    for number in range(EXAMPLES):
        mod = single_module(op, number)
        assert relax.analysis.check_well_formed(mod), str(mod)
        (func,) = mod.functions.values()
        assert called(op, func).op == registered
        args = inputs(op, func, number)
        try:
            evaluate(mod).run(next(iter(mod.functions)).name_hint, args)
        except Exception as error:
            raise AssertionError(f"{error}\n{mod}") from error
        seen.add(str(func.ret_ty))
    assert len(seen) > 1 or op.name in ONE_TYPE


ONE_TYPE = frozenset({"nonzero", "size"})
"""Operators whose result has one type only."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A call for which this TVM does not do what its documentation says."""

    op: str
    when: Callable[[relax.Call], bool]
    what: str


DIFFERENCES = (
    Difference(
        "argmax",
        lambda call: str(call.args[0].ty.dtype) == "uint8",
        "the reduction starts with index -1 at the least value, which then wins over equal ones",
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
        lambda call: str(call.args[0].ty.dtype) == "float16",
        "LegalizeOps returns float32 for float16",
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
    Difference(
        "nn.rms_norm",
        lambda call: len(call.attrs.axes) == call.args[0].ty.ndim,
        "LegalizeOps fails over all axes: dimension mismatch in read",
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
        "nn.pixel_shuffle",
        lambda call: True,
        "LegalizeOps fails: topi.nn has no pixel_shuffle",
    ),
)


def symbolic(call: relax.Call) -> bool:
    return not all(isinstance(dim, tirx.IntImm) for dim in call.args[0].ty.shape.values)


def difference(op: Op, func: relax.Function) -> Difference | None:
    call = called(op, func)
    return next((d for d in DIFFERENCES if d.op == op.name and d.when(call)), None)


def called(op: Op, func: relax.Function) -> relax.Call:
    registered = tvm.ir.Op.get(f"relax.{op.name}")
    values = [b.value for block in func.body.blocks for b in block.bindings]
    return next(v for v in values if isinstance(v, relax.Call) and v.op == registered)


EXECUTED = range(4)
"""Examples of each operator that are built and run."""

STATIC = frozenset({Trait.DTYPES, Trait.CONSTANTS})


@pytest.mark.parametrize("family", FAMILIES)
def test_family_executes(family: str) -> None:
    """What the VM computes is what the references compute, within tolerance."""
    module = ModuleScope(STATIC)
    chosen: dict[str, tuple[Op, int]] = {}
    for op in FAMILIES[family]:
        if op.executes:
            for number in EXECUTED:
                chosen[add_function(op, number, module)] = (op, number)
    functions = {
        gvar: func
        for gvar, func in module.functions.items()
        if difference(chosen[gvar.name_hint][0], func) is None
    }
    wrong = [
        f"{functions[gvar]}\n{reason}"
        for gvar, reason in disagreements(
            functions, {gvar: chosen[gvar.name_hint] for gvar in functions}
        ).items()
    ]
    assert not wrong, "\n".join(wrong)


def disagreements(
    functions: Mapping[relax.GlobalVar, relax.Function],
    ops: Mapping[relax.GlobalVar, tuple[Op, int]],
) -> dict[relax.GlobalVar, str]:
    """Where the VM and the references differ; one build serves a batch of functions."""
    mod = tvm.IRModule(functions)
    evaluator = evaluate(mod)
    args = {gvar: inputs(op, mod[gvar], number) for gvar, (op, number) in ops.items()}
    wrong = {}
    for batch in batches(ops):
        part = tvm.IRModule({gvar: functions[gvar] for gvar in batch})
        actuals = execute(part, [call(gvar, args[gvar]) for gvar in batch])
        assert isinstance(actuals, list), actuals
        for gvar, actual in zip(batch, actuals, strict=True):
            expected = evaluator.run(gvar.name_hint, args[gvar])
            failed = isinstance(actual, Failure)
            if failed or not agree(ops[gvar][0], actual, expected):
                wrong[gvar] = f"for {args[gvar]}\nexpected {expected}\ngot {actual}"
    return wrong


def batches(ops: Mapping[relax.GlobalVar, tuple[Op, int]]) -> Iterator[list[relax.GlobalVar]]:
    gvars = list(ops)
    return (gvars[start : start + BATCH] for start in range(0, len(gvars), BATCH))


def call(gvar: relax.GlobalVar, args: list[Any]) -> Plan:
    return lambda run: run(gvar.name_hint, args)


@pytest.mark.parametrize("known", DIFFERENCES, ids=lambda known: known.op)
def test_known_difference(known: Difference) -> None:
    """TVM still differs; where it does not any more, the entry has to go."""
    op = table[known.op]
    found = 0
    for number in range(400):
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


def differs(
    known: Difference,
    functions: Mapping[relax.GlobalVar, relax.Function],
    ops: Mapping[relax.GlobalVar, tuple[Op, int]],
) -> bool:
    if "LegalizeOps fails" not in known.what:
        return bool(disagreements(functions, ops))
    with pytest.raises((AttributeError, TypeError, ValueError, RuntimeError)):
        relax.transform.LegalizeOps()(tvm.IRModule(functions))
    # A tag scope that an exception leaves stays open, and no other can be opened after it.
    tvm.te.tag.TagScope._current = None
    return True


def agree(op: Op, actual: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(actual) == len(expected) and all(
            agree(op, a, e) for a, e in zip(actual, expected, strict=True)
        )
    if isinstance(expected, int):
        return bool(actual == expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "iub":
        return bool(np.array_equal(actual, expected))
    bound = getattr(op.tolerance, expected.dtype.name, op.tolerance.float16)
    return bool(
        np.allclose(
            actual.astype("float64"), expected.astype("float64"), bound, bound, equal_nan=True
        )
    )


def test_duplicates_are_refused() -> None:
    first = next(iter(table.values()))
    with pytest.raises(ValueError, match=f"two of '{first.name}', the second in 'b'"):
        _tabulate({"a": (first,), "b": (first,)})


def test_table_is_read_only() -> None:
    with pytest.raises(TypeError):
        table["add"] = table["abs"]  # type: ignore[index]
