"""Known bugs are counted, new ones are reported, and fixed ones are noticed."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import pytest
import tvm

from relaxfuzz import corpus
from relaxfuzz.corpus.knowns import SHIPPED, Known, known, knowns
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import (
    Choice,
    Expected,
    Share,
    add,
    is_certain,
    prune,
    shares,
    verify,
)
from relaxfuzz.fuzz.findings.replay import Status
from relaxfuzz.fuzz.process.targets import PassStats, Target
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.passcall import PassCall, public_passes
from relaxfuzz.oracles.violation import Raised, Violation
from tests.fuzz.changed import changed

from ...commands import relaxfuzz

HERE = "0.27.0.post1"
USER = Path(__file__).parents[1] / "user_passes.py"
FAILS = "import sys\n\nif __name__ == '__main__':\n    raise ValueError('still')\n"
PASSES = "import sys\n\nif __name__ == '__main__':\n    pass\n"


def finding(
    pass_name: str = "FuseOps",
    key: tuple[str, ...] = ("ValueError", "no"),
    call: PassCall | None = None,
) -> Finding:
    return Finding(
        violation=Violation("it raises", "", key, "file.cc:1").blame("crash", pass_name),
        module="",
        calls=(call or PassCall("FuseOps()"),),
        versions={"tvm": HERE},
        confirmed=True,
    )


def made(
    folder: Path, name: str = "x", fails_on: str = HERE, *, reproducer: str | None = None
) -> Known:
    text = (
        f'# by hand\nwhat = "it raises"\ntvm = "fails on {fails_on}"\n'
        'key_format = 3\nkeys = [["crash", "FuseOps", "ValueError", "no"]]\n'
    )
    if reproducer is not None:
        (folder / f"{name}.py").write_text(reproducer.replace("'__main__'", '"__main__"'))
        text += f'reproducer = "{name}.py"\n'
    (folder / f"{name}.toml").write_text(text)
    return known(folder / f"{name}.toml")


def test_a_known_whose_reproducer_passes_on_this_build_excuses_nothing(tmp_path: Path) -> None:
    one = made(tmp_path)
    expected = Expected([one], [], HERE)
    expected.fixed = frozenset({one.name})
    assert not expected.take(finding())
    assert expected.reports == {}
    assert expected.of(finding()) == (one,), "reports still name it"


def test_a_report_of_a_known_is_counted_and_taken(tmp_path: Path) -> None:
    one = made(tmp_path)
    expected = Expected([one], [], HERE)
    assert expected.take(finding())
    assert expected.take(finding()), "a repeated report is taken, but not counted"
    assert expected.take(changed(finding(), place="file.cc:2"))
    assert not expected.take(finding(key=("ValueError", "yes")))
    assert (expected.total, expected.reports[one]) == (2, 2)
    assert expected.unseen(None) == []


def test_only_what_a_pass_is_blamed_for_is_unseen(tmp_path: Path) -> None:
    expected = Expected([made(tmp_path)], [], HERE)
    assert len(expected.unseen(None)) == len(expected.unseen(["FuseOps"])) == 1
    assert expected.unseen(["FuseTIR"]) == []


def test_no_shipped_known_excuses_a_users_pass(tmp_path: Path) -> None:
    one = made(tmp_path)
    call = PassCall("FuseOps()", factory="my_passes.py:FuseOps")
    assert not Expected([one], [], HERE).take(finding(call=call))
    assert Expected([], [one], HERE).take(finding(call=call))


@pytest.mark.parametrize("blamed", ["TVMScript", "relax.analysis.well_formed", "FuseOps"])
def test_with_a_users_pass_the_faults_of_tvm_are_as_known(tmp_path: Path, blamed: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f'what = "x"\ntvm = "fails on {HERE}"\nkey_format = 3\nkeys = [["crash", "{blamed}", "no"]]'
    )
    own = finding(blamed, ("no",), PassCall("mine()", factory="my_passes.py:mine"))
    assert Expected([known(file)], [], HERE).take(own)


def test_what_a_legalization_raises_is_known_whatever_pass_calls_it(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f'what = "x"\ntvm = "fails on {HERE}"\nkey_format = 3\n'
        'keys = [["crash", "LegalizeOps", "ValueError", "no"]]'
    )
    other = finding("FoldConstant", call=PassCall("FoldConstant()"))
    inside = changed(other, raised=Raised("ValueError", "no", legalizes=True))
    assert not Expected([known(file)], [], HERE).take(other)
    assert Expected([known(file)], [], HERE).take(inside)
    own = PassCall("FoldConstant()", factory="my_passes.py:FoldConstant")
    users = dataclasses.replace(inside, calls=(own,))
    assert not Expected([known(file)], [], HERE).take(users)


@pytest.mark.parametrize(
    ("oracle", "what"),
    [("crash", "a second run raises"), ("well-formed", "the result of a second run")],
)
def test_what_goes_wrong_in_a_second_run_is_known_of_the_first(
    tmp_path: Path, oracle: str, what: str
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f'what = "x"\ntvm = "fails on {HERE}"\nkey_format = 3\n'
        f'keys = [["{oracle}", "FuseOps", "ValueError", "no"]]'
    )
    again = changed(finding(key=(what, "ValueError", "no")), oracle="idempotent")
    assert Expected([known(file)], [], HERE).take(again)
    other = changed(finding(key=("a second run changes the result",)), oracle="idempotent")
    assert not Expected([known(file)], [], HERE).take(other)


BEFORE = ("evaluated", "LegalizeOps", "values", "relax.topk")
AFTER = ("executed-by-pipeline", "relax.topk", "values")
EFFECT = (
    "effects",
    "LegalizeOps",
    "an effect has other arguments: a packed function",
    "relax.topk",
)


@pytest.mark.parametrize(
    ("recorded", "found"), [(BEFORE, AFTER), (AFTER, BEFORE), (BEFORE, EFFECT), (AFTER, EFFECT)]
)
def test_a_wrong_result_of_an_operator_is_known_whichever_oracle_sees_it(
    tmp_path: Path, recorded: tuple[str, ...], found: tuple[str, ...]
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f'what = "x"\ntvm = "fails on {HERE}"\nkey_format = 3\nkeys = [{list(recorded)}]'
    )
    oracle, blamed, *key = found
    same = changed(finding(key=tuple(key)), oracle=oracle, pass_name=blamed)
    assert Expected([known(file)], [], HERE).take(same)
    blamed, *key = ("relax.sort", *key) if found is AFTER else (blamed, *key[:-1], "relax.sort")
    other = changed(same, pass_name=blamed, key=tuple(key))
    assert not Expected([known(file)], [], HERE).take(other)


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
    path = add(folder, finding(), reproducer)
    assert add(folder, finding(), reproducer) == path
    (one,) = knowns(folder)
    assert one.reproducer is not None
    assert one.reproducer.read_text() == PASSES
    assert Expected([], [one], HERE).take(finding())


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


def test_triggers_are_those_of_the_pass(tmp_path: Path) -> None:
    plain = made(tmp_path)
    one = dataclasses.replace(plain, trigger="a_trigger")
    fixed = PassCall("FuseOps(fuse_opt_level=2)")
    targets = [Target("FuseOps", fixed), Target("FuseTIR")]
    expected = Expected([one, plain], [], HERE)
    assert expected.triggers(targets) == {"FuseOps(fuse_opt_level=2)": ("a_trigger",)}
    own = Target("FuseOps", PassCall("FuseOps()", factory="my_passes.py:FuseOps"))
    assert expected.triggers([own]) == {}


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
