"""Post-condition: what the pass's own contract says of the result."""

from __future__ import annotations

from . import keys
from .oracle import Oracle, Problem
from .subject import Subject


def check(subject: Subject) -> Problem | None:
    """Ask the contract; its text is the key."""
    after = subject.direct.mod
    if after is None:
        return None
    wrong = subject.contract.post(subject.mod, after, subject.call)
    return None if wrong is None else Problem.plain(wrong, f"{wrong}\n\n{keys.listing(after)}")


ORACLE = Oracle(
    name="postcondition",
    tier=1,
    promise="The result has what the pass's docstring says.",
    source="the docstring of the pass; its contract quotes it",
    check=check,
    # A contract is code of its own: the one promise that TVM and NumPy cannot check by themselves.
    snippet="""\
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.passcall import PassCall

call = PassCall(expressions[0])
wrong = catalogue[call.name].post(mod, apply(mod), call)
assert wrong is None, wrong
""",
    ends=False,
)
