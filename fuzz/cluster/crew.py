"""The workers of a cluster: who has joined, who has left, who is not fit for this driver."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..process.executor import Member, News
from . import fitness
from .remote import Sign

if TYPE_CHECKING:
    from distributed import Client

    from .shipment import Shipment


@dataclass(slots=True, eq=False)
class _Worker:
    """A Dask worker that is fit."""

    name: str
    slots: int
    since: float = field(default_factory=time.monotonic)
    blocks: int = 0
    checks: int = 0


class Crew:
    """The workers by their addresses. Any thread may ask; one of them looks."""

    def __init__(self, tell: Callable[[News], None], shipment: Shipment | None = None) -> None:
        """
        Args:
            tell: told of workers that join, leave or are left out.
            shipment: what each has to have before it is of use.
        """
        self._tell = tell
        self._shipment = shipment
        self._lock = threading.Lock()
        self._fit: dict[str, _Worker] = {}
        self._unfit: dict[str, str] = {}
        """What differs."""
        self.left = time.monotonic()
        """Since when nobody is there; of no meaning while somebody is."""

    @property
    def addresses(self) -> frozenset[str]:
        """Of those that are fit."""
        with self._lock:
            return frozenset(self._fit)

    @property
    def slots(self) -> int:
        """Jobs that they run at the same time."""
        with self._lock:
            return sum(worker.slots for worker in self._fit.values())

    @property
    def complaint(self) -> str:
        """Who was left out, and why; empty where nobody was."""
        with self._lock:
            return "; ".join(f"{_name(each)}: {why}" for each, why in self._unfit.items())

    def members(self, signs: Iterable[Sign]) -> tuple[Member, ...]:
        """What each does.

        Args:
            signs: of jobs under way.
        """
        now = time.monotonic()
        checks: Counter[str] = Counter()
        current: dict[str, list[str]] = {}
        for sign in signs:
            checks[sign.worker] += sign.checks
            if sign.item:
                current.setdefault(sign.worker, []).append(sign.item)
        with self._lock:
            return tuple(
                Member(
                    name=worker.name,
                    slots=worker.slots,
                    blocks=worker.blocks,
                    checks=worker.checks + checks[address],
                    seconds=now - worker.since,
                    current=tuple(current.get(address, ())),
                )
                for address, worker in self._fit.items()
            )

    def look(self, client: Client) -> None:
        """See who is there, and give those that are new what they need.

        Raises:
            Exception: whatever Dask raises where the scheduler does not answer.
        """
        there: Mapping[str, int] = client.nthreads()
        new = [each for each in there if each not in self._fit and each not in self._unfit]
        about = _introduced(client, new) if new else {}
        troubles = dict.fromkeys(new, "")
        if self._shipment is not None:
            fit = [each for each in new if _is_fit(about.get(each))]
            troubles = self._shipment.bring(client, fit)
        for address in new:
            self._meet(address, there[address], about.get(address), troubles.get(address))
        for address in [each for each in self._fit if each not in there]:
            self._part(address)
        with self._lock:
            self._unfit = {each: why for each, why in self._unfit.items() if each in there}

    def leave_out(self, address: str, why: str) -> None:
        """A worker cannot do what it is asked to."""
        with self._lock:
            self._fit.pop(address, None)
            self._unfit[address] = why
            self.left = time.monotonic()
        name = _name(address)
        self._tell(News("left-out", f"worker {name} is left out: {why}", name))

    def dismiss(self) -> None:
        """All have gone with their scheduler."""
        with self._lock:
            self._fit.clear()
            self._unfit.clear()
            self.left = time.monotonic()

    def count(self, address: str, checks: int) -> None:
        """A worker has done a block."""
        with self._lock:
            if (worker := self._fit.get(address)) is not None:
                worker.blocks += 1
                worker.checks += checks

    def _meet(self, address: str, slots: int, about: Any, trouble: str | None) -> None:
        if about is None or isinstance(about, OSError):
            return  # it has gone already, or is asked again
        if not isinstance(about, Mapping):
            self.leave_out(address, f"relaxfuzz does not run there: {_line(about)}")
        elif differ := fitness.differences(fitness.about(), about):
            self.leave_out(address, ", ".join(differ))
        elif trouble:
            self.leave_out(address, trouble)
        elif trouble is not None:
            with self._lock:
                self._fit[address] = _Worker(_name(address), slots)
            name = _name(address)
            self._tell(News("joined", f"worker {name} has joined", name))

    def _part(self, address: str) -> None:
        with self._lock:
            del self._fit[address]
            self.left = time.monotonic()
            alone = not self._fit
        said = "nobody is there: waiting for another" if alone else "what it was at goes to others"
        name = _name(address)
        self._tell(News("left", f"worker {name} has left; {said}", name))


def _introduced(client: Client, addresses: list[str]) -> dict[str, Any]:
    """The versions of workers, or the exceptions that they raised."""
    try:
        said: dict[str, Any] = client.run(fitness.introduced, workers=addresses, on_error="return")
    except Exception as error:
        return dict.fromkeys(addresses, error)
    return said


def _is_fit(about: Any) -> bool:
    return isinstance(about, Mapping) and not fitness.differences(fitness.about(), about)


def _name(address: str) -> str:
    return address.partition("://")[2]


def _line(error: object) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]
