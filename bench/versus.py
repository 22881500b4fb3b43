"""`make bench-versus OLD=path/to/checkout`: the same campaign in two checkouts, in turn.

Both use the same seed and one worker, each the `relaxfuzz` of its own environment. Where other work
runs on the machine, only CPU time says something; it is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Campaign:
    """What one run came to."""

    modules: int
    checks: int
    wall: float
    cpu: float

    def rates(self) -> dict[str, float]:
        """By unit; the more the better."""
        return {
            "modules/s": self.modules / self.wall,
            "checks/s": self.checks / self.wall,
            "modules/CPU s": self.modules / self.cpu,
            "checks/CPU s": self.checks / self.cpu,
        }


def campaign(programs: Path, options: Sequence[str]) -> Campaign:
    """Run `relaxfuzz run`, without the start of the program in its seconds.

    Args:
        programs: the folder of the environment's programs.
        options: seed and budget.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as out:
        # An empty folder of known bugs: that of the working directory is not taken.
        command = [str(programs / "relaxfuzz"), "run", "--no-known", "--known", out, *options]
        command += ["--workers", "1", "--json", "--out", f"{out}/out"]
        spent = children()
        done = subprocess.run(command, capture_output=True, text=True)
    summary = json.loads(done.stdout.splitlines()[-1])
    cpu = children() - spent
    return Campaign(summary["modules"], summary["checks"], summary["seconds"], cpu)


def children() -> float:
    """CPU seconds of all processes that have ended, below this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ratios(old: Sequence[Campaign], new: Sequence[Campaign]) -> dict[str, float]:
    """By unit: the median over the rounds of how many times the old rate the new one is."""
    pairs = [(a.rates(), b.rates()) for a, b in zip(old, new, strict=True)]
    return {unit: statistics.median(b[unit] / a[unit] for a, b in pairs) for unit in pairs[0][0]}


def main() -> None:
    """Print the rates of each run as it ends, and what has become of them."""
    parser = argparse.ArgumentParser(prog="make bench-versus", description=__doc__)
    parser.add_argument("old", type=Path, help="another checkout, with an environment in .venv")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--budget", default="60s", help="of each run")
    parser.add_argument("--modules", help="instead of the budget: both check the same")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    budget = ["--modules", options.modules] if options.modules else ["--budget", options.budget]
    runs: dict[str, list[Campaign]] = {"old": [], "new": []}
    for number in range(options.rounds):
        # Each comes first in every other round.
        for name in ("old", "new") if number % 2 == 0 else ("new", "old"):
            programs = options.old / ".venv" / "bin" if name == "old" else HERE
            runs[name].append(campaign(programs, ["--seed", options.seed, *budget]))
            show(name, runs[name][-1].rates())
    show("ratio", ratios(runs["old"], runs["new"]))


def show(name: str, rates: dict[str, float]) -> None:
    """One line."""
    figures = "  ".join(f"{rate:8.2f} {unit}" for unit, rate in rates.items())
    print(f"{name:5}  {figures}", flush=True)


if __name__ == "__main__":
    main()
