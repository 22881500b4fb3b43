"""A git checkout of TVM: what it has changed since a commit, and its files then and now."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..user_input.errors import UserError, near

TRANSFORMS = "python/tvm/relax/transform"
"""What a checkout of TVM has."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree of TVM."""

    root: Path

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return _git(self.root, "rev-parse", "HEAD").strip()

    def base(self, revision: str) -> str:
        """The last commit that a revision and HEAD have in common.

        What the revision's branch has got since then is no change of HEAD's.

        Raises:
            UserError: there is no such revision, or no such commit.
        """
        option = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        try:
            commit = _git(self.root, *option, f"{revision}^{{commit}}").strip()
        except _GitError:
            refs = _git(self.root, "for-each-ref", "--format=%(refname:short)").split()
            raise UserError(
                f"--changed-since {revision!r}: no commit, branch or tag of {self.root}"
                + near(revision, refs, otherwise=". A shallow clone has to fetch it first")
            ) from None
        try:
            return _git(self.root, "merge-base", commit, "HEAD").strip()
        except _GitError:
            raise UserError(
                f"--changed-since {revision!r}: {self.root} has no commit that it and HEAD have in "
                "common. A shallow clone has to fetch more history: git fetch --unshallow"
            ) from None

    def changed(self, base: str) -> tuple[str, ...]:
        """The files that differ from a commit: committed since then, staged, edited or new."""
        differ = _git(self.root, "diff", "--name-only", "--no-renames", "-z", base)
        new = _git(self.root, "ls-files", "--others", "--exclude-standard", "-z")
        return tuple(sorted({*differ.split("\0"), *new.split("\0")} - {""}))

    def before(self, base: str, path: str) -> str | None:
        """The text of a file at a commit; None if there was none."""
        try:
            return _git(self.root, "show", f"{base}:{path}")
        except _GitError:
            return None

    def now(self, path: str) -> str | None:
        """The text of a file in the working tree; None if there is none."""
        file = self.root / path
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def checkout(folder: Path | None) -> Checkout:
    """The checkout in this folder; None: that of the installed TVM.

    Raises:
        UserError: it is no git checkout of TVM, or git cannot read it.
    """
    if folder is not None:
        if not folder.is_dir():
            raise UserError(f"--tvm-source {folder}: no such folder")
        try:
            root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
        except _GitError as error:
            raise UserError(f"--tvm-source {folder}: no git checkout ({error})") from None
        if not (root / TRANSFORMS).is_dir():
            raise UserError(f"--tvm-source {folder}: no checkout of TVM, it has no {TRANSFORMS}")
        return Checkout(root)
    for place in filter(None, (imported_from(), _installed_from())):
        try:
            root = Path(_git(place, "rev-parse", "--show-toplevel").strip())
        except _GitError:
            continue
        if (root / TRANSFORMS).is_dir():
            return Checkout(root)
    raise UserError(
        f"the installed TVM ({imported_from()}) comes from no git checkout that is still there: "
        "name the checkout with --tvm-source DIR"
    )


def imported_from() -> Path:
    """The folder of the installed TVM's Python package."""
    import tvm

    return Path(tvm.__file__).resolve().parent


def _installed_from() -> Path | None:
    """The folder that was given to pip, if TVM was installed from one."""
    try:
        record = importlib.metadata.distribution("apache-tvm").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    url = urlsplit(json.loads(record)["url"]) if record else None
    if url is None or url.scheme != "file" or not Path(unquote(url.path)).is_dir():
        return None
    return Path(unquote(url.path))


class _GitError(Exception):
    """Git has refused; the message is its own."""


def _git(folder: Path, *arguments: str) -> str:
    # Hooks of git set variables that would lead to another repository.
    variables = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            env=variables,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise UserError("--changed-since needs git, and there is no `git` on PATH") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise _GitError(lines[0] if lines else f"git {arguments[0]} ended with {done.returncode}")
    return done.stdout
