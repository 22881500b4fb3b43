"""The fewest passes that still show a violation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.minimize.findings import ddmin, fewer_passes
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.passcall import PassCall


@pytest.mark.parametrize(
    "needed", [{3}, {0, 9}, {2, 3, 4}, {0, 4, 5, 9}, set(range(10)), {9}, {1, 8}]
)
def test_ddmin_finds_exactly_what_is_needed(needed: set[int]) -> None:
    asked: list[tuple[int, ...]] = []

    def holds(items: tuple[int, ...]) -> bool:
        asked.append(items)
        return needed <= set(items)

    assert set(ddmin(tuple(range(10)), holds)) == needed
    assert () not in asked


def test_ddmin_keeps_the_order_and_is_minimal_where_it_is_not_monotone() -> None:
    def holds(items: tuple[int, ...]) -> bool:
        return sum(items) % 7 == 3 and 5 in items

    least = ddmin((3, 1, 4, 1, 5, 9, 2, 6), lambda items: holds(items) or len(items) == 8)
    assert least == (3, 1, 4, 1, 5, 9, 2, 6) or holds(least)
    for i in range(len(least)):
        assert not holds(least[:i] + least[i + 1 :])


USER = """
import ctypes

import tvm
from tvm import relax


def _pass(name, transform):
    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def marks():
    return _pass("marks", lambda mod, context: mod.with_attr("marked", 1))


def raises_on_marked():
    def transform(mod, context):
        if mod.attrs and "marked" in mod.attrs:
            raise ValueError("marked")
        return mod

    return _pass("raises_on_marked", transform)


def raises():
    def transform(mod, context):
        if "R.add" in mod.script():
            raise ValueError("no add")
        return mod

    return _pass("raises", transform)


def dies_on_marked():
    def transform(mod, context):
        if mod.attrs and "marked" in mod.attrs:
            ctypes.string_at(0)
        return mod

    return _pass("dies_on_marked", transform)


def remembers_marked():
    def transform(mod, context):
        tvm.seen = bool(mod.attrs and "marked" in mod.attrs)
        return mod

    return _pass("remembers_marked", transform)


def raises_on_memory():
    def transform(mod, context):
        if getattr(tvm, "seen", False):
            raise ValueError("seen")
        return mod

    return _pass("raises_on_memory", transform)


def raises_in_context():
    def transform(mod, context):
        if context.config.get("relax.backend.use_cuda_graph"):
            raise ValueError("cuda graph")
        return mod

    return _pass("raises_in_context", transform)
"""


@pytest.fixture
def user(tmp_path: Path) -> Callable[[str], PassCall]:
    (tmp_path / "user.py").write_text(USER)
    return lambda name: PassCall(f"{name}()", factory=f"{tmp_path / 'user.py'}:{name}")


def finding(pool: LocalPool, module: str, *calls: PassCall) -> Finding:
    (violation,) = check(pool, Check(module=module, calls=calls))
    return Finding(
        violation=violation, module=module, calls=calls, versions={"tvm": tvm.__version__}
    )


IDLE = (
    PassCall("DeadCodeElimination()"),
    PassCall("ToNonDataflow()"),
    PassCall("CanonicalizeBindings()"),
)


def test_passes_that_have_nothing_to_do_with_it_go(
    pool: LocalPool, sums: str, user: Callable[[str], PassCall]
) -> None:
    found = finding(pool, sums, *IDLE, user("raises"), *IDLE)
    reported: list[int] = []
    fewer = fewer_passes(pool, found, lambda shorter: reported.append(len(shorter.calls)))
    assert fewer.calls == (user("raises"),)
    assert fewer.module == sums
    assert reported[-1] == 1


def test_what_the_passes_before_it_make_takes_their_place(
    pool: LocalPool, sums: str, user: Callable[[str], PassCall]
) -> None:
    found = finding(pool, sums, *IDLE, user("marks"), *IDLE, user("raises_on_marked"))
    reported: list[tuple[PassCall, ...]] = []
    fewer = fewer_passes(pool, found, lambda shorter: reported.append(shorter.calls))
    alone = user("raises_on_marked")
    assert reported[-2:] == [(user("marks"), alone), (alone,)]
    assert fewer.calls == (alone,)
    assert tvm.ir.load_json(fewer.module).attrs["marked"] == 1


def test_a_death_after_another_pass_is_that_of_one_pass(
    pool: LocalPool, sums: str, user: Callable[[str], PassCall]
) -> None:
    found = finding(pool, sums, *IDLE, user("marks"), *IDLE, user("dies_on_marked"))
    assert found.oracle == "segfault"
    fewer = fewer_passes(pool, found)
    assert fewer.calls == (user("dies_on_marked"),)
    assert tvm.ir.load_json(fewer.module).attrs["marked"] == 1


def test_the_shortest_end_of_a_list_is_named(
    pool: LocalPool, sums: str, user: Callable[[str], PassCall]
) -> None:
    """What the last pass alone does not show, on a module that the first one has made."""
    both = user("remembers_marked"), user("raises_on_memory")
    found = finding(pool, sums, *IDLE, user("marks"), both[0], *IDLE, both[1])
    fewer = fewer_passes(pool, found)
    assert fewer.calls == both
    assert tvm.ir.load_json(fewer.module).attrs["marked"] == 1


OPTION = {"relax.backend.use_cuda_graph": True}


@pytest.mark.parametrize("name", ["raises", "raises_in_context"])
def test_options_that_have_nothing_to_do_with_it_go(
    pool: LocalPool, sums: str, user: Callable[[str], PassCall], name: str
) -> None:
    calls = (*IDLE, dataclasses.replace(user(name), config=OPTION))
    (call,) = fewer_passes(pool, finding(pool, sums, *calls)).calls
    assert call.config == (OPTION if name == "raises_in_context" else {})
