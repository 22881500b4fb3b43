"""Dataclasses as plain JSON data, and back by the types that their fields declare."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any

KIND = "kind"
"""Where a value may be one of several dataclasses, this key names which one."""


def plain(value: Any, tagged: tuple[type, ...] = ()) -> Any:
    """The value as JSON data.

    Args:
        tagged: dataclasses that stand where others may, too: they say which one they are.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            each.name: plain(getattr(value, each.name), tagged)
            for each in dataclasses.fields(value)
        }
        return {KIND: type(value).__name__, **fields} if isinstance(value, tagged) else fields
    if isinstance(value, tuple | list):
        return [plain(item, tagged) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item, tagged) for key, item in value.items()}
    return value


def typed(data: Any, kind: Any) -> Any:
    """JSON data as a value of this type.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is none.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        several = [each for each in arguments if each is not types.NoneType]
        if data is None or len(several) == 1:
            return None if data is None else typed(data, several[0])
        data = dict(data)
        return typed(data, {each.__name__: each for each in several}[data.pop(KIND)])
    if origin is tuple:
        return tuple(typed(element, arguments[0]) for element in data)
    if origin is not None and issubclass(origin, Mapping):
        return {key: typed(element, arguments[1]) for key, element in data.items()}
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast("type", kind))
        return kind(**{name: typed(element, hints[name]) for name, element in data.items()})  # type: ignore[operator]  # a class, not an instance
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    return data


@functools.cache
def _hints(kind: type) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)
