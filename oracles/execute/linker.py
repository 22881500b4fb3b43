"""The C compiler's linker, which makes shared libraries of the object files that LLVM emits."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence


@functools.cache
def linker() -> Callable[..., None] | None:
    """Makes a shared library of object files; None (reported once, on stderr) without a C compiler.

    A separate linker, if there is one, is called directly: the compiler's driver is slower.
    """
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        print(
            "No C compiler on the PATH: modules are compiled just in time, at a third of the speed",
            file=sys.stderr,
        )
        return None
    direct = shutil.which("ld")
    # The library that LLVM calls for float16 and wide integers.
    answer = subprocess.run([compiler, "-print-libgcc-file-name"], capture_output=True, text=True)
    library = answer.stdout.strip()

    def link(output: str, files: Sequence[str], **ignored: object) -> None:
        command = [compiler, "-shared", "-o", output, *files]
        # A module without any code of its own comes as C source.
        if direct and os.path.isfile(library) and all(file.endswith(".o") for file in files):
            command = [direct, "-shared", "-o", output, *files, library]
        subprocess.run(command, check=True, capture_output=True)

    return link
