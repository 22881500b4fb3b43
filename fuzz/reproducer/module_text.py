"""A finding's module as text that defines `mod`."""

from __future__ import annotations

import ast
import itertools
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tvm

from ...generators.source import to_source
from ...generators.tvm_api import load_json
from .execution import run

SMALL = 64
"""Elements of a constant that is spelled out; a larger one travels in the source form."""


@dataclass(frozen=True, slots=True)
class ModuleText:
    """Import lines, and statements that define `mod`."""

    imports: tuple[str, ...]
    statements: str
    portable: bool = True
    """It is meant for TVM from 0.25 on, not for the one version whose script form it is."""


def source_of(module: str) -> str:
    """Python source of a module in JSON; empty where it cannot be written."""
    try:
        return to_source(load_json(module))
    except Exception:
        return ""


def as_source(module: str, source: str) -> ModuleText:
    """The module by constructor calls, or, where source cannot express it, as JSON."""
    if not source:
        # What source cannot express still travels as JSON, if only within one TVM version.
        chunks = [module[at : at + 90] for at in range(0, len(module), 90)]
        quoted = "\n".join(f"    {chunk!r}" for chunk in chunks)
        return ModuleText(("import tvm",), f"mod = tvm.ir.load_json(\n{quoted}\n)")
    lines = source.strip().splitlines()
    imports = list(itertools.takewhile(lambda line: line.startswith(("import ", "from ")), lines))
    return ModuleText(tuple(imports), "\n".join(lines[len(imports) :]).strip())


def as_script(module: str) -> ModuleText | None:
    """The module as TVMScript; None where its script form does not give the same module back.

    It is parsed in a fresh process: what reads an unusual module may die of it.
    """
    try:
        script = load_json(module).script(show_meta=True)
        text = _spelled(script)
    except Exception:
        return None
    if text is None:
        return None
    made = ModuleText(_imports(script, text), text + "\n\n\nmod = Module", portable=False)
    return made if _gives(made, module) else None


_HEAD = re.compile(r"\A(?:#.*\n|\s)*")
_METADATA = re.compile(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)\n', re.M | re.S)
_CONSTANT = re.compile(r'metadata\["(?:ir\.GenericConst|relax\.expr\.Constant)"\]\[(\d+)\]')


def _spelled(script: str) -> str | None:
    """The class alone, small constants in their places instead of metadata."""
    found = _METADATA.search(script)
    if found is None:
        return _HEAD.sub("", script).rstrip()
    metadata = tvm.ir.load_json(ast.literal_eval(found[1]))
    constants = next(iter(metadata.values())) if len(metadata) == 1 else ()

    def spelled(reference: re.Match[str]) -> str:
        constant = constants[int(reference[1])]
        data = getattr(constant, "value", None) or constant.data
        array = np.asarray(data.numpy())
        if array.size > SMALL or array.dtype.kind not in "fiub":
            return reference[0]
        return f'R.const({_values(array)}, "{data.dtype}")'

    text = _CONSTANT.sub(spelled, _METADATA.sub("", script))
    return None if "metadata[" in text else _HEAD.sub("", text).rstrip()


def _values(array: np.ndarray) -> str:
    if array.size == 0:
        return f"np.zeros({array.shape})"
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))


def _imports(script: str, text: str) -> tuple[str, ...]:
    """The imports that stand in comments in a script, as far as the text uses them."""
    imports = [
        line
        for line in re.findall(r"^# ((?:from|import) .*)$", script, re.M)
        if re.search(rf"(?<![\w.]){line.split()[-1]}\b", text)
    ]
    if "TypeVar(" in text:
        # Python would evaluate what only TVM's parser gives a meaning to.
        imports.insert(0, "from __future__ import annotations")
    return tuple(imports)


_SAME = """

if __name__ == "__main__":
    import tvm, tvm_ffi

    expected = tvm.ir.load_json({module!r})
    if not tvm_ffi.structural_equal(mod, expected, map_free_vars=True):
        raise SystemExit(3)
"""


def _gives(made: ModuleText, module: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-script-") as folder:
        path = Path(folder) / "script.py"
        text = "\n".join([*made.imports, "", made.statements, _SAME.format(module=module)])
        path.write_text(text, encoding="utf-8")
        return run(path)[0] == 0
