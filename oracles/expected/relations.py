"""Relations: calls of a pass's result that must give the same as calls of the original module."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.ir import PrimType

from ...generators.rewrite.nodes import reachable, references
from ..contract import Relation
from ..dtypes import dtype_of
from ..execute import Plan, VMRunner
from ..inspect import attr, entries, is_public
from ..pass_arguments import argument
from ..passcall import PassCall


@dataclass(frozen=True, slots=True)
class CallRelation:
    """One relation between the functions of a module and those of the pass's result."""

    applies: Callable[[str], bool]
    """True if the rule relates results of the function of this name."""
    otherwise: Callable[[str], str | None] = lambda name: None
    """Gives Python statements for the calls in the result that must give the function's result.

    They set `actual`, from `run` and the list `args`. None: one call with these arguments.
    """
    arguments: Callable[[str, list[Any]], list[Any]] | None = None
    """Replaces the chosen arguments of the original call; None: they are kept."""
    sizes: Callable[[str], Mapping[str, int]] | None = None
    """Gives the sizes of symbolic dimensions that the pass fixes, by name; None: it fixes none."""

    def text(self, name: str) -> str:
        """Python statements that make the calls in the result."""
        return self.otherwise(name) or f"actual = run({name!r}, args)"

    def plan(self, name: str, args: list[Any]) -> Plan:
        """The calls of `text` for these arguments, exactly as a reproducer runs them."""
        code = _compiled(self.text(name))

        def called(run: VMRunner) -> Any:
            names: dict[str, Any] = {"run": run, "args": [*args], "np": np}
            exec(code, names)
            return names["actual"]

        return called


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    return compile(text, "<relation>", "exec")


def rule(
    relation: Relation, before: tvm.IRModule, after: tvm.IRModule, call: PassCall
) -> CallRelation | None:
    """The rule for one application of a pass; None if the results cannot be compared."""
    match relation:
        case Relation.LOOSE:
            return _cast(before, after, call)
        case Relation.SAME | Relation.ADJOINT | Relation.LOWERED:
            return _same(before, after)
        case Relation.LIFTED_PARAMS:
            return _lifted(before, after, call)
        case Relation.BUNDLED_PARAMS:
            return _bundled(before, after)
        case Relation.BOUND_PARAMS:
            return _bound(before, after, call)
        case Relation.BOUND_SIZES:
            return _sized(before, after, call)
        case Relation.LAZY_INPUT:
            return _lazy_input(before, after)
        case Relation.LAZY_OUTPUT:
            return _lazy_output(before, after)
        case Relation.LAZY_PARAMS:
            return _lazy_params(before, after, call)
        case Relation.WORKSPACE:
            return _workspace(before, after)
        case _:
            return None


def _same(before: tvm.IRModule, after: tvm.IRModule) -> CallRelation:
    """The same call; arguments only depend on the result if some of them are scalars."""
    applies = after.__contains__
    if not any(isinstance(p.ty, PrimType) for _, func in entries(before) for p in func.params):
        return CallRelation(applies)
    return CallRelation(applies, arguments=lambda name, args: _fitting(after[name].params, args))


def _fitting(params: Sequence[Any], args: list[Any]) -> list[Any]:
    """The arguments, clipped to the integer parameters of the result, which may be narrower."""
    if len(params) != len(args):
        return args
    return [_in_range(param.ty, arg) for param, arg in zip(params, args, strict=True)]


def _in_range(ty: Any, arg: Any) -> Any:
    dtype = dtype_of(str(ty.dtype)) if isinstance(ty, PrimType) else None
    if dtype is None or dtype.kind not in "iu" or not isinstance(arg, int):
        return arg
    limits = np.iinfo(dtype)
    return min(max(arg, int(limits.min)), int(limits.max))


