"""Options of the PassContext: all that Relax registers, on passes that read them and on others."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random

import pytest
import tvm
import tvm_ffi

from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles import contexts
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import OPT_LEVEL, PassCall, pass_context
from relaxfuzz.oracles.violation import Case


@tvm.script.ir_module
class Chain:
    @tvm.script.relax.function
    def main(x: tvm.script.relax.Tensor((2, 3), "float32")):
        with tvm.script.relax.dataflow():
            a = tvm.script.relax.exp(x)
            b = tvm.script.relax.sqrt(a)
            tvm.script.relax.output(b)
        return b


LEGALIZED = PassCall("LegalizeOps()")
PATTERNS = PassCall("AnnotateTIROpPattern()")
DRAWN = [contexts.draw(Random(seed)) for seed in range(200)]


def test_all_options_of_relax_are_drawn() -> None:
    values = {(key, value) for config in DRAWN for key, value in config.items()}
    assert {key for key, _ in values} == contexts.options().keys()
    assert {("relax.FuseOps.max_depth", 0), ("opt_level", 3)} <= values
    assert ("relax.backend.use_cuda_graph", True) in values
    for config in DRAWN:
        with pass_context(config):  # refuses what is of another type
            pass


def test_all_options_that_a_contract_varies_are_options_of_tvm() -> None:
    for name in ("FuseOps", "LegalizeOps", "RewriteCUDAGraph", "LiftTransformParams"):
        for seed in range(30):
            call = catalogue[name].choose(Choices(Random(seed).randbytes(64)), Chain)
            assert call is None or call.config.keys() <= contexts.options().keys()


@pytest.mark.parametrize("key", sorted(contexts.options()))
def test_an_option_changes_nothing_for_who_does_not_read_it(key: str) -> None:
    """A contract that takes any option for its own would let everything pass, or nothing."""
    for value in contexts.VALUES[contexts.options()[key]]:
        mod: tvm.IRModule = Chain
        for call in (LEGALIZED, PATTERNS, PassCall("FuseOps()"), PassCall("RewriteCUDAGraph()")):
            (under,) = contexts.under([call], {key: value})
            assert check(Case(mod, (under,))) == []
            if key.rpartition(".")[0] != f"relax.{call.name}":
                reads = {LEGALIZED: "apply_legalize_ops", PATTERNS: ""}.get(call, "use_cuda_graph")
                if call.name == "FuseOps":  # its own level is the context's by default
                    reads = OPT_LEVEL
                if not (reads and key.endswith(reads)):
                    assert tvm_ffi.structural_equal(under.run(mod), call.run(mod))
            mod = call.run(mod)


def test_a_list_keeps_the_options_of_its_own() -> None:
    own = PassCall("FuseOps()", config={"relax.FuseOps.max_depth": 3})
    under = contexts.under([PATTERNS, own], {"relax.FuseOps.max_depth": 0})
    assert under == (PATTERNS, own)
    under = contexts.under([PATTERNS, own], {"relax.backend.use_cuda_graph": True})
    assert [dict(call.config) for call in under] == [
        {"relax.backend.use_cuda_graph": True},
        {"relax.backend.use_cuda_graph": True, "relax.FuseOps.max_depth": 3},
    ]


@pytest.mark.parametrize(("level", "skipped"), [(None, False), (0, True), (1, False)])
def test_sequential_skips_what_is_above_the_level(level: int | None, skipped: bool) -> None:
    factory = f"{Path(__file__).resolve()}:negated"
    call = PassCall(
        "negated()", config={} if level is None else {OPT_LEVEL: level}, factory=factory
    )
    runs = PassRuns(Chain, (call,), catalogue["FuseOps"])
    assert runs.enabled() == (not skipped)
    assert runs.direct.mark != runs.given.mark
    assert (runs.sequential.mark == runs.given.mark) == skipped
    assert check(Case(Chain, (call,)), oracles=("sequential", "crash")) == []
    calls = (LEGALIZED, dataclasses.replace(call, config=call.config), LEGALIZED)
    assert check(Case(Chain, calls), oracles=("sequential", "crash")) == []


@tvm.transform.module_pass(opt_level=1)
def negated(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
    """The module with another attribute."""
    return mod.with_attr("negated", 1)
