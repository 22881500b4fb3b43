"""Known bugs: one record for each root cause, beside its reproducer.

A folder of known bugs holds a file NAME.toml for each, named after the root cause, and mostly its
reproducer NAME.py:

    what = "a weight that the function returns is no parameter any more and is undefined"
    key_format = 2
    keys = [
        ["well-formed", "LiftTransformParams", "ill-formed", "Var <name> is not defined.", "value"],
    ]
    tvm = "fails on 0.26.0, 0.27.0.post1"
    fails_with = "ValueError: Var <name> is not defined."
    trigger = "returns_a_weight"

A key is the oracle, the pass that is blamed, and what the oracle reports, as in `relaxfuzz run
--json`. A part that ends in `…` matches every text with that beginning: for messages whose end
varies. `versions` gives the grammar of `tvm`. `_OPTIONAL` lists the fields that may be missing.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..oracles import KEY_FORMAT, LONGEST_MESSAGE
from .reading import read_text
from .versions import Claim, claim

SHIPPED = Path(__file__).parent / "found"
"""The records that come with relaxfuzz."""

Key = tuple[str, ...]

ANYTHING = "…"
"""Ends a part of a key that matches any ending; normalized messages never contain it."""

_REQUIRED = ("what", "key_format", "keys", "tvm")
_OPTIONAL = (
    *("verdict", "note", "promise", "source", "root_cause", "symptoms"),
    *("fails_with", "reproducer", "upstream", "thread", "trigger", "like"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The record of a bug."""

    path: Path
    """The file of the record."""
    what: str
    """What goes wrong, in one sentence."""
    keys: tuple[Key, ...]
    """The reports that the bug causes, each with its oracle and pass first."""
    tvm: Claim
    fails_with: str | None = None
    """How the failure of the reproducer begins, in the words of `relaxfuzz replay`."""
    reproducer: Path | None = None
    """The file of the same name beside the record, if the field is missing."""
    upstream: tuple[str, ...] = ()
    """Links to issues and pull requests of TVM."""
    thread: str | None = None
    """What they say and how they stand, or that TVM's tracker has none, and when that was."""
    trigger: str | None = None
    """A function of `triggers.TRIGGERS`: true for the modules on which the bug shows."""
    like: tuple[frozenset[str], ...] = ()
    """Of other modules that were seen to show the bug, each: what it is made of, in the words of
    `fuzz.findings.pattern.elements`; one that ends in `…` stands for all with that beginning, and a
    PrimFunc for all that have nodes of these classes."""
    verdict: str | None = None
    note: str | None = None
    """A remark on the verdict."""
    promise: tuple[str, ...] = ()
    """What TVM promises, each with the place where it does."""
    source: str | None = None
    """The place in TVM's source that is wrong."""
    root_cause: str | None = None
    """Why it goes wrong, if `what` does not state it."""
    symptoms: tuple[str, ...] = ()
    """What else the same root cause makes go wrong."""

    @property
    def name(self) -> str:
        """The root cause, e.g. "lift-params-undefined-output"."""
        return self.path.stem

    @property
    def passes(self) -> frozenset[str]:
        """The passes, operators or parser that the reports blame."""
        return frozenset(key[1] for key in self.keys)

    def matches(self, key: Key) -> bool:
        """Whether a report with this key can be one of this bug."""
        return self.expected(key) is not None

    def shows_on(self, elements: frozenset[str]) -> bool:
        """A module that consists of these has all that one of the lists of `like` says."""
        return any(all(_is_among(part, elements) for part in parts) for parts in self.like)

    def reports(self, parts: Key) -> bool:
        """Whether a report of this bug, by any oracle of any pass, may say this."""
        return any(_alike(expected[2:], parts) for expected in self.keys)

    def expected(self, key: Key) -> Key | None:
        """The key of the record that this key of a report is covered by."""
        return next((expected for expected in self.keys if _alike(expected, key)), None)


class Lookup:
    """The known bugs of a version of TVM, by the keys of reports."""

    def __init__(self, knowns: Iterable[Known], version: str) -> None:
        """
        Raises:
            ValueError: `version` is not a version.
        """
        self.knowns = tuple(known for known in knowns if known.tvm.expects_failure(version))
        self._exact: dict[Key, list[Known]] = defaultdict(list)
        for known in self.knowns:
            for key in known.keys:
                self._exact[_canonical(key)].append(known)
        self._open = [
            known
            for known in self.knowns
            if any(_is_open(part) for key in known.keys for part in key)
        ]

    def of(self, key: Key) -> tuple[Known, ...]:
        """The bugs that a report may come from: several where they share its key."""
        found = self._exact.get(_canonical(key), [])
        more = [known for known in self._open if known.matches(key)]
        return (*found, *(known for known in more if known not in found))


def knowns(folder: Path = SHIPPED) -> tuple[Known, ...]:
    """The records of a folder, by name.

    Raises:
        ValueError: a file that is not a record; the message names it and what is wrong.
    """
    return tuple(known(path) for path in sorted(folder.glob("*.toml")))


