"""Reads a user's module: TVM JSON, a TVMScript file, or a Python file that builds one.

A Python file is a program, and TVM's reader may crash on JSON. So a worker reads the file in
processes of their own (see `module_file`), and returns the module as JSON.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import ExitStack
from pathlib import Path

from ...compat import weights
from ...oracles.values import frameworks
from ..output.readable import sentence
from ..process.executor import Executor, ask
from ..process.jobs import Read
from ..process.local_pool import LocalPool
from ..process.protocol import Died, Limits
from ..system.scratch import scratch
from .module_file import MOST, RESULT, BadModule, is_call, too_large
from .options import function_in, is_function

__all__ = ["BadModule", "load"]

SECONDS = 120.0
"""The time limit for executing a Python file; TVM is imported already."""

_LIMITS = Limits(step_seconds=3 * SECONDS, memory_mb=8192)
"""Limits of the worker; its children have smaller ones."""


def load(
    path: Path,
    pool: Executor | None = None,
    *,
    well_formed: bool = True,
    seconds: float = SECONDS,
    beside: Path | None = None,
) -> str:
    """The module of a file, or of what a function gives, as TVM JSON.

    Args:
        path: a file, `FILE.py:function` or `package.module:function`.
        pool: the worker that reads it; None: one is started.
        well_formed: refuse an ill-formed module.
        seconds: the time limit for executing a Python file.
        beside: a folder where it is left what the framework of a model says of it; see
            `frameworks.saved`.

    Raises:
        BadModule: there is no such file, it does not parse, has no module or several, dies when
            it is executed, is too large, or its module is not well-formed.
        ExecutorError: the worker failed.
    """
    inspect(path)
    with tempfile.TemporaryDirectory(dir=scratch()) as folder, ExitStack() as stack:
        source = str(path if is_function(str(path)) else path.absolute())
        job = Read(source, folder, well_formed, seconds)
        result = result_of(job, str(path), pool or stack.enter_context(LocalPool(1)))
        if (size := result.lstat().st_size) > MOST:
            raise BadModule(f"the module of '{sentence(str(path))}' has {too_large(size)}")
        if beside is not None:
            frameworks.move(Path(folder), beside)
        return result.read_text(encoding="utf-8")


def result_of(job: Read, name: str, pool: Executor) -> Path:
    """The file that a worker leaves in the folder of the job.

    Args:
        name: what the user calls the source.

    Raises:
        BadModule: there is no result; the message says why in one sentence.
        ExecutorError: the worker failed.
    """
    answer = ask(pool, job, limits=_LIMITS)
    if isinstance(answer, Died):
        raise BadModule(f"reading '{sentence(name)}' killed the worker process")
    if answer is not None:
        raise BadModule(answer.replace(sentence(job.path), sentence(name)))
    return Path(job.folder) / RESULT


def inspect(path: Path) -> None:
    """Check that the path is a readable file of a module's size; its contents are not read.

    Of `FILE.py:function` that is the file; `package.module:function` is imported when it is read.

    Raises:
        BadModule: it is not.
    """
    if is_call(str(path)):
        in_file = function_in(str(path))
        if in_file is None:
            return
        path = in_file[0]
    name = f"'{sentence(str(path))}'"
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise BadModule(f"no module file {name}") from None
    except (OSError, ValueError) as error:
        raise BadModule(f"{name} cannot be read: {_reason(error)}") from None
    if not stat.S_ISREG(found.st_mode):
        raise BadModule(f"{name} is {_KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}; {_WANTED}")
    if not os.access(path, os.R_OK):
        raise BadModule(f"{name} cannot be read: Permission denied")
    if found.st_size == 0:
        raise BadModule(f"{name} is empty; {_WANTED}")
    if found.st_size > MOST and (path.suffix == ".py" or weights.VARIABLE not in os.environ):
        raise BadModule(f"{name} has {too_large(found.st_size)}")


_WANTED = "expected a Python file (*.py), JSON of a module or FILE.py:function"

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _reason(error: OSError | ValueError) -> str:
    return sentence(error.strerror or str(error) if isinstance(error, OSError) else str(error))
