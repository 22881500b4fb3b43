"""Replaying says what still fails, what is gone, and what cannot be run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.executor import LocalPool, check
from relaxfuzz.fuzz.finding import Finding
from relaxfuzz.fuzz.mistake import Mistake
from relaxfuzz.fuzz.protocol import Check
from relaxfuzz.fuzz.replay import Status, items, replay
from relaxfuzz.fuzz.store import Store
from relaxfuzz.oracles.passcall import PassCall

USER = Path(__file__).with_name("user_passes.py")


@pytest.fixture(scope="module")
def finding(pool: LocalPool, sums: str) -> Finding:
    call = PassCall("marks()", factory=f"{USER}:marks")
    violation = check(pool, Check(module=sums, calls=(call,)))[0]
    return Finding.of(
        violation,
        module=sums,
        source=reproducer.source_of(sums),
        calls=(call,),
        versions={"tvm": tvm.__version__},
        confirmed=True,
    )


def statuses(path: Path, pool: LocalPool) -> list[Status]:
    return [replay(item, pool).status for item in items(path)]


def test_a_folder_and_one_finding_of_it(pool: LocalPool, finding: Finding, tmp_path: Path) -> None:
    fixed = dataclasses.replace(finding, key=("another bug",))
    with Store(tmp_path) as store:
        store.put(finding)
        store.put(fixed)
    assert sorted(statuses(tmp_path, pool)) == [Status.GONE, Status.FAILS]
    assert statuses(tmp_path / finding.id, pool) == [Status.FAILS]
    assert statuses(tmp_path / fixed.id, pool) == [Status.GONE]


def test_a_reproducer(pool: LocalPool, finding: Finding, tmp_path: Path) -> None:
    text = next(reproducer.texts(finding))
    for name, content, status in (
        ("fails.py", text, Status.FAILS),
        ("gone.py", text.replace("marks']()", "correct']()"), Status.GONE),
        ("broken.py", text.replace("import tvm\n", "import no_such_module, tvm\n"), Status.BROKEN),
    ):
        path = tmp_path / name
        path.write_text(content)
        assert statuses(path, pool) == [status], name


def test_json_of_another_version_is_made_from_source(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    old = dataclasses.replace(finding, module="not for this TVM", versions={"tvm": "0.26.0"})
    with Store(tmp_path) as store:
        store.put(old)
    assert statuses(tmp_path, pool) == [Status.FAILS]


def test_a_module_that_does_not_load_is_said(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    with Store(tmp_path) as store:
        store.put(dataclasses.replace(finding, source="", module="not JSON"))
    (item,) = items(tmp_path)
    outcome = replay(item, pool)
    assert outcome.status is Status.BROKEN
    assert "does not load" in outcome.said


@pytest.mark.parametrize("name", ["nowhere", "empty", "notes.txt", "store/0123456789"])
def test_what_is_no_finding_is_named(finding: Finding, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    Store(tmp_path / "store").close()
    with pytest.raises(Mistake, match=name.rpartition("/")[2]):
        list(items(tmp_path / name))


def test_a_folder_of_reproducers(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('import tvm\n\nif __name__ == "__main__":\n    assert False\n')
    (tmp_path / "__init__.py").write_text("")
    assert [item.path.name for item in items(tmp_path)] == ["one.py"]


def test_a_relative_path(pool: LocalPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'import tvm\n\nif __name__ == "__main__":\n    raise ValueError("still here")\n'
    (tmp_path / "one.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    (item,) = items(Path("one.py"))
    outcome = replay(item, pool)
    assert (outcome.status, outcome.said) == (Status.FAILS, "ValueError: still here")
