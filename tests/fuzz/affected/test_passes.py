"""The passes that a change of TVM's source affects."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.fuzz.affected.passes import Affected, affected, families_of, passes_of
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.passcall import PassCall, constructor, parse, partitions, public_passes

from .conftest import Repository

TRANSFORM = "src/relax/transform"
PYTHON = "python/tvm/relax/transform"


def since(repository: Repository, revision: str = "HEAD") -> Affected:
    return affected(revision, repository.root)


def passes(repository: Repository) -> set[str]:
    return set(since(repository).passes)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # All passes whose names begin like the file's.
        (f"{TRANSFORM}/fuse_ops.cc", {"FuseOps", "FuseOpsByPattern"}),
        ("src/relax/backend/vm/vm_shape_lower.cc", {"VMShapeLower"}),
        # Each layer has its own passes: LoopPartition is not a pass of Relax.
        ("src/s_tir/transform/loop_partition.cc", {"s_tir.LoopPartition"}),
        (f"{TRANSFORM}/loop_partition.cc", set()),
        # Only in a folder `transform` a name may be longer than the file's.
        ("src/tirx/ir/stmt.cc", set()),
        # Passes in Python by the module that defines them.
        (f"{PYTHON}/fast_math.py", {"FastMathTransform"}),
        ("python/tvm/relax/backend/dispatch_sort_scan.py", {"DispatchSortScan"}),
        # A folder that a pass has to itself.
        (f"{PYTHON}/legalize_ops/binary.py", {"LegalizeOps"}),
        (f"{TRANSFORM}/utils.cc", set()),
        ("docs/fold_constant.cc", set()),
    ],
)  # fmt: skip
def test_a_file_of_a_pass_names_the_pass(path: str, expected: set[str]) -> None:
    assert passes_of(path) == expected


def test_the_wrappers_of_passes_in_cpp_name_all_of_them() -> None:
    wrappers = passes_of(f"{PYTHON}/transform.py")
    assert {"FuseOps", "LegalizeOps"} < wrappers
    assert {constructor(name).__module__ for name in wrappers} == {"tvm.relax.transform.transform"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("include/tvm/relax/expr.h", ("relax",)),
        ("python/tvm/topi/nn/dense.py", ("relax",)),
        ("src/s_tir/schedule/state.cc", ("tensorir", "dlight")),
        ("python/tvm/s_tir/dlight/gpu/matmul.py", ("dlight",)),
        ("src/arith/rewrite_simplify.cc", tuple(FAMILIES)),
        ("python/tvm/relax/frontend/onnx/onnx_frontend.py", ()),
        ("src/relax/README.md", ()),
        ("tests/python/relax/test_expr.py", ()),
    ],
)
def test_any_other_file_is_of_the_families_of_its_folder(
    path: str, expected: tuple[str, ...]
) -> None:
    assert families_of(path) == expected


def test_passes_that_run_the_pass_are_affected(repository: Repository) -> None:
    repository.write(f"{TRANSFORM}/legalize_ops.cc", "")
    assert passes(repository) == {"LegalizeOps", "FoldConstant"}


def test_a_file_of_no_pass_affects_its_family(repository: Repository) -> None:
    repository.edit("src/relax/ir/expr_functor.cc")
    repository.edit("include/tvm/relax/expr.h")
    repository.edit(f"{TRANSFORM}/gradient.cc")
    change = since(repository)
    assert change.passes == frozenset(of_family("relax"))
    lines = list(change.lines([Target("FuseOps")]))
    assert lines[2:] == [
        "all passes of the family relax: include/tvm/relax/expr.h; in all, 2 files like that",
        f"Gradient: {TRANSFORM}/gradient.cc",
    ]


def test_a_change_of_the_arithmetic_affects_all_families(repository: Repository) -> None:
    repository.write("src/arith/analyzer.cc", "")
    assert passes(repository) == set(of_family(*FAMILIES))
    assert passes(repository) <= set(public_passes())


def test_changes_are_committed_staged_edited_or_new(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc")
    repository.commit()
    repository.edit(f"{TRANSFORM}/fuse_ops.cc")
    repository.git("add", "--all")
    repository.edit(f"{PYTHON}/fast_math.py")
    repository.write(f"{TRANSFORM}/convert_layout.cc", "")
    expected = {"Gradient", "FuseOps", "FuseOpsByPattern", "FastMathTransform", "ConvertLayout"}
    expected.update(partitions())  # they run FuseOpsByPattern
    assert since(repository, "v0.27.0").passes == expected


def test_what_the_other_branch_has_got_since_is_no_change(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.edit(f"{TRANSFORM}/gradient.cc")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.edit(f"{TRANSFORM}/normalize.cc")
    repository.commit()
    repository.git("checkout", "--quiet", "topic")
    assert since(repository, "main").passes == {"Gradient"}


def test_the_lines_name_causes_and_the_rest(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc")
    repository.write("src/tirx/transform/remove_no_op.cc", "")
    repository.edit("src/runtime/module.cc")
    repository.edit("docs/index.rst")
    lines = list(since(repository).lines([Target("Gradient")]))
    assert lines[0].startswith("warning: the installed TVM ")
    assert lines[1:] == [
        f"4 files changed since {repository.git('rev-parse', 'HEAD')[:10]}",
        f"Gradient: {TRANSFORM}/gradient.cc",
        "tirx.RemoveNoOp: src/tirx/transform/remove_no_op.cc",
        "affected, and not fuzzed: tirx.RemoveNoOp",
    ]


def test_targets_that_are_not_affected_are_left_out(repository: Repository) -> None:
    repository.edit(f"{TRANSFORM}/gradient.cc")
    change = since(repository)
    own = Target("Gradient", PassCall("Gradient()", factory="passes.py:Gradient"))
    fixed = Target("Gradient", parse("Gradient(func_name='main')"))
    assert change.among([own, fixed, Target("FuseOps")]) == (fixed,)
    assert list(change.lines([]))[-1].startswith("nothing to fuzz")


def test_an_unknown_revision_is_refused_with_near_names(repository: Repository) -> None:
    with pytest.raises(UserError, match=r"'v0.27': no commit, .* Did you mean 'v0.27.0'\?"):
        since(repository, "v0.27")
    with pytest.raises(UserError, match="no commit"):
        since(repository, "--output=x")


def test_a_revision_without_a_common_commit_is_refused(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit()
    with pytest.raises(UserError, match=r"in common with HEAD"):
        since(repository, "main")


def test_a_folder_that_is_no_checkout_of_tvm_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("mv", "python", "elsewhere")
    for folder in (tmp_path / "missing", tmp_path, repository.root):
        with pytest.raises(UserError, match="is in no git checkout of TVM: name one with"):
            affected("HEAD", folder)
