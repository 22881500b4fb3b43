"""From a violation to a published finding: confirm, store, reduce, reproduce."""

from __future__ import annotations

import dataclasses
import itertools
import queue
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Collection

from ...compat.release import versions
from ...oracles.grades.grade import Grade
from ...oracles.passcall import BadPass
from .. import reproducer
from ..findings.confirm import PATIENT, again, exhibit, otherwise, repeatedly, take_evidence
from ..findings.dedup import place
from ..findings.finding import FailedStep, Finding
from ..findings.known import Expected
from ..findings.store import Store
from ..minimize.findings import Minimized, fewer_passes, minimized
from ..minimize.parallel import State
from ..process.executor import Executor
from ..process.protocol import LIMITS, Death
from ..system.disk_failure import DiskFailure, is_failure, watched
from ..system.ending import NOT_WAITED_FOR
from ..user_input.errors import UserError
from .steps import Steps, described, is_broken

REDUCE_SECONDS = 3.0
"""To reduce one finding while the campaign runs; one that needs more is deferred to the end."""

MOST_SECONDS = 60.0
"""To reduce one finding after the campaign, if its share of the remaining time allows it."""

STUCK_SECONDS = 180.0
"""After the time for reduction: if nothing is finished for so long, the rest stays pending."""

CONFIRM, REDUCE, DEFERRED = range(3)
"""Priorities of the queue: confirm first, reduce next, then what was deferred."""

STEPS = {CONFIRM: "confirm", REDUCE: "triage", DEFERRED: "triage"}
"""The name of what fails where no step of it does."""


