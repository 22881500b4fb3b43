"""A module as text for people: TVMScript with short constants written at their uses.

Similar modules have similar texts: a constant is named by its content, not by a number.
"""

from __future__ import annotations

import re
import textwrap
import zlib

import numpy as np
import tvm

from .. import keys
from ..text import messages
from ..text.scripted import constants_in

LONGEST = 64_000
"""Characters of one text."""

LONGEST_LINE = 2_000
"""Characters of one line: one expression of TensorIR may be longer than all the rest."""

FEW = 16
"""Elements of a constant that are written out."""


def printed(mod: tvm.IRModule) -> str:
    """TVMScript, or the reason why TVM cannot print the module."""
    mod = keys.comparable(mod)
    try:
        text = _with_constants(mod)
    except Exception as error:
        note = f"# TVM cannot print the module: {messages.headline(str(error))}"
        text = f"{note}\n{_plainly(mod)}"
    return clipped(_IMPORTS.sub("", text))


_IMPORTS = re.compile(r"^ *# from \S+ import .*\n(?: *\n)?", re.M)
"""Imports for the parser, at the start of TVMScript and of each local function. They depend on
incidental contents of the module, and are of no use to a reader."""


def clipped(text: str) -> str:
    """The text with long lines cut; a note stands for the lines beyond `LONGEST` characters."""
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


_ADVICE = re.compile(r"^# Metadata omitted\. .*\n?", re.M)


def _with_constants(mod: tvm.IRModule) -> str:
    text = str(mod.script())
    if "metadata[" not in text:
        return text
    try:
        constants = constants_in(str(mod.script(show_meta=True)))
    except Exception:  # TVM cannot read all of its own output
        return text
    notes: dict[str, str] = {}
    for reference, array in constants.items():
        if array.size <= FEW:
            name = f'R.const({_elements(array)}, "{array.dtype}")'
        else:
            name = f"const_{zlib.crc32(array.tobytes()):08x}"
            notes[name] = f'# {name}: R.Tensor({array.shape}, "{array.dtype}"), {_elements(array)}'
        text = text.replace(reference, name)
    text = _ADVICE.sub("", text).rstrip()
    return "\n".join([text, *(["", *notes.values()] if notes else [])])


def _elements(array: np.ndarray) -> str:
    if array.size <= FEW:
        return str(array.tolist())
    flat = array.ravel()
    return f"[{', '.join([*map(str, flat[:3].tolist()), '...', *map(str, flat[-2:].tolist())])}]"
