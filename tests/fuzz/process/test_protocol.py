"""Messages as JSON lines."""

from __future__ import annotations

import dataclasses
import io
import typing

import pytest

from relaxfuzz.fuzz.findings.evidence import Evidence
from relaxfuzz.fuzz.minimize.reduction import Spot
from relaxfuzz.fuzz.process.protocol import (
    Beat,
    Block,
    Cancel,
    Check,
    Checked,
    Death,
    Died,
    Ended,
    Examine,
    Examined,
    Execute,
    Executed,
    Exhausted,
    Explain,
    Explained,
    Failed,
    Forked,
    Limits,
    Lost,
    Message,
    Met,
    ModuleDone,
    Narrow,
    Narrowed,
    Origin,
    PassStats,
    Place,
    ProtocolError,
    Ready,
    Reduce,
    Regenerate,
    Regenerated,
    Reply,
    Request,
    Resume,
    Show,
    Shown,
    Shrunk,
    StageDone,
    Submit,
    Target,
    Tried,
    Violated,
    WasRead,
    decode,
    encode,
)
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.explain import Excerpt, Explanation, Kind, Trouble
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.exhibit import Exhibit
from relaxfuzz.oracles.violation import Raised, Violation

CALL = PassCall("Foo(x='\n')", {"relax.FuseOps.max_depth": 4}, ("import foo",), "a.b:c")
VIOLATION = Violation(
    "it fell",
    "line 1\nline 2 ✗",
    ("a", "b"),
    "foo.cc:3",
    Raised("ValueError", "it fell", "Fall", True, "nn.py:_relu"),
    "unknown shape",
    "crash",
    "Foo",
)
ORIGIN = Origin(7, 3, Stage.FUSED, (Trait.RECURSION,))
PLACE = Place(3, Stage.FUSED, 2, "Foo", (CALL,), "zero", "idempotent")
BLOCK = Block(
    seed=7,
    start=0,
    count=16,
    targets=(Target("Foo", CALL, (Stage.RAW,), ("idempotent",)), Target("FuseOps")),
    oracles=("crash",),
    disabled=(Trait.IF,),
    checked={"FuseOps": 3},
    visited={"FuseOps": 5},
    resume=Resume(Stage.FUSED, 4),
    banned=("Foo",),
)
REDUCE = Reduce(
    module="{}",
    oracle="crash",
    pass_name="Foo",
    key=("a", "b"),
    calls=(CALL,),
    oracles=("crash",),
    anchor=Spot(1, 2),
)
EXPLANATION = Explanation(
    "zero",
    ("LegalizeOps",),
    (
        Trouble(
            Kind.NOT_LOWERED,
            "left",
            "main",
            None,
            (Excerpt("x = y", None, 4, 1, "this", "model.py:1:5"),),
            ("why",),
            ("do", "or do"),
        ),
    ),
    built=False,
)
MESSAGES: list[Message] = [
    Submit(1, BLOCK, Limits(1.5, 100)),
    Submit(2, Check(module="{}", calls=(CALL,), oracles=("crash",))),
    Submit(3, Regenerate(ORIGIN)),
    Submit(4, Explain(module="{}", pipeline="zero", file="model.py", locate=False)),
    Submit(5, REDUCE),
    Submit(7, Narrow(VIOLATION, "{}", (CALL,), "zero")),
    Submit(8, Show("{}", VIOLATION, (CALL,), "zero")),
    Submit(9, Execute("/a/b.py", 60.0)),
    Submit(10, Examine("{}", True)),
    Submit(6, dataclasses.replace(REDUCE, after=Spot(3, 7), share=1, shares=2)),
    Cancel(1),
    Violated(1, VIOLATION, ORIGIN, (CALL,), None, "{}"),
    StageDone(1, 3, Stage.FUSED, {"FuseOps": PassStats(2, 1, 0, 0.5, 3, 1, {"json": 2})}),
    ModuleDone(1, 3),
    Checked(2, (VIOLATION, VIOLATION)),
    Checked(2, ()),
    Regenerated(3, '{"root": 1}'),
    Explained(4, EXPLANATION),
    Shrunk(5, "{}", Spot(1, 2), 17),
    Met(5, VIOLATION, "{}"),
    Tried(5, 18),
    Exhausted(5, 19),
    Narrowed(7, "{}", (CALL,), None),
    Shown(8, Exhibit("module", "before", "a", "after", "b")),
    Examined(10, Evidence(pattern="p", ops=("relax.add",), unknowns=(), retyped=(("a", "rank"),))),
    WasRead(9, "it is empty"),
    Failed(1, "Traceback …", PLACE),
    Failed(1, "Traceback …", None),
    Failed(1, "no such file", PLACE, mistake=True),
    Ready(1, 4711, "0.27.0"),
    Forked(1, 4711, 2),
    Beat(1, PLACE),
    Ended(1),
    Died(1, Death.HANG, -9, PLACE, "last words"),
    Executed(1, -9, "last words"),
    Lost(1, "why"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_is_written_is_read(message: Message) -> None:
    assert decode(encode(message)) == message


def test_every_message_is_tried() -> None:
    kinds = {*typing.get_args(Request), *typing.get_args(Reply)}
    assert {type(message) for message in MESSAGES} == kinds


def test_a_stream_has_one_message_a_line() -> None:
    stream = io.BytesIO(b"".join(map(encode, MESSAGES)))
    assert [decode(line) for line in stream] == MESSAGES


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'{"message":"Nonsense"}',
        b'{"message":"Ended"}',
        b'{"message":"Ended","id":1,"more":2}',
        b'{"message":"Died","id":1,"death":"boredom","code":0,"place":null}',
        b'{"message":"Submit","id":1,"job":{"job":"Play"}}',
    ],
)
def test_a_line_that_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="protocol version 1 but got"):
        decode(line)
