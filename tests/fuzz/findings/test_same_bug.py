"""Which findings are one bug: pairs that must be one row, pairs that must not.

All findings are real: what the oracles report of TVM's own passes on these modules.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.dedup import by_row, place
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.evidence import evidence_of
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.catalogue.common import MUTATOR
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent
from tests.fuzz.changed import changed


def of_call(
    call: Callable[..., relax.Expr],
    *types: relax.Type,
    then: Callable[[relax.Expr], relax.Expr] | None = None,
) -> tvm.IRModule:
    """main(x0, x1, ...): the call, and another one on its result."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            value = builder.emit(call(*params))
            output = builder.emit_output(value if then is None else then(value))
        builder.emit_func_output(output)
    return builder.get()


def tensor(*shape: int, dtype: str = "float32") -> relax.Type:
    return relax.TensorType(shape, dtype)


def unknown(dtype: str = "float32") -> relax.Type:
    return relax.TensorType(dtype=dtype, ndim=2)


def resize(mod_dims: int, size: tuple[int, ...]) -> tvm.IRModule:
    op = relax.op.image.resize2d if mod_dims == 2 else relax.op.image.resize3d
    layout = "NCHW" if mod_dims == 2 else "NCDHW"
    roi = (0.0,) * (2 * mod_dims)
    size_of = relax.ShapeExpr(size)
    resized = functools.partial(
        op,
        size=size_of,
        roi=roi,
        layout=layout,
        method="linear",
        coordinate_transformation_mode="align_corners",
    )
    return of_call(resized, tensor(1, 1, *(3,) * mod_dims))


def empty_mean() -> tvm.IRModule:
    return of_call(functools.partial(relax.op.mean, axis=[-1]), tensor(2, 0))


def eye(then: Callable[[relax.Expr], relax.Expr] | None = None) -> tvm.IRModule:
    made = functools.partial(relax.op.eye_like, dtype="int64")
    return of_call(made, tensor(2, 2, dtype="float64"), then=then)


def kept(name: str) -> tvm.IRModule:
    """The module of a bug in the corpus."""
    return execute(SHIPPED / f"{name}.py")


def finding(mod: tvm.IRModule, expr: str, oracle: str) -> Finding:
    """The first violation of this oracle by the pass on this module, which is the smallest."""
    call = PassCall(expr)
    return Finding(
        violation=check(Case(mod, (call,)), oracles=(oracle,))[0],
        module=save_json(mod),
        versions=versions(),
        calls=(call,),
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=True),
    )


def typed_otherwise(mod: tvm.IRModule) -> Finding:
    return finding(mod, "LegalizeOps()", "signature")


def refused(op: Callable[..., relax.Expr]) -> Finding:
    """The legalization of an operator refuses what that of eye_like gives."""
    return finding(eye(lambda x: op(x, x)), "LegalizeOps()", "crash")


def norm(expr: str) -> Finding:
    of_vector = functools.partial(relax.op.nn.rms_norm, axes=[-1])
    return finding(of_call(of_vector, tensor(4), tensor(4)), expr, "crash")


def left(op: Callable[..., relax.Expr]) -> Finding:
    return finding(of_call(op, unknown()), "LegalizeOps()", "lowering-complete")


def folded(op: Callable[..., relax.Expr], dtype: str = "float32") -> Finding:
    return finding(of_call(op, unknown(dtype)), "FoldConstant()", "crash")


def unreadable(oracle: str) -> Finding:
    empty = functools.partial(relax.op.zeros, relax.ShapeExpr([2, 0]), "float32")
    return finding(of_call(empty), "FoldConstant()", oracle)


def out_of_range(op: Callable[..., relax.Expr]) -> Finding:
    return finding(of_call(op, tensor(4, dtype="float64")), "LegalizeOps()", "tvmscript")


@I.ir_module
class Compared:
    """The Analyzer subtracts the sides of the comparison, and 0 - 2 is no unsigned number."""

    @T.prim_func
    def main():
        T.evaluate(T.LT(T.uint32(0), T.uint32(2)))


