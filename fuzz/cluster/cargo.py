"""What was shipped to a Dask worker, on that worker.

Files are kept by their content below the worker's own folder, as long as the worker lives: what an
earlier campaign brought is not sent again. For a campaign they are unpacked into a tree that
mirrors the driver's file system. So each path is the driver's behind the name of one folder, and
whatever comes back is put right by dropping that name.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import re
import shutil
import tempfile
import threading
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...oracles.text.paths import VARIABLE
from ..process.executor import ExecutorError
from ..process.serialize import plain, typed
from ..system.environment import Environment

if TYPE_CHECKING:
    from distributed import Worker

KEPT = 256 << 20
"""Bytes of files that no campaign at hand needs; beyond them the oldest go."""

CORPUS = "relaxfuzz.corpus"
"""Its files are on each worker."""

PACKAGES = (CORPUS, "relaxfuzz", "tvm")
"""They may be installed elsewhere on a worker; tracebacks name their files."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the driver's."""

    content: str
    """SHA-256."""
    absolute: tuple[int, ...] = ()
    """Bytes at which it names a file or folder by an absolute path."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is shipped; kept by its content as everything in it."""

    folder: str
    """The driver's current one."""
    path: tuple[str, ...]
    """Other folders of the driver's where modules are found."""
    files: Mapping[str, File]
    """By their paths."""
    needs: Mapping[str, str]
    """Installed packages that the files import, with their versions, where these are known."""
    packages: Mapping[str, str]
    """The folders of `PACKAGES` on the driver."""

    def encode(self) -> bytes:
        """As a file."""
        return json.dumps(plain(self), sort_keys=True).encode()

    @classmethod
    def decode(cls, text: bytes) -> Manifest:
        """Read what `encode` wrote."""
        manifest: Manifest = typed(json.loads(text), cls)
        return manifest


@dataclass(frozen=True, slots=True)
class Holding:
    """What a worker has of a shipment."""

    lacks: tuple[str, ...] = ()
    """Contents that have to be sent."""
    trouble: str = ""
    """Why it is of no use there."""


