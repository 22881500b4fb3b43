"""Reductions of PrimFuncs drop what may go, and leave what is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.minimize import kernels_tree as tree
from relaxfuzz.fuzz.minimize.kernels import kernels, rebuilt, with_kernels
from relaxfuzz.fuzz.minimize.kernels_blocks import drop_axes, plain_kernels, shrink_extents
from relaxfuzz.fuzz.minimize.kernels_bodies import (
    drop_definitions,
    drop_statements,
    most_bodies_trivial,
    simplify_expressions,
    unwrap,
    zero_values,
)
from relaxfuzz.fuzz.minimize.kernels_buffers import (
    drop_buffers,
    drop_kernel_params,
    plain_buffers,
    shrink_buffers,
)
from relaxfuzz.fuzz.minimize.reduction import Reduction
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import calls_of, nodes

ALL: tuple[Reduction, ...] = (
    most_bodies_trivial,
    drop_kernel_params,
    drop_statements,
    drop_buffers,
    drop_definitions,
    unwrap,
    zero_values,
    shrink_extents,
    plain_kernels,
    drop_axes,
    plain_buffers,
    shrink_buffers,
    simplify_expressions,
)

SCRIPT = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def total(A: T.Buffer((T.int64(4), T.int64(8)), "float32"),
              w: T.Buffer((T.int64(4),), "float32"),
              B: T.Buffer((T.int64(4),), "float32", elem_offset=T.int64(0), align=8)):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            C = T.sblock_alloc_buffer((T.int64(4), T.int64(8)), "float32")
            for i, j in T.grid(T.int64(4), T.int64(8)):
                with T.sblock("twice"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.exp(A[vi, vj]) * w[vi]
            for i in T.parallel(T.int64(4)):
                for j in range(T.int64(8)):
                    with T.sblock("sum"):
                        vi, vj = T.axis.remap("SR", [i, j])
                        T.sblock_attr({"hint": 1})
                        with T.init():
                            B[vi] = T.float32(0)
                        B[vi] = B[vi] + C[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def first(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("copy"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = T.sin(A[vi])

    @T.prim_func(private=True, s_tir=True)
    def second(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("copy"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = T.sin(A[vi])

    @T.prim_func(private=True, s_tir=True)
    def third(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("negative"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = T.float32(0) - A[vi]

    @T.prim_func(private=True, s_tir=True)
    def any_size(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("copy"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.total, (x, w), out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.first, (a,), out_ty=R.Tensor((4,), "float32"))
            c = R.call_tir(cls.second, (b,), out_ty=R.Tensor((4,), "float32"))
            d = R.call_tir(cls.third, (c,), out_ty=R.Tensor((4,), "float32"))
            e = R.call_tir(cls.any_size, (d,), out_ty=R.Tensor((4,), "float32"))
            R.output(e)
        return e
"""

STATEMENTS = """
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32):
        k: T.let[T.int32] = n + 1
        D = T.alloc_buffer((4,), "int32")
        T.attr(0, "pragma", 1)
        assert n > 0, "positive"
        for i in range(4):
            D[i] = A[i] + k
            if i < 2:
                B[i] = T.max(D[i], T.if_then_else(n > 2, A[i] * 3, k))
            else:
                B[i] = A[i]
        while B[0] < 10:
            B[0] = B[0] + 1
            B[1] = T.Cast("int32", T.Cast("int64", A[1]))
"""


def module(tmp_path: Path, text: str) -> tvm.IRModule:
    (tmp_path / "script.py").write_text(text)
    return execute(tmp_path / "script.py")


@pytest.fixture
def mod(tmp_path: Path) -> tvm.IRModule:
    return module(tmp_path, SCRIPT)


@pytest.fixture
def statements(tmp_path: Path) -> tvm.IRModule:
    return module(tmp_path, STATEMENTS)


def reduced(
    mod: tvm.IRModule, needed: Callable[[tvm.IRModule], bool], *reductions: Reduction
) -> tvm.IRModule:
    assert needed(mod)
    small = minimize(mod, needed, reductions=reductions, seconds=60)
    assert flaw(small) is None
    assert needed(small)
    return small


