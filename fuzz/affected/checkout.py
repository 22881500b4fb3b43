"""A git checkout of TVM, and its changes since a commit."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..system.errors import UserError, near

TRANSFORMS = "python/tvm/relax/transform"
"""A folder that every checkout of TVM has."""


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

        Later commits of the revision's branch are not changes of HEAD.

        Raises:
            UserError: there is no such revision, or no such commit.
        """
        option = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        try:
            commit = _git(self.root, *option, f"{revision}^{{commit}}").strip()
            return _git(self.root, "merge-base", commit, "HEAD").strip()
        except _GitError:
            refs = _git(self.root, "for-each-ref", "--format=%(refname:short)").split()
            fetch = ". A shallow clone has to fetch more history: git fetch --unshallow"
            raise UserError(
                f"--changed-since {revision!r}: no commit, branch or tag of {self.root} that has a "
                f"commit in common with HEAD{near(revision, refs, otherwise=fetch)}"
            ) from None

    def changed(self, base: str) -> tuple[str, ...]:
        """The files that differ from a commit: committed since then, staged, edited or new."""
        differ = _git(self.root, "diff", "--name-only", "--no-renames", "-z", base)
        new = _git(self.root, "ls-files", "--others", "--exclude-standard", "-z")
        return tuple(sorted({*differ.split("\0"), *new.split("\0")} - {""}))


def checkout(folder: Path | None) -> Checkout:
    """The checkout that contains a folder; None: that of the installed TVM.

    Raises:
        UserError: it is not in a git checkout of TVM, or git cannot read it.
    """
    place = imported_from() if folder is None else folder
    try:
        root = Path(_git(place, "rev-parse", "--show-toplevel").strip())
        if (root / TRANSFORMS).is_dir():
            return Checkout(root)
    except _GitError:
        pass
    raise UserError(f"'{place}' is in no git checkout of TVM: name one with --tvm-source DIR")


def imported_from() -> Path:
    """The folder of the installed TVM's Python package."""
    import tvm

    return Path(tvm.__file__).resolve().parent


class _GitError(Exception):
    """A refusal by git, with git's own message."""


def _git(folder: Path, *arguments: str) -> str:
    # Git hooks set variables that would lead to another repository.
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
