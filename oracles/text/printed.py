"""A module as text for people: TVMScript with short constants that stand where they are used.

Two modules that differ in little have texts that differ in little: a constant is named by what it
holds, not by its number.
"""

from __future__ import annotations

import ast
import re
import textwrap
import zlib

import numpy as np
import tvm

from ...compat.serialization import load_json
from .. import keys
from . import messages

LONGEST = 64_000
"""Characters of one text."""

LONGEST_LINE = 2_000
"""Characters of one line: one expression of TensorIR can be longer than all the rest."""

FEW = 16
"""Elements of a constant that are written out."""


def printed(mod: tvm.IRModule) -> str:
    """TVMScript; or why TVM cannot print the module."""
    mod = keys.comparable(mod)
    try:
        text = _with_constants(mod)
    except Exception as error:
        note = f"# TVM cannot print the module: {messages.headline(str(error))}"
        text = f"{note}\n{_plainly(mod)}"
    return clipped(_IMPORTS.sub("", text))


_IMPORTS = re.compile(r"^ *# from \S+ import .*\n(?: *\n)?", re.M)
"""What a parser would need: TVMScript begins with it, and each local function does. It differs with
what the module happens to hold, and is of no use to a reader."""


def clipped(text: str) -> str:
    """The text with long lines cut, and cut at a line's end where it is too long, with a note."""
    text = "\n".join(map(_line, text.strip("\n").split("\n")))
    if len(text) <= LONGEST:
        return text
    kept = text[:LONGEST].rpartition("\n")[0] or text[:LONGEST]
    left = text[len(kept) :].strip("\n").count("\n") + 1
    return f"{kept}\n# ... {left} more line{'s' * (left != 1)}"


def _line(line: str) -> str:
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]}  # ... {more} more characters"


def _plainly(mod: tvm.IRModule) -> str:
    texts = []
    for gvar, func in mod.functions_items():
        try:
            text = str(func.script(name=gvar.name_hint))
        except Exception as error:
            text = f"# {gvar.name_hint}: {messages.headline(str(error))}"
        texts.append(textwrap.indent(text.strip(), "    "))
    return "@I.ir_module\nclass Module:\n" + "\n\n".join(texts)


_META = re.compile(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)\n', re.S | re.M)
_USE = re.compile(r'metadata\["(?P<kind>[\w.]+)"\]\[(?P<number>\d+)\]')
_ADVICE = re.compile(r"^# Metadata omitted\. .*\n?", re.M)


def _with_constants(mod: tvm.IRModule) -> str:
    text = str(mod.script())
    if _USE.search(text) is None:
        return text
    found = _META.search(str(mod.script(show_meta=True)))
    try:
        metadata = {} if found is None else load_json(ast.literal_eval(found[1]))
    except Exception:  # TVM does not read all that it writes
        return text
    notes: dict[str, str] = {}

    def short(use: re.Match[str]) -> str:
        nodes = metadata.get(use["kind"])
        array = None if nodes is None else _data(nodes[int(use["number"])])
        if array is None:
            return use[0]
        if array.size <= FEW:
            return f'R.const({_elements(array)}, "{array.dtype}")'
        name = f"const_{zlib.crc32(array.tobytes()):08x}"
        notes[name] = f'# {name}: R.Tensor({array.shape}, "{array.dtype}"), {_elements(array)}'
        return name

    text = _ADVICE.sub("", _USE.sub(short, text)).rstrip()
    return "\n".join([text, *(["", *notes.values()] if notes else [])])


def _data(node: object) -> np.ndarray | None:
    """What a constant holds; None where the node is none."""
    for name in ("value", "data"):
        held = getattr(node, name, None)
        if isinstance(held, tvm.runtime.Tensor):
            return np.asarray(held.numpy())
    return None


def _elements(array: np.ndarray) -> str:
    if array.size <= FEW:
        return str(array.tolist())
    flat = array.ravel()
    return f"[{', '.join([*map(str, flat[:3].tolist()), '...', *map(str, flat[-2:].tolist())])}]"
