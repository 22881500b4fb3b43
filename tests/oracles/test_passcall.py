"""Spellings of passes: what parses, what it builds, what is refused and how."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat.drift import Drift, drift_of
from relaxfuzz.oracles.passcall import (
    BadSpelling,
    PassCall,
    parse,
    public_passes,
)


def module() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return builder.finalize()


FACTORIES = """
import tvm

@tvm.transform.module_pass(opt_level=0)
def itself(mod, ctx):
    return mod

def identity():
    return itself

@tvm.transform.module_pass(opt_level=0)
class Decorated:
    def transform_module(self, mod, ctx):
        return mod

class Derived(tvm.transform.Sequential):
    def __init__(self):
        super().__init__([itself], name="derived")

class NeedsArguments(tvm.transform.Sequential):
    def __init__(self, passes):
        super().__init__(passes)

class NoPass:
    pass

def raising():
    raise KeyError("missing")

def number():
    return 7

constant = 7

from tvm.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tvm.script import relax as R

def transforms(mod):
    return mod

shortly = lambda mod: mod

def configured(mod, level=1, *, strict=False):
    return mod

rule = PatternMatchingRewriter.from_pattern(is_op("relax.abs")(wildcard()), lambda call, _: call)

def makes_a_rule():
    return rule

@R.rewriter
class Rule:
    @R.function
    def pattern(x: R.Tensor((2, 2), "float32")):
        return R.abs(R.abs(x))

    @R.function
    def replacement(x: R.Tensor((2, 2), "float32")):
        return R.abs(x)
