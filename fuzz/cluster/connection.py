"""Connect to a running Dask cluster."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..system.errors import UserError

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 10.0
"""Seconds that a scheduler has to answer."""

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx|inproc)://\S+")

EXTRA = "pip install 'relaxfuzz[cluster]'"


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A client of one cluster."""

    name: str
    """The cluster as the user spells it, see `address_of`."""
    client: Client


@contextmanager
def connect(scheduler: str) -> Iterator[ClusterConnection]:
    """Connect to a cluster; see `address_of`.

    Raises:
        UserError: Dask is not installed, or nothing answers at that address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(f"{scheduler} needs Dask ({error}): {EXTRA}") from None
    # We report what users need; Dask would log much more between the lines of progress.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    address, client, message = address_of(scheduler), None, ""
    try:
        client = Client(address, timeout=ANSWER, set_as_default=False, name="relaxfuzz")
    except Exception as error:  # of transports and certificates, there are many
        message = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    if client is None:
        # A client that never connected closes itself when it is collected. At the end of this
        # process it would wait for a thread that has already ended.
        gc.collect()
        raise UserError(
            f"no Dask scheduler answers at {scheduler} ({message}): start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS`"
        )
    try:
        yield ClusterConnection(scheduler, client)
    finally:
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            client.close(timeout=5)


def address_of(scheduler: str) -> str:
    """The address of a scheduler, from an address or a scheduler file.

    Raises:
        UserError: it is neither.
    """
    if _ADDRESS.fullmatch(scheduler):
        return scheduler
    try:
        return str(json.loads(Path(scheduler).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            "expected tcp://host:port, tls://host:port or a scheduler file but got --scheduler "
            f"{scheduler!r}"
        ) from None


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Check a few times a second; return false if the condition does not become true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(0.2)
    return True
