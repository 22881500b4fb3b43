"""Findings of a user's pass: one fault is one row, in whatever form it shows; two are two rows.

All findings are real: what the oracles report of specimens and of a few passes more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED
from relaxfuzz.fuzz.findings.dedup import place
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.evidence import evidence_of
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent
from tests.specimens.table import SPECIMENS


def finding(name: str, mod: tvm.IRModule, oracle: str) -> Finding:
    """The first violation of this oracle by the pass on this module, which is the smallest."""
    own = PassCall(f"{name}()", factory=f"{PASSES}:{name}")
    call = SPECIMENS[name].call if name in SPECIMENS else own
    return Finding(
        violation=check(Case(mod, (call,)), oracles=(oracle,))[0],
        module=save_json(mod),
        versions=versions(),
        calls=(call,),
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=False),
    )


PASSES = Path(__file__).parents[1] / "user_passes.py"


def rows(folder: Path, *findings: Finding) -> int:
    """The number of rows that they are, in whichever order they come."""
    found = set()
    for number, order in enumerate((findings, findings[::-1])):
        with Store(folder / str(number)) as store:
            for each in order:
                store.put(each)
                place(store, each)
            found.add(len(store.rows.all()))
    assert len(found) == 1, "the order does not matter"
    return found.pop()


def of_calls(
    *calls: Callable[..., relax.Expr],
    types: tuple[relax.Type, ...] = (relax.TensorType((2, 2), "float32"),),
    dataflow: bool = False,
) -> tvm.IRModule:
    """main(x0, ...): each call on all parameters; the last is returned."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        if dataflow:
            with builder.dataflow():
                for call in calls[:-1]:
                    builder.emit(call(*params))
                result = builder.emit_output(calls[-1](*params))
        else:
            for call in calls:
                result = builder.emit(call(*params))
        builder.emit_func_output(result)
    return builder.get()


def normed(axes: list[int]) -> tvm.IRModule:
    def call(x: relax.Var, scale: relax.Var) -> relax.Expr:
        return relax.op.nn.layer_norm(x, scale, scale, axes=axes)

    shape = (2,) * len(axes)
    types = relax.TensorType((2, 2), "float32"), relax.TensorType(shape, "float32")
    return of_calls(call, types=types)


def unknown(call: Callable[..., relax.Expr]) -> tvm.IRModule:
    return of_calls(call, types=(relax.TensorType(dtype="float32", ndim=2),))


def fma(x: relax.Var) -> relax.Expr:
    return relax.op.ewise_fma(x, x, x)


@pytest.mark.parametrize(
    ("name", "oracle", "one", "other"),
    [
        pytest.param(*each, id=name)
        for name, each in {
            "a line that raises this or that": (
                "decomposes_layer_norm",
                "crash",
                normed([0, 1]),
                normed([]),
            ),
            "another operator that is left": (
                "legalize_skips_in_silence",
                "lowering-complete",
                unknown(relax.op.exp),
                unknown(fma),
            ),
        }.items()
    ],
)
def test_where_a_users_pass_meets_it_is_an_accident(
    name: str, oracle: str, one: tvm.IRModule, other: tvm.IRModule, tmp_path: Path
) -> None:
    found = finding(name, one, oracle), finding(name, other, oracle)
    assert found[0].id != found[1].id
    assert rows(tmp_path, *found) == 1


def pooled(x: relax.Var) -> relax.Expr:
    return relax.op.nn.adaptive_avg_pool2d(x, 1, "NCHW", "NHWC")


IMAGE = (relax.TensorType((2, 2, 2, 2), "float32"),)


def test_a_module_that_holds_the_smallest_one_of_a_fault_shows_it(tmp_path: Path) -> None:
    """A type that is wrong is reported of a binding, or, in a dataflow block, of the function."""
    ill_formed = finding("GlobalPoolAsMean", of_calls(pooled, types=IMAGE), "well-formed")
    several = of_calls(pooled, pooled, types=IMAGE, dataflow=True)
    interface = finding("GlobalPoolAsMean", several, "signature")
    assert rows(tmp_path / "parts", ill_formed, interface) == 1
    # Of one that could be smaller it is presumed.
    larger = dataclasses.replace(interface, reduced=False)
    assert rows(tmp_path / "larger", ill_formed, larger) == 1


def test_what_tvms_rewriter_does_in_a_users_pass_is_its_known_bug() -> None:
    branch = execute(SHIPPED / "rewrite-call-if-symbolic-shape.py")
    raised = finding("GlobalPoolAsMean", branch, "crash")
    assert Choice().load(versions()["tvm"]).take(raised)
    # What the pass itself does wrong, no record of TVM excuses.
    own = finding("GlobalPoolAsMean", of_calls(pooled, types=IMAGE), "well-formed")
    assert not Choice().load(versions()["tvm"]).take(own)


def test_what_shows_a_wrong_value_is_an_accident(tmp_path: Path) -> None:
    """Both modules need the call that the pass drops; each sees in its own way that it is gone."""

    @I.ir_module
    class Alone:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.print(x, format="{}")
            return x

    @I.ir_module
    class WithMore:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.print(x, format="{}")
            return R.negative(x)

    found = [finding("drop_unused_calls", mod, "effects") for mod in (Alone, WithMore)]
    # As an oracle of values would report it of two operators.
    keyed = [
        dataclasses.replace(
            each, violation=dataclasses.replace(each.violation, key=("values", operator))
        )
        for each, operator in zip(found, ("relax.print", "relax.negative"), strict=True)
    ]
    assert rows(tmp_path, *keyed) == 1
    other = dataclasses.replace(keyed[1], evidence=None, made_of=("If",), reduced=False)
    assert rows(tmp_path / "other", keyed[0], other) == 2


def test_what_one_line_of_the_pass_makes_tvm_raise_is_one_row(tmp_path: Path) -> None:
    unknown = (relax.TensorType((2, 2), ""),)
    zeros, ones = (
        finding("lower_likes", of_calls(like, types=unknown), "crash")
        for like in (relax.op.zeros_like, relax.op.ones_like)
    )
    assert zeros.violation.place != ones.violation.place
    assert rows(tmp_path, zeros, ones) == 1
