"""Messages: the text of exceptions, nodes and modules, short enough for people."""

from __future__ import annotations

import re
from typing import Any

import tvm
from tvm.ir import Op

from .frames import CONDITION

KEPT = 200_000
"""Characters of an exception's text that are kept."""

READ = 3_000
"""Characters of a message that are looked at, printed functions left out: TVM prints much."""


def text_of(error: BaseException) -> str:
    """The message of an exception; empty where it cannot be had."""
    try:
        return shortened(str(error))
    except Exception:  # a pass may raise what cannot be shown
        return ""


def shortened(text: str) -> str:
    """The text, without the middle of one that is too long to keep."""
    if len(text) <= KEPT:
        return text
    left = len(text) - KEPT
    return f"{text[: KEPT // 2]}\n[{left} characters]\n{text[-KEPT // 2 :]}"


def anonymous(text: str) -> str:
    """A text of relaxfuzz or of a sanitizer without quoted names, numbers and addresses."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|-?(?<![\w.])\w*\d[\w.]*", "<n>", text)


HEADLINE = 160
"""Characters of a headline."""


def headline(text: str) -> str:
    """The first line of a message, for people: short, without addresses and printed programs.

    What is wrong is never cut: it comes before a failed check's condition in a line too long for
    both, printed nodes lose their operands there, and a line that announces the next one has it.
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
    """A message for people: without a failed check's condition and what TVM appends."""
    text = _APPENDED.sub("", text)[:READ]
    return CONDITION.sub("", text, count=1).strip() if CONDITION.match(text) else text.strip()


def _closing(text: str, start: int) -> int:
    """The place behind the parenthesis that closes the one before `start`; the end where none."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def value_text(value: Any) -> str:
    """A value at one place of a module, as people write it; the beginning of what is long."""
    if isinstance(value, Op):
        return str(value.name)
    if isinstance(value, str):
        return repr(str(value))
    return clip(str(value.numpy() if isinstance(value, tvm.runtime.Tensor) else value))


def clip(text: str) -> str:
    """The beginning of a node's text, which may be a whole function's."""
    return text if len(text) <= 500 else text[:500] + " …"


def listing(mod: tvm.IRModule) -> str:
    """The module as TVMScript for a report, or why TVM cannot print it."""
    try:
        return str(mod.script())
    except Exception as error:
        return f"(TVM cannot print the module: {headline(str(error))})"
