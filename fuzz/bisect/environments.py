"""Python environments with other versions of TVM: the user's own, or made once and kept.

An environment for a released version is made with the user's package index and stays in the
user's cache folder. It is made under another name and then renamed, so that one that is half made
is never used, and under a lock, so that two processes do not make the same one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ...corpus.reading import read_text
from ...corpus.versions import order
from ..process.serialize import parse, typed
from ..system.subprocesses import Subprocesses
from ..user_input.mistake import Mistake

FFI = {
    "0.25.0.post1": "0.1.12",
    "0.26.0": "0.1.13.post3",
    "0.27.0.post1": "0.1.14.post1",
}
"""The release of apache-tvm-ffi for each known one of apache-tvm, and for others with its number
(0.26.0rc0): newer ones are allowed by its requirements, and crash it."""

PROBE_SECONDS = 300.0
"""For the first import of TVM, on a busy machine."""

ABOUT = "environment.json"
"""In an environment that is whole: what is in it."""

_PROBE = """\
import json
import platform

import numpy
import tvm
from tvm import relax
from tvm.script import relax as R
tvm.ir.save_json(relax.Var("x", R.Tensor((2, 3), "float32")))
info = dict(tvm.support.libinfo())
print(json.dumps({
    "tvm": tvm.__version__,
    "tvm_git": str(info.get("GIT_COMMIT_HASH") or "unknown"),
    "numpy": numpy.__version__,
    "python": platform.python_version(),
}))
"""

_WARNING = re.compile(r"^(?:WARNING|warning|\[notice\]).*\n", re.MULTILINE)

Tell = Callable[[str], None]
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
    """It was made here: nothing of the user's own set-up belongs into it."""


def choices(texts: Sequence[str], setting: str = "--tvm") -> tuple[Choice, ...]:
    """Read what was asked for; sorted where all of them are versions, else as given.

    Args:
        setting: where the user wrote it.

    Raises:
        Mistake: one is neither a version nor a Python; or one comes twice.
    """
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if not words:
        raise Mistake("expected versions of TVM or paths of Python environments but got none")
    made = [_choice(word, setting) for word in words]
    versions = [one for one in made if isinstance(one, str)]
    if len(versions) == len(made):
        made = [*sorted(versions, key=order)]
    twice = [one for one in made if made.count(one) > 1]
    if twice:
        raise Mistake(f"{setting} names '{twice[0]}' twice")
    return tuple(made)


def _choice(word: str, setting: str) -> Choice:
    try:
        version = order(word)
    except ValueError:
        return _interpreter(word, setting)
    return next((known for known in FFI if order(known) == version), word)


def _interpreter(word: str, setting: str) -> Path:
    path = Path(word).expanduser().absolute()  # not resolved: a link is what makes an environment
    python = path / "bin" / "python" if path.is_dir() else path
    if not python.is_file() or not os.access(python, os.X_OK):
        raise Mistake(
            f"expected a version of TVM such as {', '.join(FFI)}, a Python environment (a folder "
            f"with bin/python) or a Python interpreter but got {setting} {word!r}"
        )
    return python


def environment(
    choice: Choice, subprocesses: Subprocesses, tell: Tell, *, recreate: bool = False
) -> Environment:
    """Find or make what was asked for, and see that TVM works there.

    Args:
        tell: told what is being done, line by line.
        recreate: make it anew, if it is one of ours.

    Raises:
        Unusable: TVM cannot be installed or imported there.
        Stopped: the subprocesses were stopped.
    """
    if isinstance(choice, Path):
        return Environment(choice, _probed(choice, subprocesses, ours=False), ours=False)
    folder = cache() / _name(choice)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_name(f"{folder.name}.lock"), subprocesses, tell):
        about = None if recreate else _about(folder)
        if about is None:
            _make(folder, choice, subprocesses, tell)
            about = _about(folder)
    if about is None:
        raise Unusable(f"'{folder}' is not as it was made")
    return Environment(folder / "bin" / "python", about, ours=True)


def cache() -> Path:
    """The folder of environments."""
    return platformdirs.user_cache_path("relaxfuzz", appauthor=False) / "environments"


def variables(made: Environment) -> dict[str, str]:
    """Environment variables for what runs there: those of the user, whose own set-up stays out."""
    kept = dict(os.environ)
    if made.ours:
        for name in ("PYTHONPATH", "PYTHONHOME", "TVM_LIBRARY_PATH", "TVM_HOME", "VIRTUAL_ENV"):
            kept.pop(name, None)
        kept["PYTHONNOUSERSITE"] = "1"
    return kept


