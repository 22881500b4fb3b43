"""A night: run old bugs again, fuzz, bisect, report; resumed where it was interrupted."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...compat.release import BUILD
from ..bisect.bisect import Bisection, portable
from ..campaign.campaign import CampaignConfig
from ..campaign.schedule import MODULES_IN_BLOCK
from ..findings.dedup import fails
from ..findings.finding import Finding
from ..findings.known import Choice
from ..findings.runs import Run
from ..findings.store import Store
from ..output.terminal import Cells, by_grade, counted, duration, findings_table, results
from ..process.serialize import plain
from ..report import PAGE, writer
from ..report.data import Entry, Report, State, gather
from ..session.fuzzing import Fuzzing
from ..session.seeds import seeds
from ..session.session import Session, session
from ..system.files import write_whole
from ..system.subprocesses import Stopped, Subprocesses
from ..user_input.errors import UserError
from . import state
from .config import EXAMPLE, Nightly, Plan, load, plan, within
from .disk import prune
from .old_bugs import FIXED, UNEXPECTED, is_back, known_key, old_bugs, replay_all
from .state import Night, Phase

COMMAND = "nightly"

INIT = Path("nightly.toml")


def init(path: Path | None) -> int:
    """Write the example of a settings file.

    Raises:
        UserError: the file exists, or cannot be written.
    """
    path = path or INIT
    if path.exists():
        raise UserError(f"'{path}' exists: name another file, as in --init other.toml")
    try:
        write_whole(path, EXAMPLE.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from None
    print(f"wrote {path}; now: relaxfuzz nightly {path}")
    return 0


def run(config: Path | None, options: Mapping[str, Any], *, workers: int, json: bool) -> int:
    """Run a night, or what is left of it; the exit code.

    Args:
        options: of the command line, those that are given.
        workers: the default.

    Raises:
        UserError: a setting is wrong, or another campaign runs in the folder.
        ExecutorError: the workers cannot be kept alive.
    """
    settings = Nightly() if config is None else load(config)
    where = "relaxfuzz nightly" if config is None else str(config)
    folder = Path() if config is None else config.parent
    if folder.resolve() != Path.cwd():
        settings = within(settings, folder.absolute())
        # Paths on the command line are relative to the folder where it was given.
        given = dict(options)
        if "out" in given:
            given["out"] = given["out"].absolute()
        if "scheduler" in given and (file := Path(given["scheduler"])).is_file():
            given["scheduler"] = str(file.absolute())
        options = given
    # Paths of passes are relative to the folder of the file, too.
    with contextlib.chdir(folder):
        return _night(plan(settings, options, where), workers, json=json)


def _night(chosen: Plan, workers: int, *, json: bool) -> int:
    settings = chosen.settings
    Store(settings.out).close()  # before a report is written there
    writers = _writers(chosen)
    with session(
        settings.out,
        settings.workers or workers,
        Choice(folders=settings.known, shipped=settings.shipped_knowns),
        as_json=json,
        where=chosen.where,
        calls=[target.call for target in chosen.targets if target.call is not None],
        campaign="relaxfuzz nightly",
    ) as made:
        return _Phases(chosen, made, writers).run()


def _writers(chosen: Plan) -> list[tuple[Path, Callable[[Report], str]]]:
    """The renderer of each report, checked before a night is spent on what cannot be written."""
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
        chosen: Plan,
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
            Phase.BISECT: self._bisect,
            Phase.REPORT: self._report,
        }
        for phase, work in phases.items():
            stopped = self._session.stopped
            # What was found until then is reported, whatever is left to do.
            if phase not in self._night.done and (not stopped or phase is Phase.REPORT):
                work()
                if not self._session.stopped:
                    self._update(done=(*self._night.done, phase))
        return self._conclude()

    def _begun(self) -> Night:
        settings = self._plan.settings
        # Reports and workers may differ when a night is resumed.
        same = dataclasses.replace(
            settings, out=Path(), report=None, workers=None, scheduler=None, cluster=None
        )
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
            unbisected=() if last is None else last.unbisected,
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
        """Corpus files, known bugs, and findings of another build of TVM."""
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
            Fuzzing(
                CampaignConfig(
                    seed=self._night.seed,
                    targets=targets,
                    seconds=self._plan.seconds,
                    modules=settings.modules,
                    oracles=self._plan.oracles,
                    compositions=not settings.passes,
                    modules_in_block=settings.block or MODULES_IN_BLOCK,
                    is_known=made.expected.presumes,
                    seeds=seeds(settings.seeds, settings.seed_share, made),
                ),
                made,
                command=COMMAND,
                resume=before is not None,
                stop_at_first=settings.fail_on if settings.until_first else None,
                named=settings.oracles,
            ).run(())  # the reproducers of known bugs ran in the phase before
        if made.stopped:
            return
        # Record in the run which known bugs are fixed: reports take it from there.
        run = self._run()
        assert run is not None, "fuzzing enters a run"
        id, stored = run
        stored = dataclasses.replace(
            stored,
            fixed=tuple(sorted(made.expected.fixed.difference(stored.knowns))),
            replayed={id: status for id, status in replayed.items() if made.store.get(id)},
        )
        made.store.runs.save(id, stored)
        if self._plan.bisect:
            new = [entry.finding.id for entry in self._gathered().of(State.NEW) if entry.finding]
            self._update(unbisected=tuple(dict.fromkeys([*self._night.unbisected, *new])))

    def _bisect(self) -> None:
        made = self._session
        findings = [
            finding
            for id in self._night.unbisected
            if (finding := made.store.get(id)) is not None
            and finding.first_bad is None
            and made.store.reproducer(finding) is not None
        ]
        self._update(unbisected=tuple(finding.id for finding in findings))
        if not findings:
            return
        self._print(
            f"{counted(len(findings), 'new finding')} to bisect, "
            f"for up to {duration(self._plan.bisect_seconds)}"
        )
        over = _after(self._plan.bisect_seconds, made.interrupt.stop)
        for finding in findings:
            if not over.is_set():
                self._bisect_one(finding, over)
        if self._night.unbisected and not made.interrupt.stop.is_set():
            later = counted(len(self._night.unbisected), "finding")
            self._print(f"no time to bisect {later}: left for the next night")

    def _bisect_one(self, finding: Finding, over: threading.Event) -> None:
        made = self._session
        script = made.store.reproducer(finding)
        assert script is not None, "only findings with a reproducer are bisected"
        bisection = Bisection(
            portable(finding, script),
            self._plan.bisect,
            Subprocesses(over),
            made.display.progress,
            workers=made.pool.workers,
        )
        try:
            first = bisection.run().first_bad
        except Stopped:
            return
        if first is not None:
            finding = dataclasses.replace(finding, first_bad=first.release)
            made.store.put(finding)
        self._update(unbisected=tuple(id for id in self._night.unbisected if id != finding.id))
        verdict = "bad on none of these" if first is None else f"first bad: {first.release}"
        self._print(
            f"{finding.id} {finding.label}: {verdict}",
            {"event": "bisect", "id": finding.id, "first_bad": finding.first_bad},
        )

    def _report(self) -> None:
        use = prune(self._session.store, self._plan.max_disk)
        report = self._gathered()
        for path, form in self._writers:
            try:
                write_whole(path, form(report))
            except Exception:  # the findings of the night are printed all the same
                self._session.no_report(f"no report in {path}:\n{traceback.format_exc()}")
                continue
            self._print(f"report: {path}", {"event": "report", "path": str(path)})
        self._print(f"disk: {use}", {"event": "disk", **plain(use)})

    # Pieces

    def _gathered(self) -> Report:
        return gather(self._session.store, self._session.expected)

    def _run(self) -> tuple[int, Run] | None:
        runs = self._session.store.runs.all().items()
        mine = [(id, run) for id, run in runs if id > self._night.after and run.command == COMMAND]
        return mine[-1] if mine else None

    def _print(self, line: str, event: Mapping[str, object] | None = None) -> None:
        """A line for people, and where JSON is wanted, the event for programs."""
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
            new = report.of(State.NEW)
            seen = tuple(entry for entry in report.of(State.SEEN) if number in entry.runs)
        if made.output.as_json:
            summary = {
                "event": "summary",
                "new": [entry.id for entry in new],
                "grades": {entry.id: entry.grade for entry in new},
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
                **made.workers_summary(),
            }
            made.output.emit(summary)
        else:
            console = results()
            if new:
                findings_table(console, [self._cells(entry) for entry in new])
                console.print()
            console.print(self._sentence(new, seen, run, report), soft_wrap=True)
        least = self._plan.settings.fail_on
        named = self._plan.settings.oracles
        failing = any(fails(entry.findings, least, named) for entry in new)
        return made.exit_code(new=failing or bool(self._night.back), earlier=run.faults)

    def _cells(self, entry: Entry) -> Cells:
        shown = entry.evidence[0]
        title = entry.title
        if shown.finding.first_bad is not None:
            title += f" (since {shown.finding.first_bad})"
        return entry.grade, shown.finding.label, shown.finding.oracle, title, shown.reproducer

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
    """The statuses of the night before, with older ones where it was interrupted."""
    if last is None:
        return {}
    return last.replayed if last.over else {**last.before, **last.replayed}


def _after(seconds: float, stop: threading.Event) -> threading.Event:
    """An event that is set when the time is over, or the user wants to stop."""
    over = threading.Event()

    def wait() -> None:
        stop.wait(seconds)
        over.set()

    threading.Thread(target=wait, name="budget", daemon=True).start()
    return over
