"""`relaxfuzz check`: what each oracle compared, and a fault of relaxfuzz that eats no finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tvm import relax
from tvm.script import relax as R

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.campaign import triage
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.jobs import VARIANTS_OF_NAMED, Check, variants_of
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.checking import check_module, in_order
from relaxfuzz.fuzz.session.silences import main_reason
from relaxfuzz.fuzz.user_input.settings import Settings, Spelling
from relaxfuzz.oracles.check import BUILDS, STEPS_OF_BUILDS
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence import inventory
from relaxfuzz.oracles.silence.inventory import DIED
from relaxfuzz.oracles.silence.log import Answer, Silence
from relaxfuzz.oracles.silence.rule import SilenceRule
from relaxfuzz.oracles.tiers import USUAL

USER = Path(__file__).parents[1] / "user_passes.py"
PASSES = Path(__file__).parents[1] / "passes.py"

Events = list[dict[str, Any]]


@pytest.fixture
def checked(
    pool: LocalPool, sums: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Events]]:
    """Exit code and events of a check of the sums."""
    path = tmp_path / "sums.json"
    path.write_text(sums)

    def checked(
        *passes: str,
        oracles: tuple[str, ...] = (),
        budget: str = "10m",
        stage: str | None = "raw",
    ) -> tuple[int, Events]:
        code = check_module(
            path,
            Settings(
                passes=tuple(map(Spelling, passes)),
                oracles=oracles,
                out=tmp_path / "out",
                shipped_knowns=False,
                json=True,
                budget=budget,
            ),
            pool=pool,
            stage=stage,
        )
        lines = capsys.readouterr().out.splitlines()
        return code, [json.loads(line) for line in lines]

    return checked


def of(events: Events, kind: str) -> Events:
    return [event for event in events if event["event"] == kind]


def test_each_oracle_says_what_it_compared(checked: Callable[..., tuple[int, Events]]) -> None:
    code, events = checked("Normalize", "LegalizeOps", "LiftTransformParams")
    assert code == 0
    asked = {(each["pass"], each["oracle"]): each["reason"] for each in of(events, "asked")}
    assert asked["Normalize()", "crash"] is None
    unchanged = "the pass leaves the module as it is"
    assert asked["Normalize()", "well-formed"] == unchanged
    assert asked["Normalize()", "evaluated"] == unchanged
    assert asked["LegalizeOps()", "well-formed"] is None
    assert asked["LegalizeOps()", "executed"] is None, "the pass is named"
    of_build = {oracle: reason for (name, oracle), reason in asked.items() if name == "default"}
    assert of_build == dict.fromkeys((*STEPS_OF_BUILDS, *BUILDS)), "it runs a pass that is named"
    assert asked["LegalizeOps()", "gradient"] == "the pass makes no gradients"
    assert "num_input" in (asked["LiftTransformParams", None] or "")
    assert "asked only with --oracle" in asked[None, "executed-on-cuda"]
    assert all(each["silent"] == (each["reason"] is not None) for each in of(events, "asked"))


def test_checks_without_time_are_listed_and_nothing_is_compared(
    checked: Callable[..., tuple[int, Events]],
) -> None:
    code, events = checked("Normalize", "LegalizeOps", budget="0.000001s")
    assert code == 4
    reasons = {each["pass"]: each["reason"] for each in of(events, "asked") if each["pass"]}
    assert {"Normalize()", "LegalizeOps()", "default"} <= set(reasons)
    assert set(reasons.values()) == {"the time was used up before"}
    assert of(events, "summary")[0]["checks"] == 0


def test_the_passes_of_the_default_build_come_first(sums: str) -> None:
    names = ("Normalize", "FoldConstant", "FuseOps", "LegalizeOps")
    calls = [PassCall(f"{name}()") for name in names]
    jobs = [Check(module=sums, calls=(call,)) for call in calls]
    jobs += [Check(module=sums, pipeline=name) for name in ("zero", "default")]
    ordered = [job.pipeline or job.calls[0].name for job in in_order(jobs)]
    assert ordered == ["default", "LegalizeOps", "FuseOps", "Normalize", "FoldConstant", "zero"]


def test_a_pass_for_a_later_stage_is_checked_there_too(
    checked: Callable[..., tuple[int, Events]],
) -> None:
    """It would leave the module as it is, and seem to have been checked."""
    for stage, compared in (("raw", False), (None, True)):
        _, events = checked("CallTIRRewrite", stage=stage)
        reasons = {each["oracle"]: each["reason"] for each in of(events, "asked") if each["pass"]}
        assert (reasons["well-formed"] is None) is compared


def test_many_variants_of_a_named_pass_are_checked(sums: str) -> None:
    mod = load_json(sums)
    few, many = (len(variants_of("ToMixedPrecision", mod, n)) for n in (6, VARIANTS_OF_NAMED))
    assert few < many


def test_who_is_named_is_asked(checked: Callable[..., tuple[int, Events]]) -> None:
    _, events = checked("LegalizeOps", oracles=("source",))
    asked = {each["oracle"]: each["reason"] for each in of(events, "asked") if each["pass"]}
    assert asked == {"source": None}, "not those of the build either"


def test_all_oracles_are_asked(checked: Callable[..., tuple[int, Events]]) -> None:
    _, events = checked("ToNonDataflow", oracles=("all",))
    asked = {each["oracle"] for each in of(events, "asked") if each["pass"]}
    assert asked == set(USUAL)


def test_what_an_oracle_finds_first_silences_the_others(
    checked: Callable[..., tuple[int, Events]],
) -> None:
    code, events = checked(f"{USER}:marks")
    assert code == 0, "it promises no normal form"
    asked = {each["oracle"]: each["reason"] for each in of(events, "asked") if each["pass"]}
    (finding,) = of(events, "finding")
    assert asked[finding["oracle"]] is None


def test_a_fault_after_the_confirmation_leaves_the_exit_code_at_1(
    checked: Callable[..., tuple[int, Events]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(triage, "minimized", broken)
    code, events = checked(f"{USER}:raises_always")
    assert code == 1
    (finding,) = of(events, "finding")
    (fault,) = of(events, "fault")
    assert fault["finding"] == finding["id"]
    assert fault["text"].startswith("minimize:")
    assert "ZeroDivisionError" in fault["text"]
    with Store(tmp_path / "out", create=False) as store:
        assert [each.faults for each in store.findings()] == [(fault["text"],)]


def test_a_check_that_could_not_be_made_is_exit_code_3(
    checked: Callable[..., tuple[int, Events]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(triage, "again", broken)
    code, events = checked(f"{USER}:raises_always")
    assert (code, of(events, "finding")) == (3, [])
    assert "ZeroDivisionError" in of(events, "fault")[0]["text"]


def test_a_check_that_compares_nothing_has_a_code_of_its_own(
    checked: Callable[..., tuple[int, Events]],
) -> None:
    code, _ = checked("ExpandTupleArguments")
    assert code == 4


@pytest.mark.parametrize("as_json", [False, True])
def test_a_death_leaves_all_oracles_without_an_answer(
    pool: LocalPool,
    sums: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    path = tmp_path / "sums.json"
    path.write_text(sums)
    given = Settings(
        passes=(Spelling(f"{PASSES}:segfault"),),
        out=tmp_path / "out",
        shipped_knowns=False,
        json=as_json,
    )
    assert check_module(path, given, pool=pool, stage="raw") == 1
    lines = capsys.readouterr().out.splitlines()
    if not as_json:
        (row,) = (line.split(maxsplit=3) for line in lines if line.startswith("crash "))
        assert row == ["crash", "0", "1", DIED.excuses]
        (by_name,) = (line for line in lines if line.startswith("asked only with"))
        assert " crash" not in by_name
        return
    asked = of([json.loads(line) for line in lines], "asked")
    reasons = {each["oracle"]: each["reason"] for each in asked if each["pass"]}
    assert reasons["crash"] == DIED.excuses
    assert len(set(reasons.values())) == 1
    assert not reasons.keys() & {each["oracle"] for each in asked if not each["pass"]}


def test_what_tvms_type_inference_makes_ill_formed_is_a_finding(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, dims = (relax.Var(name, R.Tensor((1,), "int64")) for name in ("x", "dims"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, dims]):
        with builder.dataflow():
            shape = builder.emit(relax.op.tensor_to_shape(dims))
            result = builder.emit_output(relax.op.broadcast_to(x, shape))
        builder.emit_func_output(result)
    path = tmp_path / "model.json"
    path.write_text(save_json(builder.get()))
    code = check_module(
        path,
        Settings(
            passes=(Spelling("LegalizeOps"),),
            out=tmp_path / "out",
            shipped_knowns=False,
            json=True,
        ),
        pool=pool,
        stage="raw",
    )
    assert code == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "type inference" in {each["pass"] for each in of(events, "finding")}
    reproducer = (tmp_path / "out" / "reproducers").glob("type_inference-*.py")
    assert "relax.analysis.well_formed(Module)" in next(reproducer).read_text()


def test_the_table_names_the_reason_that_matters() -> None:
    """Not that of most passes, which leave the module as it is."""
    unchanged = Answer("evaluated", *_silent(inventory.UNCHANGED))
    refused = Answer("evaluated", *_silent(inventory.REJECTION))
    undefined = Answer("evaluated", *_silent(inventory.NO_ARGUMENTS, "`x` of main: 7 is outside"))
    assert main_reason([unchanged] * 5) == inventory.UNCHANGED.excuses
    assert main_reason([unchanged] * 5 + [refused]) == f"1 of 6: {inventory.REJECTION.excuses}"
    why = main_reason([unchanged] * 5 + [refused] * 2 + [undefined])
    assert why == f"1 of 8: {undefined.silent}"
    assert main_reason([Answer("evaluated")]) == ""


def _silent(rule: SilenceRule, why: str = "") -> tuple[str, tuple[Silence, ...]]:
    return why or rule.excuses, (Silence(rule.name, why=why),)
