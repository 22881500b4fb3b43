"""Changes of the state of a process are found; what may grow may grow."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from relaxfuzz.fuzz.process.process_state import PARTS, StateWatch, question
from relaxfuzz.oracles.passcall import PassCall

OWN = PassCall("mine", factory="package.module:mine")


def test_nothing_has_changed() -> None:
    watch = StateWatch([OWN])
    assert watch.changed() is None


def test_a_pass_of_tvm_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = StateWatch([PassCall("FoldConstant()")])
    monkeypatch.chdir("/")
    assert watch.changed() is None


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("the working directory", lambda patch: patch.chdir("/")),
        ("the garbage collector", lambda patch: gc.disable()),
        ("sys.path", lambda patch: patch.setattr(sys, "path", [])),
        ("sys.modules", lambda patch: patch.delitem(sys.modules, "json")),
        ("sys.stdout or sys.stderr", lambda patch: patch.setattr(sys, "stdout", None)),
        ("the warnings that are errors", lambda patch: warnings.filterwarnings("error", "some")),
    ],
)
def test_a_change_is_found(
    what: str, change: Callable[[pytest.MonkeyPatch], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        watch = StateWatch([OWN])
        change(monkeypatch)
        changed = watch.changed()
        gc.enable()
        monkeypatch.undo()
    assert changed == what


def test_what_may_grow_may_grow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watch = StateWatch([OWN])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "no_such_module", os)
    assert watch.changed() is None


@pytest.mark.parametrize("what", PARTS)
def test_an_expression_can_be_evaluated_anywhere(what: str) -> None:
    modules, expression = question(what)
    names: dict[str, object] = {}
    exec(f"import {modules}\nbefore = {expression}\nsame = before == ({expression})", names)
    assert names["same"]