class Triage:
    """Confirms and reduces violations in threads of its own, while the campaign runs.

    Confirmation comes before reduction: a confirmed finding is in the store at once, whatever
    happens later. A finding stays pending in the store until all `publishers` have returned, or
    until it could not be confirmed.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        publish: Callable[[Finding], None] = lambda finding: None,
        *,
        expected: Expected | None = None,
        confirmed: Callable[[Finding], None] = lambda finding: None,
    ) -> None:
        """
        Args:
            publish: the first of `publishers`; they are called in threads of the triage.
            expected: known bugs, which are counted and not confirmed.
            confirmed: called in a thread of the triage, when a finding failed again.
        """
        self.store = store
        self.expected = expected
        self.published: list[Finding] = []
        """All that are finished, including further findings of a published bug."""
        self.unconfirmed: list[Finding] = []
        """Those that did not fail again."""
        self._steps = Steps(store, lambda: self._stop)
        self._executor = executor
        self.publishers = [publish]
        """Called in this order with each bug, once it is reduced."""
        self._on_confirmed = confirmed
        self._queue: queue.PriorityQueue[tuple[int, int, Finding, State | None]] = (
            queue.PriorityQueue()
        )
        self._number = itertools.count()
        self._seen: set[str] = set()
        self._rows: dict[str, Grade] = {}
        """By row that was published, the gravest of its findings."""
        self._deferred: list[tuple[Finding, State]] = []
        """Not fully reduced while the campaign ran, and where the reduction continues."""
        self._lock = threading.Lock()
        self._deadline: float | None = None
        """Of all reduction; None while the campaign runs."""
        self._stop = False
        self._disk_lost: DiskFailure | None = None
        self._threads: list[threading.Thread] = []
        # The rest of the machine belongs to the campaign until it ends.
        self._start_threads(max(1, executor.workers // 2))

    @property
    def pending(self) -> int:
        """Findings that are not finished."""
        return self._left

    @property
    def unchecked(self) -> list[str]:
        """Failures of the harness before a finding could be confirmed."""
        return self._steps.unchecked

    @property
    def failed_steps(self) -> list[tuple[Finding, FailedStep]]:
        """What the harness failed at with confirmed findings, which are kept all the same."""
        return self._steps.failed

    @property
    def faults(self) -> list[str]:
        """All that the harness itself failed at."""
        return self.unchecked + [described(*each) for each in self.failed_steps]

    @property
    def lacking(self) -> dict[str, None]:
        """What the installed TVM lacks, for which something was left undone."""
        return self._steps.lacking

    @property
    def user_errors(self) -> dict[str, None]:
        """Why passes of the user's can no longer be loaded; their findings stay pending."""
        return self._steps.user_errors

    @property
    def bugs(self) -> int:
        """Distinct bugs that were published."""
        return len(self._rows)

    def report(self, finding: Finding) -> bool:
        """Count a report that is presumed to be a known bug; add anything else.

        Returns:
            True if it is presumed to be known.
        """
        if self.expected is None or not self.expected.take(finding):
            self.add(finding)
            return False
        return True

    def add(self, finding: Finding) -> None:
        """Take an unconfirmed violation; the same one only once."""
        if self._see(finding):
            self.store.pend(finding)
            self._enqueue(CONFIRM, finding)

    def _see(self, finding: Finding) -> bool:
        """Whether it is seen for the first time."""
        with self._lock:
            new = finding.id not in self._seen
            self._seen.add(finding.id)
            return new

    def take_up(self, passes: Collection[str] | None = None) -> None:
        """Add what earlier sessions left pending in the store, if it is of the installed TVM.

        Args:
            passes: only findings of these; None: all.
        """
        version = versions()["tvm"]
        for finding in self.store.pending():
            if finding.versions["tvm"] != version:
                continue
            if passes is not None and finding.pass_name not in passes:
                continue
            if self.expected is not None and self.expected.of(finding):  # recorded since then
                self.store.settle(finding.id)
            else:
                self.add(finding)

    def restore(self, finding: Finding, *, published: bool, done: bool) -> None:
        """Take a finding that an earlier process confirmed.

        Args:
            published: its bug was published.
            done: it is no longer pending. A process may have died in between.
        """
        row = self.store.rows.of(finding.id) or finding.id
        with self._lock:
            if done:
                self._seen.add(finding.id)
                self.published.append(finding)
            if published:
                self._rows[row] = finding.grade

    def drain(self, seconds: float, tick: Callable[[], None], stuck: float | None = None) -> None:
        """Finish all that is pending; after `seconds` nothing more is reduced.

        A step that takes longer than `stuck` seconds after that time (None: `STUCK_SECONDS`) stays
        pending in the store, as far as it got.

        `tick` is called a few times a second; an exception it raises ends the waiting.

        Raises:
            DiskFailure: see `check`.
        """
        until = time.monotonic() + seconds
        most = STUCK_SECONDS if stuck is None else stuck
        self._start_threads(self._executor.workers)
        try:
            self._begin_to_end(until)
            left, latest = self._left, until
            while self._left and not self._stop:
                self._wait(tick)
                now = time.monotonic()
                if self._left != left:
                    left, latest = self._left, max(now, self._deadline or now)
                elif now > latest + most:
                    break
        finally:
            self.stop()
        if not self._left:
            for thread in self._threads:
                thread.join()
        self.check()

    @property
    def _left(self) -> int:
        """All that is not finished."""
        return self._queue.unfinished_tasks + len(self._deferred)

    def _wait(self, tick: Callable[[], None]) -> None:
        tick()
        self.check()
        time.sleep(0.1)

    def _begin_to_end(self, until: float) -> None:
        """Reduce what was deferred, until then at the latest."""
        with self._lock:
            if self._deadline is None:
                self._deadline = until
            for finding, state in self._deferred:
                self._enqueue(DEFERRED, finding, state)
            self._deferred.clear()

    def check(self) -> None:
        """Raise what ended a thread.

        Raises:
            DiskFailure: a finding could not be written.
        """
        if self._disk_lost is not None:
            raise self._disk_lost

    def stop(self) -> None:
        """Start nothing more; what is pending stays pending in the store."""
        self._stop = True

    def hurry(self) -> None:
        """Reduce nothing more; only confirm and reproduce."""
        self._deadline = time.monotonic()

    def _enqueue(self, priority: int, finding: Finding, state: State | None = None) -> None:
        self._queue.put((priority, next(self._number), finding, state))

    def _start_threads(self, threads: int) -> None:
        while len(self._threads) < threads:
            thread = threading.Thread(target=self._work, name=NOT_WAITED_FOR, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while not self._stop and self._disk_lost is None:
            try:
                priority, _, finding, state = self._queue.get(timeout=0.2)
            except queue.Empty:
                continue
            try:
                with watched(tempfile.gettempdir()):
                    self._process(priority, finding, state)
            except DiskFailure as error:
                self._disk_lost = error
            except Exception:
                if not self._stop:
                    self.unchecked.append(traceback.format_exc())
            finally:
                self._queue.task_done()

    def _process(self, priority: int, finding: Finding, state: State | None) -> None:
        try:
            if priority == CONFIRM:
                self._confirm(finding)
            else:
                self._finish(finding, state)
        except (UserError, BadPass) as error:
            self.user_errors[str(error)] = None
            if finding.confirmed:
                self._publish_once(finding)
        except Exception as error:
            if self._stop or is_failure(error):  # it stays pending
                raise
            kept = self.store.get(finding.id)
            if kept is None or kept.versions != finding.versions:
                kept = finding
            self._steps.fail(STEPS[priority], kept, error)
            if kept.confirmed:
                self._publish_once(kept)  # as far as it got
            elif not is_broken(error):  # then it stays pending
                self.store.put(finding)
                self.store.settle(finding.id)

    def _confirm(self, finding: Finding) -> None:
        self.store.forget_failed(finding.id)
        known = self.store.get(finding.id)
        if known is not None and known.confirmed and known.versions == finding.versions:
            if known.reduced and self.store.reproducer(known) is not None:
                if known.exhibit is None or known.evidence is None:  # an earlier try failed
                    known = self._shown(known)
                    self.store.put(known)
                self._on_confirmed(known)
                self._publish_once(known)
            else:  # an earlier run had no time to reduce it
                self._reduce(known)
            return
        limits = PATIENT if finding.oracle == Death.HANG else LIMITS
        violation = again(self._executor, finding, finding.module, limits=limits)
        if violation is None:
            violation = repeatedly(self._executor, finding)
        if violation is None:
            if not self._under_another_key(finding):
                self.unconfirmed.append(finding)
                self.store.put(finding)
            self.store.settle(finding.id)
            return
        confirmed = dataclasses.replace(finding, confirmed=True, violation=violation)
        with self._steps.step("drop passes", confirmed):
            confirmed = fewer_passes(self._executor, confirmed)
        confirmed = self._with_source(confirmed)
        self.store.put(confirmed)
        if confirmed.id != finding.id:  # it came out in other words
            self.store.pend(confirmed)
            self.store.settle(finding.id)
            if not self._see(confirmed):
                return
        self._reduce(confirmed)

    def _under_another_key(self, finding: Finding) -> bool:
        """Take up what comes out in its place, unless that is taken up already."""
        found = otherwise(self._executor, finding)
        if found is None or found.id in self._seen:
            return False
        self.report(found)
        return True

    def _reduce(self, confirmed: Finding) -> None:
        self._enqueue(REDUCE, confirmed)
        with self._steps.step("report", confirmed):
            self._on_confirmed(confirmed)

    def _with_source(self, finding: Finding) -> Finding:
        with self._steps.step("write the module", finding):
            return dataclasses.replace(finding, source=reproducer.source_of(finding.module))
        return finding

    def _finish(self, finding: Finding, state: State | None) -> None:
        smaller = finding
        if not finding.reduced:
            result = None
            with self._steps.step("minimize", finding):
                result = self._minimized(finding, state)
            if result is not None:
                smaller = result.finding
                if not smaller.reduced and self._defer(smaller, result.state):
                    return
        if smaller is not finding:  # what happens from here on does not lose it
            self.store.put(smaller)
        for candidate in (smaller, finding) if smaller is not finding else (finding,):
            if (text := self._reproducer(candidate)) is not None:
                shown = self._shown(candidate)
                with self._steps.step("write the reproducer", candidate):
                    shown = self.store.publish(shown, text)
                if shown.reproducer is not None:
                    self._publish_once(shown)
                    return
        # `relaxfuzz replay` can check it without a reproducer, too.
        smaller = self._shown(smaller)
        self.store.put(smaller)
        self._publish_once(smaller)

    def _reproducer(self, finding: Finding) -> str | None:
        """A file that fails; the oracle's whole check where the brief ones cannot be written."""
        for brief in (True, False):
            with self._steps.step(
                f"reproduce with a {'brief' if brief else 'whole'} check", finding
            ):
                text = reproducer.failing(finding, executor=self._executor, brief=brief)
                if text is not None:
                    return text
        return None

    def _shown(self, finding: Finding) -> Finding:
        """The finding with its exhibit and evidence, so that a reader need not run the pass."""
        with self._steps.step("take evidence", finding):
            finding = dataclasses.replace(finding, evidence=take_evidence(self._executor, finding))
        with self._steps.step("explain", finding):
            finding = dataclasses.replace(finding, exhibit=exhibit(self._executor, finding))
        return finding  # noqa: RET504  # a step swallows exceptions

    def _minimized(
        self, finding: Finding, state: State | None, most: float = MOST_SECONDS
    ) -> Minimized | None:
        """The reduced finding; None where no time is left."""
        deadline = time.monotonic() + min(most, self._reduction_time())
        if time.monotonic() >= deadline:
            return None
        result = minimized(
            self._executor,
            finding,
            state,
            over=lambda: (
                self._stop or time.monotonic() >= min(deadline, self._deadline or deadline)
            ),
        )
        if result.faults:
            self._steps.note("minimize", finding, "\n".join(result.faults))
        for other in result.others:
            # The reduced module may lack what the pass may rely on, which no generated module
            # does: it is kept unconfirmed, and not reported.
            self.store.put(other)
        return result

    def _defer(self, finding: Finding, state: State) -> bool:
        """Reduce it further after the campaign; false if that is over."""
        with self._lock:
            if self._deadline is not None:
                return False
            self._deferred.append((finding, state))
        self.store.put(finding)
        return True

    def _reduction_time(self) -> float:
        if self._deadline is None:
            return REDUCE_SECONDS
        left = (self._deadline - time.monotonic()) * len(self._threads) / max(1, self.pending)
        return min(MOST_SECONDS, left)

    def _publish_once(self, finding: Finding) -> None:
        """Count what its minimized module shows to be a known bug.

        Anything else is published if it is the first finding of its row, or graver than those
        before it.
        """
        if self.expected is not None and self.expected.take(finding):
            self.store.settle(finding.id)
            return
        row = finding.id
        with self._steps.step("find the row", finding):
            row = place(self.store, finding)
        if row not in self._rows and self.expected is not None:
            finding = dataclasses.replace(finding, similar=self.expected.similar(finding))
            self.store.put(finding)
        with self._lock:
            self.published.append(finding)
            graver = row not in self._rows or finding.grade < self._rows[row]
            if graver:
                self._rows[row] = finding.grade
        if graver:
            for publish in self.publishers:
                with self._steps.step("report", finding):
                    publish(finding)
        self.store.settle(finding.id)
