"""Messages: texts of exceptions, nodes and modules, short enough for people."""

from __future__ import annotations

import re
from typing import Any

import tvm
from tvm.ir import Op

from .frames import CONDITION

KEPT = 200_000
"""Limit of the kept characters of an exception's text."""

READ = 3_000
"""Limit on the message characters read, without printed functions: TVM prints much."""

MISTYPED = "gives something else than is inferred"
"""Text about an operator whose result does not have the type that TVM infers."""


def text_of(error: BaseException) -> str:
    """The message of an exception; empty if it cannot be made."""
    try:
        return shortened(str(error))
    except Exception:  # a pass may raise an exception that cannot be shown
        return ""


def shortened(text: str) -> str:
    """The text, with the middle cut out if it is too long to keep."""
    if len(text) <= KEPT:
        return text
    left = len(text) - KEPT
    return f"{text[: KEPT // 2]}\n[{left} characters]\n{text[-KEPT // 2 :]}"


def anonymous(text: str) -> str:
    """A text of relaxfuzz or of a sanitizer without quoted names, numbers and addresses."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|-?(?<![\w.])\w*\d[\w.]*", "<n>", text)


HEADLINE = 160
"""Limit of the characters of a headline."""


def headline(text: str) -> str:
    """The first line of a message, for people: short, without addresses and printed programs.

    The description of the error is never cut. In an overlong line, it comes before a failed check's
    condition, and printed nodes lose their operands. A line that ends in a colon is joined with the
    next one.
    """
    text = _LISTING.sub("<function>", text).strip()
    line, _, rest = text.partition("\n")
    condition = CONDITION.match(text)
    if condition and (len(line) > HEADLINE or not line[condition.end() :].strip(" :")):
        said = explanation(text).lstrip(" :\n").partition("\n")[0]
        line = f"{said} ({condition[0].rstrip(' :')})" if said else line
    elif line.rstrip().endswith(":"):
        line = " ".join([line.rstrip(), *rest.strip().splitlines()[:1]])
    if len(line) > HEADLINE:
        line = _without_operands(line)
    line = re.sub(r"0x[0-9a-fA-F]+", "<address>", line)
    return line if len(line) <= HEADLINE else line[: HEADLINE - 1] + "…"


_NAMED = re.compile(r'\bname="([^"]*)"')


def _without_operands(text: str) -> str:
    """Printed nodes by their names alone: `R.add(lv5, gv)` as `R.add(…)`."""
    parts: list[str] = []
    at = 0
    while (found := _PRINTED.search(text, at)) is not None:
        end = _closing(text, found.end()) if found.group(1) else found.end()
        operands = text[found.end() : end]
        named = _NAMED.search(operands)
        shown = found.group() + ("…)" if found.group(1) else "")
        parts += text[at : found.start()], named[1] if named else shown
        at = end
    return "".join(parts) + text[at:]


_APPENDED = re.compile(r"\n\s*(?:Error in pass|Access path|Error location|Traceback)\b.*", re.S)
"""Lines that TVM appends to the message of an exception that leaves a pass."""

_LISTING = re.compile(r"# from \w[\w.]* import.*?(?=\s(?:has|is|does|which|but)\s|\Z)", re.S)
_PRINTED = re.compile(r"(?<!`)\b(?:[RTI]|ir|relax|tirx?|s_tir|ffi)\.[A-Za-z_][\w.]*(\()?")


def explanation(text: str) -> str:
    """A message for people: without a failed check's condition and TVM's additions."""
    text = _APPENDED.sub("", text)[:READ]
    return CONDITION.sub("", text, count=1).strip() if CONDITION.match(text) else text.strip()


def _closing(text: str, start: int) -> int:
    """The index after the closing parenthesis for the one before `start`; else the text's end."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def value_text(value: Any) -> str:
    """A value at one place of a module, as people write it; cut after the beginning if long."""
    if isinstance(value, Op):
        return str(value.name)
    if isinstance(value, str):
        return repr(str(value))
    return clip(str(value.numpy() if isinstance(value, tvm.runtime.Tensor) else value))


def clip(text: str) -> str:
    """The beginning of a node's text, which may be that of a whole function."""
    return text if len(text) <= 500 else text[:500] + " …"


def listing(mod: tvm.IRModule) -> str:
    """The module as TVMScript for a report, or TVM's reason for not printing it."""
    try:
        return str(mod.script())
    except Exception as error:
        return f"(TVM cannot print the module: {headline(str(error))})"
