"""The node graph of an IR object, read through `tvm.ir.save_json`.

The JSON form shows every reflected field and which objects are one and the same, lists children
before parents, and costs less than a walk over Python wrappers.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from ...compat.schema import CURRENT_KEYS, current_fields

Id: TypeAlias = int

# Objects without an identity of their own: TVM interns them, copies them freely, or makes them from
# Python values. Two parents that hold one of these objects do not "share" it.
VALUES = frozenset(
    {
        "None",
        "int",
        "float",
        "bool",
        "DataType",
        "Device",
        "ffi.Array",
        "ffi.Map",
        "ffi.String",
        "ffi.Shape",
        "ir.IntImm",
        "ir.FloatImm",
        "ir.StringImm",
        "tirx.StringImm",
        "ir.Type",
        "ir.PrimType",
        "ir.PointerType",
        "ir.StringType",
        "relax.AnyType",
        "tirx.BufferRegionType",
        "ir.Op",
        "ir.EnvFunc",
        "target.Target",
        "target.TargetKind",
        "tirx.Axis",
    }
)

# The origin of a module's text is not a part of the module.
IGNORED_FIELDS = frozenset({"span", "source_map"})

_INLINE_SCHEMAS = frozenset({"int", "float", "bool", "DataType", "Device"})
_inline_fields: dict[str, frozenset[str]] = {}


def inline_fields_of(type_key: str) -> frozenset[str]:
    """The fields that the JSON form writes in place; all others hold a node's index."""
    known = _inline_fields.get(type_key)
    if known is not None:
        return known
    from tvm_ffi import core

    names = set()
    info: core.TypeInfo | None = core._lookup_or_register_type_info_from_type_key(type_key)
    while info is not None:
        for field in info.fields or ():
            if json.loads(field.metadata["type_schema"])["type"] in _INLINE_SCHEMAS:
                names.add(field.name)
        info = info.parent_type_info
    return _inline_fields.setdefault(type_key, frozenset(names))


class NodeGraph:
    """Nodes by index, children before parents; `kinds[i]` is a type key, `data[i]` its content.

    Both are named as the newest TVM names them.
    """

    def __init__(self, node: object) -> None:
        import tvm

        graph = json.loads(tvm.ir.save_json(node))
        self.root: Id = graph["root_index"]
        self._keys: list[str] = [n["type"] for n in graph["nodes"]]
        self.kinds = [CURRENT_KEYS.get(key, key) for key in self._keys]
        self.data: list[Any] = [n.get("data") for n in graph["nodes"]]
        for i, key in enumerate(self._keys):
            if key in CURRENT_KEYS:
                self.data[i] = current_fields(key, self.data[i])
        if self.kinds[self.root] == "ir.IRModule":
            self._sort_name_index(self.data[self.root]["global_var_map_"])

    def _sort_name_index(self, i: Id) -> None:
        """Sort the index of global variables by name, since passes leave it in any order."""
        entries = sorted(self.pairs(i), key=lambda entry: str(self.data[entry[0]]))
        self.data[i] = [k for entry in entries for k in entry]

    def field(self, i: Id, name: str) -> Any:
        """An index, or the value itself for a field that holds a plain number, flag or dtype."""
        return self.data[i][name]

    def content(self, i: Id, name: str) -> Any:
        """The content of a field, written in place or as a node in the JSON form."""
        value = self.data[i][name]
        return value if name in inline_fields_of(self._keys[i]) else self.data[value]

    def items(self, i: Id) -> list[Id]:
        """The elements of an array; empty for a null array."""
        return self.data[i] or []

    def pairs(self, i: Id) -> Iterator[tuple[Id, Id]]:
        """The entries of a map, in order."""
        flat = self.data[i] or []
        return zip(flat[::2], flat[1::2], strict=True)

    def fields(self, i: Id) -> Iterator[tuple[str, Any, bool]]:
        """Yields (name, content, True if the content is an index) of all but the ignored fields."""
        content = self.data[i]
        if not isinstance(content, dict):
            return
        inline = inline_fields_of(self._keys[i])
        for name, value in content.items():
            if name not in IGNORED_FIELDS:
                yield name, value, name not in inline

    def children(self, i: Id) -> list[Id]:
        """The indices that node `i` refers to, once per reference."""
        if self.kinds[i] in ("ffi.Array", "ffi.Map"):
            return self.data[i]  # type: ignore[no-any-return]  # decoded JSON
        return [value for _, value, is_index in self.fields(i) if is_index]

    def references(self) -> list[int]:
        """For each node, the number of places that hold it."""
        counts = [0] * len(self.kinds)
        counts[self.root] = 1
        for i in range(self.root, -1, -1):
            # A value and its parts have no identity: they count once for each place.
            places = counts[i] if self.kinds[i] in VALUES else min(counts[i], 1)
            for child in self.children(i):
                counts[child] += places
        return counts

    def dtype(self, i: Id) -> str | None:
        """The dtype of a primitive type, None for any other type."""
        return self.data[i]["dtype"] if self.kinds[i] == "ir.PrimType" else None

    def configuration(self, i: Id) -> str:
        """A target as text, with its attributes in alphabetical order."""
        data = self.data[i]
        if self.kinds[i] == "ffi.Map":
            return repr(sorted((self.data[k], self.configuration(v)) for k, v in self.pairs(i)))
        if isinstance(data, list):
            return repr([self.configuration(k) for k in data])
        if isinstance(data, dict):
            return repr([(name, self.configuration(k)) for name, k, _ in self.fields(i)])
        return repr(data)

    def same_value(self, a: Id, b: Id) -> bool:
        """True for one node, or for two literals that look the same."""
        if a == b:
            return True
        if self.kinds[a] != self.kinds[b] or self.kinds[a] != "ir.IntImm":
            return False
        return bool(
            self.content(a, "value") == self.content(b, "value")
            and self.dtype(self.data[a]["ty"]) == self.dtype(self.data[b]["ty"])
        )


