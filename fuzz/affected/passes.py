"""The passes that a change of TVM's source affects."""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tvm import relax

from ...compat.release import git_hash, tvm_version
from ...generators.families import FAMILIES
from ...oracles.arithmetic import passes as arithmetic
from ...oracles.catalogue import of_family
from ...oracles.passcall import public_passes
from ..output.terminal import counted
from ..process.targets import Target
from ..user_input.errors import UserError
from .checkout import TRANSFORMS, Checkout, checkout, imported_from
from .definition import Definition
from .python import PythonFile
from .uses import File, Uses, read

FOLDERS = tuple(
    f"{root}/{part}/"
    for root in ("include/tvm", "python/tvm", "src")
    for part in ("arith", "relax", "s_tir", "sym", "tirx", "topi")
)
"""What is read: Relax, TensorIR, TOPI, and the arithmetic, which is `sym` or `arith`."""

NOT_READ = "python/tvm/relax/frontend/"
"""No pass depends on the importers of models."""

OURS = "python/arith.py"
"""Where the passes of the family `arith` would be in a checkout, by their names."""

CENTRAL = 0.5
"""A file that affects more than this share of the passes of a family affects all of them: it
changes what they have in common, and the others only seem not to depend on it."""


@dataclass(frozen=True, slots=True)
class Affected:
    """The passes that a change affects."""

    files: int
    """The number of changed files."""
    since: str
    """The commit that they are compared with."""
    by_file: Mapping[str, frozenset[str]]
    """Changed files that affect passes of the installed TVM, and which."""
    central: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By family, those of them that affect all of its passes, and how many they were seen to
    affect."""
    absent: frozenset[str] = frozenset()
    """Affected passes that the installed TVM lacks."""
    others: tuple[str, ...] = ()
    """Changed files that affect no pass."""
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The passes of the installed TVM by family."""
    warning: str | None = None
    """Why the installed TVM may lack the change."""

    @property
    def passes(self) -> frozenset[str]:
        """The names of the passes."""
        return frozenset().union(*self.by_file.values())

    def among(self, targets: Iterable[Target]) -> tuple[Target, ...]:
        """Those targets that are affected; a user's own pass is none of TVM."""
        return tuple(
            target
            for target in targets
            if target.name in self.passes and not (target.call and target.call.factory)
        )

    def lines(self, chosen: Sequence[Target]) -> Iterator[str]:
        """What is affected and why, and what is chosen of it, for people."""
        if self.warning is not None:
            yield f"warning: {self.warning}"
        yield f"{counted(self.files, 'file')} changed since {self.since[:10]}"
        for family, central in self.central.items():
            (path, count), *more = central.items()
            rest = f"; in all, {counted(len(more) + 1, 'file')} like that" if more else ""
            total = len(self.families[family])
            yield f"all passes of the family {family}: {path} affects {count} of {total}{rest}"
        named = frozenset().union(*(self.families[family] for family in self.central))
        files = defaultdict(list)
        for path, passes in self.by_file.items():
            if others := passes - named:
                files[", ".join(sorted(others))].append(path)
        for names, paths in sorted(files.items()):
            yield f"{names}: {', '.join(paths)}"
        if unfuzzed := self.passes - named - {target.name for target in chosen}:
            yield f"affected, and not fuzzed: {', '.join(sorted(unfuzzed))}"
        if self.absent:
            yield f"not in the installed TVM: {', '.join(sorted(self.absent))}"
        if self.others:
            yield f"no pass: {', '.join(_folders(self.others))}"
        if not chosen:
            yield "nothing to fuzz: the change affects no pass that was asked for"


