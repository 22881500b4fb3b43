"""Connecting to a Dask cluster: one that is there, or one that is started here."""

from __future__ import annotations

import contextlib
import gc
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..user_input.errors import UserError
from .where import Where

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 10.0
"""Seconds that a scheduler has to answer."""

EXTRA = "pip install 'relaxfuzz[cluster]'"


class Connection:
    """A client of one cluster; a new scheduler may take the place of an old one."""

    def __init__(self, address: Callable[[], str], name: str) -> None:
        """
        Args:
            address: called for each connection, since a scheduler file may be written anew.
            name: of the cluster, for messages.

        Raises:
            OSError, ValueError: nothing answers there; or that is no address.
        """
        self._address = address
        self.name = name
        self.client = self._connect()

    def renew(self) -> bool:
        """Connect to the scheduler that came back, or to a new one; true if one answers.

        Tasks of the old scheduler are lost.
        """
        with contextlib.suppress(Exception):
            self.client.close(timeout=1)
        try:
            self.client = self._connect()
        except (OSError, ValueError):
            return False
        return True

    def _connect(self) -> Client:
        from distributed import Client

        address = self._address()
        try:
            return Client(address, timeout=ANSWER, set_as_default=False, name="relaxfuzz")
        except Exception as error:  # of transports and certificates, there are many
            message = _first_line(error)
        # A client that never connected closes itself when it is collected. At the end of this
        # process it would wait for a thread that has ended already.
        gc.collect()
        raise OSError(message)


@contextmanager
def connect(where: Where, workers: int) -> Iterator[Connection]:
    """Connect to a cluster; one that is started here ends with the context.

    Args:
        workers: number of processes of a cluster on this machine.

    Raises:
        UserError: Dask is not installed, or nothing answers at that address.
    """
    try:
        import distributed
    except ImportError as error:
        raise UserError(f"{where} needs Dask ({error}): {EXTRA}") from None
    # We report what users need; Dask would log much more between the lines of progress.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with contextlib.ExitStack() as stack:
        if where.scheduler is None:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="relaxfuzz-dask-", ignore_cleanup_errors=True)
            )
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",  # None is a port that may be taken
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                )
            )
            address = lambda: str(cluster.scheduler_address)  # noqa: E731
        else:
            address = lambda: _address(where)  # noqa: E731
        try:
            connection = Connection(address, str(where))
        except (OSError, ValueError) as error:
            raise UserError(
                f"no Dask scheduler answers at {where} ({_first_line(error)}): start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS`"
            ) from None
        try:
            yield connection
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                connection.client.close(timeout=5)


def _address(where: Where) -> str:
    """Raises `ValueError` for what is no scheduler file, `OSError` where it cannot be read."""
    if where.file is None:
        assert where.scheduler is not None
        return where.scheduler
    import json

    try:
        return str(json.loads(where.file.read_text(encoding="utf-8"))["address"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"expected a scheduler file of Dask but got '{where.file}'") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Check a few times a second; false if it does not become true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(0.2)
    return True
