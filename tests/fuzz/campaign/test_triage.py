"""A finding is shown once it is confirmed, once only, with a reproducer that fails."""

from __future__ import annotations

import dataclasses
import errno
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.campaign import triage
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings import confirm
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import ExecutorError
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import LIMITS, Limits
from relaxfuzz.fuzz.system.disk_failure import DiskFailure
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.sequential import NONDETERMINISTIC
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Raised, Violation
from tests.fuzz.changed import changed
from tests.oracles.snippets import load_faults

USER = Path(__file__).parents[1] / "user_passes.py"
STATEFUL = Path(__file__).parents[2] / "oracles/metamorphic/history_faults.py"


@pytest.fixture(scope="module")
def finding(pool: LocalPool) -> Finding:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        for op in (relax.op.sin, relax.op.exp, relax.op.cos):
            value = builder.emit(op(x))
        builder.emit_func_output(value)
    call = PassCall("raises_on_exp()", factory=f"{USER}:raises_on_exp")
    module = tvm.ir.save_json(builder.get())
    violation = check(pool, Check(module=module, calls=(call,)))[0]
    return Finding(
        violation=violation, module=module, calls=(call,), versions={"tvm": tvm.__version__}
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as store:
        yield store


@pytest.fixture
def work(pool: LocalPool, store: Store) -> Callable[..., tuple[Triage, list[Finding]]]:
    def work(*findings: Finding) -> tuple[Triage, list[Finding]]:
        reported: list[Finding] = []
        worker = Triage(store, pool, reported.append)
        for finding in findings:
            worker.add(finding)
        worker.drain(60, lambda: None)
        return worker, reported

    return work


Work = Callable[..., tuple[Triage, list[Finding]]]


def faults(worker: Triage) -> list[str]:
    """All failures of the harness itself."""
    return [*worker.steps.unchecked, *(text for _, text in worker.steps.failed)]


def test_what_takes_long_is_no_hang(
    pool: LocalPool,
    work: Work,
    sums: str,
    faulty: Callable[[str], PassCall],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = faulty("dawdle")
    job = Check(module=sums, calls=(call,), oracles=("crash",))
    (violation,) = check(pool, job, limits=Limits(step_seconds=0.5))
    assert violation.oracle == "hang"
    given: list[Limits] = []

    def again(*args: Any, limits: Limits) -> Violation | None:
        given.append(limits)
        return confirm.again(*args, limits=limits)

    monkeypatch.setattr(triage, "again", again)
    slow = Finding(
        violation=violation, module=sums, calls=(call,), versions={"tvm": tvm.__version__}
    )
    worker, reported = work(slow)
    assert given == [confirm.PATIENT]
    assert (len(worker.unconfirmed), reported) == (1, [])


HASTY = Limits(step_seconds=0.5)


@pytest.fixture
def dying(
    pool: LocalPool, sums: str, faulty: Callable[[str], PassCall]
) -> Callable[[str, Limits], Finding]:
    """The death that the limits show of a pass; the module is not to be reduced."""

    def dying(name: str, limits: Limits) -> Finding:
        call = faulty(name)
        job = Check(module=sums, calls=(call,), oracles=("crash",))
        (violation,) = check(pool, job, limits=limits)
        found = Finding(
            violation=violation, module=sums, calls=(call,), versions={"tvm": tvm.__version__}
        )
        return dataclasses.replace(found, reduced=True)

    return dying


@pytest.mark.parametrize(
    ("name", "oracle"), [("run_out", "out-of-memory"), ("segfault_late", "segfault")]
)
def test_what_a_limit_has_hidden_is_reported_as_what_it_is(
    work: Work, dying: Callable[[str, Limits], Finding], name: str, oracle: str
) -> None:
    hasty = dying(name, HASTY)
    assert hasty.oracle == "hang"
    worker, (reported,) = work(hasty)
    assert (reported.oracle, reported.pass_name) == (oracle, name)
    assert reported.confirmed
    assert reported.grade < Grade.C
    assert (worker.unconfirmed, faults(worker)) == ([], [])


def test_a_death_by_a_limit_is_confirmed_by_another_limit_alone(
    pool: LocalPool, sums: str, dying: Callable[[str, Limits], Finding]
) -> None:
    memory, crash = dying("run_out", LIMITS), dying("segfault_late", LIMITS)
    assert (memory.oracle, crash.oracle) == ("out-of-memory", "segfault")
    assert confirm.again(pool, memory, sums, limits=HASTY) == memory.violation
    assert confirm.again(pool, crash, sums, limits=HASTY) is None


def test_a_finding_is_confirmed_reduced_and_reproduced(
    work: Work, store: Store, finding: Finding
) -> None:
    worker, reported = work(finding, finding)
    (published,) = reported
    assert faults(worker) == []
    assert store.pending() == []
    assert (published.id, published.confirmed, published.reduced) == (finding.id, True, True)
    assert "exp" in published.source
    assert "sin" not in published.source
    assert store.reproducer(published) is not None
    assert published.exhibit is not None
    assert "R.exp" in published.exhibit.module
    assert "R.sin" not in published.exhibit.module
    assert list(store.findings()) == [published]


def test_what_does_not_recur_is_only_counted(work: Work, store: Store, finding: Finding) -> None:
    worker, reported = work(changed(finding, oracle="mutation"))
    assert reported == []
    assert len(worker.unconfirmed) == 1
    assert store.pending() == []
    assert list(store.findings()) == []
    assert len(list(store.findings(confirmed=False))) == 1


SOMETIMES = """
import itertools
from pathlib import Path

import tvm

COUNT = Path(__file__).with_name("count")


def differs_later():
    number = int(COUNT.read_text()) + 1 if COUNT.exists() else 0
    COUNT.write_text(str(number))
    runs = itertools.count()

    def transform(mod, context):
        differs = number >= {first} and next(runs) % 2
        return mod.with_attr("number", 1) if differs else mod

    return tvm.transform.module_pass(transform, opt_level=0, name="differs_later")
"""
"""A pass that gives different results only once it was built so many times."""


@pytest.mark.parametrize(("first", "confirmed"), [(3, True), (1000, False)])
def test_what_depends_on_chance_is_tried_several_times(
    work: Work, finding: Finding, tmp_path: Path, first: int, confirmed: bool
) -> None:
    file = tmp_path / "sometimes.py"
    file.write_text(SOMETIMES.replace("{first}", str(first)))
    call = PassCall("differs_later()", factory=f"{file}:differs_later")
    seen = changed(
        finding,
        title=NONDETERMINISTIC,
        oracle="deterministic",
        pass_name="differs_later",
        key=(NONDETERMINISTIC,),
        trace=Trace(),
        raised=None,
        calls=(call,),
    )
    worker, reported = work(seen)
    assert [each.title for each in reported] == [NONDETERMINISTIC] * confirmed
    assert len(worker.unconfirmed) == (not confirmed)


def test_what_comes_out_in_another_place_is_reported_as_that(
    work: Work, store: Store, finding: Finding
) -> None:
    """A campaign looks at a sample, and so may see another difference first."""
    sampled = changed(
        finding,
        trace=Trace(("user_passes.py:elsewhere",), "raise KeyError(name)"),
        raised=Raised("KeyError", own="user_passes.py:elsewhere"),
    )
    worker, reported = work(sampled)
    assert [each.id for each in reported] == [finding.id]
    assert worker.unconfirmed == []
    assert store.pending() == []
    assert [each.id for each in store.findings()] == [finding.id]
    again, reported = work(finding, sampled)
    assert [each.id for each in reported] == [finding.id]
    assert [each.id for each in again.unconfirmed] == [sampled.id]


def test_what_comes_out_in_other_words_is_reported_once(
    work: Work, store: Store, finding: Finding
) -> None:
    """Its id depends on more than its identity."""
    sampled = changed(finding, key=("seen in a sample",))
    assert sampled.id != finding.id
    worker, reported = work(finding, sampled)
    assert len(reported) == 1
    assert worker.unconfirmed == []
    assert store.pending() == []
    assert len({store.rows.of(each.id) for each in store.findings()}) == 1


def test_what_is_due_to_earlier_modules_is_reported_as_that(work: Work, finding: Finding) -> None:
    """Any oracle sees it in a process that has a past; in a fresh one, only who gives it one."""
    call = PassCall(
        "marks_until_it_saw_a_subtraction()", factory=f"{STATEFUL}:marks_until_it_saw_a_subtraction"
    )
    module = save_json(load_faults(STATEFUL).module())
    seen = changed(finding, oracle="json", pass_name=call.name, module=module, calls=(call,))
    worker, (reported,) = work(seen)
    assert (reported.oracle, reported.pass_name) == ("history", call.name)
    assert worker.unconfirmed == []


def test_known_bugs_are_not_triaged(
    work: Work, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (first,) = work(finding)
    monkeypatch.setattr(triage, "minimized", None)
    worker, (second,) = work(finding)
    assert faults(worker) == []
    assert second == first
    store.put(dataclasses.replace(first, exhibit=None))
    _, (third,) = work(finding)
    assert third == first == store.get(first.id)


def test_a_file_that_does_not_fail_is_not_shown(
    work: Work, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage.reproducer, "texts", lambda finding: iter(["mod = None\n"]))
    _, (published,) = work(finding)
    assert published.reproducer is None
    assert store.get(finding.id) == published


@pytest.mark.parametrize(
    ("owner", "name", "step"),
    [
        (triage, "minimized", "minimize"),
        (triage.reproducer, "failing", "reproduce with a brief check"),
        (Store, "publish", "write the reproducer"),
        (triage, "place", "find the row"),
    ],
)
def test_a_fault_after_the_confirmation_loses_no_finding(
    work: Work,
    store: Store,
    finding: Finding,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    step: str,
) -> None:
    def broken(*arguments: object, **keywords: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(owner, name, broken)
    worker, (published,) = work(finding)
    assert published.confirmed
    assert worker.steps.unchecked == []
    assert store.pending() == []
    assert [kept.id for kept in store.findings()] == [finding.id]
    (failed,) = (each for each in published.faults if each.startswith(f"{step}:"))
    assert "ZeroDivisionError" in failed
    (kept,) = store.findings()
    assert kept.faults == published.faults
    # All that does not need the step is done.
    reproducible = name not in ("failing", "publish")
    assert (published.reproducer is not None) == reproducible
    assert published.evidence is not None
    assert published.reduced == (name != "minimized")
    assert published.source
    monkeypatch.undo()
    _, (mended,) = work(finding)
    assert mended.reproducer is not None
    assert mended.faults == ()


def test_a_fault_of_a_publisher_keeps_no_other_from_it(
    pool: LocalPool, store: Store, finding: Finding
) -> None:
    def broken(finding: Finding) -> None:
        raise ZeroDivisionError

    reported: list[Finding] = []
    worker = Triage(store, pool, broken)
    worker.publishers.append(reported.append)
    worker.add(finding)
    worker.drain(60, lambda: None)
    assert [each.id for each in reported] == [finding.id]
    assert [text.partition(":")[0] for _, text in worker.steps.failed] == ["report"]


def test_a_full_disk_ends_it_and_leaves_what_is_pending(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/reproducer.py")

    monkeypatch.setattr(triage.reproducer, "failing", full)
    worker = Triage(store, pool, lambda finding: None)
    worker.add(finding)
    with pytest.raises(DiskFailure, match=r"cannot write '/tmp/reproducer\.py': No space left"):
        worker.drain(60, lambda: None)
    assert faults(worker) == []
    assert worker.published == []
    assert [each.id for each in store.pending()] == [finding.id]


def test_without_workers_a_finding_stays_pending(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*arguments: object, **options: object) -> None:
        raise ExecutorError("the pool is closed")

    monkeypatch.setattr(triage, "again", gone)
    worker = Triage(store, pool, lambda finding: None)
    worker.add(finding)
    worker.drain(60, lambda: None)
    assert "the pool is closed" in faults(worker)[0]
    assert store.pending() == [finding]


def test_a_step_of_a_list_is_its_own_finding(work: Work, finding: Finding) -> None:
    """The last of three passes fails: it alone is blamed, on the module that it was given."""
    calls = (PassCall("ToNonDataflow()"), PassCall("DeadCodeElimination()"), *finding.calls)
    module = finding.module.replace("relax.cos", "relax.exp")
    listed = dataclasses.replace(finding, calls=calls, module=module)
    worker, reported = work(listed)
    assert faults(worker) == []
    (published,) = reported
    assert published.calls == finding.calls


def test_what_a_campaign_has_no_time_for_is_reduced_afterwards(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage, "REDUCE_SECONDS", 0.01)
    reported: list[Finding] = []
    worker = Triage(store, pool, reported.append)
    worker.add(finding)
    end = time.monotonic() + 60
    # Until it is put off, it is in the queue, and for a moment in both.
    while not (worker._deferred and worker.pending == 1) and time.monotonic() < end:
        time.sleep(0.01)
    assert worker._deferred
    assert reported == []
    assert store.pending() == [finding]
    kept = store.get(finding.id)
    assert kept is not None
    assert (kept.confirmed, kept.reduced) == (True, False)
    worker.drain(60, lambda: None)
    assert faults(worker) == []
    assert [published.reduced for published in reported] == [True]


def test_a_finding_that_ends_the_campaign_is_reduced_at_once(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage, "REDUCE_SECONDS", 0.01)
    reported: list[Finding] = []
    worker = Triage(store, pool, reported.append)
    worker.at_once = True
    worker.add(finding)
    end = time.monotonic() + 60
    while not reported and time.monotonic() < end:
        time.sleep(0.01)
    assert [published.reduced for published in reported] == [True]
    worker.drain(60, lambda: None)


OWN = """\
import tvm

@tvm.transform.module_pass(opt_level=0)
def own(mod, context):
    if all(op in mod.script() for op in {ops}):
        raise KeyError("exp")
    return mod
"""
"""A pass that does not take a module with all of these operators."""


def test_a_finding_that_the_changed_pass_no_longer_shows_gives_way(
    pool: LocalPool,
    work: Work,
    store: Store,
    finding: Finding,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(OWN.format(ops=("R.exp(",)))
    call = PassCall("own()", factory=f"{path}:own")
    (violation, *_) = check(pool, Check(module=finding.module, calls=(call,)))
    own = dataclasses.replace(finding, violation=violation, calls=(call,))
    _, (first,) = work(own)
    assert "sin" not in first.source
    path.write_text(OWN.format(ops=("R.exp(", "R.sin(")))
    worker, (second,) = work(own)
    assert faults(worker) == []
    assert (second.id, second.reduced) == (first.id, True)
    assert "sin" in second.source
    assert list(store.findings()) == [second]


def test_what_is_stuck_stays_pending(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it got: the violation is confirmed, and the module reduced."""
    monkeypatch.setattr(triage, "STUCK_SECONDS", 1.0)
    stuck = threading.Event()

    def failing(*args: Any, **options: Any) -> str | None:
        stuck.wait(60)
        return None

    monkeypatch.setattr(triage.reproducer, "failing", failing)
    worker = Triage(store, pool)
    worker.add(finding)
    while not (kept := store.get(finding.id)) or not kept.reduced:
        time.sleep(0.05)
    began = time.monotonic()
    worker.drain(0.5, lambda: None)
    assert time.monotonic() - began < 30
    assert [each.id for each in store.pending()] == [finding.id]
    stuck.set()
    assert "sin" not in kept.source


def test_what_is_confirmed_when_the_time_is_up_has_the_ingredients_of_its_module(
    pool: LocalPool, store: Store, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is compared with known bugs, though it is not reduced."""
    monkeypatch.setattr(triage, "STUCK_SECONDS", 1.0)
    stuck = threading.Event()

    def minimized(*args: Any, **options: Any) -> None:
        stuck.wait(60)

    monkeypatch.setattr(triage, "minimized", minimized)
    worker = Triage(store, pool)
    worker.until = time.monotonic()
    worker.add(finding)
    while not (kept := store.get(finding.id)) or not kept.confirmed:
        time.sleep(0.05)
    worker.drain(0.5, lambda: None)
    (published,) = worker.published
    assert not published.reduced
    assert "relax.exp" in (published.made_of or ())
    assert worker.pending
    assert worker.unsettled() == [], "it is published, though its reduction goes on"
    stuck.set()
