"""The way from a violation to a published finding: confirm, store, reduce, reproduce."""

from __future__ import annotations

import contextlib
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
from ...oracles.passcall import BadPass, is_users
from ...oracles.violation import Violation
from .. import reproducer
from ..findings.confirm import (
    DEATHS,
    PATIENT,
    again,
    exhibit,
    made_of,
    measured,
    otherwise,
    repeatedly,
    take_evidence,
)
from ..findings.dedup import place
from ..findings.finding import Finding
from ..findings.known import Expected
from ..findings.store import Store
from ..minimize.findings import Minimized, fewer_passes, minimized
from ..minimize.parallel import SearchState
from ..process.executor import Executor, JobFailed
from ..process.protocol import LIMITS, Death, Limits
from ..reproducer.checks import HANG_SECONDS
from ..system.disk_failure import DiskFailure, is_failure, watched
from ..system.ending import NOT_WAITED_FOR
from ..system.errors import UserError
from .steps import Steps, is_broken

REDUCE_SECONDS = 3.0
"""Seconds to reduce one finding while the campaign runs; longer reductions wait for the end."""

REDUCE_HANG_SECONDS = 20.0
"""Minimum of seconds left for reducing a hang: its result is run once more, up to the limit."""

MOST_SECONDS = 60.0
"""Seconds to reduce one finding after the campaign, if its share of the time allows this."""

STUCK_SECONDS = 180.0
"""Seconds after the time for reduction without a finished finding; then the rest stays pending."""

CONFIRM, REDUCE, DEFERRED = range(3)
"""Priorities of the queue: confirm first, then reduce, then do deferred reductions."""


