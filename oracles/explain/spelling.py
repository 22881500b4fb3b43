"""Operators, calls and types in the spelling of TVMScript."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax


def operator(name: str) -> str:
    """The operator in TVMScript: "R.nn.relu" for "relax.nn.relu"."""
    return f"R.{name.removeprefix('relax.')}"


def called(call: relax.Call) -> str:
    """The callee of a call, without the arguments."""
    op = call.op
    if isinstance(op, tvm.ir.Op):
        return operator(str(op.name))
    if isinstance(op, relax.ExternFunc):
        return f'R.call_packed("{op.global_symbol}")'
    return str(op.name_hint if isinstance(op, tvm.ir.GlobalVar) else op)


def spelled(node: Any) -> str:
    """A type or a small expression on one line."""
    lines = (line.strip() for line in str(node).splitlines() if not line.startswith("#"))
    return " ".join(line for line in lines if line)


def one_line(error: BaseException) -> str:
    """The exception's kind and the first line of its text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
