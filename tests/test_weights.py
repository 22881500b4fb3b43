"""Large constants are files, once, and their modules come back as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import weights
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.loading.read_module import BadModule, inspect
from relaxfuzz.fuzz.reproducer.module_text import as_source

DTYPES = ("float32", "float16", "int64", "uint8")


def model(*arrays: np.ndarray) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        fields = [relax.const(array) for array in arrays]
        builder.emit_func_output(relax.Tuple(fields))
    return builder.get()


@pytest.fixture
def arrays() -> list[np.ndarray]:
    return [np.arange(40_000).astype(dtype).reshape(200, 200) for dtype in DTYPES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    weights.install()
    return tmp_path / "weights"


def equal(one: tvm.IRModule, other: tvm.IRModule) -> bool:
    return bool(tvm_ffi.structural_equal(one, other))


def test_large_constants_are_files_and_come_back(folder: Path, arrays: list[np.ndarray]) -> None:
    mod = model(*arrays, arrays[0], np.ones(3, "float32"))
    plain = save_json(mod)
    with weights.kept_in(folder):
        text = save_json(mod)
        again = load_json(text)
        assert len(text) < 10_000 < len(plain)
        assert len(list(folder.iterdir())) == len(arrays), "equal constants are one file"
        assert equal(mod, again)
        assert save_json(again) == text
        whole = weights.whole(text)
    assert equal(load_json(whole), mod)
    assert len(whole) > len(plain) / 2, "it has its constants"
    assert save_json(mod) == plain, "the module itself is as it was"
    assert equal(mod, load_json(plain))


def test_a_constant_that_changes_is_another_text(folder: Path, arrays: list[np.ndarray]) -> None:
    other = arrays[0].copy()
    other[-1, -1] += 1
    with weights.kept_in(folder):
        texts = {save_json(model(each)) for each in (arrays[0], other, arrays[0].reshape(-1))}
    assert len(texts) == 3


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_is_read_without_its_constants(
    folder: Path, tmp_path: Path, arrays: list[np.ndarray], indent: int | None
) -> None:
    mod, path = model(*arrays), tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(save_json(mod)), indent=indent).replace("/", "\\/"))
    with weights.kept_in(folder):
        data = weights.read(path, 1 << 14)
        assert data is not None
        assert equal(load_json(data.decode()), mod)
        assert weights.read(path, 100) is None


def test_the_size_of_a_file_is_that_without_constants(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(BadModule, match="MB of text"):
        inspect(path)
    with weights.kept_in(folder):
        inspect(path)


def test_files_that_nobody_needs_are_removed(folder: Path, arrays: list[np.ndarray]) -> None:
    with weights.kept_in(folder):
        kept = save_json(model(arrays[0]))
        save_json(model(arrays[1]))
        weights.sweep(folder, [json.dumps({"module": kept})])
        (name,) = folder.iterdir()
        assert name.read_bytes() == arrays[0].tobytes()
        weights.sweep(folder, [])
    assert not folder.exists()


def test_the_hash_tells_constants_that_are_files_apart(
    folder: Path, arrays: list[np.ndarray]
) -> None:
    one, other = arrays[0], arrays[0][::-1].copy()
    with weights.kept_in(folder):
        mods = [load_json(save_json(model(*each))) for each in ([one, other], [other, one])]
        again = load_json(save_json(mods[0]))
    assert weights.content(mods[0]) == weights.content(again) != weights.content(mods[1])
    assert weights.content(model(one, other)) != weights.content(model(other, one))


def test_a_finding_with_many_constants_reads_them_from_their_files(
    folder: Path, arrays: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = model(*arrays)
    monkeypatch.setattr(weights, "MOST", 1000)
    with weights.kept_in(folder):
        text = save_json(mod)
        assert weights.whole(text) == text
        made = as_source(text, "")
    file = folder.parent / "reproducers" / "one.py"
    file.parent.mkdir()
    (folder.parent / "plain.json").write_text(save_json(mod))
    file.write_text("\n".join([*made.imports, made.statements, EQUAL]))
    command = [sys.executable, file, folder.parent / "plain.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


EQUAL = """
import sys, tvm_ffi
plain = tvm.ir.load_json(open(sys.argv[1]).read())
print(tvm_ffi.structural_equal(mod, plain))
"""


def test_the_module_of_a_finding_is_read_with_its_files(
    folder: Path, tmp_path: Path, arrays: list[np.ndarray]
) -> None:
    with weights.kept_in(folder):
        text = save_json(model(*arrays))
    other = tmp_path / "other" / "weights"
    with weights.kept_in(other):
        weights.bring(text, other, weights.beside(tmp_path / "modules" / "one.json"))
        assert equal(load_json(text), model(*arrays))
