"""Files of knowns, and which reports they stand for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relaxfuzz.corpus.knowns import Known, Lookup, known, knowns
from relaxfuzz.oracles import LONGEST_MESSAGE

HEAD = """\
what = "it is wrong"
key_format = 3
tvm = "fails on 0.26.0, 0.27.0.post1"
"""


def made(folder: Path, text: str, name: str = "x") -> Known:
    file = folder / f"{name}.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    return known(file)


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    one = made(
        tmp_path,
        """\
keys = [["crash", "FuseOps", "ValueError", "no"], ["segfault", "FuseTIR"]]
reproducer = "x.py"
upstream = ["https://one"]
thread = "open: a maintainer asks for a fix"
""",
    )
    assert (one.name, one.what) == ("x", "it is wrong")
    assert one.passes == {"FuseOps", "FuseTIR"}
    assert one.tvm.fails_on == ("0.26.0", "0.27.0.post1")
    assert one.reproducer == tmp_path / "x.py"
    assert one.upstream == ("https://one",)
    assert one.thread == "open: a maintainer asks for a fix"
    assert knowns(tmp_path) == (one,)


@pytest.mark.parametrize(
    ("key", "matches"),
    [
        (("crash", "FuseOps", "ValueError", "no such"), True),
        (("crash", "FuseOps", "ValueError", "no such thing at all"), True),
        (("crash", "FuseOps", "ValueError", "no"), False),
        (("crash", "FuseOps", "ValueError"), False),
        (("crash", "FuseOps", "ValueError", "no such", "value"), False),
        (("crash", "FuseTIR", "ValueError", "no such"), False),
        (("lowering-complete", "LegalizeOps", "relax.add", "unknown shape"), True),
        (("lowering-complete", "LegalizeOps", "relax.add", "no legalization"), False),
    ],
)
def test_open_ends(tmp_path: Path, key: tuple[str, ...], matches: bool) -> None:
    one = made(
        tmp_path,
        """\
keys = [
    ["crash", "FuseOps", "ValueError", "no such…"],
    ["lowering-complete", "LegalizeOps", "…", "unknown shape"],
]
""",
    )
    assert one.matches(key) is matches
    assert Lookup([one], "0.27.0.post1").of(key) == ((one,) if matches else ())


def test_the_sign_of_a_number_is_no_part_of_a_key(tmp_path: Path) -> None:
    one = made(tmp_path, 'keys = [["crash", "FuseOps", "ValueError", "axis <n>"]]')
    assert one.matches(("crash", "FuseOps", "ValueError", "axis -<n>"))
    assert Lookup([one], "0.27.0.post1").of(("crash", "FuseOps", "ValueError", "axis -<n>")) == (
        one,
    )


@pytest.mark.parametrize(
    ("want", "got", "matches"),
    [
        ("factor <node> is not <n>", "factor <list> * <node> is not <n>", True),
        ("factor <node> is not <n>", "factor <n> * <node> + <n> is not <n>", True),
        ("factor <node> is not <n>", "factor <node> is not <node>", False),
        ("below -<n>", "below <n>.<n>", True),
        (
            "DataflowVar <name> is not defined.",
            "DataflowVar cannot be used as a dependent type expression.",
            True,
        ),
        ("Var <name> is not defined.", "DataflowVar <name> is not defined.", False),
        ("expects <n> but got <node>", "expects <node> but got <node>", False),
        ("a - b", "a - <n>", False),
    ],
)
def test_how_a_printed_expression_is_made_up_is_no_part_of_a_key(
    tmp_path: Path, want: str, got: str, matches: bool
) -> None:
    one = made(tmp_path, f'keys = [["crash", "FuseOps", "ValueError", "{want}"]]')
    key = ("crash", "FuseOps", "ValueError", got)
    assert one.matches(key) is matches
    assert Lookup([one], "0.27.0.post1").of(key) == ((one,) if matches else ())


@pytest.mark.parametrize(
    ("want", "got", "matches"),
    [("DataflowVar <name> is used outside DataflowBlock.", "DataflowVar <name> is not defined.", 1),
     ("Var <name> is not defined.", "Var <name> is not defined.", 0)],
)  # fmt: skip
def test_where_a_variable_that_leaves_its_block_is_used_is_no_part_of_a_key(
    tmp_path: Path, want: str, got: str, matches: int
) -> None:
    one = made(tmp_path, f'keys = [["well-formed", "FuseOps", "ill-formed", "{want}", ""]]')
    key = ("well-formed", "FuseOps", "ill-formed", got, "value")
    assert one.matches(key) is bool(matches)
    assert Lookup([one], "0.27.0.post1").of(key) == (one,) * matches


def test_a_message_that_is_cut_may_go_on_anyhow(tmp_path: Path) -> None:
    head = "the loop over <node> of " + "a" * 160
    assert len(head) < LONGEST_MESSAGE
    want, got = (
        f"{head.replace('<node>', text)} for the split of <node>, source=<node>"[:LONGEST_MESSAGE]
        for text in ("<node>", "<n> * <node>")
    )
    one = made(tmp_path, f'keys = [["crash", "FuseOps", "ValueError", "{want}"]]')
    assert one.matches(("crash", "FuseOps", "ValueError", got))
    assert not one.matches(("crash", "FuseOps", "ValueError", got.replace("loop", "block")))
    # What ends by itself has no other end.
    assert not one.matches(("crash", "FuseOps", "ValueError", head.replace("<node>", "<list>")))


def test_a_key_of_several(tmp_path: Path) -> None:
    text = 'keys = [["segfault", "FuseOps"]]'
    one, two = made(tmp_path, text, "one"), made(tmp_path, text, "two")
    assert Lookup([one, two], "0.27.0.post1").of(("segfault", "FuseOps")) == (one, two)


def test_a_fixed_bug_that_comes_back_is_news(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'what = "x"\nkey_format = 3\ntvm = "fails on 0.26.0; fixed in 0.27.0.post1"\n'
        'keys = [["segfault", "FuseOps"]]'
    )
    one = known(file)
    assert Lookup([one], "0.26.0").of(("segfault", "FuseOps")) == (one,)
    assert Lookup([one], "0.27.0.post1").of(("segfault", "FuseOps")) == ()


def test_all_that_a_record_may_have(tmp_path: Path) -> None:
    one = made(
        tmp_path,
        """\
