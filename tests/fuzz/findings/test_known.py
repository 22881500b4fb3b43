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
from relaxfuzz.corpus.knowns import SHIPPED, Known, fields_of, known, knowns
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.evidence import Evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import (
    Choice,
    Expected,
    add,
    extend,
    is_certain,
    prune,
    tables,
    verify,
)
from relaxfuzz.fuzz.findings.replay import Status
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.session.shares import Share, shares
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.identity import Identity
from relaxfuzz.oracles.passcall import PassCall, public_passes
from relaxfuzz.oracles.structural.idempotence import BROKEN
from relaxfuzz.oracles.text.frames import ARITHMETIC, LEGALIZATION, Trace
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
    assert expected.unseen(None) == []


def test_only_what_a_pass_is_blamed_for_is_unseen(tmp_path: Path) -> None:
    expected = Expected([made(tmp_path)], [], HERE)
    assert len(expected.unseen(None)) == len(expected.unseen(["FuseOps"])) == 1
    assert expected.unseen(["FuseTIR"]) == []


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


@pytest.mark.parametrize("within", [LEGALIZATION, ARITHMETIC])
def test_what_shared_code_raises_is_known_whatever_pass_calls_it(
    tmp_path: Path, within: str
) -> None:
    one = written(tmp_path, finding("LegalizeOps", within=within).identity)
    assert one.identities[0].blamed == (within,)
    expected = Expected([one], [], HERE)
    call = PassCall("FoldConstant()")
    assert expected.take(finding("FoldConstant", call=call, within=within))
    assert not expected.take(finding("FoldConstant", call=call))
    own = PassCall("FoldConstant()", factory="my_passes.py:FoldConstant")
    assert not expected.take(finding("FoldConstant", call=own, within=within))


def test_what_a_second_run_raises_is_known_of_the_first(tmp_path: Path) -> None:
    expected = Expected([made(tmp_path)], [], HERE)
    first = finding()
    second = first.violation.under("a second run raises")
    again = changed(dataclasses.replace(first, violation=second), oracle="idempotent")
    assert again.id != first.id
    assert expected.take(again)
    other = changed(again, key=("a second run changes the result",), trace=Trace(), raised=None)
    assert not expected.take(other)


def test_an_ill_formed_result_of_a_second_run_is_known_of_the_first(tmp_path: Path) -> None:
    first = changed(
        finding(),
        oracle="well-formed",
        key=("ill-formed", "a type does not fit"),
        trace=Trace(),
        raised=None,
    )
    first = minimized(first, "MatchCast")
    one = written(tmp_path, first.identity)
    second = changed(first, oracle="idempotent", key=(BROKEN, *first.key))
    assert Expected([one], [], HERE).take(second)
    other = changed(second, key=(BROKEN, "ill-formed", "an undefined variable"))
    assert not Expected([one], [], HERE).take(other)


BEFORE = ("evaluated", "LegalizeOps", "values", "relax.topk")
AFTER = ("executed-by-pipeline", "relax.topk", "values")


@pytest.mark.parametrize(("recorded", "found"), [(BEFORE, AFTER), (AFTER, BEFORE)])
def test_a_wrong_result_of_an_operator_is_known_whichever_oracle_sees_it(
    tmp_path: Path, recorded: tuple[str, ...], found: tuple[str, ...]
) -> None:
    def reported(oracle: str, blamed: str, *key: str) -> Finding:
        return changed(least_wrong("relax.topk"), oracle=oracle, pass_name=blamed, key=key)

    one = written(tmp_path, reported(*recorded).identity)
    assert Expected([one], [], HERE).take(reported(*found))
    another = [part.replace("topk", "sort") for part in found]
    assert not Expected([one], [], HERE).take(reported(*another))


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
        "still": Status.FAILS,
        "gone": Status.GONE,
    }
    assert "fixed in" in prune(gone, HERE)
    text = gone.path.read_text()
    assert text.startswith("# by hand\n"), "what people wrote stays"
    assert not known(gone.path).tvm.expects_failure(HERE)
    assert known(gone.path).tvm.expects_failure("0.26.0")


