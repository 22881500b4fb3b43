"""The options of the plugin, on the command line or in `[tool.relaxfuzz]` of pyproject.toml.

The command line wins. A path in pyproject.toml is relative to that file.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from ..system.errors import UserError
from ..user_input.settings import (
    PYTEST,
    SETTINGS,
    Settings,
    all_within,
    check,
    merged,
    taken_by,
    within,
)
from ..user_input.settings_file import load

CHOSEN = pytest.StashKey[Settings]()
"""The settings, stored by `pytest_configure`; their paths are absolute.

Without passes, nothing is fuzzed. The budget is for the whole session; `modules` is for each pass.
"""

TABLES = ("tool", "relaxfuzz")
"""The table in pyproject.toml."""


def add(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("relaxfuzz", "fuzzing of TVM passes (relaxfuzz)")
    for each in taken_by(PYTEST):
        about: dict[str, object] = {"dest": _dest(each.name), "help": each.full_help}
        kind = getattr(each.kind, "__supertype__", each.kind)
        if kind is bool:
            about |= {"action": "store_const", "const": not each.default}
        else:
            about |= {"type": kind, "metavar": each.metavar}
            about |= {"action": "append"} if each.many else {}
        group.addoption(each.option_of(PYTEST), **about)


def _dest(name: str) -> str:
    return f"relaxfuzz_{name}"


def settings(config: pytest.Config) -> Settings:
    """Read the settings of this session.

    Raises:
        pytest.UsageError: a value is wrong.
    """
    values = {each.name: config.getoption(_dest(each.name)) for each in taken_by(PYTEST)}
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
    file = config.rootpath / "pyproject.toml"
    try:
        check(given, lambda setting: setting.option_of(PYTEST))
        written = load(file, PYTEST, *TABLES) if file.is_file() else Settings()
        given = within(given, config.invocation_params.dir)
        chosen = merged(all_within(written, config.rootpath), given)
        _ = chosen.seconds(spelling=SETTINGS["budget"].option_of(PYTEST))
    except UserError as error:
        raise pytest.UsageError(f"relaxfuzz: {error}") from None
    if "passes" not in given and in_part(config):
        chosen = dataclasses.replace(chosen, passes=())
    if config.getoption("capture", None) == "no":  # -s
        chosen = dataclasses.replace(chosen, show_output=True)
    if chosen.seed is None:
        chosen = dataclasses.replace(chosen, seed=random.SystemRandom().randrange(2**31))
    return chosen


def in_part(config: pytest.Config) -> bool:
    """Return whether certain files or tests are named, so that the user wants no campaign."""
    here = config.invocation_params.dir
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return named and not all((here / each).is_dir() for each in config.args)
