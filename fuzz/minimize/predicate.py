"""The search with a user's predicate: a command that decides whether a module is interesting."""

from __future__ import annotations

import concurrent.futures
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ...compat.serialization import load_json
from ...generators.source import SourceError, to_source
from ..system.scratch import scratch
from ..system.supervised import Supervised
from .parallel import TICK, SearchState
from .search import Candidate, Search, digest, flaw_of

SECONDS = 60.0
"""Seconds for the command; a candidate that takes longer is not interesting."""


class Command:
    """A command line to run on one module after the other. Exit code 0 means still interesting.

    In it, `{}.py` stands for a Python file that defines the module as `mod`, and `{}` for a file
    with TVM JSON. A command with neither gets the JSON file as its last argument.
    """

    def __init__(self, text: str) -> None:
        """
        Raises:
            ValueError: there is no command, or a quotation is not closed.
        """
        self._words = shlex.split(text)
        if not self._words:
            raise ValueError(f"Expected a command but got {text!r}")
        self._source = "{}.py" in text
        if "{}" not in text:
            self._words.append("{}")
        self._running: set[Supervised] = set()
        self._lock = threading.Lock()

    def __call__(self, module: str) -> bool:
        """Return whether the module (TVM JSON) is interesting; callable from several threads."""
        return self.ask(module)[0] == 0

    def ask(self, module: str) -> tuple[int | None, str]:
        """Return the exit code, or None, and the stderr or the reason for None.

        Raises:
            OSError: the command cannot be started.
        """
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            path = Path(folder) / ("candidate.py" if self._source else "candidate.json")
            try:
                path.write_text(to_source(load_json(module)) if self._source else module)
            except SourceError as error:
                return None, f"it cannot be written as source: {error}"
            name = str(path.with_suffix("") if self._source else path)
            with Supervised(
                [word.replace("{}", name) for word in self._words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C goes to the driver only
            ) as process:
                with self._lock:
                    self._running.add(process)
                try:
                    _, stderr = process.communicate(timeout=SECONDS)
                except subprocess.TimeoutExpired:
                    return None, f"it took more than {SECONDS:.0f} s"
                finally:
                    with self._lock:
                        self._running.discard(process)
            return process.returncode, stderr.decode(errors="replace")

    def stop(self) -> None:
        """Kill all running commands, so that none of their candidates is interesting."""
        with self._lock:
            for process in self._running:
                process.cut()


def shrink_by(
    command: Command,
    state: SearchState,
    *,
    workers: int,
    over: Callable[[], bool],
    progress: Callable[[SearchState], None],
    trail: list[str],
    faults: dict[str, None],
) -> SearchState:
    """Make a module smaller that the command finds interesting, starting from a state.

    This process makes candidates; `workers` commands test them at a time; the first success wins.

    Args:
        over, progress: see `ParallelSearch`.
        trail: receives the modules that were found, in order.
        faults: receives faults of the harness itself.
    """

    def fault(error: Exception | str) -> None:
        faults[str(error)] = None

    where = Search(anchor=state.edit_id, flaw=flaw_of(load_json(state.module)), report_fault=fault)
    where.seen.add(digest(state.module))
    with ThreadPoolExecutor(workers) as threads:
        while not state.ended and not over():
            found, asked = _first(command, where, state.module, threads, workers, over)
            state = replace(state, tried=state.tried + asked)
            if found is not None:
                trail.append(found.module)
                where = where.after_edit(found.edit_id)
                state = replace(
                    state, module=found.module, edit_id=found.edit_id, accepted=state.accepted + 1
                )
            elif not over():
                state = replace(state, ended=True)
            progress(state)
    return state


def _first(
    command: Command,
    where: Search,
    module: str,
    threads: ThreadPoolExecutor,
    workers: int,
    over: Callable[[], bool],
) -> tuple[Candidate | None, int]:
    asked = 0
    candidates = where.candidates(load_json(module))
    running: dict[Future[bool], Candidate] = {}
    found: Candidate | None = None
    try:
        while found is None and not over():
            for candidate in islice(candidates, workers - len(running)):
                running[threads.submit(command, candidate.module)] = candidate
            if not running:
                break
            done, _ = concurrent.futures.wait(
                running, timeout=TICK, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                asked += 1
                candidate = running.pop(future)
                if future.result() and found is None:
                    found = candidate
    finally:
        while any(not future.done() for future in running):
            command.stop()
            time.sleep(0.01)
        for candidate in running.values():
            where.seen.discard(digest(candidate.module))  # its result is unknown
    return found, asked