def text_has(*texts: str) -> Callable[[tvm.IRModule], bool]:
    return lambda candidate: all(text in candidate.script() for text in texts)


def body(mod: tvm.IRModule, name: str = "kernel") -> list[str]:
    lines = mod[name].script().split("def ", 1)[1].splitlines()[1:]
    return [line.strip() for line in lines if "func_attr" not in line and "#" not in line]


def count(mod: tvm.IRModule, kind: type) -> int:
    return sum(len(nodes(func, kind)) for func in kernels(mod).values())


# Whole bodies and PrimFuncs


def test_bodies_that_do_not_matter_do_nothing(mod: tvm.IRModule) -> None:
    small = reduced(mod, lambda m: len(kernels(m)) == 5, most_bodies_trivial)
    assert all(body(small, name) == ["T.evaluate(0)"] for name in kernels(small))


def test_outputs_are_written_where_that_matters(mod: tvm.IRModule) -> None:
    def writes(m: tvm.IRModule) -> bool:
        return all(nodes(func, ir.BufferStore) for func in kernels(m).values())

    small = reduced(mod, writes, most_bodies_trivial)
    assert "B[v0] = T.float32(0.0)" in body(small, "total")
    assert count(small, ir.BufferStore) == 5


# Parameters


def test_parameters_go_with_their_arguments(mod: tvm.IRModule) -> None:
    small = reduced(mod, text_has("T.exp(A["), drop_kernel_params)
    assert [str(p.name) for p in small["total"].params] == ["A", "B"]
    assert [str(p.name) for p in small["first"].params] == ["B"]
    args = [len(call.args[1].fields) for call in calls_of(small["main"], "relax.call_tir")]
    assert args == [1, 0, 0, 0, 0]


# Statements and expressions


def test_one_store_is_left(statements: tvm.IRModule) -> None:
    small = reduced(
        statements, text_has("* 3"), drop_statements, drop_buffers, drop_definitions, unwrap
    )
    assert body(small) == ["B[0] = T.max(0, T.if_then_else(n > 2, A[0] * 3, 0))"]


def test_expressions_become_their_operands(statements: tvm.IRModule) -> None:
    small = reduced(statements, text_has("] * 3"), drop_statements, unwrap, simplify_expressions)
    assert body(small)[-1] == "B[0] = A[0] * 3"


def test_values_become_zeros(mod: tvm.IRModule) -> None:
    small = reduced(mod, text_has("T.exp("), zero_values)
    (exp,) = [s for s in nodes(small["total"], ir.BufferStore) if "exp" in str(s)]
    assert all(isinstance(index, tirx.IntImm) for index in exp.indices)
    assert "T.sin" not in small.script()


def test_a_chain_of_operators_may_be_as_long_as_it_likes() -> None:
    buffer, n = tirx.decl_buffer((1,), "int32", name="B"), tirx.Var("n", "int32")
    total = n
    for _ in range(3_000):
        total = ir.Add(total, n)
    func = tirx.PrimFunc([buffer, n], ir.BufferStore(buffer, total, [tirx.const(0, "int32")]))
    deep = tvm.IRModule({"kernel": func})

    def computes(m: tvm.IRModule) -> bool:
        return not isinstance(m["kernel"].body.value, tirx.IntImm)

    small = reduced(deep, computes, simplify_expressions)
    assert str(small["kernel"].body.value.name) == "n"


# Loops, blocks and buffers


def test_loops_and_blocks_become_plain(mod: tvm.IRModule) -> None:
    small = reduced(mod, text_has('T.sblock("sum")'), plain_kernels)
    blocks = nodes(small["total"], ir.SBlock)
    assert not any(len(block.annotations) or block.init is not None for block in blocks)
    loops = nodes(small["total"], ir.For)
    assert {int(loop.kind) for loop in loops} == {int(ir.ForKind.SERIAL)}


REGIONS = """
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("one"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi], B[vi])
                T.writes(A[vi], B[vi])
                B[vi] = T.float32(1)
"""


