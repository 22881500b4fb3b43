"""Emitters for constants, attributes, targets, devices and plain values."""

import base64
import struct
from collections.abc import Mapping

import numpy as np

from .graph import Id
from .layout import Doc, call, group, keyword
from .writer import Emitter, Writer, plain, quoted

_MANY = 16  # elements of a constant that are written as a list


def _constant(w: Writer, i: Id) -> Doc:
    g = w.graph
    value, ty = g.field(i, "value"), g.field(i, "ty")
    if isinstance(value, str) or g.kinds[value] == "DataType":
        dtype = value if isinstance(value, str) else g.data[value]
        known = g.kinds[ty] == "relax.AnyType"
        return call("dtype_value", quoted(dtype)) if known else w.make_node(i)
    if g.kinds[value] != "ffi.Tensor":
        return w.make_node(i)
    array = _array(g.data[value]) if w.references[value] == 1 else None
    if not _is_tensor_type_of(w, ty, g.data[value]):
        data = w.node(value) if array is None else call("tvm.runtime.tensor", _array_text(array))
        return call("constant", data, w.node(ty))
    if array is None:
        return call("relax.const", w.node(value))
    literal = repr(array.item()) if array.ndim == 0 else _array_text(array)
    return call("relax.const", literal, quoted(str(array.dtype)))


def _is_tensor_type_of(w: Writer, ty: Id, data: str) -> bool:
    """True if a type is what the constructor derives from a serialized tensor."""
    g = w.graph
    if not w.is_own(ty, "relax.TensorType") or not w.null(g.field(ty, "vdevice")):
        return False
    shape, dtype = g.field(ty, "shape"), g.field(ty, "dtype")
    if w.null(dtype) or not is_plain_shape(w, shape):
        return False
    dims = tuple(w.int_of(v, "int64") for v in g.items(g.field(shape, "values")))
    return (dims, g.dtype(dtype)) == shape_and_dtype(data)


def is_plain_shape(w: Writer, i: Id) -> bool:
    """True if nothing else uses the shape or its type, so that it can be written as a tuple."""
    return (
        w.is_own(i, "relax.expr.ShapeExpr")
        and w.references[w.graph.field(i, "ty")] == 1
        and derives_type(w, i)
    )


def derives_type(w: Writer, i: Id) -> bool:
    """True if the type of a ShapeExpr is the one that its constructor derives."""
    g = w.graph
    ty = g.field(i, "ty")
    if g.kinds[ty] != "relax.ShapeType" or w.null(g.field(ty, "values")):
        return False
    ours, theirs = g.items(g.field(i, "values")), g.items(g.field(ty, "values"))
    return (
        len(ours) == len(theirs)
        and all(map(g.same_value, ours, theirs))
        and all(w.dtype_of(dim) == "int64" for dim in ours)
    )


_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def shape_and_dtype(data: str) -> tuple[tuple[int, ...], str | None]:
    """The header of a serialized tensor; no dtype if it is not a common one.

    Layout: magic, reserved, device (two int32), ndim, dtype code, bits, lanes, shape, size, bytes.
    """
    raw = base64.b64decode(data)
    ndim, code, bits, lanes = struct.unpack_from("<iBBH", raw, 24)
    shape = struct.unpack_from(f"<{ndim}q", raw, 32)
    kind = _CODES.get(code)
    if kind is None or lanes != 1:
        return shape, None
    return shape, kind if kind == "bool" else f"{kind}{bits}"


def _array(data: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None":
    """The array in a serialized tensor; None if NumPy lacks the dtype or no literal shows it."""
    shape, dtype = shape_and_dtype(data)
    if dtype is None or dtype == "bfloat16":
        return None
    raw = base64.b64decode(data)
    try:
        array = np.frombuffer(raw, dtype, offset=40 + 8 * len(shape)).reshape(shape)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return None
    return array


def _array_text(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
    dtype, shape = quoted(str(array.dtype)), repr(array.shape)
    if array.size == 0:
        return f"np.zeros({shape}, {dtype})"
    first = array.ravel()[:1]
    if array.size > 1 and np.full(array.shape, first, array.dtype).tobytes() == array.tobytes():
        return f"np.full({shape}, {first.item()!r}, {dtype})"
    if array.size <= _MANY:
        return f"np.array({array.tolist()!r}, {dtype})"
    encoded = base64.b64encode(array.tobytes()).decode()
    text = f'np.frombuffer(base64.b64decode("{encoded}"), {dtype})'
    return text if array.ndim == 1 else f"{text}.reshape({shape})"


def _vdevice(w: Writer, i: Id) -> Doc:
    scope = w.text(w.graph.field(i, "memory_scope"))
    return call(
        "VDevice",
        w.node(w.graph.field(i, "target")),
        str(w.graph.field(i, "vdevice_id")),
        quoted(scope),
    )


def _target_config(w: Writer, i: Id) -> Doc:
    g = w.graph
    docs: list[Doc] = [f'"kind": {quoted(g.data[g.field(i, "kind")])}']
    tag = w.text(g.field(i, "tag"))
    if tag:
        docs.append(f'"tag": {quoted(tag)}')
    docs.append(keyword('"keys"', w.array(g.field(i, "keys")), ": "))
    host = g.field(i, "host")
    if not w.null(host):
        docs.append(keyword('"host"', _target_config(w, host), ": "))
    attrs = sorted((w.text(k), v) for k, v in g.pairs(g.field(i, "attrs")))
    docs.extend(keyword(quoted(name), w.node(v), ": ") for name, v in attrs)
    return group("{", docs, "}")


def _literal(w: Writer, i: Id) -> Doc:
    return plain(w.graph.data[i])


EMITTERS: Mapping[str, Emitter] = {
    "None": lambda w, i: "None",
    "int": _literal,
    "float": _literal,
    "bool": _literal,
    "ffi.String": _literal,
    "ffi.Array": lambda w, i: w.array(i),
    "ffi.Map": lambda w, i: w.mapping(i),
    "ffi.Tensor": lambda w, i: call("tensor", quoted(w.graph.data[i])),
    "DataType": lambda w, i: call("tvm.DataType", quoted(w.graph.data[i])),
    "tirx.Axis": lambda w, i: call("tirx.layout.Axis.get", quoted(w.graph.data[i])),
    "ir.Op": lambda w, i: call("Op.get", quoted(w.graph.data[i])),
    "ir.EnvFunc": lambda w, i: call("tvm.ir.EnvFunc.get", quoted(w.graph.data[i])),
    "ir.StringImm": lambda w, i: call("StringImm", quoted(w.text(w.graph.field(i, "value")))),
    "tirx.StringImm": lambda w, i: call("prim_string", quoted(w.text(w.graph.field(i, "value")))),
    "ir.GenericConst": _constant,
    "ir.DictAttrs": lambda w, i: call("DictAttrs", w.mapping(w.graph.data[i]["__dict__"])),
    "relax.VDevice": _vdevice,
    "target.Target": lambda w, i: call("tvm.target.Target", _target_config(w, i)),
}
