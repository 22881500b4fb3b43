"""Messages as JSON lines."""

from __future__ import annotations

import dataclasses
import io
import typing
from collections.abc import Callable
from typing import Any

import pytest

from relaxfuzz.compat.availability import Availability
from relaxfuzz.fuzz.campaign.block import (
    Block,
    ModuleDone,
    Regenerate,
    Rest,
    Resume,
    StageDone,
    WentOn,
)
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.jobs import trials
from relaxfuzz.fuzz.jobs.evidence import Evidence
from relaxfuzz.fuzz.jobs.generating import Generate, Generated
from relaxfuzz.fuzz.jobs.jobs import (
    Advance,
    Check,
    CheckEach,
    CheckOf,
    CheckResult,
    Examine,
    Explain,
    Part,
    Read,
    Show,
    Walk,
    WriteChecks,
)
from relaxfuzz.fuzz.jobs.measuring import Measure
from relaxfuzz.fuzz.jobs.reproducers import RunReproducer, ShownViolation
from relaxfuzz.fuzz.jobs.trials import Try
from relaxfuzz.fuzz.minimize.child import Reduce, SearchProgress, Shrunk
from relaxfuzz.fuzz.minimize.reduction import EditId
from relaxfuzz.fuzz.process.protocol import (
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
from relaxfuzz.fuzz.process.targets import Origin, PassStats, Recipe, Target
from relaxfuzz.fuzz.zygote import HANDLERS
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.explain.trouble import Excerpt, Explanation, Trouble, TroubleKind
from relaxfuzz.oracles.grades.consequence import Consequence, Effect, Where
from relaxfuzz.oracles.identity import FailureKind, Identity
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import Answer
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.values.frameworks import ImporterVerdict
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
    rest=Rest(
        resume=Resume(Stage.FUSED, 4),
        checked={"FuseOps": 3},
        visited={"FuseOps": 5},
        banned=("Foo",),
    ),
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
            TroubleKind.NOT_LOWERED,
            "left",
            "main",
            None,
            Excerpt("x = y", None, 4, 1, "this", "model.py:1:5"),
            ("why",),
            ("do", "or do"),
        ),
    ),
    built=False,
)
VERDICT = ImporterVerdict(
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
            UnconfirmedFinding(VIOLATION, "{}", ORIGIN, (CALL,), None, ("relax.add",)),
            StageDone(3, Stage.FUSED, {"FuseOps": PassStats(2, 1, 0, 0.5, 1, {"json": 2})}),
            WentOn(3, Stage.FUSED, 2, "FuseOps", "{}"),
            ModuleDone(3, {"own.py": (7,)}),
        ],
    ),
    (
        CHECK,
        [
            CheckResult(
                (VIOLATION, VIOLATION),
                pieces=2,
                parts=(Part("{}", "main: gv", ("relax.add",)), None),
            ),
            CheckResult(()),
        ],
    ),
    (
        CheckEach(module="{}", checks=(CheckOf("zero"), CheckOf(calls=(CALL,)))),
        [
            CheckResult((VIOLATION,), (Answer(oracle="evaluated", omitted=("values in NumPy",)),)),
            CheckResult(()),
        ],
    ),
    (
        RunReproducer(file="/a/b.py", reports=(("crash", "Foo"), ("json", "Foo", "exception"))),
        [
            ShownViolation(None, "{}"),
            ShownViolation(VIOLATION, "{}", (CALL,)),
            ShownViolation(VIOLATION, pipeline="zero"),
        ],
    ),
    (
        Generate(family="relax", seed=1, first=0, count=1, form="json"),
        [Generated("a1b2", "{}"), Generated("a1b2", "", reads_back=False)],
    ),
    (Regenerate(ORIGIN), [('{"root": 1}', ("model.onnx, main, bindings 0 to 1",))]),
    (Explain(module="{}", pipeline="zero", file="model.py"), [EXPLANATION]),
    (
        Check(module="{}", pipeline="default", reference="torch", build_seconds=5.0),
        [CheckResult((), verdict=VERDICT)],
    ),
    (Advance(module="{}", call=CALL, stage=Stage.FUSED), ["{}", ""]),
    (Walk(module="{}", pipeline="zero"), [((CALL, "{}"), (CALL, ""))]),
    (
        Measure(module="{}", violation=VIOLATION, calls=(CALL,)),
        [Consequence(Effect.MEMORY, Where.PIPELINE), None],
    ),
    (REDUCE, [Shrunk("{}", EditId(1, 2), 17), SearchProgress(18)]),
    (
        dataclasses.replace(REDUCE, after=EditId(3, 7), share=1, shares=2),
        [SearchProgress(19, True)],
    ),
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
        [trials.TrialResult("FuseOps", None), trials.TrialResult("FuseOps", "it is gone")],
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
