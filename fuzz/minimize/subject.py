"""What there is to minimize: a module of the user's, or a finding."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..finding import Finding
from ..load import load
from ..mistake import Mistake
from ..replay import items, module_of
from ..store import DATABASE


@dataclass(frozen=True, slots=True)
class Given:
    """A module, and where it comes from."""

    path: Path
    module: str
    """TVM JSON."""
    identity: str
    """The same file, or the same finding."""
    finding: Finding | None = None
    store: Path | None = None
    """The folder of the finding."""

    @property
    def stem(self) -> str:
        """What a file about it may be called."""
        return self.path.stem if self.finding is None else self.finding.id

    def __str__(self) -> str:
        return str(self.path)


def given(path: Path, *, well_formed: bool = True) -> Given:
    """A module file, a finding (`DIR/ID`), or its reproducer in its folder.

    Args:
        well_formed: refuse a module that is not.

    Raises:
        Mistake: there is no module, or none that this TVM can load.
    """
    folder = path.parent
    if (path / DATABASE).is_file():
        raise Mistake(f"'{path}' is a folder of findings; name one of them: '{path}/ID'")
    if path.is_file() and (folder.parent / DATABASE).is_file():
        # A reproducer or a module in a folder of findings bears the id of its finding.
        return _finding(path, folder.parent / path.name.split(".")[0].rpartition("-")[2])
    if (folder / DATABASE).is_file() and not path.is_file():
        return _finding(path, path)
    module = load(path, well_formed=well_formed)
    return Given(path, module, hashlib.sha256(path.read_bytes()).hexdigest()[:16])


def _finding(path: Path, place: Path) -> Given:
    (item,) = items(place)
    assert item.finding is not None
    try:
        module = module_of(item.finding)
    except Exception as error:
        raise Mistake(f"the module of '{path}' does not load: {error}".split("\n")[0]) from None
    return Given(path, module, item.finding.id, item.finding, item.path)
