"""Commands that the docs, the Makefile and the continuous integration name exist, with options."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from relaxfuzz.fuzz.cli import app

ROOT = Path(__file__).parents[1]
FILES = [
    ROOT / ".ci" / "run",
    ROOT / "Makefile",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / ".github").rglob("*.yml")),
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "bugs.md"),
]
COMMAND = re.compile(
    r"(?:^\$ |- run: |/bin/|\$\(BIN\)/)relaxfuzz (\w.*)|`relaxfuzz (\w[^`\n]*)`", re.MULTILINE
)
MESSAGES = {"does not run there"}
MODULE = re.compile(r"python -m ((?:bench|tests)[\w.]*)")


def faults(line: str) -> list[str]:
    """The command, subject or options of a command line that relaxfuzz does not have."""
    words = shlex.split(re.split(r" [#>|&]", line)[0])
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        word = next((word for word in words if not word.startswith("-")), None)
        if word in command.commands:
            words.remove(word)
            command = command.commands[word]
        elif command.name == "findings":
            command = command.commands["list"]  # The default.
        else:
            return [f"no command {word}"]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    asked = {word.partition("=")[0] for word in words if word.startswith("--")}
    return [f"no option {option}" for option in sorted(asked - known - {"--help"})]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_commands_exist(file: Path) -> None:
    lines = [block or inline for block, inline in COMMAND.findall(file.read_text())]
    wrong = {line: found for line in lines if line not in MESSAGES and (found := faults(line))}
    assert not wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_modules_exist(file: Path) -> None:
    for module in MODULE.findall(file.read_text()):
        assert importlib.util.find_spec(module), module


def test_a_command_of_the_past_is_noticed() -> None:
    assert faults("passes") == ["no command passes"]
    assert faults("run Normalize --known-prune") == ["no option --known-prune"]
    assert faults("list passes") == []
