"""The user's module with a number on each call, which identifies the call after any pass.

Passes keep the `Span` of a call that they rebuild, so our own span leads from a call of a later
module back to the user's call.
"""

from __future__ import annotations

import functools
import json
from pathlib import PurePath
from typing import Any

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ..inspect import calls_of, relax_functions
from .trouble import Excerpt

_SOURCE = "relaxfuzz: a call of the user's module"

_TEXT = "<str>"
"""The name that TVM's parser gives to the source of a module read from text."""


def _stamped(mod: tvm.IRModule) -> tvm.IRModule:
    data = json.loads(save_json(mod))
    nodes = data["nodes"]
    source = len(nodes)
    nodes.append({"type": "ir.SourceName", "data": _SOURCE})
    for number, call in enumerate([node for node in nodes if node["type"] == "ir.Call"]):
        span = {"source_name": source, "line": number, "column": 0, "end_line": 0, "end_column": 0}
        call["data"]["span"] = len(nodes)
        nodes.append({"type": "ir.Span", "data": span})
    return load_json(json.dumps(data))


class Traced:
    """A user's module, and the way back to it."""

    def __init__(self, mod: tvm.IRModule, file: str | None = None) -> None:
        """
        Args:
            file: the Python file that the module was read from; its line numbers are shown where
                they are known.
        """
        self.original = mod
        self.mod = _stamped(mod)
        self._file = file

    @functools.cached_property
    def _calls(self) -> dict[int, tuple[str, relax.Call, relax.Call]]:
        """For each number: the function's name, the call, and the call in the original module."""
        came = dict(relax_functions(self.original))
        named = {gvar.name_hint: func for gvar, func in came.items()}
        return {
            at: (gvar.name_hint, call, before)
            for gvar, func in relax_functions(self.mod)
            for call, before in zip(calls_of(func), calls_of(named[gvar.name_hint]), strict=True)
            if (at := number(call)) is not None
        }

    def back(self, call: Any) -> tuple[str, relax.Call] | None:
        """The function's name and the call in the user's module behind this call, or None."""
        at = number(call) if isinstance(call, relax.Call) else None
        found = None if at is None else self._calls.get(at)
        return None if found is None else found[:2]

    def call(self, call: relax.Call, label: str) -> Excerpt | None:
        """The line of a call of `mod` (not of a later module), if known."""
        at = number(call)
        found = None if at is None else self._calls.get(at)
        line, place = (None, None) if found is None else self._in_file(found[2])
        return underlined(self.mod, call, label, line, place, known=self._file is None)

    def _in_file(self, call: relax.Call) -> tuple[int | None, str | None]:
        span = call.span
        if self._file is None or span is None:
            return None, None
        source = str(span.source_name.name)
        if source != _TEXT and PurePath(source).name != PurePath(self._file).name:
            return None, None
        return span.line, f"{self._file}:{span.line}:{span.column}"


def number(call: relax.Call) -> int | None:
    """The number of the call in the user's module that this came from; None if a pass made it."""
    span = call.span
    if span is None or str(span.source_name.name) != _SOURCE:
        return None
    return int(span.line)


def underlined(
    mod: tvm.IRModule,
    node: Any,
    label: str,
    line: int | None = None,
    place: str | None = None,
    *,
    known: bool = True,
) -> Excerpt | None:
    """The line of a printed module that has a node; None if the printer does not mark it.

    Args:
        line, place: the line number and place, if known better than from the printed text.
        known: True if the number of the printed line means something to the user.
    """
    try:
        lines = str(mod.script(obj_to_underline=[node])).splitlines()
    except Exception:  # TVM cannot print some modules, which then have no line to show
        return None
    begin = next((i for i, text in enumerate(lines) if text.startswith("#")), 0)
    for at in range(begin + 1, len(lines)):
        marks = lines[at].strip()
        if marks and not marks.strip("^"):
            column = lines[at].index("^")
            here = at - begin
            shown = line if line is not None else here if known else None
            place = place or f"mod.script():{here}"
            return Excerpt(lines[at - 1], shown, column, len(marks), label, place)
    return None