"""


@pytest.fixture
def factories(tmp_path: Path) -> Path:
    path = tmp_path / "my_passes.py"
    path.write_text(FACTORIES)
    return path


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("FuseOps", "FuseOps()"),
        (" FuseOps ", "FuseOps()"),
        ("FuseOps(fuse_opt_level=2)", "FuseOps(fuse_opt_level=2)"),
        ("FuseOps(fuse_opt_level=-1)", "FuseOps(fuse_opt_level=-1)"),
        ("TopologicalSort('breadth-first')", "TopologicalSort('breadth-first')"),
        ("LegalizeOps(skip_ops=['relax.add'])", "LegalizeOps(skip_ops=['relax.add'])"),
        ("relax.transform.FuseTIR", "FuseTIR()"),
        ("tvm.relax.transform.FuseTIR()", "FuseTIR()"),
        ("DispatchSortScan", "relax.backend.DispatchSortScan()"),
        ("relax.backend.DispatchSortScan(index_bits=32)",) * 2,
        ("tirx.UnrollLoop", "tirx.transform.UnrollLoop()"),
        ("s_tir.LoopPartition()", "s_tir.transform.LoopPartition()"),
        ("tirx.NarrowDataType(16)", "tirx.transform.NarrowDataType(16)"),
        ("tvm.tirx.transform.ConvertSSA", "tirx.transform.ConvertSSA()"),
    ],
)
def test_spellings(text: str, expr: str) -> None:
    call = parse(text)
    assert call == PassCall(expr)
    assert isinstance(call.build(), tvm.transform.Pass)


def test_the_printed_form_with_options_is_a_spelling(factories: Path) -> None:
    config = {"relax.FuseOps.max_depth": 3, "opt_level": 2, "target": "cuda"}
    for call in (PassCall("FuseOps()", config), parse(f"{factories}:identity with {config}")):
        read = parse(str(call)) if call.factory is None else call
        assert read.config == config
    assert parse("FuseOps with {'opt_level': 1}") == PassCall("FuseOps()", {"opt_level": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FuseOps with", "Expected options such as {'opt_level': 3} but got ''"),
        ("FuseOps with 3", "Expected options such as {'opt_level': 3} but got '3'"),
        ("FuseOps with {'opt_lvl': 3}", "Did you mean 'opt_level'"),
        ("FuseOps with {'relax.FuseOps.max_depth': 'x'}", "TVM refuses relax.FuseOps.max_depth"),
        ("FuseOps with {'target': 'nothing'}", "TVM refuses target = 'nothing'"),
        ("FuseOp", "Did you mean 'FuseOps'"),
        ("fuseops", "'FuseOps'"),
        (
            "UnrollLoop",
            "No pass 'UnrollLoop' in tvm.relax.transform. Did you mean 'tirx.UnrollLoop'",
        ),
        ("tirx.UnrolLoop", "in tvm.tirx.transform. Did you mean 'tirx.UnrollLoop'"),
        ("tirx.NarrowDataType()", "missing a required argument: 'target_bits'"),
        ("tirx.Apply", "No pass 'tirx.Apply' in tvm.tirx.transform"),
        ("function_pass", "No pass 'function_pass'"),
        ("FunctionPass", "No pass 'FunctionPass'"),
        ("FuseOps(fuse_opt_lvl=2)", "Did you mean 'fuse_opt_level'"),
        ("BindParams()", "missing a required argument: 'func_name'"),
        ("FuseOps(1, 2)", "too many positional arguments"),
        ("FuseOps(open('x'))", "Expected literal arguments but got \"open('x')\""),
        ("FuseOps(**{'fuse_opt_level': 1})", "got **"),
        ("FuseOps()()", "No pass 'FuseOps()'"),
        ("Fuse Ops", "invalid syntax"),
        ("", "Expected a pass such as"),
        ("nowhere.py:factory", "No file 'nowhere.py'"),
        ("nowhere.py", "No file 'nowhere.py'"),
        ("not-a-module:factory", "Expected 'path/to/file.py:factory'"),
    ],
)
def test_what_spells_no_pass(text: str, message: str) -> None:
    with pytest.raises(BadSpelling) as caught:
        parse(text)
    assert message in str(caught.value)


def test_a_file_alone_names_what_is_in_it(factories: Path) -> None:
    with pytest.raises(BadSpelling) as raised:
        parse(str(factories))
    assert str(raised.value) == (
        f"Expected {factories}:NAME with the name of a pass. The file defines itself, identity, "
        "Decorated, Derived, NeedsArguments, NoPass, raising, number, transforms, shortly, "
        "configured, rule, makes_a_rule, Rule"
    )


def test_near_files_are_named(factories: Path) -> None:
    with pytest.raises(BadSpelling, match=r"Did you mean 'my_passes\.py'"):
        parse(f"{factories.parent}/my_pases.py:identity")


def test_every_public_pass_is_known() -> None:
    passes = public_passes()
    assert {"FuseOps", "FastMathTransform", "VMBuiltinLower", "DispatchSortScan"} <= set(passes)
    assert {"tirx.ConvertSSA", "s_tir.ConvertSSA", "tirx.SplitHostDevice"} <= set(passes)
    assert not {"FusionPattern", "FunctionPass", "dataflowblock_pass"} & set(passes)
    assert not {"tirx.PrimFuncPass", "tirx.HoistedConditionals", "tirx.Filter"} & set(passes)
    for name in passes:
        assert PassCall(passes[name]).name == name


@pytest.mark.parametrize(
    ("expr", "name"),
    [
        ("FuseOps(fuse_opt_level=2)", "FuseOps"),
        ("tvm.tirx.transform.Simplify()", "Simplify"),
        ("dpl.PatternMatchingRewriter.from_pattern(*rule())", "PatternMatchingRewriter"),
        ("function_pass(lambda f, *_: dpl.rewrite_bindings(*rule(), f), 0)", "rewrite_bindings"),
    ],
)
def test_what_wraps_a_pass_has_its_name(expr: str, name: str) -> None:
    assert PassCall(expr).name == name
    assert PassCall(expr, factory="my_passes:FuseTIR").name == expr.split("(")[0].split(".")[-1]


def test_factory_in_a_file(factories: Path) -> None:
    call = parse(f"{factories}:identity")
    assert call.name == "identity"
    assert call.build().info.name == "itself"
    mod = module()
    assert tvm_ffi.structural_equal(call.run(mod), mod)


@pytest.mark.parametrize(
    "name",
    [
        *("identity", "itself", "Decorated", "Derived", "rule", "makes_a_rule", "Rule"),
        *("transforms", "shortly", "configured"),
    ],
)
@pytest.mark.parametrize("in_a_module", [False, True])
def test_functions_passes_and_classes(
    factories: Path, monkeypatch: pytest.MonkeyPatch, name: str, in_a_module: bool
) -> None:
    monkeypatch.chdir(factories.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = f"passes_of_{name}"
    if in_a_module:
        factories.rename(f"{package}.py")
    call = parse(f"{package}:{name}" if in_a_module else f"{factories}:{name}")
    mod = module()
    assert isinstance(call.build(), tvm.transform.Pass)
    assert tvm_ffi.structural_equal(call.run(mod), mod)
    imports, expression = call.source()
    names: dict[str, object] = {}
    exec("\n".join(imports), names)
    made = eval(expression, names)
    assert tvm_ffi.structural_equal(made(mod), mod)
    assert tvm_ffi.structural_equal(tvm.transform.Sequential([made])(mod), mod)


def test_factory_in_a_module(factories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(factories.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    factories.rename("importable_passes.py")
    assert parse("importable_passes:identity").build().info.name == "itself"


def test_factory_in_folders_without_init(factories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(factories.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = factories.parent / "outer_of_passes" / "inner"
    folder.mkdir(parents=True)
    factories.rename(folder / "mine.py")
    spelling = "outer_of_passes.inner.mine:identity"
    imports, expression = parse(spelling).source()
    assert imports[-1] == "from outer_of_passes.inner.mine import identity"
    assert str(factories.parent) in imports[-2]
    assert expression == "identity()"
    assert parse(spelling).build().info.name == "itself"


def test_run_has_target_and_options() -> None:
    seen = {}

    @tvm.transform.module_pass(opt_level=0)
    def look(mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        seen["target"] = tvm.target.Target.current().kind.name
        seen["depth"] = ctx.config["relax.FuseOps.max_depth"]
        return mod

    with PassCall("FuseOps()", config={"relax.FuseOps.max_depth": 3}).context():
        look(module())
    assert seen == {"target": "llvm", "depth": 3}
    with PassCall("FuseOps()", {"relax.FuseOps.max_depth": 3, "target": "cuda"}).context():
        look(module())
    assert seen == {"target": "cuda", "depth": 3}


def test_source_stands_alone(factories: Path) -> None:
    calls = [
        PassCall("LegalizeOps(skip_ops=['relax.add'])"),
        PassCall("relax.backend.DispatchSampling()"),
        PassCall("tirx.transform.BindTarget(tvm.target.Target('llvm'))"),
        PassCall("s_tir.transform.LoopPartition()"),
        PassCall("UpdateVDevice(relax.VDevice('llvm'), 0)"),
        PassCall(
            "LegalizeOps({'relax.add': lambda bb, call: bb.call_te(topi.add, *call.args)})",
            imports=("from tvm import topi",),
        ),
        parse(f"{factories}:identity"),
    ]
    for call in calls:
        imports, expression = call.source()
        names: dict[str, object] = {}
        exec("\n".join(imports), names)
        assert isinstance(eval(expression, names), tvm.transform.Pass)


def test_source_of_a_module_finds_it_from_anywhere(
    factories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(factories.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    factories.rename("passes_to_quote.py")
    imports, expression = parse("passes_to_quote:identity").source()
    assert f"sys.path.insert(0, {str(factories.parent.resolve())!r})" in imports
    assert (imports[-1], expression) == ("from passes_to_quote import identity", "identity()")


def test_what_this_tvm_lacks() -> None:
    """A pass that a contract names is no pass of every TVM."""
    with pytest.raises(Drift, match=r"this TVM has no tvm\.relax\.transform\.Nothing$"):
        PassCall("Nothing()").build()
    with pytest.raises(Drift, match=r"this TVM has no tvm\.tirx\.transform\.Nothing$"):
        PassCall("tirx.transform.Nothing()").build()
    with pytest.raises(TypeError) as raised:
        PassCall("FuseOps(level=1)").build()
    assert "this TVM's FuseOps takes other parameters" in str(drift_of(raised.value))
