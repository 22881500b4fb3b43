"""Known bugs: root causes that are expected on some versions of TVM, by what a run reports of them.

A folder of knowns holds one file for each, named after the root cause:

    what = "a weight that the function returns is no parameter any more and is undefined"
    fingerprints = [
        ["well-formed", "LiftTransformParams", "ill-formed", "Var <name> is not defined.", "value"],
    ]
    tvm = "fails on 0.26.0, 0.27.0.post1"
    reproducer = "../found/lift-params-undefined-output.py"
    upstream = ["https://github.com/apache/tvm/issues/17231"]
    trigger = "returns_a_weight"

A fingerprint is oracle, pass and what the oracle says, as `relaxfuzz run --json` tells it. A part
that ends in `…` stands for all that begin so: where the end of a message is an accident. `versions`
gives the grammar of `tvm`. `reproducer`, `upstream` and `trigger` may be missing; the path begins
at the file itself, the trigger is a function of `corpus/known/triggers.py`.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .known.triggers import TRIGGERS
from .reading import read_text
from .versions import Claim, claim

SHIPPED = Path(__file__).parent / "known"
"""The knowns that come with relaxfuzz."""

Fingerprint = tuple[str, ...]

ANYTHING = "…"
"""At the end of a part: no message has this character, which normalization drops."""

_REQUIRED = ("what", "fingerprints", "tvm")
_OPTIONAL = ("reproducer", "upstream", "trigger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A root cause, and what it looks like."""

    path: Path
    """The file that says so."""
    what: str
    """What goes wrong, in one sentence."""
    fingerprints: tuple[Fingerprint, ...]
    """Each with oracle and pass before it."""
    tvm: Claim
    reproducer: Path | None = None
    upstream: tuple[str, ...] = ()
    trigger: str | None = None
    """A function of `TRIGGERS`: true for the modules that the bug is met on."""

    @property
    def name(self) -> str:
        """The root cause, e.g. "lift-params-undefined-output"."""
        return self.path.stem

    @property
    def passes(self) -> frozenset[str]:
        """Whom the reports blame: passes, operators, the parser."""
        return frozenset(fingerprint[1] for fingerprint in self.fingerprints)

    def matches(self, fingerprint: Fingerprint) -> bool:
        """A report with this oracle, pass and fingerprint is one of this root cause."""
        return any(_alike(expected, fingerprint) for expected in self.fingerprints)


class Lookup:
    """The knowns that a TVM is expected to have, by the fingerprints of reports."""

    def __init__(self, knowns: Iterable[Known], version: str) -> None:
        """
        Raises:
            ValueError: that is no version.
        """
        self.knowns = tuple(known for known in knowns if known.tvm.expects_failure(version))
        self._exact: dict[Fingerprint, list[Known]] = defaultdict(list)
        for known in self.knowns:
            for fingerprint in known.fingerprints:
                self._exact[fingerprint].append(known)
        self._open = [
            known
            for known in self.knowns
            if any(part.endswith(ANYTHING) for each in known.fingerprints for part in each)
        ]

    def of(self, fingerprint: Fingerprint) -> tuple[Known, ...]:
        """The root causes that a report may have; several where a fingerprint cannot tell."""
        found = self._exact.get(fingerprint, [])
        more = [known for known in self._open if known.matches(fingerprint)]
        return (*found, *(known for known in more if known not in found))


def knowns(folder: Path = SHIPPED) -> tuple[Known, ...]:
    """The knowns of a folder, by name.

    Raises:
        ValueError: a file that is no known; the text names it and says what is wrong.
    """
    return tuple(known(path) for path in sorted(folder.glob("*.toml")))


def known(path: Path) -> Known:
    """The known in a file.

    Raises:
        ValueError: see `knowns`.
    """
    try:
        return _known(path, tomllib.loads(read_text(path)))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror or error}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply") from None


def _known(path: Path, fields: Mapping[str, Any]) -> Known:
    missing = [name for name in _REQUIRED if name not in fields]
    unknown = [name for name in fields if name not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        raise ValueError(
            f"Expected the fields {', '.join(_REQUIRED)} and perhaps {', '.join(_OPTIONAL)} "
            f"but got {list(fields)}"
        )
    reproducer = fields.get("reproducer")
    trigger = fields.get("trigger")
    if trigger is not None and trigger not in list(TRIGGERS):
        raise ValueError(f"Expected a trigger of {sorted(TRIGGERS)} but got trigger={trigger!r}")
    made = Known(
        path=path,
        what=_text("what", fields["what"]),
        fingerprints=tuple(
            _texts("each of fingerprints", each, least=2)
            for each in _list("fingerprints", fields["fingerprints"])
        ),
        tvm=claim(_text("tvm", fields["tvm"])),
        reproducer=None if reproducer is None else path.parent / _text("reproducer", reproducer),
        upstream=_texts("upstream", fields.get("upstream", [])),
        trigger=trigger,
    )
    if made.reproducer is not None and not _is_file(made.reproducer):
        raise ValueError(f"Expected the path of a file but got reproducer={reproducer!r}")
    return made


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"Expected {name} to be a text but got {value!r}")
    return value


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or can be none
        return False


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"Expected {name} to be a list of at least one but got {value!r}")
    return value


def _texts(name: str, value: object, least: int = 0) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or len(value) < least
        or not all(isinstance(each, str) for each in value)
    ):
        raise ValueError(f"Expected {name} to be a list of texts but got {value!r}")
    return tuple(value)


def _alike(expected: Fingerprint, fingerprint: Fingerprint) -> bool:
    return len(expected) == len(fingerprint) and all(
        got.startswith(want.removesuffix(ANYTHING)) if want.endswith(ANYTHING) else got == want
        for want, got in zip(expected, fingerprint, strict=True)
    )
