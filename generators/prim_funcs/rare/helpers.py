"""Private PrimFuncs that others call with addresses of elements."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...choices import Choices
from ..expressions import ExpressionGenerator
from ..task import NestTask, total


def called(c: Choices, name: str, task: NestTask) -> dict[tvm.ir.GlobalVar, tirx.PrimFunc]:
    """Call a function of this name for elements of the target, and return it.

    It adds a value to the element whose address is its argument.
    """
    gvar, helper = tvm.ir.GlobalVar(name), _helper(c, name, task)
    (count, *rest), zero = task.dims or [1], task.number(0)
    with builder.serial(zero, task.number(count)) as i:
        IRBuilder.name("i", i)
        element = task.target[(i, *(zero for _ in rest)) if task.dims else ()]
        address = builder.address_of(element)
        # GlobalVar.__call__ of TVM 0.26 needs the type of the function, which is made later.
        builder.evaluate(tvm.ir.Call(gvar, [address, i], ret_ty=helper.ret_type))
    return {gvar: helper}


def _helper(c: Choices, name: str, task: NestTask) -> tirx.PrimFunc:
    pointer = tvm.ir.PointerType(tvm.ir.PrimType(task.dtype), str(task.target.scope()))
    with IRBuilder() as ib, builder.prim_func(is_private=True):
        builder.func_name(name)
        data = builder.arg("data", tirx.Var("data", pointer))
        number = builder.arg("number", tirx.Var("number", task.index))
        one = builder.decl_buffer((1,), task.dtype, data=data, scope=str(task.target.scope()))
        IRBuilder.name("one", one)
        value = ExpressionGenerator(c, task.index, (), (), [number]).value(task.dtype, 1)
        builder.buffer_store(one, total(one[0], value, task.dtype), [0])
    return ib.get()
