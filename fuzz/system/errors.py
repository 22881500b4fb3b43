"""Errors of the user, which end a command with one message and without a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...generators.near import did_you_mean


class RelaxfuzzError(Exception):
    """An error whose message is complete: no traceback is printed."""


class UserError(RelaxfuzzError):
    """An error in the user's input; the message states the error and the correct input."""


_UNITS = {"s": 1, "m": 60, "h": 3600}

LONGEST = 1e10
"""The largest number of seconds; longer times overflow clocks."""


def parse_budget(text: str, setting: str = "--budget") -> float:
    """Parse a time such as "60s", "5m", "1h", "1h30m" or plain "90" into seconds.

    Args:
        setting: the option or setting, for the message.

    Raises:
        UserError: the text is not a time, or is zero.
    """
    spelled = text.strip().lower()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", spelled):
        spelled += "s"
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smh])", spelled)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != spelled or not 0 < seconds < LONGEST:
        raise UserError(f"expected a budget such as 60s, 5m or 1h but got {setting} {text!r}")
    return seconds


def near(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """The end of a message: ". Did you mean 'a' or 'b'?", or all known names if none is similar.

    Args:
        otherwise: text in place of all known names.
    """
    known = [str(each) for each in known]  # a member of an enum becomes its name
    hint = f". Known: {', '.join(known)}" if otherwise is None else otherwise
    return did_you_mean(name, known) or hint
