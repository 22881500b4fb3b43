"""Runs commands of relaxfuzz in forked processes, so that only the server pays for importing TVM.

A line of JSON on stdin: arguments, folder, environment, files for stdout and stderr. A line on
stdout: the exit code, negative for a signal. Run by `commands.relaxfuzz`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import traceback

ROOMS = ("campaign", "cli", "findings", "minimize", "process", "reproducer", "session")
"""Packages whose modules are imported before the first command: with them comes TVM."""


def execute(arguments: list[str], cwd: str, env: dict[str, str], stdout: str, stderr: str) -> None:
    """In the child: the command, as the script `relaxfuzz` runs it; never returns."""
    from relaxfuzz.fuzz.cli import main

    code = 1
    try:
        os.setsid()  # what is killed because it hangs takes its own children with it
        for path, descriptor in ((stdout, 1), (stderr, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_TRUNC), descriptor)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["relaxfuzz", *arguments]
        main()
        code = 0
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Until stdin ends."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    sys.path.pop(0)  # the folder of this file
    for room in ROOMS:
        package = importlib.import_module(f"relaxfuzz.fuzz.{room}")
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
    for line in requests:
        pid = os.fork()
        if pid == 0:
            execute(**json.loads(line))
        print(pid, file=replies, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)


if __name__ == "__main__":
    serve()
