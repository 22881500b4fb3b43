"""`make bench-silence`: the price of each rule of silence, in true and in false reports.

Every case is checked with the rules, and again without them if one kept something back. A report
that only comes then has its rule to blame. It is true if the case is a bug: the reproducer of a
record, a public report, a faulty pass on a module that shows its fault. It is false if the pass is
right about the module. Reports of TVM's own passes on generated modules are false if
`corpus/judged.toml` says so, and else unread: --json prints them.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import functools
import json
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.knowns import SHIPPED, knowns
from relaxfuzz.fuzz.campaign.block import Regenerate
from relaxfuzz.fuzz.jobs.asking import checked
from relaxfuzz.fuzz.jobs.jobs import Check, CheckResult
from relaxfuzz.fuzz.jobs.reproducers import calls_in
from relaxfuzz.fuzz.loading.read_module import load
from relaxfuzz.fuzz.process.executor import Executor, ExecutorError, JobFailed, ask
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Died
from relaxfuzz.fuzz.process.targets import Origin, Recipe
from relaxfuzz.fuzz.session.silences import loud_environment
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.families import family_of
from relaxfuzz.generators.stages import advance
from relaxfuzz.oracles.catalogue import catalogue, contract_of
from relaxfuzz.oracles.silence.inventory import EXCUSES, KNOWN, RULES
from relaxfuzz.oracles.silence.log import ALL
from relaxfuzz.oracles.silence.rule import SilenceKind
from relaxfuzz.oracles.violation import Violation
from tests.oracles.test_public_reports import REPORTS
from tests.specimens.specimen import Family, Specimen
from tests.specimens.table import SPECIMENS
from tests.specimens.witnesses import WITNESSES

from .pages import put

PAGE = Path(__file__).parents[1] / "docs" / "silence.md"
PRICES, END_OF_PRICES = "<!-- prices -->", "<!-- end of prices -->"
INVENTORY, END_OF_INVENTORY = "<!-- rules -->", "<!-- end of rules -->"

HEADINGS = {
    SilenceKind.EXCUSE: "An excuse keeps back something that would be reported without it. "
    "`--loud` lifts these:",
    SilenceKind.NOTHING: "Here is nothing to compare:",
    SilenceKind.BUDGET: "This is not looked at:",
}

DEAR = 1 / 20
"""The most true reports per avoided false one that a rule may suppress; more is too blunt."""

JUDGED = SHIPPED.with_name("judged.toml")


class Origins(enum.StrEnum):
    """The kinds of cases, those with a bug first."""

    RECORDS = "reproducers of records"
    REPORTS = "public reports"
    FAULTY = "faulty passes on modules that show the fault"
    HARMLESS = "faulty passes on modules that do not"
    CORRECT = "correct passes on generated modules"
    TVM = "passes of TVM on generated modules"


BUGS = frozenset({Origins.RECORDS, Origins.REPORTS, Origins.FAULTY})


@dataclass(frozen=True, slots=True)
class Case:
    """A check that is created on demand."""

    name: str
    origin: Origins
    make: Callable[[Executor], Check | None]
    """None: TVM does not construct the module, or the pass does not apply to it."""
    blamed: frozenset[str] = frozenset()
    """The names that reports about the bug may blame; empty: any."""

    @property
    def is_bug(self) -> bool:
        """True if reports about the case are true."""
        return self.origin in BUGS

    def tells(self, violation: Violation) -> bool:
        """True if the violation is about the subject of the case."""
        return not self.blamed or violation.pass_name in self.blamed


@dataclass(frozen=True, slots=True)
class Kept:
    """A report that only comes without the rules."""

    case: str
    report: str
    """The blamed pass, the oracle, and the title."""
    is_true: bool | None
    """None if nobody has judged it."""


@dataclass(slots=True)
class Price:
    """The reports that a rule suppressed."""

    true: set[str] = field(default_factory=set)
    """The cases of the bugs."""
    false: set[str] = field(default_factory=set)
    """The distinct reports."""
    unread: set[str] = field(default_factory=set)

    @property
    def verdict(self) -> str:
        """The comparison with the accepted price."""
        if not self.true and not self.false:
            return "" if self.unread else "nothing seen"
        return "too blunt" if len(self.true) > DEAR * len(self.false) else ""

    def add(self, kept: Kept) -> None:
        """Count a report."""
        if kept.is_true:
            self.true.add(kept.case)
        else:
            (self.unread if kept.is_true is None else self.false).add(f"{kept.case} {kept.report}")


def of_records() -> Iterator[Case]:
    """The passes of each reproducer on its module; the default build if it names none."""

    def job(file: Path, place: int, executor: Executor) -> Check | None:
        try:
            module = load(file, executor)
        except UserError:  # TVM does not construct it, or it is ill-formed on purpose
            return None
        calls = calls_in(file)
        if calls:
            return Check(module=module, calls=calls[place], named=True)
        return Check(module=module, pipeline="default")

    for known in knowns():
        if (file := known.reproducer) is not None:
            for place in range(max(1, len(calls_in(file)))):
                make = functools.partial(job, file, place)
                yield Case(known.name, Origins.RECORDS, make, known.passes)


def of_reports() -> Iterator[Case]:
    """Modules after public reports."""
    for report in REPORTS:
        case = report.case()
        module = save_json(case.mod)
        job = Check(module=module, calls=case.calls, pipeline=case.pipeline, named=True)
        yield Case(report.module.__name__, Origins.REPORTS, _always(job))


def of_witnesses() -> Iterator[Case]:
    """Faulty passes on modules that show the fault, and on modules that never show it."""
    for number, witness in enumerate(WITNESSES):
        if witness.problem is None and witness.args is not None:
            continue
        specimen = witness.specimen
        module = save_json(advance(witness.mod, witness.stage))
        job = Check(module=module, calls=(specimen.call,), exempt=specimen.exempt, named=True)
        origin = Origins.HARMLESS if witness.problem is None else Origins.FAULTY
        yield Case(f"{specimen.name} {number}", origin, _always(job))


def of_correct_passes(modules: int, seed: int) -> Iterator[Case]:
    """Each correct specimen on generated modules, at its stages in turn."""

    def job(specimen: Specimen, index: int, executor: Executor) -> Check | None:
        stages = specimen.stages or contract_of(specimen.call).stages
        stage = stages[index % len(stages)]
        family = specimen.modules or family_of(stage).name
        module = _generated(Origin(seed, index, stage, Recipe(family=family)), executor)
        if module is None:
            return None
        return Check(module=module, calls=(specimen.call,), exempt=specimen.exempt, named=True)

    for specimen in SPECIMENS.values():
        if specimen.family is Family.CORRECT:
            for index in range(modules):
                make = functools.partial(job, specimen, index)
                yield Case(f"{specimen.name} {index}", Origins.CORRECT, make)


def of_tvms_passes(modules: int, seed: int) -> Iterator[Case]:
    """Each pass of TVM on generated modules, at its stages in turn."""

    def job(name: str, index: int, executor: Executor) -> Check | None:
        contract = catalogue[name]
        stage = contract.stages[index % len(contract.stages)]
        recipe = Recipe(family=family_of(stage).name)
        module = _generated(Origin(seed, index, stage, recipe), executor)
        if module is None or contract.requires(mod := load_json(module)) is not None:
            return None
        call = contract.choose(Choices(Random(f"{name} {index}").randbytes(64)), mod)
        return None if call is None else Check(module=module, calls=(call,), named=True)

    for name in catalogue:
        for index in range(modules):
            yield Case(f"{name} {index}", Origins.TVM, functools.partial(job, name, index))


def _always(job: Check) -> Callable[[Executor], Check]:
    return lambda executor: job


def _generated(origin: Origin, executor: Executor) -> str | None:
    try:
        made = ask(executor, Regenerate(origin))
    except ExecutorError:
        return None
    return None if isinstance(made, Died) else made[0]


def kept(case: Case, job: Check, quiet: Executor, loud: Executor) -> Iterator[tuple[str, Kept]]:
    """The reports that only come without the rules, each with a rule that was lifted for it.

    A case whose bug is reported with the rules does not count, nor does one without a withheld
    report.
    """
    with_rules = _answer(job, quiet)
    if with_rules is None or (case.is_bug and any(map(case.tells, with_rules.violations))):
        return
    rules = {
        answer.oracle: {each.rule for each in answer.silences} & set(EXCUSES)
        for answer in with_rules.answers
    }
    if not any(rules.values()) or (without := _answer(job, loud)) is None:
        return
    before = {_text(violation) for violation in with_rules.violations}
    lifted = {answer.oracle: set(answer.lifted) for answer in without.answers}
    for violation in without.violations:
        text = _text(violation)
        if text not in before and case.tells(violation):
            mine = lifted.get(violation.oracle) or set().union(*lifted.values())
            for rule in mine & rules.get(violation.oracle, set()) or mine:
                yield rule, Kept(case.name, text, _verdict(case, violation))


def _answer(job: Check, executor: Executor) -> CheckResult | None:
    try:
        return checked(executor, job)
    except (ExecutorError, JobFailed):
        return None


def _verdict(case: Case, violation: Violation) -> bool | None:
    if case.origin is not Origins.TVM:
        return case.is_bug
    return False if (violation.oracle, violation.pass_name) in _judged_false() else None


@functools.cache
def _judged_false() -> frozenset[tuple[str, ...]]:
    """The oracle and the blamed pass of reports that are not bugs of TVM."""
    judged = tomllib.loads(JUDGED.read_text(encoding="utf-8"))["judged"]
    return frozenset(tuple(entry["report"][:2]) for entry in judged)


def _text(violation: Violation) -> str:
    return f"{violation.pass_name}: {violation.oracle}: {violation.title}"


def prices(
    cases: Iterable[Case],
    quiet: Executor,
    loud: Executor,
    until: float,
    emit: Callable[[dict[str, object]], None],
) -> tuple[dict[str, Price], Counter[Origins]]:
    """The distinct reports that each rule suppressed, and the number of checks by origin.

    Args:
        until: `time.monotonic()` at which no further check begins.
        emit: called with each report, as a JSON event.
    """
    found: dict[str, Price] = defaultdict(Price)
    checks: Counter[Origins] = Counter()

    def one(case: Case) -> list[tuple[str, Kept]]:
        if time.monotonic() > until or (job := case.make(quiet)) is None:
            return []
        checks[case.origin] += 1
        return list(kept(case, job, quiet, loud))

    with ThreadPoolExecutor(quiet.workers) as threads:
        for each in threads.map(one, cases):
            for rule, report in each:
                found[rule].add(report)
                emit({"rule": rule, **dataclasses.asdict(report)})
    return found, checks


def table(found: Mapping[str, Price], line: Callable[..., object]) -> None:
    """Print one line for each rule, except that of known bugs. `make records` covers that rule: it
    prints the records that share an identity."""
    for name in (each for each in EXCUSES if each != KNOWN.name):
        price = found.get(name, Price())
        counts = map(len, (price.true, price.false, price.unread))
        line(name, *map(str, counts), price.verdict)


def page(found: Mapping[str, Price], checks: Mapping[Origins, int], seed: int) -> str:
    """The table for the documentation."""
    listed = ", ".join(f"{checks[origin]} of {origin.value}" for origin in Origins)
    lines = [f"TVM {versions()['tvm']}, seed {seed}, checks: {listed}.\n"]
    lines += ["| rule | true reports that it takes | false ones that it saves | unread | |"]
    lines.append("|---|---|---|---|---|")
    table(found, lambda *cells: lines.append(f"| `{cells[0]}` | {' | '.join(cells[1:])} |"))
    return "\n".join(lines)


def rules() -> str:
    """The inventory for the documentation, by kind."""
    parts = []
    for kind, heading in HEADINGS.items():
        parts.append(f"{heading}\n\n| rule | excuses | source |\n|---|---|---|")
        mine = [rule for rule in RULES.values() if rule.kind is kind]
        parts += [f"| `{rule.name}` | {rule.excuses} | {rule.source} |" for rule in mine]
        parts.append("")
    return "\n".join(parts).strip()


def main() -> None:
    """Print the prices; with --write, put them into docs/silence.md."""
    parser = argparse.ArgumentParser(prog="make bench-silence", description=__doc__)
    parser.add_argument("--modules", type=int, default=20, help="for each correct pass")
    parser.add_argument("--of-tvm", type=int, default=8, help="modules for each pass of TVM")
    parser.add_argument("--budget", type=float, default=45, help="minutes; the cases are shuffled")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="only cases whose names contain this")
    parser.add_argument("--rules", nargs="*", default=[ALL], help="lift only these")
    parser.add_argument("--json", action="store_true", help="one JSON object for each report")
    parser.add_argument("--write", action="store_true", help="into docs/silence.md")
    parser.add_argument("--inventory", action="store_true", help="only write the rules there")
    options = parser.parse_args()
    if options.inventory:
        put(PAGE, rules(), INVENTORY, END_OF_INVENTORY)
        return
    until = time.monotonic() + 60 * options.budget
    cases = [*of_records(), *of_reports(), *of_witnesses()]
    cases += of_correct_passes(options.modules, options.seed)
    cases += of_tvms_passes(options.of_tvm, options.seed)
    cases = [case for case in cases if (options.only or "") in case.name]
    Random(options.seed).shuffle(cases)
    environment = loud_environment(tuple(options.rules))

    def emit(event: dict[str, object]) -> None:
        if options.json:
            print(json.dumps(event), flush=True)

    with (
        LocalPool(options.workers) as quiet,
        LocalPool(options.workers, environment=environment) as loud,
    ):
        found, checks = prices(cases, quiet, loud, until, emit)
    shown = Table("rule", "true", "false", "unread", "")
    table(found, shown.add_row)
    Console(stderr=options.json).print(shown, dict(checks))
    if options.write:
        put(PAGE, page(found, checks, options.seed), PRICES, END_OF_PRICES)


if __name__ == "__main__":
    main()
