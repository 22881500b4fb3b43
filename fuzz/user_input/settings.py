"""Every setting, declared once: its type, default, help, and the commands that take it.

Command-line options (`cli.options`), the keys of TOML files (`settings_file`) and the options of
the pytest plugin are made from `Settings`. A new setting is one new field. No code here imports
TVM.
"""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, NewType

from ...oracles.grades.consequence import CONDITIONS, conditions
from ..system.errors import UserError, near, parse_budget
from .sources import is_function

BUDGET = "60s"
"""The budget if the user gives neither a time nor a number of modules."""

NIGHT = "1h"
"""The same for `nightly`."""

Spelling = NewType("Spelling", str)
"""A pass, as a user spells it. It may name a file."""

Source = NewType("Source", str)
"""A real module: a file, a folder or a function."""

Conditions = NewType("Conditions", str)
"""Grades and effects of findings, with commas; see `oracles.grades.consequence.conditions`."""

RUN, CHECK, NIGHTLY, PYTEST, WATCH = "run", "check", "nightly", "pytest", "watch"
CHECKER = "Checker"
GENERATE = "generate"
CAMPAIGNS = (RUN, NIGHTLY, PYTEST)
CHECKS = (RUN, CHECK, NIGHTLY, PYTEST)

ON_ROWS = (
    "findings show",
    "findings merge",
    "findings split",
    "findings join",
    "findings note",
    "findings verdict",
    "findings known",
)
"""The commands on rows of a store."""

ON_FINDINGS = ("minimize", "replay")

