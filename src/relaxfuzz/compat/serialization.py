"""Modules as TVM JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tvm


def save_json(mod: tvm.IRModule) -> str:
    """The module as JSON, for `load_json` and `tvm.ir.load_json` of this very TVM version."""
    # Reproducers quote this function: it imports what anybody with TVM has.
    import tvm
    from tvm_ffi import serialization

    return str(serialization.to_json_graph_str(mod, {"tvm_version": str(tvm.__version__)}))


def load_json(text: str) -> tvm.IRModule:
    """The module that `save_json` of this very TVM version wrote.

    `tvm.ir.load_json` first translates texts of older versions, through a Python dictionary printed
    with indentation; that costs 20 times as much as the rest.
    """
    from tvm_ffi import serialization

    return serialization.from_json_graph_str(text)


def upgraded_json(text: str) -> str:
    """The text, perhaps of an older version, after the upgrade that `tvm.ir.load_json` makes."""
    from tvm.ir import json_compact

    return str(json_compact.upgrade_json(text))
