"""`relaxfuzz list`: the passes, operators and known bugs that relaxfuzz knows."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..output.events import emit
from ..system.limits import cores
from ..user_input.settings import Settings
from .app import app, command

if TYPE_CHECKING:
    from rich.text import Text

    from ...corpus.knowns import Known
    from ...generators.stages import Stage
    from ...oracles.contract import PassContract
    from ..reproducer.replay import ReplayOutcome

MODULES = 12
"""Number of generated modules for which the listed variants of passes are drawn."""


listing = typer.Typer(
    name="list",
    no_args_is_help=True,
    help="List passes, operators or known bugs.",
    epilog="Examples:\n\n"
    "  relaxfuzz list passes FuseTIR\n\n"
    "  relaxfuzz list ops matmul\n\n"
    "  relaxfuzz list known LiftTransformParams",
)
app.add_typer(listing)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these.", show_default=False)
]


def _chosen(names: Sequence[str] | None, known: Iterable[str], what: str) -> list[str]:
    """The requested names among the known ones; all of them if none is requested.

    Raises:
        UserError: a name is not known.
    """
    from ..system.errors import UserError, near

    known = list(known)
    for name in names or ():
        if name not in known:
            raise UserError(f"no {what} {name!r}{near(name, known)}")
    return list(names or known)


# Passes


@command(of=listing)
def passes(given: Settings, names: Names = None) -> int:
    """List the passes of TVM, with what their contracts promise and the exemptions.

    A pass without a contract is new in this TVM. Only what every pass promises is checked of it.
    """
    from ...compat import availability
    from ...generators.families import by_family
    from ...oracles.catalogue import LEFT_OUT, catalogue, new_passes
    from ...oracles.contract import NO_CONTRACT

    off = availability.current().passes
    left_out = {name: reason for name, reason in new_passes().items() if reason}
    left_out = {**LEFT_OUT, **left_out, **off}
    chosen = _chosen(names, dict.fromkeys([*catalogue, *left_out]), "pass")
    listed = {name: catalogue[name] for name in chosen if name not in left_out}
    left_out = {name: left_out[name] for name in chosen if name in left_out}
    variants = _variants(listed)
    if given.json:
        for contract in listed.values():
            emit(_contract(contract, variants[contract.name]))
        for name, reason in left_out.items():
            emit({"pass": name, "left_out": reason})
        return 0
    rows = [
        (
            name,
            ", ".join(by_family(contract.stages)),
            "; ".join(map(_stages, by_family(contract.stages).values())),
            NO_CONTRACT if contract.universal_only else str(contract.relation),
            ", ".join(sorted({e.oracle for e in contract.exemptions})),
            "\n".join(variants[name][:3]),
        )
        for name, contract in sorted(listed.items())
    ]
    _print_table(
        ("pass", "families", "stages", "result", "exempt from", "variants, for example"), rows
    )
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}")
    print(f"{len(rows)} passes; --json gives reasons and sources of the exemptions")
    return 0


def _contract(contract: PassContract, variants: Sequence[str]) -> dict[str, object]:
    from ...generators.families import by_family

    return {
        "pass": contract.name,
        "contract": not contract.universal_only,
        "families": list(by_family(contract.stages)),
        "stages": [str(stage) for stage in contract.stages],
        "relation": str(contract.relation),
        "normal_form": contract.normal_form and contract.normal_form.source,
        "variants": list(variants),
        "exemptions": [
            {"oracle": e.oracle, "reason": e.reason, "source": e.source, "always": e.when is None}
            for e in contract.exemptions
        ],
        "rejections": [{"pattern": r.pattern, "source": r.source} for r in contract.rejections],
    }


def _variants(contracts: Mapping[str, PassContract]) -> dict[str, list[str]]:
    """Some variants of each contract, drawn for a few modules, as they depend on modules."""
    from ...generators.choices import Choices
    from ...generators.families import FAMILIES, family_of
    from ..jobs.draw import entropy, example

    modules = {
        family.name: [example(family.modules(), 0, index) for index in range(MODULES)]
        for family in FAMILIES.values()
    }
    found: dict[str, list[str]] = {}
    for name, contract in contracts.items():
        calls: dict[str, None] = {}
        for index, mod in enumerate(modules[family_of(contract.stages[0]).name]):
            data = b"" if index == 0 else entropy("variant", name, index).to_bytes(32) * 2
            if contract.requires(mod) is None:
                call = contract.choose(Choices(data), mod)
                if call is not None:
                    calls[str(call)] = None
        found[name] = list(calls)
    return found


def _stages(stages: Sequence[Stage]) -> str:
    """The stages of one family, in few words."""
    from ...generators.stages import chain

    order = chain(stages[0])
    chosen = sorted(stages, key=order.index)
    if len(chosen) == len(order):
        return "all"
    first, last = order.index(chosen[0]), order.index(chosen[-1])
    if len(chosen) > 2 and last - first + 1 == len(chosen):
        return f"{chosen[0]} to {chosen[-1]}"
    return ", ".join(chosen)


# Operators


@command(of=listing)
def ops(given: Settings, names: Names = None) -> int:
    """List the operators that generated modules are made of, and those that are not covered.

    An operator that is not covered is new in this TVM, and nobody has written a record of it.
    """
    from ...compat import availability
    from ...generators.ops import new_ops, table

    off = availability.current().ops
    new: Sequence[str] = new_ops()
    chosen = _chosen(names, dict.fromkeys([*table, *new]), "operator")
    listed = {name: table[name] for name in chosen if name in table and name not in off}
    off = {name: off[name] for name in chosen if name in off}
    new = [name for name in new if name in chosen]
    if given.json:
        for op in listed.values():
            event = {
                "op": op.name,
                "dtypes": list(op.dtypes),
                "legalizes": op.legalizes,
                "lowered_by": op.lowered_by,
                "pure": op.pure,
                "executes": op.executes,
                "tolerance": dataclasses.asdict(op.tolerance),
            }
            emit(event)
        for name in new:
            emit({"op": name, "covered": False})
        for name, reason in off.items():
            emit({"op": name, "left_out": reason})
        return 0
    rows = [
        (
            name,
            " ".join(op.dtypes),
            "" if op.legalizes else f"no FLegalize{f', {op.lowered_by}' if op.lowered_by else ''}",
        )
        for name, op in sorted(listed.items())
    ]
    _print_table(("op", "dtypes", "lowering"), rows)
    for name in new:
        print(f"not covered: {name}")
    for name, reason in off.items():
        print(f"left out: {name}: {reason}")
    print(f"{len(rows)} operators")
    return 0


# Known bugs


class RecordForm(enum.StrEnum):
    """The forms in which one record is printed."""

    TEXT = "text"
    ISSUE = "issue"


@command(
    of=listing,
    epilog="Examples:\n\n"
    "  relaxfuzz list known\n\n"
    "  relaxfuzz list known LiftTransformParams --verify\n\n"
    "  relaxfuzz list known unroll-loop-break --format issue",
)
def known(
    given: Settings,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Only known bugs of these passes, operators, ...; the name of one shows it whole.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run their reproducers: do they still fail?")
    ] = False,
    form: Annotated[
        RecordForm,
        typer.Option("--format", help="issue: the bug that is named, as a report in Markdown."),
    ] = RecordForm.TEXT,
) -> int:
    """List the known bugs of the installed TVM, which a run counts but does not report again.

    Exit codes: 0 all fail as recorded, 1 one that was run does not, 2 user error.
    """
    from ...compat.release import versions
    from ...corpus.knowns import fields_of
    from ..findings.known import Choice
    from ..report.record import issue, whole
    from ..system.errors import UserError

    expected = Choice(folders=given.known, shipped=given.shipped_knowns).load(versions()["tvm"])
    by_name = {each.name: each for each in expected.knowns}
    blamed = sorted({name for each in expected.knowns for name in each.passes})
    asked = set(_chosen(names, [*blamed, *by_name], "known bug, nor bug of")) if names else set()
    single = [by_name[name] for name in names or () if name in by_name]
    if form is RecordForm.ISSUE and not single:
        raise UserError("--format issue reports one known bug: name it, e.g. unroll-loop-break")
    if single and not (verify or given.json):
        for each in single:
            print(issue(each) if form is RecordForm.ISSUE else whole(each))
        return 0
    listed = [
        each
        for each in expected.knowns
        if not asked or each.name in asked or not asked.isdisjoint(each.passes)
    ]
    outcomes = verified(listed, given.workers or cores()) if verify else {}
    status = {each: status_of(outcomes.get(each)) for each in listed}
    if given.json:
        for each in listed:
            event = {
                "event": "known",
                "name": each.name,
                "what": each.what,
                "passes": sorted(each.passes),
                "reports": each.reports,
                "identities": [fields_of(identity) for identity in each.identities],
                "upstream": each.upstream,
                "thread": each.thread,
                "reproducer": None if each.reproducer is None else str(each.reproducer),
                "file": str(each.path),
            }
            if verify:
                message = outcomes[each].message if each in outcomes else ""
                event |= {"status": status[each], "message": message}
            emit(event)
    else:
        _print_known(status, verified=verify)
        counts = {text: list(status.values()).count(text) for text in status.values()}
        most = sorted(counts, key=lambda text: -counts[text]) if outcomes else []
        summary = ", ".join(f"{counts[text]} {text}" for text in most)
        print(f"{len(listed)} known on TVM {expected.version}{f': {summary}' if summary else ''}")
    return int(any(status[each] != FAILS for each in outcomes))


FAILS, NO_LONGER_FAILS, NO_REPRODUCER = "fails", "no longer fails", "has no reproducer"


def verified(listed: Sequence[Known], workers: int) -> dict[Known, ReplayOutcome]:
    """The outcomes of their reproducers, with progress on stderr."""
    import threading
    from contextlib import closing

    from rich.console import Console

    from ..output.terminal import display
    from ..reproducer.verify import verify

    outcomes: dict[Known, ReplayOutcome] = {}
    with closing(display(Console(stderr=True))) as progress:
        for each, outcome in verify(listed, workers, threading.Event()):
            outcomes[each] = outcome
            progress.progress(f"{len(outcomes)} of {len(listed)}  {each.name}")
    return outcomes


def status_of(outcome: ReplayOutcome | None) -> str:
    """The outcome of a known bug's reproducer in few words."""
    from ..reproducer.replay import ReplayStatus
    from ..reproducer.verify import NO_LONGER

    if outcome is None:
        return NO_REPRODUCER
    if outcome.status in NO_LONGER:
        return NO_LONGER_FAILS
    fails = outcome.status in (ReplayStatus.AS_EXPECTED, ReplayStatus.FAILS)
    return FAILS if fails else str(outcome.status)


def _print_known(status: Mapping[Known, str], *, verified: bool) -> None:
    names = ("known", "what goes wrong")
    rows = sorted(
        status.items(), key=lambda item: item[1] not in (FAILS, NO_REPRODUCER)
    )  # the unexpected ones last
    _print_table(
        (("status", *names) if verified else names),
        [(*((text,) if verified else ()), known.name, known.what) for known, text in rows],
        whole=("status",),
    )


# Output


def _print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], whole: Sequence[str] | None = None
) -> None:
    from ..output.terminal import columns, results

    table = columns(*header, whole=header[:1] if whole is None else whole)
    for row in rows:
        table.add_row(*map(_cell, row))
    results().print(table)


def _cell(text: str) -> Text:
    from rich.text import Text

    from ..output.readable import sentence

    return Text("\n".join(map(sentence, text.split("\n"))))
