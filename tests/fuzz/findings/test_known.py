"""Known bugs are counted, new ones are reported, and fixed ones are noticed."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import pytest
import tomlkit
import tvm

from relaxfuzz import corpus
from relaxfuzz.corpus.knowns import Known, fields_of, known, knowns
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice, Expected, add, extend, is_certain, prune, tables
from relaxfuzz.fuzz.jobs.evidence import Evidence
from relaxfuzz.fuzz.reproducer.replay import ReplayStatus
from relaxfuzz.fuzz.reproducer.verify import verify
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.identity import Identity
from relaxfuzz.oracles.passcall import PassCall, public_passes
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Raised, Violation
from tests.fuzz.changed import changed

from ...commands import relaxfuzz

HERE = "0.27.0.post1"
USER = Path(__file__).parents[1] / "user_passes.py"
FAILS = "import sys\n\nif __name__ == '__main__':\n    raise ValueError('still')\n"
PASSES = "import sys\n\nif __name__ == '__main__':\n    pass\n"

TRACE = Trace(("Grouping::Run", "Grouping::Visit"), "it != end")


def finding(
    pass_name: str = "FuseOps",
    trace: Trace = TRACE,
    call: PassCall | None = None,
    within: str = "",
) -> Finding:
    """An exception that a pass raises."""
    violation = Violation(
        "it raises",
        "",
        ("ValueError", trace.condition),
        "file.cc:1",
        trace=trace,
        raised=Raised("ValueError", within),
    )
    return Finding(
        violation=violation.blame("crash", pass_name),
        module="",
        calls=(call or PassCall("FuseOps()"),),
        versions={"tvm": HERE},
        confirmed=True,
    )


def minimized(found: Finding, *ingredients: str) -> Finding:
    """The finding, of a module that consists of these."""
    return dataclasses.replace(found, reduced=True, evidence=Evidence(ingredients=ingredients))


def wrong_values(*made_of: str) -> Finding:
    """Other values: the site alone tells nothing of the cause."""
    found = changed(finding(), oracle="evaluated", key=("values",), trace=Trace(), raised=None)
    return dataclasses.replace(found, made_of=made_of)


def least_wrong(*ingredients: str) -> Finding:
    """Other values of a minimized module."""
    return minimized(wrong_values(), *ingredients)


def written(
    folder: Path, identity: Identity, name: str = "x", tvm: str = f"fails on {HERE}"
) -> Known:
    document = tomlkit.document()
    document.update({"what": "it raises", "tvm": tvm, "format": 4})
    document["reports"] = [["crash", blamed] for blamed in identity.blamed]
    document["identity"] = tables([fields_of(identity)])
    path = folder / f"{name}.toml"
    path.write_text(f"# by hand\n{tomlkit.dumps(document)}")
    return known(path)


def made(
    folder: Path, name: str = "x", fails_on: str = HERE, *, reproducer: str | None = None
) -> Known:
    """The bug of `finding`."""
    if reproducer is not None:
        (folder / f"{name}.py").write_text(reproducer.replace("'__main__'", '"__main__"'))
    return written(folder, finding().identity, name, f"fails on {fails_on}")


def test_a_known_whose_reproducer_passes_on_this_build_excuses_nothing(tmp_path: Path) -> None:
    one = made(tmp_path)
    expected = Expected([one], [], HERE)
    assert expected.of(finding()) == (one,)
    expected.fixed = frozenset({one.name})
    assert expected.of(finding()) == (one,), "reports still name it"
    assert not expected.take(finding())
    assert expected.reports == {}
    assert expected.similar(finding("FuseTIR")) == ""


def test_a_report_of_a_known_is_counted_and_taken(tmp_path: Path) -> None:
    one = made(tmp_path)
    expected = Expected([one], [], HERE)
    assert expected.take(finding())
    assert expected.take(finding()), "a repeated report is taken, but not counted"
    longer = Trace(("Grouping::Run", "Grouping::Merge", "Grouping::Visit"), "it != end")
    assert expected.take(finding(trace=longer))
    for elsewhere in (
        Trace(("Grouping::Run", "Grouping::Merge"), "it != end"),
        Trace(TRACE.functions, "it == end"),
    ):
        assert not expected.take(finding(trace=elsewhere))
    assert (expected.total, expected.reports[one]) == (2, 2)


@pytest.mark.parametrize(
    ("found", "is_known"),
    [
        (least_wrong("If", "MatchCast"), True),
        (least_wrong("If"), True),
        (least_wrong("Tuple"), False),
        (least_wrong(), False),
        (wrong_values("If", "MatchCast", "Tuple"), True),
        (wrong_values("If", "Tuple"), False),
    ],
)
def test_what_tells_nothing_of_its_cause_is_known_by_what_its_module_needs(
    tmp_path: Path, found: Finding, is_known: bool
) -> None:
    """A module that is not minimized has to have all of it."""
    one = written(tmp_path, least_wrong("If", "MatchCast").identity)
    assert Expected([one], [], HERE).take(found) is is_known


def test_a_module_of_nothing_in_particular_is_presumed_to_show_what_needs_nothing(
    tmp_path: Path,
) -> None:
    one = written(tmp_path, least_wrong().identity)
    assert Expected([one], [], HERE).take(wrong_values("If"))
    assert Expected([one], [], HERE).take(wrong_values())


def test_what_differs_from_a_known_in_one_respect_is_said_to_be_similar(tmp_path: Path) -> None:
    one = written(tmp_path, minimized(finding(), "If").identity)
    expected = Expected([one], [], HERE)
    call, own = PassCall("FuseTIR()"), PassCall("FuseTIR()", factory="my_passes.py:FuseTIR")
    other = minimized(finding("FuseTIR", call=call), "If")
    assert expected.of(other) == ()
    assert expected.similar(other) == "x (FuseTIR is blamed)"
    elsewhere = Trace(("Fusing::Visit",), "n > 0")
    for found in (finding("FuseTIR", elsewhere, call), finding("FuseTIR", call=own)):
        assert expected.similar(minimized(found, "If")) == ""


def test_a_report_that_is_not_minimized_is_similar_to_the_only_bug_that_fails_alike(
    tmp_path: Path,
) -> None:
    one = written(tmp_path, least_wrong("If").identity)
    other = written(tmp_path, least_wrong("MatchCast").identity, "y")
    found = wrong_values()
    assert Expected([one], [], HERE).of(found) == ()
    assert Expected([one], [], HERE).similar(found) == "x (the module is not minimized)"
    assert Expected([one, other], [], HERE).similar(found) == ""
    assert Expected([one], [], HERE).similar(least_wrong()) == ""


def test_no_shipped_known_excuses_a_users_pass(tmp_path: Path) -> None:
    one = made(tmp_path)
    call = PassCall("FuseOps()", factory="my_passes.py:FuseOps")
    own = minimized(finding(call=call), "If")
    assert not Expected([one], [], HERE).take(own)
    one = written(tmp_path, own.identity)
    assert Expected([], [one], HERE).take(own)
    assert not Expected([one], [], HERE).take(own)
    her_call = PassCall("FuseOps()", factory="her_passes.py:FuseOps")
    namesake = minimized(finding(call=her_call), "If")
    assert not Expected([], [one], HERE).take(namesake)


@pytest.mark.parametrize("blamed", ["TVMScript", "relax.analysis.well_formed", "FuseOps"])
def test_with_a_users_pass_the_faults_of_tvm_are_as_known(tmp_path: Path, blamed: str) -> None:
    one = written(tmp_path, finding(blamed).identity)
    own = finding(blamed, call=PassCall("mine()", factory="my_passes.py:mine"))
    assert Expected([one], [], HERE).take(own)


def test_every_pass_of_the_catalogue_is_one_of_tvms(tmp_path: Path) -> None:
    one = made(tmp_path)
    for name in catalogue:
        call = PassCall(f"{public_passes()[name]}()")
        assert Expected([one], [], HERE).take(finding(call=call))


def test_what_is_not_expected_of_this_tvm_is_news(tmp_path: Path) -> None:
    one = made(tmp_path, fails_on="0.26.0; fixed in 0.27.0.post1")
    assert not Expected([one], [], HERE).take(finding())
    assert Expected([one], [], "0.26.0").take(finding())


def test_what_is_certain_is_not_verified(tmp_path: Path) -> None:
    one = made(tmp_path, fails_on="0.28.dev0, 0.27.0.post1")
    assert is_certain(one, HERE)
    assert not is_certain(one, "0.28.0")
    assert not is_certain(one, "0.28.dev0"), "many builds have this number"


def test_verify_and_prune(tmp_path: Path) -> None:
    still = made(tmp_path, "still", reproducer=FAILS)
    gone = made(tmp_path, "gone", "0.26.0", reproducer=PASSES)
    outcomes = dict(verify([still, gone, made(tmp_path, "unseen")], 1, threading.Event()))
    assert {each.name: outcome.status for each, outcome in outcomes.items()} == {
        "still": ReplayStatus.FAILS,
        "gone": ReplayStatus.GONE,
    }
    assert "fixed in" in prune(gone, HERE)
    text = gone.path.read_text()
    assert text.startswith("# by hand\n"), "what people wrote stays"
    assert not known(gone.path).tvm.expects_failure(HERE)
    assert known(gone.path).tvm.expects_failure("0.26.0")


def test_what_is_found_is_known_from_then_on(tmp_path: Path) -> None:
    reproducer = tmp_path / "r.py"
    reproducer.write_text(PASSES)
    folder = tmp_path / "knowns"
    found = least_wrong("If")
    path = add(folder, found, reproducer)
    path.write_text(path.read_text() + "# by hand\n")
    assert add(folder, found, reproducer) == path
    assert path.read_text().endswith("# by hand\n"), "a file that is there stays as it is"
    (one,) = knowns(folder)
    assert one.reproducer is not None
    assert one.reproducer.read_text() == PASSES
    assert (one.what, one.reports) == (found.title, (("evaluated", "FuseOps"),))
    assert one.identities == (found.identity,)
    assert one.tvm.fails_on == (HERE,)
    assert Expected([], [one], HERE).take(found)


def test_a_record_is_extended_by_what_people_have_judged_to_be_its_bug(tmp_path: Path) -> None:
    """The record of another folder stays as it is; one of the same name is made."""
    (tmp_path / "shipped").mkdir()
    one, folder = made(tmp_path / "shipped", "the-bug"), tmp_path / "own"
    before = one.path.read_text()
    first, second = least_wrong("If"), least_wrong("While")
    assert not Expected([one], [], HERE).take(first)
    path = extend(folder, one, [first])
    assert path == folder / "the-bug.toml"
    (own,) = knowns(folder)
    assert (own.what, own.identities) == (one.what, (first.identity,))
    assert own.tvm.fails_on == (HERE,)
    path.write_text(f"# by hand\n{path.read_text()}")
    assert extend(folder, own, [second, first]) == path
    (own,) = knowns(folder)
    assert own.identities == (first.identity, second.identity), "what is covered is not written"
    assert path.read_text().startswith("# by hand\n")
    assert path.read_text().count("[[also]]") == 2
    assert one.path.read_text() == before
    expected = Expected([one], [own], HERE)
    assert all(map(expected.take, (finding(), first, second)))


def test_the_users_folder_is_taken_if_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = len(Choice().load(HERE).knowns)
    assert shipped >= 150
    (tmp_path / "relaxfuzz-known").mkdir()
    made(tmp_path / "relaxfuzz-known")
    assert len(Choice().load(HERE).knowns) == shipped + 1
    assert Choice(shipped=False).load(HERE).knowns == ()
    assert len(Choice(shipped=False, folders=(Path("relaxfuzz-known"),)).load(HERE).own) == 1


# The command line


@pytest.mark.session
def test_a_known_bug_is_no_reason_to_fail(tmp_path: Path) -> None:
    module = corpus.HERE / "found" / "lift-params-undefined-output.py"
    command = ("check", module, "LiftTransformParams", "--oracle", "well-formed", "--workers", 1)
    run = relaxfuzz(*command, "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    events = [event for event in events if event["event"] != "asked"]
    assert [event["event"] for event in events] == ["known", "summary"]
    assert (events[0]["name"], events[0]["reports"]) == ("lift-params-undefined-output", 1)
    assert (events[1]["findings"], events[1]["known_reports"]) == (0, 1)
    assert relaxfuzz(*command, "--no-known", cwd=tmp_path).returncode == 1


@pytest.mark.session
def test_what_a_user_found_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import tvm\nfrom tvm.script import ir as I, relax as R\n\n\n@I.ir_module\nclass Module:\n"
        '    @R.function\n    def main(x: R.Tensor((2,), "float32")):\n'
        "        y = R.exp(x)\n        return y\n"
    )
    command = ("check", "model.py", f"{USER}:raises_on_exp", "--oracle", "crash", "--workers", 1)
    assert relaxfuzz(*command, "--known-update", cwd=tmp_path).returncode == 1
    (one,) = knowns(tmp_path / "relaxfuzz-known")
    assert one.tvm.fails_on == (tvm.__version__,)
    assert one.reproducer is not None
    assert relaxfuzz(*command, cwd=tmp_path).returncode == 0


@pytest.mark.session
def test_knowns_are_listed_and_verified(tmp_path: Path) -> None:
    made(tmp_path, "still", reproducer=FAILS)
    made(tmp_path, "gone", "0.26.0", reproducer=PASSES)
    listed = relaxfuzz("list", "known", "AdjustMatmulOrder", cwd=tmp_path)
    assert listed.returncode == 0
    assert "adjust-matmul-order-1d-operand" in listed.stdout
    wrong = relaxfuzz("list", "known", "AdjustMatmulOrdr", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "'AdjustMatmulOrder'" in wrong.stderr
    of_own = ("--no-known", "--known", tmp_path, "--workers", 1)
    assert relaxfuzz("list", "known", *of_own, "--verify", cwd=tmp_path).returncode == 1
    prune = ("known", "--known", tmp_path, "--prune", "--workers", 1)
    first = relaxfuzz(*prune, cwd=tmp_path)
    assert "1 of 2 known bugs no longer fail" in first.stdout
    assert "fixed in" in (tmp_path / "gone.toml").read_text()
    second = relaxfuzz(*prune, cwd=tmp_path)
    assert "0 of 1 known bugs no longer fail" in second.stdout
    assert relaxfuzz("list", "known", *of_own, "--verify", cwd=tmp_path).returncode == 0
