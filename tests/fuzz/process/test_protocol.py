"""Messages as JSON lines."""

from __future__ import annotations

import dataclasses
import io
import typing
from collections.abc import Callable
from typing import Any

import pytest

from relaxfuzz.compat.availability import Availability
from relaxfuzz.fuzz.findings.evidence import Evidence
from relaxfuzz.fuzz.minimize.child import OtherViolation, Reduce, Shrunk, Tried
from relaxfuzz.fuzz.minimize.reduction import EditId
from relaxfuzz.fuzz.probe import trials
from relaxfuzz.fuzz.probe.trials import Try
from relaxfuzz.fuzz.process.block import Block, ModuleDone, Regenerate, Resume, StageDone, Violated
from relaxfuzz.fuzz.process.jobs import (
    Check,
    CheckEach,
    Checked,
    Examine,
    Explain,
    Judge,
    Reach,
    Read,
    Show,
    WriteChecks,
)
from relaxfuzz.fuzz.process.protocol import (
    USUAL,
    VERSION,
    Broken,
    Cancel,
    Death,
    Died,
    Ended,
    Failed,
    Forked,
    Heartbeat,
    Job,
    Limits,
    Position,
    ProtocolError,
    Ready,
    Reply,
    Request,
    Result,
    Submit,
    UnknownJob,
    decode_reply,
    decode_request,
    encode,
    result_type,
)
from relaxfuzz.fuzz.process.reproducers import RunReproducer, Shown
from relaxfuzz.fuzz.process.targets import Origin, PassStats, Recipe, Target
from relaxfuzz.fuzz.process.worker import HANDLERS
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.explain import Excerpt, Explanation, Kind, Trouble
from relaxfuzz.oracles.identity import FailureKind, Identity
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import Answer
from relaxfuzz.oracles.text.exhibit import Exhibit
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.values.frameworks import Verdict
from relaxfuzz.oracles.violation import Raised, Violation

CALL = PassCall("Foo(x='\n')", {"relax.FuseOps.max_depth": 4}, ("import foo",), "a.b:c")
VIOLATION = Violation(
    "it fell",
    "line 1\nline 2 ✗",
    ("a", "b"),
    "foo.cc:3",
    Trace(("Foo::Visit", "Fall"), "(n > 0)"),
    Raised("ValueError", "legalization", "mine.py:fall"),
    "unknown shape",
    "crash",
    "Foo",
)
ORIGIN = Origin(7, 3, Stage.FUSED, Recipe(disabled=(Trait.RECURSION,)))
POSITION = Position(3, Stage.FUSED, 2, "Foo", (CALL,), "zero", "idempotent")
BLOCK = Block(
    seed=7,
    start=0,
    count=16,
    targets=(Target("Foo", CALL, (Stage.RAW,), ("idempotent",)), Target("FuseOps")),
    oracles=("crash",),
    recipe=Recipe(ops=("add",), forced=(Trait.IF,), numbers=(2.5,), dtypes=("int8",)),
    checked={"FuseOps": 3},
    visited={"FuseOps": 5},
    resume=Resume(Stage.FUSED, 4),
    banned=("Foo",),
)
CHECK = Check(module="{}", calls=(CALL,), oracles=("crash",))
WANTED = Identity(
    failure=FailureKind.RAISES,
    blamed=("Foo", "Bar"),
    site=("Foo::Visit", "Fall"),
    condition="(n > 0)",
    ingredients=frozenset({"If", "relax.add"}),
)
REDUCE = Reduce(check=CHECK, wanted=WANTED, anchor=EditId(1, 2))
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
VERDICT = Verdict(
    "torch 2.14.1",
    "from_exported_program",
    ("aten.cumsum.default gives int64 in torch and bool in the module (relax.cumsum, lv14)",),
    evaluated="values: expected [1.] but got [2.]",
    starts="aten.cumsum.default (relax.cumsum, lv14)",
    not_built="it takes too long",
)
OFF = Availability(ops={"abs": "it is gone"}, build="0f1e2d")
EXAMPLES: list[tuple[Job[Any], list[Any]]] = [
    (
        BLOCK,
        [
            Violated(VIOLATION, ORIGIN, (CALL,), None, "{}", ("MatchCast",), ("relax.add",)),
            StageDone(3, Stage.FUSED, {"FuseOps": PassStats(2, 1, 0, 0.5, 3, 1, {"json": 2})}),
            ModuleDone(3, ("add",), {"FuseOps": True}),
        ],
    ),
    (CHECK, [Checked((VIOLATION, VIOLATION), (), 2, "{}"), Checked(())]),
    (
        CheckEach(module="{}", pipelines=("zero",), calls=(CALL,)),
        [
            Checked((VIOLATION,), (Answer(oracle="evaluated", omitted=("values in NumPy",)),)),
            Checked(()),
        ],
    ),
    (
        RunReproducer(file="/a/b.py", reports=(("crash", "Foo"), ("json", "Foo", "exception"))),
        [Shown(None, "{}"), Shown(VIOLATION, "{}", (CALL,)), Shown(VIOLATION, pipeline="zero")],
    ),
    (Regenerate(ORIGIN), [('{"root": 1}', ("model.onnx, main, bindings 0 to 1",))]),
    (Explain(module="{}", pipeline="zero", file="model.py", locate=False), [EXPLANATION]),
    (Judge(module="{}", folder="torch", seconds=5.0), [VERDICT, None]),
    (REDUCE, [Shrunk("{}", EditId(1, 2), 17), OtherViolation(VIOLATION, "{}"), Tried(18)]),
    (dataclasses.replace(REDUCE, after=EditId(3, 7), share=1, shares=2), [Tried(19, True)]),
    (Reach("{}", (CALL, CALL)), [("{}", "{}")]),
    (
        Show("{}", VIOLATION, (CALL,), "zero"),
        [Exhibit("module", "before", "a", "after", "b")],
    ),
    (WriteChecks("{}", VIOLATION, (CALL,), "zero", False), [("the_pass(mod)",), ()]),
    (Read("/a/b.py", "/a"), ["it is empty", None]),
    (
        Examine("{}", True),
        [Evidence(ingredients=("If", "relax.add"), retyped=("relax.add", "dtype"))],
    ),
    (
        Try(trial="step", names=("FuseOps",), availability=OFF, samples=("relax 1", "relax 2")),
        [trials.Tried("FuseOps", None), trials.Tried("FuseOps", "it is gone")],
    ),
]
"""Jobs, each with results."""

