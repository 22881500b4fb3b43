"""Steps of a triage that may fail: the failure is recorded, and the finding kept without them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...compat.drift import drift_of
from ...oracles.passcall import BadPass
from ..findings.finding import Finding
from ..process.executor import ExecutorError, JobFailed, Lacking
from ..system.disk_failure import is_failure
from ..system.errors import UserError


class Steps:
    """Takes the steps of one triage, and records their exceptions."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        """
        Args:
            is_over: tells that the triage was stopped, which explains any exception.
        """
        self.unchecked: list[str] = []
        """Failures of the harness before a finding could be confirmed or audited."""
        self.failed: list[tuple[Finding, str]] = []
        """Confirmed findings, which are kept, each with its failed step and the traceback."""
        self.lacking: dict[str, None] = {}
        """Features that the installed TVM lacks, so that a step was skipped."""
        self.user_errors: dict[str, None] = {}
        """Reasons why passes of the user can no longer be loaded; their findings stay pending."""
        self._is_over = is_over
        self._is_broken = False
        """True once the failure of the executor has been recorded."""

    @contextmanager
    def step(self, name: str, finding: Finding) -> Iterator[None]:
        """Take a step that is optional for a confirmed finding; its exceptions are recorded.

        Raises:
            DiskFailure: the disk is full, or the store is gone.
            Exception: any exception of the step after the triage was stopped.
        """
        try:
            yield
        except (UserError, BadPass) as error:
            self.user_errors[str(error)] = None
        except Exception as error:
            if self._is_over() or is_failure(error):  # the finding stays pending
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
        """Record the failure of a step, the first of each step of a finding."""
        noted = f"{name}:\n{text}"
        if not finding.confirmed:
            self.unchecked.append(f"{finding.pass_name}, {finding.id}, {noted}")
        elif not any(before.startswith(f"{name}:") for before in self.of(finding)):
            self.failed.append((finding, noted))

    def of(self, finding: Finding) -> tuple[str, ...]:
        """The failed steps of a confirmed finding."""
        return tuple(text for each, text in self.failed if each.id == finding.id)


def is_broken(error: Exception) -> bool:
    """Return whether the executor cannot do any job."""
    return isinstance(error, ExecutorError) and not isinstance(error, JobFailed)
