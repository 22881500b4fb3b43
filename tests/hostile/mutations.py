"""Files as they come from a damaged disk, a bad transfer, or somebody's script: drawn."""

from __future__ import annotations

import json
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


def change(draw: DrawFn, tree: Any) -> Any:
    """A JSON tree with something else in one place; the tree itself is left alone."""
    if not isinstance(tree, dict | list) or not tree or draw(st.integers(0, 5)) == 0:
        return draw(
            st.sampled_from((*ODD, "x" * 5_000, _deep(2_000), "../../etc/passwd", "/etc/x.py"))
        )
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    key = draw(st.sampled_from(list(copy) if isinstance(copy, dict) else range(len(copy))))
    match draw(st.integers(0, 7)):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, dict):
            copy[draw(st.sampled_from(("extra", "format", "kind")))] = copy[key]
        case 1:
            copy.insert(key, copy[key])
        case _:
            copy[key] = change(draw, copy[key])
    return copy


def _deep(levels: int) -> Any:
    found: Any = []
    for _ in range(levels // 4):  # what `json.dumps` can write
        found = [found]
    return found


@st.composite
def damaged_text(draw: DrawFn, original: str) -> str:
    """JSON with its tree or its characters changed."""
    if draw(st.integers(0, 3)):
        tree = json.loads(original)
        for _ in range(draw(st.integers(1, 2))):
            tree = change(draw, tree)
        return json.dumps(tree)
    if draw(st.integers(0, 9)) == 0:
        return "[" * 100_000 + "]" * 100_000
    return draw(damaged_bytes(original.encode())).decode("utf-8", "replace").replace("\0", "?")
