"""The input of the minimizer: a module file, or a finding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..findings.finding import Finding
from ..findings.listed import DATABASE
from ..loading.read_module import BadModule, load
from ..reproducer.replay import items, module_of, unknown
from ..system.errors import UserError


@dataclass(frozen=True, slots=True)
class Input:
    """A module and its origin."""

    path: Path
    module: str
    """The module, as TVM JSON."""
    finding: Finding | None = None
    store: Path | None = None
    """The folder that holds the finding."""

    @property
    def stem(self) -> str:
        """A name for files about it."""
        return self.path.stem if self.finding is None else self.finding.id

    def __str__(self) -> str:
        return str(self.path)


def read_input(path: Path, *, well_formed: bool = True) -> Input:
    """Read a module file, a finding (`DIR/ID`), or the reproducer of a finding in its folder.

    Args:
        well_formed: refuse an ill-formed module.

    Raises:
        UserError: there is no module, or this TVM cannot load it.
    """
    if (path / DATABASE).is_file():
        raise UserError(f"'{path}' is a folder of findings; name one of them: '{path}/ID'")
    if (place := finding_in(path)) is not None:
        return _finding(path, place, well_formed)
    return Input(path, load(path, well_formed=well_formed))


def finding_in(path: Path) -> Path | None:
    """The finding that a path names, as `DIR/ID`; None if the path is that of a module file."""
    folder = path.parent
    if path.is_file() and (folder.parent / DATABASE).is_file():
        # The name of a reproducer or module in a folder of findings contains the finding's id.
        return folder.parent / path.name.split(".")[0].rpartition("-")[2]
    return path if (folder / DATABASE).is_file() and not path.is_file() else None


def _finding(path: Path, place: Path, well_formed: bool) -> Input:
    (item,) = items(place)
    assert item.finding is not None
    if (reason := unknown(item.finding)) is not None:
        raise UserError(f"'{path}' cannot be minimized: {reason}")
    try:
        module = module_of(item.finding, None, well_formed=well_formed)
    except BadModule as error:
        raise UserError(f"the module of '{path}' does not load: {error}") from None
    return Input(path, module, item.finding, item.path)
