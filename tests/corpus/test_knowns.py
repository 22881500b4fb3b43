"""Files of knowns, and which reports they stand for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relaxfuzz.corpus.knowns import Known, Lookup, known, knowns

HEAD = """\
what = "it is wrong"
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
fingerprints = [["crash", "FuseOps", "ValueError", "no"], ["segfault", "FuseTIR"]]
reproducer = "x.py"
upstream = ["https://one"]
""",
    )
    assert (one.name, one.what) == ("x", "it is wrong")
    assert one.passes == {"FuseOps", "FuseTIR"}
    assert one.tvm.fails_on == ("0.26.0", "0.27.0.post1")
    assert one.reproducer == tmp_path / "x.py"
    assert one.upstream == ("https://one",)
    assert knowns(tmp_path) == (one,)


@pytest.mark.parametrize(
    ("fingerprint", "matches"),
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
def test_open_ends(tmp_path: Path, fingerprint: tuple[str, ...], matches: bool) -> None:
    one = made(
        tmp_path,
        """\
fingerprints = [
    ["crash", "FuseOps", "ValueError", "no such…"],
    ["lowering-complete", "LegalizeOps", "…", "unknown shape"],
]
""",
    )
    assert one.matches(fingerprint) is matches
    assert Lookup([one], "0.27.0.post1").of(fingerprint) == ((one,) if matches else ())


def test_a_fingerprint_of_several(tmp_path: Path) -> None:
    text = 'fingerprints = [["segfault", "FuseOps"]]'
    one, two = made(tmp_path, text, "one"), made(tmp_path, text, "two")
    assert Lookup([one, two], "0.27.0.post1").of(("segfault", "FuseOps")) == (one, two)


def test_what_is_fixed_is_news_when_it_comes_again(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'what = "x"\ntvm = "fails on 0.26.0; fixed in 0.27.0.post1"\n'
        'fingerprints = [["segfault", "FuseOps"]]'
    )
    one = known(file)
    assert Lookup([one], "0.26.0").of(("segfault", "FuseOps")) == (one,)
    assert Lookup([one], "0.27.0.post1").of(("segfault", "FuseOps")) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expected the fields what, fingerprints, tvm"),
        ('fingerprints = [["crash", "FuseOps"]]\nname = "x"', "but got ['what', 'tvm',"),
        ("fingerprints = []", "Expected fingerprints to be a list of at least one but got []"),
        ('fingerprints = [["crash"]]', "but got ['crash']"),
        ('fingerprints = [["crash", 1]]', "but got ['crash', 1]"),
        ('fingerprints = [["crash", "FuseOps"]]\ntrigger = "no"', "but got trigger='no'"),
        ('fingerprints = [["crash", "FuseOps"]]\nreproducer = "y.py"', "reproducer='y.py'"),
        ("fingerprints = [", "x.toml"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        made(tmp_path, text)
