"""A module as its graph of nodes, to make copies that differ in sharing, names or order only.

`tvm.ir.save_json` shows every node, field and reference, so that edits which no constructor of TVM
offers (two references to one node made into references to two nodes) are edits of a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import tvm

from ..compat.schema import CURRENT_KEYS, current_class
from ..compat.serialization import load_json, save_json


class Graph:
    """The nodes of a module; edit them, then `load`."""

    def __init__(self, mod: tvm.IRModule) -> None:
        self.document: dict[str, Any] = json.loads(save_json(mod))
        self.nodes: list[dict[str, Any]] = self.document["nodes"]

    def load(self) -> tvm.IRModule:
        """The module that the graph now represents."""
        return load_json(json.dumps(self.document))

    @property
    def root(self) -> dict[str, Any]:
        """The data of the IRModule node."""
        data: dict[str, Any] = self.nodes[self.document["root_index"]]["data"]
        return data

    def functions(self) -> list[tuple[int, int]]:
        """GlobalVar and function, in the module's order."""
        flat = self.nodes[self.root["functions"]]["data"]
        return list(zip(flat[::2], flat[1::2], strict=True))

    def set_functions(self, functions: list[tuple[int, int]]) -> None:
        """Replace functions and their order; GlobalVars are found by their names."""
        names = [(self.nodes[gvar]["data"]["name_hint"], gvar) for gvar, _ in functions]
        self.nodes[self.root["functions"]]["data"] = [i for pair in functions for i in pair]
        self.nodes[self.root["global_var_map_"]]["data"] = [i for pair in names for i in pair]

    def add(self, kind: str, data: Any) -> int:
        """Append a node; returns its index."""
        self.nodes.append({"type": kind, "data": data})
        return len(self.nodes) - 1

    def copy(self, index: int, **fields: Any) -> int:
        """Append a node like this one, except for these fields; returns its index."""
        node = self.nodes[index]
        return self.add(node["type"], {**node["data"], **fields})

    def of(self, *classes: str) -> Iterator[int]:
        """The nodes of these classes, as the newest TVM names them, in the order of the graph."""
        for index in range(len(self.nodes)):
            if self.is_a(index, *classes):
                yield index

    def is_a(self, index: int, *classes: str) -> bool:
        """True if the node is of one of these classes."""
        return current_class(self.nodes[index]["type"]) in classes

    def text(self, index: int) -> str:
        """The text of a string node."""
        value: str = self.nodes[index]["data"]
        return value

    def name(self, gvar: int) -> str:
        """The name of a GlobalVar."""
        return self.text(self.nodes[gvar]["data"]["name_hint"])

    def rename(self, gvar: int, name: str) -> None:
        """Give a GlobalVar another name; the module's map follows with `set_functions`."""
        self.nodes[gvar]["data"]["name_hint"] = self.add("ffi.String", name)

    def attrs(self, func: int) -> dict[str, int]:
        """The attributes of a function: name to node."""
        attrs = self.nodes[func]["data"].get("attrs")
        data = self.nodes[attrs]["data"] if attrs is not None else None
        if not data:
            return {}
        flat = self.nodes[data["__dict__"]]["data"]
        return {self.text(k): v for k, v in zip(flat[::2], flat[1::2], strict=True)}

    def is_public(self, func: int) -> bool:
        """True if the function has a global symbol."""
        return "global_symbol" in self.attrs(func)

    def replace_uses(self, replace: Callable[[int], int]) -> None:
        """Put `replace(index)` in place of each use of a node as an operand or in a type.

        Nodes that `replace` adds are not visited.
        """
        for node in list(self.nodes):
            if node["type"] == "ffi.Array":
                node["data"] = [replace(index) for index in node["data"]]
            for field in EXPRESSION_FIELDS.get(CURRENT_KEYS.get(node["type"], node["type"]), ()):
                node["data"][field] = replace(node["data"][field])


EXPRESSION_FIELDS = {
    "ir.Call": ("op",),
    "ir.TupleGetItem": ("tuple_value",),
    "relax.expr.VarBinding": ("value",),
    "relax.expr.MatchCast": ("value",),
    "relax.expr.SeqExpr": ("body",),
    "relax.expr.If": ("cond",),
    "relax.TensorType": ("shape",),
}
"""Fields that refer to an expression which may be a leaf. (Other fields of the same document hold
plain integers; only the schema tells the two apart.) Operands are in arrays."""