def test_a_block_says_what_it_accesses_and_no_more(tmp_path: Path) -> None:
    small = reduced(module(tmp_path, REGIONS), lambda m: True, plain_kernels)
    assert body(small)[3:] == ["T.reads(B[vi])", "T.writes(B[vi])", "B[vi] = T.float32(1.0)"]


def test_loops_run_once_and_their_blocks_follow(mod: tvm.IRModule) -> None:
    small = reduced(mod, lambda m: True, shrink_extents)
    for func in kernels(small).values():
        assert {int(loop.extent.value) for loop in nodes(func, ir.For)} == {1}
        axes = [axis for block in nodes(func, ir.SBlock) for axis in block.iter_vars]
        assert {int(axis.dom.extent.value) for axis in axes} == {1}


AXES = """
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(B: T.Buffer((4, 4), "float32")):
        for i in range(4):
            with T.sblock("one"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial((1, 3), 2)
                vk = T.axis.reduce(8, i)
                B[vi, vj] = T.float32(1)
"""


def test_variables_of_blocks_go(tmp_path: Path) -> None:
    small = reduced(module(tmp_path, AXES), lambda m: True, drop_axes)
    assert body(small)[2:] == [
        "vi = T.axis.spatial(4, i)",
        "T.reads()",
        "T.writes(B[vi, 2])",
        "B[vi, 2] = T.float32(1.0)",
    ]


def test_own_buffers_go(mod: tvm.IRModule) -> None:
    small = reduced(mod, text_has('T.sblock("sum")'), drop_buffers)
    assert "C" not in small["total"].script().split("def ")[1].replace("float32", "")
    assert body(small, "total")[-1] == "B[vi] = T.Add(B[vi], T.float32(0.0))"


def test_own_buffers_shrink(mod: tvm.IRModule) -> None:
    small = reduced(mod, lambda m: True, shrink_buffers)
    assert "C = T.sblock_alloc_buffer((T.int64(1), T.int64(1)))" in body(small, "total")


def test_buffers_become_plain(mod: tvm.IRModule) -> None:
    small = reduced(mod, lambda m: True, plain_buffers)
    assert "align" not in small.script()


# All reductions


@pytest.fixture(scope="module")
def generated() -> list[tvm.IRModule]:
    stages = (Stage.LEGALIZED, Stage.TIR_FUSED, Stage.REWRITTEN)
    return [example(ir_modules(stage=s), 29, index) for index in range(8) for s in stages]


@pytest.mark.parametrize("reduction", ALL, ids=lambda reduction: reduction.__name__)
def test_generated_modules_give_mostly_well_formed_candidates(
    generated: list[tvm.IRModule], reduction: Reduction
) -> None:
    made = good = 0
    for mod in generated:
        before = tvm.ir.save_json(mod)
        edits = list(reduction(mod))
        for edit in edits[:: 1 + len(edits) // 8]:
            candidate = edit()
            made += 1
            good += candidate is None or flaw(candidate) is None
        assert tvm.ir.save_json(mod) == before
    assert good >= made * 0.9, f"{good} of {made}"


def test_kernels_that_passes_made_ill_typed_are_reduced_too(mod: tvm.IRModule) -> None:
    """The constructor of a store refuses what TVM's own passes put into one."""

    def wide(store: tirx.BufferStore) -> tirx.BufferStore:
        kind = type(store).__tvm_ffi_type_info__
        fields = {field.name: getattr(store, field.name) for field in kind.fields}
        fields["value"] = tirx.exp(tirx.const(0.5, "float64") * 2.0)
        return tvm.ir.make_node(kind.type_key, **fields, span=None)

    old = mod["first"]
    numbered = {
        place.number: wide
        for place in tree.places(old.body)
        if isinstance(place.node, ir.BufferStore)
    }
    ill_typed = with_kernels(mod, {"first": rebuilt(old, tree.changed(old.body, numbered))})
    edits = [edit for reduce in ALL for edit in reduce(ill_typed)]
    assert len(edits) > 50
    for edit in edits:
        edit()
