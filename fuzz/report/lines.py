"""The lines of a pass's Python files that a campaign has run, and those it never ran."""

from __future__ import annotations

import dis
import inspect
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from ...oracles.lines import SHORT, TVM
from ..output.readable import sentence, short_path
from ..output.terminal import counted

TRACES = "lines.info"
"""The file with all lines in the format of LCOV, which editors and coverage services read."""

LONGEST = 60
"""Most characters of a displayed line."""

MOST_FILES = 4
"""Most of the user's files to list, those with the most lines run."""

SHOWN = 400
"""Most characters of the lines that never ran in one file."""


@dataclass(frozen=True, slots=True)
class FileLines:
    """The lines of one file that functions execute."""

    name: str
    path: Path
    ran: Mapping[int, bool]
    """A flag for each line, in order: True if it ran."""
    source: str
    """The text of the file."""

    @property
    def done(self) -> int:
        """Number of lines that ran."""
        return sum(self.ran.values())

    @property
    def marked(self) -> Iterator[tuple[str, bool | None]]:
        """The lines of the text, each with its flag; None if functions do not execute the line."""
        for number, text in enumerate(self.source.splitlines(), 1):
            yield text, self.ran.get(number)

    @property
    def never(self) -> Iterator[tuple[int, int, str]]:
        """The first and last of consecutive lines that never ran, and the text of the first."""
        text = self.source.splitlines()
        for ran, row in itertools.groupby(self.ran, key=self.ran.__getitem__):
            if not ran:
                first, *rest = row
                yield first, [first, *rest][-1], sentence(text[first - 1].strip(), LONGEST)

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        lines = counted(len(self.ran), "line")
        ran = f"{short_path(self.path)}: {self.done} of {lines} ran"
        never = [
            f"{first if first == last else f'{first}-{last}'} (`{text}`)"
            for first, last, text in self.never
        ]
        return sentence(f"{ran}; never: {', '.join(never)}", SHOWN) if never else ran

    @property
    def event(self) -> dict[str, object]:
        """The file as a JSON event."""
        names = ("first", "last", "text")
        return {
            "event": "lines",
            "file": self.name,
            "ran": self.done,
            "lines": len(self.ran),
            "never": [dict(zip(names, each, strict=True)) for each in self.never],
        }


def is_own(name: str) -> bool:
    """Return whether the file of this name is the user's, not TVM's."""
    return not name.startswith(SHORT)


def files(lines: Mapping[str, Sequence[int]]) -> Iterator[FileLines]:
    """The files with lines that ran, the user's first.

    Args:
        lines: the lines that ran by the name of a file, see `oracles.lines.Lines`.
    """
    for name in sorted(lines, key=lambda name: (not is_own(name), name)):
        path = Path(name) if is_own(name) else Path(TVM, name.removeprefix(SHORT))
        try:
            source = path.read_text(encoding="utf-8")
            with warnings.catch_warnings(action="ignore"):
                code = compile(source, str(path), "exec", dont_inherit=True)
        except (OSError, ValueError, SyntaxError):  # it is gone, or has changed meanwhile
            continue
        ran = frozenset(lines[name])
        found = sorted(set(executed(code)))
        yield FileLines(name, path, {each: each in ran for each in found}, source)


def executed(code: CodeType) -> Iterator[int]:
    """The lines that functions in the code execute, except the lines of their headers."""
    if code.co_flags & inspect.CO_OPTIMIZED:
        _, *lines = (line for _, line in dis.findlinestarts(code))
        yield from filter(None, lines)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from executed(each)


def lines_on_files(found: Sequence[FileLines]) -> Iterator[str]:
    """The files for people: one line for each of the user's, and one for all of TVM's."""
    own = sorted((each for each in found if is_own(each.name) and each.done), key=lambda f: -f.done)
    yield from (each.sentence for each in own[:MOST_FILES])
    if len(own) > MOST_FILES:
        more = counted(len(own) - MOST_FILES, "more file")
        yield f"{more} of the folder of the pass ran: {TRACES} has their lines"
    others = [each for each in found if not is_own(each.name)]
    if others:
        ran, count = sum(each.done for each in others), sum(len(each.ran) for each in others)
        yield (
            f"{counted(len(others), 'file')} of TVM's Python code: {ran} of "
            f"{counted(count, 'line')} ran ({TRACES} has them)"
        )


def traces(found: Iterable[FileLines]) -> str:
    """The lines in the format of LCOV."""
    parts = []
    for each in found:
        parts += ["TN:", f"SF:{each.path}"]
        parts += [f"DA:{line},{int(ran)}" for line, ran in each.ran.items()]
        parts += [f"LF:{len(each.ran)}", f"LH:{each.done}", "end_of_record"]
    return "\n".join([*parts, ""])
