"""Reading TVMScript."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from types import FrameType

import pytest
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.script import outer_frames, read_script


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3))) -> R.Tensor((2, 3)):
        return R.add(x, x)


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[inspect.FrameInfo]]:
    """What stands in `inspect` outside of `read_script`: the tests' own is `outer_frames` too."""

    def frames(frame: FrameType | None, context: int = 1) -> list[inspect.FrameInfo]:
        return pytest.fail("TVMScript asked for the frames of inspect")

    monkeypatch.setattr(inspect, "getouterframes", frames)
    return frames


def test_what_is_read_is_what_was_printed(
    before: Callable[..., list[inspect.FrameInfo]],
) -> None:
    assert tvm_ffi.structural_equal(read_script(Module.script()), Module)
    assert inspect.getouterframes is before


def test_what_does_not_parse_leaves_inspect_as_it_was(
    before: Callable[..., list[inspect.FrameInfo]],
) -> None:
    with pytest.raises(Exception, match="Undefined variable"):
        read_script(Module.script().replace("R.add(x, x)", "R.add(x, y)"))
    assert inspect.getouterframes is before


def test_frames_are_those_of_the_stack() -> None:
    frames = outer_frames(sys._getframe())
    for found, (frame, line) in zip(frames, traceback.walk_stack(sys._getframe()), strict=True):
        assert (found.frame, found.filename) == (frame, frame.f_code.co_filename)
        assert found.function == frame.f_code.co_name
        assert frame is sys._getframe() or found.lineno == line
    assert frames[0].code_context == ["    frames = outer_frames(sys._getframe())\n"]
    assert outer_frames(sys._getframe(), 0)[0].code_context is None
