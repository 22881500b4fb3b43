"""The table of operators: one record each, one module a family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import tvm

from . import (
    binary,
    convolution,
    creation,
    devices,
    gradient,
    host,
    image,
    indexing,
    inspection,
    linear_algebra,
    manipulate,
    nn,
    pooling,
    quantize,
    reduction,
    runtime,
    search,
    unary,
    vision,
)
from .record import Op

__all__ = ["LEFT_OUT", "OP_FAMILIES", "add", "new_ops", "table"]

OP_FAMILIES: Mapping[str, tuple[Op, ...]] = MappingProxyType(
    {
        "unary": unary.OPS,
        "binary": binary.OPS,
        "reduction": reduction.OPS,
        "manipulate": manipulate.OPS,
        "creation": creation.OPS,
        "indexing": indexing.OPS,
        "linear_algebra": linear_algebra.OPS,
        "nn": nn.OPS,
        "convolution": convolution.OPS,
        "pooling": pooling.OPS,
        "search": search.OPS,
        "runtime": runtime.OPS,
        "image": image.OPS,
        "vision": vision.OPS,
        "quantize": quantize.OPS,
        "gradient": gradient.OPS,
        "inspection": inspection.OPS,
        "devices": devices.OPS,
        "host": host.OPS,
    }
)
"""Every family with its operators, the simplest first."""


def _tabulate(families: Mapping[str, tuple[Op, ...]]) -> dict[str, Op]:
    """All records by name; raises a ValueError if two share a name."""
    ops: dict[str, Op] = {}
    for family, records in families.items():
        for op in records:
            if op.name in ops:
                raise ValueError(
                    f"Expected one record for each operator, got two of {op.name!r}, "
                    f"the second in {family!r}"
                )
            ops[op.name] = op
    return ops


_records = _tabulate(OP_FAMILIES)

table: Mapping[str, Op] = MappingProxyType(_records)
"""Every operator by its registered name without `relax.`."""


def add(op: Op) -> Op:
    """Add a user's operator record to the table of this process.

    Raises:
        ValueError: the table has another record of that name.
    """
    if _records.setdefault(op.name, op) != op:
        raise ValueError(f"Expected one record for each operator, got two of {op.name!r}")
    return op


LEFT_OUT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            "call_builtin_with_ctx",
            "call_dps_packed",
            "call_inplace_packed",
            "call_pure_packed",
            "call_py_func",
            "call_tir",
            "call_tir_inplace",
            "call_tir_with_grad",
            "invoke_closure",
            "invoke_pure_closure",
            "make_closure",
        ),
        "structure: calls a function that is an operand",
    )
    | dict.fromkeys(
        (
            "builtin.alloc_tensor",
            "memory.alloc_storage",
            "memory.alloc_tensor",
            "memory.kill_storage",
            "memory.kill_tensor",
            "vm.alloc_storage",
            "vm.alloc_tensor",
            "vm.call_tir_dyn",
            "vm.kill_object",
        ),
        "structure: memory and calls of lowered modules, which passes put there",
    )
    | dict.fromkeys(
        (
            "ccl.allgather",
            "ccl.allreduce",
            "ccl.broadcast_from_worker0",
            "ccl.scatter_from_worker0",
        ),
        "runs on a worker of a Disco session with a library for GPUs (NCCL, RCCL), on nothing else",
    )
    | dict.fromkeys(
        (
            "dist.annotate_sharding",
            "dist.call_tir_local_view",
            "dist.redistribute",
            "dist.redistribute_replica_to_shard",
        ),
        "of distributed tensors over a mesh of devices, which no CPU build runs",
    )
    | {"nn.attention_var_len": "LegalizeOps refuses every call of it, by message"}
)
"""Registered operators without a record, and why. "structure: ...": the evaluator has them."""


def new_ops() -> tuple[str, ...]:
    """The operators that the installed TVM registers beyond the table and `LEFT_OUT`."""
    registered = (str(name) for name in tvm.ir.Op.list_op_names())
    found = {name.removeprefix("relax.") for name in registered if name.startswith("relax.")}
    return tuple(sorted(found.difference(table, LEFT_OUT)))
