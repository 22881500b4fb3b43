"""Options of commands, made from the settings that each command takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from ..user_input.settings import Setting, Settings, check, taken_by

R = TypeVar("R")

MODULE_HELP = (
    "TVM JSON, *.onnx, a Python file (TVMScript or plain) that defines one IRModule, or "
    "FILE.py:function that gives a model of PyTorch, ONNX, relax.frontend.nn or TVM. "
    "A Python file is executed."
)

Module = Annotated[Path, typer.Argument(metavar="MODULE", help=MODULE_HELP)]

Given: TypeAlias = Mapping[str, Any]
"""The settings on the command line, by name; a file supplies the others."""

GIVEN = "given"
"""The parameter of a command that stands for all the settings that it takes."""


def to_read(folder: Path, given: Settings) -> Path:
    """The folder of findings to read: with --redact, its redacted copy."""
    if not given.redact:
        return folder
    from ..minimize.redacted import redacted_copy

    return redacted_copy(folder)


def with_settings(function: Callable[..., R], taker: str) -> Callable[..., R]:
    """Make an option of each setting that a command takes.

    Args:
        function: the command. Its parameter `given`, if there is one, receives the `Settings`, or
            only what was given on the command line, as its annotation says.
        taker: the name of the command in `Setting.takers`.
    """
    own = inspect.signature(function, eval_str=True)
    if GIVEN not in own.parameters:
        return function
    settings = taken_by(taker)
    make: Any = Settings if own.parameters[GIVEN].annotation is Settings else dict

    @functools.wraps(function)
    def command(**values: Any) -> R:
        found = {each.name: values.pop(each.name) for each in settings}
        given = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in found.items()
            if value not in (None, [])
        }
        check(given, lambda setting: setting.option_of(taker))
        return function(**values, given=make(**given))

    parameters = {name: [parameter] for name, parameter in own.parameters.items()}
    parameters[GIVEN] = [_parameter(each, taker) for each in settings]
    flat = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for some in parameters.values()
        for each in some
    ]
    command.__signature__ = own.replace(parameters=flat)  # type: ignore[attr-defined]  # for typer
    return command


def _parameter(setting: Setting, taker: str) -> inspect.Parameter:
    """The parameter of a setting; None, its default, stands for a setting that is not given."""
    kind = getattr(setting.kind, "__supertype__", setting.kind)
    option = setting.option_of(taker)
    # Brackets are markup in the help.
    about: dict[str, Any] = {"help": setting.full_help.replace("[", r"\["), "show_default": False}
    if not option:
        metavar = f"[{setting.metavar}]..." if setting.many else setting.metavar
        info: Any = typer.Argument(metavar=metavar, **about)
    elif kind is bool:
        spelled = f" /{option}" if setting.default else option
        info = typer.Option(spelled, *filter(None, [setting.short]), **about)
    else:
        about |= {"metavar": setting.metavar, "min": setting.least, "max": setting.most}
        info = typer.Option(option, **about)
    value = GenericAlias(list, kind) if setting.many else kind
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=_annotated[value | None, info],
    )


_annotated: Any = Annotated
"""`Annotated`, for types that are only known at run time."""