LISTS = ("list passes", "list ops", "list known", "findings list")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    help: str
    takers: tuple[str, ...]
    """The commands that take it, "pytest" for the plugin, "Checker" for the class."""
    metavar: str | None = None
    """The value's name in the help; None for a flag."""
    option: str | None = None
    """Its option on the command line; None: its name. If the default is true, the option turns it
    off."""
    short: str | None = None
    spelled: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of the option, by taker; an empty text means a positional argument."""
    least: float | None = None
    most: float | None = None
    in_files: bool = True
    """True if it is also a key of TOML files."""
    name: str = ""
    """The name of the field of `Settings`. This field and the next ones are read from there."""
    kind: Any = None
    """The type of the value, or of each value if there may be several."""
    many: bool = False
    """True if there may be several values: the option may be repeated, and the key takes a list."""
    default: Any = None

    @property
    def key(self) -> str:
        """Its key in TOML files."""
        return self.name.replace("_", "-")

    @property
    def is_table(self) -> bool:
        """True if it is a table in TOML files, and not an option."""
        return dataclasses.is_dataclass(self.table)

    @property
    def table(self) -> Any:
        """The type of the table, or of each table if it is one of tables."""
        return typing.get_args(self.kind)[-1] if typing.get_args(self.kind) else self.kind

    @property
    def full_help(self) -> str:
        """The help of the option, with the default."""
        plain = "" if self.default in (None, (), False, True) else f" Default: {self.default}."
        return self.about + plain

    @property
    def about(self) -> str:
        """The help without the default."""
        return self.help.replace("{more}", "; may be repeated")

    def option_of(self, taker: str) -> str:
        """The spelling of its option for a taker; empty: it is a positional argument."""
        if taker in self.spelled:
            return self.spelled[taker]
        plain = self.option or f"--{self.key}"
        return plain.replace("--", "--relaxfuzz-", 1) if taker == PYTEST else plain


def _setting(default: Any, *about: Any, **more: Any) -> Any:
    """A field of `Settings`; the other arguments are fields of its `Setting`."""
    metadata = {"setting": Setting(*about, **more)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxations:
    """The contract of a user's own pass, as differences from the strict default."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    like: str | None = None
    """The pass of the catalogue whose contract it keeps, or the place of its own contract."""
    stages: tuple[str, ...] = ()
    """The stages of the modules that it takes; empty: those of its contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise it does not make; "values" means all that compare values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The report files; those without a name are not written."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    html: Path | None = None
    markdown: Path | None = None
    jsonl: Path | None = None

    @property
    def named(self) -> dict[str, Path]:
        """The named files, by form."""
        paths = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {form: path for form, path in paths.items() if path is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of all settings; those that a command does not take have their defaults."""

    __pydantic_config__: ClassVar = {"alias_generator": lambda name: name.replace("_", "-")}

    passes: tuple[Spelling, ...] = _setting(
        (),
        "FuseOps, 'FuseOps(fuse_opt_level=2)', path/to/file.py:factory or "
        "package.module:factory (or a pass object, its class, or a function from module to "
        "module){more}. None: all passes of TVM; for pytest, none.",
        CHECKS,
        metavar="PASS",
        spelled={RUN: "", CHECK: "", NIGHTLY: "--pass", PYTEST: "--relaxfuzz"},
    )
    budget: str | None = _setting(
        None,
        "The time of all of it: 90s, 5m, 1h. Default: "
        f"{BUDGET}, for nightly {NIGHT}, where --modules is not given.",
        (*CHECKS, "minimize"),
        metavar="TIME",
    )
    modules: int | None = _setting(
        None,
        "Stop after so many modules (pytest: of each pass). The same seed gives the same.",
        (*CAMPAIGNS, GENERATE),
        metavar="N",
        least=1,
    )
    seed: int | None = _setting(
        None,
        "The same seed gives the same modules. Default: a random one; for nightly, the number "
        "of runs that the folder has seen.",
        (*CAMPAIGNS, GENERATE),
        metavar="N",
        least=0,
    )
    workers: int | None = _setting(
        None,
        "Parallel processes. Default: one per core.",
        (RUN, CHECK, NIGHTLY, *ON_FINDINGS, "doctor", "known", "list known"),
        metavar="N",
        least=1,
    )
    block: int | None = _setting(
        None,
        "Modules for one process, and for one task of a cluster. Default: 16.",
        (RUN, NIGHTLY),
        metavar="MODULES",
        least=1,
    )
    scheduler: str | None = _setting(
        None,
        "Fuzz on the workers of this Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or a "
        "scheduler file. Needs 'relaxfuzz[cluster]'.",
        (RUN, NIGHTLY),
        metavar="ADDRESS",
    )
    timeout: str | None = _setting(
        None,
        "The time limit of a step of a check, e.g. of one run of a pass; what takes longer is "
        "a hang. Default: 10s, more for large modules.",
        (*CHECKS, WATCH),
        metavar="TIME",
    )
    oracles: tuple[str, ...] = _setting(
        (),
        "Only this oracle{more}. all: every oracle, in full, but those that need a device "
        "(see --device).",
        CHECKS,
        metavar="NAME",
        option="--oracle",
    )
    out: Path = _setting(
        Path("relaxfuzz-out"),
        "The folder of findings; a second run adds to it.",
        (*CHECKS, WATCH, CHECKER, "doctor", "report", "replay", "findings list", *ON_ROWS),
        metavar="DIR",
    )
    json: bool = _setting(
        False,
        "One JSON object a line on stdout; progress on stderr.",
        (RUN, CHECK, NIGHTLY, *ON_FINDINGS, "explain", "doctor", "known", *LISTS),
        in_files=False,
    )
    redact: bool = _setting(
        False,
        "Replace names, constants, strings and paths of yours in the findings, as far as they "
        "stay the same bugs: in a copy of the folder, DIR-redacted; with minimize, in its result.",
        (CHECK, "minimize", "report", "findings list", "findings show"),
        in_files=False,
    )
    known: tuple[Path, ...] = _setting(
        (),
        "Your own known bugs: counted, not reported again{more}. "
        "Default: relaxfuzz-known, if it exists.",
        (*CHECKS, WATCH, "known", "list known", "findings known"),
        metavar="DIR",
    )
    shipped_knowns: bool = _setting(
        True,
        "Count the known bugs of TVM and do not report them; with --no-known, only those of "
        "--known.",
        (*CHECKS, WATCH, "list known"),
        option="--no-known",
    )
    known_update: bool = _setting(
        False,
        "Add new findings to the known bugs in the first DIR of --known.",
        (RUN, CHECK, NIGHTLY),
    )
    family: str | None = _setting(
        None,
        "The passes where none is named, and the modules of your own pass: relax, tensorir, "
        "dlight (GPU schedules), arith (TVM's arithmetic) or all. Default: relax; tensorir for "
        "your own pass if it is one over PrimFuncs or names statements, and dlight too if it names "
        "threads; for check, those of the module.",
        (*CHECKS, GENERATE),
        metavar="NAME",
    )
    device: str | None = _setting(
        None,
        "Execute a sample of what is evaluated on this machine's device, too, and compare: "
        "cuda, rocm, vulkan, metal or opencl (with --family dlight), llvm or c (the CPU, "
        "with --family tensorir).",
        CAMPAIGNS,
        metavar="KIND",
    )
    target: str | None = _setting(
        None,
        "The target under which passes run, as tvm.target.Target takes it: cuda, "
        'nvidia/nvidia-a100, \'{"kind": "llvm", "mcpu": "skylake"}\'. Default: llvm.',
        CHECKS,
        metavar="TARGET",
    )
    config: tuple[str, ...] = _setting(
        (),
        "An option of the PassContext under which passes run, or opt_level{more}: "
        "relax.FuseOps.max_depth=4.",
        CHECKS,
        metavar="KEY=VALUE",
    )
    show_output: bool = _setting(
        False, "Show, on stderr, what passes print. pytest -s does so, too.", CHECKS, short="-s"
    )
    like: str | None = _setting(
        None,
        "Your own pass keeps the contract of this pass of TVM, at its stages, or the PassContract "
        "at FILE.py:NAME. Default: a strict contract with every promise.",
        CHECKS,
        metavar="PASS",
    )
    stages: tuple[str, ...] = _setting(
        (),
        "Run your own pass on modules of this stage only (raw, legalized, ...){more}.",
        CAMPAIGNS,
        metavar="NAME",
        option="--stage",
    )
    exempt: tuple[str, ...] = _setting(
        (),
        "Exempt your own pass from this oracle: idempotent (a second run may change the "
        "result), functions (it may add or remove public ones), signature, attributes, values "
        "(it may change what is computed: all oracles that compare values) and others{more}.",
        CHECKS,
        metavar="ORACLE",
    )
    promises: Mapping[str, Relaxations] = _setting(
        dict,
        "The contract of a pass of your own: the pass of TVM whose contract it keeps, the "
        "stages of its modules, and the oracles whose promise it does not make.",
        (NIGHTLY, PYTEST),
        metavar="PASS",
    )
    seeds: tuple[Source, ...] = _setting(
        (),
        "Real modules to fuzz around: TVM JSON, Python, ONNX, a folder of such files, or "
        "FILE.py:function or package.module:function, which gives a model{more}. They are cut "
        "into small pieces, which are put among generated code.",
        CAMPAIGNS,
        metavar="PATH",
    )
    seed_share: float = _setting(
        0.5,
        "The share of the modules that have pieces of --seeds.",
        CAMPAIGNS,
        metavar="SHARE",
        least=0,
        most=1,
    )
    corpus: tuple[Path, ...] = _setting(
        (),
        "Files that show bugs, or folders of them, that are run again{more}; for pytest, each "
        "is a test.",
        (NIGHTLY, PYTEST),
        metavar="PATH",
    )
    fail_on: Conditions | None = _setting(
        None,
        "Only these findings fail: a grade stands for itself and graver ones, and effects count in "
        "any build: 'A,does not build'. Default: B, and any grade for an oracle that is named, or "
        "for a pass that check is given.",
        CHECKS,
        metavar="A|B|C|EFFECT,...",
    )
    until_first: bool = _setting(
        False, "Stop at the first new finding of the grade that fails.", (RUN, NIGHTLY)
    )
    changed_since: str | None = _setting(
        None,
        "Only passes that the changes of TVM's source since this commit, branch or tag affect.",
        (RUN, NIGHTLY),
        metavar="REV",
    )
    tvm_source: Path | None = _setting(
        None,
        "The git checkout for --changed-since. Default: that which the installed TVM comes from.",
        (RUN, NIGHTLY),
        metavar="DIR",
    )
    loud: tuple[str, ...] = _setting(
        (),
        "Report what this rule of silence keeps back (docs/silence.md lists them){more}. all: "
        "what every rule does.",
        CHECKS,
        metavar="RULE",
    )
    semantics: bool = _setting(
        False,
        "Take the time to compare the values of all functions that passes change. Default: half "
        "of the program's own time, and 3 seconds.",
        (WATCH,),
    )
    report: Reports | None = _setting(
        None, "Reports at the end. Without this table: report.html in `out`.", (NIGHTLY,)
    )

    @property
    def relaxations(self) -> Relaxations:
        """The contract of the user's own passes that `promises` does not name."""
        return Relaxations(like=self.like, stages=self.stages, exempt=self.exempt)

    def seconds(self, default: str = BUDGET, spelling: str = "--budget") -> float | None:
        """The time budget; None: the number of modules ends the campaign.

        Args:
            default: the budget if neither a time nor a number of modules is given.
            spelling: the option, for the message.

        Raises:
            UserError: the budget is not a time.
        """
        if self.budget is None and self.modules is not None:
            return None
        return parse_budget(default if self.budget is None else self.budget, spelling)


