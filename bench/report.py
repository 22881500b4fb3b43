"""All figures of one run, and their tables."""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from relaxfuzz.fuzz.campaign.costs import ORACLES as SAMPLED
from relaxfuzz.generators.families import DEFAULT
from relaxfuzz.oracles.catalogue import of_family

from .checks import Costs, measure
from .executions import executed
from .naive import naive
from .values import evaluated, naively_executed

VALUE_SECONDS = 3.0
"""The least CPU seconds for the figures of tier 3 and of naive execution, as a build may take a
second."""

EXECUTED = 3
"""The factor on the number of modules for tier 4, which only executes one result per module. For
the first modules nothing is compiled yet, and a campaign is longer."""


def report(seed: int, modules: int) -> dict[str, Any]:
    """All figures of one run, as in JSON; times in milliseconds."""
    measured = measure(seed, modules)
    alone, sampled, costs = measured.alone, measured.sampled, measured.costs
    seconds = max(1.0, alone.cpu)
    naive_checks, naive_cpu = naive(seed, seconds)
    numpy, slow = (
        rates(seed, max(seconds, VALUE_SECONDS)) for rates in (evaluated, naively_executed)
    )
    vm = executed(seed, modules * EXECUTED)
    naive_rate = naive_checks / naive_cpu
    medians = {name: statistics.median(each) for name, each in costs.whole.items()}
    bare = sum(map(sum, costs.bare.values()))
    whole = sum(map(sum, costs.whole.values()))
    total = costs.calls["rest of a check"]
    return {
        "seed": seed,
        "modules": alone.modules,
        "checks": alone.checks,
        "checks_per_cpu_second": alone.rate,
        "checks_per_cpu_second_with_sampled_tiers": sampled.rate,
        "cores_had": alone.cpu / alone.wall,
        "naive_checks": naive_checks,
        "naive_checks_per_cpu_second": naive_rate,
        "times_the_naive_way": alone.rate / naive_rate if naive_rate else None,
        "evaluated_modules": numpy.modules,
        "evaluated_modules_per_cpu_second_cold": numpy.cold,
        "evaluated_modules_per_cpu_second_warm": numpy.warm,
        "executed_modules": vm.modules,
        "executed_modules_per_cpu_second_cold": vm.cold,
        "executed_modules_per_cpu_second_warm": vm.warm,
        "naively_executed_modules": slow.modules,
        "naively_executed_modules_per_cpu_second": slow.cold,
        "evaluated_times_the_naive_way": numpy.warm / slow.cold if slow.cold else None,
        "executed_times_the_naive_way_cold": vm.cold / slow.cold if slow.cold else None,
        "executed_times_the_naive_way_warm": vm.warm / slow.cold if slow.cold else None,
        "oracles_by_bare_pass": (whole - bare) / bare if bare else None,
        "median_pass_ms": 1e3 * statistics.median(medians.values()),
        "passes_below_1_percent": sorted(
            name for name in of_family(DEFAULT) if alone.by_item[name] < alone.checks / 100
        ),
        "parts": {
            name: {
                "calls": costs.calls[name],
                "ms": 1e3 * spent / costs.calls[name],
                "ms_per_check": 1e3 * spent / total,
            }
            for name, spent in _dearest(costs)
        },
        "oracles": {
            name: {
                "calls": measured.oracles.calls[name],
                "ms": 1e3 * spent / measured.oracles.calls[name],
                "recorded_ms": SAMPLED[name].ms if name in SAMPLED else None,
                "share": spent / sampled.cpu,
            }
            for name, spent in _dearest(measured.oracles)
        },
        "passes": {
            name: {
                "checks": len(costs.whole[name]),
                "bare_ms": 1e3 * statistics.median(costs.bare[name]),
                "ms": 1e3 * median,
            }
            for name, median in sorted(medians.items(), key=lambda pair: -pair[1])
        },
    }


def _dearest(costs: Costs) -> list[tuple[str, float]]:
    return sorted(costs.spent.items(), key=lambda pair: -pair[1])


def show(figures: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    had = figures["cores_had"]
    head = _table("seed {seed}: {checks} checks of {modules} modules".format(**figures), "", "aim")
    for name, value, aim in (
        ("checks per CPU second, tier 1", f"{figures['checks_per_cpu_second']:.0f}", "500, idle"),
        (
            "the same, with the sampled tiers",
            f"{figures['checks_per_cpu_second_with_sampled_tiers']:.0f}",
            "",
        ),
        ("share of a core that was had", f"{had:.0%}", "~100 %, idle"),
        (
            "naive checks per CPU second",
            f"{figures['naive_checks_per_cpu_second']:.1f} of {figures['naive_checks']}",
            "",
        ),
        ("times the naive way", f"{figures['times_the_naive_way'] or 0:.0f}", "20"),
        ("oracles / bare pass", f"{figures['oracles_by_bare_pass'] or 0:.1f}", "3"),
        ("median pass, with oracles", f"{figures['median_pass_ms']:.2f} ms", "1.2 ms, idle"),
        ("passes below 1 % of the checks", str(len(figures["passes_below_1_percent"])), "0"),
        _rate("tier 3, evaluated modules per CPU second, cold", figures, "evaluated", "_cold", ""),
        _rate("the same, warm", figures, "evaluated", "_warm", "100, idle"),
        _rate(
            "tier 4, executed results a CPU second, cold",
            figures,
            "executed",
            "_cold",
            "15, idle",
        ),
        _rate("the same, each a second time", figures, "executed", "_warm", ""),
        _rate("relax.build + VM + allclose, the same", figures, "naively_executed", "", ""),
        _times("tier 3, warm", figures, "evaluated_times_the_naive_way"),
        _times("tier 4, cold", figures, "executed_times_the_naive_way_cold"),
        _times("tier 4, warm", figures, "executed_times_the_naive_way_warm"),
    ):
        head.add_row(name, value, aim)
    parts = _table("where the time goes", "calls", "ms each", "ms per check")
    for name, part in figures["parts"].items():
        parts.add_row(name, str(part["calls"]), f"{part['ms']:.3f}", f"{part['ms_per_check']:.3f}")
    passes = _table("median of each pass", "checks", "bare ms", "with oracles ms")
    for name, each in figures["passes"].items():
        passes.add_row(name, str(each["checks"]), f"{each['bare_ms']:.2f}", f"{each['ms']:.2f}")
    oracles = _table("the oracles of all tiers", "calls", "ms each", "recorded", "share of time")
    for name, each in figures["oracles"].items():
        recorded = f"{each['recorded_ms']:g}" if each["recorded_ms"] else ""
        cost = f"{each['ms']:.2f}"
        oracles.add_row(name, str(each["calls"]), cost, recorded, f"{each['share']:.1%}")
    for table in (head, parts, oracles, passes):
        console.print(table)


def _rate(
    title: str, figures: dict[str, Any], kind: str, state: str, aim: str
) -> tuple[str, str, str]:
    rate = figures[f"{kind}_modules_per_cpu_second{state}"]
    return title, f"{rate:.1f} of {figures[f'{kind}_modules']}", aim


def _times(tier: str, figures: dict[str, Any], name: str) -> tuple[str, str, str]:
    return f"times relax.build + VM + allclose, {tier}", f"{figures[name] or 0:.1f}", ""


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table
