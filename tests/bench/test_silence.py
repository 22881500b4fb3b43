"""The prices of rules of silence: only what a rule keeps back counts, and for that rule."""

from __future__ import annotations

from typing import Any

from bench.silence import Case, Origins, Price, kept, page
from relaxfuzz.fuzz.jobs.jobs import Check, CheckResult
from relaxfuzz.fuzz.process.protocol import Ended, Result
from relaxfuzz.oracles.silence.log import Answer, Silence
from relaxfuzz.oracles.violation import Violation

JOB = Check(module="")
WRONG = Violation("other values", "", ("values",)).blame("evaluated", "FuseOps")


class Gives:
    """An executor whose checks have this result."""

    def __init__(self, *violations: Violation, **answer: Any) -> None:
        self.checks = 0
        self._result = CheckResult(violations, (Answer("evaluated", **answer),))

    def submit(self, job: Any, sink: Any, **options: Any) -> int:
        self.checks += 1
        sink(Result(0, self._result))
        sink(Ended(0))
        return self.checks


def silenced(rule: str) -> Any:
    return Gives(silences=(Silence(rule, "values"),))


def of(origin: Origins, *blamed: str) -> Case:
    return Case("case", origin, lambda executor: JOB, frozenset(blamed))


def test_a_report_that_a_rule_keeps_back_counts_for_it() -> None:
    loud: Any = Gives(WRONG, lifted=("overflow", "rounding"))
    quiet = silenced("overflow")
    ((rule, report),) = kept(of(Origins.RECORDS, "FuseOps"), JOB, quiet, loud)
    assert (rule, report.is_true) == ("overflow", True)
    assert not list(kept(of(Origins.RECORDS, "FuseTIR"), JOB, quiet, loud))


def test_nothing_is_repeated_where_no_rule_keeps_quiet_or_the_bug_is_reported() -> None:
    loud: Any = Gives(WRONG, lifted=("overflow",))
    quiet: Any
    for quiet in (silenced("sampled"), Gives(WRONG, silences=(Silence("overflow", "values"),))):
        assert not list(kept(of(Origins.FAULTY), JOB, quiet, loud))
    assert loud.checks == 0


def test_a_blunt_rule_is_named() -> None:
    dear = Price(true={"a", "b"}, false={str(n) for n in range(39)})
    fair = Price(true={"a"}, false={str(n) for n in range(20)})
    assert (dear.verdict, fair.verdict, Price().verdict) == ("too blunt", "", "nothing seen")
    text = page({"overflow": fair}, dict.fromkeys(Origins, 1), seed=1)
    assert "| `overflow` | 1 | 20 | 0 |  |" in text
