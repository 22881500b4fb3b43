"""The user's module with a number on each call, by which the call is known after any pass.

Passes keep the `Span` of a call that they rebuild, so that a span of our own shows which call of
the user's module one of a later module was.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import PurePath
from typing import Any

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ..inspect import calls_of, relax_functions
from .trouble import Excerpt

_SOURCE = "relaxfuzz: a call of the user's module"

_TEXT = "<str>"
"""What TVM's parser calls the source of a module that was read from a text."""


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
    """A user's module, its text, and the way back to it.

    The methods that show a line give nothing where it is not known.
    """

    def __init__(self, mod: tvm.IRModule, file: str | None = None) -> None:
        """
        Args:
            file: the Python file that the module was read from; lines are those of it where they
                are known.
        """
        self.original = mod
        self.mod = _stamped(mod)
        self._file = file

    @functools.cached_property
    def _calls(self) -> dict[int, tuple[str, relax.Call, relax.Call]]:
        """By number: the function's name, the call, and the same as it came."""
        came = dict(relax_functions(self.original))
        named = {gvar.name_hint: func for gvar, func in came.items()}
        return {
            at: (gvar.name_hint, call, before)
            for gvar, func in relax_functions(self.mod)
            for call, before in zip(calls_of(func), calls_of(named[gvar.name_hint]), strict=True)
            if (at := number(call)) is not None
        }

    def back(self, call: Any) -> tuple[str, relax.Call] | None:
        """The function (by name) and the call in the user's module that this was, or None."""
        at = number(call) if isinstance(call, relax.Call) else None
        found = None if at is None else self._calls.get(at)
        return None if found is None else found[:2]

    @functools.cached_property
    def _text(self) -> list[str]:
        return _printed(self.mod)

    def call(self, call: relax.Call, label: str) -> tuple[Excerpt, ...]:
        """The line of a call of `mod` (not of a later module)."""
        at = number(call)
        found = None if at is None else self._calls.get(at)
        line, place = (None, None) if found is None else self._in_file(found[2])
        return underlined(self.mod, call, label, line, place, known=self._file is None)

    def parameter(self, function: str, var: relax.Var, label: str) -> tuple[Excerpt, ...]:
        """The line on which a function declares a parameter."""
        return self._marked(function, rf"(?<=[(\s]){re.escape(str(var.name))}(?=: )", label)

    def function(self, name: str, label: str) -> tuple[Excerpt, ...]:
        """The line that begins a function."""
        return self._marked(name, rf"(?<=\bdef ){re.escape(name)}(?=\()", label)

    def _marked(self, function: str, pattern: str, label: str) -> tuple[Excerpt, ...]:
        """What the pattern matches on the line that begins a function."""
        for at, line in enumerate(self._text, 1):
            if re.search(rf"\bdef {re.escape(function)}\(", line):
                found = re.search(pattern, line)
                if found is None:
                    return ()
                shown = None if self._file is not None else at
                column, width = found.start(), len(found[0])
                return (Excerpt(line, shown, column, width, label, f"mod.script():{at}"),)
        return ()

    def binding(self, binding: relax.Binding, label: str) -> tuple[Excerpt, ...]:
        """The line of a binding of `mod`; only its value is marked where that is a call."""
        value = binding.value
        if isinstance(binding, relax.VarBinding) and isinstance(value, relax.Call):
            return self.call(value, label)
        return underlined(self.mod, binding, label, None, None, known=self._file is None)

    def _in_file(self, call: relax.Call) -> tuple[int | None, str | None]:
        span = call.span
        if self._file is None or span is None:
            return None, None
        source = str(span.source_name.name)
        if source != _TEXT and PurePath(source).name != PurePath(self._file).name:
            return None, None
        return span.line, f"{self._file}:{span.line}:{span.column}"


def number(call: relax.Call) -> int | None:
    """Which call of the user's module this was, by number; None: one that a pass has made."""
    span = call.span
    if span is None or str(span.source_name.name) != _SOURCE:
        return None
    return int(span.line)


def _printed(mod: tvm.IRModule, **options: Any) -> list[str]:
    try:
        return str(mod.script(**options)).splitlines()
    except Exception:  # some modules TVM cannot print: then there is no line to show
        return []


def underlined(
    mod: tvm.IRModule,
    node: Any,
    label: str,
    line: int | None = None,
    place: str | None = None,
    *,
    known: bool = True,
    origin: str = "mod.script()",
) -> tuple[Excerpt, ...]:
    """The line of a printed module on which a node stands; nothing where the printer shows none.

    Args:
        line, place: of the line where it is better known than from the printed text.
        known: the number of the printed line means something to the user.
    """
    lines = _printed(mod, obj_to_underline=[node])
    begin = next((i for i, text in enumerate(lines) if text.startswith("#")), 0)
    for at in range(begin + 1, len(lines)):
        marks = lines[at].strip()
        if marks and not marks.strip("^"):
            column = lines[at].index("^")
            here = at - begin
            shown = line if line is not None else here if known else None
            place = place or f"{origin}:{here}"
            return (Excerpt(lines[at - 1], shown, column, len(marks), label, place),)
    return ()