@I.ir_module
class Guarded:
    @T.prim_func
    def main(A: T.Buffer((1,), "uint32")):
        if T.LT(T.uint32(0), T.uint32(2)):
            A[0] = T.uint32(0)


@I.ir_module
class Let:
    """The value of a variable that an expression binds is left as it is."""

    @T.prim_func
    def main(B: T.Buffer((1,), "float32")):
        A = T.alloc_buffer((1,), "bfloat16", layout=None)
        t = T.float32()
        B[0] = T.Let(t, where={t: T.Cast("float32", A[0])})


@I.ir_module
class Bind:
    """The same of a statement; a sum is an accident."""

    @T.prim_func
    def main(B: T.Buffer((1,), "float32")):
        A = T.alloc_buffer((1,), "bfloat16", layout=None)
        t: T.let[T.float32] = T.Cast("float32", A[0] + A[0])
        B[0] = t


def without_elements(reduced: Callable[..., relax.Expr]) -> Finding:
    open_shape = relax.TensorType([tvm.tirx.Var("n", "int64")], "float32")
    return finding(of_call(reduced, open_shape), "LegalizeOps()", "sanitized")


PART = "CanonicalizeBindings"
"""A pass that others run, too."""

Pair = tuple[Finding, Finding]

SAME: dict[str, Callable[[], Pair]] = {
    "one legalization, under two passes": lambda: (norm("FoldConstant()"), norm("LegalizeOps()")),
    "one helper of two operators divides": lambda: (
        finding(resize(2, (1, 1)), "FoldConstant()", "crash"),
        finding(resize(3, (1, 1, 1)), "LegalizeOps()", "crash"),
    ),
    "arithmetic, under two passes": lambda: (
        finding(Compared, "s_tir.transform.StmtSimplify()", "crash"),
        finding(Guarded, "s_tir.transform.CompactBufferAllocation()", "crash"),
    ),
    "what is not known of operands is passed over": lambda: (
        left(relax.op.exp),
        left(relax.op.sin),
    ),
    "what is not known of operands raises": lambda: (
        folded(relax.op.exp),
        folded(relax.op.zeros_like),
    ),
    "another type, and who refuses it": lambda: (
        typed_otherwise(eye()),
        refused(relax.op.bitwise_and),
    ),
    "a reduction over nothing, of any operator": lambda: (
        without_elements(relax.op.sum),
        dataclasses.replace(without_elements(relax.op.argmin), first_id="other"),
    ),
    "the value of a variable, however it is bound": lambda: (
        finding(Let, "tirx.transform.BF16ComputeLegalize()", "well-formed"),
        dataclasses.replace(
            finding(Bind, "tirx.transform.BF16ComputeLegalize()", "well-formed"), first_id="other"
        ),
    ),
    "whoever refuses another type": lambda: (
        refused(relax.op.bitwise_and),
        refused(relax.op.bitwise_or),
    ),
}

OTHERS: dict[str, Callable[[], Pair]] = {
    "a division by zero in another legalization": lambda: (
        finding(resize(2, (1, 1)), "LegalizeOps()", "crash"),
        finding(empty_mean(), "LegalizeOps()", "crash"),
    ),
    "another pass that legalizes what is not known": lambda: (
        folded(relax.op.tanh),
        finding(of_call(relax.op.tanh, unknown()), "FastMathTransform()", "crash"),
    ),
    "passed over and legalized": lambda: (left(relax.op.exp), folded(relax.op.exp)),
    "another operator of another type": lambda: (
        typed_otherwise(eye()),
        typed_otherwise(kept("legalize-attention-float16")),
    ),
    # Reports that look alike have one id, as long as nobody knows their modules.
    "one operator of another type in another respect": lambda: (
        typed_otherwise(kept("median-keepdims")),
        dataclasses.replace(typed_otherwise(kept("median-several-axes")), first_id="other"),
    ),
    "another check of the reader": lambda: (
        unreadable("tvmscript"),
        out_of_range(relax.op.argmin),
    ),
    "another place in the pass": lambda: (
        finding(kept("merge-composite-only-main"), "MergeCompositeFunctions()", "crash"),
        finding(kept("merge-composite-match-cast"), "MergeCompositeFunctions()", "crash"),
    ),
    "impure and force_pure": lambda: (
        finding(kept("lazy-set-output-dataflow"), "LazySetOutput()", "well-formed"),
        finding(kept("lazy-set-output-force-pure"), "LazySetOutput()", "well-formed"),
    ),
}


