"""`make settings`: the table of docs/settings.md, taken from the records of the settings."""

from __future__ import annotations

import json
from pathlib import Path

from relaxfuzz.fuzz.user_input.settings import (
    CHECK,
    CHECKER,
    NIGHTLY,
    PYTEST,
    RUN,
    SETTINGS,
    WATCH,
    Setting,
)

from .pages import put

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
BEGIN, END = "<!-- settings -->", "<!-- end of settings -->"

COLUMNS = (RUN, CHECK, NIGHTLY, PYTEST, WATCH, CHECKER)


def table() -> str:
    """The settings, with the commands that take each."""
    head = ("setting", "option", "default", *COLUMNS, "other commands", "meaning")
    rows = [head, ("---",) * len(head), *map(_row, SETTINGS.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(setting: Setting) -> tuple[str, ...]:
    options = dict.fromkeys(map(setting.option_of, set(setting.takers) - {PYTEST}))
    spelled = sorted(filter(None, [*options, setting.short])) if not setting.is_table else []
    plain = setting.default in (None, (), False, {})
    others = [each for each in setting.takers if each not in COLUMNS]
    return (
        f"`{setting.key}`",
        ", ".join(f"`{each}`" for each in spelled),
        "" if plain else f"`{json.dumps(setting.default, default=str)}`",
        *("x" if each in setting.takers else "" for each in COLUMNS),
        ", ".join(others),
        setting.about,
    )


if __name__ == "__main__":
    put(PAGE, table(), BEGIN, END)
