"""The exhibit: the two texts that an oracle compared, and their difference."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm_ffi.access_path import AccessKind, AccessPath

from ..compat.serialization import load_json, save_json
from . import composition, keys
from .check import narrow
from .oracle import Half, Halves
from .pass_runs import attempt
from .snippets.printed import clipped, printed
from .structural.halves import ran
from .text import messages
from .tiers import ORACLES, STRUCTURAL
from .violation import Case, StepJournal, Violation, silent


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A finding to look at."""

    module: str
    """The module, as TVMScript; bounded, see `printed`."""
    left_label: str
    left: str
    """The expected text, or the one that came first."""
    right_label: str
    right: str
    """The actual text; empty if there is none, with the reason in the label."""

    @property
    def diff(self) -> str:
        """The unified diff, with the labels in its head; empty if there is nothing to compare."""
        if not self.left or not self.right:
            return ""
        sides = self.left.splitlines(), self.right.splitlines()
        labels = self.left_label, self.right_label
        return "\n".join(difflib.unified_diff(*sides, *labels, lineterm=""))

    @property
    def story(self) -> str:
        """The diff; if there is nothing to compare, the only text and the reason."""
        return self.diff or f"{self.left_label}:\n{self.left}\n\n{self.right_label}"


def exhibit(case: Case, violation: Violation, journal: StepJournal = silent) -> Exhibit:
    """Run the passes again and show what the oracle compared.

    If anything goes wrong on the way, the module itself is shown. Pass a copy of the case: a pass
    that mutates its input changes the case's module.
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
    """The exhibit of a module that even TVM's printer cannot handle."""
    text = clipped(module)
    return Exhibit(text, GIVEN, text, _blamed(violation), "")


GIVEN = "the module"

STEPS = frozenset(oracle.name for oracle in STRUCTURAL)
"""Oracles that blame one of several passes; the exhibit shows that pass with its own input."""


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
    except Exception:  # the exhibit is optional: the finding does not depend on it
        return Half(GIVEN, case.mod), Half(_blamed(violation))


def _before_and_after(case: Case, violation: Violation) -> Halves:
    if len(case.calls) != 1:
        return Half(GIVEN, case.mod), Half(_blamed(violation))
    (call,) = case.calls
    before = load_json(save_json(keys.comparable(case.mod)))
    after = ran(attempt(call.run, case.mod), f"after {call.name}", call.name)
    return Half(f"before {call.name}", before), after


def _text(half: Half, journal: StepJournal) -> str:
    journal(f"print {half.label}")
    return _joined("" if half.mod is None else printed(half.mod), half.values)


def _joined(*texts: str) -> str:
    return clipped("\n\n".join(filter(None, texts)))


def unprinted(left: tvm.IRModule, right: tvm.IRModule) -> tuple[str, str]:
    """The first place where the modules differ, with the nodes there, as comments; or nothing."""
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
