"""Settings from TOML: what is read, and the messages for mistakes."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from relaxfuzz.fuzz.pytest_plugin import options
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.fuzz.user_input.options import Relaxations
from relaxfuzz.fuzz.user_input.settings import read


class Color(enum.StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True)
class Inner:
    like: str | None = None
    not_idempotent: bool = False


@dataclass(frozen=True)
class Outer:
    name: str
    budget: float = 1.0
    modules: int | None = None
    out: Path = Path("out")
    passes: tuple[str, ...] = ()
    color: Color = Color.RED
    inner: Inner = Inner()
    rows: tuple[Inner, ...] = ()
    promises: Mapping[str, Inner] = field(default_factory=dict)


def parsed(text: str) -> Outer:
    return read(tomllib.loads(text), Outer, "CONFIG.toml")


def test_all_kinds_are_read() -> None:
    text = """
    name = "n"
    budget = 2
    modules = 3
    out = "a/b"
    passes = ["FuseOps", "my_pkg.passes:MyPass"]
    color = "green"
    inner = {like = "FuseOps"}
    [[rows]]
    not-idempotent = true
    [promises."my_pkg.passes:MyPass"]
    not-idempotent = true
    """
    assert parsed(text) == Outer(
        name="n",
        budget=2.0,
        modules=3,
        out=Path("a/b"),
        passes=("FuseOps", "my_pkg.passes:MyPass"),
        color=Color.GREEN,
        inner=Inner(like="FuseOps"),
        rows=(Inner(not_idempotent=True),),
        promises={"my_pkg.passes:MyPass": Inner(not_idempotent=True)},
    )


def test_what_is_not_there_has_its_default() -> None:
    assert parsed('name = "n"') == Outer("n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "CONFIG.toml: name is missing"),
        ("nam = 1", "CONFIG.toml: no setting 'nam'. Did you mean 'name'?"),
        ("zzz = 1", "CONFIG.toml: no setting 'zzz'. Known: name, budget, modules, "),
        ("name = 1", "CONFIG.toml: expected name to be a string but got 1"),
        ("name = true", "expected name to be a string but got True"),
        ('name = "n"\nbudget = "60s"', "expected budget to be a number but got '60s'"),
        ('name = "n"\nbudget = true', "expected budget to be a number but got True"),
        ('name = "n"\nmodules = 2.5', "expected modules to be a whole number but got 2.5"),
        ('name = "n"\nmodules = true', "expected modules to be a whole number but got True"),
        ('name = "n"\nout = 3', "expected out to be a string but got 3"),
        ('name = "n"\npasses = "FuseOps"', "expected passes to be a list but got 'FuseOps'"),
        ('name = "n"\npasses = ["a", 2]', "expected passes[1] to be a string but got 2"),
        ('name = "n"\ncolor = "gren"', "no color 'gren'. Did you mean 'green'?"),
        ('name = "n"\ncolor = 1', "no color 1. Known: red, green"),
        ('name = "n"\ninner = 1', "expected inner to be a table but got 1"),
        ('name = "n"\n[inner]\nlik = "x"', "CONFIG.toml, inner: no setting 'lik'. Did you mean"),
        (
            'name = "n"\n[inner]\nnot_idempotent = true',
            "inner: no setting 'not_idempotent'. Did you mean 'not-idempotent'?",
        ),
        ('name = "n"\n[[rows]]\nlike = 1', "CONFIG.toml, rows[0]: expected like to be a string"),
        ('name = "n"\npromises = 1', "expected promises to be a table but got 1"),
        (
            'name = "n"\n[promises."a.b:C"]\nnot-idempotent = 1',
            "CONFIG.toml, promises.a.b:C: expected not-idempotent to be true or false but got 1",
        ),
    ],
)
def test_a_mistake_names_its_place_and_what_would_do(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        parsed(text)
    assert message in str(raised.value)


def in_pyproject(folder: Path, text: str) -> options.Settings:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return options._pyproject(folder)


def test_the_table_of_pyproject(tmp_path: Path) -> None:
    text = """
    [tool.relaxfuzz]
    passes = ["FuseOps"]
    budget = "2m"
    corpus = ["tests/corpus"]
    [tool.relaxfuzz.promises."my_pkg.passes:MyPass"]
    like = "FuseOps"
    exempt = ["idempotent"]
    """
    found = in_pyproject(tmp_path, text)
    assert (found.passes, found.seconds) == (("FuseOps",), 120.0)
    assert found.corpus == (tmp_path / "tests/corpus",)
    assert found.out == tmp_path / "relaxfuzz-out"
    own = Relaxations(like="FuseOps", exempt=("idempotent",))
    assert found.promises == {"my_pkg.passes:MyPass": own}


def test_without_a_table_nothing_is_asked_for(tmp_path: Path) -> None:
    assert not options._pyproject(tmp_path).passes
    found = in_pyproject(tmp_path, "[tool.other]\nkey = 1")
    assert (found.passes, found.corpus, found.known, found.promises) == ((), (), (), {})


PROMISES = '[tool.relaxfuzz.promises."a:B"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.relaxfuzz]\npases = []", "[tool.relaxfuzz]: no setting 'pases'. Did you mean"),
        ("[tool.relaxfuzz]\npasses = 'a'", "expected passes to be a list but got 'a'"),
        ("[tool]\nrelaxfuzz = 1", "expected [tool.relaxfuzz] to be a table but got 1"),
        ("[tool.relaxfuzz]\npromises = [1]", "expected promises to be a table but got [1]"),
        ("[tool.relaxfuzz]\npromises = {a = 1}", "expected promises.a to be a table but got 1"),
        (f"{PROMISES}exmpt = []", "promises.a:B: no setting 'exmpt'. Did you mean 'exempt'?"),
        (f"{PROMISES}not-idempotent = true", 'not-idempotent is now exempt = ["idempotent"]'),
        ("[tool.relaxfuzz", "pyproject.toml: "),
    ],
)
def test_a_mistake_in_pyproject(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        in_pyproject(tmp_path, text)
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "pyproject.toml"))
