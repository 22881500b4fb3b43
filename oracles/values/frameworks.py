"""Compares a framework's model with the module that TVM's importer made from it.

The framework's own outputs on example arguments are the expected values. The NumPy evaluation of
the imported module and its default build are compared with them. The types and values of the nodes
of the framework's graph show where the importer begins to differ.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax

from .. import pipelines
from ..dtypes import dtype_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Failure, execute
from ..expected.comparison import difference, finite, leaves
from ..expected.expectation import Expectation
from ..inspect import bindings_of, op_name
from ..text.messages import headline
from ..violation import StepJournal, silent

_Leaves: TypeAlias = tuple[Any, ...]

OWN = "your values"
"""Placeholder for a framework: the user has given inputs and outputs."""

MAIN = "main"
"""The name of the function that importers create for a model."""

BUILD_SECONDS = 120.0
"""Time limit for a model's default build and one run; the largest torchvision models take a minute.
"""

_ARRAYS, _REST = "framework.npz", "framework.json"


@dataclass(frozen=True, slots=True)
class FrameworkNode:
    """A node of the framework's graph that computes a tensor."""

    op: str
    """The framework's name of the operator, e.g. "aten.cumsum.default"."""
    var: str
    """The name of the variable that the importer created for it."""
    dtype: str
    shape: tuple[int, ...]
    """The sizes; -1 if a size is known only when the model runs."""
    operands: tuple[str, ...] = ()
    """The variables of its operand nodes."""


@dataclass(frozen=True, slots=True)
class FrameworkReference:
    """The results of a framework for its model, and the nodes of its graph."""

    framework: str
    """Name and version of the framework, e.g. "torch 2.14.1"."""
    importer: str
    args: Sequence[Any]
    """Example arguments, in the order of the parameters of `main`."""
    outputs: Sequence[Any]
    """The framework's results for them."""
    nodes: Sequence[FrameworkNode] = ()
    """The nodes in the order of the graph."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values of intermediate nodes, by variable."""

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        arrays = {f"arg {i}": each for i, each in enumerate(self.args)}
        arrays |= {f"output {i}": each for i, each in enumerate(self.outputs)}
        arrays |= {f"value {name}": each for name, each in self.values.items()}
        np.savez(folder / _ARRAYS, **arrays)
        rest = {
            "framework": self.framework,
            "importer": self.importer,
            "nodes": [dataclasses.asdict(node) for node in self.nodes],
            "dtypes": {name: str(array.dtype) for name, array in arrays.items()},
        }
        (folder / _REST).write_text(json.dumps(rest), encoding="utf-8")


def saved(folder: Path) -> FrameworkReference | None:
    """The reference in a folder, if there is one."""
    if not (folder / _REST).is_file():
        return None
    rest = json.loads((folder / _REST).read_text(encoding="utf-8"))
    with np.load(folder / _ARRAYS) as file:
        # NumPy saves bfloat16 and the like as raw bytes.
        arrays = {name: file[name].view(dtype_of(ty)) for name, ty in rest["dtypes"].items()}

    def of(kind: str) -> dict[str, Any]:
        named = (name.partition(" ")[2] for name in arrays if name.startswith(f"{kind} "))
        return {name: arrays[f"{kind} {name}"] for name in named}

    nodes = [
        FrameworkNode(
            **{**each, "shape": tuple(each["shape"]), "operands": tuple(each["operands"])}
        )
        for each in rest["nodes"]
    ]
    args, outputs = list(of("arg").values()), list(of("output").values())
    return FrameworkReference(
        rest["framework"], rest["importer"], args, outputs, nodes, of("value")
    )


def move(folder: Path, to: Path) -> None:
    """Move the reference in a folder to another one, if there is one."""
    for name in (_ARRAYS, _REST):
        if (folder / name).is_file():
            shutil.move(folder / name, to / name)


@dataclass(frozen=True, slots=True)
class ImporterVerdict:
    """The comparison of the imported module and its build with the framework."""

    framework: str
    importer: str
    types: tuple[str, ...] = ()
    """The nodes whose type differs in the module."""
    evaluated: str | None = None
    """The difference of the NumPy evaluation; None if there is none."""
    not_evaluated: str | None = None
    """The reason for a missing value."""
    starts: str | None = None
    """The first node at which the evaluation differs."""
    built: str | None = None
    """The difference of the default build; None if there is none."""
    not_built: str | None = None
    """The reason for a missing value."""
    agree: bool = False
    """True if the evaluation and the build give the same."""
    departs: str | None = None
    """The step of the build whose result departs from the user's values, if the module agrees."""

    @property
    def fails(self) -> bool:
        """True if the importer changes a type or a value, or a build departs from the user's."""
        of_build = self.framework == OWN and self.built is not None
        return bool(self.types) or self.evaluated is not None or of_build


