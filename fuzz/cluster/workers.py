"""The workers of a cluster: those that joined, those that left, and those unfit for this driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..process.executor import News
from . import fitness

if TYPE_CHECKING:
    from distributed import Client


class Workers:
    """The workers by their addresses. Any thread may query it, but only one calls `refresh`."""

    def __init__(self, places: Sequence[str], report: Callable[[News], None]) -> None:
        """
        Args:
            places: files and folders that each worker must have, just like this process.
            report: called for each worker that joins, leaves or is left out.
        """
        self._places = tuple(places)
        self._report = report
        self._lock = threading.Lock()
        self._fit: dict[str, int] = {}
        """Threads of each fit worker, by its address."""
        self._unfit: dict[str, str] = {}
        """Reason why each worker is unfit, by its address."""
        self.empty_since = time.monotonic()
        """Only meaningful while no worker is connected."""

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of fit workers."""
        with self._lock:
            return frozenset(self._fit)

    @property
    def threads(self) -> int:
        """Number of jobs that they run at the same time."""
        with self._lock:
            return sum(self._fit.values())

    @property
    def unfit(self) -> str:
        """The workers that are left out, with reasons; empty if there are none."""
        with self._lock:
            return "; ".join(f"{_name(each)}: {why}" for each, why in self._unfit.items())

    def refresh(self, client: Client) -> None:
        """Update the workers, and check new ones.

        Raises:
            Exception: any exception of Dask if the scheduler does not answer.
        """
        threads: Mapping[str, int] = client.nthreads()
        new = [each for each in threads if each not in self._fit and each not in self._unfit]
        for address, unfit in self._checked(client, new).items():
            if unfit:
                self.leave_out(address, unfit)
                continue
            name = _name(address)
            with self._lock:
                self._fit[address] = threads[address]
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
        """Leave out a worker that cannot do its jobs."""
        with self._lock:
            self._fit.pop(address, None)
            self._unfit[address] = why
            self.empty_since = time.monotonic()
        name = _name(address)
        self._report(News("left-out", f"worker {name} is left out: {why}", name))

    def _checked(self, client: Client, new: list[str]) -> dict[str, str]:
        """The reason why each present worker cannot be used; empty if it can."""
        here = fitness.about(self._places)
        unfit: dict[str, str] = {}
        for address, there in _run(client, new, fitness.about_worker, self._places).items():
            if isinstance(there, Mapping):
                unfit[address] = ", ".join(fitness.differences(here, there))
            elif there is not None and not _is_gone(there):
                unfit[address] = f"relaxfuzz does not run there: {fitness.first_line(there)}"
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
    except Exception as error:  # e.g. an object that cannot be unpickled there
        return dict.fromkeys(workers, error)
    return results


def _is_gone(result: object) -> bool:
    """Return whether the connection to a worker broke; errors of its disk have a number."""
    return isinstance(result, OSError) and result.errno is None


def _name(address: str) -> str:
    return address.partition("://")[2]
