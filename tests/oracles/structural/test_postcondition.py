"""The short check of a post-condition fails on the wrong result, and on no other."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.passcall import parse
from relaxfuzz.oracles.structural.postcondition import ORACLE
from relaxfuzz.oracles.violation import Case, Violation

WRONG = Violation.titled("a promise is broken", "")


@I.ir_module
class Dead:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.exp(x)  # noqa: F841
        return R.add(x, x)


@pytest.mark.parametrize(
    ("name", "other", "spelled"),
    [("DeadCodeElimination", "Normalize", True), ("Normalize", "DeadCodeElimination", False)],
)
def test_it_fails_on_the_wrong_result_only(
    name: str, other: str, spelled: bool, tmp_path: Path
) -> None:
    """The result is spelled out unless the pass leaves the module as it is."""
    (text,) = ORACLE.brief(Case(Dead, (parse(f"{name}()"),)), WRONG)
    assert ("class Wrong:" in text) == spelled
    path = tmp_path / "check.py"
    path.write_text(f"import tvm_ffi\n{text}", encoding="utf-8")

    def run(the_pass: str) -> None:
        made = getattr(tvm.relax.transform, the_pass)()
        runpy.run_path(str(path), {"mod": Dead, "the_pass": made})

    with pytest.raises(AssertionError, match=WRONG.title):
        run(name)
    run(other)


def test_a_pass_that_raises_leaves_nothing_to_compare() -> None:
    case = Case(Dead, (parse("Gradient('nowhere')"),))
    assert list(ORACLE.brief(case, WRONG)) == []
