"""Converts dataclasses to plain JSON data, and back according to the declared field types.

The data may be of unknown origin, so data of other types is refused.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

LARGEST = 1 << 128
"""Larger numbers are refused, so that results computed from them stay finite."""

SMALL = 1_000_000
"""Texts of at most this many characters are parsed without checking their structure."""

STRUCTURE = 8_000_000
"""Most characters outside strings; every three of them may become an object of 64 bytes."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)

Reader = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """The value as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def parse(text: str) -> Any:
    """Parse JSON from an untrusted text.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or has so many parts that it would
            exhaust memory.
    """
    if len(text) > SMALL and len(_STRING.sub("", text)) > STRUCTURE:
        raise ValueError("has too many pieces")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def typed(data: Any, kind: Any) -> Any:
    """Convert JSON data to a value of this type.

    Raises:
        ValueError: the data is of another type; the text names the field and the value.
    """
    try:
        return _reader(kind)(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def counted(data: Any) -> Any:
    """Return the data unchanged, if every number in it may be a count or a time.

    Raises:
        ValueError: a number is negative, immense or NaN.
    """
    todo = [data]
    while todo:
        match todo.pop():
            case dict() as each:
                todo += each.values()
            case list() as each:
                todo += each
            case bool() | str() | None:
                pass
            case number if not 0 <= number < 1 << 63:
                raise ValueError(f"expected no negative or immense number but got {number!r:.40}")
    return data


@functools.cache
def _reader(kind: Any) -> Reader:
    """The function that makes values of a type from JSON data."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (kind,) = (each for each in arguments if each is not types.NoneType)
        one = _reader(kind)
        return lambda data: None if data is None else one(data)
    if origin is tuple:
        return _sequence(arguments)
    if origin is frozenset:
        each_of = _reader(arguments[0])
        return lambda data: frozenset(map(each_of, _of(list, data)))
    if origin is not None and issubclass(origin, Mapping):
        of_value = _reader(arguments[1])
        return lambda data: {key: of_value(each) for key, each in _of(dict, data).items()}
    if dataclasses.is_dataclass(kind):
        return _record(typing.cast("type", kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind
    return _LEAVES[kind]


def _sequence(arguments: tuple[Any, ...]) -> Reader:
    if arguments[-1] is Ellipsis:
        one = _reader(arguments[0])
        return lambda data: tuple(map(one, _of(list, data)))
    several = [_reader(each) for each in arguments]

    def read(data: Any) -> Any:
        if len(_of(list, data)) != len(several):
            raise _unexpected(f"a list of {len(several)}", data)
        return tuple(one(each) for one, each in zip(several, data, strict=True))

    return read


def _record(kind: type) -> Reader:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind)}

    def read(data: Any) -> Any:
        values = {}
        for name, value in _of(dict, data).items():
            if name not in readers:
                raise _unexpected(f"a {kind.__name__}", data)
            try:
                values[name] = readers[name](value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        try:
            return kind(**values)
        except TypeError:
            lacks = ", ".join(name for name in readers if name not in values)
            raise ValueError(f"{kind.__name__} without {lacks}") from None

    return read


def _of(kind: type, data: Any) -> Any:
    if type(data) is not kind:  # a bool is an int
        raise _unexpected(_NAMES[kind], data)
    return data


def _integer(data: Any) -> int:
    if type(data) is not int or not -LARGEST < data < LARGEST:
        raise _unexpected("a whole number", data)
    return data


def _float(data: Any) -> float:
    if type(data) not in (int, float) or not abs(data) < LARGEST:  # excludes NaN
        raise _unexpected("a number", data)
    return float(data)


def _unexpected(wanted: str, data: Any) -> ValueError:
    return ValueError(f"expected {wanted} but got {_brief(data)}")


def _brief(data: Any) -> str:
    if isinstance(data, dict | list):
        return f"{'an object' if isinstance(data, dict) else 'a list'} of {len(data)}"
    if isinstance(data, int) and abs(data) >= LARGEST:
        return "an immense number"
    return repr(data[:40] if isinstance(data, str) else data)


_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}

_LEAVES: Mapping[Any, Reader] = {
    str: functools.partial(_of, str),
    bool: functools.partial(_of, bool),
    int: _integer,
    float: _float,
    Any: lambda data: data,
    object: lambda data: data,
}
