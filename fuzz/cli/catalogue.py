"""`relaxfuzz passes` and `relaxfuzz ops`: what can be asked."""

from __future__ import annotations

from .app import app, finish
from .options import Json


@app.command()
def passes(json: Json = False) -> None:
    """List the passes of the catalogue, with what they promise and what they do not."""

    def command() -> int:
        from ..commands import catalogue

        return catalogue.passes(json=json)

    finish(command)


@app.command()
def ops(json: Json = False) -> None:
    """List the operators that modules are made of."""

    def command() -> int:
        from ..commands import catalogue

        return catalogue.ops(json=json)

    finish(command)
