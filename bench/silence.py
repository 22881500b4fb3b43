"""`make bench-silence`: the price of each rule of silence, in true and in false reports.

Every case is checked twice, with and without the rules. A report that only comes without them was
kept back by the rules that were lifted on its way. It is true if the case is a bug (a reproducer of
a record, a module of --true), and false if the pass is correct (a correct pass of the zoo). Reports
of TVM's own passes on generated modules are neither until somebody has read them: --verdicts names
a file with what was read.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from relaxfuzz.corpus.knowns import knowns
from relaxfuzz.corpus.zoo import ZOO, Family
from relaxfuzz.fuzz.process.block import Regenerate
from relaxfuzz.fuzz.process.executor import Executor, ExecutorError, ask, checked
from relaxfuzz.fuzz.process.jobs import Check, Checked
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Died
from relaxfuzz.fuzz.process.reproducers import calls_in
from relaxfuzz.fuzz.process.targets import Origin, Recipe
from relaxfuzz.fuzz.session.silences import loud_environment
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.fuzz.user_input.read_module import load
from relaxfuzz.generators.families import family_of
from relaxfuzz.oracles.silence.inventory import EXCUSES, RULES
from relaxfuzz.oracles.silence.log import ALL
from relaxfuzz.oracles.silence.rule import SilenceKind
from relaxfuzz.oracles.violation import Violation

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
"""A rule that takes more true reports for a false one that it saves is too blunt."""


@dataclass(frozen=True, slots=True)
class Case:
    """A check, and what a report about it is."""

    name: str
    """The record, or the pass and the number of the module."""
    job: Check
    is_bug: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A report that comes only without the rules."""

    case: str
    report: str
    """Blamed, oracle, and title."""
    is_bug: bool


@dataclass(slots=True)
class Price:
    """The reports that a rule kept back."""

    true: list[Kept] = field(default_factory=list)
    false: list[Kept] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The comparison with the price that is accepted."""
        if not self.true and not self.false:
            return "saves nothing here"
        return "too blunt" if len(self.true) > DEAR * len(self.false) else ""


def of_records(names: Sequence[str], pool: LocalPool) -> Iterator[Case]:
    """The passes of each reproducer on its module."""
    for known in knowns():
        file = known.reproducer
        if file is None or (names and known.name not in names):
            continue
        try:
            module = load(file, pool)
        except UserError:  # TVM does not construct it, or it is ill-formed on purpose
            continue
        for calls in calls_in(file):
            if len(calls) == 1:
                yield Case(known.name, Check(module=module, calls=calls), is_bug=True)


def of_correct_passes(modules: int, seed: int, executor: Executor) -> Iterator[Case]:
    """Each correct pass of the zoo on generated modules."""
    for specimen in ZOO.values():
        if specimen.family is not Family.CORRECT:
            continue
        for index in range(modules):
            for stage in specimen.stages:
                recipe = Recipe(family=family_of(stage).name)
                made = ask(executor, Regenerate(Origin(seed, index, stage, recipe)))
                if not isinstance(made, Died):
                    job = Check(module=made[0], calls=(specimen.call,), exempt=specimen.exempt)
                    yield Case(f"{specimen.name} {index}", job, is_bug=False)


def kept(case: Case, quiet: Executor, loud: Executor) -> Iterator[tuple[str, Kept]]:
    """The reports that only come without the rules, each with a rule that was lifted for it.

    A case whose bug is reported anyway has lost nothing.
    """
    with_rules, without = _answer(case.job, quiet), _answer(case.job, loud)
    if with_rules is None or without is None or (case.is_bug and with_rules.violations):
        return
    before = {_text(violation) for violation in with_rules.violations}
    lifted = {answer.oracle: answer.lifted for answer in without.answers}
    of_all = tuple(dict.fromkeys(rule for rules in lifted.values() for rule in rules))
    for violation in without.violations:
        if (text := _text(violation)) not in before:
            for rule in lifted.get(violation.oracle) or of_all:
                yield rule, Kept(case.name, text, case.is_bug)


def _answer(job: Check, executor: Executor) -> Checked | None:
    try:
        return checked(executor, job)
    except ExecutorError:
        return None


def _text(violation: Violation) -> str:
    return f"{violation.pass_name}: {violation.oracle}: {violation.title}"


def prices(cases: Iterable[Case], quiet: Executor, loud: Executor) -> dict[str, Price]:
    """By rule: the distinct reports that it kept back. A bug counts once for each rule."""
    found: dict[str, Price] = defaultdict(Price)
    seen: set[tuple[str, str, bool]] = set()
    with ThreadPoolExecutor(quiet.workers) as threads:
        for each in threads.map(lambda case: list(kept(case, quiet, loud)), cases):
            for rule, one in each:
                key = rule, one.case if one.is_bug else f"{one.case} {one.report}", one.is_bug
                if key not in seen:
                    seen.add(key)
                    (found[rule].true if one.is_bug else found[rule].false).append(one)
    return found


def read(found: dict[str, Price], file: Path) -> None:
    """Add the reports of campaigns that somebody has read."""
    for entry in tomllib.loads(file.read_text())["judged"]:
        one = Kept(entry["module"], entry["report"], entry["true"])
        (found[entry["rule"]].true if one.is_bug else found[entry["rule"]].false).append(one)


def table(found: Mapping[str, Price], line: Callable[..., object]) -> None:
    """One line a rule."""
    for name in EXCUSES:
        price = found.get(name, Price())
        line(name, str(len(price.true)), str(len(price.false)), price.verdict)


def page(found: Mapping[str, Price], what: str) -> str:
    """The table for the documentation."""
    lines = [f"{what}\n", "| rule | true reports that it takes | false reports that it saves | |"]
    lines.append("|---|---|---|---|")
    table(found, lambda *cells: lines.append(f"| {' | '.join(cells)} |"))
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
    parser.add_argument("--modules", type=int, default=60, help="for each correct pass")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--records", nargs="*", help="only these; default: all")
    parser.add_argument("--verdicts", type=Path, help="reports of campaigns that were read")
    parser.add_argument("--rules", nargs="*", default=[ALL], help="lift only these")
    parser.add_argument("--json", action="store_true", help="one JSON object for each report")
    parser.add_argument("--write", action="store_true", help="into docs/silence.md")
    parser.add_argument("--inventory", action="store_true", help="only write the rules there")
    options = parser.parse_args()
    if options.inventory:
        put(PAGE, rules(), INVENTORY, END_OF_INVENTORY)
        return
    environment = loud_environment(tuple(options.rules))
    with (
        LocalPool(options.workers) as quiet,
        LocalPool(options.workers, environment=environment) as loud,
    ):
        cases = [*of_records(options.records or (), quiet)]
        cases += of_correct_passes(options.modules, options.seed, quiet)
        found = prices(cases, quiet, loud)
    if options.verdicts:
        read(found, options.verdicts)
    if options.json:
        for rule, price in found.items():
            for each in (*price.true, *price.false):
                event = {"rule": rule, "case": each.case, "report": each.report}
                print(json.dumps({**event, "true": each.is_bug}))
    else:
        shown = Table("rule", "true", "false", "")
        table(found, shown.add_row)
        Console().print(shown)
    if options.write:
        bugs, correct = sum(c.is_bug for c in cases), sum(not c.is_bug for c in cases)
        what = f"On {bugs} checks of reproducers and {correct} of correct passes:"
        put(PAGE, page(found, what), PRICES, END_OF_PRICES)


if __name__ == "__main__":
    main()