def first_difference(a: NodeGraph, b: NodeGraph) -> str | None:
    """The path and nature of the first difference in content or sharing, None if there is none.

    The graphs are walked in lockstep; each node with an identity must always meet the same partner.
    """
    partner: dict[Id, Id] = {}
    owner: dict[Id, Id] = {}
    stack: list[tuple[Id, Id, _Path]] = [(a.root, b.root, None)]
    seen: set[tuple[Id, Id]] = set()
    while stack:
        x, y, path = stack.pop()
        if (x, y) in seen:
            continue
        seen.add((x, y))
        kind = a.kinds[x]
        if kind != b.kinds[y]:
            return f"{_render(path)}: {kind} and {b.kinds[y]}"
        if kind not in VALUES:
            if x in partner or y in owner:
                side = "first" if x in partner else "second"
                return f"{_render(path)}: this {kind} occurs before in the {side} module only"
            partner[x], owner[y] = y, x
        ours, theirs = a.data[x], b.data[y]
        if kind == "target.Target":
            ours, theirs = a.configuration(x), b.configuration(y)
        below: list[tuple[Id, Id, _Path]] = []
        if isinstance(ours, list):
            if len(ours) != len(theirs):
                return f"{_render(path)}: {len(ours)} and {len(theirs)} entries"
            parts = zip(_steps(a, x), ours, theirs, strict=True)
            below = [(one, other, (path, step)) for step, one, other in parts]
        elif not isinstance(ours, dict):
            if not _same(ours, theirs):
                return f"{_render(path)}: {ours!r} and {theirs!r}"
        else:
            for name, value, is_index in a.fields(x):
                if is_index:
                    below.append((value, theirs[name], (path, "." + name)))
                elif not _same(value, theirs[name]):
                    return f"{_render(path)}.{name}: {value!r} and {theirs[name]!r}"
        stack.extend(reversed(below))
    return None


def _steps(g: NodeGraph, i: Id) -> Iterator[str]:
    """The steps to the entries of an array, or to the keys and values of a map."""
    if g.kinds[i] != "ffi.Map":
        yield from (f"[{k}]" for k in range(len(g.items(i))))
        return
    for key, _ in g.pairs(i):
        data = g.data[key]
        name = g.data[data["name_hint"]] if g.kinds[key] == "ir.GlobalVar" else data
        yield from (f".keys[{name!r}]", f"[{name!r}]")


_Path: TypeAlias = "tuple[_Path, str] | None"


def _render(path: _Path) -> str:
    parts = []
    while path is not None:
        path, part = path
        parts.append(part)
    return "mod" + "".join(reversed(parts))


def _same(x: object, y: object) -> bool:
    """Equality under which NaN equals itself, and 0.0 differs from -0.0, 1 from True."""
    return repr(x) == repr(y)
