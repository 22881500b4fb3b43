"""Two checkouts beside each other: the ratio of what they do in a second."""

from __future__ import annotations

import pytest

from bench.versus import HERE, Campaign, campaign, checks, ratios


def test_each_round_is_compared_by_itself() -> None:
    old = [Campaign(modules=8, checks=100, wall=10, cpu=10), Campaign(8, 100, wall=40, cpu=10)]
    new = [Campaign(modules=8, checks=100, wall=5, cpu=8), Campaign(8, 100, wall=20, cpu=8)]
    assert ratios(old, new) == pytest.approx(
        {"modules/s": 2, "checks/s": 2, "modules/CPU s": 1.25, "checks/CPU s": 1.25}
    )


@pytest.mark.session
def test_a_run_is_measured_with_all_of_its_processes() -> None:
    run = campaign(HERE, "1", "8s", known=True)
    assert run.modules > 0
    assert run.cpu > 1


def test_the_same_modules_give_the_same_rows() -> None:
    one, other = (checks(HERE, "3", "2") for _ in range(2))
    assert (one.modules, one.checks) == (2, other.checks)
    assert one.rows == other.rows
    assert any("'checks': 1" in row for row in one.rows)
