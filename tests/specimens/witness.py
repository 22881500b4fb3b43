"""A module on which a pass shows its fault, or on which it is right; seen without our oracles.

What a pass makes of the module is compared here with plain means: the input and a second run by
structural equality, the interface by names, types and attributes, and values by evaluation.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tvm
from tvm import relax, tirx

from relaxfuzz import evaluate, sanitize
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.errors import NoResult, Undefined, Unpromised, Unsupported
from relaxfuzz.oracles.inspect import is_public
from relaxfuzz.oracles.structural.canonical import equivalent
from relaxfuzz.oracles.tensorir.threads.limits import over_limits

from .specimen import Specimen
from .table import SPECIMENS

ROOT = Path(__file__).parents[2]

Problem = Literal[
    "death",
    "crash",
    "mutation",
    "interface",
    "ill-formed",
    "postcondition",
    "values",
    "unstable",
]


@dataclass(frozen=True, slots=True)
class Witness:
    """One module of one specimen."""

    name: str
    """Of the specimen."""
    problem: Problem | None
    """The first problem with what the pass makes of the module; None: it is right."""
    mod: tvm.IRModule
    args: tuple[Any, ...] | None = None
    """For main; None: small numbers."""
    stage: Stage = Stage.RAW
    """The stage that the module comes to first."""
    again: bool = True
    """A second run changes nothing."""
    synchronised: bool = False
    """The pass places the barriers, so a race of threads is a fault of its result."""

    @property
    def specimen(self) -> Specimen:
        """Its record."""
        return SPECIMENS[self.name]


def equal(a: Any, b: Any) -> bool:
    """Structurally, whatever the names of variables."""
    return bool(structural_equal(a, b, map_free_vars=True))


def problem(witness: Witness) -> Problem | None:
    """The first problem with what the pass makes of the module; it is checked in this order."""
    return seen(witness)[0]


def seen(witness: Witness) -> tuple[Problem | None, bool]:
    """The problem, and True if the result is another module."""
    mod = advance(witness.mod, witness.stage)
    assert flaw(mod) is None, "the module itself is ill-formed"
    if witness.problem == "death":
        return "death" if dies(witness.specimen, mod) else None, True
    before = load_json(save_json(mod))
    pass_ = witness.specimen.call.build()
    with witness.specimen.call.context():
        try:
            after = pass_(mod)
        except Exception:
            return "crash", False
        if not equal(before, mod):
            return "mutation", True
        changed = not equal(mod, after)
        if (wrong := difference(witness, mod, after)) is not None:
            return wrong, changed
        if not witness.again:
            return None, changed
        try:
            stable = equivalent(pass_(after), after)
        except Exception:
            stable = False
        return None if stable else "unstable", changed


def dies(specimen: Specimen, mod: tvm.IRModule) -> bool:
    """The pass ends its process by a signal, or takes more than half a second of CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mod.json"
        path.write_text(save_json(mod))
        command = [sys.executable, "-c", DANGEROUS, specimen.name, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    deaths = (signal.SIGVTALRM, signal.SIGABRT, signal.SIGSEGV)
    assert done.returncode in (0, *(-number for number in deaths)), done.stderr[-2000:]
    return done.returncode != 0


DANGEROUS = """
import signal, sys
from relaxfuzz.compat.serialization import load_json
from tests.specimens.table import SPECIMENS

mod = load_json(open(sys.argv[2]).read())
pass_ = SPECIMENS[sys.argv[1]].call.build()
signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)
pass_(mod)
"""


def difference(witness: Witness, before: tvm.IRModule, after: tvm.IRModule) -> Problem | None:
    """The problem with a result, but for those that show in the input or in a second run."""
    if interface(before) != interface(after):
        return "interface"
    if flaw(after) is not None:
        return "ill-formed"
    old, new = public_types(before), public_types(after)
    if any(not equal(ty, new[name]) for name, ty in old.items()):
        return "interface"
    specimen = witness.specimen
    post = None if specimen.like is None else catalogue[specimen.like].post
    if post is not None and post(before, after, specimen.call) is not None:
        return "postcondition"
    main = before["main"]
    given = small_numbers(main) if witness.args is None else witness.args
    kernel = isinstance(main, tirx.PrimFunc)
    if kernel and misuses_memory(after["main"], given, synchronised=witness.synchronised):
        return "values"
    same = equal(before, after) or same_values(before, after, given)
    return None if same else "values"


def interface(mod: tvm.IRModule) -> Mapping[str, Any]:
    """Whatever the outside relies on, but for types: names, attributes, devices and effects."""
    functions = {func.attrs["global_symbol"]: func for func in publics(mod)}
    return {
        "attributes": sorted(mod.attrs.keys()) if mod.attrs else [],
        "devices": len(dict(mod.global_infos.items()).get("vdevice", ())),
        "functions": {
            name: (
                [str(param.name) for param in func.params] if of_relax(func) else None,
                {"num_input"} & set(func.attrs.keys()),
                on_device(func) if of_relax(func) else None,
                effects(func) if of_relax(func) else None,
            )
            for name, func in functions.items()
        },
    }


def publics(mod: tvm.IRModule) -> list[Any]:
    """The functions that can be called from outside."""
    return [func for func in mod.functions.values() if is_public(func)]


def of_relax(func: Any) -> bool:
    """A function of Relax."""
    return isinstance(func, relax.Function)


def public_types(mod: tvm.IRModule) -> Mapping[str, Any]:
    """The types of public functions, and of what is declared of private ones."""
    return {func.attrs["global_symbol"]: getattr(func, "ty", None) for func in publics(mod)}


def on_device(func: relax.Function) -> bool:
    """The result is a tensor on a virtual device."""
    return getattr(func.body.body.ty, "vdevice", None) is not None


def effects(func: relax.Function) -> list[str]:
    """The calls that print or that leave TVM, in order."""
    bindings = [binding for block in func.body.blocks for binding in block.bindings]
    texts = [str(binding.value) for binding in bindings]
    return [text for text in texts if re.search(r"R\.(print|call_packed|assert_op)", text)]


def small_numbers(func: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Values for the parameters; a symbolic dimension is 3."""
    values = []
    for param in func.params:
        shape = [getattr(dim, "value", 3) for dim in param.ty.shape or [3] * param.ty.ndim]
        ramp = np.arange(np.prod(shape)).reshape([int(dim) for dim in shape])
        values.append((ramp % 3 + 0.5).astype(str(param.ty.dtype)))
    return tuple(values)


def misuses_memory(func: tirx.PrimFunc, args: tuple[Any, ...], *, synchronised: bool) -> bool:
    """It is outside of a buffer, reads what nobody wrote, races, or is too large for its device."""
    if over_limits(func) is not None:
        return True
    try:
        fault = sanitize(
            func,
            [np.copy(arg) for arg in args],
            outputs=[],
            synchronised=synchronised,
        )
    except Unsupported:  # vectors
        return False
    return fault is not None


def same_values(before: tvm.IRModule, after: tvm.IRModule, args: tuple[Any, ...]) -> bool:
    """Compared as TensorIR where operators leave something open (NaN, large numbers)."""
    try:
        expected = evaluated(before, args)
    except (Undefined, Unpromised):
        before, after = map(relax.transform.LegalizeOps(), (before, after))
        expected = evaluated(before, args)
    try:
        return near(expected, evaluated(after, args))
    except NoResult:
        return False


def evaluated(mod: tvm.IRModule, args: tuple[Any, ...]) -> Any:
    """The value that main gives."""
    return evaluate(load_json(save_json(mod)), "main", [np.copy(arg) for arg in args])


def near(a: Any, b: Any) -> bool:
    """Tensors and tuples of them are equal but for rounding; zeros have their signs."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(near, a, b))
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    zero = (a == 0) & (b == 0)
    signed = np.array_equal(np.signbit(a[zero]), np.signbit(b[zero]))
    return signed and bool(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True))
