"""`make bench-versus OLD=path/to/checkout`: the same campaign in two checkouts, in turn.

Both use the same seed and one worker, each the `relaxfuzz` of its own environment. With --modules
they check the same modules and confirm or reduce nothing: their output must be equal, line by line.
If other work runs on the machine, only CPU time is meaningful; it is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(sys.executable).parent

ROWS = Path(__file__).parents[1] / "tests" / "fuzz" / "campaign" / "rows.py"


@dataclass(frozen=True, slots=True)
class Campaign:
    """The result of one run."""

    modules: int
    checks: int
    wall: float
    cpu: float
    rows: tuple[str, ...] = ()
    """The lines of the output, if equal in all runs."""

    def rates(self) -> dict[str, float]:
        """The rates by unit; higher is better."""
        return {
            "modules/s": self.modules / self.wall,
            "checks/s": self.checks / self.wall,
            "modules/CPU s": self.modules / self.cpu,
            "checks/CPU s": self.checks / self.cpu,
        }


def programs_of(checkout: Path) -> Path:
    """The folder with the programs of the checkout's own environment."""
    return checkout.absolute() / ".venv" / "bin"


def campaign(programs: Path, seed: str, budget: str, *, known: bool) -> Campaign:
    """Run `relaxfuzz run`; its seconds do not include the program's startup.

    Args:
        programs: the folder of the environment's programs.
        seed: the seed of the campaign.
        budget: the value of `--budget`.
        known: use the checkout's own records of bugs, so that few findings are reduced.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as out:
        # An empty folder of known bugs, to avoid the one in the working directory.
        command = [str(programs / "relaxfuzz"), "run", "--known", out]
        command += [] if known else ["--no-known"]
        command += ["--seed", seed, "--budget", budget, "--workers", "1", "--json"]
        lines, _, cpu = output([*command, "--out", f"{out}/out"])
    summary = json.loads(lines[-1])
    return Campaign(summary["modules"], summary["checks"], summary["seconds"], cpu)


def checks(programs: Path, seed: str, modules: str) -> Campaign:
    """Check this number of modules and nothing else, see `rows.py`; all seconds count."""
    lines, wall, cpu = output([str(programs / "python"), str(ROWS), modules, seed])
    counts = lines[0].split()
    return Campaign(int(counts[0]), int(counts[2]), wall, cpu, tuple(lines))


def output(command: Sequence[str]) -> tuple[list[str], float, float]:
    """The lines that a program prints, its seconds, and its CPU seconds."""
    began, spent = time.monotonic(), children()
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.splitlines(), time.monotonic() - began, children() - spent


def children() -> float:
    """CPU seconds of all ended processes below this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ratios(old: Sequence[Campaign], new: Sequence[Campaign]) -> dict[str, float]:
    """The ratio of the new rate to the old one by unit: the median over the rounds."""
    pairs = [(a.rates(), b.rates()) for a, b in zip(old, new, strict=True)]
    return {unit: statistics.median(b[unit] / a[unit] for a, b in pairs) for unit in pairs[0][0]}


def main() -> None:
    """Print the rates of each run as it ends, and then their ratios."""
    parser = argparse.ArgumentParser(prog="make bench-versus", description=__doc__)
    parser.add_argument("old", type=Path, help="another checkout, with an environment in .venv")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--budget", default="60s", help="of each run")
    parser.add_argument("--modules", help="instead of the budget: both check the same")
    parser.add_argument(
        "--known", action="store_true", help="with each checkout's own records of TVM's bugs"
    )
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    runs: dict[str, list[Campaign]] = {"old": [], "new": []}
    for number in range(options.rounds):
        # The two alternate in coming first.
        for name in ("old", "new") if number % 2 == 0 else ("new", "old"):
            programs = programs_of(options.old) if name == "old" else HERE
            if options.modules:
                runs[name].append(checks(programs, options.seed, options.modules))
            else:
                runs[name].append(
                    campaign(programs, options.seed, options.budget, known=options.known)
                )
            show(name, runs[name][-1].rates())
    show("ratio", ratios(runs["old"], runs["new"]))
    given = {each.rows for both in runs.values() for each in both}
    if len(given) > 1:
        print("They do not give the same: compare the outputs of", ROWS)


def show(name: str, rates: dict[str, float]) -> None:
    """Print one line."""
    figures = "  ".join(f"{rate:8.2f} {unit}" for unit, rate in rates.items())
    print(f"{name:5}  {figures}", flush=True)


if __name__ == "__main__":
    main()
