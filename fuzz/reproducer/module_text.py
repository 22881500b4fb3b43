"""A finding's module as text that defines it."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tvm

from ...compat.serialization import load_json
from ...generators.source import to_source
from ...oracles.metamorphic.graph import Graph
from ..system.scratch import scratch
from .execution import run

SCRIPTED = "Module"
"""The class that TVM prints a module as."""

LONGEST = 200_000
"""Characters of a script: nobody reads a longer one, and TVM's parser takes its time."""

SMALL = 64
"""Elements of a constant that is spelled out; a larger one travels in the source form."""


@dataclass(frozen=True, slots=True)
class ModuleText:
    """Import lines, and statements that define the module."""

    imports: tuple[str, ...]
    statements: str
    name: str = "mod"
    """What the statements call the module."""

    @property
    def portable(self) -> bool:
        """It is meant for TVM from 0.25 on, not for the one version whose script form it is."""
        return self.name != SCRIPTED


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


def as_script(
    module: str, serves: Callable[[str], bool] = lambda other: False
) -> ModuleText | None:
    """The module as TVMScript; None where its script form gives no module that serves.

    It is parsed in a fresh process: what reads an unusual module may die of it.

    Args:
        serves: a module, as JSON, is as good as this one. Asked about those that are not
            structurally equal to it.
    """
    tried = _tried(module)
    return next((made for made, parsed in tried if parsed == "" or serves(parsed)), None)


@functools.lru_cache(2)  # brief checks and whole ones are written of the same module
def _tried(module: str) -> tuple[tuple[ModuleText, str], ...]:
    """The script that gives the module, and an empty text; else those that give others, which
    follow as JSON.
    """
    others: list[tuple[ModuleText, str]] = []
    for made in _scripts(module):
        if len(made.statements) > LONGEST:
            return ()
        parsed = _parsed(made, module)
        if parsed == "":
            return ((made, parsed),)
        if parsed is not None:
            others.append((made, parsed))
    return tuple(others)


def _scripts(module: str) -> Iterator[ModuleText]:
    """Scripts to try: as TVM prints it, then around what it cannot read again."""
    try:
        mod = load_json(module)
        plain = mod.script(show_meta=True)
        text = _spelled(plain)
        if text is None:
            return
        if (quoted := _quoted(text)) is not None:
            yield _script(plain, quoted)
        yield _script(plain, text)
        # Symbols of several functions share one namespace.
        distinct = _distinct(mod).script(show_meta=True)
        text = _spelled(distinct)
        assert text is not None, "other names need no other metadata"
        text = _ALLOCATED.sub(r"\1)", text)
        yield _script(distinct, text)
    except Exception:  # an unusual module need not be printed
        return
    # A PrimFunc that has blocks without the attribute that announces them.
    yield _script(
        distinct, text.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)", 1)
    )


_SYMBOL = re.compile(r'^(\w+) = TypeVar\("\1"\)\n', re.M)


_FUNCTION = re.compile(r"^    def .*\n(?:(?: {8}.*)?\n)*", re.M)


def _quoted(text: str) -> str | None:
    """Symbols as people write them, `R.Tensor(("n", 4))`; None where there are none."""
    names = _SYMBOL.findall(text)

    def quote(function: re.Match[str]) -> str:
        signature, _, body = function[0].partition("\n")
        for name in names:
            signature, found = re.subn(rf"(?<=[(,\s]){name}(?=[,)])", f'"{name}"', signature)
            if found and re.search(rf'(?<!["\w.]){name}(?!["\w(])', body):
                body = f"        {name} = T.int64()\n{body}"
        return f"{signature}\n{body}"

    return _FUNCTION.sub(quote, _SYMBOL.sub("", text) + "\n").rstrip() if names else None


_ALLOCATED = re.compile(r"(R\.builtin\.alloc_tensor\(.*), ty_args=\(R\.Tensor\(.*\),\)\)$", re.M)
"""The printer shows an argument that the parser does not know, and infers."""


def _script(script: str, text: str) -> ModuleText:
    return ModuleText(_imports(script, text), text, name=SCRIPTED)


def _distinct(mod: tvm.IRModule) -> tvm.IRModule:
    graph = Graph(mod)
    taken: set[str] = set()
    for node in list(graph.nodes):
        data = node.get("data")
        if not node["type"].endswith("Var") or not isinstance(data, dict) or "name" not in data:
            continue
        if graph.nodes[data["ty"]]["type"] != "ir.PrimType":
            continue
        name = old = graph.text(data["name"])
        number = 2
        while name in taken:
            name, number = f"{old}_{number}", number + 1
        taken.add(name)
        data["name"] = graph.add("ffi.String", name)
    return graph.load()


_HEAD = re.compile(r"\A(?:#.*\n|\s)*")
_INSIDE = re.compile(r"^ +# from \S+ import .*\n(?: *\n)?", re.M)
"""What the printer says about imports above a local function."""
_METADATA = re.compile(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)\n', re.M | re.S)
_CONSTANT = re.compile(r'metadata\["(?:ir\.GenericConst|relax\.expr\.Constant)"\]\[(\d+)\]')


def _spelled(script: str) -> str | None:
    """The class alone, small constants in their places instead of metadata."""
    found = _METADATA.search(script)
    if found is None:
        return _HEAD.sub("", _INSIDE.sub("", script)).rstrip()
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
    return None if "metadata[" in text else _HEAD.sub("", _INSIDE.sub("", text)).rstrip()


def _values(array: np.ndarray) -> str:
    if array.size == 0:
        return f"np.zeros({array.shape})"
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))


def _imports(script: str, text: str) -> tuple[str, ...]:
    """The imports that stand in comments in a script, as far as the text uses them."""
    offered = ["from tvm.script import tirx as T"]
    offered += re.findall(r"^# ((?:from|import) .*)$", script, re.M)
    imports = [line for line in offered if re.search(rf"(?<![\w.]){line.split()[-1]}\b", text)]
    if _SYMBOL.search(text):
        # Python would evaluate what only TVM's parser gives a meaning to.
        imports.insert(0, "from __future__ import annotations")
    return tuple(imports)


_PARSED = """

if __name__ == "__main__":
    import pathlib, tvm, tvm_ffi

    expected = tvm.ir.load_json({module!r})
    if not tvm_ffi.structural_equal({name}, expected, map_free_vars=True):
        pathlib.Path({other!r}).write_text(tvm.ir.save_json({name}), encoding="utf-8")
"""


def _parsed(made: ModuleText, module: str) -> str | None:
    """What the text gives, as JSON: empty for the module itself, None for no module."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path, other = Path(folder) / "script.py", Path(folder) / "other.json"
        end = _PARSED.format(module=module, name=made.name, other=str(other))
        text = "\n".join([*made.imports, "", made.statements, end])
        path.write_text(text, encoding="utf-8")
        if run(path)[0] != 0:
            return None
        return other.read_text(encoding="utf-8") if other.exists() else ""
