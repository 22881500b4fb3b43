"""A pass that returns no module, or one that lacks a function, is a finding with a reproducer."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz import Checker, PassViolation
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.findings.confirm import again
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer.execution import fails_as_found
from relaxfuzz.oracles.passcall import PassCall

from .. import no_module_passes as passes

FILE = Path(passes.__file__)
FINDINGS = {
    "forgets_function": "crash",
    "forgets_block": "segfault",  # in TVM
    "forgets_kernel": "well-formed",  # TVM removes the function, which is called
    "forgets_module": "crash",
    "gives_a_function": "crash",
}


@pytest.fixture(scope="module")
def module() -> str:
    """A module with a Relax function, a dataflow block and a PrimFunc."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = builder.emit_te(lambda a: tvm.topi.exp(a), x)
            value = builder.emit_output(relax.op.negative(value))
        builder.emit_func_output(value)
    return str(save_json(builder.finalize()))


@pytest.mark.parametrize(("name", "oracle"), FINDINGS.items())
def test_it_is_a_finding_that_a_file_shows(
    name: str, oracle: str, module: str, pool: LocalPool, tmp_path: Path
) -> None:
    call = PassCall(f"{name}()", factory=f"{FILE}:{name}")
    violations = check(pool, Check(module=module, calls=(call,), named=True))
    assert [(each.oracle, each.pass_name) for each in violations[:1]] == [(oracle, name)]
    finding = Finding(
        violation=violations[0],
        module=module,
        calls=(call,),
        versions={"tvm": tvm.__version__},
        source=reproducer.source_of(module),
    )
    assert again(pool, finding, module) is not None
    text = reproducer.failing(finding, executor=pool)
    assert text is not None
    path = tmp_path / "reproducer.py"
    path.write_text(text)
    assert fails_as_found(path, finding)


@pytest.mark.parametrize("name", ["forgets_function", "forgets_kernel"])
def test_a_checker_names_it(name: str, module: str, tmp_path: Path) -> None:
    checker = Checker(out=tmp_path / "out")
    with (
        pytest.raises(PassViolation, match=f"^{name}: "),
        tvm.transform.PassContext(instruments=[checker]),
    ):
        getattr(passes, name)(load_json(module))
    (finding,) = checker.findings
    assert (finding.pass_name, finding.oracle) == (name, FINDINGS[name])
