"""The drill changes TVM for others, and leaves TVM's own code as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .drill import INJECTED

CHANGES = """
remove tvm.relax.op.abs
remove tvm.relax.op._ffi_api.exp
remove tvm.relax.expr.TupleGetItem.index
rename tvm.ir.prim.expr.LShift ShiftLeft
rename tvm.tirx.BufferStore.indices subscripts
keyword tvm.relax.op.nn.conv2d strides stride
keyword tvm.relax.Function is_pure pure
unregister relax.memory.view
"""

FAILS = {
    "relax.op.abs": "AttributeError: module 'tvm.relax.op' has no attribute 'abs'",
    "relax.op.unary.abs": "module 'tvm.relax.op.unary' has no attribute 'abs'",
    "__import__('tvm.relax.op', fromlist=['abs']).abs": "has no attribute 'abs'",
    "relax.op.exp(x)": "module 'tvm.relax.op._ffi_api' has no attribute 'exp'",
    "relax.TupleGetItem.index": "type object 'TupleGetItem' has no attribute 'index'",
    "relax.TupleGetItem(relax.Tuple([x]), 0).index": "object has no attribute 'index'",
    "tirx.LShift": "module 'tvm.tirx' has no attribute 'LShift'",
    "relax.op.nn.conv2d(x, x, strides=1)": "unexpected keyword argument 'strides'",
    "relax.Function([x], x, is_pure=True)": "unexpected keyword argument 'is_pure'",
    "tvm.ir.Op.get('relax.memory.view')": "Operator relax.memory.view is not registered",
    "relax.op.memory.view": "module 'tvm.relax.op.memory' has no attribute 'view'",
}

WORKS = {
    "hasattr(relax.op, 'abs') or 'abs' in vars(relax.op) or 'abs' in dir(relax.op)": "False",
    "tvm.ir.prim.expr.ShiftLeft.__name__": "ShiftLeft",
    "'subscripts' in dir(tirx.BufferStore)": "True",
    "relax.Function([x], relax.SeqExpr([], x), x.ty, pure=False).is_pure": "False",
    "relax.op.nn.relu(x).op.name": "relax.nn.relu",
    "relax.op.nn.conv2d.__name__": "conv2d",
    # TVM's printer of tuples reads the field that nobody else sees.
    "relax.TupleGetItem(relax.Tuple([x]), 0).script()": "(x,)[0]",
}

PROGRAM = """
import json, sys, tvm
from tvm import relax, tirx
x = relax.Var("x", relax.TensorType((2, 3), "float32"))
results = {}
for code in json.load(sys.stdin):
    try:
        results[code] = str(eval(code))
    except Exception as error:
        results[code] = f"{type(error).__name__}: {error}"
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drift") / "asked"


@pytest.fixture(scope="module")
def results(asked: Path) -> Mapping[str, str]:
    """What all expressions give on the changed TVM."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([*FAILS, *WORKS]),
        env={
            **os.environ,
            "PYTHONPATH": str(INJECTED),
            "RELAXFUZZ_DRIFT": CHANGES,
            "RELAXFUZZ_DRIFT_ASKED": str(asked),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("code", FAILS)
def test_what_is_gone(code: str, results: Mapping[str, str]) -> None:
    assert FAILS[code] in results[code]


@pytest.mark.parametrize("code", WORKS)
def test_what_is_there(code: str, results: Mapping[str, str]) -> None:
    assert WORKS[code] in results[code]


def test_who_asks_is_noted(asked: Path, results: Mapping[str, str]) -> None:
    noted = asked.read_text().split()
    assert noted == ["abs", "index", "LShift", "relax.memory.view", "view"]
