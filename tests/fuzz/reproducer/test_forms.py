"""Short reproducers, one for each way to be wrong, in all forms."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer import Form
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

ORACLES = Path(__file__).parents[2] / "oracles"
VERSIONS = {"tvm": tvm.__version__, "numpy": "2.0"}


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"relaxfuzz_{name}", ORACLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where TVMScript looks for the source
    spec.loader.exec_module(module)
    return module


def called(file: str, factory: str) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{ORACLES / file}.py:{factory}")


def found(mod: tvm.IRModule, call: PassCall, oracle: str | None = None) -> Finding:
    module = str(tvm.ir.save_json(mod))
    (violation,) = check(Case(mod, (call,)), oracles=None if oracle is None else [oracle])
    return Finding(
        violation=violation,
        module=module,
        source=reproducer.source_of(module),
        calls=(call,),
        versions=VERSIONS,
    )


def seen(finding: Finding, form: Form) -> str:
    """The first text that fails like the finding."""
    return next(text for text in reproducer.texts(finding, form) if reproducer.fails(text, finding))


def code_of(text: str) -> str:
    report = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    return report[1] if report else text


faults, value_faults, twin_faults, death_faults, effect_faults = map(
    load,
    (
        "faults",
        "values/value_faults",
        "metamorphic/twin_faults",
        "execute/death_faults",
        "values/effect_faults",
    ),
)

TIER_1 = [
    pytest.param(oracle, factory.__name__, id=f"{oracle}-{factory.__name__}")
    for oracle, factories in faults.FAULTS.items()
    for factory in factories
]
OF_VALUES = ["swaps_operands", "casts_to_a_wrong_shape"]
OF_TWINS = [
    ("json", "knows_modules_by_identity"),
    ("function-order", "works_on_the_first_function"),
    ("source", "asks_where_code_was_written"),
    ("function-order", "raises_where_another_function_is_first"),
    ("tvmscript", "leaves_a_bare_range"),
]


def is_short(text: str) -> bool:
    """Nothing of relaxfuzz's own helpers has come along."""
    return "def apply(" not in text and "def to_numpy(" not in text


def judge(finding: Finding, *correct: str) -> None:
    """A short text fails, and does not with a correct pass in the place of the faulty one."""
    text = seen(finding, Form.TVMSCRIPT)
    assert is_short(text), text
    assert "class Module:" in text
    (call,) = finding.calls
    for name in correct:
        fixed = text.replace(f"{call.name}']()", f"{name}']()")
        assert fixed != text
        assert not reproducer.fails(fixed, finding), fixed


@pytest.mark.parametrize(("oracle", "factory"), TIER_1)
def test_faults_of_structure(oracle: str, factory: str) -> None:
    finding = found(faults.module(), called("faults", factory))
    assert finding.oracle == oracle
    judge(finding, "copies")


@pytest.mark.parametrize("factory", OF_VALUES)
def test_faults_of_values(factory: str) -> None:
    finding = found(value_faults.module(), called("values/value_faults", factory), "evaluated")
    judge(finding, "commutes")


@pytest.mark.parametrize("factory", ["divides_by_zero", "reads_far_away"])
def test_a_file_dies_of_the_signal_that_an_oracle_of_values_saw(factory: str) -> None:
    """The oracle runs the result in a fork, and the file in its own process."""
    finding = found(death_faults.module(), called("execute/death_faults", factory), "executed")
    text = seen(finding, Form.TVMSCRIPT)
    fixed = text.replace(f"{factory}']()", "divides_by_one']()")
    assert fixed != text
    assert not reproducer.fails(fixed, finding)
    other = {"divides_by_zero": "reads_far_away", "reads_far_away": "divides_by_zero"}[factory]
    another = text.replace(f"{factory}']()", f"{other}']()")
    assert not reproducer.fails(another, finding)


@pytest.mark.parametrize(("oracle", "factory"), OF_TWINS)
def test_faults_of_twins(oracle: str, factory: str) -> None:
    finding = found(twin_faults.module(), called("metamorphic/twin_faults", factory), oracle)
    judge(finding, twin_faults.CORRECT[0].__name__)


def test_where_no_brief_check_shows_it_relaxfuzz_is_asked_again() -> None:
    call = called("values/effect_faults", "loses_a_packed_call")
    finding = found(effect_faults.module(), call, "effects")
    text = seen(finding, Form.TVMSCRIPT)
    assert "# It needs relaxfuzz" in text
    right = text.replace("loses_a_packed_call", "loses_a_pure_value")
    assert not reproducer.fails(right, finding)


