"""One campaign and many random faults: `python -m tests.chaos.campaign --help`.

A campaign is run twice with the same seed and the same number of modules. The first time nothing
happens to it; the second time faults come at random moments, and the command is restarted
whenever it has ended before the night is over. What differs in the end is printed as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from relaxfuzz.fuzz.findings.store import DATABASE

from .campaigns import MORE, Campaign, kill
from .dask_cluster import Dask
from .endings import ending, harm
from .faults import Fault, all_killed, asked_to_end, filled, intruder, killed, small_disk, stopped

HANG = 60.0
"""Seconds without any progress."""

CALIBRATION = 60
"""Seconds of fuzzing that measure how many modules fill the time."""

SPACING = 5.0
"""Seconds between two faults, at least."""

PEACE = 0.85
"""Share of the time in which the faults come: the rest is to come to an end."""


def main() -> int:
    """Parse, run, print; 0 if no finding is missing or doubled, and nothing was left or hung."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="of the campaign")
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1, help="of the faults and their moments")
    parser.add_argument("--modules", type=int, help="instead of as many as fill the time")
    parser.add_argument("--dask", action="store_true", help="on a scheduler and two workers")
    parser.add_argument("--folder", type=Path, help="to keep all that was written")
    parser.add_argument("--calm", type=Path, help="`calm` of an earlier --folder, same --modules")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing is left then, either
    with ExitStack() as stack:
        folder = asked.folder
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        report = _Chaos(folder.absolute(), asked).run()
    print(json.dumps(report, indent=1))
    return 0 if report["right"] else 1


class _Chaos:
    def __init__(self, folder: Path, asked: argparse.Namespace) -> None:
        self._folder = folder
        self._asked = asked
        self._begin = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)

    def run(self) -> dict[str, Any]:
        modules = self._asked.modules or self._calibrated()
        expected, quiet = self._calm(modules)
        with ExitStack() as stack:
            store, tmp = self._disks(stack)
            wild_folder = self._folder / "wild"
            campaign = Campaign(wild_folder, modules=modules, passes=MORE, store=store, tmp=tmp)
            wild = stack.enter_context(_Wild(campaign, self._asked, disks=store is not None))
            report = wild.run(self._log)
            if store is not None:  # the disk goes with us
                shutil.copytree(campaign.out, wild_folder / "out", dirs_exist_ok=True)
            seen = ending(campaign.out)
            harms = harm(campaign)
        missing = sorted(set(expected["findings"]) - set(seen["findings"]))
        more = sorted(set(seen["findings"]) - set(expected["findings"]))
        doubled = [id for id, n in Counter(seen["reported"]).items() if n > 1]
        same = {key: expected[key] == seen[key] for key in expected}
        right = not (missing or more or doubled or harms or report["hangs"]) and all(same.values())
        return {
            "right": right,
            "modules": modules,
            "findings": len(expected["findings"]),
            "missing": missing,
            "not in the undisturbed run": more,
            "reported twice": doubled,
            "same as undisturbed": same,
            "checks": seen["checks"],
            "left or wrong": harms,
            "seconds undisturbed": quiet,
            **report,
        }

    def _calibrated(self) -> int:
        self._log(f"fuzzing for {CALIBRATION} s to learn how many modules fill the time")
        with Campaign(self._folder / "calibration", modules=10**6, passes=MORE) as campaign:
            campaign.nightly("--budget", f"{CALIBRATION}s")
            campaign.wait(1200)
            report = ending(campaign.out)
        return max(24, round(report["modules"] / CALIBRATION * 60 * self._asked.minutes))

    def _calm(self, modules: int) -> tuple[dict[str, Any], float]:
        """How an undisturbed campaign ends, and the seconds that it took."""
        folder = self._asked.calm or self._folder / "calm"
        result = folder / "ending.json"
        if not result.exists():
            self._log(f"an undisturbed campaign of {modules} modules")
            begin = time.monotonic()
            with Campaign(folder, modules=modules, passes=MORE) as campaign:
                campaign.nightly()
                campaign.wait(24 * 3600)
                if wrong := harm(campaign):
                    self._log(f"wrong without any fault: {wrong}")
                report = {"modules": modules, "seconds": round(time.monotonic() - begin)}
                result.write_text(json.dumps({**report, "ending": ending(campaign.out)}))
        kept = json.loads(result.read_text())
        if kept["modules"] != modules:
            sys.exit(f"{result} is of {kept['modules']} modules, not of {modules}")
        return kept["ending"], kept["seconds"]

    def _disks(self, stack: ExitStack) -> tuple[Path | None, Path | None]:
        """For the store and for temporary files, where we may mount them."""
        try:
            store = stack.enter_context(small_disk(self._folder / "store-disk", 512))
            return store / "out", stack.enter_context(small_disk(self._folder / "tmp-disk", 1024))
        except PermissionError as error:
            self._log(f"no full disks: {error}")
            return None, None

    def _log(self, text: str) -> None:
        print(f"{time.monotonic() - self._begin:7.1f}  {text}", file=sys.stderr, flush=True)


