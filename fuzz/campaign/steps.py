"""The steps of a triage that may fail: a finding is kept without them, and the fault recorded."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...compat.drift import drift_of
from ...oracles.passcall import BadPass
from ..findings.finding import FailedStep, Finding
from ..findings.store import Store
from ..process.executor import ExecutorError, JobFailed, Lacking
from ..system.disk_failure import is_failure
from ..user_input.errors import UserError


class Steps:
    """Takes the steps of one triage, and records what they raise."""

    def __init__(self, store: Store, is_over: Callable[[], bool]) -> None:
        """
        Args:
            is_over: the triage was stopped: what is raised now is a consequence.
        """
        self.unchecked: list[str] = []
        """What the harness failed at before a finding could be confirmed or audited."""
        self.failed: list[tuple[Finding, FailedStep]] = []
        """What the harness failed at with confirmed findings, which are kept all the same."""
        self.lacking: dict[str, None] = {}
        """What the installed TVM lacks, for which something was left undone."""
        self.user_errors: dict[str, None] = {}
        """Why passes of the user's can no longer be loaded; their findings stay pending."""
        self._store = store
        self._is_over = is_over
        self._is_broken = False
        """The executor is; this was recorded."""

    @contextmanager
    def step(self, name: str, finding: Finding) -> Iterator[None]:
        """A step that a confirmed finding is kept without: what it raises is recorded.

        Raises:
            DiskFailure: the disk is full, or the store is gone.
            Exception: whatever the step raises after the triage was stopped.
        """
        try:
            yield
        except (UserError, BadPass) as error:
            self.user_errors[str(error)] = None
        except Exception as error:
            if self._is_over() or is_failure(error):  # it stays pending
                raise
            self.fail(name, finding, error)

    def fail(self, name: str, finding: Finding, error: Exception) -> None:
        """Record the exception that is being handled."""
        lacking = str(error) if isinstance(error, Lacking) else drift_of(error)
        if lacking is not None:
            self.lacking[lacking] = None
            return
        if is_broken(error):
            if self._is_broken:  # every later step fails for the same reason
                return
            self._is_broken = True
        self.note(name, finding, traceback.format_exc())

    def note(self, name: str, finding: Finding, text: str) -> None:
        """Record what a step failed at, with the module that it was given."""
        failed = FailedStep(name, text, finding.module)
        self._store.note_failed(finding, failed)
        if finding.confirmed:
            self.failed.append((finding, failed))
        else:
            self.unchecked.append(described(finding, failed))


def described(finding: Finding, failed: FailedStep) -> str:
    """A failed step in one text."""
    return f"{finding.pass_name}, {finding.id}, {failed.step}:\n{failed.traceback}"


def is_broken(error: Exception) -> bool:
    """The executor cannot do any job."""
    return isinstance(error, ExecutorError) and not isinstance(error, JobFailed)
