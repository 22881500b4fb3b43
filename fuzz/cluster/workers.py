"""The workers of a cluster: who joined, who left, who is not fit for this driver."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..process.executor import Member, News
from . import fitness
from .code import Code
from .remote import Status, receive

if TYPE_CHECKING:
    from distributed import Client


@dataclass(slots=True, eq=False)
class _Worker:
    name: str
    threads: int
    since: float = field(default_factory=time.monotonic)
    blocks: int = 0
    checks: int = 0


class Workers:
    """The workers by their addresses. Any thread may ask; one of them calls `refresh`."""

    def __init__(self, campaign: str, code: Code | None, report: Callable[[News], None]) -> None:
        """
        Args:
            code: what each worker gets before its first job.
            report: called for each worker that joins, leaves or is left out.
        """
        self._campaign = campaign
        self._code = code
        self._report = report
        self._lock = threading.Lock()
        self._fit: dict[str, _Worker] = {}
        self._unfit: dict[str, str] = {}
        """With the reason."""
        self.empty_since = time.monotonic()
        """Of no meaning while a worker is there."""

    @property
    def addresses(self) -> frozenset[str]:
        """Of those that are fit."""
        with self._lock:
            return frozenset(self._fit)

    @property
    def threads(self) -> int:
        """Jobs that they run at the same time."""
        with self._lock:
            return sum(worker.threads for worker in self._fit.values())

    @property
    def unfit(self) -> str:
        """The workers that are left out, with the reasons; empty if there are none."""
        with self._lock:
            return "; ".join(f"{_name(each)}: {why}" for each, why in self._unfit.items())

    def members(self, running: Iterable[Status]) -> tuple[Member, ...]:
        """What each worker does.

        Args:
            running: the status of each job that runs.
        """
        now = time.monotonic()
        checks: Counter[str] = Counter()
        current: dict[str, list[str]] = {}
        for status in running:
            checks[status.worker] += status.checks
            if status.item:
                current.setdefault(status.worker, []).append(status.item)
        with self._lock:
            return tuple(
                Member(
                    name=worker.name,
                    slots=worker.threads,
                    blocks=worker.blocks,
                    checks=worker.checks + checks[address],
                    seconds=now - worker.since,
                    current=tuple(current.get(address, ())),
                )
                for address, worker in self._fit.items()
            )

    def refresh(self, client: Client) -> None:
        """See who is there; check workers that are new, and send them the code.

        Raises:
            Exception: whatever Dask raises where the scheduler does not answer.
        """
        threads: Mapping[str, int] = client.nthreads()
        new = [each for each in threads if each not in self._fit and each not in self._unfit]
        for address, unfit in self._checked(client, new).items():
            if unfit:
                self.leave_out(address, unfit)
                continue
            name = _name(address)
            with self._lock:
                self._fit[address] = _Worker(name, threads[address])
            self._report(News("joined", f"worker {name} has joined", name))
        for address in [each for each in self._fit if each not in threads]:
            with self._lock:
                del self._fit[address]
                self.empty_since = time.monotonic()
                empty = not self._fit
            then = (
                "no worker is left: waiting for another one" if empty else "its jobs go to others"
            )
            name = _name(address)
            self._report(News("left", f"worker {name} has left; {then}", name))
        with self._lock:
            self._unfit = {each: why for each, why in self._unfit.items() if each in threads}

    def leave_out(self, address: str, why: str) -> None:
        """A worker cannot do its jobs."""
        with self._lock:
            self._fit.pop(address, None)
            self._unfit[address] = why
            self.empty_since = time.monotonic()
        name = _name(address)
        self._report(News("left-out", f"worker {name} is left out: {why}", name))

    def clear(self) -> None:
        """All are gone with their scheduler."""
        with self._lock:
            self._fit.clear()
            self._unfit.clear()
            self.empty_since = time.monotonic()

    def count_block(self, address: str, checks: int) -> None:
        """A worker has done a block."""
        with self._lock:
            if (worker := self._fit.get(address)) is not None:
                worker.blocks += 1
                worker.checks += checks

    def _checked(self, client: Client, new: list[str]) -> dict[str, str]:
        """Why each worker cannot be used; empty if it can. Without those that are gone already."""
        packages = () if self._code is None else self._code.packages
        here = fitness.about(packages)
        unfit: dict[str, str] = {}
        for address, there in _run(client, new, fitness.about_worker, packages).items():
            if isinstance(there, Mapping):
                unfit[address] = ", ".join(fitness.differences(here, there))
            elif there is not None and not _is_gone(there):
                unfit[address] = f"relaxfuzz does not run there: {fitness.first_line(there)}"
        if self._code is not None:
            fit = [address for address, why in unfit.items() if not why]
            for address, error in _run(client, fit, receive, self._campaign, self._code).items():
                if _is_gone(error):
                    del unfit[address]
                elif error is not None:
                    text = fitness.first_line(error)
                    unfit[address] = f"it cannot take the files that the passes need: {text}"
        return unfit


def _run(
    client: Client, workers: list[str], function: Callable[..., object], *arguments: object
) -> dict[str, Any]:
    """The result of a function on each worker, or the exception that it raised there."""
    if not workers:
        return {}
    try:
        results: dict[str, Any] = client.run(
            function, *arguments, workers=workers, on_error="return"
        )
    except Exception as error:  # e.g. what cannot be unpickled there
        return dict.fromkeys(workers, error)
    return results


def _is_gone(result: object) -> bool:
    """The connection to a worker broke; an error of its disk has a number."""
    return isinstance(result, OSError) and result.errno is None


def _name(address: str) -> str:
    return address.partition("://")[2]
