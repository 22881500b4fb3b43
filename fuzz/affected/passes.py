"""The passes that a change of TVM's source affects, by the paths of the changed files.

A file that names a pass affects that pass. Any other file affects the family of its folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ...compat.release import git_hash, tvm_version
from ...generators.families import FAMILIES
from ...generators.stages import MODULES
from ...oracles.catalogue import of_family, parts
from ...oracles.passcall import constructor, public_passes
from ..output.terminal import counted
from ..process.targets import Target
from .checkout import Checkout, checkout, imported_from

ROOTS = ("include/tvm/", "python/tvm/", "src/")
"""Folders of TVM's code."""

FAMILIES_OF: Mapping[str, tuple[str, ...]] = {
    "relax": ("relax",),
    "topi": ("relax",),  # via legalization
    "tirx": ("tensorir", "dlight"),
    "s_tir": ("tensorir", "dlight"),
    "dlight": ("dlight",),
    "arith": tuple(FAMILIES),
    "sym": tuple(FAMILIES),
    "ir": tuple(FAMILIES),
}
"""The families whose passes use the code of a folder below `ROOTS`."""

IMPORTERS = "python/tvm/relax/frontend/"
"""The folder of the importers of models, on which no pass depends."""


@dataclass(frozen=True, slots=True)
class Affected:
    """The passes affected by a change."""

    files: int
    """The number of changed files."""
    since: str
    """The commit with which they are compared."""
    by_file: Mapping[str, frozenset[str]]
    """Changed files that name passes, each with these passes and the passes that run them."""
    by_family: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Families whose passes are all affected, with the changed files."""
    warning: str | None = None
    """Reason why the installed TVM may lack the change."""

    @property
    def passes(self) -> frozenset[str]:
        """The names of the passes."""
        return frozenset(of_family(*self.by_family)).union(*self.by_file.values())

    def among(self, targets: Iterable[Target]) -> tuple[Target, ...]:
        """The affected targets; a user's own pass is not part of TVM."""
        return tuple(
            target
            for target in targets
            if target.name in self.passes and not (target.call and target.call.factory)
        )

    def lines(self, chosen: Sequence[Target]) -> Iterator[str]:
        """The affected passes with the reasons, and the chosen ones, for people."""
        if self.warning is not None:
            yield f"warning: {self.warning}"
        yield f"{counted(self.files, 'file')} changed since {self.since[:10]}"
        for family, (path, *more) in self.by_family.items():
            rest = f"; in all, {counted(len(more) + 1, 'file')} like that" if more else ""
            yield f"all passes of the family {family}: {path}{rest}"
        files = defaultdict(list)
        for path, passes in self.by_file.items():
            files[", ".join(sorted(passes))].append(path)
        for names, paths in sorted(files.items()):
            yield f"{names}: {', '.join(paths)}"
        named = frozenset().union(*self.by_file.values())
        if unfuzzed := named - frozenset(of_family(*self.by_family)) - {t.name for t in chosen}:
            yield f"affected, and not fuzzed: {', '.join(sorted(unfuzzed))}"
        if not chosen:
            yield "nothing to fuzz: the change affects no pass that was asked for"


def affected(revision: str, source: Path | None) -> Affected:
    """The passes that the changes of a checkout since a revision affect.

    Args:
        source: a folder of the checkout; None: the checkout of the installed TVM.

    Raises:
        UserError: there is no such checkout or revision.
    """
    tree = checkout(source)
    base = tree.base(revision)
    changed = tree.changed(base)
    by_file = {path: passes for path in changed if (passes := _with_users(passes_of(path)))}
    by_family: defaultdict[str, list[str]] = defaultdict(list)
    for path in changed:
        for family in () if path in by_file else families_of(path):
            by_family[family].append(path)
    return Affected(
        files=len(changed),
        since=base,
        by_file=by_file,
        by_family={family: tuple(paths) for family, paths in by_family.items()},
        warning=_outdated(tree),
    )


def passes_of(path: str) -> frozenset[str]:
    """The public passes that a file of a checkout names.

    - A Python file names the passes that it defines.
    - A C++ file in a folder `transform` names the passes whose names start with its own:
      `fuse_ops.cc` has FuseOps and FuseOpsByPattern. In other folders, the names are equal.
    - Every file in a folder with the name of a pass, such as `legalize_ops/`, names that pass.
    """
    if not families_of(path):
        return frozenset()
    file = PurePosixPath(path)
    layer, *folders = _below_root(path).parts[:-1]
    known = {name: _plain(name.rpartition(".")[2]) for name in _names(layer)}
    found = {name for name, plain in known.items() if plain in map(_plain, folders)}
    if file.suffix == ".py":
        module = ".".join(file.relative_to("python").with_suffix("").parts)
        found |= {name for name in public_passes() if constructor(name).__module__ == module}
    elif file.parent.name == "transform":
        found |= {name for name, plain in known.items() if plain.startswith(_plain(file.stem))}
    else:
        found |= {name for name, plain in known.items() if plain == _plain(file.stem)}
    return frozenset(found)


def families_of(path: str) -> tuple[str, ...]:
    """The families whose passes use the code of a file's folder; empty for other files."""
    file = PurePosixPath(path)
    if not path.startswith(ROOTS) or path.startswith(IMPORTERS):
        return ()
    if file.suffix not in {".cc", ".h", ".py"}:
        return ()
    folders = _below_root(path).parts[:-1]
    return FAMILIES_OF.get("dlight" if "dlight" in folders else "".join(folders[:1]), ())


def _below_root(path: str) -> PurePosixPath:
    root = next(root for root in ROOTS if path.startswith(root))
    return PurePosixPath(path).relative_to(root)


def _names(layer: str) -> list[str]:
    """The public passes of a layer; below Relax, its name is their prefix."""
    if layer in MODULES:
        return [name for name in public_passes() if name.startswith(f"{layer}.")]
    return [name for name in public_passes() if "." not in name] if layer == "relax" else []


def _plain(name: str) -> str:
    """Normalize a name, so that `fuse_tir` and `FuseTIR` become equal."""
    return name.replace("_", "").lower()


def _with_users(passes: frozenset[str]) -> frozenset[str]:
    """The passes, and those that run one of them."""
    if not passes:
        return passes
    return passes | {name for name in public_passes() if passes & parts(name)}


def _outdated(tree: Checkout) -> str | None:
    """Reason why the installed TVM may differ from the checkout; None if there is no such sign."""
    built, head = git_hash(), tree.head
    version = f"the installed TVM {tvm_version()}"
    if built != "unknown" and not head.startswith(built):
        return f"{version} was built from commit {built[:10]}, and {tree.root} is at {head[:10]}"
    if built == "unknown" and not imported_from().is_relative_to(tree.root):
        return f"{version} is not imported from {tree.root}: it may lack the change"
    return None
