"""Names and texts of a module or a finding stay names and texts in every program made of them."""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Iterator

import pytest
import tvm

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.reproducer.description import header
from relaxfuzz.generators.source import to_source
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.inspect import prim_funcs
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tensorir.program import Program
from relaxfuzz.oracles.tensorir.sanitizer.run import Mode
from relaxfuzz.oracles.violation import Violation

from . import bases

CALL = "injected()"
TEXTS = (
    f"a\n{CALL}\n#",
    f"a\r{CALL}\r#",
    f"a\u2028{CALL}\u2028#",
    f"a\x0c{CALL}",
    f'"+{CALL}+"',
    f"'+{CALL}+'",
    f'"""\n{CALL}\n"""',
    f"'''\n{CALL}\n'''",
    f"x);{CALL};(",
    f"\\\n{CALL}",
    f"{{{CALL}}}",
    f"\\'+{CALL}+'",
    f'```\n```python\n{CALL}\n"""',
)

NAMES = {
    "ir.Var": "name",
    "ir.GlobalVar": "name_hint",
    "relax.expr.DataflowVar": "name",
    "relax.expr.ExternFunc": "global_symbol",
    "ir.StringImm": "value",
    "relax.expr.StringImm": "value",
    "s_tir.SBlock": "name_hint",
}


def injected(text: str) -> bool:
    """The payload has become code."""
    names = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    return any(node.id == "injected" for node in names)


def test_the_test_sees_code() -> None:
    assert injected(f"# {TEXTS[0]}")
    assert not injected(repr(TEXTS[0]))


@pytest.fixture(scope="module")
def modules() -> list[str]:
    return bases.modules(1)


def named(module: str, shift: int) -> tvm.IRModule:
    """All that has a name is called like one of the texts, and a number."""
    document = json.loads(module)
    nodes = document["nodes"]
    for index in range(len(nodes)):
        node = nodes[index]
        field = NAMES.get(node["type"])
        if field is not None:
            nodes.append(
                {"type": "ffi.String", "data": f"{TEXTS[(index + shift) % len(TEXTS)]}{index}"}
            )
            node["data"][field] = len(nodes) - 1
    root = nodes[document["root_index"]]["data"]
    index_by_name = nodes[root["global_var_map_"]]["data"]
    index_by_name[::2] = [nodes[gvar]["data"]["name_hint"] for gvar in index_by_name[1::2]]
    for node in [node for node in nodes if node["type"] == "ffi.Map"]:
        for at, key in list(enumerate(node["data"]))[::2]:
            if nodes[key].get("data") == "global_symbol":
                nodes.append({"type": "ffi.String", "data": TEXTS[(at + shift) % len(TEXTS)]})
                node["data"][at + 1] = len(nodes) - 1
    return load_json(json.dumps(document))


def finding(module: str, text: str) -> Finding:
    violation = Violation(text, text, ("crash", text), text, oracle="crash", pass_name=text)
    return Finding(
        violation=violation,
        module=module,
        versions={**versions(), "tvm": text},
        calls=(PassCall("ToNonDataflow()"),),
    )


def programs(mod: tvm.IRModule) -> Iterator[str]:
    yield to_source(mod)
    for _, func in prim_funcs(mod):
        with contextlib.suppress(Unsupported):  # a function of that name
            yield Program(func).text
            yield Mode(frozenset(), False, False, True).writer(func).function(func)
    yield from reproducer.texts(finding(save_json(mod), TEXTS[0]), reproducer.Form.TVMSCRIPT)


@pytest.mark.parametrize("shift", range(3))
def test_names_stay_names(shift: int, modules: list[str]) -> None:
    made = 0
    for module in modules:
        for program in programs(named(module, 4 * shift)):
            assert not injected(program), program
            made += 1
    assert made > 2 * len(modules)


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_finding_stays_a_comment(text: str, modules: list[str]) -> None:
    assert not injected(header(finding(modules[0], text), ""))
