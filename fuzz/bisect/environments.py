"""Python environments with other versions of TVM: the user's own, or installed once and kept.

The environment of a released version is installed from the user's package index into the user's
cache folder. A file in it is written last, so that a half-installed one is never used, and a lock
keeps two processes from installing the same one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ...corpus.reading import read_text
from ...corpus.versions import order
from ..process.serialize import parse, typed
from ..system.lock import alone
from ..system.subprocesses import Subprocesses
from ..user_input.errors import UserError

FFI = {
    "0.25.0.post1": "0.1.12",
    "0.26.0": "0.1.14.post1",
    "0.27.0.post1": "0.1.14.post1",
}
"""The release of apache-tvm-ffi for each known one of apache-tvm, and for others with its number
(0.26.0rc0): its requirements allow newer ones, which crash it."""

PROBE_SECONDS = 300.0
"""For the first import of TVM, on a busy machine."""

ABOUT = "environment.json"
"""The file in an environment that is complete: the versions in it."""

_PROBE = """\
import importlib.util
import json
import platform

import numpy
import tvm
from tvm import relax
from tvm.script import relax as R
tvm.ir.save_json(relax.Var("x", R.Tensor((2, 3), "float32")))
info = dict(tvm.support.libinfo())
about = {
    "tvm": tvm.__version__,
    "tvm_git": str(info.get("GIT_COMMIT_HASH") or "unknown"),
    "numpy": numpy.__version__,
    "python": platform.python_version(),
}
print(json.dumps([about, importlib.util.find_spec("relaxfuzz") is not None]))
"""

Report = Callable[[str], None]
Choice = str | Path
"""What a user asks for: a version, or the Python interpreter of an environment."""


class Unusable(Exception):
    """TVM cannot be installed or used there; the text says why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python that imports TVM."""

    python: Path
    about: Mapping[str, str]
    """Versions of what is in it: `tvm`, `tvm_git`, `numpy`, `python`."""
    ours: bool
    """It was installed here: environment variables of the user's must not change it."""
    has_relaxfuzz: bool = False


def choices(texts: Sequence[str], setting: str = "--tvm") -> tuple[Choice, ...]:
    """Read what was asked for; sorted if all of them are versions, else in the order given.

    Args:
        setting: where the user wrote it.

    Raises:
        UserError: one is neither a version nor a Python; or one comes twice.
    """
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if not words:
        raise UserError("expected versions of TVM or paths of Python environments but got none")
    made = [_choice(word, setting) for word in words]
    versions = [one for one in made if isinstance(one, str)]
    if len(versions) == len(made):
        made = [*sorted(versions, key=order)]
    twice = [one for one in made if made.count(one) > 1]
    if twice:
        raise UserError(f"{setting} names '{twice[0]}' twice")
    return tuple(made)


def _choice(word: str, setting: str) -> Choice:
    try:
        version = order(word)
    except ValueError:
        path = Path(word).expanduser().absolute()  # not resolved: a link makes an environment
        python = path / "bin" / "python" if path.is_dir() else path
        if python.is_file() and os.access(python, os.X_OK):
            return python
        raise UserError(
            f"expected a version of TVM such as {', '.join(FFI)}, a Python environment (a folder "
            f"with bin/python) or a Python interpreter but got {setting} {word!r}"
        ) from None
    return next((known for known in FFI if order(known) == version), word)


def environment(
    choice: Choice, subprocesses: Subprocesses, report: Report, *, recreate: bool = False
) -> Environment:
    """Find or install what was asked for, and check that TVM works there.

    Args:
        report: called with each line of progress.
        recreate: install it anew, unless it is the user's own.

    Raises:
        Unusable: TVM cannot be installed or imported there.
        UserError: the cache folder cannot be written to.
        Stopped: the subprocesses were stopped.
    """
    if isinstance(choice, Path):
        return _probed(choice, subprocesses, ours=False)
    folder = _folder(choice)
    folder.mkdir(parents=True, exist_ok=True)

    def wait() -> None:
        report("another process installs this environment")
        subprocesses.pause(0.2)

    python = folder / "venv" / "bin" / "python"
    with alone(folder, "bisect", wait=wait):
        about = None if recreate else _about(folder / ABOUT)
        if about is not None and python.exists():  # a dead link if its Python was removed
            return Environment(python, about, ours=True)
        (folder / ABOUT).unlink(missing_ok=True)
        try:
            _install(folder / "venv", choice, subprocesses, report)
            report("importing TVM")
            made = _probed(python, subprocesses, ours=True)
            if order(made.about["tvm"]) != order(choice):
                raise Unusable(f"installed TVM {choice}, but imported TVM {made.about['tvm']}")
        except BaseException:
            shutil.rmtree(folder / "venv", ignore_errors=True)
            raise
        (folder / ABOUT).write_text(json.dumps(dict(made.about)), encoding="utf-8")
        return made


