"""`relaxfuzz passes`, `ops` and `known`: what relaxfuzz knows of passes, operators and bugs."""

from __future__ import annotations

import dataclasses
import json as jsonlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, KnownFolders, NoKnown, Workers

if TYPE_CHECKING:
    from rich.text import Text

    from ...corpus.knowns import Known
    from ...generators.stages import Stage
    from ...oracles.contract import PassContract
    from ..findings.replay import Outcome

MODULES = 12
"""Generated modules for which the listed variants of passes are drawn."""


# Passes


@command()
def passes(json: Json = False) -> int:
    """List the passes of TVM, with what their contracts promise and the exemptions.

    A pass without a contract is new in this TVM. Only what every pass promises is checked of it.
    """
    from ...compat import availability
    from ...generators.families import by_family
    from ...oracles.catalogue import LEFT_OUT, catalogue, new_passes
    from ...oracles.contract import NO_CONTRACT

    off = availability.current().passes
    listed = {name: contract for name, contract in catalogue.items() if name not in off}
    variants = _variants(listed)
    left_out = {name: reason for name, reason in new_passes().items() if reason}
    left_out = {**LEFT_OUT, **left_out, **off}
    if json:
        for contract in listed.values():
            print(jsonlib.dumps(_contract(contract, variants[contract.name])))
        for name, reason in left_out.items():
            print(jsonlib.dumps({"pass": name, "left_out": reason}))
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
        "cost": contract.cost,
    }


def _variants(contracts: Mapping[str, PassContract]) -> dict[str, list[str]]:
    """Some variants of each contract, drawn for a few modules because they depend on modules."""
    from ...generators.choices import Choices
    from ...generators.families import FAMILIES, family_of
    from ..campaign.draw import entropy, example

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
    """Those of one family, in few words."""
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


@command()
def ops(json: Json = False) -> int:
    """List the operators that generated modules are made of, and those that are not covered.

    An operator that is not covered is new in this TVM, and nobody has written a record of it.
    """
    from ...compat import availability
    from ...generators.ops import new_ops, table

    off = availability.current().ops
    listed = {name: op for name, op in table.items() if name not in off}
    if json:
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
            print(jsonlib.dumps(event))
        for name in new_ops():
            print(jsonlib.dumps({"op": name, "covered": False}))
        for name, reason in off.items():
            print(jsonlib.dumps({"op": name, "left_out": reason}))
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
    for name in new_ops():
        print(f"not covered: {name}")
    for name, reason in off.items():
        print(f"left out: {name}: {reason}")
    print(f"{len(rows)} operators")
    return 0


# Known bugs


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz known\n\n"
    "  relaxfuzz known LiftTransformParams --verify\n\n"
    "  relaxfuzz known --prune"
)
def known(
    passes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Only known bugs of these passes, operators, ...",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run their reproducers: do they still fail?")
    ] = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Verify, and mark those of your own that no longer fail as fixed."
        ),
    ] = False,
    renew: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run what a folder of known bugs or of findings holds, with the code that it "
            "names, and write it anew in the format of this relaxfuzz. Decisions of people stay.",
        ),
    ] = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """List the known bugs of the installed TVM, which a run counts but does not report again.

    Exit codes: 0 all fail as recorded, 1 one that was run does not, or --renew could not renew
    one, 2 user error.
    """
    from ...compat.release import versions
    from ...corpus.knowns import fields_of
    from ..findings import known as knowns
    from ..user_input.errors import UserError, near

    if renew is not None:
        return _renew(renew, workers or cores(), as_json=json)
    choice = knowns.Choice(folders=tuple(known or ()), shipped=not no_known)
    expected = choice.load(versions()["tvm"])
    verified = verify or prune
    blamed = {name for each in expected.knowns for name in each.passes}
    for name in passes or ():
        if name not in blamed:
            raise UserError(f"no bug of {name!r} is known{near(name, sorted(blamed))}")
    listed = expected.unseen(passes or None)
    outcomes = _verify(listed, workers or cores()) if verified else {}
    status = {each: _status(outcomes.get(each)) for each in listed}
    if json:
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
            if verified:
                message = outcomes[each].message if each in outcomes else ""
                event |= {"status": status[each], "message": message}
            print(jsonlib.dumps(event))
    else:
        _print_known(status, verified=verified)
        counts = {text: list(status.values()).count(text) for text in status.values()}
        most = sorted(counts, key=lambda text: -counts[text]) if outcomes else []
        summary = ", ".join(f"{counts[text]} {text}" for text in most)
        print(f"{len(listed)} known on TVM {expected.version}{f': {summary}' if summary else ''}")
    if prune:
        for each in expected.own:
            if status.get(each) == NO_LONGER_FAILS:
                print(knowns.prune(each, expected.version), file=sys.stderr)
    return int(any(status[each] != FAILS for each in outcomes))


FAILS, NO_LONGER_FAILS, NO_REPRODUCER = "fails", "no longer fails", "has no reproducer"


def _renew(folder: Path, workers: int, *, as_json: bool) -> int:
    from ..process.local_pool import LocalPool
    from ..renewal.records import renewed

    kept = 0
    with LocalPool(workers) as pool:
        for each in renewed(folder, pool):
            kept += each.why_not != ""
            if as_json:
                event = {"event": "renewed", "name": each.name, "why_not": each.why_not}
                print(jsonlib.dumps(event))
            elif each.why_not:
                print(f"{each.name}: not renewed: {each.why_not}")
    return int(kept > 0)


def _verify(listed: Sequence[Known], workers: int) -> dict[Known, Outcome]:
    import threading
    from contextlib import closing

    from rich.console import Console

    from ..findings.known import verify
    from ..output.terminal import display

    outcomes: dict[Known, Outcome] = {}
    with closing(display(Console(stderr=True))) as progress:
        for each, outcome in verify(listed, workers, threading.Event()):
            outcomes[each] = outcome
            progress.progress(f"{len(outcomes)} of {len(listed)}  {each.name}")
    return outcomes


def _status(outcome: Outcome | None) -> str:
    from ..findings.known import NO_LONGER
    from ..findings.replay import Status

    if outcome is None:
        return NO_REPRODUCER
    if outcome.status in NO_LONGER:
        return NO_LONGER_FAILS
    fails = outcome.status in (Status.AS_EXPECTED, Status.FAILS)
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
