"""The user's mistakes, told in one sentence and told apart from faults of the harness."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...generators.near import did_you_mean


class Told(Exception):
    """The text says all that there is to say: a traceback would tell nobody more."""


class Mistake(Told):
    """Something that the user asked for cannot be; the text says what, and what would do."""


_UNITS = {"s": 1, "m": 60, "h": 3600}

LONGEST = 1e10
"""Seconds that anybody may ask for; no clock is beyond its range then."""


def parse_budget(text: str, setting: str = "--budget") -> float:
    """Seconds of "60s", "5m", "1h", "1h30m" or plain "90".

    Args:
        setting: where the user wrote it.

    Raises:
        Mistake: it is none of these, or nothing at all.
    """
    spelled = text.strip().lower()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", spelled):
        spelled += "s"
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smh])", spelled)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != spelled or not 0 < seconds < LONGEST:
        raise Mistake(f"expected a budget such as 60s, 5m or 1h but got {setting} {text!r}")
    return seconds


def near(name: str, known: Iterable[str]) -> str:
    """ ". Did you mean 'a' or 'b'?", or all that is known where nothing is near."""
    known = [str(each) for each in known]  # the name, of a member of an enum
    return did_you_mean(name, known) or f". Known: {', '.join(known)}"
