"""Which passes a change of TVM's source affects."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relaxfuzz.fuzz.affected.passes import Affected, affected
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.passcall import PassCall, parse

from .conftest import WRAPPERS, Repository, pass_file, wrapper

CLONE = "RELAXFUZZ_TVM_CLONE"
"""Names a full clone of TVM, for the test on its real layout."""

TRANSFORM = "src/relax/transform"
PYTHON = "python/tvm/relax/transform"


def since(repository: Repository, revision: str = "HEAD") -> Affected:
    return affected(revision, repository.root)


def passes(repository: Repository) -> set[str]:
    return set(since(repository).passes)


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        (f"{TRANSFORM}/gradient.cc", "Run()", "Go()", {"Gradient"}),
        # Two passes in a file: that which has changed, and not the other.
        (f"{TRANSFORM}/fuse_ops.cc", '0, "FuseOps"', '1, "FuseOps"', {"FuseOps"}),
        (f"{TRANSFORM}/fuse_ops.cc", "GetCodegenName(mod)", "mod", {"FuseOpsByPattern"}),
        # A pass that another one runs.
        (f"{TRANSFORM}/dead_code_elimination.cc", "0,", "1,", {"DeadCodeElimination", "FuseTIR"}),
        # A method of the same name, `builder->Normalize`, is not the pass.
        (f"{TRANSFORM}/normalize.cc", "0,", "1,", {"Normalize"}),
        # Functions in a header, and those that a header declares.
        (f"{TRANSFORM}/utils.h", "return name", "return {name}", {"FuseOpsByPattern"}),
        ("src/relax/analysis/var2value.cc", "Map<Var, Expr>();", "{};", {"FuseOps"}),
        # Attributes of operators, one by one.
        ("src/relax/op/unary.cc", "return InferLayoutOutput()", "return {}", {"ConvertLayout"}),
        ("src/relax/op/unary.cc", "{ return call; }", "{ call(); }", {"ToMixedPrecision"}),
        ("src/relax/op/op_common.h", "InferLayoutUnary", "InferNone", {"ConvertLayout"}),
        ("src/relax/op/unary.cc", "LAYOUT(abs)", "LAYOUT(sin)", {"ConvertLayout"}),
        (f"{PYTHON}/legalize_ops/binary.py", "topi.add", "topi.sub", {"LegalizeOps"}),
        (f"{PYTHON}/legalize_ops/common.py", "return tvm", "tvm", {"LegalizeOps"}),
        ("python/tvm/relax/op/_op_gradient.py", "[var, call]", "[call]", {"Gradient"}),
        # From TOPI in C++, by way of its Python functions and their legalization.
        ("src/topi/broadcast.cc", "*rv = 1", "*rv = 2", {"LegalizeOps"}),
        # Passes in Python.
        (f"{PYTHON}/transform.py", "_ffi_api.FuseTIR()", "_ffi_api.FuseTIR(1)", {"FuseTIR"}),
        (f"{PYTHON}/fast_math.py", "return call", "return None", {"FastMathTransform"}),
        ("python/tvm/relax/expr.py", "self, params\n", "params\n", {"LazyTransformParams"}),
        # What does not change behaviour.
        (f"{PYTHON}/transform.py", '"""A pass."""', '"""One pass."""', set()),
        (f"{PYTHON}/transform.py", "-> Pass", "-> object", set()),
        (f"{TRANSFORM}/gradient.cc", "class Grad", "/* A mutator. */\nclass Grad", set()),
        # Below Relax, and TVM's arithmetic, which passes below Relax use and we ask.
        ("src/tirx/transform/remove_no_op.cc", "0,", "1,", {"tirx.RemoveNoOp"}),
        ("src/arith/bound.cc", "return 0", "return 1", {"arith.DeduceBound"}),
        # Outside of what passes use.
        ("src/tirx/ir/printer.cc", "return stmt", "return {}", set()),
    ],
)
def test_a_change_affects_the_passes_that_depend_on_it(
    repository: Repository, path: str, old: str, new: str, expected: set[str]
) -> None:
    repository.edit(path, old, new)
    assert passes(repository) == expected


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("include/tvm/relax/transform.h", "Expr result;", "Expr other;"),
        ("src/relax/ir/expr_functor.cc", "return expr", "return Expr()"),
    ],
)
def test_a_change_of_what_all_passes_share_affects_all(
    repository: Repository, path: str, old: str, new: str
) -> None:
    repository.edit(path, old, new)
    change = since(repository)
    assert change.passes == {*WRAPPERS, "FastMathTransform", "LazyTransformParams"}
    assert change.central == {"relax": {path: len(WRAPPERS)}}
    line = f"all passes of the family relax: {path} affects 10 of 12"
    assert line in list(change.lines([Target("FuseOps")]))


def test_a_change_of_the_analyzer_affects_the_family_arith(repository: Repository) -> None:
    repository.edit("python/tvm/sym/__init__.py", "self.simplifier = 0", "self.simplifier = 1")
    change = since(repository)
    assert change.passes == set(of_family("arith"))
    assert set(change.central) == {"arith"}


def test_changes_are_committed_staged_edited_or_new(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc", "0,", "1,")
    repository.commit()
    repository.edit(f"{TRANSFORM}/normalize.cc", "0,", "1,")
    repository.git("add", "--all")
    repository.edit(f"{TRANSFORM}/convert_layout.cc", "0,", "1,")
    repository.write(f"{PYTHON}/legalize_ops/nn.py", (
        'from .common import register_legalize\n\nregister_legalize("relax.nn.relu", None)\n'
    ))  # fmt: skip
    expected = {"Gradient", "Normalize", "ConvertLayout", "LegalizeOps"}
    assert since(repository, "v0.27.0").passes == expected


def test_what_the_other_branch_has_got_since_is_no_change(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.edit(f"{TRANSFORM}/gradient.cc", "0,", "1,")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.edit(f"{TRANSFORM}/normalize.cc", "0,", "1,")
    repository.commit()
    repository.git("checkout", "--quiet", "topic")
    assert since(repository, "main").passes == {"Gradient"}


def test_what_is_removed_affects_those_that_had_it(repository: Repository) -> None:
    (repository.root / PYTHON / "legalize_ops/binary.py").unlink()
    (repository.root / "src/relax/analysis/var2value.cc").unlink()
    assert passes(repository) == {"LegalizeOps", "FuseOps"}


def test_a_pass_that_the_installed_tvm_lacks_is_named(repository: Repository) -> None:
    repository.write(f"{TRANSFORM}/fold_quantize.cc", pass_file("FoldQuantize"))
    repository.edit(f"{PYTHON}/__init__.py", "import Canon", "import FoldQuantize, Canon")
    repository.edit(
        f"{PYTHON}/transform.py", "\ndef Normalize", wrapper("FoldQuantize") + "\ndef Normalize"
    )
    change = since(repository)
    assert change.passes == set()
    assert "not in the installed TVM: FoldQuantize" in list(change.lines([]))


def test_the_lines_name_causes_and_the_rest(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc", "0,", "1,")
    repository.edit("src/tirx/ir/printer.cc", "return stmt", "return {}")
    repository.edit("docs/index.rst", "TVM", "Apache TVM")
    lines = list(since(repository).lines([Target("Gradient")]))
    assert lines[0].startswith("warning: the installed TVM ")
    assert lines[1:] == [
        f"3 files changed since {repository.git('rev-parse', 'HEAD')[:10]}",
        f"Gradient: {TRANSFORM}/gradient.cc",
        "no pass: docs (1 file), src/tirx/ir (1 file)",
    ]


def test_targets_that_are_not_affected_are_left_out(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc", "0,", "1,")
    change = since(repository)
    own = Target("Gradient", PassCall("Gradient()", factory="passes.py:Gradient"))
    fixed = Target("Gradient", parse("Gradient(func_name='main')"))
    assert change.among([own, fixed, Target("FuseOps")]) == (fixed,)
    assert list(change.lines([]))[-1].startswith("nothing to fuzz")


def test_a_file_that_does_not_parse_is_named(repository: Repository) -> None:
    repository.edit(f"{PYTHON}/fast_math.py", "import tvm\n", "import tvm\n)\n")
    with pytest.raises(UserError, match=r"fast_math\.py, line 2: unmatched"):
        since(repository)


def test_an_unknown_revision_is_refused_with_near_names(repository: Repository) -> None:
    with pytest.raises(UserError, match=r"'v0.27': no commit, .* Did you mean 'v0.27.0'\?"):
        since(repository, "v0.27")
    with pytest.raises(UserError, match="no commit"):
        since(repository, "--output=x")


def test_a_revision_without_a_common_commit_is_refused(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit()
    with pytest.raises(UserError, match=r"in common.*--unshallow"):
        since(repository, "main")


def test_a_folder_that_is_no_checkout_of_tvm_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="no such folder"):
        affected("HEAD", tmp_path / "missing")
    with pytest.raises(UserError, match="no git checkout"):
        affected("HEAD", tmp_path)
    repository.git("mv", "python", "elsewhere")
    with pytest.raises(UserError, match="no checkout of TVM, it has no python/tvm"):
        since(repository)


def test_a_tvm_from_a_wheel_has_no_checkout() -> None:
    with pytest.raises(UserError, match="name the checkout with --tvm-source DIR"):
        affected("HEAD", None)


def test_without_git_the_message_names_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no `git` on PATH"):
        since(repository)


def test_variables_of_a_hook_do_not_lead_elsewhere(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc", "0,", "1,")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert passes(repository) == {"Gradient"}


def test_on_a_clone_of_tvm(tmp_path: Path) -> None:
    clone = os.environ.get(CLONE)
    if clone is None:
        pytest.skip(f"{CLONE} names no clone of TVM")
    repository = Repository(tmp_path / "tvm")
    Repository(Path(clone)).git("worktree", "add", "--detach", "--quiet", str(repository.root))
    expected = {
        "src/relax/transform/fuse_tir.cc": {"FuseTIR"},
        "src/s_tir/transform/loop_partition.cc": {"s_tir.LoopPartition"},
        "src/relax/transform/adjust_matmul_order.cc": {"AdjustMatmulOrder"},
        "python/tvm/relax/transform/fast_math.py": {"FastMathTransform"},
        "python/tvm/relax/backend/dispatch_sort_scan.py": {"DispatchSortScan"},
        "python/tvm/relax/op/_op_gradient.py": {"Gradient"},
    }
    try:
        for path in expected:
            text = (repository.root / path).read_text()
            repository.write(path, text.replace("return ", "return -", 1))
        assert since(repository).by_file == expected
    finally:
        Repository(Path(clone)).git("worktree", "remove", "--force", str(repository.root))
