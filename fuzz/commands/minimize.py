"""`relaxfuzz minimize`: the smallest module that still shows what is wrong."""

from __future__ import annotations

import contextlib

from rich.console import Console

from ...oracles.pipelines import PIPELINES
from ..findings import executable_text
from ..minimize.input import read_input
from ..output.readable import sentence
from ..output.terminal import display
from ..reproducer import Form
from ..session.interrupt import Interrupt
from ..user_input.mistake import Mistake, near
from ..user_input.targets import calls_of, oracles_of
from .minimizing.finding import by_finding
from .minimizing.predicate import by_predicate
from .minimizing.work import Request, Work

__all__ = ["Request", "form_of", "run"]


def run(request: Request) -> int:
    """Minimize; the exit code.

    Raises:
        Mistake: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    ways = (request.passes, request.pipeline, request.predicate)
    if request.predicate is not None and (request.passes or request.pipeline or request.oracle):
        raise Mistake("--predicate decides by itself: it goes without --pass, --pipeline, --oracle")
    if request.passes and request.pipeline is not None:
        raise Mistake("expected --pass or --pipeline but got both")
    if request.pipeline is not None and request.pipeline not in PIPELINES:
        raise Mistake(f"no pipeline {request.pipeline!r}{near(request.pipeline, PIPELINES)}")
    if request.predicate is not None and request.form is Form.ISSUE:
        raise Mistake("--format issue tells of a pass: it goes without --predicate")
    oracles_of((request.oracle,) if request.oracle else None)
    calls = calls_of(request.passes)
    target = read_input(request.module, well_formed=request.predicate is None)
    if target.finding is None and not any(ways):
        raise Mistake(f"what is wrong with '{target}'? Say --pass, --pipeline or --predicate")
    if target.finding is not None and any((*ways[:2], request.oracle)):
        raise Mistake(f"'{target}' is a finding, which brings its own pass and oracle")
    interrupt = Interrupt()
    with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
        if target.finding is not None and (said := executable_text.told([target.finding])):
            shown.line(sentence(said))
        work = Work(request, calls, target, shown, interrupt)
        return by_predicate(work) if request.predicate is not None else by_finding(work)


def form_of(name: str) -> Form:
    """The form of this name.

    Raises:
        Mistake: there is none.
    """
    try:
        return Form(name)
    except ValueError:
        raise Mistake(f"no format {name!r}{near(name, map(str, Form))}") from None
