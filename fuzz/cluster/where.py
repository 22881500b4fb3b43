"""Which cluster a campaign runs on: the options --scheduler and --cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..user_input.errors import UserError

LOCAL = "local"
"""The kind of cluster that relaxfuzz starts itself."""

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx|inproc)://\S+")


@dataclass(frozen=True, slots=True)
class Where:
    """A running cluster, or one to start."""

    scheduler: str | None = None
    """The address of its scheduler, or the path of its scheduler file."""
    kind: str | None = None
    """`LOCAL`: start one on this machine, and end it afterwards."""

    def __post_init__(self) -> None:
        """
        Raises:
            UserError: both are given, or neither, or it is not an address.
        """
        if self.scheduler is not None and self.kind is not None:
            raise UserError(
                f"scheduler {self.scheduler!r} and cluster {self.kind!r} exclude each other: "
                "give one of them"
            )
        if self.kind is not None and self.kind != LOCAL:
            raise UserError(
                f"expected cluster {LOCAL!r} but got {self.kind!r}; a cluster that runs "
                "already is given by --scheduler tcp://host:port"
            )
        address = self.scheduler
        if address is None:
            if self.kind is None:
                raise UserError("expected a scheduler, or cluster 'local', but got neither")
            return
        if not _ADDRESS.fullmatch(address) and not Path(address).is_file():
            hint = "it is neither a file nor an address"
            if re.fullmatch(r"[\w.-]+:\d+", address):
                hint = f"did you mean 'tcp://{address}'?"
            raise UserError(
                "expected tcp://host:port, tls://host:port or a scheduler file but got scheduler "
                f"{address!r}: {hint}"
            )

    @property
    def file(self) -> Path | None:
        """The scheduler file, if one is given."""
        if self.scheduler is None or _ADDRESS.fullmatch(self.scheduler):
            return None
        return Path(self.scheduler)

    def __str__(self) -> str:
        return "a cluster on this machine" if self.scheduler is None else self.scheduler


def asked(scheduler: str | None, kind: str | None) -> Where | None:
    """The cluster that the options name; None if there is none.

    Raises:
        UserError: both are given, or it is not an address.
    """
    return None if scheduler is None and kind is None else Where(scheduler, kind)
