"""`relaxfuzz passes` and `relaxfuzz ops`: what is known of passes and operators."""

from __future__ import annotations

import dataclasses
import json as jsonlib
from collections.abc import Iterable, Sequence

from rich.text import Text

from ...generators.choices import Choices
from ...generators.modules import ir_modules
from ...generators.ops import table as operators
from ...generators.stages import Stage
from ...oracles.catalogue import LEFT_OUT, catalogue
from ...oracles.contract import PassContract
from ..campaign.draw import entropy, example
from ..output.terminal import columns, results

MODULES = 12
"""Generated modules that the listed variants are drawn for."""


def passes(*, json: bool) -> int:
    """Print the contracts."""
    shown = _variants()
    if json:
        for contract in catalogue.values():
            print(jsonlib.dumps(_contract(contract, shown[contract.name])))
        for name, reason in LEFT_OUT.items():
            print(jsonlib.dumps({"pass": name, "left_out": reason}))
        return 0
    rows = [
        (
            name,
            _stages(contract),
            str(contract.relation),
            ", ".join(sorted({e.oracle for e in contract.exemptions})),
            "\n".join(shown[name][:3]),
        )
        for name, contract in sorted(catalogue.items())
    ]
    _print(("pass", "stages", "result", "exempt from", "variants, for example"), rows)
    for name, reason in LEFT_OUT.items():
        print(f"left out: {name}: {reason}")
    print(f"{len(rows)} passes; --json gives reasons and sources of the exemptions")
    return 0


def ops(*, json: bool) -> int:
    """Print the operators."""
    if json:
        for op in operators.values():
            print(
                jsonlib.dumps(
                    {
                        "op": op.name,
                        "dtypes": list(op.dtypes),
                        "legalizes": op.legalizes,
                        "lowered_by": op.lowered_by,
                        "pure": op.pure,
                        "executes": op.executes,
                        "tolerance": dataclasses.asdict(op.tolerance),
                    }
                )
            )
        return 0
    rows = [
        (
            name,
            " ".join(op.dtypes),
            "" if op.legalizes else f"no FLegalize{f', {op.lowered_by}' if op.lowered_by else ''}",
        )
        for name, op in sorted(operators.items())
    ]
    _print(("op", "dtypes", "lowering"), rows)
    print(f"{len(rows)} operators")
    return 0


def _contract(contract: PassContract, variants: Sequence[str]) -> dict[str, object]:
    return {
        "pass": contract.name,
        "stages": [str(stage) for stage in contract.stages],
        "relation": str(contract.relation),
        "variants": list(variants),
        "exemptions": [
            {"oracle": e.oracle, "reason": e.reason, "source": e.source, "always": e.when is None}
            for e in contract.exemptions
        ],
        "rejections": [{"pattern": r.pattern, "source": r.source} for r in contract.rejections],
        "cost": contract.cost,
    }


def _variants() -> dict[str, list[str]]:
    """Some variants of each contract: they depend on modules, so they are drawn for a few."""
    modules = [example(ir_modules(), 0, index) for index in range(MODULES)]
    found: dict[str, list[str]] = {}
    for name, contract in catalogue.items():
        calls: dict[str, None] = {}
        for index, mod in enumerate(modules):
            data = b"" if index == 0 else entropy("variant", name, index).to_bytes(32) * 2
            if contract.requires(mod) is None:
                call = contract.variants(Choices(data), mod)
                if call is not None:
                    calls[str(call)] = None
        found[name] = list(calls)
    return found


def _stages(contract: PassContract) -> str:
    order = list(Stage)
    chosen = sorted(contract.stages, key=order.index)
    if len(chosen) == len(order):
        return "all"
    first, last = order.index(chosen[0]), order.index(chosen[-1])
    if len(chosen) > 2 and last - first + 1 == len(chosen):
        return f"{chosen[0]} to {chosen[-1]}"
    return ", ".join(chosen)


def _print(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = columns(*header, whole=header[:1])
    for row in rows:
        table.add_row(*map(Text, row))
    results().print(table)
