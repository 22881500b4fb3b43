"""Real modules cut into pieces, slimmed, and put among generated code."""

from __future__ import annotations

import contextlib
import itertools
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import ir_modules
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.bindings.pieces.splice import _Splice
from relaxfuzz.generators.rewrite.dims import sizes_of
from relaxfuzz.generators.seeds import Piece, cut, pieces_of, slim
from relaxfuzz.generators.seeds.cutting import Pair, _Body
from relaxfuzz.generators.seeds.piece import MAIN, main_of
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.inspect import attr, relax_functions

UPSTREAM = Path(__file__).parents[4] / "shared" / "upstream_modules.tar.xz"


@I.ir_module
class Attention:
    """One head of attention with a symbolic length, a kernel, and a branch at the end."""

    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(4096)), "float32")
        Y = T.match_buffer(y, (n, T.int64(4096)), "float32")
        for i, j in T.grid(n, T.int64(4096)):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)

    @R.function
    def main(
        x: R.Tensor(("n", 4096), "float32"),
        w: R.Tensor((4096, 4096), "float32"),
        flag: R.Tensor((), "bool"),
    ) -> R.Tensor(("n", 4096), "float32"):
        n = T.int64()
        cls = Attention
        with R.dataflow():
            q = R.matmul(x, w)
            heads = R.reshape(q, R.shape([n, 32, 128]))
            turned = R.permute_dims(heads, axes=[1, 0, 2])
            scores = R.matmul(turned, R.permute_dims(turned, axes=[0, 2, 1]))
            soft = R.nn.softmax(scores, axis=-1)
            mixed = R.matmul(soft, turned)
            back = R.permute_dims(mixed, axes=[1, 0, 2])
            flat = R.reshape(back, R.shape([n, 4096]))
            more = R.call_tir(cls.twice, (flat,), out_ty=R.Tensor((n, 4096), "float32"))
            out = R.add(more, x)
            R.output(out)
        if flag:  # noqa: SIM108
            result = R.nn.relu(out)
        else:
            result = R.negative(out)
        return result


def bodies(mod: tvm.IRModule) -> Iterator[relax.Binding]:
    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            for block in func.body.blocks:
                yield from block.bindings


def pairs_of(mod: tvm.IRModule) -> set[Pair]:
    """All pairs of neighbouring operators in the bodies of the functions."""
    found = (_Body(func) for func in mod.functions.values() if isinstance(func, relax.Function))
    return {pair for body in found for pair in body.pairs(range(len(body.sites)))}


@pytest.mark.parametrize("most", [2, 5, 24])
def test_pieces_have_all_pairs_of_neighbours(most: int) -> None:
    found = list(cut(Attention, most))
    assert set().union(*(each.pairs for each in found)) == pairs_of(Attention)
    assert ("relax.matmul", "relax.reshape") in pairs_of(Attention)
    for each in found:
        assert flaw(each.mod) is None
        assert 0 < len(list(bodies(each.mod))) <= most
        assert each.first <= each.last


def test_what_a_piece_calls_comes_along() -> None:
    (whole,) = cut(Attention)
    assert {str(gvar.name_hint) for gvar in whole.mod.functions} == {MAIN, "twice"}


def test_sizes_become_small_and_stay_consistent() -> None:
    (whole,) = cut(Attention)
    small = slim(whole.mod)
    assert small is not None
    assert flaw(small) is None
    assert max(sizes_of(small)) <= 32
    calls = {str(b.var.name): b.value for b in bodies(small)}
    *_, heads, width = calls["heads"].ty.shape.values
    (_, hidden) = calls["flat"].ty.shape.values
    assert int(heads) * int(width) == int(hidden), "what was reshaped still can be"
    assert isinstance(calls["flat"].ty.shape.values[0], tvm.tirx.Var), "symbolic sizes stay"


def test_sizes_obey_all_that_is_reshaped_joined_and_split() -> None:
    builder = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    words = relax.Var("words", relax.TensorType((n, 512, 8), "float32"))
    pixels = relax.Var("pixels", relax.TensorType((1, 256, 7, 7), "float32"))
    with builder.function("main", [words, pixels]):
        groups = builder.emit(relax.op.reshape(words, (n, 128, 32)))
        rows = builder.emit(relax.op.reshape(groups, (n, 4096)))
        parts = builder.emit(relax.op.split(rows, 2, axis=1))
        joined = builder.emit(relax.op.concat([parts[1], parts[0], rows], axis=1))
        flat = builder.emit(relax.op.reshape(pixels, (1, 12544)))
        builder.emit_func_output(builder.emit(relax.Tuple([joined, flat])))
    pieces = list(pieces_of(builder.finalize(), "model"))
    kept = {op for piece in pieces for op in piece.ops}
    assert kept == {"reshape", "split", "concat"}
    assert all(max(sizes_of(piece.load())) < 1024 for piece in pieces)


