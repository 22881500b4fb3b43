"""The user's own Python files that passes need, sent to workers that do not have them.

Files are found by name: a module, a package or a data file of the user's is sent if a file that is
sent already mentions it. Nothing is executed. On a worker they are unpacked below one folder that
stands for the root of the driver's file system, so that dropping the name of this folder gives the
driver's name of each file.

They are sent by `Client.run` to each worker before its first job, not by `Client.upload_file`: the
scheduler would keep an upload after the driver was killed, and send it to all workers that join.
"""

from __future__ import annotations

import ast
import importlib.metadata
import io
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from ...oracles.passcall import PassCall
from ...oracles.text.paths import VARIABLE
from ..system.environment import Environment
from ..user_input.errors import UserError

LIMIT = 64_000_000
"""Bytes that are sent to each worker at most."""

INSTALLED = frozenset({"relaxfuzz", "tvm", "tvm_ffi", "numpy", "hypothesis"})
"""Never sent, wherever they lie: `fitness` compares their versions."""

_MODULE = (".py", *EXTENSION_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Code:
    """Files of the driver's."""

    folder: str
    """The driver's current folder."""
    path: tuple[str, ...]
    """Other folders of the driver's where modules are found."""
    packages: tuple[str, ...]
    """Installed packages that the files import, which workers need too."""
    archive: bytes
    """The files by their absolute paths, as a zip file."""

    @classmethod
    def of(cls, calls: Iterable[PassCall]) -> Code:
        """What it takes to run these passes on another machine.

        Raises:
            UserError: a file cannot be read, or all of them are too large.
        """
        folders = _own_folders()
        places = {call.factory.rpartition(":")[0] for call in calls if call.factory is not None}
        try:
            files = _files(sorted(places), folders)
            _check_size(files)
            contents = {path: path.read_bytes() for path in files}
        except OSError as error:
            raise UserError(
                f"cannot send {error.filename!r} to workers: {error.strerror}"
            ) from None
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path, content in contents.items():
                file.writestr(str(path).lstrip("/"), content)
        sent = {_module_name(path) for path in files}
        texts = (content for path, content in contents.items() if path.suffix == ".py")
        return cls(
            folder=str(folders[0]),
            path=tuple(map(str, folders[1:])),
            packages=_installed(texts, sent),
            archive=archive.getvalue(),
        )

    def unpack(self, root: str) -> Environment:
        """Unpack the files below a folder.

        Returns:
            For processes that use them.

        Raises:
            OSError: they cannot be written.
        """
        with zipfile.ZipFile(io.BytesIO(self.archive)) as file:
            file.extractall(root)
        folders = tuple(Path(root + each) for each in (self.folder, *self.path))
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        return Environment(folders[0], folders, {VARIABLE: root})


def _own_folders() -> tuple[Path, ...]:
    """The current folder, and those of PYTHONPATH that contain the user's modules."""
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = (Path.cwd(), *(Path(os.path.abspath(name)) for name in named))
    return tuple(
        folder
        for folder in dict.fromkeys(folders)
        if folder.is_dir() and {"site-packages", "dist-packages"}.isdisjoint(folder.parts)
    )


def _files(places: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """The files that factories come from, by path or module name, and what they mention."""
    todo = [Path(place) for place in places if place.endswith(".py")]
    mentioned = {place.partition(".")[0] for place in places if not place.endswith(".py")}
    around = dict.fromkeys([*(path.parent for path in todo), *folders])
    entries = {entry: words for folder in around for entry, words in _entries(folder)}
    todo += [entry for entry, words in entries.items() if words <= mentioned]
    taken: dict[Path, None] = {}
    while todo:
        entries = {entry: words for entry, words in entries.items() if entry not in todo}
        for path in (file for entry in todo for file in _contents(entry)):
            taken[path] = None
            if path.suffix == ".py":
                mentioned.update(re.findall(r"\w+", path.read_text("utf-8", errors="replace")))
        todo = [entry for entry, words in entries.items() if words <= mentioned]
    return sorted(taken)


def _entries(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """What a program may import or read there, with the words by which it would mention that."""
    for path in folder.iterdir():
        if path.name.startswith((".", "__")) or _module_name(path) in INSTALLED:
            continue
        if path.name.endswith(_MODULE) or (path / "__init__.py").is_file():
            yield path, {_module_name(path)}
        elif path.is_file() and (words := set(re.findall(r"\w+", path.name))):
            yield path, words


def _contents(entry: Path) -> Iterator[Path]:
    """A file; or all that is in a package, data included."""
    if not entry.is_dir():
        yield entry
        return
    for folder, names, files in os.walk(entry):
        names[:] = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        yield from (Path(folder, n) for n in files if not n.startswith(".") and n[-4:] != ".pyc")


def _module_name(path: Path) -> str:
    return path.name.partition(".")[0]


def _installed(texts: Iterable[bytes], sent: set[str]) -> tuple[str, ...]:
    """Installed packages that files import when they are loaded, in any case."""
    imported: set[str] = set()
    for text in texts:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # of the parser
            for node in ast.parse(text).body:
                if isinstance(node, ast.Import):
                    imported.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module.partition(".")[0])
    imported -= INSTALLED | sent
    return tuple(sorted(imported & importlib.metadata.packages_distributions().keys()))


def _check_size(files: Iterable[Path]) -> None:
    """Raises `UserError` where the files are too large."""
    sizes = sorted(((path.stat().st_size, path) for path in files), reverse=True)
    total = sum(size for size, _ in sizes)
    if total > LIMIT:
        largest = ", ".join(f"'{path}' ({size / 1e6:.1f} MB)" for size, path in sizes[:3])
        raise UserError(
            f"the passes need {total / 1e6:.0f} MB in {len(sizes)} files, but at most "
            f"{LIMIT / 1e6:.0f} MB are sent to workers; the largest: {largest}. Install the "
            "package on the workers, or move these files out of it"
        )
