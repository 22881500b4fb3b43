"""What is off is used nowhere, and asking for it is an error that names the reason."""

from __future__ import annotations

import dataclasses
import queue
from collections.abc import Iterator

import pytest
import tvm
from hypothesis.errors import InvalidArgument
from tvm import relax

from relaxfuzz.compat import availability
from relaxfuzz.compat.availability import Availability
from relaxfuzz.compat.drift import Drift
from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.loading.targets import oracles_of, stage_of, targets
from relaxfuzz.fuzz.process.context import Context
from relaxfuzz.fuzz.process.journal import Journal
from relaxfuzz.fuzz.process.protocol import Failed, FromChild
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.settings import Relaxations
from relaxfuzz.generators import idioms, stages
from relaxfuzz.generators.families import DEFAULT
from relaxfuzz.generators.idioms.pattern import calls
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles import check as oracle_check
from relaxfuzz.oracles.catalogue import catalogue, of_family
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.inspect import bindings_of, ops_used, relax_functions
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tiers import ORACLES
from relaxfuzz.oracles.violation import Case

GONE = "this TVM has none"
KEPT = ("add", "negative", "nn.relu")


class Fails(PassCall):
    """A faulty pass."""

    def build(self) -> tvm.transform.Pass:
        return tvm.transform.module_pass(_fail, opt_level=0, name="Fails")


def _fail(mod: tvm.IRModule, context: object) -> tvm.IRModule:
    raise RuntimeError("a bug")


@pytest.fixture
def off() -> Iterator[None]:
    """Most operators, a trait, an idiom, a stage, a pass, a pipeline and an oracle are off."""
    before = availability.current()
    availability.use(
        Availability(
            ops=dict.fromkeys((name for name in table if name not in KEPT), GONE),
            traits={"if": GONE, "idioms": GONE},
            idioms={"there_and_back": GONE},
            steps={"FuseOps": GONE},
            stages={"fused": GONE},
            passes={"FuseOps": GONE, "Gone": GONE},
            pipelines={"zero": GONE},
            oracles={"crash": GONE, "evaluated": GONE},
        )
    )
    yield
    availability.use(before)


@pytest.mark.usefixtures("off")
def test_modules_have_nothing_of_it() -> None:
    plain, rich = ir_modules(only=()), ir_modules(max_functions=1)
    made = {op for index in range(20) for op in ops_used(example(plain, 0, index))}
    assert made == {f"relax.{name}" for name in KEPT}
    for index in range(20):
        for _, func in relax_functions(example(rich, 0, index)):
            assert not any(isinstance(each.value, relax.If) for each in bindings_of(func))
    usable = idioms.usable(frozenset(Trait))
    assert all(set(call.ops) <= set(KEPT) for idiom in usable for call in calls(idiom.pattern))
    assert "there_and_back" not in [idiom.name for idiom in usable]


@pytest.mark.usefixtures("off")
@pytest.mark.parametrize(
    "settings", [{"ops": ["abs"]}, {"force": ["if"]}, {"stage": "fused"}, {"ops": [("add", "abs")]}]
)
def test_asking_for_it_is_an_error(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=GONE):
        ir_modules(**settings)  # type: ignore[arg-type]


@pytest.mark.usefixtures("off")
def test_stages_are_reached_without_it() -> None:
    assert Stage.FUSED not in stages.usable()
    assert stages.steps(Stage.FUSED) == ()
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.add(x, x))
            z = builder.emit_output(relax.op.nn.relu(y))
        builder.emit_func_output(z)
    mod = stages.advance(builder.get(), Stage.TIR_FUSED)
    assert [gvar.name_hint for gvar in mod.get_global_vars()] == ["add", "main", "relu"]


@pytest.mark.usefixtures("off")
def test_campaigns_do_not_choose_it() -> None:
    chosen = targets((), Relaxations())
    assert {target.name for target in chosen} == {*of_family(DEFAULT)} - {"FuseOps"}
    items = schedule.items(chosen, catalogue, compositions=True)
    assert not any(Stage.FUSED in item.stages for item in items)
    assert "zero" not in {item.name for item in items}


@pytest.mark.usefixtures("off")
@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: targets(("FuseOps",), Relaxations()), "pass 'FuseOps'"),
        (lambda: targets(("Gone(1)",), Relaxations()), "pass 'Gone'"),
        (lambda: oracles_of(("crash",)), "oracle 'crash'"),
        (lambda: stage_of("fused"), "stage 'fused'"),
    ],
)
def test_naming_it_is_an_error_with_the_reason(ask: object, what: str) -> None:
    with pytest.raises(UserError, match=f"{what} is not available on this TVM: {GONE}"):
        ask()  # type: ignore[operator]


@pytest.mark.usefixtures("off")
def test_an_oracle_that_is_off_is_silent() -> None:
    mod = example(ir_modules(), 0, 0)
    assert not check(Case(mod, (Fails("Fails()"),)), oracles=("crash",))
    availability.use(Availability())
    assert check(Case(mod, (Fails("Fails()"),)), oracles=("crash",))


def test_an_oracle_that_asks_in_vain_silences_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def asks(runs: object) -> None:
        raise Drift("this TVM has no such field")

    oracle = dataclasses.replace(ORACLES["well-formed"], check=asks)
    monkeypatch.setattr(oracle_check, "STRUCTURAL", (oracle, ORACLES["crash"]))
    mod = example(ir_modules(), 0, 0)
    assert [found.oracle for found in check(Case(mod, (Fails("Fails()"),)))] == ["crash"]
    with pytest.raises(Drift, match="this TVM has no such field"):
        check(Case(mod, (PassCall("Normalize()"),)))


def test_every_name_is_one_that_there_is() -> None:
    assert {"if", "idioms"} <= set(Trait)
    assert {"crash", "evaluated"} <= set(ORACLES)


def test_drift_in_a_job_is_no_fault() -> None:
    sent: queue.SimpleQueue[FromChild] = queue.SimpleQueue()
    context = Context(1, Journal(1), sent.put)
    context.fail(Drift("this TVM has no tvm.relax.op.abs"))
    context.fail(ValueError("a defect of relaxfuzz"))
    drift, fault = sent.get(), sent.get()
    assert isinstance(drift, Failed)
    assert isinstance(fault, Failed)
    assert (drift.drift, drift.traceback) == (True, "this TVM has no tvm.relax.op.abs")
    assert not fault.drift
    assert fault.traceback.startswith("ValueError: a defect")