def _declared() -> Mapping[str, Setting]:
    hints, defaults = typing.get_type_hints(Settings), Settings()
    found = {}
    for each in dataclasses.fields(Settings):
        kind = hints[each.name]
        if typing.get_origin(kind) in (UnionType, typing.Union):  # the latter of a NewType
            kind = typing.get_args(kind)[0]
        many = typing.get_origin(kind) is tuple
        found[each.name] = dataclasses.replace(
            each.metadata["setting"],
            name=each.name,
            kind=typing.get_args(kind)[0] if many else kind,
            many=many,
            default=getattr(defaults, each.name),
        )
    return found


SETTINGS = _declared()
"""All settings by name."""


def taken_by(taker: str) -> list[Setting]:
    """The settings that a command takes as options or arguments."""
    return [each for each in SETTINGS.values() if taker in each.takers and not each.is_table]


def check(values: Mapping[str, Any], spelled: Callable[[Setting], str]) -> None:
    """Check the bounds of numbers, the names of conditions, and that texts can be paths.

    Args:
        values: values by name.
        spelled: the spelling of a setting, for the message.

    Raises:
        UserError: a value is out of bounds, or a condition is unknown.
    """
    for name, value in values.items():
        setting = SETTINGS[name]
        for each in value if setting.many else (value,):
            if isinstance(each, Path) and "\0" in str(each):
                raise _unexpected(setting, spelled, "a path", str(each))
            if setting.kind is Conditions and each is not None:
                try:
                    conditions(each)
                except KeyError as error:
                    (given,) = error.args
                    hint = near(given, CONDITIONS)
                    raise UserError(f"no {spelled(setting)} {given!r:.200}{hint}") from None
        if value is None or (setting.least is None and setting.most is None):
            continue
        least, most = setting.least or 0, setting.most
        if most is not None and not least <= value <= most:
            raise _unexpected(setting, spelled, f"{least:g} to {most:g}", value)
        if value < least:
            raise _unexpected(setting, spelled, f"{least:g} or more", value)


