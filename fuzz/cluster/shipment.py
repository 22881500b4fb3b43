"""What the workers of a cluster need that is not installed there: passes of the user's, scripts.

Everything goes by its content. A worker is asked what it lacks before anything is sent, and again
only when another one joins; nobody else keeps a copy, so a driver that is killed leaves nothing
behind on the scheduler.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...oracles.passcall import PassCall
from ..findings.script import is_reproducer
from ..findings.store import DATABASE
from ..user_input.mistake import Mistake
from .cargo import CORPUS, PACKAGES, File, Manifest, folder_of, hold, versions
from .sources import Sources, own_folders

if TYPE_CHECKING:
    from distributed import Client

LIMIT = 64_000_000
"""Bytes that are sent to each worker at most."""

ROUNDS = 3
"""A worker that holds nothing is asked so often: it lacks the manifest, the contents, nothing."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """Files of the driver's."""

    digest: str
    """Of the manifest, and so of everything."""
    manifest: Manifest
    blobs: Mapping[str, bytes]
    """Contents by their digests, compressed."""

    @classmethod
    def of(cls, calls: Iterable[PassCall], scripts: Iterable[Path] = ()) -> Shipment:
        """What it takes to run these passes and scripts elsewhere.

        Args:
            scripts: reproducers, or folders of them; those that come with relaxfuzz are on each
                worker. Findings of a store are left out.

        Raises:
            Mistake: a file is not there, or all of them are too many.
        """
        folders = own_folders()
        sources = Sources(folders)
        corpus = folder_of(CORPUS)
        try:
            for factory in sorted({call.factory for call in calls if call.factory is not None}):
                place = factory.rpartition(":")[0]
                if place.endswith(".py"):
                    sources.add_file(Path(place).absolute())
                else:
                    sources.add_module(place)
            for script in scripts:
                for path in _reproducers(script):
                    if not path.resolve().is_relative_to(corpus):
                        sources.add_file(path.resolve())
            files = sources.files
            _limit(files)
            contents = {path: path.read_bytes() for path in files}
        except OSError as error:
            raise Mistake(f"cannot send {error.filename!r} to workers: {error.strerror}") from None
        names = {path: hashlib.sha256(text).hexdigest() for path, text in contents.items()}
        needs = {name: version or "" for name, version in versions(sources.installed).items()}
        manifest = Manifest(
            str(folders[0]),
            tuple(str(folder) for folder in folders[1:] if folder in sources.roots),
            {str(path): File(names[path], at) for path, at in files.items()},
            needs,
            {name: folder_of(name) for name in PACKAGES},
        )
        text = manifest.encode()
        digest = hashlib.sha256(text).hexdigest()
        blobs = {names[path]: zlib.compress(content) for path, content in contents.items()}
        return cls(digest, manifest, {digest: zlib.compress(text), **blobs})

    def has(self, script: Path) -> bool:
        """Workers can run it: it was shipped, or comes with relaxfuzz."""
        corpus = self.manifest.packages[CORPUS]
        return str(script) in self.manifest.files or script.is_relative_to(corpus)

    def bring(self, client: Client, workers: Iterable[str]) -> dict[str, str]:
        """Send workers what they lack.

        Returns:
            By address: why a worker cannot use it; empty where it can. One that has gone is left
            out.

        Raises:
            Exception: whatever Dask raises where the scheduler has gone.
        """
        told: dict[str, str] = {}
        groups: dict[tuple[str, ...], list[str]] = {(): some} if (some := list(workers)) else {}
        for _ in range(ROUNDS):
            lacking: dict[tuple[str, ...], list[str]] = {}
            for lacks, some in groups.items():
                blobs = {name: self.blobs[name] for name in lacks}
                said = client.run(hold, self.digest, blobs, workers=some, on_error="return")
                for address, answer in said.items():
                    if isinstance(answer, OSError) and answer.errno is None:
                        continue  # of the connection
                    if isinstance(answer, Exception):
                        told[address] = f"it cannot take the files that passes need: {answer}"
                    elif answer.lacks:
                        lacking.setdefault(answer.lacks, []).append(address)
                    else:
                        told[address] = answer.trouble
            groups = lacking
        for address in (each for some in groups.values() for each in some):
            told[address] = "it does not keep the files that passes need"
        return told


def _reproducers(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif not (path / DATABASE).is_file():  # findings are jobs
        yield from (each for each in sorted(path.rglob("*.py")) if is_reproducer(each))


def _limit(files: Iterable[Path]) -> None:
    """
    Raises:
        Mistake: they are too large.
    """
    sizes = sorted(((path.stat().st_size, path) for path in files), reverse=True)
    whole = sum(size for size, _ in sizes)
    if whole > LIMIT:
        largest = ", ".join(f"'{path}' ({size / 1e6:.1f} MB)" for size, path in sizes[:3])
        raise Mistake(
            f"what the passes need is {whole / 1e6:.0f} MB in {len(sizes)} files, and at most "
            f"{LIMIT / 1e6:.0f} MB are sent to workers; the largest: {largest}. Install the "
            "package on the workers, or keep these files outside of it"
        )