JOBS = dict(enumerate(job for job, _ in EXAMPLES))
REQUESTS: list[Request] = [
    *(Submit(id, job, Limits(1.5, 100)) for id, job in JOBS.items()),
    Cancel(1),
]
REPLIES: list[Reply] = [
    *(Result(id, value) for id, (_, values) in enumerate(EXAMPLES) for value in values),
    Failed(1, "Traceback …", POSITION),
    Failed(1, "Traceback …", None),
    Failed(1, "no such file", POSITION, user_error=True),
    Failed(1, "this TVM has no abs", POSITION, drift=True),
    Ready(VERSION, 4711, "0.27.0"),
    Forked(1, 4711),
    Heartbeat(1, POSITION),
    Ended(1),
    Died(1, Death.HANG, -9, POSITION, "last words"),
    Broken(1, "why"),
]


def request(line: bytes) -> Request:
    return decode_request(line, HANDLERS)


def reply(line: bytes) -> Reply:
    return decode_reply(line, lambda id: result_type(JOBS[id]))


@pytest.mark.parametrize("message", REQUESTS, ids=lambda message: type(message).__name__)
def test_an_encoded_request_is_decoded(message: Request) -> None:
    assert request(encode(message)) == message


@pytest.mark.parametrize("message", REPLIES, ids=lambda message: type(message).__name__)
def test_an_encoded_reply_is_decoded(message: Reply) -> None:
    assert reply(encode(message)) == message


def test_every_message_job_and_result_is_tried() -> None:
    assert {type(message) for message in REQUESTS} == {*typing.get_args(Request)}
    assert {type(message) for message in REPLIES} == {*typing.get_args(Reply)}
    assert {type(job) for job in JOBS.values()} == {*HANDLERS}
    for kind in (BLOCK, REDUCE):
        results = {type(value) for job, values in EXAMPLES for value in values}
        assert results >= {*typing.get_args(result_type(kind))}


def test_a_stream_has_one_message_a_line() -> None:
    assert [request(line) for line in io.BytesIO(b"".join(map(encode, REQUESTS)))] == REQUESTS
    assert [reply(line) for line in io.BytesIO(b"".join(map(encode, REPLIES)))] == REPLIES


def test_a_path_that_is_not_utf8_arrives_unchanged() -> None:
    job = Read("/a/\udcff.py", "/a")
    assert request(encode(Submit(0, job))) == Submit(0, job)


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
        b'{"message":"Submit","id":1,"job":{"kind":3},"limits":{}}',
        b'{"message":"Submit","id":1,"job":{"kind":"Check"},"limits":{}}',
        b'{"message":"Result","id":0,"value":{"kind":"Shrunk"}}',
        b'{"message":"Result","id":2,"value":3}',
    ],
)
@pytest.mark.parametrize("decode", [request, reply])
def test_a_line_that_is_no_message_is_refused(
    line: bytes, decode: Callable[[bytes], object]
) -> None:
    with pytest.raises(ProtocolError, match=f"protocol version {VERSION} but got"):
        decode(line)


def test_a_job_of_an_unknown_type_is_refused_with_its_id() -> None:
    with pytest.raises(UnknownJob, match="but got 'Play'") as refused:
        request(b'{"message":"Submit","id":7,"job":{"kind":"Play"},"limits":{}}')
    assert refused.value.id == 7


def test_a_step_on_a_large_module_may_take_longer() -> None:
    usual = Limits(step_seconds=2.0, memory_mb=100)
    assert usual.for_module("x" * 10) == usual
    assert usual.for_module("x" * (5 * USUAL)) == Limits(step_seconds=10.0, memory_mb=100)
    assert usual.for_module("x" * (100 * USUAL)).step_seconds == 60.0
