"""Post-condition: what the pass's own contract says of the result."""

from __future__ import annotations

from . import keys
from .composition import contract_of
from .oracle import Case, Oracle, Problem
from .standalone import standalone
from .subject import Subject


def check(subject: Subject) -> Problem | None:
    """Ask the contract; its text is the key."""
    after = subject.direct.mod
    if after is None:
        return None
    wrong = subject.contract.post(subject.mod, after, subject.call)
    return None if wrong is None else Problem.plain(wrong, f"{wrong}\n\n{keys.listing(after)}")


def _snippet(case: Case) -> str:
    """The check with the source text of the post-condition."""
    (call,) = case.calls
    post = contract_of(call).post
    given = f"expr={call.expr!r}, config={dict(call.config)!r}, name={call.name!r}"
    return (
        f"from types import SimpleNamespace\n\n{standalone(post)}\n\n\n"
        f"call = SimpleNamespace({given})\n"
        f"wrong = {post.__name__}(mod, apply(mod), call)\n"
        "assert wrong is None, wrong"
    )


ORACLE = Oracle(
    name="postcondition",
    tier=1,
    promise="The result has what the pass's docstring says.",
    source="the docstring of the pass; its contract quotes it",
    check=check,
    snippet=_snippet,
    ends=False,
)
