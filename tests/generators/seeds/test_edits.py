"""Edits of pieces: each occurs, and gives well-formed modules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import ir_modules
from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.bindings.pieces import edits
from relaxfuzz.generators.bindings.pieces.edits import with_other_kernel
from relaxfuzz.generators.bindings.pieces.operands import glued
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.rewrite.nodes import equal_types
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.seeds import Piece, pieces_of, recorded
from relaxfuzz.generators.seeds.piece import bindings_of, main_of
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import nodes


@I.ir_module
class Kernels:
    """Two kernels of one type, a function that is called, and a reshape."""

    @T.prim_func(private=True, s_tir=True)
    def twice(
        X: T.Buffer((T.int64(3), T.int64(5)), "float32"),
        Y: T.Buffer((T.int64(3), T.int64(5)), "float32"),
    ):
        for i, j in T.grid(T.int64(3), T.int64(5)):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def more(
        X: T.Buffer((T.int64(3), T.int64(5)), "float32"),
        Y: T.Buffer((T.int64(3), T.int64(5)), "float32"),
    ):
        for i, j in T.grid(T.int64(3), T.int64(5)):
            with T.sblock("more"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] + T.float32(1)

    @R.function(private=True)
    def layer(x: R.Tensor((3, 5), "float32")) -> R.Tensor((3, 5), "float32"):
        with R.dataflow():
            y = R.nn.gelu(x)
            z = R.multiply(y, x)
            R.output(z)
        return z

    @R.function
    def main(x: R.Tensor((3, 5), "float32")) -> R.Tensor((15,), "float32"):
        cls = Kernels
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((3, 5), "float32"))
            b = R.call_tir(cls.more, (a,), out_ty=R.Tensor((3, 5), "float32"))
            c = cls.layer(b)
            d = R.add(c, a)
            e = R.reshape(d, R.shape([15]))
            out = R.nn.softmax(e)
            R.output(out)
        return out


@I.ir_module
class Devices:
    """A tensor on one device, and a copy of it on another."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(
        x: R.Tensor((3, 5), "float32", "llvm:0"),
    ) -> R.Tensor((3, 5), "float32", "llvm:1"):
        with R.dataflow():
            y: R.Tensor((3, 5), "float32", "llvm:0") = R.exp(x)
            z = R.to_vdevice(y, "llvm:1")
            out: R.Tensor((3, 5), "float32", "llvm:1") = R.cos(z)
            R.output(out)
        return out


TUPLE = relax.TupleType


def made(
    count: int, seeds: Sequence[tvm.IRModule], *force: str
) -> Iterator[tuple[tvm.IRModule, list[str]]]:
    """Modules with the pieces of the seeds, and the names of these pieces."""
    strategy = ir_modules(seeds=seeds, force=force, only=(), max_functions=2)
    for index in range(count):
        with recorded() as names:
            mod = example(strategy, 3, index)
        yield mod, names


KINDS = {
    "another operator": r"\badd becomes \w+",
    "another kernel": r"\bmore becomes twice\b",
    "other operands": r"has other operands",
    "a variation": r"varies",
    "an inlined call": r"layer inlined",
    "a call of the piece": r"\bcalled\b",
    "glue": r"an operand that nearly fits",
}
TRAITS = ("private-functions", "symbolic-shapes")


def test_each_edit_occurs_and_gives_well_formed_modules() -> None:
    found: Counter[str] = Counter()
    whole = pieces = 0
    for mod, names in made(200, [Kernels], *TRAITS):
        assert flaw(mod) is None, names
        pieces += len(names)
        whole += sum(": " not in name for name in names)
        text = "\n".join(names)
        found.update(kind for kind, pattern in KINDS.items() if re.search(pattern, text))
    assert set(found) == set(KINDS), found
    assert 0.25 < whole / pieces < 0.75, "many pieces are not changed"


def test_attributes_of_fusion_and_of_backends() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3, 5), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.softmax(x)))
    forms: Counter[str] = Counter()
    force = ("composite", "codegen", "private-functions")
    for mod, _ in made(200, [builder.finalize()], *force):
        assert flaw(mod) is None
        for gvar, func in mod.functions_items():
            if str(gvar.name_hint).startswith("piece") and func.attrs is not None:
                forms.update(set(func.attrs.keys()) & {"Composite", "Codegen"})
    assert set(forms) == {"Composite", "Codegen"}


def piece_of(mod: tvm.IRModule) -> Piece:
    return next(each for each in pieces_of(mod, "model") if "main" in each.name)


def test_pieces_bring_their_devices() -> None:
    piece = piece_of(Devices)
    assert len(piece.load().global_infos["vdevice"]) == 2
    several = 0
    for mod, names in made(60, [Devices], "function-calls"):
        assert flaw(mod) is None, names
        if names:
            devices = mod.global_infos["vdevice"]
            assert "to_vdevice" in mod.script(show_meta=False)
            several += len(devices) > 1
        mod = relax.transform.Normalize()(mod)
        assert flaw(mod) is None, "every device is one of the module"
    assert several > 5


def test_devices_that_only_types_name_are_listed() -> None:
    taken = 0
    for mod, names in made(20, [tvm.IRModule(Devices.functions)], "function-calls"):
        listed = mod.global_infos.get("vdevice", ())
        for device in nodes(mod, ir.VDevice):
            assert any(tvm_ffi.structural_equal(device, each) for each in listed), names
        taken += len(listed) > 0
    assert taken > 5


