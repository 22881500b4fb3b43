"""A model of a framework beside the module that TVM's importer has made of it.

The framework's own outputs on example arguments are the expected values. The NumPy evaluation of
the imported module and its default build are compared with them. The types and values of the nodes
of the framework's graph tell where the importer begins to differ.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax

from ..dtypes import dtype_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Failure, execute
from ..inspect import bindings_of, op_name
from ..text.messages import headline
from ..violation import Journal, silent
from .comparison import difference, leaves

_Leaves: TypeAlias = tuple[Any, ...]

MAIN = "main"
"""The function that importers make of a model."""

BUILD_SECONDS = 120.0
"""For the default build of a model and one run; the largest of torchvision take a minute."""

_ARRAYS, _REST = "framework.npz", "framework.json"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the framework's graph that gives a tensor."""

    op: str
    """As the framework names it, e.g. "aten.cumsum.default"."""
    var: str
    """The name of the variable that the importer has made of it."""
    dtype: str
    shape: tuple[int, ...]
    """A size that is known only when the model runs is -1."""
    operands: tuple[str, ...] = ()
    """The variables of the nodes that it is computed from."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The results of a framework for its model, and the nodes of its graph."""

    framework: str
    """With its version, e.g. "torch 2.14.1"."""
    importer: str
    args: Sequence[Any]
    """Example arguments, in the order of the parameters of `main`."""
    outputs: Sequence[Any]
    """The framework's results for them."""
    nodes: Sequence[Node] = ()
    """In the order of the graph."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values of nodes on the way, by the variable."""

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


def saved(folder: Path) -> Reference | None:
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
        Node(**{**each, "shape": tuple(each["shape"]), "operands": tuple(each["operands"])})
        for each in rest["nodes"]
    ]
    args, outputs = list(of("arg").values()), list(of("output").values())
    return Reference(rest["framework"], rest["importer"], args, outputs, nodes, of("value"))


def move(folder: Path, to: Path) -> None:
    """Move the reference in a folder to another one, if there is one."""
    for name in (_ARRAYS, _REST):
        if (folder / name).is_file():
            shutil.move(folder / name, to / name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of the imported module and its build with the framework."""

    framework: str
    importer: str
    types: tuple[str, ...] = ()
    """Nodes that have another type in the module."""
    evaluated: str | None = None
    """The difference of the NumPy evaluation; None: there is none."""
    not_evaluated: str | None = None
    """Why there is no value."""
    starts: str | None = None
    """The node with which the evaluation begins to differ."""
    built: str | None = None
    """The difference of the default build; None: there is none."""
    not_built: str | None = None
    """Why there is no value."""
    agree: bool = False
    """The evaluation and the build give the same."""

    @property
    def blames_importer(self) -> bool:
        """The importer changes a type or a value."""
        return bool(self.types) or self.evaluated is not None


def judge(
    mod: tvm.IRModule,
    reference: Reference,
    journal: Journal = silent,
    *,
    seconds: float = BUILD_SECONDS,
) -> Verdict:
    """Compare a module that an importer has made with what the framework says of its model.

    Args:
        seconds: for the default build and one run of it.
    """
    journal("compare with the framework")
    verdict = Verdict(reference.framework, reference.importer, tuple(_types(mod, reference)))
    if len(mod[MAIN].params) != len(reference.args):
        why = f"{len(mod[MAIN].params)} parameters for {len(reference.args)} example arguments"
        return dataclasses.replace(verdict, not_evaluated=why, not_built=why)
    value, starts, not_evaluated = _evaluated(mod, reference)
    built, not_built = _built(mod, reference, journal, seconds)
    evaluated = _difference(reference, value, not_evaluated)
    agree = not_evaluated is not_built is None and difference(value, built) is None
    return dataclasses.replace(
        verdict,
        evaluated=evaluated,
        not_evaluated=not_evaluated,
        starts=starts if evaluated is not None else None,
        built=_difference(reference, built, not_built),
        not_built=not_built,
        agree=agree,
    )


def _difference(reference: Reference, value: _Leaves, missing: str | None) -> str | None:
    return None if missing is not None else difference(tuple(reference.outputs), value)


def _types(mod: tvm.IRModule, reference: Reference) -> list[str]:
    """The nodes that have another dtype or another static shape in the module, and that are not
    computed from one that has."""
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


def _other(node: Node, ty: relax.TensorType) -> tuple[str, str] | None:
    """The type of the node and that of the variable, where they contradict each other."""
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
    """By the names of variables: the operator that is called, with the variable."""
    bound = ((str(each.var.name), op_name(each.value)) for each in bindings_of(mod[MAIN]))
    return {var: f"{op}, {var}" for var, op in bound if op is not None}


def _evaluated(mod: tvm.IRModule, reference: Reference) -> tuple[_Leaves, str | None, str | None]:
    """The evaluation, the node with which it begins to differ, and why it gives nothing."""
    ops = {node.var: node.op for node in reference.nodes}
    calls = _calls(mod)
    starts: list[str] = []

    def watch(var: relax.Var, value: Any) -> None:
        name = str(var.name)
        expected = reference.values.get(name)
        if not starts and expected is not None and difference(expected, value) is not None:
            starts.append(f"{ops[name]} ({calls.get(name, name)})")

    try:
        result = Evaluator(mod, watch, promised=False).run(MAIN, list(reference.args))
    except (Unsupported, Mismatch, Undefined) as error:
        return (), None, headline(str(error))
    return _leaves(result), starts[0] if starts else None, None


def _built(
    mod: tvm.IRModule, reference: Reference, journal: Journal, seconds: float
) -> tuple[_Leaves, str | None]:
    """The result of the default build, and why it gives nothing."""
    made = execute(
        mod,
        [lambda run: run(MAIN, [array.copy() for array in reference.args])],
        seconds=seconds,
        beat=lambda: journal("build"),
    )
    if made is None:
        return (), "it takes too long"
    outcome = made if isinstance(made, Failure) else made[0]
    if isinstance(outcome, Failure):
        return (), f"{outcome.error} in the step {outcome.step!r}: {headline(outcome.text)}"
    return _leaves(outcome), None


def _leaves(result: Any) -> _Leaves:
    """The tensors of a result, however they are nested."""
    return tuple(leaf for _, leaf in leaves(result))
