"""A real `relaxfuzz nightly` or `run` as a process of its own, whose parts can be found and hit."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from relaxfuzz.fuzz.nightly.state import load_night

PASSES = Path(__file__).parents[1] / "fuzz"

FAULTY = (
    *(f"{PASSES / 'passes.py'}:{name}" for name in ("segfault", "leave")),
    *(f"{PASSES / 'user_passes.py'}:{name}" for name in ("marks", "raises_on_exp")),
    "LiftTransformParams",
)
"""Passes in which something is found soon, by death and otherwise."""

MORE = (*FAULTY, f"{PASSES / 'user_passes.py'}:attaches", "KillAfterLastUse", "DeadCodeElimination")
"""For a campaign that has more time."""

BLOCK = 4
"""Modules; small, so that there are several blocks even in a small campaign."""

MARK = "RELAXFUZZ_CHAOS"
"""The variable by which the processes of a campaign are known, whoever their parent is."""


class Campaign:
    """A folder with a store, an own folder for temporary files, and the command that works there.

    A test may restart the command as often as it likes; all of its output is in `log`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        modules: int,
        seed: int = 5,
        passes: Sequence[str] = FAULTY,
        store: Path | None = None,
        tmp: Path | None = None,
    ) -> None:
        """
        Args:
            store: where findings go; None: into the folder.
            tmp: where temporary files go; None: into the folder.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.out = store or folder / "out"
        self.tmp = tmp or folder / "tmp"
        self.tmp.mkdir(exist_ok=True)
        self.log = folder / "log"
        self.mark = uuid.uuid4().hex
        self.codes: list[int] = []
        """How the command ended, each time."""
        self._settings = folder / "nightly.toml"
        listed = json.dumps(list(passes))
        self._settings.write_text(
            f"passes = {listed}\nmodules = {modules}\nseed = {seed}\nblock = {BLOCK}\n"
            f"out = {json.dumps(str(self.out))}\nshipped-knowns = false\n"
        )
        self._asked = [*passes, "--modules", str(modules), "--seed", str(seed), "--no-known"]
        self._asked += ["--block", str(BLOCK)]
        self.driver: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self.driver is not None:
            self.driver.wait()

    # The command

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TMPDIR": str(self.tmp),
            MARK: self.mark,
        }

    def command(self, *words: object, terminal: int | None = None) -> subprocess.Popen[bytes]:
        """A command of relaxfuzz in the environment of the campaign; it adds to the log."""
        start = [sys.executable, "-m", "relaxfuzz.fuzz.cli"]
        if terminal is not None:
            start = ["setsid", "--ctty", *start]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*start, *map(str, words)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL if terminal is None else terminal,
                stdout=log if terminal is None else terminal,
                stderr=log if terminal is None else terminal,
                start_new_session=terminal is None,
                preexec_fn=_takes_signals,
            )

    def nightly(self, *words: object, terminal: int | None = None) -> None:
        """Start the campaign, or go on with it.

        Args:
            terminal: it is to control the process, which talks to it.
        """
        asked = ["nightly", self._settings, "--workers", 2, *words]
        self.driver = self.command(*asked, terminal=terminal)

    def run(self, *words: object) -> None:
        """The same campaign by the command that does not go on where it was interrupted."""
        self.driver = self.command("run", *self._asked, "--workers", 2, "--out", self.out, *words)

    @property
    def alive(self) -> bool:
        return self.driver is not None and self.driver.poll() is None

    @property
    def over(self) -> bool:
        """There is nothing to go on with: the same command would begin another night."""
        night = load_night(self.out)
        return night is not None and night.over

    def wait(self, seconds: float = 600.0) -> int:
        """How the driver ended; it has so long to do so."""
        assert self.driver is not None
        self.codes.append(self.driver.wait(seconds))
        return self.codes[-1]

    def until(self, phrase: str, seconds: float = 300.0) -> None:
        """Wait until the phrase is in the log."""
        deadline = time.monotonic() + seconds
        while phrase not in self.output():
            assert self.alive, f"it ended before it printed {phrase!r}:\n{self.output()}"
            assert time.monotonic() < deadline, f"it did not print {phrase!r}:\n{self.output()}"
            time.sleep(0.02)

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    # Its processes

    def processes(self) -> Iterator[psutil.Process]:
        """All that carry the mark, orphans too."""
        wanted = f"{MARK}={self.mark}".encode()
        for process in psutil.process_iter():
            try:
                environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            except OSError:
                continue
            if wanted in environment.split(b"\0"):
                yield process

    def parts(self) -> dict[str, list[psutil.Process]]:
        """Its processes by what they are: driver, zygote, child, runner, reproducer, other."""
        parts: dict[str, list[psutil.Process]] = {}
        kinds: dict[int, str] = {}
        for process in sorted(self.processes(), key=lambda each: each.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                words = process.cmdline()
                parent = kinds.get(process.ppid())
                kind = "other"
                if self.driver is not None and process.pid == self.driver.pid:
                    kind = "driver"
                elif "relaxfuzz.fuzz.process.zygote" in words:
                    kind = "child" if parent in ("zygote", "child") else "zygote"
                elif "relaxfuzz.fuzz.system.script_runner" in words:
                    kind = "reproducer" if parent in ("runner", "reproducer") else "runner"
                kinds[process.pid] = kind
                parts.setdefault(kind, []).append(process)
        return parts

    def part(self, kind: str, seconds: float = 120.0) -> psutil.Process:
        """One of its processes, as soon as there is one."""
        deadline = time.monotonic() + seconds
        while not (found := self.parts().get(kind)):
            assert self.alive, f"it ended before there was a {kind}:\n{self.output()}"
            assert time.monotonic() < deadline, f"there is no {kind}:\n{self.output()}"
            time.sleep(0.02)
        return found[-1]


def _takes_signals() -> None:
    """Also where the tests run under nohup(1), or behind a shell that keeps Ctrl-C for itself."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def kill(process: psutil.Process, number: int = signal.SIGKILL) -> None:
    """A signal, for a process that may be gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def settled(campaign: Campaign, seconds: float = 20.0) -> list[str]:
    """Processes that are there so long after the campaign: there should be none."""
    deadline = time.monotonic() + seconds
    left: list[str] = []
    for _ in itertools.count():
        left = []
        for process in campaign.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE:
                    left.append(f"{process.pid}: {' '.join(process.cmdline())}")
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left
