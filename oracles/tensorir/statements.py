"""Statements of TensorIR as Python text: loops are loops, in the order of the program."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ..errors import Unsupported
from .expressions import Expressions
from .intrinsics import EXTERNAL
from .packed import PACKED
from .values import (
    INDEX,
    BufferArray,
    PyExpr,
    added,
    constant,
    dtype_of,
    lanes_of,
    product,
    sizes_of,
    subscript,
    type_name,
    width_of,
)

TRANSPARENT = (
    "pragma_",
    "storage_alignment",
    "compute_scope",
    "device_",
    "storage_scope",
    "extern_scope",
    "target",
    "double_buffer_",
    "async_",
)
"""Attributes that do not affect values: an asynchronous copy may complete at once."""

JUMPS = {"tirx.break_loop": "break", "tirx.continue_loop": "continue"}

USUAL = 24
"""Most operations in an expression that takes no longer than a few iterations."""

REDUCE = 2
"""The type of a reduction variable among the iteration variables of a block."""


class Statements(Expressions):
    """Writes the text of one PrimFunc: a function named `program`.

    Its arguments are the number of iterations that it may take, then one for each parameter. The
    text uses the names in `runtime.NAMES`. Subclasses for lanes and for checks override `load`,
    `store`, `allocate`, `loop` and `call`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.depth = 1
        self.writes: set[int] = set()
        """Handles of the buffers that are stored to, including the sources of views."""
        self._sources: dict[int, int] = {}

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent statements written meanwhile under a line that ends in a colon."""
        self.emit(head)
        self.depth += 1
        begin = len(self.lines)
        yield
        if len(self.lines) == begin:
            self.emit("pass")
        self.depth -= 1

    def function(self, func: tirx.PrimFunc) -> str:
        """The text of a PrimFunc."""
        params = [f"a{i}" for i in range(len(func.params))]
        self.parameters(func, params)
        self.statement(func.body)
        lines = self.lines or ["    pass"]
        return "\n".join([f"def program({', '.join(['left', *params])}):", *lines, ""])

    # Parameters

    def parameters(self, func: tirx.PrimFunc, names: Sequence[str]) -> None:
        """Bind the variables that the arguments define, then check the arguments."""
        checks: list[tuple[str, Any]] = []
        shaped: list[tuple[Any, str]] = []
        for param, name in zip(func.params, names, strict=True):
            if isinstance(param.ty, tirx.BufferType):
                shaped.append((param, name))
            else:
                self._scalar(param, name)
        for param, name in shaped:
            dtype = type_name(dtype_of(param.ty.dtype))
            shape = [*param.ty.shape, *lanes_of(param.ty.dtype)]
            sizes = [int(dim.value) for dim in shape if isinstance(dim, tirx.IntImm)]
            if len(sizes) == len(shape):
                self.emit(f"shaped({name}, {dtype}, {tuple(sizes)})")
                continue
            self.emit(f"{name}_ = dims({name}, {dtype}, {len(shape)})")
            for axis, dim in enumerate(shape):
                self._dimension(dim, f"{name}_[{axis}]", checks)
        for param, _ in shaped:
            self._view_variables(param)
        for text, dim in checks:
            self.emit(f"if {text} != {self.value(dim).text}: mismatch({text}, {str(dim)!r})")
        for param, name in shaped:
            self.declare(param, name)

    def _scalar(self, param: Any, name: str) -> None:
        dtype = dtype_of(param.ty)
        new = self.fresh("s")
        weak = dtype in INDEX
        self.emit(f"{new} = " + (f"int({name})" if weak else f"cast({name}, {type_name(dtype)})"))
        self.vars[param.__chandle__()] = PyExpr(new, dtype, weak)

    def _dimension(self, dim: Any, text: str, checks: list[tuple[str, Any]]) -> None:
        if isinstance(dim, tirx.Var) and dim.__chandle__() not in self.vars:
            name = self.fresh("n")
            self.emit(f"{name} = {text}")
            self.vars[dim.__chandle__()] = PyExpr(name, dtype_of(dim.ty), weak=True)
        else:
            checks.append((text, dim))

    def _view_variables(self, buffer: Any) -> None:
        """Bind strides and offset: an argument is contiguous and begins where its memory does."""
        ty = buffer.ty
        offset = ty.elem_offset
        if isinstance(offset, tirx.Var):
            self.vars.setdefault(offset.__chandle__(), constant(0, dtype_of(offset.ty)))
        elif int(getattr(offset, "value", -1)) != 0:
            raise Unsupported(f"parameter {buffer.name} with elem_offset {offset}")
        step: PyExpr = constant(1, "int64")
        for stride, dim in zip(reversed(list(ty.strides)), reversed(list(ty.shape)), strict=False):
            if isinstance(stride, tirx.Var):
                known = dataclasses.replace(step, dtype=dtype_of(stride.ty))
                self.vars.setdefault(stride.__chandle__(), known)
            elif self.value(stride).literal is None or (
                self.value(stride).literal != step.literal and step.literal is not None
            ):
                raise Unsupported(f"parameter {buffer.name} with strides {ty.strides}")
            step = product(step, self.value(dim))

    def declare(self, buffer: Any, name: str) -> BufferArray:
        """Declare a buffer whose array has this name."""
        shape = tuple(self.value(dim) for dim in buffer.ty.shape)
        if any("[" in dim.text for dim in shape):
            raise Unsupported(f"shape of {buffer.name} that depends on memory")
        dtype, width = dtype_of(buffer.ty.dtype), width_of(buffer.ty.dtype)
        storage = BufferArray(name, dtype, shape, buffer, width)
        self.buffers[buffer.__chandle__()] = storage
        return storage

    # Statements

    def statement(self, stmt: Any) -> None:
        """Translate a statement.

        Raises:
            Unsupported: it, or something in it, is not known.
        """
        visit = VISIT.get(type(stmt))
        if visit is None:
            raise Unsupported(f"TensorIR statement {type(stmt).__name__}")
        visit(self, stmt)

    def sequence(self, stmt: Any) -> None:
        for item in stmt.seq:
            self.statement(item)

    def loop(self, stmt: Any) -> None:
        """A loop of any kind, one iteration after the other."""
        begin, extent = self.value(stmt.min), self.value(stmt.extent)
        step = constant(1, begin.dtype) if stmt.step is None else self.value(stmt.step)
        if step.literal is None or step.literal <= 0:
            raise Unsupported(f"loop with step {step.text}")
        self.count(extent.text)
        name = self.fresh("i")
        end = added(begin, extent)
        stride = "" if step.literal == 1 else f", {step.text}"
        first = "" if begin.literal == 0 and not stride else f"{begin.text}, "
        with self.block(f"for {name} in range({first}{end.text}{stride}):"):
            self.vars[stmt.loop_var.__chandle__()] = _iteration(name, begin, extent, end)
            self.statement(stmt.body)

    def count(self, iterations: str) -> None:
        """Charge the budget for iterations."""
        self.emit(f"left -= {iterations}")
        self.emit("if left < 0: too_large()")

    def charge(self, value: PyExpr) -> None:
        """Charge the budget for an expression that takes much longer than an iteration."""
        operations = value.text.count("(")
        if operations > USUAL:
            self.count(str(operations // 2))

    def while_(self, stmt: Any) -> None:
        with self.block(f"while {self.value(stmt.condition).text}:"):
            self.count("1")
            self.statement(stmt.body)

    def condition(self, stmt: Any) -> None:
        with self.block(f"if {self.value(stmt.condition).text}:"):
            self.statement(stmt.then_case)
        if stmt.else_case is not None:
            with self.block("else:"):
                self.statement(stmt.else_case)

    @contextlib.contextmanager
    def guarded(self, condition: PyExpr) -> Iterator[None]:
        """Guard the statements written meanwhile with a condition."""
        if condition.text == "True":
            yield
        else:
            with self.block(f"if {condition.text}:"):
                yield

    def realize(self, stmt: Any) -> None:
        """Write a block: its variables, its buffers, its initial values, its body."""
        for iter_var, expr in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
            self.bind(iter_var.var, self.value(expr))
        with self.guarded(self.value(stmt.predicate)):
            self.instance(stmt)

    def instance(self, stmt: Any) -> None:
        """Write the inside of a block whose variables are bound."""
        block = stmt.block
        for buffer in block.alloc_buffers:
            self.allocate(buffer)
        for match in block.match_buffers:
            self.match_buffer(match)
        if block.init is not None:
            self.initial(stmt)
        self.statement(block.body)

    def initial(self, stmt: Any) -> None:
        """Write the initial values of a block, for use at the start of all its reductions."""
        first = PyExpr("True", "bool")
        for iter_var in stmt.block.iter_vars:
            if iter_var.iter_type != REDUCE:
                continue
            value, begin = self.value(iter_var.var), self.value(iter_var.dom.min)
            if value.literal is None or value.literal != begin.literal:
                text, lanes = f"({value.text} == {begin.text})", first.lanes or value.lanes
                if first.text != "True":
                    text = f"({first.text} {'&' if lanes else 'and'} {text})"
                first = PyExpr(text, "bool", lanes=lanes)
        with self.guarded(first):
            self.statement(stmt.block.init)

    def bind(self, var: Any, value: PyExpr) -> PyExpr:
        """Give a variable a value, and a name unless the value itself is a name or a number."""
        if not (value.text.isidentifier() or value.text.isdecimal()):
            name = self.fresh("v")
            self.emit(f"{name} = {value.text}")
            value = dataclasses.replace(value, text=name)
        self.vars[var.__chandle__()] = value
        return value

    def allocate(self, buffer: Any) -> None:
        """Allocate a buffer, filled with values that clearly are not results."""
        for stride in buffer.ty.strides:
            # Strides define the layout in memory, which matters only to a view of the same memory.
            if isinstance(stride, tirx.Var):
                raise Unsupported(f"allocated buffer {buffer.name} with symbolic strides")
        name = self.fresh("b")
        storage = self.declare(buffer, name)
        self.emit(f"{name} = alloc(({sizes_of(storage)}), {type_name(storage.dtype)})")

    def match_buffer(self, match: Any) -> None:
        """A block's own name for a region of a buffer."""
        buffer, source = match.buffer, self.storage(ir.tensor_of(match.source))
        ty = buffer.ty
        if source.width > 1:
            raise Unsupported(f"a region of a buffer of dtype {ty.dtype}")
        name = self.fresh("b")
        begins, extents = [], []
        for r in match.source.region:
            begins.append(self.value(r.min))
            extents.append(self.value(r.extent))
        parts = ", ".join(f"({b.text}, {e.text})" for b, e in zip(begins, extents, strict=True))
        shape = ", ".join(self.value(dim).text for dim in ty.shape)
        self.emit(f"{name} = region({source.name}, [{parts}], [{shape}])")
        for axis, stride in enumerate(ty.strides):
            if isinstance(stride, tirx.Var) and stride.__chandle__() not in self.vars:
                new = self.fresh("n")
                self.emit(f"{new} = {name}.strides[{axis}] // {name}.itemsize")
                self.vars[stride.__chandle__()] = PyExpr(new, dtype_of(stride.ty), weak=True)
        offset = ty.elem_offset
        if isinstance(offset, tirx.Var) and offset.__chandle__() not in self.vars:
            new = self.fresh("n")
            self.emit(f"{new} = offset({name}, {source.name})")
            self.vars[offset.__chandle__()] = PyExpr(new, dtype_of(offset.ty), weak=True)
        self.declare(buffer, name)
        self._sources[buffer.__chandle__()] = ir.tensor_of(match.source).__chandle__()

    def declare_buffer(self, stmt: Any) -> None:
        """Declare another view of the memory of a buffer."""
        buffer, source = stmt.buffer, self.pointed(stmt.data)
        ty = buffer.ty
        width, lanes = width_of(ty.dtype), lanes_of(ty.dtype)
        shape = ", ".join(self.value(dim).text for dim in (*ty.shape, *lanes))
        strides = ", ".join(self._scalars(self.value(stride), width).text for stride in ty.strides)
        if strides and lanes:
            strides += ", 1"
        begin = self._scalars(self.begin(stmt.data), source.width)
        offset = added(begin, self._scalars(self.value(ty.elem_offset), width)).text
        name = self.fresh("b")
        dtype = type_name(dtype_of(ty.dtype))
        self.emit(f"{name} = view({source.name}, {dtype}, [{shape}], [{strides}], {offset})")
        self.declare(buffer, name)
        self._sources[buffer.__chandle__()] = source.node.__chandle__()

    def _scalars(self, elements: PyExpr, width: int) -> PyExpr:
        """A number of elements of a buffer as a number of scalars."""
        return product(elements, constant(width, elements.dtype)) if width > 1 else elements

    def load(self, expr: Any) -> PyExpr:
        storage = self.storage(ir.tensor_of(expr))
        value = super().load(expr)
        if storage.width == 1:
            return value
        if value.lanes:
            raise Unsupported(f"vectors of elements of dtype {storage.node.ty.dtype}")
        # A copy, unaffected by later stores.
        return dataclasses.replace(value, text=f"own({value.text})", lanes=True)

    def store(self, stmt: Any) -> None:
        storage = self.storage(stmt.buffer)
        indices = self.indices(storage, targets(stmt))
        value = kept(stmt, self.value(stmt.value))
        self.stored(stmt.buffer, storage, value)
        if value.lanes and (storage.width == 1) != any(index.lanes for index in indices):
            raise Unsupported(f"a vector stored to elements of dtype {storage.node.ty.dtype}")
        self.emit(f"{storage.name}[{subscript(indices)}] = {self.held(value)}")

    def stored(self, buffer: Any, storage: BufferArray, value: PyExpr) -> None:
        """Note a store of this value."""
        if value.dtype != storage.dtype:
            raise Unsupported(f"store of {value.dtype} to {buffer.name} of {storage.dtype}")
        self.charge(value)
        self.written(buffer.__chandle__())

    def written(self, handle: int) -> None:
        """Note that a buffer is stored to, and so are the buffers that it views."""
        self.writes.add(handle)
        while handle in self._sources:
            handle = self._sources[handle]
            self.writes.add(handle)

    def root(self, handle: int) -> int:
        """The buffer at the end of the chain of views; it is not a view itself."""
        while handle in self._sources:
            handle = self._sources[handle]
        return handle

    def assertion(self, stmt: Any) -> None:
        message = "".join(part.value for part in stmt.message_parts)
        self.emit(f"if not {self.value(stmt.condition).text}: failed({message!r})")

    def attribute(self, stmt: Any) -> None:
        if not str(stmt.attr_key).startswith(TRANSPARENT):
            raise Unsupported(f"TensorIR attribute {stmt.attr_key}")
        self.statement(stmt.body)

    def evaluate(self, stmt: Any) -> None:
        """Write an expression whose value is not used."""
        expr = stmt.value
        if isinstance(expr, tvm.ir.Call):
            name = getattr(expr.op, "name", "")
            if name in JUMPS:
                self.emit(JUMPS[name])
            elif name == "tirx.tvm_call_packed":
                self.packed(expr.args[0].value, list(expr.args)[1:])
            elif name.removeprefix("tirx.") in EXTERNAL:
                self.value(expr)
            elif name != "tirx.assume":
                raise Unsupported(f"TensorIR operator {name}")
            return
        self.value(expr)

    def packed(self, name: str, args: Sequence[Any]) -> None:
        """Write a call of a function of the runtime."""
        if name not in PACKED:
            raise Unsupported(f"function {name}")
        function, outputs = PACKED[name]
        texts: list[str] = []
        for position, arg in enumerate(args):
            if isinstance(arg, ir.StringImm):
                texts.append(repr(str(arg.value)))
            elif getattr(getattr(arg, "op", None), "name", "") == "tirx.tvm_stack_make_array":
                texts.append(self.array(arg.args, written=position in outputs))
            else:
                texts.append(self.value(arg).text)
        self.emit(f"packed_{function.__name__}({', '.join(texts)})")

    def array(self, args: Sequence[Any], *, written: bool) -> str:
        """An array made on the stack: data, shape, strides, rank, an element, offset."""
        data, shape, strides, _, element, offset = args
        if getattr(strides, "value", None) != 0:
            raise Unsupported(f"array on the stack with strides {strides}")
        storage = self.pointed(data)
        if written:
            self.written(storage.node.__chandle__())
        dims = ", ".join(self.value(dim).text for dim in shape.args)
        dtype = type_name(dtype_of(element.ty))
        return f"view({storage.name}, {dtype}, [{dims}], [], {self.value(offset).text})"

    def pointed(self, data: Any) -> BufferArray:
        """The buffer that an address points to, or into."""
        of = _address_of(data)
        if of is not None:
            return self.storage(ir.tensor_of(of))
        if not (isinstance(data, tvm.ir.Call) and data.op.name == "tirx.buffer_data"):
            raise Unsupported(f"address {data}")
        return self.storage(data.args[0])

    def begin(self, data: Any) -> PyExpr:
        """The number of the element that an address points to."""
        of = _address_of(data)
        if of is None:
            return constant(0, "int64")
        storage = self.storage(ir.tensor_of(of))
        number: PyExpr = constant(0, "int64")
        for index, dim in zip(self.indices(storage, of.indices), storage.shape, strict=True):
            number = added(product(number, dim), index)
        return number


