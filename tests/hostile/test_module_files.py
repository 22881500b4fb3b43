"""Files that nobody damaged: made to be no module, or to do harm when they are read."""

from __future__ import annotations

import base64
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.loading.read_module import BadModule, load
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.scratch import scratch
from relaxfuzz.fuzz.user_input import module_file
from relaxfuzz.generators.source import to_source

from ..commands import relaxfuzz

SECONDS = 20.0

SCRIPT = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
"""


def module(value: Callable[[relax.Var], relax.Expr] = relax.op.exp) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(value(x)))
    return builder.get()


def refused(path: Path, pool: LocalPool, seconds: float = SECONDS) -> str:
    with pytest.raises(BadModule) as raised:
        load(path, pool, seconds=seconds)
    message = str(raised.value)
    assert message.isprintable()
    assert len(message) < 1500
    assert list(scratch().glob("tmp*")) == []
    _, left = psutil.wait_procs(psutil.Process(pool.zygote).children(), timeout=SECONDS)
    assert left == []
    return message


# Things that are no file


def a_loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "is not a file"),
        (os.mkfifo, "is not a file"),
        (a_loop, "symbolic links"),
        (Path.touch, "neither a Python file"),
        (lambda path: None, "no module file"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 10**12), "1,000,000 MB"),
    ],
)
def test_no_file(
    make: Callable[[Path], None],
    message: str,
    tmp_path: Path,
    pool: LocalPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.json"
    make(path)
    assert message in refused(path, pool)


def test_odd_names_are_no_obstacle(tmp_path: Path, pool: LocalPool) -> None:
    text = save_json(module())
    names = [b"a b.json", b"new\nline.json", b"\xff\xfe.json", b"tab\t'quote\".json", b"-x.json"]
    for name in [os.fsdecode(name) for name in names]:
        path = tmp_path / name
        path.write_text(text)
        assert load(path, pool) == text
        path.write_text("{")
        refused(path, pool)


def test_a_name_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    run = relaxfuzz("check", "no\x1b[31m\n\u202e.json", "ToNonDataflow", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr == "error: no module file 'no\\x1b[31m\\n\\u202e.json'\n"


# Data


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        (gzip.compress, "byte 0x8b at 1 is not UTF-8"),
        (lambda data: data[:50] + b"\0" + data[50:], "neither"),
        (lambda data: b"[" * 100_000, "nested too deeply"),
        (lambda data: b"9" * 100_000, "neither"),
        (lambda data: b"NaN", "is not JSON that TVM"),
        (lambda data: b'{"name": "model", "layers": []}', "is not JSON that TVM"),
    ],
)
def test_not_json_of_a_module(
    pack: Callable[[bytes], bytes], message: str, tmp_path: Path, pool: LocalPool
) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(pack(save_json(module()).encode()))
    assert message in refused(path, pool)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.json"
    path.write_text(save_json(module()), encoding="utf-8-sig")
    assert load(path, pool) == save_json(module())


def tree(text: str, change: Callable[[dict, list], object]) -> str:
    document = json.loads(text)
    change(document, document["nodes"])
    return json.dumps(document)


def circle(document: dict, nodes: list) -> None:
    (call,) = (i for i, node in enumerate(nodes) if node["type"] == "ir.Call")
    nodes[nodes[call]["data"]["args"]]["data"] = [call]


def shared(document: dict, nodes: list) -> None:
    """Forty pairs, each of one and the same pair: 2**40 leaves."""
    (call,) = (i for i, node in enumerate(nodes) if node["type"] == "ir.Call")
    last = nodes[call]["data"]["args"]
    for _ in range(40):
        nodes.append({"type": "ffi.Array", "data": [last, last]})
        last = len(nodes) - 1
    nodes[call]["data"]["args"] = last


def deep(document: dict, nodes: list) -> None:
    (call,) = (i for i, node in enumerate(nodes) if node["type"] == "ir.Call")
    last = nodes[call]["data"]["args"]
    for _ in range(10_000):
        nodes.append({"type": "ffi.Array", "data": [last]})
        last = len(nodes) - 1
    nodes[call]["data"]["args"] = last


def code(document: dict, nodes: list) -> None:
    nodes[-1] = {"type": "ffi.Module", "data": base64.b64encode(b"x" * 99).decode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (circle, ""),
        (shared, "is not JSON that TVM"),
        (deep, ""),
        (code, "compiled code"),
        (lambda document, nodes: document.update(root_index=10**6), "is not JSON that TVM"),
        (lambda document, nodes: nodes[-1]["data"].update(functions=-5), "is not JSON that TVM"),
        (lambda document, nodes: nodes[-1].update(type="no.such"), "is not JSON that TVM"),
        (
            lambda document, nodes: (
                document["metadata"].update(tvm_version="0.9"),
                nodes[-1].update(type="relay.Module"),
            ),
            "was written by TVM 0.9, whose JSON",
        ),
    ],
)
def test_graphs(
    change: Callable[[dict, list], object], message: str, tmp_path: Path, pool: LocalPool
) -> None:
    path = tmp_path / "m.json"
    path.write_text(tree(save_json(module()), change))
    assert message in refused(path, pool, seconds=2.0)


def test_what_an_older_tvm_called_otherwise_is_read(tmp_path: Path, pool: LocalPool) -> None:
    path, text = tmp_path / "m.json", save_json(module())
    path.write_text(text.replace('"type":"ir.Var"', '"type":"relax.expr.Var"'))
    assert path.read_text() != text
    assert load(path, pool) == text


def test_more_dimensions_than_memory(tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.json"
    path.write_text(
        save_json(module(lambda x: relax.op.zeros((2**31, 2**31), "float32")))  # 2**62 elements
    )
    assert load(path, pool) == path.read_text()


# Programs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os\nwhile True: os.write(1, b'x' * 65536)", "did not finish within 2 s"),
        ("import os\nos.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("import os\nos.closerange(0, 1000)", "defines no IRModule"),
        ("import os\nos.fork()", "defines no IRModule"),
        ("import os, sys\nsys.exit('\\x1b[2J')", r"SystemExit: \x1b[2J"),
        ("import os\nos.remove(__file__)", "defines no IRModule"),
        ("import re\nraise ValueError('<b>' + 'x' * 10**6 + '\\n\\x07')", "characters]"),
        ("import re\nclass E(Exception):\n def __str__(s): raise E\nraise E", "raised E: E"),
        ("import numpy\nnumpy.ones(10**10)", "more than 4 GB of memory"),
        ("import tempfile, pathlib\npathlib.Path(tempfile.mkdtemp()).chmod(0)", "no IRModule"),
        ("import sys\nx = " + "-" * 100_000 + "1", "nested too deeply"),
        ("x = 1\0", "does not parse"),
        ("from threading import Timer\nTimer(600, print).start()", "no IRModule"),
    ],
)
def test_programs(text: str, message: str, tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.py"
    path.write_text(text)
    assert message in refused(path, pool, seconds=2.0)
    assert sorted(p.name for p in tmp_path.iterdir()) in (["m.py"], [])


def test_what_leaves_its_session_ends_too(tmp_path: Path, pool: LocalPool) -> None:
    path, started = tmp_path / "m.py", tmp_path / "started"
    path.write_text(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(started)!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        f"while not os.path.exists({str(started)!r}):\n"
        "    time.sleep(0.01)\n"
    )
    assert "no IRModule" in refused(path, pool)
    assert not psutil.pid_exists(int(started.read_text()))


def test_a_module_that_is_made_when_it_is_asked_for(tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        f"{SCRIPT}\nkept = [Module]\ndel Module\n"
        "def __getattr__(name):\n"
        "    if name == 'mod':\n"
        "        return kept[0]\n"
        "    raise AttributeError(name)\n"
    )
    assert "main" in [gvar.name_hint for gvar in load_json(load(path, pool)).get_global_vars()]


def test_tvmscript_that_its_parser_does_not_survive(tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.py"
    nested = "x"
    for _ in range(800):
        nested = f"R.add({nested}, x)"
    path.write_text(SCRIPT.replace("return x", f"y = {nested}\n        return y"))
    refused(path, pool)


@pytest.mark.slow
def test_large_constants(tmp_path: Path, pool: LocalPool) -> None:
    """100 MB is read; what would be twice the limit is refused by its size."""
    path = tmp_path / "m.json"
    value = np.zeros(25_000_000, "float32")
    path.write_text(save_json(module(lambda x: relax.const(value))))
    began = time.monotonic()
    assert len(load(path, pool, seconds=120)) > 100_000_000
    print(f"{time.monotonic() - began:.1f} s")
    with path.open("a") as file:
        file.write(" " * module_file.MOST)
    assert "MB are read" in refused(path, pool)
    source = tmp_path / "m.py"
    source.write_text("import re\n" + "x = 1\n" * 16_000_000)
    assert len(refused(source, pool, seconds=30)) < 500


def test_source_is_read_in_its_own_encoding(tmp_path: Path, pool: LocalPool) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"# coding: latin-1\n# \xe9\n" + to_source(module()).encode())
    assert load(path, pool) == save_json(module())
