"""A module inside a check: TVMScript if it reads back as the same module, else its source."""

from __future__ import annotations

import ast
import re
import textwrap

import numpy as np
import tvm
import tvm_ffi

from ...compat import ir
from ...compat.script import read_script
from ...generators.source import to_source

SMALL = 64
"""Limit on the elements of a constant that is written out; larger ones use the source form."""


def scripted(name: str, mod: tvm.IRModule) -> str | None:
    """Imports and a class of this name; None if TVM does not read it as the same module.

    The parser may crash on an unusual module: call it in a child process.
    """
    try:
        text = spelled(str(mod.script(show_meta=True)))
    except Exception:  # an unusual module may not be printable
        return None
    if text is None:
        return None
    text = _PRINTED.sub(name, with_quoted_symbols(text) or text)
    if not gives(text, mod, checked=True):
        if not gives(text, mod, checked=False):
            return None
        # A wrong result of a pass may be ill-formed.
        text = text.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)", 1)
    dialects = [f"{word} as {letter}" for word, letter in _DIALECTS if f"{letter}." in text]
    return f"from tvm.script import {', '.join(dialects)}\n\n\n{text}\n"


def nested_module(name: str, mod: tvm.IRModule) -> str:
    """The definition of a function without parameters that builds the module."""
    try:
        body = f"{to_source(mod).strip()}\nreturn mod"
    except Exception:
        # JSON carries things that source cannot express, if only within one version of TVM.
        body = f"return tvm.ir.load_json({str(tvm.ir.save_json(mod))!r})"
    return f"def {name}():\n{textwrap.indent(body, '    ')}\n"


_PRINTED = re.compile(r"\bModule\b")
_DIALECTS = (("ir", "I"), ("relax", "R"), ("tirx", "T"))


def gives(text: str, mod: tvm.IRModule, *, checked: bool = True) -> bool:
    """True if TVM reads the script as this module.

    Args:
        checked: TVM should refuse an ill-formed module.
    """
    try:
        read = read_script(text, check_well_formed=checked)
    except Exception:
        return False
    return bool(tvm_ffi.structural_equal(read, mod, map_free_vars=True))


SYMBOL = re.compile(r'^(\w+) = TypeVar\("\1"\)\n', re.M)


_FUNCTION = re.compile(r"^    def .*\n(?:(?: {8}.*)?\n)*", re.M)


def with_quoted_symbols(text: str) -> str | None:
    """The text with symbols as people write them, `R.Tensor(("n", 4))`; None if it has none."""
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
"""Comment of the printer about imports, above a local function."""
_METADATA = re.compile(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)\n', re.M | re.S)


def constants_in(script: str) -> dict[str, np.ndarray]:
    """The arrays of a script's metadata, by the text that refers to them.

    Raises:
        Exception: TVM cannot read all of its own output.
    """
    found = _METADATA.search(script)
    metadata = {} if found is None else tvm.ir.load_json(ast.literal_eval(found[1]))
    return {
        f'metadata["{kind}"][{number}]': np.asarray(data.numpy())
        for kind, nodes in metadata.items()
        for number, node in enumerate(nodes)
        if isinstance(node, ir.GenericConst)
        and isinstance(data := ir.constant_data(node), tvm.runtime.Tensor)
    }


def spelled(script: str) -> str | None:
    """The class of a printed module alone, with small constants inline instead of metadata.

    None if metadata remains.
    """
    text = _METADATA.sub("", script)
    for reference, array in constants_in(script).items():
        if array.size <= SMALL and array.dtype.kind in "fiub":
            text = text.replace(reference, f'R.const({_values(array)}, "{array.dtype}")')
    return None if "metadata[" in text else _HEAD.sub("", _INSIDE.sub("", text)).rstrip()


def _values(array: np.ndarray) -> str:
    if array.size == 0:
        return f"np.zeros({array.shape})"
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))
