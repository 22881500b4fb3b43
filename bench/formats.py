"""`make settings`: the fields of rows and events in docs/report-formats.md, taken from the code."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import relaxfuzz.fuzz
from relaxfuzz.fuzz.doctor.environment import DoctorLine
from relaxfuzz.fuzz.findings import listed
from relaxfuzz.fuzz.findings.listed import ListedRow
from relaxfuzz.fuzz.output import events
from relaxfuzz.fuzz.process.executor import News
from relaxfuzz.fuzz.session.finding_events import brief_event
from relaxfuzz.fuzz.session.met import Met
from relaxfuzz.oracles.explain.trouble import Trouble
from relaxfuzz.oracles.values.frameworks import ImporterVerdict

from .pages import put

PAGE = Path(__file__).parents[1] / "docs" / "report-formats.md"
BEGIN, END = "<!-- rows -->", "<!-- end of rows -->"


def table() -> str:
    """The fields of a row, each with its type and meaning."""
    rows = [("field", "type", "meaning"), ("---",) * 3]
    (record,) = ast.parse(inspect.getsource(ListedRow)).body
    assert isinstance(record, ast.ClassDef)
    for field, text in zip(record.body, record.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            meaning = " ".join(str(ast.literal_eval(text.value)).split())
            kind = ast.unparse(field.annotation).replace(" | ", " or ")
            kind = re.sub(r"tuple\[(\w+), \.\.\.\]", r"list of \1", kind)
            rows.append((f"`{ast.unparse(field.target)}`", kind, meaning))
    version = f"`schema` is {listed.FORMAT}, `event` is `row`."
    return "\n".join([version, "", *(f"| {' | '.join(row)} |" for row in rows)])


OF_EVENTS = ("<!-- events -->", "<!-- end of events -->")

RECORDS: Mapping[str, Any] = {
    "cluster": News,
    "framework": ImporterVerdict,
    "line": DoctorLine,
    "trouble": Trouble,
}
"""The records that supply further fields of events, besides those in the event's dictionary."""

WRITTEN = ("row",)
"""Events with a table of their own."""


def fields_of_events() -> Mapping[str, list[str]]:
    """The fields of each event, as written by the code; those of several places are merged."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for name, fields in _literals():
        found[name].update(dict.fromkeys(fields))
    for name, record in RECORDS.items():
        found[name].update(dict.fromkeys(each.name for each in dataclasses.fields(record)))
    met = ast.parse(textwrap.dedent(inspect.getsource(Met)))
    found["known"].update(dict.fromkeys(_constants(_given(met)["event"])))
    return {name: list(fields) for name, fields in sorted(found.items()) if name not in WRITTEN}


def _literals() -> Iterator[tuple[str, list[str]]]:
    [definition] = ast.parse(inspect.getsource(brief_event)).body
    brief = _given(definition)[brief_event.__name__]
    [folder] = relaxfuzz.fuzz.__path__
    for file in sorted(Path(folder).rglob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8"))
        given = _given(body)
        for node in ast.walk(body):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == brief_event.__name__:
                yield ast.literal_eval(node.args[0]), [*_constants(brief), "module"]
            if isinstance(node, ast.Dict):
                name = _constants(node).get("event")
                if isinstance(name, ast.Constant):
                    yield str(name.value), _fields(node, given)
        for function in ast.walk(body):
            if isinstance(function, ast.FunctionDef):
                yield from _added(function)


def _constants(node: ast.Dict) -> dict[str, ast.expr]:
    pairs = zip(node.keys, node.values, strict=True)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _given(body: ast.AST) -> Mapping[str, ast.Dict]:
    """The dictionaries of a file, by the functions and variables that return or hold them."""
    found = {}
    for node in ast.walk(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value):
                found[name] = value
            case ast.FunctionDef(name=name):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and isinstance(each.value, ast.Dict):
                        found[name] = each.value
    return found


def _fields(node: ast.Dict, given: Mapping[str, ast.Dict]) -> list[str]:
    """The fields of a dictionary, including those of dictionaries that it unpacks."""
    found = [*_constants(node)]
    for key, value in zip(node.keys, node.values, strict=True):
        names = re.findall(r"\w+", ast.unparse(value)) if key is None else ()
        for other in (given[name] for name in names if name in given):
            if other is not node:
                found += _constants(other)
    return found


def _added(function: ast.FunctionDef) -> Iterator[tuple[str, list[str]]]:
    """The fields that a function adds to the event in its variable `event`."""
    name, more = "", list[str]()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id="event")], value=ast.Dict() as value) | (
                ast.AnnAssign(target=ast.Name(id="event"), value=ast.Dict() as value)
            ):
                kind = _constants(value).get("event")
                name = str(kind.value) if isinstance(kind, ast.Constant) else name
            case ast.AugAssign(target=ast.Name(id="event"), value=ast.Dict() as value):
                more += _constants(value)
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id="event"), slice=ast.Constant() as key)]
            ):
                more.append(str(key.value))
            case ast.Dict(keys=keys, values=values):
                if any(
                    key is None and isinstance(value, ast.Name) and value.id == "event"
                    for key, value in zip(keys, values, strict=True)
                ):
                    more += _constants(node)
    if name:
        yield name, more


def table_of_events() -> str:
    """The events, each with its fields."""
    rows = [("`event`", "fields"), ("---",) * 2]
    for name, fields in fields_of_events().items():
        listed = ", ".join(f"`{each}`" for each in fields if each != "event")
        rows.append((f"`{name}`", listed))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"`schema` is {events.SCHEMA}.", "", *lines])


if __name__ == "__main__":
    put(PAGE, table(), BEGIN, END)
    put(PAGE, table_of_events(), *OF_EVENTS)
