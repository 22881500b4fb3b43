"""The finding: a violation with all that is needed to see it again, as a value that is stored."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...oracles.catalogue import has_contract
from ...oracles.contract import NO_CONTRACT
from ...oracles.grades.grade import Grade
from ...oracles.grades.rule import OUT_OF_ORDER, grade, out_of_order
from ...oracles.identify import UNKNOWN, identity_of
from ...oracles.identity import FORMAT as IDENTITY_FORMAT
from ...oracles.identity import Identity
from ...oracles.passcall import PassCall
from ...oracles.text.exhibit import Exhibit
from ...oracles.violation import Mark, Violation, mark_of
from ..process.serialize import counted, parse, plain, typed
from ..process.targets import Recipe
from ..user_input.errors import UserError
from .evidence import Evidence

FORMAT = 4
"""Version of the stored form; a reader refuses any other."""

FILE_NAME = re.compile(r"[\w.-]{1,250}\.py", re.ASCII)
"""What a reproducer may be called: it lies in one folder of the store, and nowhere else."""


class BadFinding(UserError):
    """A text that should be a stored finding is none, for the reason in the message."""


class UnknownFormat(BadFinding):
    """A stored finding was written by a version of relaxfuzz that this one does not know."""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step of the triage that relaxfuzz itself failed at; the finding is kept without it."""

    step: str
    """What was to be done, e.g. `minimize`."""
    traceback: str
    module: str
    """The module that the step was given, as TVM JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One bug, confirmed or not, with everything that is needed to see it again."""

    violation: Violation
    module: str
    """The module, as TVM JSON of the TVM version that found it."""
    source: str = ""
    """The same module as Python source that rebuilds it; empty where it could not be written."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    seed: int | None = None
    """Seed and index of the generated module; None for a module of the user's."""
    index: int | None = None
    stage: str = "raw"
    recipe: Recipe = field(default_factory=Recipe)
    """What it was made of; seed, index, stage and this generate it."""
    exempt: tuple[str, ...] = ()
    """Promises that the pass does not make, as its author declared."""
    versions: Mapping[str, str]
    confirmed: bool = False
    """It came out again, with the same key and place, in a fresh process."""
    reduced: bool = False
    """The greedy reduction came to its end."""
    first_bad: str | None = None
    """The oldest version of TVM on which `relaxfuzz bisect` saw it fail; None: it did not run."""
    reproducer: str | None = None
    """File name in the `reproducers` folder of the store; None until one is seen to fail."""
    exhibit: Exhibit | None = None
    """What to look at first; None until the finding is published."""
    evidence: Evidence | None = None
    """What deduplication knows of the module; None until the finding is published."""
    made_of: tuple[str, ...] | None = None
    """The ingredients of the module as it was found; None where nobody looked at it."""
    similar: str = ""
    """A known bug that it is similar to, with what distinguishes the two; or empty."""
    first_id: str = ""
    """Its id, where the violation of the minimized module would have another one."""

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
        """The pass that is blamed."""
        return self.violation.pass_name

    @property
    def blames_last(self) -> bool:
        """The last of its passes is blamed, and is one of TVM's."""
        last = self.calls[-1] if self.calls else None
        return last is not None and last.factory is None and last.name == self.pass_name

    @property
    def is_met_on_the_way(self) -> bool:
        """A pass of the user's was checked, and something of TVM is blamed, e.g. the printer."""
        own = {call.name for call in self.calls if call.factory is not None}
        return bool(own) and self.pass_name not in own

    @property
    def has_contract(self) -> bool:
        """The pass that is blamed is none of TVM's that nobody has written a contract for."""
        blamed = (call for call in self.calls if call.name == self.pass_name)
        return all(map(has_contract, blamed))

    @property
    def label(self) -> str:
        """The pass that is blamed, with a mark if it has no contract."""
        return self.pass_name if self.has_contract else f"{self.pass_name} ({NO_CONTRACT})"

    @property
    def title(self) -> str:
        """See `Violation.title`."""
        return self.violation.title

    @property
    def detail(self) -> str:
        """See `Violation.detail`."""
        return self.violation.detail

    @property
    def key(self) -> tuple[str, ...]:
        """See `Violation.key`."""
        return self.violation.key

    @property
    def full_key(self) -> tuple[str, ...]:
        """See `Violation.full_key`."""
        return self.violation.full_key

    @property
    def rare(self) -> tuple[str, ...]:
        """What keeps the module from being plain; nothing as long as no evidence was taken."""
        found = () if self.evidence is None else self.evidence.rare
        # Of a module of the user's nobody knows the stage.
        generated = self.seed is not None
        early = generated and out_of_order(self.pass_name, self.stage)
        return (*found, OUT_OF_ORDER) if early else found

    @property
    def grade(self) -> Grade:
        """How much the bug matters; see `grades.rule`."""
        return grade(self.full_key, self.rare)

    @property
    def identity(self) -> Identity:
        """Failure, blamed, site and ingredients, as far as they are known by now."""
        known = UNKNOWN
        if self.evidence is not None:
            known = self.evidence.circumstances(minimized=self.reduced)
        return identity_of(self.violation, self.calls, known)

    @property
    def reported(self) -> Identity:
        """The identity of the report alone, whatever is known of the module."""
        return identity_of(self.violation, self.calls)

    @property
    def ingredients(self) -> tuple[str, ...] | None:
        """Those of a module that is not minimized, if they are known."""
        if self.reduced and self.evidence is not None:
            return None
        return self.made_of if self.evidence is None else self.evidence.ingredients

    @property
    def id(self) -> str:
        """Short and stable: the same report in the same TVM build has the same id in every run."""
        return self.first_id or id_of(mark_of(self.violation))

    def to_json(self) -> str:
        """The stored form."""
        return json.dumps({"format": FORMAT, "identity_format": IDENTITY_FORMAT, **plain(self)})

    @classmethod
    def from_json(cls, text: str) -> Finding:
        """Read the stored form, which may come from anybody. Nothing in it is executed.

        Raises:
            UnknownFormat: it was written in another format version, or with identities of one.
            BadFinding: it is no finding, or no value that a finding can have.
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
            counted([data.get("seed"), data.get("index")])
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