def known(path: Path) -> Known:
    """The record in a file.

    Raises:
        ValueError: see `knowns`.
    """
    try:
        return _known(path, read_toml(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror or error}") from None


def read_toml(path: Path) -> Mapping[str, Any]:
    """The fields of a TOML file.

    Raises:
        OSError: see `read_text`.
        ValueError: it is not TOML, or nested too deeply to read.
    """
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def check_format(version: object) -> None:
    """Refuse keys of another format.

    Raises:
        ValueError: `version` is not `KEY_FORMAT`.
    """
    if version != KEY_FORMAT or isinstance(version, bool):
        raise ValueError(
            f"Expected key_format = {KEY_FORMAT} but got {version!r}: keys of another version of "
            "relaxfuzz match no report"
        )


def _known(path: Path, fields: Mapping[str, Any]) -> Known:
    if "fingerprints" in fields:
        raise ValueError(
            "the field 'fingerprints' is called 'keys' now: rename it, "
            f"and add key_format = {KEY_FORMAT}"
        )
    missing = [name for name in _REQUIRED if name not in fields]
    unknown = [name for name in fields if name not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        raise ValueError(
            f"Expected the fields {', '.join(_REQUIRED)} and perhaps {', '.join(_OPTIONAL)} "
            f"but got {list(fields)}"
        )
    check_format(fields["key_format"])
    return Known(
        path=path,
        what=_text("what", fields["what"]),
        keys=tuple(_texts("each of keys", each, least=2) for each in _list("keys", fields["keys"])),
        tvm=claim(_text("tvm", fields["tvm"])),
        fails_with=_optional("fails_with", fields),
        reproducer=_reproducer(path, fields),
        upstream=_texts("upstream", fields.get("upstream", [])),
        thread=_optional("thread", fields),
        trigger=_trigger(fields),
        like=tuple(
            frozenset(_texts("each of like", each, least=1))
            for each in (_list("like", fields["like"]) if "like" in fields else ())
        ),
        verdict=_optional("verdict", fields),
        note=_optional("note", fields),
        promise=_texts("promise", fields.get("promise", [])),
        source=_optional("source", fields),
        root_cause=_optional("root_cause", fields),
        symptoms=_texts("symptoms", fields.get("symptoms", [])),
    )


def _reproducer(path: Path, fields: Mapping[str, Any]) -> Path | None:
    if "reproducer" not in fields:
        beside = path.with_suffix(".py")
        return beside if _is_file(beside) else None
    name = _text("reproducer", fields["reproducer"])
    if not _is_file(path.parent / name):
        raise ValueError(f"Expected the path of a file but got reproducer={name!r}")
    return path.parent / name


def _trigger(fields: Mapping[str, Any]) -> str | None:
    if "trigger" not in fields:
        return None
    # Triggers look at modules, and so import TVM, which pytest's collection does without.
    from .triggers import TRIGGERS

    trigger = fields["trigger"]
    if not isinstance(trigger, str) or trigger not in TRIGGERS:
        raise ValueError(f"Expected a trigger of {sorted(TRIGGERS)} but got trigger={trigger!r}")
    return trigger


def _optional(name: str, fields: Mapping[str, Any]) -> str | None:
    return _text(name, fields[name]) if name in fields else None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"Expected {name} to be a text but got {value!r}")
    return value


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long or not valid
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


def _alike(expected: Key, key: Key) -> bool:
    expected, key = _flaw(expected), _flaw(key)
    return len(expected) == len(key) and all(map(_part_alike, expected, key))


def _canonical(key: Key) -> Key:
    """What is the same for all keys that are alike, unless one is open."""
    return tuple(map(_general, _flaw(key)))


def _flaw(key: Key) -> Key:
    """The key without what follows the checker's words of a DataflowVar that leaves its block: in
    what it is used there is up to the walk, too.
    """
    at = next((i for i, part in enumerate(key, 1) if _OUTSIDE.match(part)), len(key))
    return key[:at]


def _is_among(part: str, elements: frozenset[str]) -> bool:
    kind, *nodes = part.split()
    if kind == "PrimFunc":
        words = (each.split() for each in elements)
        return any(each[:1] == [kind] and {*nodes} <= {*each} for each in words)
    if not part.endswith(ANYTHING):
        return part in elements
    return any(each.startswith(part.removesuffix(ANYTHING)) for each in elements)


def _part_alike(want: str, got: str) -> bool:
    if _is_open(want):
        start = _UNFINISHED.sub("", _general(want.removesuffix(ANYTHING)))
        other = _general(got)
        # What is cut at one place in two messages ends at two places of what they have in common.
        return other.startswith(start) or (_is_cut(got) and start.startswith(other))
    return _general(got) == _general(want)


def _is_open(part: str) -> bool:
    """It ends in `ANYTHING`, or the message goes on."""
    return part.endswith(ANYTHING) or _is_cut(part)


def _is_cut(part: str) -> bool:
    return len(part) > LONGEST_MESSAGE - 3  # less a word's space or two, which are stripped


def _general(part: str) -> str:
    """A part of a key without what depends on the module.

    That are signs and fractions of numbers, and what is computed of what: where one module has
    `<node>` in a message, another has `<n> * <node>` or a list of nodes. The checker names one flaw
    of several where a DataflowVar is used outside of its block.
    """
    part = _NUMBER.sub("<n>", _OUTSIDE.sub("DataflowVar outside of its block", part))
    return _EXPRESSION.sub("<node>", part)


_NUMBER = re.compile(r"-?<n>(?:\.<n>)?")

_OUTSIDE = re.compile(
    r"^DataflowVar (?:<name> is (?:not defined|used outside DataflowBlock)"
    r"|cannot be used as a dependent type expression)"
)
"""What the checker says, in the order of its walk, of a variable of a dataflow block."""

_EXPRESSION = re.compile(r"<(?:node|list)>(?: [-+*/%]+ <\w+>)*|<\w+>(?: [-+*/%]+ <\w+>)+")
"""An expression in a message."""

_UNFINISHED = re.compile(r"<\w*$")
"""The beginning of a placeholder, where a message was cut."""