def test_weights_become_parameters() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    weight = relax.const(np.ones((512, 512), "float32"))
    with builder.function("main", [x]):
        once = builder.emit(relax.op.matmul(x, weight))
        bias = relax.const(np.ones(1, "float32"))
        builder.emit_func_output(builder.emit(relax.op.add(relax.op.matmul(once, weight), bias)))
    (piece,) = pieces_of(builder.finalize(), "model")
    func = main_of(piece.load())
    assert len(func.params) == 2, "x, and the weight once"
    assert piece.ops == ("matmul", "matmul", "add")
    assert piece.name == "model, main, bindings 0 to 2"
    assert len(piece.text) < 10_000


def test_storages_keep_their_bytes_and_functions_that_manage_memory_stay_whole() -> None:
    pieces = list(pieces_of(MODELS["lowered"](), "lowered"))
    assert pieces
    for mod in (*(piece.load() for piece in pieces), *seeds(24, pieces)):
        for gvar, func in relax_functions(mod):
            with contextlib.suppress(Unsupported):  # but not Undefined
                Evaluator(mod).run(str(gvar.name_hint), drawn(func, InputKind.WHOLE))


def test_functions_of_codegens_have_a_symbol() -> None:
    pieces = list(pieces_of(MODELS["partitioned"](), "partitioned"))
    funcs = [func for mod in seeds(24, pieces) for _, func in relax_functions(mod)]
    symbols = [attr(func, "global_symbol") for func in funcs if attr(func, "Codegen")]
    assert len(symbols) > 6
    assert None not in symbols


def test_equal_pieces_come_once() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [x]):
        y = x
        for _ in range(50):
            y = builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(y, y))))
        builder.emit_func_output(y)
    assert len(list(pieces_of(builder.finalize(), "layers"))) == 1


@pytest.fixture(scope="module")
def upstream() -> list[Piece]:
    if not UPSTREAM.is_file():
        pytest.skip("needs the modules of TVM's tests")
    found: list[Piece] = []
    with tarfile.open(UPSTREAM) as archive:
        files = [member for member in archive if member.name.endswith(".json")][::12]
        for member in files:
            file = archive.extractfile(member)
            assert file is not None
            text = file.read().decode()
            if "root_index" not in json.loads(text):
                continue
            try:
                mod = load_json(text)
            except Exception as error:
                pytest.skip(f"this TVM does not load the modules of TVM's tests: {error}")
            if flaw(mod) is None:
                found += pieces_of(mod, member.name)
    return found


def seeds(modules: int, strategy_of: Sequence[Piece | tvm.IRModule]) -> Iterator[tvm.IRModule]:
    groups = itertools.cycle(strategy_of[at : at + 6] for at in range(0, len(strategy_of), 6))
    for at in range(0, modules, 16):
        strategy = ir_modules(seeds=next(groups))
        for index in range(at, min(at + 16, modules)):
            yield example(strategy, 1, index)


def tried(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts of pieces that are put into functions, changed and as they are, and that fail."""
    counts = {"changed": 0, "changed fails": 0, "plain fails": 0}
    emit = _Splice.emit

    def counted(splice: _Splice) -> None:
        counts["changed"] += splice._edited
        try:
            emit(splice)
        except Exception:
            counts["changed fails" if splice._edited else "plain fails"] += 1
            raise

    monkeypatch.setattr(_Splice, "emit", counted)
    return counts


def test_modules_with_pieces_are_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = tried(monkeypatch)
    mods = list(seeds(96, [Attention]))
    assert [mod for mod in mods if flaw(mod) is not None] == []
    assert counts["changed"] > 100
    assert counts["changed fails"] < 0.3 * counts["changed"]
    softmax = sum("R.nn.softmax" in mod.script(show_meta=False) for mod in mods)
    assert softmax > 48, "most modules have the piece"


def test_real_modules_as_seeds(upstream: list[Piece], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = tried(monkeypatch)
    mods = list(seeds(160, upstream))
    assert [mod for mod in mods if flaw(mod) is not None] == []
    assert counts["changed fails"] < 0.3 * counts["changed"]
    assert counts["plain fails"] < 0.1 * counts["changed"]


def test_without_seeds_the_modules_are_the_same_as_ever() -> None:
    for index in range(8):
        plain, seeded = (example(ir_modules(**more), 5, index) for more in ({}, {"seeds": ()}))
        assert save_json(plain) == save_json(seeded)


def test_no_tensor_becomes_empty() -> None:
    """The indices of a split stay, so its extent does."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((128, 16), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.split(x, [32, 64, 96], axis=0)))
    made = slim(builder.get())
    assert made is not None
    assert sorted(sizes_of(made)) == [2, 32, 128]
