"""`relaxfuzz doctor`: what can be asked."""

from __future__ import annotations

from .app import app, cores, finish
from .options import OUT, Cluster, Json, Out, Scheduler, Workers


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz doctor\n\n"
    "  relaxfuzz doctor --out /data/relaxfuzz --workers 16\n\n"
    "  relaxfuzz doctor --scheduler tcp://10.0.0.7:8786\n\n"
    "Exit codes: 0 fit, 2 something of the environment is unfit, 3 a fault of relaxfuzz."
)
def doctor(
    out: Out = OUT,
    workers: Workers = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Say what of this environment is fit, and prove it by a fault that must be found.

    The first thing to try when something is odd. It works without TVM, too, and with one that
    crashes. Nothing is left behind.
    """

    def command() -> int:
        from ..cluster.where import asked
        from ..commands import doctor as command

        return command.run(
            command.Request(
                out=out,
                workers=workers or cores(),
                cores=cores(),
                where=asked(scheduler, cluster),
                json=json,
            )
        )

    finish(command, tvm=False)