def affected(revision: str, source: Path | None) -> Affected:
    """The passes that the changes of a checkout since a revision affect.

    Args:
        source: a folder of the checkout; None: that which the installed TVM comes from.

    Raises:
        UserError: there is no such checkout or revision, or a file that cannot be read.
    """
    tree = checkout(source)
    base = tree.base(revision)
    changed = tree.changed(base)
    files: dict[str, File] = {}
    edited: dict[str, set[Definition]] = {}
    removed: set[Definition] = set()
    for path in filter(_is_read, changed):
        then, now = _read_before(tree, base, path), _read_now(tree, path)
        old = set(then.definitions) if then else set()
        new = set(now.definitions) if now else set()
        edited[path] = old ^ new
        if now is None and then is not None:
            files[path] = then
        else:
            removed |= old - new
    if not any(edited.values()):
        return Affected(len(changed), base, {}, others=changed)
    for path in _paths(tree.root):
        if path not in files and (file := _read_now(tree, path)) is not None:
            files[path] = file
    files[OURS] = read(OURS, _arithmetic(files))
    uses = Uses(files.values(), removed)
    here, absent = _passes(uses, files)
    reached = {
        path: {(each.path, each.name) for each in uses.reached(definitions)}
        for path, definitions in edited.items()
    }
    found = {
        path: frozenset(name for name, place in here.items() if place in places)
        for path, places in reached.items()
    }
    families = {name: frozenset(here.keys() & of_family(name)) for name in FAMILIES}
    central = _central(found, families)
    whole = {
        path: each.union(*(families[name] for name, most in central.items() if path in most))
        for path, each in found.items()
    }
    return Affected(
        files=len(changed),
        since=base,
        by_file={path: each for path, each in whole.items() if each},
        central=central,
        absent=frozenset(
            name
            for name, place in absent.items()
            if any(place in each for each in reached.values())
        ),
        others=tuple(path for path in changed if not found.get(path)),
        families=families,
        warning=_outdated(tree),
    )


def _central(
    found: Mapping[str, frozenset[str]], families: Mapping[str, frozenset[str]]
) -> Mapping[str, Mapping[str, int]]:
    """By family, the files that affect most of its passes, and how many."""
    counts = {
        family: {path: len(each & passes) for path, each in found.items()}
        for family, passes in families.items()
    }
    return {
        family: most
        for family, files in counts.items()
        if (most := {p: n for p, n in files.items() if n > CENTRAL * len(families[family])})
    }


def _arithmetic(files: Mapping[str, File]) -> str:
    """The source of the passes of the family `arith`, which use the analyzer of the checkout."""
    name = "sym" if "python/tvm/sym/__init__.py" in files else "arith"
    return f"{inspect.getsource(arithmetic)}\nfrom tvm import {name} as sym\n"


def _outdated(tree: Checkout) -> str | None:
    """Why the installed TVM may not be what the checkout has; None if nothing indicates that."""
    built, head = git_hash(), tree.head
    version = f"the installed TVM {tvm_version()}"
    if built != "unknown" and not head.startswith(built):
        return f"{version} was built from commit {built[:10]}, and {tree.root} is at {head[:10]}"
    if built == "unknown" and not imported_from().is_relative_to(tree.root):
        return f"{version} is not imported from {tree.root}: it may lack the change"
    return None


def _passes(
    uses: Uses, files: Mapping[str, File]
) -> tuple[Mapping[str, tuple[str, str]], Mapping[str, tuple[str, str]]]:
    """Where the passes are defined: those of the installed TVM, and those that it lacks."""
    dotted = {name: _dotted(expression) for name, expression in public_passes().items()}
    package = files.get(f"{TRANSFORMS}/__init__.py")
    exported = package.imports if isinstance(package, PythonFile) else {}
    new = {
        name: f"tvm.relax.transform.{name}"
        for name in exported.keys() - vars(relax.transform).keys()
        if name[0].isupper()
    }

    def places(names: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
        resolved = {name: uses.resolve(spelling) for name, spelling in names.items()}
        return {name: place for name, place in resolved.items() if isinstance(place, tuple)}

    return places(dotted), places(new)


def _dotted(expression: str) -> str:
    """Where the pass of an expression is: `python/` of the checkout is where names begin."""
    if expression.startswith("arith."):
        return expression
    return f"tvm.{expression}" if "." in expression else f"tvm.relax.transform.{expression}"


def _paths(root: Path) -> Iterator[str]:
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if _is_read(path):
                yield path


def _is_read(path: str) -> bool:
    return (
        path.startswith(FOLDERS)
        and not path.startswith(NOT_READ)
        and path.endswith((".cc", ".h", ".py"))
    )


def _read_now(tree: Checkout, path: str) -> File | None:
    text = tree.now(path)
    try:
        return None if text is None else read(path, text)
    except SyntaxError as error:
        raise UserError(f"{tree.root / path}, line {error.lineno}: {error.msg}") from None


def _read_before(tree: Checkout, base: str, path: str) -> File | None:
    text = tree.before(base, path)
    try:
        return None if text is None else read(path, text)
    except SyntaxError:  # what does not parse defines nothing
        return None


def _folders(paths: Iterable[str]) -> Iterator[str]:
    """Folders, with the numbers of files in them."""
    counts = Counter("/".join(path.split("/")[:-1][:3]) or "." for path in paths)
    for folder, count in counts.items():
        yield f"{folder} ({counted(count, 'file')})"
