"""What the code of a pass names."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.dpl import is_op, is_tuple, wildcard

from relaxfuzz.fuzz.loading.targets import Relaxations, targets
from relaxfuzz.fuzz.process.targets import Named
from relaxfuzz.fuzz.user_input.named import INTEGERS, names_in, names_of
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.passcall import parse, public_passes

DRAFTS = Path(__file__).parents[1] / "drafts" / "drafts.py"


def of(name: str) -> Named:
    return names_of(parse(f"{DRAFTS}:{name}"))


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("MergeClips", ("clip",)),
        ("log_of_softmax", ("log", "nn.softmax")),  # by a helper in another file
        ("makes_log_of_softmax", ("log", "nn.softmax")),
        ("use_rsqrt", ("sqrt", "divide")),
        ("fuse_matmul", ("matmul", "add", "nn.relu")),
        ("drop_rounding", ("floor", "ceil")),  # a table in another file
        ("look_at_nodes", ()),
        ("shy", ("abs",)),
        ("misspell", ()),
    ],
)
def test_operators_that_a_pass_looks_for(name: str, ops: tuple[str, ...]) -> None:
    assert of(name).ops == ops


def test_patterns_give_chains() -> None:
    assert of("fuse_matmul").chains == (("matmul", "add", "nn.relu"),)
    # A pattern that only the code has: which operator comes first is open.
    assert of("use_rsqrt").chains == (("sqrt", "divide"), ("divide", "sqrt"))
    either = is_op("relax.exp")(wildcard()) | is_op("relax.log")(wildcard())
    pattern = is_op("relax.add")(either, is_tuple([is_op("relax.abs")(wildcard())]))
    assert set(names_in(pattern).chains) == {("exp", "add"), ("log", "add"), ("abs", "add")}


def test_nodes_and_attributes_of_functions_stand_for_traits() -> None:
    assert set(of("look_at_nodes").traits) == {Trait.IF, Trait.MATCH_CAST, Trait.COMPOSITE}


def test_types_of_values_stand_for_traits() -> None:
    def sizes(func):  # type: ignore[no-untyped-def]
        kinds = relax.TupleType, relax.ShapeType, relax.FuncType, tvm.ir.PrimType
        return isinstance(func.ret_ty, kinds) or isinstance(func, relax.ExternFunc)

    expected = {
        *(Trait.TUPLES, Trait.SHAPE_VALUES, Trait.FUNCTION_VALUES, Trait.NUMBERS),
        Trait.EXTERN_FUNCS,
    }
    assert expected <= set(names_in(sizes).traits)


def test_patterns_of_nodes_stand_for_traits() -> None:
    def matches():  # type: ignore[no-untyped-def]
        from tvm.relax.dpl import is_const

        return is_op("relax.add")(wildcard(), is_const())

    traits = (Trait.CONSTANTS, Trait.UNIFORM_CONSTANTS, Trait.BOUND_PARAMS)
    assert names_in(matches).traits == traits


def test_numbers_in_the_code_and_in_what_it_refers_to() -> None:
    def splits(call):  # type: ignore[no-untyped-def]
        size = call.args[0].ty.shape[0]
        return int(size) > 16 and call.attrs.alpha == 2.5 and call.attrs.axis == 1

    assert names_in(splits).numbers == (16, 2.5)
    assert names_in(splits, {"LIMIT": 128}).numbers == (16, 2.5)


def test_divisions_of_integers_stand_for_their_dtypes() -> None:
    def masks(func):  # type: ignore[no-untyped-def]
        return tvm_ffi.structural_map(func, (tirx.FloorMod, lambda op: op))

    assert names_in(masks).dtypes == INTEGERS
    assert names_in(lambda func: tirx.Add).dtypes == ()


def test_members_of_enumerations_are_no_numbers() -> None:
    def stops(call):  # type: ignore[no-untyped-def]
        return int(call.args[0]) > 40 and not signal.SIGTERM

    assert names_in(stops, {"signal": signal}).numbers == (40,)


def test_an_annotation_is_nothing_that_a_pass_looks_for() -> None:
    def outer() -> None:
        def small(call: relax.Call) -> bool:
            return call.args[0].ty.dtype == "int8"

        small(relax.Call)

    assert names_in(outer).dtypes == ("int8",)


def test_operators_by_functions_and_parts_of_names() -> None:
    def taking_apart(call):  # type: ignore[no-untyped-def]
        return call.op.name.split(".")[-1] in ("sum", "softmax")

    def whole(sum):  # type: ignore[no-untyped-def]
        return sum == "main" or "conv2d" in sum.op.name

    def imports(x):  # type: ignore[no-untyped-def]
        from tvm.relax.op import nn
        from tvm.relax.op import sort as ordered

        return ordered(nn.relu(x))

    assert names_in(taking_apart).ops == ("sum", "nn.softmax")
    assert names_in(whole).ops == ("nn.conv2d",)
    assert names_in(imports).ops == ("sort", "nn.relu")


def test_what_is_installed_is_not_followed() -> None:
    from tvm.relax.transform import LegalizeOps

    def uses(mod):  # type: ignore[no-untyped-def]
        from tvm.relax.transform import FuseTransposeMatmul

        return FuseTransposeMatmul()(LegalizeOps()(mod))

    assert names_in(uses) == Named(bindings=True)


def test_passes_of_tvm_are_read_where_they_are_python() -> None:
    found = {name: names_of(parse(name)) for name in public_passes()}
    assert {"permute_dims", "matmul"} <= set(found["FuseTransposeMatmul"].ops)
    assert {"exp", "erf", "tanh", "nn.softmax"} <= set(found["FastMathTransform"].ops)
    assert found["FuseOps"] == Named()
    assert all(op in table for names in found.values() for op in names.ops)


@pytest.mark.parametrize("spellings", [(), ("tirx.FP8StorageLegalize",)])
def test_what_a_contract_looks_for_is_named_however_its_pass_is_chosen(
    spellings: tuple[str, ...],
) -> None:
    found = {each.name: each.named for each in targets(spellings, Relaxations(), family="tensorir")}
    assert "float8_e5m2" in found["tirx.FP8StorageLegalize"].dtypes


SEVERAL = """\
import tvm
from tvm import relax, tirx


def of(op):
    @tvm.transform.module_pass(opt_level=0)
    def apply(mod, ctx):
        for call in relax.analysis.udchain(mod["main"]):
            if call.op == tvm.ir.Op.get(op):
                return mod
        return mod

    return apply


first = of("relax.exp")
second: tvm.transform.Pass = of("relax.log")
"""


def test_one_of_several_passes_in_a_file_names_what_its_own_statement_does(tmp_path: Path) -> None:
    file = tmp_path / "several.py"
    file.write_text(SEVERAL)
    assert [names_of(parse(f"{file}:{name}")).ops for name in ("first", "second")] == [
        ("exp",),
        ("log",),
    ]