@dataclass(frozen=True, slots=True)
class FrameworkExample:
    """The call of the imported module on the framework's example arguments."""

    call: Expectation | None
    """The call, with its NumPy evaluation as the expected result; None if there can be none."""
    missing: str | None = None
    """The reason for a missing evaluation."""
    starts: str | None = None
    """The first node whose value differs from the framework's."""


def example(
    mod: tvm.IRModule, reference: FrameworkReference, journal: StepJournal = silent
) -> FrameworkExample:
    """Evaluate a module that an importer has made on the framework's example arguments."""
    journal("compare with the framework")
    args = list(reference.args)
    if len(mod[MAIN].params) != len(args):
        why = f"{len(mod[MAIN].params)} parameters for {len(args)} example arguments"
        return FrameworkExample(None, why)
    began = time.process_time()
    made = _evaluated(mod, reference, promised=True)
    if made.missing is not None:
        made = _evaluated(mod, reference, promised=False)
    assert made.call is not None
    made.call.seconds = time.process_time() - began
    return made


def _evaluated(
    mod: tvm.IRModule, reference: FrameworkReference, *, promised: bool
) -> FrameworkExample:
    """The call, evaluated.

    Args:
        promised: see `Evaluator`; if False, the result of a build is not compared with it.
    """
    ops = {node.var: node.op for node in reference.nodes}
    calls = _calls(mod)
    starts: list[str] = []
    call = Expectation(mod, MAIN, list(reference.args), None)
    call.promised = promised
    call.converts = not promised

    def watch(var: relax.Var, value: Any) -> None:
        name = str(var.name)
        expected = reference.values.get(name)
        call.finite = call.finite and (callable(value) or finite(value))
        if not starts and expected is not None and difference(expected, value) is not None:
            starts.append(f"{ops[name]} ({calls.get(name, name)})")

    try:
        call.result = call.evaluate(watch=watch)
    except (Unsupported, Mismatch, Undefined) as error:
        call.promised = False
        return FrameworkExample(call, headline(str(error)))
    return FrameworkExample(call, starts=starts[0] if starts else None)


def built(
    mod: tvm.IRModule,
    made: FrameworkExample,
    journal: StepJournal = silent,
    *,
    seconds: float | None = BUILD_SECONDS,
    pipeline: str = pipelines.BUILT,
) -> list[Any] | Failure | None:
    """The outcome of a build that is called on the example arguments, see `execute`.

    Args:
        seconds: the time limit of the build and one run of it.
    """
    plans = [] if made.call is None else [made.call.plan()]
    beat = functools.partial(journal, "build")
    return execute(mod, plans, pipeline, seconds=seconds, beat=beat) if plans else []


def judge(
    mod: tvm.IRModule,
    reference: FrameworkReference,
    made: FrameworkExample,
    outcome: list[Any] | Failure | None,
    journal: StepJournal = silent,
    *,
    pipeline: str = pipelines.BUILT,
) -> ImporterVerdict:
    """Compare a module that an importer has made with the framework's results for its model.

    Args:
        outcome: that of a build which is called on the example first, see `execute`.
    """
    verdict = ImporterVerdict(
        reference.framework, reference.importer, tuple(_types(mod, reference))
    )
    if made.call is None:
        return dataclasses.replace(verdict, not_evaluated=made.missing, not_built=made.missing)
    ours = _leaves(made.call.result)
    theirs, not_built = _value(outcome)
    evaluated = _difference(reference, ours, made.missing)
    wrong = _difference(reference, theirs, not_built)
    departs = None
    if reference.framework == OWN and wrong is not None and evaluated is None:
        departs = _departs(mod, reference, pipeline, journal)
    agree = made.missing is not_built is None and difference(ours, theirs) is None
    return dataclasses.replace(
        verdict,
        evaluated=evaluated,
        not_evaluated=made.missing,
        starts=made.starts if evaluated is not None else None,
        built=wrong,
        not_built=not_built,
        agree=agree,
        departs=departs,
    )