@pytest.mark.parametrize(
    ("factory", "other"),
    [
        ("grows_with_every_run", "raises"),
        ("forgets_a_binding", "undefined_in_tir"),
        ("raises", "fails_a_check"),
        ("swaps_parameters", "forgets_a_function"),
    ],
)
def test_another_fault_is_not_taken_for_it(factory: str, other: str) -> None:
    finding = found(faults.module(), called("faults", factory))
    text = seen(finding, Form.SOURCE).replace(f"{factory}']()", f"{other}']()")
    assert other in text
    assert not reproducer.fails(text, finding)


# Real findings, and forms


@I.ir_module
class UnknownShape:
    @R.function
    def main(
        x: R.Tensor(dtype="float32", ndim=2), y: R.Tensor(dtype="float32", ndim=2)
    ) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            gv = R.minimum(x, y)
            R.output(gv)
        return gv


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = R.add(x, R.const([1.0, 2.0], "float32"))
            R.output(gv)
        return gv


def test_what_is_not_lowered_does_not_build() -> None:
    finding = found(UnknownShape, PassCall("LegalizeOps()"), "lowering-complete")
    text = seen(finding, Form.TVMSCRIPT)
    assert text.splitlines()[-1].strip() == 'relax.build(Module, "llvm")'
    assert reproducer.length(text) <= 30
    known = text.replace('dtype="float32", ndim=2', '(2, 3), dtype="float32"')
    assert not reproducer.fails(known, finding)
    other = text.replace("R.minimum(", "R.maximum(")  # fails as well, but this is another finding
    assert not reproducer.fails(other, finding)


def marked(module: tvm.IRModule = Plain) -> Finding:
    return found(module, called("faults", "raises"))


@pytest.mark.parametrize("form", Form)
def test_each_form_fails_and_is_short(form: Form) -> None:
    finding = marked()
    text = seen(finding, form)
    assert not reproducer.fails(text.replace("raises']()", "does_nothing']()"), finding)
    code = code_of(text)
    assert code.rstrip().splitlines()[-1].strip().endswith(("(mod)", "(Module)"))
    assert ("class Module:" in code) == (form is not Form.SOURCE)
    if form is not Form.SOURCE:
        assert "R.const([1.0, 2.0]" in code
        assert reproducer.length(code) <= 22


def test_a_report_has_all_that_maintainers_ask_for() -> None:
    finding = marked()
    text = seen(finding, Form.ISSUE)
    assert text.startswith(f"# raises: {finding.title}\n"), "not for TVM's tracker"
    headings = re.findall(r"^### (.*)$", text, re.M)
    assert headings == [
        "Expected behavior",
        "Actual behavior",
        "Environment",
        "Steps to reproduce",
    ]
    assert "docs/arch/pass_infra.rst" in text
    assert f"TVM {tvm.__version__}" in text
    assert "Error in pass" not in text.partition("### Environment")[0]
    compile(code_of(text), "report", "exec")


def test_a_large_constant_travels_in_the_source_form() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(relax.const(np.arange(100), "float32"))
    finding = marked(builder.get())
    text = seen(finding, Form.TVMSCRIPT)
    assert "class Module:" not in text
    assert "# By constructor calls: TVMScript does not give this module" in text


def test_tvmscript_may_give_another_module_that_shows_the_same(pool: LocalPool) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    body = relax.SeqExpr([], x)
    relax.expr._update_type(body, relax.TensorType(None, "float32", ndim=1))
    main = relax.Function([x], body, x.ty).with_attr("global_symbol", "main")
    finding = marked(tvm.IRModule({"main": main}))
    assert "class Module:" not in seen(finding, Form.TVMSCRIPT)
    text = reproducer.failing(finding, executor=pool)
    assert text is not None
    assert "class Module:" in text


def test_what_tvmscript_does_not_show_has_the_source_form(pool: LocalPool) -> None:
    finding = found(unscripted(), called("faults", "fills_in_a_type"), "mutation")
    assert '"nodes"' not in finding.detail
    text = reproducer.failing(finding, executor=pool)
    assert text is not None
    assert is_short(text)
    assert "class Module:" not in text
    assert not reproducer.fails(text.replace("fills_in_a_type']()", "copies']()"), finding)


def unscripted() -> tvm.IRModule:
    """TVMScript gives each GlobalVar the type of its function, which no comparison looks at."""
    loose = tvm.ir.GlobalVar("loose")
    functions = dict(Plain.functions_items())
    return tvm.IRModule({loose: tirx.PrimFunc([], ir.Evaluate(0)), **functions})


def test_symbols_of_two_functions_may_have_one_name() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def twice(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (n,), "float32")
            Y = T.match_buffer(y, (n,), "float32")
            for i in range(n):
                Y[i] = X[i] * T.float32(2)

        @R.function
        def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
            n = T.int64()
            cls = Module
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            return R.call_tir(cls.twice, (y,), out_ty=R.Tensor((n,), "float32"))

    assert "class Module:" in seen(marked(Module), Form.TVMSCRIPT)
