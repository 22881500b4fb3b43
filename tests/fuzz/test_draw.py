"""Examples by number: fresh, independent, the same in every process."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from relaxfuzz.fuzz.draw import NoExample, entropy, example

DIGITS = st.lists(st.integers(0, 9), min_size=30, max_size=30)


def test_the_same_number_is_the_same_example() -> None:
    assert example(DIGITS, 1, 2) == example(DIGITS, 1, 2)


def test_other_numbers_and_seeds_are_other_examples() -> None:
    examples = [example(DIGITS, seed, index) for seed in range(10) for index in range(10)]
    assert len({tuple(each) for each in examples}) == 100


def test_examples_are_independent() -> None:
    """Neighbours have no more digits in common than chance gives them: 3 of 30."""
    pairs = [(example(DIGITS, 1, i), example(DIGITS, 1, i + 1)) for i in range(100)]
    common = sum(a == b for left, right in pairs for a, b in zip(left, right, strict=True))
    assert 200 < common < 400


def test_filtered_examples_are_drawn_again() -> None:
    strategy = st.integers(0, 9).map(lambda n: (assume(n != 3), n)[1]).filter(lambda n: n != 4)
    values = {example(strategy, 1, index) for index in range(200)}
    assert values == set(range(10)) - {3, 4}


def test_examples_that_are_too_large_are_drawn_again() -> None:
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


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_every_process_draws_the_same(hash_seed: str) -> None:
    program = (
        "from hypothesis import strategies as st\n"
        "from relaxfuzz.fuzz.draw import entropy, example\n"
        "digits = st.lists(st.integers(0, 9), min_size=30, max_size=30)\n"
        "print(entropy('a', 1), example(digits, 1, 2))\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == f"{entropy('a', 1)} {example(DIGITS, 1, 2)}"
