"""Examples by number: fresh, independent, the same in every process."""

from __future__ import annotations

import os
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


def picture() -> str:
    """Draws of each kind: Hypothesis draws literals of a user's sources now and then."""
    big = st.lists(st.integers(0, 9_999), min_size=200, max_size=200)
    code = st.lists(st.binary(min_size=20, max_size=20), min_size=200, max_size=200)
    drawn = [(example(big, 1, index), example(code, 1, index)) for index in range(5)]
    return f"{entropy('a', 1)} {example(DIGITS, 1, 2)} {entropy(drawn)}"


def test_every_process_draws_the_same_whatever_is_loaded_and_writes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text("LITERALS = (8_642, b'twenty of our bytes!')\n")
    other = "0" if os.environ.get("PYTHONHASHSEED") != "0" else "1"
    printed = subprocess.run(
        [sys.executable, "-c", f"import mine\nfrom {__name__} import picture\nprint(picture())"],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join([*sys.path, str(tmp_path)]), "PYTHONHASHSEED": other},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == picture()
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "__pycache__"}
