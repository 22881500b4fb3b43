"""Pipelines of the user's, step by step, and factories with arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm

from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.passcall import is_users, own, parse, steps_inside

TEXT = """
import tvm
from tvm import relax


@tvm.transform.module_pass(opt_level=0, name="Mine")
def mine(mod, context):
    return mod


def listed():
    return tvm.transform.Sequential([relax.transform.FuseTIR(), tvm.transform.Sequential([mine])])


def around():
    return tvm.transform.Sequential([mine, relax.get_pipeline("zero"), mine])


@tvm.transform.module_pass(opt_level=0, name="whole")
def called(mod, context):
    mod = tvm.transform.Sequential([relax.transform.LegalizeOps(), mine])(mod)
    return relax.transform.ToNonDataflow()(mod)


def make(level, name="none"):
    return relax.transform.FuseOps(level)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "build.py"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("listed", ["FuseTIR", "Mine"]),
        ("called", ["LegalizeOps", "Mine", "ToNonDataflow"]),
        ("mine", ["Mine"]),
        ("around", ["Mine", *(call.name for call in pipelines.steps("zero")), "Mine"]),
    ],
)
def test_the_steps_of_a_pipeline(file: Path, name: str, expected: list[str]) -> None:
    steps = pipelines.steps(f"{file}:{name}")
    assert [call.name for call in steps] == expected
    assert [str(call.build().info.name) for call in steps] == expected


def test_the_call_of_a_pass_is_what_it_was(file: Path) -> None:
    before = tvm.transform.Pass.__call__
    steps_inside(parse(f"{file}:called").build())
    assert tvm.transform.Pass.__call__ is before


def test_a_step_of_tvms_keeps_the_contract_of_the_catalogue(file: Path) -> None:
    legalize, mine, _ = pipelines.steps(f"{file}:called")
    assert (is_users(legalize), is_users(mine)) == (False, True)
    assert contract_of(legalize).relation is contract_of(parse("LegalizeOps")).relation


def test_the_source_of_a_step_gives_it(file: Path) -> None:
    step = pipelines.steps(f"{file}:listed")[1]
    needs, made = step.source()
    names: dict[str, object] = {}
    exec("\n".join(needs), names)
    found = eval(made, names)
    assert isinstance(found, tvm.transform.Pass)
    assert str(found.info.name) == "Mine"


def test_a_factory_takes_literal_arguments(file: Path) -> None:
    call = parse(f"{file}:make(2, name='a:b')")
    assert own(call.factory or "") == (str(file), "make", "(2, name='a:b')", None)
    assert (call.name, str(call)) == ("make", "make(2, name='a:b')")
    assert str(call.build().info.name) == "FuseOps"
    needs, made = call.source()
    names: dict[str, object] = {}
    exec("\n".join(needs), names)
    assert str(eval(made, names).info.name) == "FuseOps"


@pytest.mark.parametrize(("name", "expected"), [("listed", False), ("default", True)])
def test_what_does_not_lower_is_followed_by_the_default(
    file: Path, name: str, expected: bool
) -> None:
    spelled = name if name == "default" else f"{file}:{name}"
    assert pipelines.lowers(spelled) is expected


def test_the_pipeline_for_kernels() -> None:
    names = [call.name for call in pipelines.steps("s_tir")]
    assert names[0] == "tirx.BindTarget"
    assert names.index("s_tir.LowerInitBlock") < names.index("tirx.FlattenBuffer")