keys = [["crash", "FuseOps"]]
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


@pytest.mark.parametrize("version", ["1", "2", '"3"', "true"])
def test_keys_of_another_format_are_refused(tmp_path: Path, version: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f'what = "x"\nkey_format = {version}\ntvm = "fails on 0.26.0"\n'
        'keys = [["segfault", "FuseOps"]]'
    )
    with pytest.raises(ValueError, match=r"x\.toml: Expected key_format = 3 but got"):
        known(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected the fields what, key_format, keys, tvm"),
        ('keys = [["crash", "FuseOps"]]\nname = "x"', "but got ['what', 'key_format', 'tvm',"),
        ("keys = []", "Expected keys to be a list of at least one but got []"),
        ('keys = [["crash"]]', "but got ['crash']"),
        ('keys = [["crash", 1]]', "but got ['crash', 1]"),
        ('keys = [["crash", "FuseOps"]]\ntrigger = "no"', "but got trigger='no'"),
        ('keys = [["crash", "FuseOps"]]\nreproducer = "y.py"', "reproducer='y.py'"),
        ("keys = [", "x.toml"),
        ('fingerprints = [["crash", "FuseOps"]]', "the field 'fingerprints' is called 'keys' now"),
        ('keys = [["crash", "FuseOps"]]\nnote = 1', "Expected note to be a text but got 1"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        made(tmp_path, text)


def test_the_modules_of_a_bug(tmp_path: Path) -> None:
    one = made(
        tmp_path,
        'keys = [["crash", "FuseOps"]]\nlike = [["% = relax.add(…", "private"], ["main"]]\n',
    )
    assert one.shows_on(frozenset({"% = relax.add(%, %): Tensor", "private", "block"}))
    assert one.shows_on(frozenset({"main"}))
    assert not one.shows_on(frozenset({"% = relax.add(%, %): Tensor"}))
    assert not one.shows_on(frozenset({"% = relax.addition(%)", "private"}))
    assert not made(tmp_path, 'keys = [["crash", "FuseOps"]]\n', "y").shows_on(frozenset({"main"}))
    text = 'keys = [["crash", "tirx.UnrollLoop"]]\nlike = [["PrimFunc Bind For"]]\n'
    one = made(tmp_path, text, "z")
    assert one.shows_on(frozenset({"PrimFunc AllocBuffer Bind LT For SeqStmt"}))
    assert not one.shows_on(frozenset({"PrimFunc Bind LT", "PrimFunc For"}))
