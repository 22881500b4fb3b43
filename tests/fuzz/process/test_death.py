"""Deaths of a pass at different places are different bugs."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.process import death
from relaxfuzz.fuzz.process.protocol import Death, Died, Position
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.identify import identity_of
from relaxfuzz.oracles.identity import Identity, is_alike
from relaxfuzz.oracles.passcall import PassCall

SEGFAULT = """\
!!!!!!! Segfault encountered !!!!!!!
  File "/tvm/src/relax/transform/fuse_ops.cc", line 30, in tvm::relax::{function}(int)
  File "/tvm/src/ir/transform.cc", line 9, in tvm::transform::Pass::operator()(tvm::IRModule) const
"""


def identity(kind: Death, *, step: str = "crash", stderr: str = "") -> Identity:
    call = PassCall("FuseOps()")
    died = Died(1, kind, -11, Position(0, Stage.RAW, 0, "FuseOps", (call,), None, step), stderr)
    return identity_of(death.violation(died), (call,))


def segfault(function: str) -> Identity:
    return identity(Death.SEGFAULT, stderr=SEGFAULT.format(function=function))


def changes(what: str) -> Identity:
    return identity(Death.CHANGED, step=what)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (segfault("Fuse"), segfault("Split")),
        (changes("the random state of NumPy"), changes("the working directory")),
        (identity(Death.HANG), identity(Death.OUT_OF_MEMORY)),
    ],
    ids=["stack", "side effect", "death"],
)
def test_they_are_told_apart(one: Identity, other: Identity) -> None:
    assert is_alike(one, one)
    assert not is_alike(one, other)


def test_the_step_in_which_time_or_memory_ends_is_an_accident() -> None:
    assert is_alike(identity(Death.HANG, step="crash"), identity(Death.HANG, step="idempotent"))