def has_relaxfuzz(made: Environment, subprocesses: Subprocesses) -> bool:
    """Whether relaxfuzz can be imported there, too."""
    command = (made.python, "-c", "import relaxfuzz")
    return subprocesses.run(command, seconds=PROBE_SECONDS, variables=variables(made)).code == 0


def _name(version: str) -> str:
    # Another pin or another Python is another environment.
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"tvm-{version}-ffi-{_ffi(version) or 'any'}-python-{python}"


def _ffi(version: str) -> str | None:
    """The release of apache-tvm-ffi that it needs; None where that is not known."""
    numbers, *_ = order(version)
    return next((ffi for known, ffi in FFI.items() if order(known)[0] == numbers), None)


def _about(folder: Path) -> Mapping[str, str] | None:
    """What is in an environment that is whole; None for any other."""
    try:
        about: Mapping[str, str] = typed(parse(read_text(folder / ABOUT)), Mapping[str, str])
    except (OSError, ValueError):
        return None
    # The link is dead where the Python that it was made with was removed.
    return about if (folder / "bin" / "python").exists() and "tvm" in about else None


@contextlib.contextmanager
def _alone(lock: Path, subprocesses: Subprocesses, tell: Tell) -> Iterator[None]:
    """While nobody else has the lock; whoever dies has given it back."""
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                tell("another process makes this environment")
                subprocesses.pause(0.2)
        yield


def _make(folder: Path, version: str, subprocesses: Subprocesses, tell: Tell) -> None:
    """Install into a folder beside, and rename that when it is known to work."""
    for left in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(left, ignore_errors=True)  # of a process that was killed: the lock is ours
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        _install(part, version, subprocesses, tell)
        tell("importing TVM")
        about = _probed(part / "bin" / "python", subprocesses, ours=True)
        if order(about["tvm"]) != order(version):
            raise Unusable(f"installed TVM {version}, and TVM {about['tvm']} was imported")
        (part / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        if folder.exists():
            folder.rename(part / "former")
        part.rename(folder)
        shutil.rmtree(folder / "former", ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _install(folder: Path, version: str, subprocesses: Subprocesses, tell: Tell) -> None:
    """TVM, its ffi and NumPy, by uv where that is installed and knows them, else by pip.

    Raises:
        Unusable: with the last lines of what the installers said.
    """
    known = _ffi(version)
    ffi = [] if known is None else [f"apache-tvm-ffi=={known}"]
    # A build of TVM from its sources takes an hour, and LLVM.
    wanted = [f"apache-tvm=={version}", *ffi, "numpy", "--only-binary=apache-tvm"]
    python = folder / "bin" / "python"
    tools: dict[str, list[list[str | Path]]] = {}
    if (uv := shutil.which("uv")) is not None:
        tools["uv"] = [
            [uv, "venv", "--no-project", "--allow-existing", "--python", sys.executable, folder],
            [uv, "pip", "install", "--python", python, *wanted],
        ]
    tools["pip"] = [
        [sys.executable, "-m", "venv", "--clear", folder],
        [python, "-m", "pip", "install", "--no-input", "--progress-bar=off", *wanted],
    ]
    complaints = []
    for tool, commands in tools.items():
        for command in commands:
            ended = subprocesses.run(
                command, variables=variables(Environment(python, {}, ours=True)), tell=tell
            )
            if ended.code != 0:
                complaints.append(f"{tool}: {_last(_WARNING.sub('', ended.stderr), 3)}")
                break
        else:
            return
    raise Unusable(f"cannot install TVM {version}: {'; '.join(complaints)}")


def _probed(python: Path, subprocesses: Subprocesses, *, ours: bool) -> Mapping[str, str]:
    """What is there.

    Raises:
        Unusable: TVM does not work there.
    """
    ended = subprocesses.run(
        [python, "-c", _PROBE],
        seconds=PROBE_SECONDS,
        variables=variables(Environment(python, {}, ours)),
    )
    if ended.code == 0:
        about: dict[str, str] = json.loads(_last(ended.stdout, 1))
        return about
    if ended.code < 0:
        name = signal.Signals(-ended.code).name
        raise Unusable(
            f"TVM does not work: {name} when it is imported or saves a node as JSON; it may need "
            "another release of apache-tvm-ffi"
        )
    raise Unusable(f"cannot import tvm: {_last(ended.stderr, 1)}")


def _last(said: str, lines: int) -> str:
    words = [line.strip() for line in said.splitlines() if line.strip(" ^")]
    return " ".join(words[-lines:]) or "nothing was said"
