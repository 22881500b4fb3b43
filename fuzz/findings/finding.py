"""The finding: one confirmed (or not confirmed) bug, as a value that can be stored and re-run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...oracles.oracle import Violation
from ...oracles.passcall import PassCall
from ...oracles.text.exhibit import Exhibit
from ..process.protocol import Identity
from ..process.serialize import counted, parse, typed
from ..process.targets import Origin
from ..user_input.mistake import Mistake

FORMAT = 1
"""Version of the stored form; a reader refuses any other."""


FILE_NAME = re.compile(r"[\w.-]{1,250}\.py", re.ASCII)
"""What a reproducer may be called: it lies in one folder of the store, and nowhere else."""


class BadFinding(Mistake):
    """A text that should be a stored finding is none; says why."""


class UnknownFormat(BadFinding):
    """A stored finding was written by a version of relaxfuzz that this one does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an oracle found wrong, with everything that is needed to see it again."""

    oracle: str
    pass_name: str
    title: str
    detail: str
    key: tuple[str, ...]
    fingerprint: tuple[str, ...]
    module: str
    """The module, as TVM JSON of the TVM version that found it."""
    source: str
    """The same module as Python source that rebuilds it; empty where it could not be written."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    seed: int | None = None
    """Seed and index of the generated module; None for a module of the user's."""
    index: int | None = None
    stage: str = "raw"
    disabled: tuple[str, ...] = ()
    """Traits that the module was generated without; with seed, index and stage it comes again."""
    ops: tuple[str, ...] = ()
    """The operators that it was made of; none: all."""
    exempt: tuple[str, ...] = ()
    """Promises that the author of the pass said it does not make."""
    versions: Mapping[str, str]
    confirmed: bool = False
    """It came out again, with the same key, in a fresh process."""
    reduced: bool = False
    """The greedy reduction came to its end."""
    first_bad: str | None = None
    """The oldest version of TVM on which `relaxfuzz bisect` saw it fail; None: it was not asked."""
    reproducer: str | None = None
    """File name in the `reproducers` folder of the store; None until one is seen to fail."""

    exhibit: Exhibit | None = None
    """What to look at first; None until it is published, and in stores of older versions."""

    @classmethod
    def of(
        cls,
        violation: Violation,
        *,
        module: str,
        versions: Mapping[str, str],
        source: str = "",
        calls: tuple[PassCall, ...] = (),
        pipeline: str | None = None,
        origin: Origin | None = None,
        exempt: tuple[str, ...] = (),
        confirmed: bool = False,
    ) -> Finding:
        """What an oracle said of this module; nobody has seen it again yet."""
        return cls(
            oracle=violation.oracle,
            pass_name=violation.pass_name,
            title=violation.title,
            detail=violation.detail,
            key=violation.key,
            fingerprint=violation.fingerprint,
            module=module,
            source=source,
            calls=calls,
            pipeline=pipeline,
            seed=None if origin is None else origin.seed,
            index=None if origin is None else origin.index,
            stage="raw" if origin is None else str(origin.stage),
            disabled=() if origin is None else tuple(map(str, origin.disabled)),
            ops=() if origin is None else origin.ops,
            exempt=exempt,
            versions=versions,
            confirmed=confirmed,
        )

    @property
    def id(self) -> str:
        """Short and stable: the same bug in the same TVM build has the same id in every run."""
        return identify(self.oracle, self.pass_name, self.key)

    @property
    def violation(self) -> Violation:
        """The oracle's own account."""
        return Violation(
            self.oracle, self.pass_name, self.title, self.detail, self.key, self.fingerprint
        )

    def to_json(self) -> str:
        """The stored form."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Finding:
        """Read the stored form, which may come from anybody. Nothing in it is executed.

        Raises:
            UnknownFormat: it was written in another format version.
            BadFinding: it is no finding, or no value that a finding can have.
        """
        try:
            data = parse(text)
            if not isinstance(data, dict):
                raise ValueError(f"expected an object but got {text[:40]!r}")
            version = data.pop("format", None)
            if version != FORMAT or isinstance(version, bool):
                raise UnknownFormat(
                    f"Expected a finding in format {FORMAT} but got format={version!r:.40}; "
                    "read it with the relaxfuzz version that wrote it"
                )
            counted([data.get("seed"), data.get("index")])
            made: Finding = typed(data, cls)
        except ValueError as error:
            raise BadFinding(f"no finding: {error}") from None
        if "tvm" not in made.versions:
            raise BadFinding("no finding: versions does not say that of tvm")
        if made.reproducer is not None and not FILE_NAME.fullmatch(made.reproducer):
            raise BadFinding(
                f"no finding: expected the name of a Python file but got "
                f"reproducer={made.reproducer[:80]!r}"
            )
        return made


def id_of(identity: Identity) -> str:
    """The id of the finding with this identity."""
    oracle, name, key = identity
    return identify(oracle, name, key)


def identify(oracle: str, pass_name: str, key: tuple[str, ...]) -> str:
    """The id of the finding with this oracle, pass and key."""
    return hashlib.sha256(json.dumps([oracle, pass_name, *key]).encode()).hexdigest()[:10]
