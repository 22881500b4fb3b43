"""The exhibit: what an oracle compared, as two texts and their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm_ffi.access_path import AccessKind, AccessPath

from ...compat.serialization import load_json, save_json
from .. import composition, keys
from ..check import narrow
from ..oracle import Half, Halves
from ..pass_runs import attempt
from ..tiers import ORACLES, STRUCTURAL
from ..violation import Case, Journal, Violation, silent
from . import messages
from .diff import unified
from .halves import ran
from .printed import clipped, printed


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A finding to look at."""

    module: str
    """The module, as TVMScript; bounded, see `printed`."""
    left_label: str
    left: str
    """What was expected, or came first."""
    right_label: str
    right: str
    """What came instead; empty where there is nothing, with the reason in the label."""

    @property
    def diff(self) -> str:
        """Unified, with the labels in its head; empty where there is nothing to compare."""
        if not self.left or not self.right:
            return ""
        return unified(self.left, self.right, self.left_label, self.right_label)

    @property
    def story(self) -> str:
        """The difference; where there is nothing to compare, what there is, and why no more."""
        return self.diff or f"{self.left_label}:\n{self.left}\n\n{self.right_label}"


def exhibit(case: Case, violation: Violation, journal: Journal = silent) -> Exhibit:
    """Run the passes again and show what the oracle compared.

    Whatever goes wrong on the way, the module itself is shown. The case's module is changed by a
    pass that changes its input: give a copy.
    """
    journal("print the module")
    module = printed(case.mod)
    journal("show")
    left, right = _halves(case, violation)
    texts = _text(left, journal), _text(right, journal)
    if texts[0] == texts[1] and left.mod is not None and right.mod is not None:
        besides = unprinted(left.mod, right.mod)
        texts = _joined(texts[0], besides[0]), _joined(texts[1], besides[1])
    same = ": the same" if texts[0] == texts[1] else ""
    return Exhibit(module, left.label, texts[0], f"{right.label}{same}", texts[1])


def alone(module: str, violation: Violation) -> Exhibit:
    """The module, where not even TVM's printer survives it."""
    text = clipped(module)
    return Exhibit(text, GIVEN, text, _blamed(violation), "")


GIVEN = "the module"

STEPS = frozenset(oracle.name for oracle in STRUCTURAL)
"""Oracles that blame one of several passes, which is shown then with what it was given."""


def _blamed(violation: Violation) -> str:
    return f"{violation.pass_name}: {violation.title}"


def _halves(case: Case, violation: Violation) -> Halves:
    try:
        if violation.oracle in STEPS:
            case = narrow(case, violation)
        if len(case.calls) > 1:
            shown = composition.halves(case, violation)
        elif violation.oracle in ORACLES:
            shown = ORACLES[violation.oracle].halves(case, violation)
        else:  # it ended the process
            shown = Half(GIVEN, case.mod), Half(_blamed(violation))
        return shown or _before_and_after(case, violation)
    except Exception:  # what is shown is a help, not the finding
        return Half(GIVEN, case.mod), Half(_blamed(violation))


def _before_and_after(case: Case, violation: Violation) -> Halves:
    if len(case.calls) != 1:
        return Half(GIVEN, case.mod), Half(_blamed(violation))
    (call,) = case.calls
    before = load_json(save_json(keys.comparable(case.mod)))
    after = ran(attempt(call.run, case.mod), f"after {call.name}", call.name)
    return Half(f"before {call.name}", before), after


def _text(half: Half, journal: Journal) -> str:
    journal(f"print {half.label}")
    return _joined("" if half.mod is None else printed(half.mod), half.values)


def _joined(*texts: str) -> str:
    return clipped("\n\n".join(filter(None, texts)))


def unprinted(left: tvm.IRModule, right: tvm.IRModule) -> tuple[str, str]:
    """The first place where the modules differ and what is there, as comments; or nothing."""
    left, right = keys.comparable(left), keys.comparable(right)
    paths = tvm_ffi.get_first_structural_mismatch(left, right, map_free_vars=True)
    if paths is None:
        return "", ""
    return _place(left, paths[0]), _place(right, paths[1])


def _place(root: Any, path: AccessPath) -> str:
    node = root
    for step in path.to_steps():
        try:
            node = getattr(node, step.key) if step.kind == AccessKind.ATTR else node[step.key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return f"# not printed: {path}\n# nothing"
    return "\n".join(
        f"# {line}" for line in [f"not printed: {path}", *messages.value_text(node).splitlines()]
    )
