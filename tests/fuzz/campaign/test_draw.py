"""Examples by number: fresh, independent, the same in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from relaxfuzz.fuzz.jobs.draw import NoExample, entropy, example

DIGITS = st.lists(st.integers(0, 9), min_size=30, max_size=30)


def test_the_same_number_is_the_same_example() -> None:
    assert example(DIGITS, 1, 2) == example(DIGITS, 1, 2)


def test_filtered_examples_are_redrawn() -> None:
    strategy = st.integers(0, 9).map(lambda n: (assume(n != 3), n)[1]).filter(lambda n: n != 4)
    values = {example(strategy, 1, index) for index in range(200)}
    assert values == set(range(10)) - {3, 4}


def test_examples_that_are_too_large_are_redrawn() -> None:
    huge = st.integers(0, 1).flatmap(
        lambda n: st.binary(min_size=9_000, max_size=9_000) if n else st.just(b"small")
    )
    assert {example(huge, 1, index) for index in range(20)} == {b"small"}


def test_a_strategy_without_examples_is_named() -> None:
    with pytest.raises(NoExample, match=r"seed=1, index=2, integers"):
        example(st.integers(0, 9).filter(lambda n: n > 9), 1, 2)


def test_errors_of_the_strategy_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        example(st.integers(0, 9).map(lambda n: 1 // 0), 1, 2)


def test_an_error_says_which_example_was_being_made() -> None:
    """And not what Hypothesis prints of the strategy, which may be a thousand lines."""
    with pytest.raises(ZeroDivisionError) as caught:
        example(DIGITS.map(lambda digits: 1 // 0), 7, 12)
    assert caught.value.__notes__ == ["while generating example 12 of seed 7"]


def drawn(program: str, folder: Path, **environment: str) -> str:
    """What a program prints in a process of its own, which has this module's `DIGITS`."""
    before = (
        "from hypothesis import strategies as st\n"
        "from relaxfuzz.fuzz.jobs.draw import entropy, example\n"
        "digits = st.lists(st.integers(0, 9), min_size=30, max_size=30)\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", before + program],
        cwd=folder,
        env={"PYTHONPATH": ":".join([*sys.path, str(folder)]), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout.strip()


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_every_process_draws_the_same(hash_seed: str, tmp_path: Path) -> None:
    program = "print(entropy('a', 1), example(digits, 1, 2))"
    output = drawn(program, tmp_path, PYTHONHASHSEED=hash_seed)
    assert output == f"{entropy('a', 1)} {example(DIGITS, 1, 2)}"


def test_what_else_is_loaded_changes_no_draw_and_nothing_is_written(tmp_path: Path) -> None:
    """Hypothesis draws literals of a user's sources now and then, and keeps them in a folder."""
    (tmp_path / "mine.py").write_text("LITERALS = (8_642, b'twenty of our bytes!')\n")
    program = (
        "import mine\n"
        "big = st.lists(st.integers(0, 9_999), min_size=200, max_size=200)\n"
        "code = st.lists(st.binary(min_size=20, max_size=20), min_size=200, max_size=200)\n"
        "drawn = [(example(big, 1, i), example(code, 1, i)) for i in range(5)]\n"
        "print(entropy(drawn))"
    )
    others = drawn(program.replace("import mine\n", ""), tmp_path)
    assert drawn(program, tmp_path) == others
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "__pycache__"}
