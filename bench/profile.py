"""`make bench-profile`: the shares of a real campaign's time, compared with the last profile.

py-spy samples all processes of `relaxfuzz run`. A sample counts for each part that has a function
on its stack, so the shares overlap: TVM's passes run inside of oracles.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

LAST = Path(".bench-profile.json")
HERTZ = 25

Frame = tuple[str, str]
"""A function, and its file as py-spy shows it, beginning with the package."""

PARTS: Mapping[str, tuple[Frame, ...]] = {
    "TVM's passes": (("Pass.__call__", "tvm/ir/transform.py"),),
    "generation": (("example", "relaxfuzz/fuzz/jobs/draw.py"),),
    "advancing to a stage": (("step", "relaxfuzz/generators/stages.py"),),
    "modules made again": (("regenerated", "relaxfuzz/fuzz/campaign/block.py"),),
    "evaluation": (("Evaluator.run", "relaxfuzz/oracles/evaluate/evaluator.py"),),
    "evaluation of PrimFuncs": (
        ("Evaluator._call_prim", "relaxfuzz/oracles/evaluate/evaluator.py"),
    ),
    "translation of PrimFuncs": (("translate", "relaxfuzz/oracles/tensorir/program.py"),),
    "legalization": (("BlockBuilder.call_te", "tvm/relax/block_builder.py"),),
    "code generation": (("build", "tvm/tirx/build.py"),),
    "JSON": (
        ("to_json_graph_str", "tvm_ffi/serialization.py"),
        ("from_json_graph_str", "tvm_ffi/serialization.py"),
        ("JSONDecoder.decode", "json/decoder.py"),
        ("JSONEncoder.encode", "json/encoder.py"),
    ),
    "structural hash and equality": (
        ("structural_hash", "tvm_ffi/structural.py"),
        ("structural_equal", "tvm_ffi/structural.py"),
        ("StructuralKey.__init__", "tvm_ffi/structural.py"),
        ("StructuralKey.__eq__", "tvm_ffi/structural.py"),
    ),
    "walks over nodes": (("nodes", "relaxfuzz/oracles/inspect.py"),),
    "TVMScript": (
        ("_script", "tvm/runtime/script_printer.py"),
        ("parse", "tvm/script/parser/core/entry.py"),
    ),
    "pipelines and sequences": (("_composed", "relaxfuzz/oracles/check.py"),),
    "choice of each pass": (("_Run._prepare", "relaxfuzz/fuzz/campaign/block.py"),),
    "reports": (("_Run._report", "relaxfuzz/fuzz/campaign/block.py"),),
    "messages and journal": (
        ("Context.report", "relaxfuzz/fuzz/process/context.py"),
        ("Journal.position", "relaxfuzz/fuzz/process/journal.py"),
        ("Journal.step", "relaxfuzz/fuzz/process/journal.py"),
        ("Journal.guard", "relaxfuzz/fuzz/process/journal.py"),
    ),
}

_FRAME = re.compile(r"(?P<function>.+) \((?P<file>[^()]+?)(:\d+)?\)")
_WAITING = re.compile(r"^(in_fork|select|poll|wait|waitpid|recv|read)\b")
_ORACLE: Frame = ("Oracle.violations", "relaxfuzz/oracles/oracle.py")


def stacks(folded: Iterable[str]) -> Iterator[tuple[list[Frame], int]]:
    """The stacks of py-spy's raw format, from the outermost frame, and the count of each.

    A stack starts with the command of its process. If that has line breaks (`python -c`), lines
    before the last one have no frames and no count.
    """
    for line in folded:
        stack, _, count = line.rpartition(" ")
        if count.isdecimal():
            matches = map(_FRAME.fullmatch, stack.split(";"))
            yield [(m["function"], m["file"]) for m in matches if m is not None], int(count)


def profile(folded: Iterable[str]) -> dict[str, Any]:
    """The shares of the time of workers that check modules, and of the processes.

    Returns:
        `samples`: the samples of checking workers; `processes`: samples by kind of process; `parts`
        and `oracles`: shares of the samples, from 0 to 1.
    """
    processes: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    oracles: Counter[str] = Counter()
    for frames, count in stacks(folded):
        if not frames or _WAITING.match(frames[-1][0]):
            continue
        if ("main", "relaxfuzz/fuzz/process/worker.py") not in frames:
            processes["driver and zygote"] += count
        elif ("run_block", "relaxfuzz/fuzz/campaign/block.py") not in frames:
            processes["triage"] += count
        else:
            processes["checks"] += count
            seen = set(frames)
            for name, wanted in PARTS.items():
                if not seen.isdisjoint(wanted):
                    parts[name] += count
            asked = {
                Path(inner[1]).stem
                for outer, inner in itertools.pairwise(frames)
                if outer == _ORACLE and inner[1] != outer[1]
            }
            oracles.update(dict.fromkeys(asked, count))
    samples = processes["checks"]
    return {
        "samples": samples,
        "processes": dict(processes),
        "parts": {name: parts[name] / max(1, samples) for name in PARTS},
        "oracles": {name: n / max(1, samples) for name, n in oracles.most_common()},
    }


def record(seconds: int, seed: int) -> list[str]:
    """The samples of a campaign over all passes with one worker, in py-spy's raw format."""
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder, "samples")
        sampler = f"{programs}/py-spy record --subprocesses --nonblocking --format raw"
        options = f"--rate {HERTZ} --output {samples} --duration {seconds}"
        run = f"{programs}/relaxfuzz run --budget {seconds}s --seed {seed} --workers 1 --json"
        command = shlex.split(f"{sampler} {options} -- {run} --out {folder}/out")
        done = subprocess.run(command, capture_output=True, text=True)
        if not samples.exists():
            raise SystemExit(f"py-spy recorded nothing: {done.stderr.strip()[-2000:]}")
        return samples.read_text().splitlines()


def show(now: Mapping[str, Any], last: Mapping[str, Any] | None, console: Console) -> None:
    """The shares as tables, beside those of the last profile."""
    total = sum(now["processes"].values())
    shares = {name: n / max(1, total) for name, n in now["processes"].items()}
    for title, kind, current in (
        ("time by process", "", shares),
        (f"inside of checks ({now['samples']} samples; shares overlap)", "parts", now["parts"]),
        ("the same by file of the oracle", "oracles", now["oracles"]),
    ):
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for column in ("", "share", "last time"):
            table.add_column(column, justify="right" if column else "left")
        for name, share in sorted(current.items(), key=lambda pair: -pair[1]):
            before = last[kind].get(name) if last and kind else None
            table.add_row(name, f"{share:.1%}", "" if before is None else f"{before:.1%}")
        console.print(table)


def main() -> None:
    """Record a campaign, print the shares, and keep them for the next comparison."""
    parser = argparse.ArgumentParser(prog="make bench-profile", description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    now = profile(record(options.seconds, options.seed))
    last = json.loads(LAST.read_text()) if LAST.exists() else None
    if options.json:
        print(json.dumps(now))
    else:
        show(now, last, Console())
    LAST.write_text(json.dumps(now))


if __name__ == "__main__":
    main()
