"""Checks that a developer might write by hand today."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.fuzz.campaign.sequences import call_of
from relaxfuzz.fuzz.jobs.draw import entropy, example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.execute import from_numpy, to_numpy
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.inspect import public_functions
from relaxfuzz.oracles.passcall import PassCall

from .forks import Report, until

NAIVE_PASSES = 3
"""The number of passes to check on each module."""

TOLERANCE = 1e-3


def naive(seed: int, seconds: float) -> tuple[int, float]:
    """The number and CPU seconds of such checks on raw modules.

    For each module and pass: apply it, apply it in Sequential, compare, build both modules, run
    them in the VM on the same arguments, compare the results. An exception ends the check.
    """

    def work(report: Report, start: int) -> None:
        strategy = ir_modules()
        begin = time.process_time()
        for index in itertools.count(start):
            report(("module", index))
            mod = example(strategy, seed, index)
            for call in some_calls(mod, Random(entropy("naive", seed, index))):
                with contextlib.suppress(Exception):
                    _naive(mod, call.build())
                report(("check", index))
                if time.process_time() - begin > seconds:
                    return

    figures, spent = until(work, seconds)
    return len(figures), spent


def some_calls(mod: tvm.IRModule, random: Random) -> Iterator[PassCall]:
    """Passes that apply to a raw module, with their arguments."""
    names = [name for name, contract in catalogue.items() if Stage.RAW in contract.stages]
    made = 0
    for name in random.sample(names, len(names)):
        if made == NAIVE_PASSES:
            return
        if (call := call_of(catalogue[name], mod, random)) is not None:
            made += 1
            yield call


def _naive(mod: tvm.IRModule, pass_: tvm.transform.Pass) -> None:
    with tvm.target.Target("llvm"):
        direct = pass_(mod)
        sequential = tvm.transform.Sequential([pass_])(mod)
    assert tvm_ffi.structural_equal(direct, sequential, map_free_vars=True)
    before, after = machine(mod), machine(direct)
    for gvar, func in public_functions(mod):
        args = drawn(func, InputKind.WHOLE)
        old, new = (
            to_numpy(built[gvar.name_hint](*map(from_numpy, args))) for built in (before, after)
        )
        compare(old, new)


def compare(old: Any, new: Any) -> None:
    """Compare results tensor by tensor."""
    for a, b in zip(_leaves(old), _leaves(new), strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)


def machine(mod: tvm.IRModule) -> Any:
    """Build a VM as the tutorials do."""
    return relax.VirtualMachine(relax.build(mod, tvm.target.Target("llvm")), tvm.cpu())


def _leaves(value: Any) -> list[Any]:
    return (
        [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]
    )
