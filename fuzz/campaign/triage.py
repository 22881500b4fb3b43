"""From a violation to a published finding: confirm, store, reduce, reproduce."""

from __future__ import annotations

import dataclasses
import itertools
import queue
import tempfile
import threading
import time
import traceback
from collections.abc import Callable

from ...oracles.passcall import BadPass
from .. import reproducer
from ..findings.confirm import PATIENT, again, take_evidence
from ..findings.dedup import place
from ..findings.exhibit import exhibit
from ..findings.finding import Finding
from ..findings.store import Store
from ..minimize.findings import Minimized, minimized
from ..minimize.parallel import State
from ..minimize.passlist import fewer_passes
from ..process.executor import Executor, ExecutorError
from ..process.protocol import LIMITS, Death
from ..system.disk_lost import DiskLost, is_lost, watched
from ..user_input.mistake import Mistake

REDUCE_SECONDS = 3.0
"""For one finding while the campaign goes on; what needs more is put off until afterwards."""

MOST_SECONDS = 60.0
"""For one finding afterwards, where its share of the time that is left allows it."""

FIRST, NEXT, LATER = range(3)
"""What has not been confirmed, what has, what the campaign left no time for."""


class Triage:
    """Works through violations in threads of its own, while the campaign goes on.

    Confirmation comes before reduction: a confirmed finding is in the store at once, whatever
    happens then. Results are told through `publish`, which is called in those threads. What was
    added is pending in the store until it has been told, or did not come out again.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        publish: Callable[[Finding], None],
        *,
        seconds: float | None = None,
    ) -> None:
        """
        Args:
            seconds: for all reduction; None: while a campaign goes on, little for each finding.
        """
        self.published: list[Finding] = []
        """All that are done with, also those that were not told: see `_tell`."""
        self.unconfirmed = 0
        self.faults: list[str] = []
        """What the harness itself did wrong."""
        self.mistakes: dict[str, None] = {}
        """Why passes of the user's cannot be had any more; what they did waits for their return."""
        self._store = store
        self._executor = executor
        self._publish = publish
        self._queue: queue.PriorityQueue[tuple[int, int, Finding]] = queue.PriorityQueue()
        self._number = itertools.count()
        self._seen: set[str] = set()
        self._told: set[str] = set()
        """Rows of which a finding was published."""
        self._later: list[tuple[Finding, State]] = []
        """Not reduced to the end while the campaign went on."""
        self._states: dict[str, State] = {}
        """How far their reduction has come, by id."""
        self._lock = threading.Lock()
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._stop = False
        self._lost: DiskLost | None = None
        self._threads: list[threading.Thread] = []
        # The rest of the machine belongs to the campaign until that is over.
        self._employ(max(1, executor.workers // 2))

    @property
    def pending(self) -> int:
        """Findings that are not done with."""
        return self._queue.unfinished_tasks + len(self._later)

    @property
    def told(self) -> int:
        """Bugs that were published."""
        return len(self._told)

    def add(self, finding: Finding) -> None:
        """Take a violation that nobody has confirmed yet; the same bug once only."""
        with self._lock:
            if finding.id in self._seen:
                return
            self._seen.add(finding.id)
        self._store.pend(finding)
        self._queue.put((FIRST, next(self._number), finding))

    def recall(self, finding: Finding, *, told: bool, done: bool) -> None:
        """Take a finding that a former process confirmed.

        Args:
            told: the bug that it shows was told.
            done: it is not pending. A process may have died in between.
        """
        row = self._store.rows.of(finding.id) or finding.id
        with self._lock:
            if done:
                self._seen.add(finding.id)
                self.published.append(finding)
            if told:
                self._told.add(row)

    def drain(self, seconds: float, tick: Callable[[], None]) -> None:
        """Finish all that is pending; after this time nothing is reduced any more.

        `tick` is called a few times a second; an exception of it ends the waiting.

        Raises:
            DiskLost: see `check`.
        """
        with self._lock:
            self._deadline = time.monotonic() + seconds
            for finding, state in self._later:
                self._states[finding.id] = state
                self._queue.put((LATER, next(self._number), finding))
            self._later.clear()
        self._employ(self._executor.workers)
        try:
            while self.pending and not self._stop:
                tick()
                self.check()
                time.sleep(0.1)
        finally:
            self.stop()
            for thread in self._threads:
                thread.join(timeout=None if not self.pending else 5)
        self.check()

    def check(self) -> None:
        """See that the threads can go on.

        Raises:
            DiskLost: one of them could not write what it has to keep.
        """
        if self._lost is not None:
            raise self._lost

    def stop(self) -> None:
        """Begin nothing any more; what is pending stays so in the store."""
        self._stop = True

    def hurry(self) -> None:
        """Reduce nothing any more, only confirm and reproduce."""
        self._deadline = time.monotonic()

    def _employ(self, threads: int) -> None:
        while len(self._threads) < threads:
            thread = threading.Thread(target=self._work, name="triage", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while not self._stop and self._lost is None:
            try:
                priority, _, finding = self._queue.get(timeout=0.2)
            except queue.Empty:
                continue
            try:
                with watched(tempfile.gettempdir()):
                    self._serve(priority, finding)
            except DiskLost as error:
                self._lost = error
            except Exception:
                if not self._stop:
                    self.faults.append(traceback.format_exc())
            finally:
                self._queue.task_done()

    def _serve(self, priority: int, finding: Finding) -> None:
        try:
            if priority == FIRST:
                self._confirm(finding)
            else:
                self._finish(finding)
        except (Mistake, BadPass) as error:
            self.mistakes[str(error)] = None
            if finding.confirmed:
                self._tell(finding)
        except Exception as error:
            if self._stop or is_lost(error):  # somebody else goes on with it
                raise
            self.faults.append(f"{finding.pass_name}, {finding.id}:\n{traceback.format_exc()}")
            if finding.confirmed:
                self._tell(finding)
            elif not isinstance(error, ExecutorError):  # then the next session may do better
                self._store.put(finding)
                self._store.settle(finding.id)

    def _confirm(self, finding: Finding) -> None:
        known = self._store.get(finding.id)
        if known is not None and known.confirmed and known.versions == finding.versions:
            if known.reduced and self._store.reproducer(known) is not None:
                self._tell(known)
            else:  # what a former run had no time for
                self._queue.put((NEXT, next(self._number), known))
            return
        limits = PATIENT if finding.oracle == Death.HANG else LIMITS
        violation = again(self._executor, finding, finding.module, limits=limits)
        if violation is None:
            self.unconfirmed += 1
            self._store.put(finding)
            self._store.settle(finding.id)
            return
        confirmed = dataclasses.replace(
            fewer_passes(self._executor, finding),
            confirmed=True,
            violation=violation,
        )
        confirmed = dataclasses.replace(confirmed, source=reproducer.source_of(confirmed.module))
        self._store.put(confirmed)
        self._queue.put((NEXT, next(self._number), confirmed))

    def _finish(self, finding: Finding) -> None:
        smaller = finding
        if not finding.reduced:
            result = self._minimized(finding)
            if result is not None:
                smaller = result.finding
                if not smaller.reduced and self._put_off(smaller, result.state):
                    return
        for candidate in (smaller, finding) if smaller is not finding else (finding,):
            if (text := reproducer.failing(candidate)) is not None:
                self._tell(self._store.publish(self._shown(candidate), text))
                return
        # Without a reproducer that fails it is still seen again by `relaxfuzz replay`.
        smaller = self._shown(smaller)
        self._store.put(smaller)
        self._tell(smaller)

    def _shown(self, finding: Finding) -> Finding:
        """With its exhibit and evidence: whoever reads them later must not have to run a pass."""
        try:
            evidence = take_evidence(self._executor, finding)
            finding = dataclasses.replace(finding, evidence=evidence)
            return dataclasses.replace(finding, exhibit=exhibit(self._executor, finding))
        except Mistake as error:
            self.mistakes[str(error)] = None
            return finding
        except Exception as error:  # it is a help, and the finding is no less true
            if is_lost(error):
                raise
            self.faults.append(f"{finding.pass_name}, {finding.id}:\n{traceback.format_exc()}")
            return finding

    def _minimized(self, finding: Finding) -> Minimized | None:
        """None where there is no time for it."""
        deadline = time.monotonic() + self._reduction_time()
        if time.monotonic() >= deadline:
            return None
        result = minimized(
            self._executor,
            finding,
            self._states.get(finding.id),
            over=lambda: self._stop or time.monotonic() >= self._latest(deadline),
        )
        self.faults += result.faults
        for other in result.met:
            # A pass may be entitled to what this module lacks, as no generated one does: it is
            # kept for people to look at, and told by nobody.
            self._store.put(other)
        return result

    def _put_off(self, finding: Finding, state: State) -> bool:
        """Go on with it when the campaign is over; false if it is."""
        with self._lock:
            if self._deadline is not None:
                return False
            self._later.append((finding, state))
        self._store.put(finding)
        return True

    def _latest(self, deadline: float) -> float:
        """The user may be in a hurry by now."""
        return deadline if self._deadline is None else min(deadline, self._deadline)

    def _reduction_time(self) -> float:
        if self._deadline is None:
            return REDUCE_SECONDS
        left = (self._deadline - time.monotonic()) * len(self._threads) / max(1, self.pending)
        return min(MOST_SECONDS, left)

    def _tell(self, finding: Finding) -> None:
        """Publish a bug once, whatever number of findings show it."""
        try:
            row = place(self._store, finding, self._executor)
        except Mistake as error:
            self.mistakes[str(error)] = None
            row = finding.id
        except Exception as error:
            if is_lost(error):
                raise
            self.faults.append(f"{finding.pass_name}, {finding.id}:\n{traceback.format_exc()}")
            row = finding.id
        with self._lock:
            self.published.append(finding)
            told = row in self._told
            self._told.add(row)
        if not told:
            self._publish(finding)
        self._store.settle(finding.id)
