"""A night: it runs old bugs again, fuzzes and reports; it resumes after an interruption."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...compat.release import BUILD
from ..findings.dedup import FAIL_ON, fails
from ..findings.runs import Run
from ..findings.store import Store
from ..output.terminal import Cells, by_grade, counted, duration, findings_table, results
from ..report import PAGE, writer
from ..report.data import Entry, EntryState, Report, gather
from ..session.chosen import campaign_of
from ..session.fuzzing import Fuzzing
from ..session.seeds import seeds
from ..session.session import Session, session
from ..system.errors import UserError
from ..system.files import write_whole
from ..user_input.settings import NIGHT, NIGHTLY, SETTINGS, Settings, all_within, within
from ..user_input.settings_file import load
from . import state
from .config import NightlyPlan, plan
from .old_bugs import FIXED, UNEXPECTED, is_back, known_key, old_bugs, replay_all
from .state import Night, Phase

COMMAND = "nightly"

UNCONFIRMED = 1000
"""Most unconfirmed findings to keep in the store, some tens of megabytes; the newest stay."""


def run(config: Path | None, options: Mapping[str, Any]) -> int:
    """Run a night, or the rest of it; return the exit code.

    Args:
        options: the given options of the command line.

    Raises:
        UserError: a setting is wrong, or another campaign runs in the folder.
        ExecutorError: the workers cannot be kept alive.
    """
    settings = Settings() if config is None else load(config, NIGHTLY)
    folder, here = Path() if config is None else config.parent, Path.cwd()
    given = dict(options)
    # Paths of passes in the file are also relative to its folder.
    with contextlib.chdir(folder):
        if Path.cwd() != here:
            settings = all_within(settings, Path.cwd())
            # Paths on the command line are relative to the folder where it was given.
            given = within(given, here)
            if (file := here / given.get("scheduler", "")).is_file():
                given["scheduler"] = str(file)
        chosen = plan(settings, given)
        return _night(chosen) if chosen.targets else 0


def _night(chosen: NightlyPlan) -> int:
    settings = chosen.settings
    Store(settings.out).close()  # before a report is written there
    writers = _writers(chosen)
    calls = [target.call for target in chosen.targets if target.call is not None]
    with session(settings, calls=calls, campaign="relaxfuzz nightly") as made:
        return _Phases(chosen, made, writers).run()


def _writers(chosen: NightlyPlan) -> list[tuple[Path, Callable[[Report], str]]]:
    """The renderer of each report, checked now, before a night is spent on unwritable reports."""
    reports = chosen.settings.report
    files = {"html": chosen.settings.out / PAGE} if reports is None else reports.named
    try:
        writers = [(path, writer(form)) for form, path in files.items()]
    except UserError:
        if reports is not None:
            raise
        writers = []  # the page is a default
    for path, _ in writers:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot write '{path}': {error.strerror or error}") from None
    return writers


class _Phases:
    def __init__(
        self,
        chosen: NightlyPlan,
        made: Session,
        writers: Sequence[tuple[Path, Callable[[Report], str]]],
    ) -> None:
        self._plan = chosen
        self._writers = writers
        self._session = made
        self._out = chosen.settings.out
        self._night = self._begun()

    def run(self) -> int:
        phases = {
            Phase.REPLAY: self._replay,
            Phase.FUZZ: self._fuzz,
            Phase.REPORT: self._report,
        }
        for phase, work in phases.items():
            stopped = self._session.stopped
            # Findings so far are reported, whatever is left to do.
            if phase not in self._night.done and (not stopped or phase is Phase.REPORT):
                work()
                if not self._session.stopped:
                    self._update(done=(*self._night.done, phase))
        return self._conclude()

    def _begun(self) -> Night:
        settings = self._plan.settings
        # Reports and workers may differ when a night is resumed.
        free = ("out", "report", "workers", "scheduler", "json")
        same = dataclasses.replace(settings, **{name: SETTINGS[name].default for name in free})
        asked = state.digest(same, self._session.versions)
        last = state.load_night(self._out)
        if last is not None and last.settings == asked and not last.over:
            self._print(
                f"resuming the night of seed {last.seed}"
                + (f"; done: {', '.join(last.done)}" if last.done else ""),
                {"event": "night", "seed": last.seed, "done": list(last.done)},
            )
            return last
        runs = self._session.store.runs.all()
        night = Night(
            settings=asked,
            seed=len(runs) if settings.seed is None else settings.seed,
            after=max(runs, default=0),
            before=_statuses(last),
        )
        night.save(self._out)
        self._print(
            f"a new night in '{self._out}', after {counted(len(runs), 'run')}: seed {night.seed}",
            {"event": "night", "seed": night.seed, "done": []},
        )
        return night

    def _update(self, **changes: Any) -> None:
        self._night = dataclasses.replace(self._night, **changes)
        self._night.save(self._out)

    # Phases

    def _replay(self) -> None:
        """Run corpus files, known bugs, and findings of another build of TVM again."""
        made = self._session
        before = self._night.before
        everything = old_bugs(
            self._plan.settings.corpus, made.expected, made.store, made.versions, before
        )
        todo = [each for each in everything if each.key not in self._night.replayed]
        if todo:
            self._print(f"{counted(len(todo), 'old bug')} to run again")
        for each, outcome in replay_all(todo, made.pool, made.interrupt.stop):
            back = is_back(outcome, before.get(each.key), made.expected.version)
            self._update(
                replayed={**self._night.replayed, each.key: str(outcome.status)},
                back=(*self._night.back, each.name) if back else self._night.back,
            )
            made.display.progress(f"{len(self._night.replayed)} of {len(everything)}  {each.name}")
            if back or outcome.status in FIXED | UNEXPECTED:
                status = "is back" if back else str(outcome.status)
                details = f" ({outcome.message})" if outcome.message else ""
                event = {"event": "replay", "name": each.name, "path": str(each.item.path)}
                self._print(f"{status}: {each.name}{details}", {**event, "status": status})
        if everything:
            counts = Counter(self._night.replayed.values())
            self._print("old bugs: " + ", ".join(f"{n} {status}" for status, n in counts.items()))

    def _fuzz(self) -> None:
        made, settings, targets = self._session, self._plan.settings, self._plan.targets
        replayed = self._night.replayed
        made.expected.fixed = frozenset(
            known.name for known in made.expected.knowns if replayed.get(known_key(known)) in FIXED
        )
        before = self._run()
        if before is None or not before[1].finished:
            if before is not None:  # modules other than those of the interrupted run
                runs = made.store.runs.all()
                self._update(seed=len(runs) if settings.seed is None else settings.seed)
            Fuzzing(
                dataclasses.replace(
                    campaign_of(settings, targets, budget=NIGHT, everything=self._plan.everything),
                    seed=self._night.seed,
                    is_known=made.expected.presumes,
                    seeds=seeds(settings.seeds, settings.seed_share, made),
                ),
                made,
                command=COMMAND,
                continued=None if before is None else before[0],
                stop_at_first=(settings.fail_on or FAIL_ON) if settings.until_first else None,
                named=settings.oracles,
            ).run()
        if made.stopped:
            return
        # Record in the run which known bugs are fixed, since reports read it there.
        run = self._run()
        assert run is not None, "fuzzing enters a run"
        id, stored = run
        stored = dataclasses.replace(
            stored,
            fixed=tuple(sorted(made.expected.fixed.difference(stored.knowns))),
            replayed={id: status for id, status in replayed.items() if made.store.get(id)},
        )
        made.store.runs.save(id, stored)

    def _report(self) -> None:
        dropped = self._session.store.forget_unconfirmed(UNCONFIRMED)
        report = self._gathered()
        for path, form in self._writers:
            try:
                write_whole(path, form(report))
            except Exception:  # the findings of the night are printed nevertheless
                self._session.no_report(f"no report in {path}:\n{traceback.format_exc()}")
                continue
            self._print(f"report: {path}", {"event": "report", "path": str(path)})
        if dropped:
            self._print(f"dropped: {counted(dropped, 'unconfirmed finding')}")

    # Parts

    def _gathered(self) -> Report:
        return gather(self._session.store, self._session.expected)

    def _run(self) -> tuple[int, Run] | None:
        runs = self._session.store.runs.all().items()
        mine = [(id, run) for id, run in runs if id > self._night.after and run.command == COMMAND]
        return mine[-1] if mine else None

    def _print(self, line: str, event: Mapping[str, object] | None = None) -> None:
        """Print a line for people, and the event for programs if JSON is requested."""
        self._session.display.line(line)
        if event is not None and self._session.output.as_json:
            self._session.output.emit(event)

    def _conclude(self) -> int:
        made, report = self._session, self._gathered()
        made.display.close()
        made.print_faults()
        entered = self._run()
        new: tuple[Entry, ...] = ()
        seen: tuple[Entry, ...] = ()
        run = Run(command=COMMAND, started=0.0, workers=0, versions={}, passes=())
        if entered is not None:
            number, run = entered
            new = report.of(EntryState.NEW)
            seen = tuple(entry for entry in report.of(EntryState.SEEN) if number in entry.runs)
        if made.output.as_json:
            summary = {
                "event": "summary",
                "new": [entry.id for entry in new],
                "grades": {entry.id: entry.grade for entry in new},
                "consequences": {entry.id: entry.effect for entry in new},
                "back": list(self._night.back),
                "seen": len(seen),
                "knowns": len(run.knowns),
                "fixed": list(run.fixed),
                "modules": run.modules,
                "checks": run.checks,
                "seconds": round(run.seconds, 1),
                "seed": self._night.seed,
                "faults": len(run.faults),
                "build": {key: made.versions[key] for key in BUILD if key in made.versions},
                "new_on_build": [entry.id for entry in report.new_on_build],
                "gone_on_build": [entry.id for entry in report.gone_on_build],
                "over": self._night.over,
                "lost": made.lost,
            }
            made.output.emit(summary)
        else:
            console = results()
            if new:
                findings_table(console, [self._cells(entry) for entry in new])
                console.print()
            console.print(self._sentence(new, seen, run, report), soft_wrap=True)
        fail_on = self._plan.settings.fail_on
        named = self._plan.settings.oracles
        failing = any(fails(entry.findings, fail_on, named) for entry in new)
        met = bool(seen or run.knowns or self._night.replayed)
        return made.exit_code(
            new=failing or bool(self._night.back),
            earlier=run.faults,
            compared=met or any(stats.compared for stats in run.stats.values()),
        )

    def _cells(self, entry: Entry) -> Cells:
        shown = entry.evidence[0]
        finding, path = shown.finding, shown.reproducer
        return entry.weight.rank, entry.effect, finding.label, finding.oracle, entry.title, path

    def _sentence(
        self, new: Sequence[Entry], seen: Sequence[Entry], run: Run, report: Report
    ) -> str:
        grades = f" ({by_grade(entry.grade for entry in new)})" if new else ""
        parts = [counted(len(new), "new finding") + grades]
        if self._night.back:
            parts.append(f"{len(self._night.back)} back: {', '.join(self._night.back)}")
        if seen:
            parts.append(f"{len(seen)} seen before")
        if run.knowns:
            parts.append(f"{len(run.knowns)} known")
        if run.fixed:
            parts.append(f"{len(run.fixed)} fixed")
        text = f"{', '.join(parts)}; {counted(run.modules, 'module')}, "
        text += f"{counted(run.checks, 'check')}, {duration(run.seconds)}, seed {self._night.seed}."
        if change := report.change_of_build():
            text += f" {change}"
        if not self._night.over:
            text += " The night is not over: the same command resumes it."
        return text


def _statuses(last: Night | None) -> Mapping[str, str]:
    """The statuses of the previous night, with older ones if that night was interrupted."""
    if last is None:
        return {}
    return last.replayed if last.over else {**last.before, **last.replayed}