def _value(outcome: list[Any] | Failure | None) -> tuple[_Leaves, str | None]:
    """The tensors that a build gives for the example, and the reason if there are none."""
    if outcome is None:
        return (), "it takes too long"
    first = outcome if isinstance(outcome, Failure) else outcome[0]
    if isinstance(first, Failure):
        return (), f"{first.error} in the step {first.step!r}: {headline(first.text)}"
    return _leaves(first), None


CODE_GENERATION = "code generation"


def _departs(
    mod: tvm.IRModule, reference: FrameworkReference, pipeline: str, journal: StepJournal
) -> str:
    """The first step of a build whose result evaluates to other values; else code generation."""
    for call in pipelines.steps(pipeline):
        journal(call.name)
        try:
            mod = call.run(mod)
            value = Evaluator(mod, promised=False, converts=True).run(MAIN, list(reference.args))
        except (Unsupported, Mismatch, Undefined):
            continue
        if difference(tuple(reference.outputs), _leaves(value)) is not None:
            return call.name
    return CODE_GENERATION


def _difference(reference: FrameworkReference, value: _Leaves, missing: str | None) -> str | None:
    found = None if missing is not None else difference(tuple(reference.outputs), value)
    far = None if found is None else _furthest(reference.outputs, value)
    return found if far is None else f"values: {far}"


def _furthest(expected: Sequence[Any], actual: _Leaves) -> str | None:
    """The element furthest from its expected value; None if shapes differ."""
    if [each.shape for each in expected] != [each.shape for each in actual]:
        return None
    worst = (-1.0, "")
    for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
        want, got = one.astype("float64"), other.astype("float64")
        if not want.size:
            continue
        with np.errstate(all="ignore"):
            off = np.abs(got - want)
        # A NaN on one side is the greatest possible distance.
        off = np.where(np.isnan(want) & np.isnan(got), 0.0, np.where(np.isnan(off), np.inf, off))
        place = np.unravel_index(int(np.argmax(off)), off.shape)
        index = ", ".join(map(str, map(int, place)))
        text = f"at [{index}] of output {number} expected {want[place]:g} but got {got[place]:g}"
        worst = max(worst, (float(off[place]), text))
    return f"{worst[1]}, the largest difference" if worst[1] else None


def _types(mod: tvm.IRModule, reference: FrameworkReference) -> list[str]:
    """The nodes with another dtype or static shape in the module, except those whose operands
    already differ."""
    types = {str(each.var.name): each.var.ty for each in bindings_of(mod[MAIN])}
    calls = _calls(mod)
    name = reference.framework.partition(" ")[0]
    found, changed = [], set[str]()
    for node in reference.nodes:
        ty = types.get(node.var)
        if isinstance(ty, relax.TensorType) and (other := _other(node, ty)) is not None:
            changed.add(node.var)
            if not changed.isdisjoint(node.operands):
                continue
            ours, theirs = other
            place = calls.get(node.var, node.var)
            found.append(f"{node.op} gives {ours} in {name} and {theirs} in the module ({place})")
    return found


def _other(node: FrameworkNode, ty: relax.TensorType) -> tuple[str, str] | None:
    """The type of the node and that of the variable, if they contradict each other."""
    dtype = str(ty.dtype)
    if dtype and dtype != node.dtype:
        return node.dtype, dtype
    shape = None if ty.shape is None else getattr(ty.shape, "values", None)
    if shape is None:
        return None
    sizes = [int(dim) if isinstance(dim, tvm.tirx.IntImm) else -1 for dim in shape]
    differs = len(sizes) != len(node.shape) or any(
        -1 not in pair and pair[0] != pair[1] for pair in zip(sizes, node.shape, strict=True)
    )
    return (f"the shape {list(node.shape)}", f"{sizes}") if differs else None


def _calls(mod: tvm.IRModule) -> dict[str, str]:
    """The called operator with the variable, by the variable's name."""
    bound = ((str(each.var.name), op_name(each.value)) for each in bindings_of(mod[MAIN]))
    return {var: f"{op}, {var}" for var, op in bound if op is not None}


def _leaves(result: Any) -> _Leaves:
    """The tensors of a result, however they are nested."""
    return tuple(leaf for _, leaf in leaves(result))
