"""Files of knowns, and which reports they stand for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import tomlkit

from relaxfuzz.corpus.knowns import Known, Lookup, fields_of, identity_from, known, knowns
from relaxfuzz.oracles.identity import FailureKind, Identity, Sameness

HERE = "0.27.0.post1"
HEAD = """\
what = "it is wrong"
format = 4
tvm = "fails on 0.26.0, 0.27.0.post1"
"""
REPORTS = 'reports = [["crash", "FuseOps"]]\n'

RAISES = Identity(
    failure=FailureKind.RAISES,
    blamed=("FuseOps",),
    site=("GraphPartitioner::Visit",),
    condition="it != end",
    ingredients=frozenset({"If", "relax.take"}),
)
RAISES_TOML = """
[[identity]]
failure = "raises"
blamed = ["FuseOps"]
site = ["GraphPartitioner::Visit"]
condition = "it != end"
ingredients = ["If", "relax.take"]
"""


def made(folder: Path, text: str, name: str = "x") -> Known:
    file = folder / f"{name}.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    return known(file)


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    one = made(
        tmp_path,
        f"""\
reports = [["crash", "FuseOps"], ["segfault", "FuseTIR"], ["json", "FuseOps", "values"]]
reproducer = "x.py"
upstream = ["https://one"]
thread = "open: a maintainer asks for a fix"
{RAISES_TOML}
[[also]]
failure = "dies"
how = "segfault"
blamed = ["FuseTIR", "FuseOps"]
""",
    )
    assert (one.name, one.what) == ("x", "it is wrong")
    assert one.reports == (
        ("crash", "FuseOps"),
        ("segfault", "FuseTIR"),
        ("json", "FuseOps", "values"),
    )
    assert one.passes == {"FuseOps", "FuseTIR"}
    death = Identity(failure=FailureKind.DIES, how="segfault", blamed=("FuseTIR", "FuseOps"))
    assert one.identities == (RAISES, death)
    assert one.tvm.fails_on == ("0.26.0", HERE)
    assert one.reproducer == tmp_path / "x.py"
    assert one.upstream == ("https://one",)
    assert one.thread == "open: a maintainer asks for a fix"
    assert knowns(tmp_path) == (one,)


@pytest.mark.parametrize(
    "identity",
    [
        RAISES,
        Identity(failure=FailureKind.DIES, how="hang", blamed=("FuseOps", "FuseTIR")),
        Identity(failure=FailureKind.VALUES, blamed=("relax.take",), ingredients=frozenset()),
    ],
    ids=lambda identity: identity.failure,
)
def test_an_identity_is_read_as_it_was_written(identity: Identity) -> None:
    text = tomlkit.dumps(fields_of(identity))
    assert identity_from(tomllib.loads(text)) == identity


def test_a_report_is_the_bug_by_any_identity_of_its_record(tmp_path: Path) -> None:
    one = made(
        tmp_path,
        REPORTS
        + RAISES_TOML
        + '[[also]]\nfailure = "dies"\nhow = "segfault"\nblamed = ["FuseTIR"]\n'
        + 'site = ["GraphPartitioner::Visit"]\n',
    )
    lookup = Lookup([one], HERE)
    assert lookup.of(RAISES) == (one,)
    assert one.sameness(RAISES) is Sameness.SAME
    site = ("GraphPartitioner::Visit",)
    death = Identity(failure=FailureKind.DIES, how="segfault", blamed=("FuseTIR",), site=site)
    assert lookup.of(death) == (one,)
    # Each identity is compared as a whole: this one fails like the first, and is blamed like the
    # other.
    mixed = Identity(
        failure=FailureKind.RAISES, blamed=("FuseTIR",), site=site, condition="it != end"
    )
    assert lookup.of(mixed) == ()
    assert (one.sameness(mixed), lookup.similar(mixed)) == (Sameness.SIMILAR, (one,))
    other = Identity(failure=FailureKind.VALUES, blamed=("FuseOps",), site=("other values",))
    assert (lookup.of(other), lookup.similar(other)) == ((), ())
    assert one.sameness(other) is Sameness.OTHER


VALUES = """
[[identity]]
failure = "values"
blamed = ["FuseOps"]
site = ["other values"]
ingredients = ["If", "relax.take"]
"""


@pytest.mark.parametrize(
    ("made_of", "presumed"),
    [
        (None, False),
        (("If",), False),
        (("If", "relax.take"), True),
        (("If", "relax.take", "relax.sort"), True),
    ],
)
def test_a_report_on_a_large_module_is_presumed_to_be_the_bug_if_that_has_what_it_needs(
    tmp_path: Path, made_of: tuple[str, ...] | None, presumed: bool
) -> None:
    one = made(tmp_path, REPORTS + VALUES)
    report = Identity(failure=FailureKind.VALUES, blamed=("FuseOps",), site=("other values",))
    assert Lookup([one], HERE).of(report, made_of) == ((one,) if presumed else ())


def test_a_record_without_identities_stands_for_no_report(tmp_path: Path) -> None:
    one = made(tmp_path, REPORTS)
    lookup = Lookup([one], HERE)
    assert lookup.knowns == (one,)
    assert one.sameness(RAISES) is Sameness.OTHER
    assert (lookup.of(RAISES), lookup.similar(RAISES)) == ((), ())


def test_a_fixed_bug_that_comes_back_is_news(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'what = "x"\nformat = 4\ntvm = "fails on 0.26.0; fixed in 0.27.0.post1"\n'
        + REPORTS
        + RAISES_TOML
    )
    one = known(file)
    assert Lookup([one], "0.26.0").of(RAISES) == (one,)
    assert Lookup([one], HERE).of(RAISES) == ()
    assert Lookup([one], HERE).knowns == ()


def test_all_that_a_record_may_have(tmp_path: Path) -> None:
    one = made(
        tmp_path,
        """\
