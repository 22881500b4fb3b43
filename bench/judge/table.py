"""The shares of faults that are reported, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from .measure import FAMILIES, MUTATIONS, Fault
from .mutation import Changes


def show(faults: Sequence[Fault], console: Console) -> None:
    """The tables by kind, by family, and of the rules."""
    kinds = {kind: f"{kind} ({each.changes})" for kind, each in MUTATIONS.items()}
    console.print(_shares("kind of mutation", faults, lambda f: kinds[f.kind], kinds.values()))
    console.print(_shares("family", faults, lambda f: f.family, FAMILIES))
    seen = [f for f in faults if MUTATIONS[f.kind].changes is not Changes.ATTRIBUTE]
    console.print(_shares("all but attributes", seen, lambda f: "", ("",)))
    rules = Table("rule that kept quiet", "faults", box=None)
    silent = Counter(f.rule for f in faults if not f.reported and not f.is_equal)
    for name, count in silent.most_common():
        rules.add_row(name, str(count))
    console.print(rules)


def _shares(
    title: str, faults: Sequence[Fault], of: Callable[[Fault], str], order: object
) -> Table:
    """The shares that are reported; faults that change nothing do not count."""
    table = Table(title, "faults", "all arguments", "check", "equal", box=None)
    for name in order:  # type: ignore[attr-defined]
        mine = [f for f in faults if of(f) == name]
        equal = sum(f.is_equal for f in mine)
        counted = len(mine) - equal
        if mine:
            reported = sum(f.reported for f in mine), sum(bool(f.usual) for f in mine)
            shares = [f"{each / counted:.0%}" if counted else "" for each in reported]
            table.add_row(name, str(counted), *shares, f"{equal} ({equal / len(mine):.0%})")
    return table
