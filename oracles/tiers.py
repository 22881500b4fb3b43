"""Every oracle, in the order in which a check asks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .metamorphic import fresh_process, history, laws, oracles, refused
from .metamorphic.pairs import oracles as pairs
from .on_device import oracle as on_device
from .on_device import source
from .oracle import Oracle
from .silence.log import Answer
from .structural import (
    crash,
    devices,
    idempotence,
    interface,
    lowering_complete,
    mutation,
    postcondition,
    reference,
    sequential,
    well_formed,
)
from .values import (
    builds,
    effects,
    evaluated,
    exec_modes,
    executed,
    gradients,
    pipeline_values,
    sanitized,
)

STRUCTURAL: tuple[Oracle, ...] = (
    # Without a result there is nothing else to look at.
    crash.ORACLE,
    # An ill-formed result explains whatever comes of working on it.
    well_formed.ORACLE,
    # A changed input makes every later run one on another module.
    mutation.ORACLE,
    # Results that are not the same each time cannot be compared with anything.
    sequential.DETERMINISTIC,
    sequential.REPEATABLE,
    sequential.SEQUENTIAL,
    interface.FUNCTIONS,
    interface.SIGNATURE,
    interface.ATTRIBUTES,
    # What the pass left undone, the second run does: report the former, not both.
    postcondition.ORACLE,
    # A result that breaks the post-condition differs from the right one, too: report the former.
    reference.ORACLE,
    # It reports what the pass leaves alone by design; the others, what it does wrong.
    lowering_complete.ORACLE,
    idempotence.ORACLE,
)
"""Tier 1: asked in every check."""

EVALUATED: tuple[Oracle, ...] = (
    # A fault in a PrimFunc explains what it computes.
    sanitized.ORACLE,
    evaluated.ORACLE,
    # Values that differ may be what is printed.
    effects.ORACLE,
    gradients.ORACLE,
    laws.LAWS,
)
"""Tier 3: asked in nearly every check."""

EXECUTED: tuple[Oracle, ...] = (
    executed.ORACLE,
    # What the VM runs of the result has been built.
    builds.ORACLE,
    pipeline_values.ORACLE,
    exec_modes.ORACLE,
    laws.LAWS_OF_BUILDS,
    *pairs.ORACLES,
    source.ORACLE,
    # Behind all others: whether one of them is drawn changes nothing that is drawn before.
    *on_device.ORACLES,
)
"""Tier 4: asked of a sample."""

_ALL = (
    *STRUCTURAL,
    devices.ORACLE,
    *oracles.ORACLES,
    history.ORACLE,
    # What an earlier module left in the process, `history` shows with the module.
    fresh_process.ORACLE,
    refused.ORACLE,
    *EVALUATED,
    *EXECUTED,
)

ORACLES: Mapping[str, Oracle] = {oracle.name: oracle for oracle in _ALL}
"""All oracles by name, in that order."""

USUAL = tuple(name for name, oracle in ORACLES.items() if not oracle.on_request)
"""The names of those that are asked although nobody names them."""


def compared(answers: Iterable[Answer], asked: Collection[str] | None = None) -> bool:
    """An oracle compared what the pass, or the pipeline, has made of the module.

    Oracles that compare runs, whatever the pass does, only count where no other one was asked.

    Args:
        asked: the oracles that were named; None: the usual ones.
    """
    only = asked is not None and not any(map(_compares_results, asked))
    return any(
        answer.silent is None and (only or _compares_results(answer.oracle)) for answer in answers
    )


def _compares_results(name: str) -> bool:
    return not ORACLES[name].of_runs and ORACLES[name].tier != 2


assert len(ORACLES) == len(_ALL), "two oracles bear the same name"
assert all(o.tier == 1 or o.cost > 0 for o in _ALL), "what is sampled has a cost"