def test_what_failed_nowhere_else_is_removed(tmp_path: Path) -> None:
    one = made(tmp_path, fails_on="0.28.dev0", reproducer=PASSES)
    assert "removed" in prune(one, "0.28.dev0")
    assert list(tmp_path.iterdir()) == []


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


def test_what_could_not_be_minimized_in_time_is_known_from_then_on_too(tmp_path: Path) -> None:
    evidence = Evidence(ingredients=("If", "MatchCast"))
    found = dataclasses.replace(wrong_values("If", "MatchCast"), evidence=evidence)
    one = known(add(tmp_path, found, None))
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


def test_folders_of_another_format_name_the_command_that_renews_them(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        f'what = "x"\ntvm = "fails on {HERE}"\nkey_format = 3\nkeys = [["crash", "FuseOps"]]\n'
    )
    with pytest.raises(UserError, match="Expected format = 4 but got 3") as refused:
        Choice(folders=(tmp_path,)).load(HERE)
    assert f"`relaxfuzz known --renew '{tmp_path}'` makes them anew" in str(refused.value)


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


def test_bad_folders_are_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        Choice(folders=(tmp_path / "nowhere",)).load(HERE)
    (tmp_path / "x.toml").write_text("[")
    with pytest.raises(UserError, match=r"x\.toml"):
        Choice(folders=(tmp_path,)).load(HERE)


def test_shares() -> None:
    finished = Finished(
        seconds=1,
        modules=10,
        checks=10,
        stats={
            "FuseOps": PassStats(checks=8, avoided=2, changed=5),
            "FuseTIR": PassStats(checks=2, inapplicable=1),
        },
        occurrences={},
        ended={},
        stopped=False,
        known={"FuseOps": 3},
    )
    assert shares(finished) == {
        "FuseOps": Share(8, 3, 2, changed=5),
        "FuseTIR": Share(2, 0, 0, inapplicable=1),
    }


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
def test_a_run_reports_what_no_longer_fails(tmp_path: Path) -> None:
    """Of the pass under test, and only what was not seen to fail on exactly this TVM."""
    for name, fails_on in (("gone", "0.26.0"), ("certain", tvm.__version__)):
        path = made(tmp_path, name, fails_on, reproducer=PASSES).path
        path.write_text(path.read_text().replace("FuseOps", "ToNonDataflow"))
    made(tmp_path, "another", "0.26.0", reproducer=PASSES)
    command = (
        "run",
        "ToNonDataflow",
        "--modules",
        1,
        "--workers",
        1,
        "--oracle",
        "crash",
        "--json",
    )
    folder = ("--no-known", "--known", tmp_path)
    run = relaxfuzz(*command, *folder, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [each["name"] for each in events if each["event"] == "known-fixed"] == ["gone"]
    relaxfuzz("known", "ToNonDataflow", *folder, "--prune", cwd=tmp_path)
    assert not known(tmp_path / "gone.toml").tvm.expects_failure(tvm.__version__)
    assert not (tmp_path / "certain.toml").exists(), "asked for, it is verified as well"
    assert known(tmp_path / "another.toml").tvm.expects_failure(tvm.__version__)


def test_knowns_are_listed_and_verified(tmp_path: Path) -> None:
    made(tmp_path, "still", reproducer=FAILS)
    made(tmp_path, "gone", "0.26.0", reproducer=PASSES)
    listed = relaxfuzz("known", "AdjustMatmulOrder", cwd=tmp_path)
    assert listed.returncode == 0
    assert "adjust-matmul-order-1d-operand" in listed.stdout
    wrong = relaxfuzz("known", "AdjustMatmulOrdr", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "'AdjustMatmulOrder'" in wrong.stderr
    own = ("known", "--no-known", "--known", tmp_path, "--prune", "--workers", 1)
    assert relaxfuzz(*own, cwd=tmp_path).returncode == 1
    assert "fixed in" in (tmp_path / "gone.toml").read_text()
    second = relaxfuzz(*own, cwd=tmp_path)
    assert second.returncode == 0, second.stdout
    assert "1 known" in second.stdout


def test_the_shipped_folder_is_the_one_of_the_corpus() -> None:
    assert SHIPPED.resolve() == (corpus.HERE / "found").resolve()
