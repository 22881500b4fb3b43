"""A module inside of a check, as TVMScript where that reads back as the same module."""

from __future__ import annotations

import ast
import re

import numpy as np
import tvm
import tvm_ffi

from ...compat.script import read_script

SMALL = 64
"""Elements of a constant that is spelled out; a larger one travels in the source form."""


def scripted(name: str, mod: tvm.IRModule) -> str | None:
    """Imports and a class of this name; None where TVM does not read it as the same module.

    The parser may crash on an unusual module: call it in a child process.
    """
    try:
        text = spelled(str(mod.script(show_meta=True)))
    except Exception:  # an unusual module need not be printed
        return None
    if text is None:
        return None
    text = _PRINTED.sub(name, with_quoted_symbols(text) or text)
    if not _gives(text, mod, checked=True):
        if not _gives(text, mod, checked=False):
            return None
        # What a pass gives wrongly may be ill-formed.
        text = text.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)", 1)
    dialects = [f"{word} as {letter}" for word, letter in _DIALECTS if f"{letter}." in text]
    return f"from tvm.script import {', '.join(dialects)}\n\n\n{text}\n"


_PRINTED = re.compile(r"\bModule\b")
_DIALECTS = (("ir", "I"), ("relax", "R"), ("tirx", "T"))


def _gives(text: str, mod: tvm.IRModule, *, checked: bool) -> bool:
    try:
        read = read_script(text, check_well_formed=checked)
    except Exception:
        return False
    return bool(tvm_ffi.structural_equal(read, mod, map_free_vars=True))


SYMBOL = re.compile(r'^(\w+) = TypeVar\("\1"\)\n', re.M)


_FUNCTION = re.compile(r"^    def .*\n(?:(?: {8}.*)?\n)*", re.M)


def with_quoted_symbols(text: str) -> str | None:
    """Symbols as people write them, `R.Tensor(("n", 4))`; None where there are none."""
    names = SYMBOL.findall(text)

    def quote(function: re.Match[str]) -> str:
        signature, _, body = function[0].partition("\n")
        for name in names:
            signature, found = re.subn(rf"(?<=[(,\s]){name}(?=[,)])", f'"{name}"', signature)
            if found and re.search(rf'(?<!["\w.]){name}(?!["\w(])', body):
                body = f"        {name} = T.int64()\n{body}"
        return f"{signature}\n{body}"

    return _FUNCTION.sub(quote, SYMBOL.sub("", text) + "\n").rstrip() if names else None


_HEAD = re.compile(r"\A(?:#.*\n|\s)*")
_INSIDE = re.compile(r"^ +# from \S+ import .*\n(?: *\n)?", re.M)
"""What the printer says about imports above a local function."""
_METADATA = re.compile(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)\n', re.M | re.S)
_CONSTANT = re.compile(r'metadata\["(?:ir\.GenericConst|relax\.expr\.Constant)"\]\[(\d+)\]')


def spelled(script: str) -> str | None:
    """The class of a printed module alone, small constants in their places instead of metadata.

    None where metadata is left.
    """
    found = _METADATA.search(script)
    if found is None:
        return _HEAD.sub("", _INSIDE.sub("", script)).rstrip()
    metadata = tvm.ir.load_json(ast.literal_eval(found[1]))
    constants = next(iter(metadata.values())) if len(metadata) == 1 else ()

    def inlined(reference: re.Match[str]) -> str:
        constant = constants[int(reference[1])]
        data = getattr(constant, "value", None) or constant.data
        array = np.asarray(data.numpy())
        if array.size > SMALL or array.dtype.kind not in "fiub":
            return reference[0]
        return f'R.const({_values(array)}, "{data.dtype}")'

    text = _CONSTANT.sub(inlined, _METADATA.sub("", script))
    return None if "metadata[" in text else _HEAD.sub("", _INSIDE.sub("", text)).rstrip()


def _values(array: np.ndarray) -> str:
    if array.size == 0:
        return f"np.zeros({array.shape})"
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))