class _Wild:
    """The disturbed campaign."""

    def __init__(self, campaign: Campaign, asked: argparse.Namespace, *, disks: bool) -> None:
        self._campaign = campaign
        self._asked = asked
        self._chance = random.Random(asked.seed)
        self._hangs: list[str] = []
        self._seen: object = None
        self._moved = time.monotonic()
        self._dask: Dask | None = None
        if asked.dask:
            self._dask = Dask(campaign)
        self._table = _table(campaign, disks=disks, dask=self._dask)

    def __enter__(self) -> _Wild:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._campaign.__exit__()
        if self._dask is not None:
            self._dask.close()

    def run(self, log: Any) -> dict[str, Any]:
        begin = time.monotonic()
        moments = self._moments()
        applied: list[dict[str, Any]] = []
        names = [name for name, weight, _ in self._table for _ in range(weight)]
        faults = {name: fault for name, _, fault in self._table}
        self._start()
        while not self._over():
            if not self._campaign.alive:
                code = self._campaign.wait()
                log(f"the driver ended with {code}")
                self._start()
            if self._dask is not None:
                self._dask.tend()
            now = time.monotonic() - begin
            if moments and now >= moments[0]:
                name = self._chance.choice(names)
                hit = faults[name](self._campaign, self._chance)
                if hit is not None:  # else there was nothing to hit: another one, at once
                    moments.pop(0)
                    log(f"{name}: {hit}")
                    applied.append({"at": round(now, 1), "fault": name, "hit": hit})
                    self._moved = time.monotonic()
            self._watch(log)
            time.sleep(0.1)
        seconds = round(time.monotonic() - begin)
        log(f"over after {seconds} s")
        if self._dask is not None:
            self._dask.end()
        counts = Counter(each["fault"] for each in applied)
        return {
            "faults": dict(counts),
            "faults applied": len(applied),
            "not applied before the end": len(moments),
            "hangs": self._hangs,
            "seconds": seconds,
            "driver": dict(Counter(map(str, self._campaign.codes))),
            "log": applied,
        }

    def _moments(self) -> list[float]:
        """Moments in seconds, in order, at least SPACING apart."""
        until = self._asked.minutes * 60 * PEACE
        free = max(0.0, until - SPACING * self._asked.faults)
        drawn = sorted(self._chance.uniform(0, free) for _ in range(self._asked.faults))
        return [moment + SPACING * (number + 1) for number, moment in enumerate(drawn)]

    def _start(self) -> None:
        words = ["--scheduler", self._dask.address] if self._dask is not None else []
        self._campaign.nightly(*words)

    def _over(self) -> bool:
        if self._campaign.alive or not self._campaign.over:
            return False
        self._campaign.wait()
        return True

    def _watch(self, log: Any) -> None:
        """A hang is a minute in which no file, output or process changed."""
        seen = self._progress()
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._moved = seen, now
        elif now - self._moved > HANG:
            parts = {kind: len(found) for kind, found in self._campaign.parts().items()}
            self._hangs.append(f"{parts}; last output: {self._campaign.output()[-300:]}")
            log(f"hang: {self._hangs[-1]}")
            for process in self._campaign.parts().get("driver", []):
                kill(process, signal.SIGKILL)
            self._moved = now

    def _progress(self) -> object:
        written: tuple[object, ...] = ()
        with contextlib.suppress(sqlite3.Error), _reading(self._campaign.out / DATABASE) as db:
            (run,) = db.execute("SELECT max(length(run)) FROM runs").fetchone()
            findings = db.execute("SELECT count(*), sum(length(finding)) FROM findings").fetchone()
            (pending,) = db.execute("SELECT count(*) FROM pending").fetchone()
            written = (run, findings, pending)
        pids = frozenset(process.pid for process in self._campaign.processes())
        return len(self._campaign.output()), written, pids


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    try:
        yield db
    finally:
        db.close()


def _table(campaign: Campaign, *, disks: bool, dask: Dask | None) -> list[tuple[str, int, Fault]]:
    """What may happen, how often, and how."""
    table: list[tuple[str, int, Fault]] = [
        ("SIGKILL of a child", 6, killed("child")),
        ("SIGKILL of a zygote", 4, killed("zygote")),
        ("SIGKILL of a runner", 3, killed("runner")),
        ("SIGKILL of a reproducer", 2, killed("reproducer")),
        ("SIGKILL of the driver", 5, killed("driver")),
        ("SIGTERM of the driver", 2, asked_to_end(signal.SIGTERM)),
        ("SIGHUP of the driver", 2, asked_to_end(signal.SIGHUP)),
        ("SIGSTOP of a child", 2, stopped("child")),
        ("SIGSTOP of a zygote", 2, stopped("zygote")),
        ("SIGSTOP of the driver", 2, stopped("driver")),
        ("somebody else in the folder", 2, intruder),
    ]
    if dask is None:
        table.append(("loss of power", 2, all_killed))
    else:
        table += [
            ("SIGKILL of a Dask worker", 4, lambda _, chance: dask.hit("worker", chance)),
            ("SIGKILL of a worker with a nanny", 3, lambda _, chance: dask.hit("nannied", chance)),
            ("SIGKILL of a nanny", 2, lambda _, chance: dask.hit("nanny", chance)),
            ("a worker joins", 2, lambda _, chance: dask.join()),
            ("SIGTERM of a Dask worker", 2, lambda _, chance: dask.leave(chance)),
            ("SIGKILL of the scheduler", 3, lambda _, chance: dask.replace_scheduler()),
        ]
    if disks:
        table += [
            ("a full disk under the store", 3, filled(campaign.out.parent)),
            ("a full disk for temporary files", 3, filled(campaign.tmp)),
        ]
    return table


if __name__ == "__main__":
    sys.exit(main())
