"""The options of the plugin, on the command line or in `[tool.relaxfuzz]` of pyproject.toml.

The command line wins. A path in pyproject.toml is relative to that file.
"""

from __future__ import annotations

import dataclasses
import os
import random
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ...oracles.grades.grade import Grade
from ..user_input.errors import UserError
from ..user_input.options import CampaignOptions, seeds_under
from ..user_input.settings import read

BUDGET = "60s"
"""Where neither a time nor a number of modules is given."""

TABLE = "[tool.relaxfuzz]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(CampaignOptions):
    """The settings of a session; paths are absolute.

    No passes: nothing is fuzzed. The budget is that of the session for all passes, `modules` is for
    each pass.
    """

    corpus: tuple[Path, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The session's budget; None: the number of modules ends it."""
        return self.time_budget(BUDGET, "--relaxfuzz-budget")


SETTINGS = pytest.StashKey[Settings]()
"""Where `pytest_configure` puts them."""

ITEM = pytest.StashKey[pytest.Item]()
"""The test that is running."""


def add(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("relaxfuzz", "fuzzing of TVM passes (relaxfuzz)")
    group.addoption(
        "--relaxfuzz",
        metavar="PASS",
        action="append",
        help="Fuzz this pass: FuseOps, 'FuseOps(fuse_opt_level=2)', package.module:Name or "
        "path/to/file.py:name; may be repeated.",
    )
    group.addoption(
        "--relaxfuzz-budget",
        metavar="TIME",
        help="How long the session fuzzes, all passes together: 90s, 5m, 1h. "
        f"Default: {BUDGET}, if --relaxfuzz-modules is not given.",
    )
    group.addoption(
        "--relaxfuzz-modules",
        metavar="N",
        type=int,
        help="Check each pass on N modules; the same seed gives the same modules.",
    )
    group.addoption(
        "--relaxfuzz-seed",
        metavar="N",
        type=int,
        help="Default: a random one, printed in the header.",
    )
    group.addoption(
        "--relaxfuzz-out",
        metavar="DIR",
        help="The folder for findings; further sessions add to it. Default: relaxfuzz-out.",
    )
    group.addoption(
        "--relaxfuzz-known",
        metavar="DIR",
        action="append",
        help="A folder of records of known bugs, whose reproducers are expected to fail; "
        "may be repeated.",
    )
    group.addoption(
        "--relaxfuzz-seeds",
        metavar="PATH",
        action="append",
        help="Fuzz around this real module too: a file, a folder or package.module:function; "
        "may be repeated.",
    )
    group.addoption(
        "--relaxfuzz-fail-on",
        metavar="A|B|C",
        choices=list(Grade),
        type=Grade,
        help="A finding of this grade or a graver one fails, any other is an expected failure. "
        "Default: B.",
    )
    group.addoption(
        "--relaxfuzz-corpus",
        metavar="PATH",
        action="append",
        help="Collect the files of a corpus, or reproducers, as tests; may be repeated.",
    )


def settings(config: pytest.Config) -> Settings:
    """Read the settings of this session.

    Raises:
        pytest.UsageError: a value is wrong.
    """
    try:
        here = config.invocation_params.dir
        known, corpus = (config.getoption(f"relaxfuzz_{name}") for name in ("known", "corpus"))
        out = config.getoption("relaxfuzz_out")
        given = {
            "passes": tuple(config.getoption("relaxfuzz") or ()),
            "budget": config.getoption("relaxfuzz_budget"),
            "modules": config.getoption("relaxfuzz_modules"),
            "seed": config.getoption("relaxfuzz_seed"),
            "out": here / out if out else None,
            "known": _under(here, known or ()),
            "seeds": seeds_under(here, config.getoption("relaxfuzz_seeds") or ()),
            "corpus": _under(here, corpus or ()),
            "fail_on": config.getoption("relaxfuzz_fail_on"),
        }
        given = {name: value for name, value in given.items() if value not in (None, ())}
        chosen = dataclasses.replace(_pyproject(config.rootpath), **given)
        _ = chosen.seconds
        chosen.check_numbers("--relaxfuzz-{}")
    except UserError as error:
        raise pytest.UsageError(f"relaxfuzz: {error}") from None
    if "passes" not in given and in_part(config):
        chosen = dataclasses.replace(chosen, passes=())
    if chosen.seed is None:
        chosen = dataclasses.replace(chosen, seed=random.SystemRandom().randrange(2**31))
    return chosen


def in_part(config: pytest.Config) -> bool:
    """Certain files or tests are named: whoever names them does not want to wait for a campaign."""
    here = config.invocation_params.dir
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return named and not all((here / each).is_dir() for each in config.args)


def _pyproject(root: Path) -> Settings:
    path = root / "pyproject.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    try:
        table = tomllib.loads(text).get("tool", {}).get("relaxfuzz", {})
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    where = f"{path}, {TABLE}"
    if not isinstance(table, Mapping):
        raise UserError(f"{path}: expected {TABLE} to be a table but got {table!r}")
    found = read(table, Settings, where)
    return dataclasses.replace(
        found,
        passes=tuple(_spelled(each, root) for each in found.passes),
        promises={_spelled(each, root): own for each, own in found.promises.items()},
        out=root / found.out,
        known=_under(root, found.known),
        seeds=seeds_under(root, found.seeds),
        corpus=_under(root, found.corpus),
    )


def _spelled(spelling: str, root: Path) -> str:
    """The spelling with its file relative to where pytest runs."""
    path, colon, name = spelling.rpartition(":")
    return f"{os.path.relpath(root / path)}:{name}" if path.endswith(".py") and colon else spelling


def _under(folder: Path, paths: Iterable[str | Path]) -> tuple[Path, ...]:
    return tuple(folder / path for path in paths)