@pytest.mark.parametrize(
    ("shape", "dtype", "calls"),
    [
        ((2, 6), "int32", ["relax.astype"]),
        ((3, 4), "float32", ["relax.reshape"]),
        ((3, 2, 6), "float32", ["relax.broadcast_to"]),
        ((12,), "float16", ["relax.reshape", "relax.astype"]),
        ((2, 6), "float32", None),
        ((5, 5), "float32", None),
    ],
)
def test_a_value_that_nearly_fits(
    shape: tuple[int, ...], dtype: str, calls: list[str] | None
) -> None:
    s = Scope(ModuleScope(frozenset()), (2, 6), ("float32",))
    s.fresh(Choices(b""), (2, 6), "float32")
    wanted = relax.TensorType(shape, dtype)
    found = glued(Choices(b""), s, wanted)
    if calls is None:
        assert found is None
    else:
        assert found is not None
        assert equal_types(found.ty, wanted)
        assert [str(each.value.op.name) for each in s.bound()] == calls


@pytest.mark.parametrize(
    ("operands", "there", "fits"), [(1, 2, True), (2, 2, False), (1, 1, False)]
)
def test_a_kernel_that_takes_the_place_of_another(operands: int, there: int, fits: bool) -> None:
    mod = piece_of(Kernels).load()
    calls = [each.value for each in bindings_of(main_of(mod))][:2]
    one, other = (call.args[0] for call in calls)
    functions = {gvar: mod[gvar] for gvar in (one, other)[:there]}
    module = ModuleScope(frozenset(), functions=functions, kernels={one: 1, other: operands})
    exchanged = with_other_kernel(Choices(b""), module, calls[0])
    assert (exchanged is not None) == fits, "it writes elsewhere, or has been taken back"
    assert exchanged is None or exchanged.args[0].same_as(other)


def with_kernel(kernel: tirx.PrimFunc, name: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    gvar = builder.add_func(kernel, name)
    ty = relax.TensorType((3, 5), "float32")
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        y = builder.emit(relax.call_tir(gvar, relax.Tuple([x]), ty))
        builder.emit_func_output(builder.emit(relax.op.tanh(y)))
    return builder.finalize()


def test_kernels_of_other_pieces() -> None:
    seeds = [with_kernel(Kernels[name], name) for name in ("twice", "more")]
    edits = []
    for mod, names in made(120, seeds):
        assert flaw(mod) is None, names
        edits += [each for each in names if "main" in each]
    text = "\n".join(edits)
    assert re.search(r"\b(twice|more)\w* becomes (twice|more)", text), text


def test_effects_stay_outside_of_dataflow_blocks() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3, 5), "float32"))
    with builder.function("main", [x], pure=False):
        y = builder.emit(relax.op.exp(x))
        builder.emit(relax.op.print(y, format="{}"))
        builder.emit_func_output(builder.emit(relax.op.cos(y)))
    mod = builder.finalize()
    assert any(not main_of(piece.load()).is_pure for piece in pieces_of(mod, "model"))
    for made_of, names in made(60, [mod], *TRAITS):
        assert flaw(made_of) is None, names


@I.ir_module
class Tuples:
    """Fields of results that are tuples, and operators that take tuples."""

    @R.function
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            both = R.topk(a, k=2, axis=-1, ret_type="both", dtype="int32")
            indices = both[1]
            parts = R.split(y, 2, axis=1)
            first = parts[0]
            again = R.concat((first, first), axis=0)
            taken = R.astype(indices, "float32")
            out = (R.sum(again), R.sum(taken))
            R.output(out)
        return out


def test_the_types_of_tuples_are_those_of_their_fields() -> None:
    seen = 0

    def check(expr: relax.Expr) -> None:
        nonlocal seen
        if isinstance(expr, relax.TupleGetItem) and isinstance(expr.tuple_value.ty, TUPLE):
            seen += 1
            assert equal_types(expr.ty, expr.tuple_value.ty.fields[expr.index])
        elif isinstance(expr, relax.Tuple):
            seen += 1
            assert [*map(str, expr.ty.fields)] == [str(each.ty) for each in expr.fields]

    for mod, _ in made(30, [Tuples]):
        for func in mod.functions.values():
            if isinstance(func, relax.Function):
                relax.analysis.post_order_visit(func, check)
    assert seen > 50


@I.ir_module
class OfUnknownDtype:
    """A tensor of known shape alone."""

    @R.function
    def main(x: R.Tensor(("n", 3))):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


def test_each_function_has_dimensions_of_its_own() -> None:
    called = 0
    for mod, names in made(60, [OfUnknownDtype], "symbolic-shapes", "function-calls"):
        assert flaw(mod) is None, names
        called += sum("called" in name for name in names)
    assert called > 5


@pytest.mark.parametrize("name", [name for name, record in table.items() if record.deadly])
def test_no_call_is_varied_in_a_way_that_kills_the_process(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without: list[object] = []

    def varied(c: Choices, s: Scope, call: relax.Call, kinds: object = ()) -> relax.Call:
        without.append(kinds)
        return call

    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    call = table[name].build(Choices(b""), scope)
    assert isinstance(call, relax.Call)
    monkeypatch.setattr(edits, "varied", varied)
    edits.changed(Choices(b""), scope, call)
    assert without == [table[name].deadly]
