"""A module inside of a check, as TVMScript where that reads back as the same module."""

from __future__ import annotations

import re

import tvm
import tvm_ffi

_HEAD = re.compile(r"\A(?:#.*\n|\s)*")
_INSIDE = re.compile(r"^ +# from \S+ import .*\n(?: *\n)?", re.M)
"""What the printer says about imports above a local function."""
_PRINTED = re.compile(r"\bModule\b")


def scripted(name: str, mod: tvm.IRModule) -> str | None:
    """Imports and a class of this name; None where TVM does not read it as the same module.

    The parser may crash on an unusual module: call it in a child process.
    """
    try:
        printed = str(mod.script(show_meta=True))
    except Exception:  # an unusual module need not be printed
        return None
    text = _PRINTED.sub(name, _INSIDE.sub("", _HEAD.sub("", printed)).rstrip())
    # What a pass gives wrongly may be ill-formed.
    unchecked = text.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)", 1)
    made = next((each for each in (text, unchecked) if _gives(each, mod)), None)
    if made is None:
        return None
    dialects = [f"{word} as {letter}" for word, letter in _DIALECTS if f"{letter}." in made]
    return f"from tvm.script import {', '.join(dialects)}\n\n\n{made}\n"


def _gives(text: str, mod: tvm.IRModule) -> bool:
    try:
        read = tvm.script.from_source(text)
    except Exception:
        return False
    return bool(tvm_ffi.structural_equal(read, mod, map_free_vars=True))


_DIALECTS = (("ir", "I"), ("relax", "R"), ("tirx", "T"))
