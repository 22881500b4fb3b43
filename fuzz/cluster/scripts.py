"""Reproducers executed by the workers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import reproducer
from ..process.executor import Executor, ask
from ..process.jobs import Execute
from ..process.protocol import Died
from ..reproducer.execution import SECONDS
from .shipment import Shipment


@dataclass(frozen=True, slots=True)
class ClusterScripts:
    """`Scripts` on the workers that the shipment is brought to."""

    executor: Executor
    shipment: Shipment

    @property
    def workers(self) -> int:
        """See `Scripts`."""
        return self.executor.workers

    def run(self, path: Path) -> tuple[int, str]:
        """See `Scripts`; a file that was written since then is executed here."""
        if not self.shipment.has(path):
            return reproducer.run(path)
        answer = ask(self.executor, Execute(str(path), SECONDS))
        assert not isinstance(answer, Died), answer
        return answer
