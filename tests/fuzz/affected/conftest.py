"""A small git repository with the layout of TVM's."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PATHS = (
    "docs/index.rst",
    "include/tvm/relax/expr.h",
    "python/tvm/relax/transform/fast_math.py",
    "src/relax/ir/expr_functor.cc",
    "src/relax/transform/fuse_ops.cc",
    "src/relax/transform/gradient.cc",
    "src/relax/transform/normalize.cc",
    "src/runtime/module.cc",
)


@dataclass(frozen=True)
class Repository:
    """A git repository of one commit, with the tag v0.27.0 there and the branch main."""

    root: Path

    def git(self, *arguments: str) -> str:
        """Run git."""
        author = {
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        command = ["git", "-C", str(self.root), *arguments]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **author}
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def edit(self, path: str) -> None:
        """Change a file."""
        self.write(path, (self.root / path).read_text() + "changed\n")

    def commit(self) -> str:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository that the others are copies of."""
    made = Repository(tmp_path_factory.mktemp("committed") / "tvm")
    for path in PATHS:
        made.write(path, f"{path}\n")
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit()
    made.git("tag", "v0.27.0")
    return made


@pytest.fixture
def repository(committed: Repository, tmp_path: Path) -> Repository:
    """A repository in which nothing has changed yet."""
    shutil.copytree(committed.root, tmp_path / "tvm")
    return Repository(tmp_path / "tvm")
