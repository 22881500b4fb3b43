"""The page of formats has the fields of what commands print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.formats import OF_EVENTS, PAGE, fields_of_events, table_of_events
from bench.pages import part
from relaxfuzz.fuzz.output.events import SCHEMA

from ..commands import relaxfuzz


def test_the_page_has_the_events() -> None:
    assert part(PAGE, *OF_EVENTS).strip() == table_of_events(), "make settings"


OWN = Path(__file__).parents[1] / "fuzz/user_passes.py:raises_on_exp"


@pytest.mark.parametrize(
    "command",
    [
        ("run", OWN, "--modules", 16, "--seed", 1, "--workers", 1),
        ("list", "known", "bfloat16-power"),
    ],
    ids=["run", "list"],
)
def test_commands_print_these_fields(command: tuple[object, ...], tmp_path: Path) -> None:
    run = relaxfuzz(*command, "--json", cwd=tmp_path)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    fields = fields_of_events()
    assert events, run.stderr
    for event in events:
        assert event["schema"] == SCHEMA
        assert not {*event} - {"schema", "event", *fields[event["event"]]}, event["event"]
