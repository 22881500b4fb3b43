"""A check inside a Hypothesis test: attempts, deadlines, and failures with a common bug.

No code here imports Hypothesis: until it is imported, none of its tests is running.
"""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ...oracles.identify import identity_of
from ...oracles.violation import Violation
from ..findings.finding import id_of


def searching() -> bool:
    """Return whether Hypothesis is searching; at the end it runs the shown example again."""
    context = _context()
    return context is not None and not context.is_final


@contextmanager
def untimed() -> Iterator[None]:
    """Exclude the time inside from the deadline of an example.

    A check has its own limits, and the first check starts the worker process.
    """
    context = _context()
    times = getattr(context and context.data, "_stateful_run_times", None)
    start = time.perf_counter()
    try:
        yield
    finally:
        if times is not None:  # Hypothesis's account of steps that it does not time
            times["execute:check_pass"] += time.perf_counter() - start


def fail(error: Exception, violation: Violation) -> NoReturn:
    """Raise from a source location that is unique to this bug.

    Hypothesis treats failures of the same type and line as one bug, and reports the smaller
    example. So two bugs of one pass must not be raised by the same line.
    """
    __tracebackhide__ = True  # by pytest
    place = f"<{violation.pass_name}, {violation.oracle}, {_bug(violation)}>"
    types.FunctionType(_raise.__code__.replace(co_filename=place), {})(error)
    raise AssertionError("unreachable")


def _raise(error: Exception) -> NoReturn:
    __tracebackhide__ = True
    raise error


def _bug(violation: Violation) -> str:
    """Failure and site of the violation, since one bug may show on many operators."""
    bug = identity_of(violation)
    return id_of((bug.failure, *bug.site, bug.condition))


def _context() -> Any:
    """The example that Hypothesis runs in this thread, or None."""
    control = sys.modules.get("hypothesis.control")
    if control is None or not control.currently_in_test_context():
        return None
    return control.current_build_context()