class Triage:
    """Confirms and reduces violations in its own threads, while the campaign runs.

    Confirmation comes before reduction, so that a confirmed finding is in the store at once. A
    finding stays pending in the store until all `publishers` have returned, or until its
    confirmation has failed.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        publish: Callable[[Finding], None] = lambda finding: None,
        *,
        expected: Expected | None = None,
    ) -> None:
        """
        Args:
            publish: the first of `publishers`; they are called in threads of the triage.
            expected: known bugs, which are counted and not confirmed.
        """
        self.store = store
        self.expected = expected
        self.published: list[Finding] = []
        """All finished findings, including further findings of a published bug."""
        self.unconfirmed: list[Finding] = []
        """Findings that did not fail a second time."""
        self.steps = Steps(lambda: self._stop)
        """The failures of steps."""
        self._executor = executor
        self.publishers = [publish]
        """Functions that are called with each reduced bug, in this order."""
        self._queue: queue.PriorityQueue[tuple[int, int, Finding, SearchState | None]] = (
            queue.PriorityQueue()
        )
        self._number = itertools.count()
        self._seen: set[str] = set()
        self._rows: dict[str, Grade] = {}
        """The gravest grade among the findings of each published row."""
        self._deferred: list[tuple[Finding, SearchState]] = []
        """Findings not fully reduced during the campaign, and the states to continue from."""
        self._lock = threading.Lock()
        self.until: float | None = None
        """Time at which the command must end; None: it takes as long as the findings need."""
        self._deadline: float | None = None
        """Deadline of all reduction; None while the campaign runs."""
        self.at_once = False
        """True if nothing is deferred, because the first finding ends the campaign."""
        self.hangs = False
        """True if a hang was reported, which takes long to confirm."""
        self._stop = False
        self._disk_lost: DiskFailure | None = None
        self._threads: list[threading.Thread] = []
        # The rest of the machine belongs to the campaign until it ends.
        self._start_threads(max(1, executor.workers // 2))

    @property
    def pending(self) -> int:
        """The number of unfinished findings."""
        return self._queue.unfinished_tasks + len(self._deferred)

    @property
    def bugs(self) -> int:
        """The number of distinct bugs that were published."""
        return len(self._rows)

    def report(self, finding: Finding) -> bool:
        """Count a report that is presumably a known bug; add any other.

        Returns:
            True if it is presumably known.
        """
        if self.expected is None or not self.expected.take(finding):
            self.add(finding)
            return False
        return True

    def add(self, finding: Finding) -> None:
        """Take an unconfirmed violation; repetitions are ignored."""
        if self._see(finding):
            self.hangs |= finding.oracle == Death.HANG
            self.store.pend(finding)
            self._enqueue(CONFIRM, finding)

    def _see(self, finding: Finding) -> bool:
        """Return whether this is the first time the finding is seen."""
        with self._lock:
            new = finding.id not in self._seen
            self._seen.add(finding.id)
            return new

    def take_up(self, passes: Collection[str] | None = None) -> None:
        """Add findings that earlier sessions left pending, if they are from the installed TVM.

        Args:
            passes: restricts this to findings of these passes; None: all.
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

    def drain(self, seconds: float, tick: Callable[[], None], stuck: float | None = None) -> None:
        """Finish all pending findings; reduction stops after `seconds`.

        A step that takes longer than `stuck` seconds after that time (None: `STUCK_SECONDS`) stays
        pending in the store, with its progress. If the command has an end, see `until`, it limits
        all steps together, and confirmed findings are published in their current form.

        `tick` is called a few times a second; an exception it raises ends the waiting.

        Raises:
            DiskFailure: see `check`.
        """
        until = time.monotonic() + seconds
        most = STUCK_SECONDS if stuck is None else stuck
        self._start_threads(self._executor.workers)
        try:
            self._begin_to_end(until)
            left, latest = self.pending, until
            while self.pending and not self._stop:
                tick()
                self.check()
                time.sleep(0.1)
                now = time.monotonic()
                if self.pending != left:
                    left, latest = self.pending, max(now, self._deadline or now)
                elif now > latest + most:
                    break
                if self.until is not None and now > self.until + most:
                    break
        finally:
            self.stop()
        if self.until is not None:
            self._publish_unfinished()
        if not self.pending:
            for thread in self._threads:
                thread.join()
        self.check()

    def unsettled(self) -> list[Finding]:
        """The findings of this triage that are neither published nor known because time ran out."""
        done = {finding.id for finding in self.published}
        return [
            finding
            for finding in (self.store.pending() if self.pending else ())
            if finding.id in self._seen and finding.id not in done
        ]

    def _publish_unfinished(self) -> None:
        """Publish the confirmed findings for which time ran out; they stay pending."""
        for finding in self.unsettled():
            kept = self.store.get(finding.id)
            if kept is not None and kept.confirmed and kept.versions == finding.versions:
                # Without its ingredients, a known bug on a large module would be reported as new.
                with self.steps.step("take evidence", kept):
                    found = made_of(self._executor, kept.module)
                    kept = dataclasses.replace(kept, made_of=found)
                self._publish_once(kept, settle=False)

    def _begin_to_end(self, until: float) -> None:
        """Reduce the deferred findings, until then at the latest."""
        with self._lock:
            if self._deadline is None:
                self._deadline = until
            for finding, state in self._deferred:
                self._enqueue(DEFERRED, finding, state)
            self._deferred.clear()

    def check(self) -> None:
        """Raise the error that ended a thread.

        Raises:
            DiskFailure: a finding could not be written.
        """
        if self._disk_lost is not None:
            raise self._disk_lost

    def stop(self) -> None:
        """Start nothing new; pending findings stay pending in the store."""
        self._stop = True

    def hurry(self) -> None:
        """Skip further reduction; only confirm and reproduce."""
        self._deadline = time.monotonic()

    def _enqueue(self, priority: int, finding: Finding, state: SearchState | None = None) -> None:
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
                    self.steps.unchecked.append(traceback.format_exc())
            finally:
                self._queue.task_done()

    def _process(self, priority: int, finding: Finding, state: SearchState | None) -> None:
        try:
            if priority == CONFIRM:
                self._confirm(finding)
            else:
                self._finish(finding, state)
        except (UserError, BadPass) as error:
            self.steps.user_errors[str(error)] = None
            if finding.confirmed:
                self._publish_once(finding)
        except Exception as error:
            if self._stop or is_failure(error):  # the finding stays pending
                raise
            kept = self.store.get(finding.id)
            if kept is None or kept.versions != finding.versions:
                kept = finding
            self.steps.fail("confirm" if priority == CONFIRM else "triage", kept, error)
            if kept.confirmed:
                self._publish_once(kept)  # with its progress so far
            elif not is_broken(error):  # the finding then stays pending
                self.store.put(finding)
                self.store.settle(finding.id)

    def _confirm(self, finding: Finding) -> None:
        known = self.store.get(finding.id)
        if known is not None and known.versions == finding.versions and self._fails_still(known):
            if known.reduced and self.store.reproducer(known) is not None:
                if known.exhibit is None or known.evidence is None:  # an earlier attempt failed
                    known = self._shown(known)
                    self.store.put(known)
                self._publish_once(known)
            else:  # an earlier run had no time to reduce it
                self._enqueue(REDUCE, known)
            return
        if (violation := self._again(finding)) is None:
            if not self._under_another_key(finding):
                self.unconfirmed.append(finding)
                self.store.put(finding)
            self.store.settle(finding.id)
            return
        confirmed = dataclasses.replace(finding, confirmed=True, violation=violation)
        with self.steps.step("drop passes", confirmed):
            confirmed = fewer_passes(self._executor, confirmed)
        self.store.put(confirmed)
        if confirmed.id != finding.id:  # it occurred again with another text
            self.store.pend(confirmed)
            self.store.settle(finding.id)
            if not self._see(confirmed):
                return
        self._enqueue(REDUCE, confirmed)

    def _fails_still(self, known: Finding) -> bool:
        """Return whether a finding of an earlier run is confirmed and shows the bug.

        A pass of TVM is still the same. A user's pass may have changed.
        """
        if not known.confirmed or not any(is_users(call) for call in known.calls):
            return known.confirmed
        with contextlib.suppress(UserError, JobFailed):  # its file has moved, or it never had one
            return self._again(known) is not None
        return False

    def _again(self, finding: Finding) -> Violation | None:
        """Check a finding again on its module; return its violation, or None."""
        limits = self._limits(finding)
        violation = again(self._executor, finding, finding.module, limits=limits)
        return repeatedly(self._executor, finding) if violation is None else violation

    def _limits(self, finding: Finding) -> Limits:
        """The limits of a check; for a death, half of the time that the command has, within bounds.

        A limit that comes first hides the end of the work, whichever kind of death that is.
        """
        if finding.oracle not in DEATHS:
            return LIMITS
        if self.until is None:
            return PATIENT
        seconds = max(LIMITS.step_seconds, (self.until - time.monotonic()) / 2)
        return dataclasses.replace(PATIENT, step_seconds=min(PATIENT.step_seconds, seconds))

    def _has_time(self, finding: Finding, seconds: float) -> bool:
        """Return whether a step with this wait for a hang ends in time; other steps are quick."""
        if finding.oracle != Death.HANG or self.until is None:
            return True
        return time.monotonic() + seconds < self.until

    def _under_another_key(self, finding: Finding) -> bool:
        """Take up a different violation of the same check, unless it was already seen."""
        found = otherwise(self._executor, finding, limits=self._limits(finding))
        if found is None or found.id in self._seen:
            return False
        self.report(found)
        return True

    def _with_source(self, finding: Finding) -> Finding:
        """The finding with its module as source. For a large model that takes seconds, so it is
        written only at the end, when the module is smallest."""
        if finding.source:
            return finding
        with self.steps.step("write the module", finding):
            return dataclasses.replace(finding, source=reproducer.source_of(finding.module))
        return finding

    def _finish(self, finding: Finding, state: SearchState | None) -> None:
        smaller = finding
        if not finding.reduced and self._has_time(finding, REDUCE_HANG_SECONDS):
            result = None
            with self.steps.step("minimize", finding):
                result = self._minimized(finding, state)
            if result is not None:
                smaller = result.finding
                if not smaller.reduced and self._defer(smaller, result.state):
                    return
        if smaller is not finding:  # from here on it cannot be lost
            self.store.put(smaller)
        for unwritten in (smaller, finding) if smaller is not finding else (finding,):
            candidate = self._with_source(unwritten)
            if (text := self._reproducer(candidate)) is not None:
                shown = self._shown(candidate)
                with self.steps.step("write the reproducer", candidate):
                    shown = self.store.publish(shown, text)
                if shown.reproducer is not None:
                    self._publish_once(shown)
                    return
        # `relaxfuzz replay` can check it even without a reproducer.
        smaller = self._shown(self._with_source(smaller))
        self.store.put(smaller)
        self._publish_once(smaller)

    def _reproducer(self, finding: Finding) -> str | None:
        """A script that fails; it asks relaxfuzz again if no brief check can be written."""
        if not self._has_time(finding, HANG_SECONDS):
            return None
        for brief in (True, False):
            with self.steps.step(
                f"reproduce with a {'brief' if brief else 'whole'} check", finding
            ):
                text = reproducer.failing(finding, executor=self._executor, brief=brief)
                if text is not None:
                    return text
        return None

    def _shown(self, finding: Finding) -> Finding:
        """The finding with its exhibit, evidence and consequence, so that readers need not run the
        pass."""
        with self.steps.step("take evidence", finding):
            finding = dataclasses.replace(finding, evidence=take_evidence(self._executor, finding))
        if self.until is None or time.monotonic() < self.until:
            with self.steps.step("measure the consequence", finding):
                found = measured(self._executor, finding)
                finding = dataclasses.replace(finding, consequence=found)
        with self.steps.step("explain", finding):
            finding = dataclasses.replace(finding, exhibit=exhibit(self._executor, finding))
        return finding  # noqa: RET504  # a step swallows exceptions

    def _minimized(self, finding: Finding, state: SearchState | None) -> Minimized | None:
        """The reduced finding; None if no time is left."""
        deadline = time.monotonic() + self._reduction_time()
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
        self.steps.lacking.update(dict.fromkeys(result.lacking))
        if result.faults:
            self.steps.note("minimize", finding, "\n".join(result.faults))
        return result

    def _defer(self, finding: Finding, state: SearchState) -> bool:
        """Continue its reduction after the campaign; return false if nothing can follow."""
        with self._lock:
            if self._deadline is not None or self.at_once:
                return False
            self._deferred.append((finding, state))
        self.store.put(finding)
        return True

    def _reduction_time(self) -> float:
        if self._deadline is None:
            return MOST_SECONDS if self.at_once else REDUCE_SECONDS
        left = (self._deadline - time.monotonic()) * len(self._threads) / max(1, self.pending)
        return min(MOST_SECONDS, left)

    def _publish_once(self, finding: Finding, *, settle: bool = True) -> None:
        """Publish a finding, or count it if its minimized module shows a known bug.

        It is published if it is the first finding of its row, or graver than the earlier ones.

        Args:
            settle: its triage has ended.
        """
        if self.expected is not None and self.expected.take(finding):
            self.store.settle(finding.id)
            return
        row = finding.id
        with self.steps.step("find the row", finding):
            row = place(self.store, finding)
        if row not in self._rows and self.expected is not None:
            finding = dataclasses.replace(finding, similar=self.expected.similar(finding))
        finding = dataclasses.replace(finding, faults=self.steps.of(finding))
        self.store.put(finding)
        with self._lock:
            self.published.append(finding)
            graver = row not in self._rows or finding.grade < self._rows[row]
            if graver:
                self._rows[row] = finding.grade
        if graver:
            for publish in self.publishers:
                with self.steps.step("report", finding):
                    publish(finding)
        if settle:
            self.store.settle(finding.id)
