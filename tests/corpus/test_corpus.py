"""Every file of the corpus describes its bug, and shows it on the installed TVM."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relaxfuzz import corpus
from relaxfuzz.fuzz.findings.confirm import DEATHS
from relaxfuzz.fuzz.reproducer.replay import EXPECTED, ReplayItem, replay
from relaxfuzz.oracles.tiers import ORACLES

SYSTEMS = {
    "AttachGlobalSymbol",
    "LegalizeOps",
    "LiftTransformParams",
    "RealizeVDevice",
    "MergeCompositeFunctions",
}


SAMPLE = 8
"""One reproducer of this many is run wherever tests run; all take a minute of CPU, and change with
TVM and with the corpus alone."""


@pytest.mark.parametrize(
    "path",
    [
        *corpus.seeds(),
        *(
            pytest.param(path, marks=() if number % SAMPLE == 0 else pytest.mark.session)
            for number, path in enumerate(corpus.found())
        ),
    ],
    ids=lambda path: path.stem,
)
def test_the_file_fails_as_recorded(path: Path) -> None:
    outcome = replay(ReplayItem(path, entry=corpus.entry(path)), None)
    assert outcome.status in EXPECTED, f"{outcome.status}: {outcome.message}"


def test_the_oracle_of_a_seed_is_one_of_ours() -> None:
    """Or it names how the process ends."""
    for path in corpus.seeds():
        entry = corpus.entry(path)
        assert entry is not None, path
        assert entry.oracle in {*ORACLES, *DEATHS}, path


def test_each_system_has_a_seed_that_is_short_and_stands_alone() -> None:
    systems = set()
    for path in corpus.seeds():
        entry = corpus.entry(path)
        assert entry is not None
        systems.add(entry.pass_name)
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 40, path.name
        imports = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.M))
        assert imports <= {"tvm", "numpy"}, path.name
    assert systems == SYSTEMS


def header(**fields: str) -> str:
    known = {
        "pass": "FuseOps",
        "oracle": "crash",
        "tvm": "fails on 0.27.0.post1",
        "fails with": "ValueError: no",
        "promise": "a docstring",
    } | {name.replace("_", " "): value for name, value in fields.items()}
    return "".join(f"# {name}: {value}\n" for name, value in known.items() if value)


def test_a_header(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "# What it is\n#\n"
        + header(
            upstream="https://one, https://two",
            promise="a docstring\n#   of two lines",
            tvm="fails on 0.25.0, 0.26.0; fixed in 0.27.0.post1",
        )
        + "\nimport tvm\n# pass: another\n"
    )
    entry = corpus.entry(file)
    assert entry is not None
    assert (entry.oracle, entry.pass_name) == ("crash", "FuseOps")
    assert entry.promise == "a docstring of two lines"
    assert entry.upstream == ("https://one", "https://two")
    assert (entry.tvm.fails_on, entry.tvm.fixed_in) == (("0.25.0", "0.26.0"), "0.27.0.post1")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("oracle", "", "lacks ['oracle']"),
        ("fails_with", "", "lacks ['fails with']"),
        ("promise", "", "lacks ['promise']"),
        ("tvm", "0.27.0", "but got '0.27.0'"),
        ("tvm", "fails on 0.27.x", "Expected a version such as 0.27.0.post1 but got '0.27.x'"),
        ("tvm", "fails on 0.27.0; gone in 0.28.0", "but got 'fails on 0.27.0; gone in 0.28.0'"),
    ],
)
def test_a_bad_header_is_refused(tmp_path: Path, field: str, value: str, message: str) -> None:
    file = tmp_path / "x.py"
    file.write_text(header(**{field: value}))
    with pytest.raises(ValueError, match=re.escape(message)):
        corpus.entry(file)


def test_a_file_without_header_or_record_is_no_entry(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("# Promise: none\nimport tvm\n")
    assert corpus.entry(file) is None


def test_the_record_beside_a_file(tmp_path: Path) -> None:
    file, record = tmp_path / "x.py", tmp_path / "x.toml"
    file.write_text("# It raises\nimport tvm\n")
    record.write_text(
        'what = "it raises"\nformat = 4\nreports = [["crash", "FuseOps"], ["json", "FuseTIR"]]\n'
        'tvm = "fails on 0.26.0"\npromise = ["a docstring"]\n'
    )
    assert corpus.entry(file) is None, "its failure is not recorded"
    record.write_text(record.read_text() + 'fails_with = "ValueError: no"\n')
    entry = corpus.entry(file)
    assert entry is not None
    assert (entry.oracle, entry.pass_name) == ("crash", "FuseOps")
    assert (entry.fails_with, entry.promise) == ("ValueError: no", "a docstring")
    assert entry.tvm.fails_on == ("0.26.0",)
    record.write_text("what = 1")
    with pytest.raises(ValueError, match=r"x\.toml: Expected the fields"):
        corpus.entry(file)


def test_the_table_of_the_docs_agrees_with_the_headers() -> None:
    text = (Path(__file__).parents[2] / "docs" / "corpus.md").read_text(encoding="utf-8")
    table = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in text[text.index("| seed |") :].splitlines()
        if line.startswith("|")
    ]
    versions, rows = table[0][1:], {row[0]: row[1:] for row in table[2:]}
    assert set(rows) == {path.stem for path in corpus.seeds()}
    for path in corpus.seeds():
        entry = corpus.entry(path)
        assert entry is not None
        for version, shown in zip(versions, rows[path.stem], strict=True):
            assert (shown == "fails") == (version in entry.tvm.fails_on), (path.stem, version)
            if shown == "passes":
                assert not entry.tvm.expects_failure(version), (path.stem, version)
