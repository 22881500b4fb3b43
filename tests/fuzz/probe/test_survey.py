"""The trials, on the installed TVM and on one from which something was taken away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relaxfuzz.compat.availability import Availability
from relaxfuzz.compat.release import TVMUnsupported
from relaxfuzz.fuzz.probe.survey import Survey
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Limits
from relaxfuzz.fuzz.system.environment import Environment
from relaxfuzz.generators.families import DEFAULT, FAMILIES
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.tiers import ORACLES

CHANGES = """
import ctypes, os, time
import tvm
from tvm import relax

if os.environ.get("RELAXFUZZ_POOL"):  # in the zygote and its children
    del relax.op.abs
    relax.op.exp = lambda x: ctypes.string_at(0)
    relax.op.tan = lambda x: time.sleep(1000)
    relax.op.tanh = lambda y: relax.op.sin(y)
    del relax.transform.FuseOps
    del relax.transform.CallTIRRewrite
"""
"""An operator that is gone, one that kills the process, one that hangs, one that takes another
argument (which is none: it is passed by position); two steps that are gone."""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """Workers on a TVM that is changed before anything is imported."""
    folder = tmp_path_factory.mktemp("changed")
    (folder / "sitecustomize.py").write_text(CHANGES)
    with LocalPool(2, environment=Environment(path=(folder,)), available=Availability()) as pool:
        yield pool


def test_a_failure_is_named_and_the_rest_goes_on(changed: Executor) -> None:
    names = ["negative", "abs", "exp", "tan", "tanh", "sin"]
    survey = Survey(changed, limits=Limits(step_seconds=1.0))
    found = survey.failed("operator alone", names)
    assert list(found) == ["abs", "exp", "tan"]
    assert found["abs"] == "this TVM has no tvm.relax.op.abs"
    assert found["exp"] == "segmentation fault"
    assert found["tan"] == "no progress within the time limit"


def test_stages_go_on_without_a_step(changed: Executor) -> None:
    survey = Survey(changed)
    survey.stages(FAMILIES[DEFAULT])
    off = survey.found
    assert off.steps["FuseOps"] == "this TVM has no tvm.relax.transform.FuseOps"
    assert {"fused", "rewritten"} <= off.stages.keys()
    assert Stage.LOWERED not in off.stages
    assert Stage.TIR_FUSED not in off.stages


def test_models_that_cannot_be_built_are_left_out(changed: Executor) -> None:
    survey = Survey(changed)
    found = survey.failed("model", ["integer_matmul", "in_place_updates", "pooling_heads"])
    assert found == {
        "integer_matmul": "this TVM has no tvm.relax.op.abs",
        "in_place_updates": "segmentation fault",
    }
    assert list(survey.pieces) == ["pooling_heads"]


def test_where_nothing_works_one_sentence_says_why(changed: Executor) -> None:
    with pytest.raises(
        TVMUnsupported, match=r"^no module works on this TVM: this TVM has no tvm.relax.op.abs$"
    ):
        Survey(changed).some("operator alone", ["abs"], "no module works")


@pytest.mark.session
def test_everything_works_on_a_release(intact: Executor) -> None:
    assert not Survey(intact).run().off()


@pytest.fixture(scope="module")
def walked(intact: Executor) -> Survey:
    """A survey whose samples have been through all stages."""
    survey = Survey(intact)
    for family in FAMILIES.values():
        survey.stages(family)
    return survey


@pytest.mark.session
@pytest.mark.parametrize(
    ("trial", "names"),
    [("oracle", ["crash", "evaluated"]), ("pass", ["FuseOps", "tirx.UnrollLoop"])],
)
def test_oracles_and_passes_work(walked: Survey, trial: str, names: list[str]) -> None:
    assert names[0] in {**ORACLES, **catalogue}
    assert not walked.found.stages
    assert not walked.failed(trial, names)