def rows(folder: Path, *findings: Finding) -> list[int]:
    """The number of findings of each row, in whichever order they come."""
    assert len({each.id for each in findings}) == len(findings)
    found = []
    for number, order in enumerate((findings, findings[::-1])):
        with Store(folder / str(number)) as store:
            for each in order:
                store.put(each)
                place(store, each)
            found.append(sorted(map(len, by_row(store, findings).values())))
    assert found[0] == found[1], "the order does not matter"
    return found[0]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=name) for name, pair in SAME.items()])
def test_one_bug_is_one_row(pair: Callable[[], Pair], tmp_path: Path) -> None:
    assert rows(tmp_path, *pair()) == [2]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=name) for name, pair in OTHERS.items()])
def test_two_bugs_are_two_rows(pair: Callable[[], Pair], tmp_path: Path) -> None:
    assert rows(tmp_path, *pair()) == [1, 1]


def test_the_line_that_raises_is_an_accident() -> None:
    one = refused(relax.op.bitwise_and)
    moved = changed(one, place="tirx/op/op.cc:1")
    assert (moved.id, moved.identity) == (one.id, one.identity)


def test_what_a_pass_inside_does_alone_is_its_own(pool: LocalPool, tmp_path: Path) -> None:
    """The part is blamed for both."""
    mod = kept("canonicalize-match-cast-to-number")
    found = [finding(mod, f"{each}()", "crash") for each in ("KillAfterLastUse", PART)]
    assert [each.pass_name for each in found] == ["KillAfterLastUse", PART]
    found = [dataclasses.replace(each, evidence=take_evidence(pool, each)) for each in found]
    assert [each.identity.blamed for each in found] == [(PART,), (PART,)]
    assert rows(tmp_path, *found) == [2]


def test_a_mutator_that_changes_nothing_shows_what_all_of_them_do(
    pool: LocalPool, tmp_path: Path
) -> None:
    mod = kept("if-of-number-parameter-shape")
    found = [finding(mod, f"{each}()", "crash") for each in ("FastMathTransform", "LambdaLift")]
    found = [dataclasses.replace(each, evidence=take_evidence(pool, each)) for each in found]
    assert [each.identity.blamed for each in found] == [(MUTATOR,), (MUTATOR,)]
    assert rows(tmp_path, *found) == [2]


def test_an_oracle_may_blame_a_pass_inside_itself() -> None:
    mod = kept("canonicalize-match-cast-of-parameter-dimension")
    outer = finding(mod, "ConvertToDataflow(min_size=1)", "well-formed")
    inner = finding(mod, f"{PART}()", "well-formed")
    assert outer.pass_name == inner.pass_name == PART
    assert (outer.id, outer.identity) == (inner.id, inner.identity)


def test_a_pass_is_blamed_for_what_its_parts_do_not_show_alone(pool: LocalPool) -> None:
    found = finding(eye(), "LegalizeOps()", "signature")
    outer = changed(found, pass_name="KillAfterLastUse", calls=(PassCall("KillAfterLastUse()"),))
    evidence = take_evidence(pool, outer)
    assert evidence is not None
    assert evidence.inside == ""


def test_a_module_that_is_not_minimized_shows_a_bug_if_it_has_what_that_needs(
    tmp_path: Path,
) -> None:
    mod = kept("renormalize-split-wrapping-product")
    least = finding(mod, "s_tir.transform.RenormalizeSplitPattern()", "evaluated")
    assert least.evidence is not None
    needed = least.evidence.ingredients
    large = dataclasses.replace(least, reduced=False, evidence=None)
    with Store(tmp_path) as store:
        assert place(store, least) == least.id
        for id, made_of, row in (
            ("less", needed[1:], "less"),
            ("more", (*needed, "Select"), least.id),
        ):
            assert place(store, dataclasses.replace(large, first_id=id, made_of=made_of)) == row