def _address_of(data: Any) -> Any | None:
    """The element whose address `address_of` takes here, or None."""
    if getattr(getattr(data, "op", None), "name", "") != "tirx.address_of":
        return None
    return data.args[0] if isinstance(data.args[0], ir.TensorLoad) else None


def is_undefined(expr: Any) -> bool:
    """True for any value: docstring of T.undef: "an initialized but arbitrary value"."""
    return getattr(getattr(expr, "op", None), "name", "") == "tirx.undef"


def targets(store: Any) -> list[Any]:
    """The indices of a store; for a vector stored to one element, those of the element."""
    indices = list(store.indices)
    if _to_one_element(store):
        indices[-1] = indices[-1].value
    return indices


def kept(store: Any, value: PyExpr) -> PyExpr:
    """The value that a store leaves; for a vector stored to one element, its last scalar."""
    if not (value.lanes and _to_one_element(store)):
        return value
    return dataclasses.replace(value, text=f"{value.text}[..., -1]", lanes=False)


def _to_one_element(store: Any) -> bool:
    """True if all elements of a vector have the same index: only the last index may be a vector."""
    return len(store.indices) > 0 and isinstance(store.indices[-1], ir.Broadcast)


def _iteration(name: str, begin: PyExpr, extent: PyExpr, end: PyExpr) -> PyExpr:
    """A loop variable and its bounds."""
    high = None if begin.literal is None or end.literal is None else end.literal - 1
    below = extent.text if begin.literal == 0 else None
    return PyExpr(name, begin.dtype, True, False, begin.low, high, below)


VISIT: Mapping[type, Callable[[Any, Any], None]] = {
    ir.SeqStmt: lambda t, s: t.sequence(s),
    ir.For: lambda t, s: t.loop(s),
    ir.While: lambda t, s: t.while_(s),
    ir.IfThenElse: lambda t, s: t.condition(s),
    ir.SBlockRealize: lambda t, s: t.realize(s),
    ir.BufferStore: lambda t, s: t.store(s),
    ir.Bind: lambda t, s: t.bind(s.var, t.value(s.value)),
    ir.AllocBuffer: lambda t, s: t.allocate(s.buffer),
    ir.DeclBuffer: lambda t, s: t.declare_buffer(s),
    ir.AssertStmt: lambda t, s: t.assertion(s),
    ir.AttrStmt: lambda t, s: t.attribute(s),
    ir.Evaluate: lambda t, s: t.evaluate(s),
    ir.Return: lambda t, s: t.emit(f"return {t.value(s.value).text}"),
    ir.Break: lambda t, s: t.emit("break"),
    ir.Continue: lambda t, s: t.emit("continue"),
}
"""The method that translates each kind of statement."""