def hold(digest: str, blobs: Mapping[str, bytes], dask_worker: Worker) -> Holding:
    """Take contents in, and say what of a shipment is still lacking; called on a worker.

    Args:
        digest: of the manifest.
        blobs: compressed, by their digests.

    Raises:
        OSError: they cannot be written.
    """
    kept = _kept(dask_worker)
    kept.mkdir(parents=True, exist_ok=True)
    for name, blob in blobs.items():
        _write(kept / name, zlib.decompress(blob))
    if not (kept / digest).is_file():
        return Holding((digest,))
    manifest = _manifest(kept, digest)
    contents = {file.content for file in manifest.files.values()}
    _tidy(kept, contents | {digest})
    lacks = tuple(sorted(name for name in contents if not (kept / name).is_file()))
    return Holding(lacks, "" if lacks else differences(manifest.needs, versions(manifest.needs)))


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Of installed packages: None for one that is not there, empty for one that has no version."""
    return {name: _version(name) for name in packages}


def _version(package: str) -> str | None:
    if importlib.util.find_spec(package) is None:
        return None
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)  # mostly it is called as what brings it
    brought_by = importlib.metadata.packages_distributions().get(package)
    return importlib.metadata.version(brought_by[0]) if brought_by else ""


def differences(needs: Mapping[str, str], there: Mapping[str, str | None]) -> str:
    """What of the packages that passes import is another one there, or missing; or empty."""
    return ", ".join(
        f"{name} is not installed there"
        if there[name] is None
        else f"{name} {there[name]} instead of {version}"
        for name, version in needs.items()
        if there[name] != version
    )


def folder_of(package: str) -> str:
    """Where an installed package lies; empty where it is not found."""
    if package == CORPUS:  # a link, in a checkout
        return str(Path(__file__).resolve().parents[2] / "corpus")
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) if spec is not None and spec.origin is not None else ""


class Cargo:
    """A shipment, unpacked; as long as somebody uses it."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _all: ClassVar[dict[str, Cargo]] = {}
    _number: ClassVar[itertools.count[int]] = itertools.count()

    def __init__(self, kept: Path, digest: str) -> None:
        self._digest = digest
        self._users = 0
        self._manifest = _manifest(kept, digest)
        self._root = os.path.realpath(kept.parent / f"{digest[:8]}-{next(self._number)}")
        self._unpack(kept)
        self._back = [
            *_patterns(self._root, ""),
            *(
                pattern
                for name, folder in self._manifest.packages.items()
                if (here := folder_of(name)) and here != folder
                for pattern in _patterns(here, folder)
            ),
        ]

    @classmethod
    def use(cls, worker: Worker, digest: str) -> Cargo:
        """What this worker holds; `leave` it when it is not needed any more.

        Raises:
            ExecutorError: it does not hold all of it, or cannot unpack it.
        """
        with cls._lock:
            cargo = cls._all.get(digest)
            if cargo is None:
                try:
                    cargo = cls(_kept(worker), digest)
                except OSError as error:
                    raise ExecutorError(
                        f"it cannot unpack the files that passes need: {error}"
                    ) from (None)
                cls._all[digest] = cargo
            cargo._users += 1
            return cargo

    def leave(self) -> None:
        """The last one to leave removes it."""
        with self._lock:
            self._users -= 1
            if not self._users:
                del self._all[self._digest]
                shutil.rmtree(self._root, ignore_errors=True)

    @property
    def surroundings(self) -> Environment:
        """Of processes that use it: as the driver's are."""
        theirs = (self._manifest.folder, *self._manifest.path)
        folder, *path = (self._root + each for each in theirs)
        return Environment(Path(folder), tuple(map(Path, (folder, *path))), {VARIABLE: self._root})

    def here(self, path: str) -> str:
        """The name of the driver's file on this worker."""
        if path.startswith(f"{self._manifest.packages[CORPUS]}/"):
            return folder_of(CORPUS) + path.removeprefix(self._manifest.packages[CORPUS])
        return self._root + path

    def inward(self, line: bytes) -> bytes:
        """A line of the protocol with this worker's names of the files that were shipped."""
        return _NAMED.sub(self._put, line)

    def outward(self, lines: bytes) -> bytes:
        """Lines of the protocol with the driver's names of all files."""
        for pattern, there in self._back:
            lines = pattern.sub(lambda found, there=there: there, lines)  # type: ignore[misc]
        return lines

    def _put(self, found: re.Match[bytes]) -> bytes:
        path, colon, factory = json.loads(found[2]), "", ""
        if found[1] == b"factory":
            path, colon, factory = path.rpartition(":")
        if not os.path.isabs(path):
            return found[0]
        return b'"%s":%s' % (found[1], json.dumps(f"{self.here(path)}{colon}{factory}").encode())

    def _unpack(self, kept: Path) -> None:
        try:
            for name in (self._manifest.folder, *self._manifest.path):
                os.makedirs(self._root + name, exist_ok=True)
            inserted = _in_literal(self._root)
            for path, file in self._manifest.files.items():
                content = (kept / file.content).read_bytes()
                for at in reversed(file.absolute):
                    content = content[:at] + inserted + content[at:]
                target = Path(self._root + path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        except BaseException:
            shutil.rmtree(self._root, ignore_errors=True)
            raise


_NAMED = re.compile(rb'"(factory|script)":("(?:[^"\\]|\\.)*")')
"""Where messages name files of the driver's; in a text of its own the quotes would be escaped."""


def _patterns(here: str, there: str) -> list[tuple[re.Pattern[bytes], bytes]]:
    """What stands for a folder in a line of JSON, and what takes its place.

    A text may itself be JSON, as modules are. What merely begins alike is another folder.
    """
    once = {json.dumps(here)[1:-1], json.dumps(here, ensure_ascii=False)[1:-1]}
    spelled = sorted(once | {json.dumps(each)[1:-1] for each in once}, key=len, reverse=True)
    either = b"|".join(re.escape(each.encode()) for each in spelled)
    name = json.dumps(there)[1:-1].encode()
    inside = (re.compile(b"(?:%s)(?=/)" % either), name)
    return [inside, (re.compile(rb"(?:%s)(?![\w.-])" % either), name or b"/")]


def _in_literal(folder: str) -> bytes:
    """A folder's name as a part of a text in Python, whichever its quotes."""
    return json.dumps(folder)[1:-1].replace("'", r"\'").encode()


def _kept(worker: Worker) -> Path:
    return Path(worker.local_directory) / "relaxfuzz" / "kept"


def _manifest(kept: Path, digest: str) -> Manifest:
    return Manifest.decode((kept / digest).read_bytes())


def _write(path: Path, content: bytes) -> None:
    assert hashlib.sha256(content).hexdigest() == path.name, path
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _tidy(kept: Path, needed: set[str]) -> None:
    others = sorted(
        (stat.st_mtime, stat.st_size, path)
        for path in kept.iterdir()
        if path.name not in needed and not path.name.startswith(".")
        for stat in [path.stat()]
    )
    excess = sum(size for _, size, _ in others) - KEPT
    for _, size, path in others:
        if excess <= 0:
            break
        path.unlink()
        excess -= size
