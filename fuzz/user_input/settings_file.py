"""Settings in TOML files: nightly's own, and the table of a pyproject.toml.

pydantic reads them. Its errors become one sentence with the place, the value and the expectation.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...corpus.reading import read_text
from ..system.errors import UserError, near
from .settings import SETTINGS, Settings, check

if typing.TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WANTED = {
    "string_type": "a string",
    "path_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "dataclass_type": "a table",
}
"""The expected values, by the type of pydantic's error."""


def load(path: Path, taker: str, *tables: str) -> Settings:
    """Read the settings in a file.

    Args:
        taker: the command that they are for.
        tables: the names of the table that holds them, from the outermost; none: the whole file.

    Raises:
        UserError: the file cannot be read, it is not TOML, or a key or a value is wrong.
    """
    try:
        table: object = tomllib.loads(read_text(path))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:  # not TOML, or not text
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply") from None
    for name in tables:
        table = table.get(name, {}) if isinstance(table, Mapping) else table
    place = f"[{'.'.join(tables)}]"
    if not isinstance(table, Mapping):
        raise UserError(f"{path}: expected {place} to be a table but got {table!r:.200}")
    return read(table, taker, f"{path}, {place}" if tables else str(path))


def read(table: Mapping[str, Any], taker: str, where: str) -> Settings:
    """Read a table of settings.

    Args:
        taker: the command that they are for.
        where: the table's place, for messages: "pyproject.toml, [tool.relaxfuzz]".

    Raises:
        UserError: an unknown key, or a value of another type or out of bounds.
    """
    from pydantic import TypeAdapter, ValidationError

    known = [each.key for each in SETTINGS.values() if taker in each.takers and each.in_files]
    for key in table:
        if key not in known:
            raise UserError(f"{where}: no setting {key!r:.200}{near(key, known)}")
    try:
        # JSON: only here strict types allow lists for tuples, and texts for paths and enums.
        settings = TypeAdapter(Settings).validate_json(json.dumps(table, default=str), strict=True)
        given = {each.name: getattr(settings, each.name) for each in SETTINGS.values()}
        check(given, lambda setting: setting.key)
    except ValidationError as error:
        raise UserError(f"{where}{_sentence(error.errors()[0])}") from None
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return settings


def _sentence(error: ErrorDetails) -> str:
    *around, key = error["loc"]
    first = SETTINGS[str(error["loc"][0]).replace("-", "_")]
    if error["type"] == "unexpected_keyword_argument":
        names = [each.name for each in dataclasses.fields(first.table)]
        return f", {'.'.join(map(str, around))}: no setting {key!r:.200}{near(str(key), names)}"
    spelled = "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in error["loc"])
    wanted = _WANTED.get(error["type"], error["msg"])
    return f": expected {spelled[1:]} to be {wanted} but got {error['input']!r:.200}"
