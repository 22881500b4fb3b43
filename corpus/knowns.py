"""Known bugs: one record for each root cause, beside its reproducer.

A folder of known bugs holds a file NAME.toml for each, named after the root cause, and mostly its
reproducer NAME.py:

    what = "a weight that the function returns is no parameter any more and is undefined"
    tvm = "fails on 0.26.0, 0.27.0.post1"
    fails_with = "ValueError"
    reports = [["well-formed", "LiftTransformParams"]]
    format = 4

    [[identity]]
    failure = "ill-formed"
    blamed = ["LiftTransformParams"]
    site = ["ill-formed", "WellFormedChecker::VisitExpr_(VarNode)"]
    condition = "relax/analysis/well_formed.cc:244 (0.27.0.post1)"
    ingredients = ["attribute num_input"]

`make records` and `relaxfuzz known --renew` write the identities that the module of the reproducer
shows. `[[also]]` holds the identities of other modules that people have judged to show the bug.
`versions` gives the grammar of `tvm`.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..oracles.grades.consequence import Consequence, consequence_from
from ..oracles.identity import (
    FORMAT,
    FailureKind,
    Identity,
    Sameness,
    compare,
    is_alike,
    is_presumed,
)
from .reading import read_text
from .versions import Claim, claim

SHIPPED = Path(__file__).parent / "found"
"""The records that come with relaxfuzz."""

KnownReport = tuple[str, ...]
"""The oracle and the blamed pass, and perhaps a detail that the grade depends on."""

_REQUIRED = ("what", "format", "tvm", "reports")
_OPTIONAL = (
    *("verdict", "note", "promise", "source", "root_cause", "symptoms", "fails_with"),
    *("workaround", "reproducer", "upstream", "thread", "consequence", "identity", "also"),
)
IDENTITY = ("failure", "how", "blamed", "site", "condition", "ingredients")
"""The fields of an identity, in the order of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The record of a bug."""

    path: Path
    """The file of the record."""
    what: str
    """The fault in one sentence."""
    identities: tuple[Identity, ...]
    """The identities that its reproducer shows, then those of other modules."""
    reports: tuple[KnownReport, ...]
    """The reports that the bug causes; see `KnownReport`."""
    tvm: Claim
    consequence: Consequence | None = None
    """The gravest that its reproducer was seen to do to users; None: it was not measured."""
    fails_with: str | None = None
    """The beginning of the failure of the reproducer; see `fuzz.reproducer.replay.failure`."""
    reproducer: Path | None = None
    """The file of the same name beside the record, if the field is missing."""
    upstream: tuple[str, ...] = ()
    """Links to issues and pull requests of TVM."""
    thread: str | None = None
    """A dated summary of the links and their status, or the note that TVM's tracker has none."""
    verdict: str | None = None
    note: str | None = None
    """A remark on the verdict."""
    promise: tuple[str, ...] = ()
    """The promises of TVM, each with its place in the docs or the source."""
    source: str | None = None
    """The place in TVM's source that is wrong."""
    root_cause: str | None = None
    """The reason for the fault, if `what` does not state it."""
    symptoms: tuple[str, ...] = ()
    """Other failures with the same root cause."""
    workaround: str | None = None
    """Advice to the owner of a model: another way to write it, or the release that is repaired."""

    @property
    def name(self) -> str:
        """The root cause, e.g. "lift-params-undefined-output"."""
        return self.path.stem

    @property
    def passes(self) -> frozenset[str]:
        """The passes, operators or parser that the reports blame."""
        return frozenset(report[1] for report in self.reports)

    def sameness(self, identity: Identity) -> Sameness:
        """The agreement of a finding with the bug."""
        found = (compare(mine, identity) for mine in self.identities)
        return max(found, default=Sameness.OTHER)


class Lookup:
    """The known bugs of a version of TVM, by their identities."""

    def __init__(self, knowns: Iterable[Known], version: str) -> None:
        """
        Raises:
            ValueError: `version` is not a version.
        """
        self.knowns = tuple(known for known in knowns if known.tvm.expects_failure(version))
        self._blamed: dict[str, list[tuple[Known, Identity]]] = defaultdict(list)
        for known in self.knowns:
            for identity in known.identities:
                for name in identity.blamed:
                    self._blamed[name].append((known, identity))

    def of(self, identity: Identity, made_of: Collection[str] | None = None) -> tuple[Known, ...]:
        """The bugs that a report is, or is presumed to be.

        Args:
            made_of: the ingredients of a module that is not minimized; see `is_presumed`.
        """
        found = (
            known
            for name in identity.blamed
            for known, mine in self._blamed.get(name, ())
            if compare(mine, identity) is Sameness.SAME
            or (made_of is not None and is_presumed(mine, identity, made_of))
        )
        return tuple(dict.fromkeys(found))

    def similar(self, identity: Identity) -> tuple[Known, ...]:
        """The bugs that a report is similar to.

        If its module is not minimized, also the only one with its failure, blamed and site.
        """
        found = tuple(k for k in self.knowns if k.sameness(identity) is Sameness.SIMILAR)
        if found or identity.ingredients is not None:
            return found
        blamed = (each for name in identity.blamed for each in self._blamed.get(name, ()))
        alike = tuple(dict.fromkeys(known for known, mine in blamed if is_alike(mine, identity)))
        return alike if len(alike) == 1 else ()


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


