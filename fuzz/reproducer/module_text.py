"""The module of a finding as text that defines it."""

from __future__ import annotations

import functools
import itertools
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tvm

from ...compat import weights
from ...compat.serialization import load_json
from ...generators.source import to_source
from ...oracles.graph import Graph
from ...oracles.text.scripted import SYMBOL, spelled, with_quoted_symbols
from ..system.scratch import scratch
from .execution import run

SCRIPTED = "Module"
"""The class name under which TVM prints a module."""

LONGEST = 200_000
"""Most characters of a script, as nobody reads longer ones and TVM's parser is slow."""

LONGEST_SOURCE = 8_000_000
"""Most characters of source, mostly constants; longer modules become JSON that refers to files."""


_OF_FILES = (
    "import tvm",
    "from relaxfuzz.compat import weights",
    "from relaxfuzz.compat.serialization import load_json",
)
"""The imports of a file whose module has large constants in the folder `weights` near it."""


@dataclass(frozen=True, slots=True)
class ModuleText:
    """Import lines, and statements that define the module."""

    imports: tuple[str, ...]
    statements: str
    name: str = "mod"
    """The name of the module in the statements."""

    @property
    def portable(self) -> bool:
        """True if it is meant for TVM from 0.25 on, not just for the version that printed it."""
        return self.name != SCRIPTED


def source_of(module: str) -> str:
    """Python source of a module in JSON; empty if it cannot be written, or is too long."""
    try:
        source = to_source(load_json(module))
    except Exception:
        return ""
    return source if len(source) <= LONGEST_SOURCE else ""


def as_source(module: str, source: str) -> ModuleText:
    """The module by constructor calls, or as JSON if source cannot express it."""
    if not source:
        # Such a module still travels as JSON, though only within one TVM version.
        module = weights.whole(module)
        chunks = [module[at : at + 90] for at in range(0, len(module), 90)]
        quoted = "\n".join(f"    {chunk!r}" for chunk in chunks)
        if not weights.is_short(module):
            return ModuleText(("import tvm",), f"mod = tvm.ir.load_json(\n{quoted}\n)")
        return ModuleText(_OF_FILES, f"weights.use_beside(__file__)\nmod = load_json(\n{quoted}\n)")
    lines = source.strip().splitlines()
    imports = list(itertools.takewhile(lambda line: line.startswith(("import ", "from ")), lines))
    return ModuleText(tuple(imports), "\n".join(lines[len(imports) :]).strip())


def as_script(
    module: str, serves: Callable[[str], bool] = lambda other: False
) -> ModuleText | None:
    """The module as TVMScript; None if no script form gives an acceptable module.

    It is parsed in a fresh process, because reading an unusual module may kill it.

    Args:
        serves: decides whether a module, as JSON, can replace this one. It is called for modules
            that are not structurally equal to it.
    """
    tried = _tried(module)
    return next((made for made, parsed in tried if parsed == "" or serves(parsed)), None)


@functools.lru_cache(2)  # brief and complete checks are written for the same module
def _tried(module: str) -> tuple[tuple[ModuleText, str], ...]:
    """The script that gives the module, with an empty text; if there is none, the scripts that give
    other modules, each with its module as JSON."""
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
    """Scripts to try: TVM's own, then versions with workarounds for parts that do not parse."""
    try:
        mod = load_json(module)
        plain = mod.script(show_meta=True)
        text = spelled(plain)
        if text is None:
            return
        if (quoted := with_quoted_symbols(text)) is not None:
            yield _script(plain, quoted)
        yield _script(plain, text)
        # Symbols of several functions share one namespace.
        distinct = _distinct(mod).script(show_meta=True)
        text = spelled(distinct)
        assert text is not None, "other names need no other metadata"
        text = _ALLOCATED.sub(r"\1)", text)
        yield _script(distinct, text)
    except Exception:  # an unusual module may not be printable
        return
    # A PrimFunc may have blocks without the attribute that announces them.
    yield _script(
        distinct, text.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)", 1)
    )


_ALLOCATED = re.compile(r"(R\.builtin\.alloc_tensor\(.*), ty_args=\(R\.Tensor\(.*\),\)\)$", re.M)
"""Pattern for an argument that the printer shows, but the parser infers and does not accept."""


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


def _imports(script: str, text: str) -> tuple[str, ...]:
    """The imports in the comments of a script, if the text uses them."""
    offered = ["from tvm.script import tirx as T"]
    offered += re.findall(r"^# ((?:from|import) .*)$", script, re.M)
    imports = [line for line in offered if re.search(rf"(?<![\w.]){line.split()[-1]}\b", text)]
    if SYMBOL.search(text):
        # Python would evaluate names that only TVM's parser understands.
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
    """The module that the text gives, as JSON: empty if it is the same, None if there is none."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path, other = Path(folder) / "script.py", Path(folder) / "other.json"
        end = _PARSED.format(module=module, name=made.name, other=str(other))
        text = "\n".join([*made.imports, "", made.statements, end])
        path.write_text(text, encoding="utf-8")
        if run(path)[0] != 0:
            return None
        return other.read_text(encoding="utf-8") if other.exists() else ""
