"""ONNX's node tests as Relax modules, through TVM's importer."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from relaxfuzz.compat.serialization import save_json

Form: TypeAlias = Literal["parameters", "constants"]
"""All inputs are parameters, or all except the first are constants."""

FORMS: tuple[Form, ...] = ("parameters", "constants")


@dataclass(frozen=True, slots=True)
class NodeTest:
    """One test in one form."""

    name: str
    form: Form
    model: onnx.ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    """ONNX's expected values."""
    rtol: float
    atol: float

    @property
    def label(self) -> str:
        """The name with the form."""
        return f"{self.name} ({self.form})"


@dataclass(frozen=True, slots=True)
class Imported:
    """A test with the module that TVM's importer makes from it."""

    test: NodeTest
    module: str
    """TVM JSON."""

    @property
    def args(self) -> list[Any]:
        """The inputs that are parameters."""
        return list(self.test.inputs if self.test.form == "parameters" else self.test.inputs[:1])


def node_tests(pattern: str = "") -> Iterator[NodeTest]:
    """The tests whose names match, in both forms; a test with one input has one form."""
    for case in _cases():
        if case.model is None or not case.data_sets or not re.search(pattern, case.name):
            continue
        inputs, outputs = (tuple(map(_value, values)) for values in case.data_sets[0])
        for form in FORMS if len(inputs) > 1 else FORMS[:1]:
            model = case.model if form == "parameters" else _with_constants(case.model, inputs)
            if model is not None:
                yield NodeTest(case.name, form, model, inputs, outputs, case.rtol, case.atol)


@functools.cache
def _cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the references overflow on purpose
        return list(collect_testcases(None))


def _value(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return tuple(map(_value, value))
    return None if value is None else np.asarray(value)


def _with_constants(model: onnx.ModelProto, inputs: tuple[Any, ...]) -> onnx.ModelProto | None:
    """The model with all inputs except the first as initializers; None if one is not a tensor."""
    if not all(isinstance(value, np.ndarray) for value in inputs[1:]):
        return None
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for each, value in zip(made.graph.input[1:], inputs[1:], strict=True):
        made.graph.initializer.append(numpy_helper.from_array(value, each.name))
    del made.graph.input[1:]
    return made


def imported(test: NodeTest) -> Imported | None:
    """The module of a test; None if TVM's importer refuses the model."""
    from tvm.relax.frontend.onnx import from_onnx

    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints models that it refuses
            return Imported(test, save_json(from_onnx(test.model)))
    except Exception:
        return None
    finally:
        logging.disable(logging.NOTSET)


def disagreements(actual: Any, test: NodeTest) -> dict[int, str]:
    """The differences from the test's expected values, by the place of the output."""
    one = len(test.outputs) == 1
    results = (actual,) if one and not _is_alone(actual, test.outputs[0]) else actual
    if not isinstance(results, tuple) or len(results) != len(test.outputs):
        return dict.fromkeys(range(len(test.outputs)), "another number of outputs")
    found = {
        place: _difference(_tensor(value), expected, test)
        for place, (value, expected) in enumerate(zip(results, test.outputs, strict=True))
    }
    return {place: wrong for place, wrong in found.items() if wrong is not None}


def _is_alone(actual: Any, expected: Any) -> bool:
    """True if the result is a tuple with the only output."""
    if not isinstance(actual, tuple) or len(actual) != 1 or isinstance(actual[0], int):
        return False
    return not isinstance(expected, tuple)


def _tensor(value: Any) -> Any:
    """A shape as a tensor, as ONNX has it; any other value unchanged."""
    if isinstance(value, tuple) and all(isinstance(size, int) for size in value):
        return np.array(value, "int64")
    return value


def _difference(actual: Any, expected: Any, test: NodeTest) -> str | None:
    if not isinstance(actual, tuple) and not isinstance(expected, tuple):
        return _of_arrays(np.asarray(actual), np.asarray(expected), test)
    if not isinstance(actual, tuple) or not isinstance(expected, tuple):
        return f"expected {_kind(expected)} but got {_kind(actual)}"
    if len(actual) != len(expected):
        return f"expected {len(expected)} values but got {len(actual)}"
    pairs = (_difference(*pair, test) for pair in zip(actual, expected, strict=True))
    return next(filter(None, pairs), None)


def _kind(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, tuple) else "one value"


def _of_arrays(actual: Any, expected: Any, test: NodeTest) -> str | None:
    if actual.dtype != expected.dtype:
        return f"dtype: expected {expected.dtype} but got {actual.dtype}"
    if actual.shape != expected.shape:
        return f"shape: expected {expected.shape} but got {actual.shape}"
    one, other = _wide(actual), _wide(expected)
    same = np.isclose(one, other, rtol=test.rtol, atol=test.atol, equal_nan=True)
    if same.all():
        return None
    first = tuple(int(each[0]) for each in np.nonzero(~same))
    return f"values: expected {other[first]} but got {one[first]} at {first}"


def _wide(array: Any) -> Any:
    return array if array.dtype.kind == "c" else array.astype(np.float64)
