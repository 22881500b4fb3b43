"""Read a user's module: TVM JSON, a TVMScript file, or a Python file that builds one.

A Python file is a program, and TVM's reader may crash on JSON. A worker therefore reads each file
in a separate process (see `module_file`), and returns the module as JSON.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import ExitStack
from pathlib import Path

from ...compat import weights
from ...oracles.values import frameworks
from ..jobs.jobs import Read
from ..output.readable import sentence
from ..process.executor import Executor, ask
from ..process.local_pool import LocalPool
from ..process.protocol import Died, Limits
from ..system.scratch import scratch
from ..user_input.module_file import MOST, RESULT, BadModule, is_call, too_large
from ..user_input.sources import function_in, is_function

__all__ = ["BadModule", "load"]

SECONDS = 120.0
"""The time limit in seconds for executing a Python file; TVM is already imported."""

_LIMITS = Limits(step_seconds=3 * SECONDS, memory_mb=8192)
"""Limits of the worker; those of its children are smaller."""


def load(
    path: Path,
    pool: Executor | None = None,
    *,
    well_formed: bool = True,
    seconds: float = SECONDS,
    beside: Path | None = None,
) -> str:
    """Return the module of a file, or of a function's result, as TVM JSON.

    Args:
        path: a file, `FILE.py:function` or `package.module:function`.
        pool: the worker that reads it; None: start one.
        well_formed: refuse an ill-formed module.
        seconds: the time limit for executing a Python file.
        beside: a folder for the results that the framework of a model gives; see
            `frameworks.saved`.

    Raises:
        BadModule: the file does not exist, does not parse, has no module or several, kills its
            process, is too large, or its module is ill-formed.
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
    """Return the file that a worker leaves in the folder of the job.

    Args:
        name: the user's name for the source.

    Raises:
        BadModule: there is no result, for the reason in the message.
        ExecutorError: the worker failed.
    """
    answer = ask(pool, job, limits=_LIMITS)
    if isinstance(answer, Died):
        raise BadModule(f"reading '{sentence(name)}' killed the worker process")
    if answer is not None:
        raise BadModule(answer.replace(sentence(job.path), sentence(name)))
    return Path(job.folder) / RESULT


def inspect(path: Path) -> None:
    """Check that the path is a readable file, small enough for a module; the contents are not read.

    For `FILE.py:function` the file is checked; `package.module:function` is only imported on
    reading.

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
        raise BadModule(f"{name} cannot be read: {sentence(str(error))}") from None
    if not stat.S_ISREG(found.st_mode):
        raise BadModule(
            f"{name} is not a file; expected a Python file (*.py), JSON of a module or "
            "FILE.py:function"
        )
    if not os.access(path, os.R_OK):
        raise BadModule(f"{name} cannot be read: Permission denied")
    if found.st_size > MOST and (path.suffix == ".py" or weights.VARIABLE not in os.environ):
        raise BadModule(f"{name} has {too_large(found.st_size)}")