def check_format(version: object, folder: Path | None = None) -> None:
    """Refuse identities of another format.

    Raises:
        ValueError: `version` is not `FORMAT`.
    """
    if version != FORMAT or isinstance(version, bool):
        where = "DIR" if folder is None else f"'{folder}'"
        raise ValueError(
            f"Expected format = {FORMAT} but got {version!r}: records of another version of "
            f"relaxfuzz match no report; `relaxfuzz known --renew {where}` makes them anew"
        )


def identity_from(fields: Mapping[str, Any]) -> Identity:
    """The identity in a table of a record.

    Raises:
        ValueError: a field is missing, unknown, or of another type.
    """
    unknown = sorted(fields.keys() - set(IDENTITY))
    if unknown or not {"failure", "blamed"} <= fields.keys():
        raise ValueError(f"Expected an identity with {', '.join(IDENTITY)} but got {list(fields)}")
    given = fields.get("ingredients")
    return Identity(
        failure=FailureKind(fields["failure"]),
        how=_word("how", fields),
        blamed=_texts("blamed", fields["blamed"], least=1),
        site=_texts("site", fields.get("site", [])),
        condition=_word("condition", fields),
        ingredients=None if given is None else frozenset(_texts("ingredients", given)),
    )


def fields_of(identity: Identity) -> dict[str, Any]:
    """The table of an identity, as `identity_from` reads it; empty fields are left out."""
    given = identity.ingredients
    table: dict[str, Any] = {
        "failure": str(identity.failure),
        "how": identity.how,
        "blamed": list(identity.blamed),
        "site": list(identity.site),
        "condition": identity.condition,
    }
    table = {name: value for name, value in table.items() if value}
    return table if given is None else {**table, "ingredients": sorted(given)}


def reports_of(fields: Mapping[str, Any]) -> tuple[KnownReport, ...]:
    """The reports that a record names.

    Raises:
        ValueError: it names none, or they are of another form.
    """
    return tuple(_texts("each of reports", each, 2) for each in _list(fields.get("reports")))


def _known(path: Path, fields: Mapping[str, Any]) -> Known:
    missing = [name for name in _REQUIRED if name not in fields]
    unknown = [name for name in fields if name not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        raise ValueError(
            f"Expected the fields {', '.join(_REQUIRED)} and perhaps {', '.join(_OPTIONAL)} "
            f"but got {list(fields)}"
        )
    check_format(fields["format"], path.parent)
    return Known(
        path=path,
        what=_text("what", fields["what"]),
        identities=tuple(
            identity_from(table)
            for name in ("identity", "also")
            for table in _tables(name, fields.get(name, []))
        ),
        reports=reports_of(fields),
        tvm=claim(_text("tvm", fields["tvm"])),
        consequence=_consequence(fields.get("consequence")),
        fails_with=_optional("fails_with", fields),
        reproducer=_reproducer(path, fields),
        upstream=_texts("upstream", fields.get("upstream", [])),
        thread=_optional("thread", fields),
        verdict=_optional("verdict", fields),
        note=_optional("note", fields),
        promise=_texts("promise", fields.get("promise", [])),
        source=_optional("source", fields),
        root_cause=_optional("root_cause", fields),
        symptoms=_texts("symptoms", fields.get("symptoms", [])),
        workaround=_optional("workaround", fields),
    )


def _consequence(table: object) -> Consequence | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ValueError(f"Expected consequence to be a table but got {table!r}")
    return consequence_from(table)


def _reproducer(path: Path, fields: Mapping[str, Any]) -> Path | None:
    if "reproducer" not in fields:
        beside = path.with_suffix(".py")
        return beside if _is_file(beside) else None
    name = _text("reproducer", fields["reproducer"])
    if not _is_file(path.parent / name):
        raise ValueError(f"Expected the path of a file but got reproducer={name!r}")
    return path.parent / name


def _word(name: str, fields: Mapping[str, Any]) -> str:
    return _text(name, fields[name]) if name in fields else ""


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


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"Expected reports to be a list of at least one but got {value!r}")
    return value


def _tables(name: str, value: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"Expected {name} to be a list of tables but got {value!r}")
    return value


def _texts(name: str, value: object, least: int = 0) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or len(value) < least
        or not all(isinstance(each, str) for each in value)
    ):
        raise ValueError(f"Expected {name} to be a list of texts but got {value!r}")
    return tuple(value)
