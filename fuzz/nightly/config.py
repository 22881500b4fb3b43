"""The settings of a nightly run: a TOML file, and options that win over it.

`example.toml` shows every setting with its default.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...corpus.reading import read_text
from ..bisect.environments import Choice, choices
from ..cluster.where import Where, asked
from ..findings.replay import items
from ..process.targets import Target
from ..user_input.errors import UserError, parse_budget
from ..user_input.options import CampaignOptions, Relaxations, seeds_under
from ..user_input.seeds import sources
from ..user_input.settings import read
from ..user_input.targets import oracles_of, targets
from .disk import parse_size

EXAMPLE = Path(__file__).with_name("example.toml")

BUDGET = "1h"
"""Where neither a time nor a number of modules is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The report files; those that are not named are not written."""

    html: Path | None = None
    markdown: Path | None = None
    junit: Path | None = None
    jsonl: Path | None = None

    @property
    def named(self) -> dict[str, Path]:
        """By form."""
        paths = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {form: path for form, path in paths.items() if path is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly(CampaignOptions):
    """The settings of the file."""

    oracles: tuple[str, ...] = ()
    workers: int | None = None
    block: int | None = None
    scheduler: str | None = None
    cluster: str | None = None
    until_first: bool = False
    corpus: tuple[Path, ...] = ()
    shipped_knowns: bool = True
    bisect: tuple[str, ...] = ()
    bisect_budget: str = "15m"
    max_disk: str = "1GB"
    report: Reports | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings, resolved."""

    settings: Nightly
    targets: tuple[Target, ...]
    oracles: tuple[str, ...] | None
    seconds: float | None
    """None: the number of modules ends it."""
    where: Where | None
    """The cluster that fuzzes; None: this machine."""
    bisect: tuple[Choice, ...]
    bisect_seconds: float
    max_disk: int
    """Bytes."""


def load(path: Path) -> Nightly:
    """The settings of a file.

    Raises:
        UserError: there is no such file, it is no TOML, or a key or a value is wrong.
    """
    try:
        table = tomllib.loads(read_text(path))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:  # no TOML, or no text
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply") from None
    return read(table, Nightly, str(path))


def within(settings: Nightly, folder: Path) -> Nightly:
    """The settings, with paths relative to this folder."""
    report = settings.report
    if report is not None:
        report = Reports(**{form: folder / path for form, path in report.named.items()})
    return dataclasses.replace(
        settings,
        out=folder / settings.out,
        corpus=tuple(folder / path for path in settings.corpus),
        known=tuple(folder / path for path in settings.known),
        seeds=seeds_under(folder, settings.seeds),
        report=report,
    )


def plan(written: Nightly, options: Mapping[str, Any], where: str) -> Plan:
    """Merge both, and check the result.

    A number of modules on the command line is the whole budget, so that the run is reproducible.

    Args:
        options: of the command line, those that are given; they are named as the settings.
        where: the file, for messages.

    Raises:
        UserError: a value is wrong; the text names its place and what is expected.
    """
    given = dict(options)
    if "modules" in options:
        given.setdefault("budget", None)
    named = "scheduler" in options or "cluster" in options
    if named:  # one cluster instead of the other
        given = {"scheduler": None, "cluster": None, **given}
    settings = dataclasses.replace(written, **given)
    with nullcontext() if named else _at(where):
        cluster = asked(settings.scheduler, settings.cluster)
    with nullcontext() if "budget" in options else _at(where):
        seconds = settings.time_budget(BUDGET, "--budget" if "budget" in options else "budget =")
    with _at(where):
        written.check_numbers(workers=written.workers, block=written.block)
    with _at(f"{where}, promises"):
        for spelling in settings.promises:
            if spelling not in settings.passes:
                raise UserError(f"{spelling!r} is none of the passes {list(settings.passes)}")
    with _at(f"{where}, passes"):
        passes = targets(settings.passes, Relaxations(), settings.promises)
    with _at(f"{where}, oracles"):
        oracles = oracles_of(settings.oracles or None)
    with _at(f"{where}, corpus"):
        for path in settings.corpus:
            for _ in items(path):
                pass
    with _at(f"{where}, seeds"):
        sources(settings.seeds)
    if not 0 <= settings.seed_share <= 1:
        raise UserError(f"{where}: expected 0 to 1 but got seed-share = {settings.seed_share}")
    for path in settings.known:
        if not path.is_dir():
            raise UserError(f"{where}, known: expected a folder of knowns but got '{path}'")
    with _at(where):
        return Plan(
            settings=settings,
            targets=passes,
            oracles=oracles,
            seconds=seconds,
            where=cluster,
            bisect=choices(settings.bisect, "bisect =") if settings.bisect else (),
            bisect_seconds=parse_budget(settings.bisect_budget, "bisect-budget ="),
            max_disk=parse_size(settings.max_disk, "max-disk ="),
        )


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Prefix the place to a mistake inside."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None
