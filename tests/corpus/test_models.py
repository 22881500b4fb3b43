"""The models that come with relaxfuzz: each is well-formed, cut into pieces, and can be built."""

from __future__ import annotations

import inspect
from functools import cache

import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import availability
from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.jobs.trials import PIECE
from relaxfuzz.generators.rewrite.dims import sizes_of
from relaxfuzz.generators.seeds import Piece, pieces_of
from relaxfuzz.generators.seeds.slimming import ELEMENTS, largest
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import ops_used

AVAILABLE = [name for name in MODELS if name not in availability.current().models]

NOT_FOR_THE_CPU = {
    "partitioned": "the code generator that it is partitioned for does not exist",
    "scheduled_kernels": "its kernels are scheduled for a GPU",
}

NOT_LEGALIZED = {
    "shape_arithmetic": "LegalizeOps takes no reshape to a shape that is only then known",
    "upsampling_decoder": "LegalizeOps calls a function for pixel_shuffle that TVM has nowhere",
    "exported_program": "LegalizeOps cannot fill with an infinity",
}
"""What TVM 0.26 and 0.27 get wrong, or do not do."""

NOT_COMPILED = {"packed_attention": "code generation takes the sum of two bools for one of floats"}
"""The same, after all passes."""


@cache
def model(name: str) -> tvm.IRModule:
    return MODELS[name]()


@cache
def pieces(name: str) -> tuple[Piece, ...]:
    return tuple(pieces_of(model(name), name, PIECE))


def test_all_work_on_a_release() -> None:
    assert list(MODELS) == AVAILABLE


@pytest.mark.parametrize("name", AVAILABLE)
def test_the_model_is_well_formed_and_real(name: str) -> None:
    mod = model(name)
    assert flaw(mod) is None
    assert max(sizes_of(mod)) >= 64
    text = inspect.getdoc(MODELS[name])
    assert text is not None
    assert text.endswith(".")
    assert tvm_ffi.structural_equal(mod, MODELS[name](), map_free_vars=True)


@pytest.mark.parametrize("name", AVAILABLE)
def test_its_pieces_are_small_and_well_formed(name: str) -> None:
    assert pieces(name)
    for piece in pieces(name):
        mod = piece.load()
        assert flaw(mod) is None
        assert largest(mod) <= ELEMENTS
    again = pieces_of(model(name), name, PIECE)
    assert [piece.digest for piece in pieces(name)] == [piece.digest for piece in again]


def test_together_they_have_most_families_of_operators() -> None:
    used = {op for name in AVAILABLE for op in ops_used(model(name))}
    kept = {op for name in AVAILABLE for piece in pieces(name) for op in piece.ops}
    assert len(used) > 100
    assert len(kept) > 100


@pytest.mark.session
@pytest.mark.parametrize("name", AVAILABLE)
def test_the_model_can_be_built(name: str) -> None:
    if name in NOT_FOR_THE_CPU:
        pytest.skip(NOT_FOR_THE_CPU[name])
    if name in NOT_LEGALIZED:
        with pytest.raises(Exception):  # noqa: B017, PT011  # of many kinds
            relax.transform.LegalizeOps()(model(name))
        return
    if name in NOT_COMPILED:
        with pytest.raises(tvm.error.InternalError, match="MatchesCode"):
            relax.build(model(name), target="llvm")
        return
    relax.build(model(name), target="llvm")
