"""A contract in the user's own file, beside the pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.jobs.jobs import Check, violations_of
from relaxfuzz.fuzz.loading.targets import by_spelling
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.settings import Relaxations
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall
from tests.fuzz.checker.build_faults import model

OWN = """
import tvm

from relaxfuzz import PassContract
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.contract import Exemption


@tvm.transform.module_pass(opt_level=0)
def keeps(mod, context):
    return mod


def small(mod):
    return None if len(mod.functions) < 2 else "it has several functions"


CONTRACT = PassContract(
    name="keeps",
    stages=(Stage.LEGALIZED,),
    requires=small,
    post=lambda before, after, call: "nothing was done",
    exemptions=(Exemption("attributes", "it sets its own", "its docstring"),),
)
OTHER = 1
"""


class Silent:
    def step(self, name: str) -> None:
        pass


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(OWN)
    return path


def test_stages_and_exemptions_are_those_of_the_contract(file: Path) -> None:
    (target,) = by_spelling([f"{file}:keeps"], Relaxations(like=f"{file}:CONTRACT")).values()
    assert (target.stages, target.exempt) == ((Stage.LEGALIZED,), ("attributes",))
    assert target.call is not None
    assert target.call.like == f"{file}:CONTRACT"


@pytest.mark.parametrize(
    ("name", "why"),
    [("OTHER", "OTHER to be a PassContract but got 1"), ("CONTRACTS", "Did you mean 'CONTRACT'")],
)
def test_something_else_is_refused(file: Path, name: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        by_spelling([f"{file}:keeps"], Relaxations(like=f"{file}:{name}"))


def test_a_check_asks_the_contract(file: Path) -> None:
    call = PassCall("keeps()", factory=f"{file}:keeps", like=f"{file}:CONTRACT")
    mod = model()
    job = Check(module=save_json(mod), calls=(call,))
    (found,) = violations_of(job, mod, Silent())  # type: ignore[arg-type]
    assert (found.oracle, found.title) == ("postcondition", "nothing was done")
    mod["other"] = mod["main"].with_attr("global_symbol", "other")
    assert violations_of(job, mod, Silent()) == []  # type: ignore[arg-type]
