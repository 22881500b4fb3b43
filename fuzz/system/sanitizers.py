"""The sanitizers of compilers: what they need to run in our processes, and what they report.

AddressSanitizer ends the process at its first report, with exit code 1 or, on request, by SIGABRT.
UndefinedBehaviorSanitizer and ThreadSanitizer do so with `halt_on_error=1`.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

ADDRESS = "AddressSanitizer"

DEFAULTS: Mapping[str, str] = {
    # Python and TVM leave much behind at their end, whatever a pass has done.
    "detect_leaks": "0",
    # A request for too much memory is a MemoryError, as it is without the sanitizer.
    "allocator_may_return_null": "1",
}
"""Options of AddressSanitizer, where the user has not decided."""

VARIABLES = ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
"""Environment variables that decide what a sanitizer does."""

_HEADER = re.compile(
    r"^(?:==\d+==ERROR: (?P<fatal>\w+Sanitizer):? (?P<what>.*)"
    r"|WARNING: (?P<warns>\w+Sanitizer): (?P<race>.*) \(pid=\d+\)"
    r"|\S+:\d+:\d+: runtime error: (?P<undefined>.*))$",
    re.M,
)
_SUMMARY = re.compile(r"^SUMMARY: \w+Sanitizer: ([\w-]+(?: [a-z]+(?!\S))*).*$", re.M)
_FRAME = re.compile(
    r"^ +#\d+ (?:0x[0-9a-f]+ +)?(?:in )?(?P<function>.*?)"
    r"(?: (?P<place>\S+:\d+))?(?: *\((?P<library>[^()\s]+)\+0x[0-9a-f]+\))?(?: \(BuildId: \w+\))?$"
)
_RUNTIME = re.compile(
    r"libsanitizer|compiler-rt|lib(?:clang_rt\.)?(?:a|t|ub)san|__interceptor_"
    r"|operator (?:new|delete)"
)
"""In the line of a frame of the sanitizer itself."""
_INTERPRETER = re.compile(r" _?Py[A-Z_]|/libffi\.so|/_ctypes|__libc_start|\bffi_call\b")
"""In the line of the first frame that has nothing to do with the cause, nor have those below."""

_ACCIDENTS = re.compile(
    r"^==\d+==(?:ERROR: )?| on address 0x.*| \[0x\w+,0x\w+\)|(?:\bat )?\b0x[0-9a-f]{8,} *(?:in )?",
    re.M,
)
"""Process ids and addresses: they differ from run to run."""

_UNDEFINED = "UndefinedBehaviorSanitizer"


@dataclass(frozen=True, slots=True)
class Report:
    """What a sanitizer wrote before it ended the process."""

    tool: str
    """E.g. AddressSanitizer."""
    kind: str
    """What is wrong: "heap-use-after-free", "data race", or a sentence."""
    frames: tuple[str, ...]
    """The functions of the first stack, the innermost first; of those without a name the library.
    Frames of the sanitizer and of the interpreter are left out."""
    text: str
    """The report without process ids, addresses, frames of the interpreter and shadow memory."""


def report(stderr: str) -> Report | None:
    """The report that ended a process; None where none did."""
    headers = list(_HEADER.finditer(stderr))
    if not headers:
        return None
    # A fatal report is the last one; others came before it, and the process went on.
    header = next((each for each in headers if each["fatal"]), headers[-1])
    lines = stderr[header.start() :].splitlines()
    if header["undefined"] and any(not _belongs(line) for line in lines[1:]):
        return None  # the process went on
    text = "\n".join(_without_interpreter(_without_memory(lines)))
    summary = _SUMMARY.search(text)
    text = _ACCIDENTS.sub("", text)
    what = header["what"] or header["race"] or header["undefined"]
    return Report(
        tool=header["fatal"] or header["warns"] or _UNDEFINED,
        kind=summary[1] if summary and not header["undefined"] else what,
        frames=tuple(_functions(lines)),
        text=text,
    )


def _belongs(line: str) -> bool:
    return not line.strip() or line.startswith((" ", "SUMMARY:"))


def _without_memory(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith("SUMMARY:"):
            return


def _without_interpreter(lines: Iterator[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        is_frame = _FRAME.match(line) is not None
        inside = is_frame and (inside or _INTERPRETER.search(line) is not None)
        if not inside:
            yield line


def _functions(lines: list[str]) -> Iterator[str]:
    """Of the first stack: other stacks show where memory was allocated or freed."""
    first = next((at for at, line in enumerate(lines) if _FRAME.match(line)), len(lines))
    for line in lines[first:]:
        frame = _FRAME.match(line)
        if frame is None or _INTERPRETER.search(line):
            return
        if not _RUNTIME.search(line):
            function = frame["function"].strip()
            unknown = function in ("", "<null> <null>")
            yield PurePath(frame["library"] or "").name if unknown else function


def is_loaded() -> bool:
    """Whether this process runs under AddressSanitizer."""
    return hasattr(ctypes.CDLL(None), "__asan_init")


def variables() -> dict[str, str]:
    """`ASAN_OPTIONS` with `DEFAULTS` for what the user has not decided; none without the sanitizer.

    Processes read it when they start.
    """
    if not is_loaded():
        return {}
    given = os.environ.get("ASAN_OPTIONS", "")
    missing = [f"{name}={value}" for name, value in DEFAULTS.items() if f"{name}=" not in given]
    return {"ASAN_OPTIONS": ":".join([*missing, *([given] if given else [])])}


def restart_with_variables() -> None:
    """Start the program of this process anew where it lacks some of `variables`."""
    wanted = variables()
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **wanted})