def _cast(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> CallRelation:
    """The parameters whose names `ToMixedPrecision(fp16_input_names=[...])` gives are float16."""
    names = argument(call, "fp16_input_names", 1) or ()

    def places(name: str) -> list[int]:
        return [
            place
            for place, param in enumerate(before[name].params)
            if str(param.name) in names and "float32" in str(getattr(param.ty, "dtype", ""))
        ]

    def otherwise(name: str) -> str | None:
        changes = [f"args[{i}] = args[{i}].astype('float16')\n" for i in places(name)]
        return f"{''.join(changes)}actual = run({name!r}, args)" if changes else None

    return CallRelation(lambda name: name in after, otherwise)


def _inputs(mod: tvm.IRModule, name: str) -> int | None:
    """The number of parameters that are inputs; the others are weights."""
    number = attr(mod[name], "num_input")
    return None if number is None else int(number)


def _lifted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> CallRelation:
    """`main(x, *transform(w))` is `main(x, *w)`."""
    shared = argument(call, "shared_transform", 0)

    def transform(name: str) -> str | None:
        if isinstance(shared, list) and name not in shared:
            return None
        lift = "transform_params" if shared else f"{name}_transform_params"
        return lift if lift in after and lift not in before else None

    def applies(name: str) -> bool:
        if name not in after or name.endswith("transform_params"):
            return False  # an existing transform is composed with the new one
        return _inputs(before, name) is None or transform(name) is not None

    def otherwise(name: str) -> str | None:
        number, lift = _inputs(before, name), transform(name)
        if number is None or lift is None:
            return None
        return (
            f"weights = run({lift!r}, [args[{number}:]])\n"
            f"actual = run({name!r}, [*args[:{number}], *weights])"
        )

    return CallRelation(applies, otherwise)


def _bundled(before: tvm.IRModule, after: tvm.IRModule) -> CallRelation:
    """`main(x, (w1, w2))` is `main(x, w1, w2)`."""

    def otherwise(name: str) -> str | None:
        number = _inputs(before, name)
        if number is None:
            return None
        return f"actual = run({name!r}, [*args[:{number}], args[{number}:]])"

    return CallRelation(lambda name: name in after, otherwise)


def _bound(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> CallRelation:
    """`main(x)` is `main(x, w)` with w bound; no rule for functions that call it."""
    target, table = ast.parse(call.expr, mode="eval").body.args  # type: ignore[attr-defined]
    bound: dict[str, Any] = eval(ast.unparse(table), {"np": np})
    function: str = ast.literal_eval(target)
    calls = {str(gvar.name_hint): references(func) for gvar, func in before.functions_items()}

    def places(name: str) -> dict[int, Any]:
        if name != function:
            return {}
        names = [str(param.name) for param in before[name].params]
        return {names.index(param): value for param, value in bound.items()}

    def arguments(name: str, args: list[Any]) -> list[Any]:
        args = list(args)
        for place, value in places(name).items():
            args[place] = np.asarray(value, dtype_of(str(args[place].dtype)))
        return args

    def left(name: str) -> list[int]:
        gone = places(name)
        return [place for place in range(len(before[name].params)) if place not in gone]

    return CallRelation(
        applies=lambda name: name in after and function not in reachable(calls, calls[name]),
        arguments=arguments,
        otherwise=lambda name: f"actual = run({name!r}, [args[i] for i in {left(name)}])",
    )


def _sized(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> CallRelation:
    """`main(x)` is `main(x)` for arguments of the sizes that `BindSymbolicVars({"n": 4})` binds."""
    (table, *target) = ast.parse(call.expr, mode="eval").body.args  # type: ignore[attr-defined]
    bound: dict[str, int] = {
        ast.literal_eval(key): ast.literal_eval(value)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(value, ast.Constant)  # others are new variables
    }
    function = ast.literal_eval(target[0]) if target else None

    def sizes(name: str) -> Mapping[str, int]:
        return bound if function is None or name == function else {}

    return replace(_same(before, after), sizes=sizes)


def _lazy_input(before: tvm.IRModule, after: tvm.IRModule) -> CallRelation:
    """`main(x, get)` is `main(x, *w)`, where `get(i, name)` is `w[i]`."""
    alone = _alone(before)

    def otherwise(name: str) -> str | None:
        number = _inputs(before, name) or 0
        return (
            f"actual = run(\n    {name!r},\n    [*args[:{number}], "
            f"lambda index, param, args=args: args[{number} + index]],\n)"
        )

    return CallRelation(lambda name: name in after and alone(name), otherwise)


def _lazy_output(before: tvm.IRModule, after: tvm.IRModule) -> CallRelation:
    """`main(x, set)` calls `set(i, value)` for each element of the result of `main(x)`."""
    alone = _alone(before)

    def split(name: str) -> bool:
        return isinstance(before[name].body.body, relax.Tuple)

    def place(name: str) -> int:
        number = _inputs(before, name)
        return len(before[name].params) if number is None else number

    def otherwise(name: str) -> str | None:
        at = place(name)
        actual = "tuple(map(outputs.get, range(len(outputs))))" if split(name) else "outputs.get(0)"
        return (
            "outputs = {}\n\n\n"
            "def store(index, value, outputs=outputs):\n"
            "    outputs[index] = value\n"
            "    return ()\n\n\n"
            f"run({name!r}, [*args[:{at}], store, *args[{at}:]])\n"
            f"actual = {actual}"
        )

    return CallRelation(lambda name: name in after and alone(name), otherwise)


def _lazy_params(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> CallRelation:
    """`transform()` calls `set_item(i, value)` for each element of the result of `transform(w)`.

    It gets the weights by `get_item(i)`. Shapes and scalars among the weights stay arguments if a
    dimension may come from them. Without `set_item` it returns the tuple.
    """
    alone = _alone(before)
    get_item = argument(call, "fget_item", 0, "get_item")
    set_item = argument(call, "fset_item", 1, "set_item")

    def places(name: str) -> tuple[int, int, list[int]]:
        """Number of inputs, number of extra parameters, and positions of weights still passed."""
        func = before[name]
        number = _inputs(before, name) or 0
        fields = func.params[number].ty.fields
        held = [i for i, ty in enumerate(fields) if isinstance(ty, relax.ShapeType | PrimType)]
        if not relax.analysis.defined_symbolic_vars(func):
            held = []
        return number, len(after[name].params) - number - len(held), held

    def otherwise(name: str) -> str | None:
        if not name.endswith("transform_params"):
            return None
        number, extra, held = places(name)
        load = f"def get_item(*given, weights=args[{number}]):\n    return weights[given[-1]]\n\n\n"
        handed = (
            f"handed = [*args[:{number}], *[()] * {extra}, *(args[{number}][i] for i in {held})]\n"
        )
        if set_item is None:
            return f"{load}{handed}actual = run({name!r}, handed, {{{get_item!r}: get_item}})"
        return (
            f"outputs = {{}}\n\n\n{load}"
            "def set_item(*given, outputs=outputs):\n"
            "    outputs[given[-2]] = given[-1]\n"
            f"    return ()\n\n\n{handed}"
            f"run({name!r}, handed, {{{get_item!r}: get_item, {set_item!r}: set_item}})\n"
            "actual = tuple(map(outputs.get, range(len(outputs))))"
        )

    return CallRelation(lambda name: name in after and alone(name), otherwise)


def _alone(mod: tvm.IRModule) -> Callable[[str], bool]:
    """A predicate: the function calls no public function, whose signature would change."""
    calls = {str(gvar.name_hint): references(func) for gvar, func in mod.functions_items()}
    public = {str(gvar.name_hint) for gvar, func in mod.functions_items() if is_public(func)}
    return lambda name: public.isdisjoint(reachable(calls, calls[name]))


def _workspace(before: tvm.IRModule, after: tvm.IRModule) -> CallRelation:
    """Functions that asked for a workspace get it as their last argument."""

    def otherwise(name: str) -> str | None:
        if attr(before[name], "WorkspaceSize") is None:
            return None
        size = int(after[name].params[-1].ty.shape.values[0])
        return f"actual = run({name!r}, [*args, np.zeros({size}, 'uint8')])"

    return CallRelation(lambda name: name in after, otherwise)
