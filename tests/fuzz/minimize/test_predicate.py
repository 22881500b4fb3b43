"""Predicates of the user's: commands that find a module interesting or not."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize import predicate
from relaxfuzz.fuzz.minimize.parallel import SearchState
from relaxfuzz.fuzz.minimize.predicate import Command, shrink_by
from relaxfuzz.oracles.inspect import bindings_of


@pytest.fixture(scope="module")
def module() -> str:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        value = x
        for op in (relax.op.exp, relax.op.sin, relax.op.cos, relax.op.tanh):
            value = builder.emit(op(value))
        builder.emit_func_output(value)
    return str(tvm.ir.save_json(builder.get()))


def ask(text: str, module: str) -> tuple[int | None, str]:
    return Command(text).ask(module)


def test_the_file_is_the_last_argument_and_holds_json(module: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    assert ask(f"sh -c 'cp $0 {copy}'", module) == (0, "")
    assert copy.read_text() == module


def test_the_file_goes_where_the_braces_are(module: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    assert ask(f"cp {{}} {copy}", module) == (0, "")
    assert copy.read_text() == module


def test_a_command_that_does_not_end_is_a_no(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicate, "SECONDS", 0.2)
    began = time.monotonic()
    code, message = ask("sh -c 'sleep 60; true'", module)
    assert code is None
    assert "more than" in message
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("text", ["", "  ", "sh -c 'true"])
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expected a command|No closing quotation"):
        Command(text)


COSINE = "grep -q relax.cos"


@pytest.mark.parametrize("workers", [1, 3])
def test_a_module_gets_as_small_as_the_command_lets_it(module: str, workers: int) -> None:
    trail: list[str] = []
    states: list[SearchState] = []
    faults: dict[str, None] = {}
    state = shrink_by(
        Command(COSINE),
        SearchState(module=module),
        workers=workers,
        over=lambda: False,
        progress=states.append,
        trail=trail,
        faults=faults,
    )
    assert not faults
    assert state.ended
    assert state.module == trail[-1]
    assert state.accepted == len(trail)
    mod = tvm.ir.load_json(state.module)
    assert len(bindings_of(mod)) == 1
    assert "R.cos" in mod.script()
    assert states[-1] == state


def test_the_user_may_end_it(module: str) -> None:
    slow = f"{sys.executable} -c 'import time; time.sleep(600)'"
    began = time.monotonic()
    state = shrink_by(
        Command(slow),
        SearchState(module=module),
        workers=2,
        over=lambda: time.monotonic() - began > 0.5,
        progress=lambda state: None,
        trail=[],
        faults={},
    )
    assert (state.module, state.ended) == (module, False)
    assert time.monotonic() - began < 60