def _unexpected(
    setting: Setting, spelled: Callable[[Setting], str], wanted: str, value: object
) -> UserError:
    return UserError(f"expected {spelled(setting)} to be {wanted} but got {value!r}")


def all_within(settings: Settings, folder: Path) -> Settings:
    """The settings, with relative paths in them resolved against a folder; see `within`."""
    values = {name: getattr(settings, name) for name in SETTINGS}
    return dataclasses.replace(settings, **within(values, folder))


def within(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values, with relative paths in them resolved against a folder.

    The files of passes stay relative to the working directory, since people read their spellings.
    """
    return {name: _moved(value, SETTINGS[name].kind, folder) for name, value in values.items()}


def _moved(value: Any, kind: Any, folder: Path) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(each, kind, folder) for each in value)
    if isinstance(value, Mapping):
        return {_moved(key, Spelling, folder): each for key, each in value.items()}
    if isinstance(value, Reports):
        return Reports(**{form: folder / path for form, path in value.named.items()})
    if isinstance(value, Path):
        return folder / value
    if kind is Source:
        return value if is_function(value) else str(folder / value)
    if kind is Spelling:
        file, colon, name = value.rpartition(":")
        here = colon and file.endswith(".py")
        return f"{os.path.relpath(folder / file)}:{name}" if here else value
    return value


def merged(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """The settings of a file, overridden by those of the command line.

    A number of modules on the command line is the whole budget, for a reproducible run.
    """
    budget = {"budget": None} if "modules" in given else {}
    return dataclasses.replace(settings, **{**budget, **given})
