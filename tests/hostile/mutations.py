"""Files as they come from a damaged disk, a bad transfer, or somebody's script: drawn."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**62,
    2**64,
    10**400,
    -(2**63),
    1e308,
    float("nan"),
    float("inf"),
    "",
    "ir.IRModule",
    "\x00",
    "\ud800",
    "\x1b]0;title\x07\x1b[2J",
    "\u202eright to left",
    "<script>alert(1)</script>",
    "name\nwith\nlines",
    "'; import os; os.abort() #",
    [],
    {},
    [[]],
    {"type": "ir.IRModule", "data": 0},
)
"""What no writer of a module means."""


@st.composite
def damaged_bytes(draw: DrawFn, original: bytes) -> bytes:
    """A file whose bytes were changed in one to three places."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.sampled_from((1, 2, 8, 100, 5000)))
        match draw(st.integers(0, 7)):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = draw(st.binary(min_size=1, max_size=20))
            case 3:
                data[at : at + 1] = draw(st.sampled_from([b'"', b"[", b"}", b"\\", b"\0", b"9"]))
            case 4:
                data[at:at] = data[at : at + length]
            case 5:
                other = draw(st.integers(0, max(0, len(data) - 1)))
                data[at:at] = data[other : other + length]
            case 6 if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case _:
                data = bytearray(_recoded(draw, bytes(data)))
    return bytes(data)


def _recoded(draw: DrawFn, data: bytes) -> bytes:
    text = data.decode("utf-8", errors="replace")
    encoding = draw(st.sampled_from(["utf-16", "utf-16-be", "utf-8-sig", "latin-1", "utf-7"]))
    return text.encode(encoding, errors="replace")


@st.composite
def damaged_json(draw: DrawFn, original: str) -> bytes:
    """A JSON text whose tree was changed in one to three places."""
    tree = json.loads(original)
    for _ in range(draw(st.integers(1, 3))):
        if not isinstance(tree, dict) or not isinstance(tree.get("nodes"), list):
            break
        draw(st.sampled_from(_CHANGES))(draw, tree)
    text = json.dumps(tree)
    if draw(st.integers(0, 9)) == 0:
        text = text.replace('"nodes":', '"nodes": 7, "nodes":', 1)
    return text.encode()


def _place(draw: DrawFn, tree: Any) -> tuple[Any, Any]:
    """Something that has parts, and the name of one of them: in a node, mostly."""
    nodes = tree["nodes"]
    found: Any = tree
    if nodes and draw(st.integers(0, 9)):
        found = nodes[draw(st.integers(0, len(nodes) - 1))]
        if isinstance(found, dict) and isinstance(found.get("data"), dict | list) and found["data"]:
            found = found["data"]
    if not isinstance(found, dict | list) or not found:
        found = tree
    keys = list(found) if isinstance(found, dict) else list(range(len(found)))
    return found, draw(st.sampled_from(keys))


def _drop(draw: DrawFn, tree: Any) -> None:
    found, key = _place(draw, tree)
    del found[key]


def _replace(draw: DrawFn, tree: Any) -> None:
    found, key = _place(draw, tree)
    found[key] = draw(st.sampled_from(ODD))


def _retarget(draw: DrawFn, tree: Any) -> None:
    """A reference leads to another node: of the wrong type, or back to where it came from."""
    found, key = _place(draw, tree)
    if isinstance(found[key], int):
        found[key] = draw(st.integers(-1, len(tree["nodes"])))


def _swap(draw: DrawFn, tree: Any) -> None:
    nodes = tree["nodes"]
    if len(nodes) > 1:
        i, j = (draw(st.integers(0, len(nodes) - 1)) for _ in range(2))
        nodes[i], nodes[j] = nodes[j], nodes[i]


def _duplicate(draw: DrawFn, tree: Any) -> None:
    found, key = _place(draw, tree)
    if isinstance(found, list):
        found.insert(key, found[key])
    else:
        found[f"{key}_"] = found[key]


def _retype(draw: DrawFn, tree: Any) -> None:
    """A node claims another type, which this TVM has."""
    nodes = [node for node in tree["nodes"] if isinstance(node, dict)]
    if nodes:
        kinds = sorted({str(node.get("type")) for node in nodes} | {"ffi.Module", "ir.EnvFunc"})
        draw(st.sampled_from(nodes))["type"] = draw(st.sampled_from(kinds))


def _reword(draw: DrawFn, tree: Any) -> None:
    """A name, a dtype, or another text."""
    texts = [n for n in tree["nodes"] if isinstance(n, dict) and isinstance(n.get("data"), str)]
    if texts:
        odd = [value for value in ODD if isinstance(value, str)]
        other = st.text(max_size=8) | st.sampled_from(odd) | st.just("n" * 1_000_000)
        draw(st.sampled_from(texts))["data"] = draw(other)


def _number(draw: DrawFn, tree: Any) -> None:
    """Another number: a dimension, a literal, a version of the writer."""
    numbers = [
        n for n in tree["nodes"] if isinstance(n, dict) and n.get("type") in ("int", "float")
    ]
    if numbers:
        odd = st.sampled_from((-1, 0, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64, 0.5))
        draw(st.sampled_from(numbers))["data"] = draw(odd)


_CHANGES: tuple[Callable[[DrawFn, Any], None], ...] = (
    _drop,
    _replace,
    _retarget,
    _retarget,
    _retarget,
    _swap,
    _duplicate,
    _retype,
    _reword,
    _number,
)


@st.composite
def damaged_program(draw: DrawFn, original: str) -> bytes:
    """A Python file that still parses, mostly: its statements and literals were changed."""
    tree = ast.parse(original)
    for _ in range(draw(st.integers(1, 3))):
        places = [node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.Name)]
        match draw(st.integers(0, 3)):
            case 0 if len(tree.body) > 1:
                del tree.body[draw(st.integers(0, len(tree.body) - 1))]
            case 1 if len(tree.body) > 1:
                at = draw(st.integers(0, len(tree.body) - 2))
                tree.body[at], tree.body[at + 1] = tree.body[at + 1], tree.body[at]
            case _ if places:
                _change(draw, draw(st.sampled_from(places)), places)
    try:
        return ast.unparse(tree).encode("utf-8", errors="surrogatepass")
    except (ValueError, RecursionError):  # what `ast` cannot write
        return original.encode()


def _change(draw: DrawFn, place: ast.Constant | ast.Name, places: list[Any]) -> None:
    if isinstance(place, ast.Name):
        names = sorted({each.id for each in places if isinstance(each, ast.Name)})
        place.id = draw(st.sampled_from(names))
    else:
        plain = [value for value in ODD if isinstance(value, str | int | float | None)]
        place.value = draw(st.sampled_from(plain))