reports = [["crash", "FuseOps"]]
verdict = "true"
note = "a remark"
promise = ["docstring: 'it works'"]
source = "src/relax/transform/fuse_ops.cc"
root_cause = "a cast"
symptoms = ["a wrong type"]
fails_with = "ValueError: no"
""",
    )
    assert (one.verdict, one.note) == ("true", "a remark")
    assert (one.promise, one.symptoms) == (("docstring: 'it works'",), ("a wrong type",))
    assert (one.source, one.root_cause) == ("src/relax/transform/fuse_ops.cc", "a cast")
    assert (one.fails_with, one.reproducer) == ("ValueError: no", None)
    (tmp_path / "x.py").write_text("")
    assert known(one.path).reproducer == tmp_path / "x.py"


@pytest.mark.parametrize(
    ("version", "got"), [("3", "3"), ("5", "5"), ('"4"', "'4'"), ("true", "True")]
)
def test_records_of_another_format_are_refused_with_the_command_that_renews_them(
    tmp_path: Path, version: str, got: str
) -> None:
    text = f'what = "x"\nformat = {version}\ntvm = "fails on 0.26.0"\n{REPORTS}'
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=r"x\.toml: Expected format = 4 but got") as refused:
        knowns(tmp_path)
    assert f"but got {got}: " in str(refused.value)
    assert f"`relaxfuzz known --renew '{tmp_path}'` makes them anew" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected the fields what, format, tvm, reports"),
        (REPORTS + 'name = "x"', "but got ['what', 'format', 'tvm', 'reports', 'name']"),
        (REPORTS + 'keys = [["crash", "FuseOps"]]', "but got ['what', 'format', 'tvm', 'reports'"),
        ("reports = []", "Expected reports to be a list of at least one but got []"),
        ('reports = [["crash"]]', "but got ['crash']"),
        ('reports = [["crash", 1]]', "but got ['crash', 1]"),
        (REPORTS + 'reproducer = "y.py"', "reproducer='y.py'"),
        ("reports = [", "x.toml"),
        (REPORTS + "note = 1", "Expected note to be a text but got 1"),
        (REPORTS + "identity = 1", "Expected identity to be a list of tables but got 1"),
        (REPORTS + 'also = ["x"]', "Expected also to be a list of tables but got ['x']"),
        (
            REPORTS + '[[identity]]\nfailure = "raises"',
            "Expected an identity with failure, how, blamed, site, condition, ingredients "
            "but got ['failure']",
        ),
        (
            REPORTS + '[[identity]]\nfailure = "raises"\nblamed = ["x"]\nkey = "y"',
            "but got ['failure', 'blamed', 'key']",
        ),
        (
            REPORTS + '[[identity]]\nfailure = "explodes"\nblamed = ["x"]',
            "'explodes' is not a valid FailureKind",
        ),
        (
            REPORTS + '[[identity]]\nfailure = "raises"\nblamed = []',
            "Expected blamed to be a list of texts but got []",
        ),
        (
            REPORTS + '[[also]]\nfailure = "raises"\nblamed = "x"',
            "Expected blamed to be a list of texts but got 'x'",
        ),
        (
            REPORTS + '[[identity]]\nfailure = "raises"\nblamed = ["x"]\nsite = [1]',
            "Expected site to be a list of texts but got [1]",
        ),
        (
            REPORTS + '[[identity]]\nfailure = "raises"\nblamed = ["x"]\ningredients = "If"',
            "Expected ingredients to be a list of texts but got 'If'",
        ),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        made(tmp_path, text)
    assert str(tmp_path / "x.toml") in str(refused.value)
