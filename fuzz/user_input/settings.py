"""Reads TOML tables into dataclasses; errors name the place of a wrong key or value.

The keys of a table are the names of the dataclass's fields, with `-` for `_`.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from .errors import UserError, near

T = TypeVar("T")

_KINDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def read(table: Mapping[str, Any], kind: type[T], where: str) -> T:
    """Read a table into a dataclass.

    Fields may be `str`, `int`, `float`, `bool`, `Path`, an enum of strings, `X | None`,
    `tuple[X, ...]`, `Mapping[str, X]`, or dataclasses themselves. A missing key gets the field's
    default. A mapping `REPLACED` of the dataclass names the successors of former keys.

    Args:
        where: the table's place, for messages: "pyproject.toml, [tool.relaxfuzz]".

    Raises:
        UserError: an unknown or former key, a value of another type, or a missing required key.
    """
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # a dataclass
    replaced: Mapping[str, str] = getattr(kind, "REPLACED", {})
    for key in table:
        if key in replaced:
            raise UserError(f"{where}: {key} is now {replaced[key]}")
        if key not in fields:
            raise UserError(f"{where}: no setting {key!r:.200}{near(key, fields)}")
    hints = typing.get_type_hints(kind)
    values = {}
    for key, field in fields.items():
        if key in table:
            values[field.name] = _value(table[key], hints[field.name], where, key)
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise UserError(f"{where}: {key} is missing")
    return kind(**values)


def _value(value: Any, kind: Any, where: str, key: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (kind,) = (each for each in arguments if each is not types.NoneType)
        return _value(value, kind, where, key)
    if origin is tuple:
        if not isinstance(value, list):
            raise _unexpected("a list", value, where, key)
        return tuple(
            _value(each, arguments[0], where, f"{key}[{i}]") for i, each in enumerate(value)
        )
    if origin is not None and issubclass(origin, Mapping):
        return {
            name: _value(each, arguments[1], where, f"{key}.{name}")
            for name, each in _table(value, where, key).items()
        }
    if dataclasses.is_dataclass(kind):
        return read(_table(value, where, key), typing.cast("type[Any]", kind), f"{where}, {key}")
    if kind is Path:
        text = _plain(value, str, where, key)
        if "\0" in text:
            raise _unexpected("a path", value, where, key)
        return Path(text)
    if issubclass(kind, enum.StrEnum):
        if value not in list(kind):
            raise UserError(f"{where}: no {key} {value!r}{near(str(value), list(kind))}")
        return kind(value)
    return _plain(value, kind, where, key)


def _plain(value: Any, kind: type, where: str, key: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # a bool is an int
        raise _unexpected(_KINDS[kind], value, where, key)
    return value


def _table(value: Any, where: str, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unexpected("a table", value, where, key)
    return value


def _unexpected(wanted: str, value: object, where: str, key: str) -> UserError:
    return UserError(f"{where}: expected {key} to be {wanted} but got {value!r:.200}")
