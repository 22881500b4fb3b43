"""`relaxfuzz known`: which bugs are known, and do they still fail?"""

from __future__ import annotations

import json as jsonlib
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

from rich.console import Console
from rich.text import Text

from ...corpus.knowns import Known
from ...generators.tvm_api import versions
from ..findings.known import NO_LONGER, Choice, prune, verify
from ..findings.replay import Outcome, Status
from ..output.readable import sentence
from ..output.terminal import columns, display, results
from ..reproducer import Here
from ..user_input.mistake import Mistake, near

STILL = frozenset({Status.AS_EXPECTED, Status.FAILS})


def run(passes: Sequence[str], choice: Choice, workers: int, *, verified: bool, json: bool) -> int:
    """List the knowns that are expected on this TVM.

    Args:
        passes: only those that are blamed on one of these; none: all.
        verified: run their reproducers; the user's that do not fail any more are taken out, if
            `choice` says so.

    Returns:
        1 if one was run and does not fail as it did, else 0.

    Raises:
        Mistake: a folder that holds no knowns, or a name of which nothing is known.
    """
    expected = choice.load(versions()["tvm"])
    blamed = {name for known in expected.knowns for name in known.passes}
    for name in passes:
        if name not in blamed:
            raise Mistake(f"nothing is known of {name!r}{near(name, sorted(blamed))}")
    listed = expected.unseen(passes or None)
    outcomes = _verified(listed, workers) if verified else {}
    if json:
        for known in listed:
            print(jsonlib.dumps(_event(known, outcomes.get(known), verified)))
    else:
        _table(listed, outcomes, verified)
        print(f"{len(listed)} known on TVM {expected.version}{_counted(listed, outcomes)}")
    if choice.prune:
        for known in expected.own:
            if known in outcomes and outcomes[known].status in NO_LONGER:
                print(prune(known, expected.version), file=sys.stderr)
    return int(any(outcome.status not in STILL for outcome in outcomes.values()))


def _verified(listed: Sequence[Known], workers: int) -> dict[Known, Outcome]:
    outcomes: dict[Known, Outcome] = {}
    with closing(display(Console(stderr=True))) as progress:
        for known, outcome in verify(listed, Here(workers), threading.Event()):
            outcomes[known] = outcome
            progress.progress(f"{len(outcomes)} of {len(listed)}  {known.name}")
    return outcomes


def _status(outcome: Outcome | None) -> str:
    if outcome is None:
        return "has no reproducer"
    if outcome.status in NO_LONGER:
        return "no longer fails"
    return "fails" if outcome.status in STILL else str(outcome.status)


def _counted(listed: Sequence[Known], outcomes: Mapping[Known, Outcome]) -> str:
    if not outcomes:
        return ""
    counts = Counter(_status(outcomes.get(known)) for known in listed)
    return ": " + ", ".join(f"{count} {status}" for status, count in counts.most_common())


def _event(known: Known, outcome: Outcome | None, verified: bool) -> dict[str, object]:
    event: dict[str, object] = {
        "event": "known",
        "name": known.name,
        "what": known.what,
        "passes": sorted(known.passes),
        "keys": known.keys,
        "upstream": known.upstream,
        "reproducer": None if known.reproducer is None else str(known.reproducer),
        "file": str(known.path),
    }
    if verified:
        event |= {"status": _status(outcome), "said": "" if outcome is None else outcome.said}
    return event


def _table(listed: Sequence[Known], outcomes: Mapping[Known, Outcome], verified: bool) -> None:
    names = ("known", "what goes wrong")
    table = columns(*(("status", *names) if verified else names), whole=("status",))
    # What has to be looked at comes last, where it is seen.
    rows = sorted(
        listed, key=lambda known: known in outcomes and outcomes[known].status not in STILL
    )
    for known in rows:
        row = (Text(sentence(known.name)), Text(sentence(known.what)))
        table.add_row(*((_status(outcomes.get(known)), *row) if verified else row))
    results().print(table)