def cache() -> Path:
    """The folder of environments."""
    return platformdirs.user_cache_path("relaxfuzz", appauthor=False) / "environments"


def variables(*, ours: bool) -> dict[str, str]:
    """Environment variables for what runs in an environment; see `Environment.ours`."""
    kept = dict(os.environ)
    if ours:
        for name in ("PYTHONPATH", "PYTHONHOME", "TVM_LIBRARY_PATH", "TVM_HOME", "VIRTUAL_ENV"):
            kept.pop(name, None)
        kept["PYTHONNOUSERSITE"] = "1"
    return kept


def _folder(version: str) -> Path:
    # Another pin or another Python is another environment.
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return cache() / f"tvm-{version}-ffi-{_ffi(version) or 'any'}-py{python}"


def _ffi(version: str) -> str | None:
    """The release of apache-tvm-ffi that it needs; None if that is not known."""
    numbers, *_ = order(version)
    return next((ffi for known, ffi in FFI.items() if order(known)[0] == numbers), None)


def _about(file: Path) -> Mapping[str, str] | None:
    """The versions in an environment; None if it is not complete."""
    try:
        about: Mapping[str, str] = typed(parse(read_text(file)), Mapping[str, str])
    except (OSError, ValueError):
        return None
    return about if "tvm" in about else None


def _install(folder: Path, version: str, subprocesses: Subprocesses, report: Report) -> None:
    """Install TVM, its ffi and NumPy, by uv if there is one, else by pip; raises `Unusable`."""
    known = _ffi(version)
    ffi = [] if known is None else [f"apache-tvm-ffi=={known}"]
    # A build of TVM from its sources takes an hour, and LLVM.
    wanted = [f"apache-tvm=={version}", *ffi, "numpy", "--only-binary=apache-tvm"]
    python = folder / "bin" / "python"
    shutil.rmtree(folder, ignore_errors=True)
    pip = ["pip", "install", "--no-input", "--progress-bar=off", "--disable-pip-version-check"]
    commands: list[list[str | Path]] = [
        [sys.executable, "-m", "venv", folder],
        [python, "-m", *pip, *wanted],
    ]
    if (uv := shutil.which("uv")) is not None:
        commands = [
            [uv, "venv", "--no-project", "--python", sys.executable, folder],
            [uv, "pip", "install", "--python", python, *wanted],
        ]
    for command in commands:
        ended = subprocesses.run(command, variables=variables(ours=True), report=report)
        if ended.code != 0:
            why = _last_lines(ended.stderr, 3)
            raise Unusable(f"cannot install TVM {version}: {why}")


def _probed(python: Path, subprocesses: Subprocesses, *, ours: bool) -> Environment:
    """What the environment has; raises `Unusable` where TVM does not work there."""
    ended = subprocesses.run(
        [python, "-c", _PROBE], seconds=PROBE_SECONDS, variables=variables(ours=ours)
    )
    if ended.code < 0:
        raise Unusable(
            f"TVM does not work: {signal.Signals(-ended.code).name} when it is imported or saves a "
            "node as JSON; it may need another release of apache-tvm-ffi"
        )
    if ended.code != 0:
        raise Unusable(f"cannot import tvm: {_last_lines(ended.stderr, 1)}")
    about, has_relaxfuzz = json.loads(_last_lines(ended.stdout, 1))
    return Environment(python, about, ours, has_relaxfuzz)


def _last_lines(text: str, count: int) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^")]
    return " ".join(lines[-count:]) or "it printed nothing"
