"""The finding: a violation with everything needed to reproduce it, as a stored value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...generators.seeds import Piece
from ...oracles.catalogue import has_contract
from ...oracles.consequence import assumed
from ...oracles.contract import NO_CONTRACT
from ...oracles.exhibit import Exhibit
from ...oracles.grades.consequence import Consequence
from ...oracles.grades.grade import Grade
from ...oracles.identify import UNKNOWN, identity_of
from ...oracles.identity import FORMAT as IDENTITY_FORMAT
from ...oracles.identity import Identity
from ...oracles.passcall import PassCall
from ...oracles.violation import Mark, Violation, mark_of
from ..jobs.evidence import Evidence
from ..process.targets import Origin
from ..system.errors import UserError
from ..system.serialize import counted, parse, plain, typed
from .listed import FILE_NAME

NOT_MEASURED = "not measured"
"""Placeholder for a consequence that there was no time to measure."""

FORMAT = 7
"""Version of the stored form; a reader refuses any other."""


class BadFinding(UserError):
    """A text is not a stored finding although it should be, for the reason in the message."""


class UnknownFormat(BadFinding):
    """A stored finding was written by a version of relaxfuzz that this one does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One bug, confirmed or not, with everything needed to reproduce it."""

    violation: Violation
    module: str
    """The module, as TVM JSON of the TVM version that found it."""
    source: str = ""
    """The same module as Python source that rebuilds it; empty if it could not be written."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    origin: Origin | None = None
    """The origin of the generated module; None for a user's module."""
    exempt: tuple[str, ...] = ()
    """Promises that the pass does not make, according to its author."""
    versions: Mapping[str, str]
    confirmed: bool = False
    """True if it occurred again, with the same key and place, in a fresh process."""
    reduced: bool = False
    """True if the greedy reduction ran to its end."""
    reproducer: str | None = None
    """File name in the store's `reproducers` folder; None until a script was seen to fail."""
    exhibit: Exhibit | None = None
    """The part to look at first; None until the finding is published."""
    evidence: Evidence | None = None
    """Facts about the module for deduplication; None until the finding is published."""
    consequence: Consequence | None = None
    """The gravest observed effect of the minimized module on users; None: not measured."""
    made_of: tuple[str, ...] | None = None
    """The ingredients of the module as found; None if it was not examined."""
    similar: str = ""
    """A known bug that it is similar to, with the difference between the two; or empty."""
    faults: tuple[str, ...] = ()
    """Steps of the triage at which relaxfuzz itself failed, each with its traceback."""
    first_id: str = ""
    """Its id, if the minimized module's violation would have another id."""

    @property
    def of_known(self) -> Iterator[str]:
        """One sentence on its similarity to a known bug."""
        if self.similar:
            yield f"similar to the known bug {self.similar}"

    @property
    def oracle(self) -> str:
        """The oracle that found it."""
        return self.violation.oracle

    @property
    def pass_name(self) -> str:
        """The blamed pass."""
        return self.violation.pass_name

    @property
    def blames_last(self) -> bool:
        """True if the last of its passes is blamed, and is a pass of TVM."""
        last = self.calls[-1] if self.calls else None
        return last is not None and last.factory is None and last.name == self.pass_name

    @property
    def is_met_on_the_way(self) -> bool:
        """True if a user's pass was checked, but a part of TVM is blamed, e.g. the printer."""
        own = {call.name for call in self.calls if call.factory is not None}
        return bool(own) and self.pass_name not in own

    @property
    def has_contract(self) -> bool:
        """False if the blamed pass is one of TVM without a contract."""
        blamed = (call for call in self.calls if call.name == self.pass_name)
        return all(map(has_contract, blamed))

    @property
    def label(self) -> str:
        """The blamed pass, with a mark if it has no contract."""
        return self.pass_name if self.has_contract else f"{self.pass_name} ({NO_CONTRACT})"

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of real modules in the generated module."""
        return () if self.origin is None else self.origin.recipe.pieces

    @property
    def title(self) -> str:
        """See `Violation.title`."""
        return self.violation.title

    @property
    def detail(self) -> str:
        """See `Violation.detail`."""
        return self.violation.detail

    @property
    def weight(self) -> Consequence:
        """The consequence if measured; else the gravest that the report allows."""
        return assumed(self.violation) if self.consequence is None else self.consequence

    @property
    def grade(self) -> Grade:
        """The grade of its consequence."""
        return self.weight.grade

    @property
    def effect(self) -> str:
        """Its consequence in a few words, or that it was not measured."""
        return NOT_MEASURED if self.consequence is None else str(self.consequence)

    @property
    def identity(self) -> Identity:
        """Failure, blamed, site and ingredients, as far as known."""
        known = UNKNOWN
        if self.evidence is not None:
            known = self.evidence.circumstances(minimized=self.reduced)
        return identity_of(self.violation, self.calls, known)

    @property
    def reported(self) -> Identity:
        """The identity of the report alone, without facts about the module."""
        return identity_of(self.violation, self.calls)

    @property
    def ingredients(self) -> tuple[str, ...] | None:
        """The ingredients of a module that is not minimized, if they are known."""
        if self.reduced and self.evidence is not None:
            return None
        return self.made_of if self.evidence is None else self.evidence.ingredients

    @property
    def id(self) -> str:
        """A short id: the same report in the same TVM build always has the same id."""
        return self.first_id or id_of(mark_of(self.violation))

    def to_json(self) -> str:
        """The stored form."""
        return json.dumps({"format": FORMAT, "identity_format": IDENTITY_FORMAT, **plain(self)})

    @classmethod
    def from_json(cls, text: str) -> Finding:
        """Read the stored form, which is untrusted. Nothing in it is executed.

        Raises:
            UnknownFormat: it was written in another format version, or with identities of one.
            BadFinding: it is not a finding, or has a value that a finding cannot have.
        """
        try:
            data = parse(text)
            if not isinstance(data, dict):
                raise ValueError(f"expected an object but got {text[:40]!r}")
            for name, expected in (("format", FORMAT), ("identity_format", IDENTITY_FORMAT)):
                version = data.pop(name, None)
                if version != expected or isinstance(version, bool):
                    raise UnknownFormat(
                        f"Expected a finding in {name} {expected} but got {name}={version!r:.40}; "
                        "read it with the relaxfuzz version that wrote it"
                    )
            data.pop("first_bad", None)  # only older stores have it
            counted(data.get("origin"))
            made: Finding = typed(data, cls)
        except ValueError as error:
            raise BadFinding(f"no finding: {error}") from None
        if "tvm" not in made.versions:
            raise BadFinding("no finding: versions does not name that of tvm")
        if made.reproducer is not None and not FILE_NAME.fullmatch(made.reproducer):
            raise BadFinding(
                f"no finding: expected the name of a Python file but got "
                f"reproducer={made.reproducer[:80]!r}"
            )
        return made


def id_of(mark: Mark) -> str:
    """The id of a finding whose violation has this mark."""
    return hashlib.sha256(json.dumps(mark).encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class UnconfirmedFinding:
    """A violation in a campaign, not confirmed yet."""

    violation: Violation
    module: str
    """TVM JSON of the input of the pass; empty if this block or an earlier one has already reported
    a violation with this mark."""
    origin: Origin
    """The origin of the module; its recipe names the pieces, each with its edits."""
    calls: tuple[PassCall, ...]
    pipeline: str | None
    ingredients: tuple[str, ...] | None = None
    """Ingredients of the module; None if a pass killed its process, or several were checked."""

    def finding(self, versions: Mapping[str, str], exempt: tuple[str, ...]) -> Finding:
        """Make the finding to store.

        Args:
            exempt: the oracles from which the pass's author has exempted it.
        """
        return Finding(
            violation=self.violation,
            module=self.module,
            versions=versions,
            calls=self.calls,
            pipeline=self.pipeline,
            origin=self.origin,
            exempt=exempt,
            made_of=self.ingredients,
        )
