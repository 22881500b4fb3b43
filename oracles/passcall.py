"""A pass with its arguments, as text that can be printed, sent to another process and re-run."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib.machinery
import importlib.util
import inspect
import os
import re
import runpy
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.relax.dpl import PatternMatchingRewriter, rewrite_bindings

from ..compat.drift import Drift
from ..generators.near import did_you_mean, no_pass
from ..generators.stages import MODULES
from . import arithmetic_passes as arithmetic
from .errors import NoModule
from .text.messages import text_of

BELOW_RELAX: Mapping[str, ModuleType] = {
    family: functools.reduce(getattr, path.split("."), tvm) for family, path in MODULES.items()
}
"""The modules of `MODULES`."""

DEVICE_PIPELINES = ("relax.get_default_pipeline", "tirx.get_default_tir_pipeline")
"""Functions that give TVM's pipelines for a target; the catalogue has those for GPUs as passes."""


@functools.cache
def partitions() -> Mapping[str, Partition]:
    """TVM's functions from module to module that hand parts of it to a library, by name.

    They are read from the files, as many of these modules are not imported with TVM.
    """
    [folder] = relax.backend.__path__
    found = {}
    for file in sorted(Path(folder).rglob("*.py")):
        home = ".".join(("tvm.relax.backend", *file.relative_to(folder).with_suffix("").parts))
        start = "partition_for_"
        body = ast.parse(text).body if start in (text := file.read_text(encoding="utf-8")) else ()
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(start):
                used = {ast.unparse(each).rpartition(".")[2] for each in ast.walk(node)}
                inside = sorted(used.intersection(_passes_in(relax.transform)))
                found[node.name] = Partition(home, tuple(inside))
    return found


@dataclass(frozen=True, slots=True)
class Partition:
    """A function that hands parts of a module to a library."""

    home: str
    """The module that defines it."""
    inside: tuple[str, ...]
    """The passes that it calls."""


NO_PASSES = ("Apply", "Filter")
"""Functions that turn a caller's function into a pass."""

REWRITING = (PatternMatchingRewriter.__name__, rewrite_bindings.__name__)
"""Rewriters of `tvm.relax.dpl` for modules and functions, by rules from their caller."""


class BadSpelling(ValueError):
    """A text that does not spell a pass."""


class BadPass(ValueError):
    """The pass that a user named cannot be loaded, or is not a pass."""


CPU_TEXT = 'tvm.target.Target("llvm")'
"""Python for the target of `cpu`."""


@functools.cache
def cpu() -> tvm.target.Target:
    """The current target if none is requested."""
    return tvm.target.Target("llvm")


@functools.cache
def public_passes() -> Mapping[str, str]:
    """Every public pass of `tvm.relax.transform`, `tvm.relax.backend` and `BELOW_RELAX`, those of
    `REWRITING`, and ours of `arithmetic`, by name.

    Functions, and classes derived from Pass, count as passes; base classes and decorators
    (`function_pass`) do not. The values are Python expressions for the passes.
    """
    return {name: name for name in _passes_in(relax.transform)} | {
        **{name: f"relax.backend.{name}" for name in _passes_in(relax.backend)},
        **{name: f"relax.dpl.{name}" for name in REWRITING},
        **{
            f"{family}.{name}": f"{MODULES[family]}.{name}"
            for family, module in BELOW_RELAX.items()
            for name in _passes_in(module)
        },
        **{name: name for name in DEVICE_PIPELINES},
        **{f"arith.{name}": f"arith.{name}" for name in _passes_in(arithmetic)},
        **{name: name for name in partitions()},
    }


def _partition(name: str, **options: Any) -> tvm.transform.Pass:
    """One of `partitions` as a pass."""
    function = getattr(importlib.import_module(partitions()[name].home), name)
    return tvm.transform.module_pass(
        lambda mod, _: function(mod, **options), opt_level=0, name=name
    )


_BASES = (
    relax.transform.FunctionPass,
    relax.transform.DataflowBlockPass,
    tirx.transform.PrimFuncPass,
)


def _passes_in(module: ModuleType) -> list[str]:
    def makes_pass(thing: object) -> bool:
        if inspect.isclass(thing):
            return issubclass(thing, tvm.transform.Pass) and thing not in _BASES
        return inspect.isfunction(thing)

    return [
        name
        for name, thing in vars(module).items()
        if name[0].isupper() and makes_pass(thing) and name not in NO_PASSES
    ]


def constructor(name: str) -> Any:
    """The function or class that makes the public pass of this name."""
    return eval(_compiled(public_passes()[name]), _namespace(()))


def as_pass(thing: object) -> tvm.transform.Pass | None:
    """A pass unchanged, a rewriter by patterns as a module pass; None for anything else."""
    if isinstance(thing, PatternMatchingRewriter):
        # A pass in C++, whose class in Python is not derived from Pass.
        return tvm.transform.module_pass(
            lambda mod, context: thing(mod), opt_level=0, name=PatternMatchingRewriter.__name__
        )
    return thing if isinstance(thing, tvm.transform.Pass) else None


OPT_LEVEL = "opt_level"
"""Pseudo-option for the level of a PassContext above which Sequential skips passes."""

TARGET = "target"
"""Pseudo-option for the current target, as text; without it, the target is the CPU."""


def pass_context(options: Mapping[str, Any], **others: Any) -> tvm.transform.PassContext:
    """The PassContext with these options, in the form of `PassCall.config`, and other arguments."""
    if OPT_LEVEL in options:
        others[OPT_LEVEL] = options[OPT_LEVEL]
    return tvm.transform.PassContext(config=_registered(options), **others)


def context_text(options: Mapping[str, Any]) -> str:
    """Python for the PassContext with these options."""
    level = f"{OPT_LEVEL}={options[OPT_LEVEL]!r}, " if OPT_LEVEL in options else ""
    return f"tvm.transform.PassContext({level}config={_registered(options)!r})"


def _registered(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in (OPT_LEVEL, TARGET)}


def target_of(options: Mapping[str, Any]) -> tvm.target.Target:
    """The current target of a pass with these options.

    Raises:
        Exception: TVM does not know the target.
    """
    return _target(options[TARGET]) if TARGET in options else cpu()


@functools.cache
def _target(text: str) -> tvm.target.Target:
    return tvm.target.Target(text, host="llvm")


def target_text(options: Mapping[str, Any]) -> str:
    """Python for the current target of a pass with these options."""
    return f'tvm.target.Target({options[TARGET]!r}, host="llvm")' if TARGET in options else CPU_TEXT


def check_options(options: Mapping[str, Any]) -> None:
    """Check that the installed TVM takes these options, `OPT_LEVEL` and `TARGET` among them.

    Raises:
        BadSpelling: it does not know an option or the target, or a value is of another type.
    """
    known = [*map(str, tvm.transform.PassContext.list_configs()), OPT_LEVEL, TARGET]
    for key, value in options.items():
        if key not in known:
            raise BadSpelling(f"No option {key!r} of the PassContext{did_you_mean(key, known)}")
        try:
            if key == TARGET:
                target_of({key: value})
            else:
                pass_context({key: value})
        except Exception as error:
            why = text_of(error).strip().splitlines()[-1:]
            raise BadSpelling(f"TVM refuses {key} = {value!r}: {''.join(why)}") from None


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass with its arguments and PassContext: the variant of a contract.

    `expr` is a Python expression over the names `tvm`, `relax`, `tirx`, `s_tir`, `np`, `arith` (our
    passes of `arithmetic`) and all of `tvm.relax.transform` (for the passes of the catalogue), e.g.
    "FuseOps(fuse_opt_level=2)", "relax.backend.DispatchSortScan()", "tirx.transform.UnrollLoop()"
    or "arith.Simplify()". For a user's own pass, `expr` is a label, and `factory` names its origin:
    "package.module:Name" or "path/to/file.py:Name". The name is that of a pass, of a rewriter by
    patterns, or of a function or class that gives one; literal arguments may follow in parentheses.
    A final "[N]" means a step of a pipeline.
    """

    expr: str
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """PassContext options, e.g. {"relax.FuseOps.max_depth": 4}, its `OPT_LEVEL`, and `TARGET`."""
    imports: tuple[str, ...] = ()
    """Further statements that `expr` needs: imports, e.g. "from tvm.relax.dpl import is_op", and
    definitions."""
    factory: str | None = None
    like: str | None = None
    """The pass of the catalogue whose contract a user's own pass keeps, or the place of its own
    contract, spelled like `factory`; None: the strict contract."""

    @property
    def name(self) -> str:
        """The pass's bare name: "FuseOps" of "FuseOps(fuse_opt_level=2)", "tirx.UnrollLoop" of
        "tirx.transform.UnrollLoop()".

        An expression that calls or wraps a pass of TVM has that pass's name.
        """
        if self.is_step:
            return self.expr.partition("(")[0]
        return _bare_name(self.expr) if self.factory is None else _called_name(self.expr)

    @property
    def is_step(self) -> bool:
        """True for a step of a user's pipeline."""
        return self.factory is not None and self.factory.endswith("]")

    @property
    def is_tvms(self) -> bool:
        """True for a pass of TVM, also as a step of a user's pipeline."""
        return self.factory is None or (self.is_step and self.name in public_passes())

    def build(self) -> tvm.transform.Pass:
        """The pass object.

        Raises:
            BadPass: the user's factory cannot be loaded, raises, or does not give a Pass.
            Drift: this TVM has no such pass.
            Exception: the constructor of a pass of TVM raises for these arguments.
        """
        if self.factory is not None:
            return _call_factory(self.factory)
        code = _compiled(self.expr)
        try:
            made = eval(code, _namespace(self.imports))
        except NameError as error:
            if error.name not in code.co_names:
                raise
            raise Drift(f"this TVM has no {relax.transform.__name__}.{error.name}") from error
        except AttributeError as error:
            if not isinstance(error.obj, ModuleType) or error.obj not in BELOW_RELAX.values():
                raise
            raise Drift(f"this TVM has no {error.obj.__name__}.{error.name}") from error
        pass_ = as_pass(made)
        if pass_ is None:
            raise BadPass(f"Expected {self.expr} to be {A_PASS} but got {made!r}")
        return pass_

    @contextmanager
    def context(self) -> Iterator[None]:
        """The context that the pass runs in: its PassContext options, and its target."""
        with pass_context(self.config), target_of(self.config):
            yield

    def run(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Build the pass and apply it directly, under the call's PassContext and target.

        Raises:
            NoModule: the pass returns something other than a complete module.
            Exception: the pass cannot be built, or raises.
        """
        with self.context():
            return whole(self.build()(mod))

    def source(self) -> tuple[tuple[str, ...], str]:
        """Statements and an expression for the pass, for a file of its own.

        They need TVM, NumPy and, for a user's pass, the module that defines it.

        Raises:
            BadPass: the module that defines the user's factory cannot be found.
        """
        if self.factory is not None:
            return _factory_source(self.factory)
        if (partition := partitions().get(self.name)) is not None:
            options = self.expr.partition("(")[2].removesuffix(")")
            call = f"{self.name}({', '.join(filter(None, ('mod', options)))})"
            made = f"lambda mod, _: {call}, opt_level=0, name={self.name!r}"
            needs = ("import tvm", f"from {partition.home} import {self.name}")
            return needs, f"tvm.transform.module_pass({made})"
        names = {n.id for n in ast.walk(ast.parse(self.expr)) if isinstance(n, ast.Name)}
        standard = {
            "tvm": "import tvm",
            "relax": "from tvm import relax",
            "tirx": "from tvm import tirx",
            "s_tir": "from tvm import s_tir",
            "np": "import numpy as np",
        }
        transforms = sorted(name for name in names if hasattr(relax.transform, name))
        imports = [text for name, text in standard.items() if name in names]
        if transforms:
            imports.append(f"from tvm.relax.transform import {', '.join(transforms)}")
        if "arith" in names:
            defined = arithmetic.source(self.name.removeprefix("arith."))
            needed = (standard["tvm"], standard["tirx"], *defined)
            return (*needed, *self.imports), self.expr.removeprefix("arith.")
        return (*imports, *self.imports), self.expr

    def __str__(self) -> str:
        return f"{self.expr} with {dict(self.config)}" if self.config else self.expr


def whole(result: Any) -> tvm.IRModule:
    """The result of a pass itself, if it is a module whose functions are all there.

    Raises:
        NoModule: it is something else; TVM does not check the result of a Python function.
    """
    if not isinstance(result, tvm.IRModule):
        raise NoModule(f"Expected an IRModule but got {result!r} (type={type(result).__name__})")
    for gvar, func in result.functions_items():
        if not isinstance(func, tvm.ir.BaseFunc):
            raise NoModule(f"Expected a function for {gvar.name_hint!r} but got {func!r}")
    return result


def bare_call(name: str) -> PassCall:
    """The public pass of this name, called without arguments."""
    return PassCall(f"{public_passes().get(name, name)}()")


def parse(text: str) -> PassCall:
    """The pass that a user spelled.

    Spellings: a public pass's name (`FuseOps`, `tirx.UnrollLoop`), one with literal arguments
    (`FuseOps(fuse_opt_level=2)`), `path/to/file.py:factory`, `package.module:factory`; each also
    with options, as a call is printed: `FuseOps() with {'relax.FuseOps.max_depth': 4}`. Nothing is
    imported or evaluated: arguments are read as literals, factories are loaded by `build`.

    Raises:
        BadSpelling: the text is none of these; the message names the error, and similar names.
    """
    plain, with_, options = f"{text} ".partition(" with ")
    if not with_:
        return _parse(text.strip())
    options = options.strip()
    try:
        config = ast.literal_eval(options)
    except (ValueError, TypeError, SyntaxError):
        config = None
    if not isinstance(config, dict) or not all(isinstance(key, str) for key in config):
        raise BadSpelling(f"Expected options such as {{'opt_level': 3}} but got {options!r}")
    check_options(config)
    return dataclasses.replace(_parse(plain.strip()), config=config)


def _parse(text: str) -> PassCall:
    if (own := _OWN.match(text)) is not None:
        return _parse_factory(text, own)
    if text.endswith(".py"):
        _check_file(text, text)
        names = ", ".join(_defined(Path(text)))
        raise BadSpelling(
            f"Expected {text}:NAME with the name of a pass. The file defines {names or 'none'}"
        )
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise BadSpelling(
            f"Expected a pass such as 'FuseOps', 'FuseOps(fuse_opt_level=2)' or "
            f"'path/to/file.py:factory' but got {text!r} ({error.msg})"
        ) from None
    call = node if isinstance(node, ast.Call) else None
    expression = _known(ast.unparse(call.func if call else node), text)
    if call is None:
        return PassCall(f"{expression}()")
    args = [_literal(arg, text) for arg in call.args]
    kwargs = {keyword.arg: _literal(keyword.value, text) for keyword in call.keywords}
    _check_arguments(expression, args, kwargs, text)
    spelled = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
    return PassCall(f"{expression}({', '.join(spelled)})")


_OWN = re.compile(
    r"(?P<place>[^()]*):(?P<name>[^\W\d]\w*)(?P<args>\(.*\))?(?P<step>\[\d+\])?$", re.DOTALL
)
"""The spelling of a user's own pass: its home and its name there, perhaps with arguments, and with
a step number if it is a pipeline."""


def own(spelling: str) -> tuple[str, str, str, int | None]:
    """The home of a user's own pass, its name there, its arguments, and the number of its step."""
    found = _OWN.match(spelling)
    assert found is not None, spelling
    step = found["step"]
    number = None if step is None else int(step[1:-1])
    return found["place"], found["name"], found["args"] or "", number


def _parse_factory(text: str, own: re.Match[str]) -> PassCall:
    place, name, args, step = (part or "" for part in own.groups())
    if args:
        call = ast.parse(name + args, mode="eval").body
        assert isinstance(call, ast.Call)
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            _literal(each, text)
    label, rest = f"{name}{args or '()'}", f":{name}{args}{step}"
    if place.endswith(".py"):
        _check_file(place, text)
        return PassCall(label, factory=f"{Path(place).resolve()}{rest}")
    if not all(part.isidentifier() for part in place.split(".")):
        raise BadSpelling(
            f"Expected 'path/to/file.py:factory' or 'package.module:factory' but got {text!r}"
        )
    return PassCall(label, factory=f"{place}{rest}")


def _check_file(place: str, text: str) -> None:
    path = Path(place)
    if not path.is_file():
        near = did_you_mean(path.name, (p.name for p in path.absolute().parent.glob("*.py")))
        raise BadSpelling(f"No file {place!r} for the pass {text!r}{near}")


def _defined(file: Path) -> list[str]:
    """The public names that a file defines, except constants; empty if it cannot be read."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() | ast.Lambda()):
                found.append(name)
    return [name for name in found if not name.startswith("_")]


def _known(name: str, text: str) -> str:
    name = bare(name)
    passes = public_passes()
    if name not in passes:
        home = BELOW_RELAX.get(name.partition(".")[0], relax.transform)
        raise BadSpelling(no_pass(name, home.__name__, passes))
    return passes[name]


def bare(name: str) -> str:
    """The unqualified name of a public pass."""
    name = name.removeprefix("tvm.")
    for module in ("relax.transform.", "relax.backend.", "relax.dpl."):
        name = name.removeprefix(module)
    for family, path in MODULES.items():
        name = name.replace(f"{path}.", f"{family}.")
    return name


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise BadSpelling(
            f"Expected literal arguments but got {ast.unparse(node)!r} in {text!r}; "
            f"for others write a factory: 'path/to/file.py:factory'"
        ) from None


def _check_arguments(
    expression: str, args: list[Any], kwargs: Mapping[str | None, Any], text: str
) -> None:
    signature = inspect.signature(constructor(bare(expression)))
    if None in kwargs:
        raise BadSpelling(f"Expected literal arguments but got ** in {text!r}")
    try:
        signature.bind(*args, **{str(key): value for key, value in kwargs.items()})
    except TypeError as error:
        unknown = [str(key) for key in kwargs if key not in signature.parameters]
        near = did_you_mean(unknown[0], signature.parameters) if unknown else ""
        raise BadSpelling(f"{text!r}: {error}; the signature is {signature}{near}") from None


@functools.lru_cache(maxsize=4096)
def _compiled(expr: str) -> CodeType:
    return compile(expr, "<pass>", "eval")


@functools.lru_cache(maxsize=256)
def _namespace(imports: tuple[str, ...]) -> dict[str, Any]:
    names: dict[str, Any] = {
        **vars(relax.transform),
        **{"tvm": tvm, "relax": relax, "tirx": tirx, "s_tir": s_tir, "np": np},
        "arith": arithmetic,
        **{name: functools.partial(_partition, name) for name in partitions()},
    }
    names["__name__"] = __name__  # expressions use TVM under our module name, see `drift_of`
    for line in imports:
        # Do not inherit our `from __future__ import annotations`: a file only has these lines.
        exec(compile(line, "<string>", "exec", dont_inherit=True), names)
    return names


def _called_name(expr: str) -> str:
    return expr.split("(", 1)[0].rsplit(".", 1)[-1]


@functools.lru_cache(maxsize=4096)
def _bare_name(expr: str) -> str:
    dotted = map(bare, re.findall(r"[A-Za-z_][\w.]*", expr))
    names = (name for each in dotted for name in (each, *each.split(".")))
    return next((name for name in names if name in public_passes()), _called_name(expr))


A_PASS = "a tvm.transform.Pass or a tvm.relax.dpl.PatternMatchingRewriter"


def _call_factory(spelling: str) -> tvm.transform.Pass:
    _, name, args, step = own(spelling)
    if step is not None:
        inside = steps_inside(_call_factory(spelling.rpartition("[")[0]))
        if step >= len(inside):
            raise BadPass(f"{spelling} has {len(inside)} steps, counted from 0")
        return inside[step]
    thing: Any = load(spelling)
    if args:
        thing = functools.partial(eval, f"{name}{args}", {name: thing})
    elif (pass_ := as_pass(thing)) is not None:
        return pass_
    elif _takes_module(thing):
        return tvm.transform.module_pass(lambda mod, _: thing(mod), opt_level=0, name=name)
    if not callable(thing):
        raise BadPass(
            f"Expected {spelling} to be a pass, a class of passes, a function that returns one, or "
            f"one from module to module but got {thing!r} (type={type(thing).__name__})"
        )
    try:
        made = thing()
    except Exception as error:
        _fail(spelling, "raised", error)
    if (pass_ := as_pass(made)) is None:
        raise BadPass(
            f"Expected {spelling} to return {A_PASS} but got {made!r} (type={type(made).__name__})"
        )
    return pass_


@functools.cache
def namespace(spelling: str) -> Mapping[str, Any]:
    """The names in the module of a user's spelling, which is executed once, like an import.

    Raises:
        BadPass: it cannot be loaded.
    """
    place, *_ = own(spelling)
    directory, module = _place(place)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        imported = importlib.import_module(module) if module else None
        return vars(imported) if imported else runpy.run_path(place)
    except Exception as error:
        _fail(spelling, "cannot be loaded: importing it raised", error)


def folder_of(call: PassCall) -> str | None:
    """The folder of the user's file or package that defines the pass; None: TVM defines it."""
    if call.factory is None:
        return None
    directory, module = _place(own(call.factory)[0])
    if module is None:
        return directory
    found = importlib.util.find_spec(module.partition(".")[0])
    return None if found is None or found.origin is None else str(Path(found.origin).parent)


def load(spelling: str) -> object:
    """The object that a user's spelling names.

    Raises:
        BadPass: it cannot be loaded, or does not exist.
    """
    place, name, *_ = own(spelling)
    names = namespace(spelling)
    if name not in names:
        raise BadPass(f"No {name!r} in {place}{did_you_mean(name, names)}")
    return names[name]


def _place(place: str) -> tuple[str, str | None]:
    """The directory that `sys.path` needs, and the module's dotted name (None for a file)."""
    if place.endswith(".py"):
        return str(Path(place).parent), None
    return os.getcwd(), place


def _fail(spelling: str, what: str, error: Exception) -> NoReturn:
    raise BadPass(f"{spelling} {what} {type(error).__name__}: {error}") from error


def _factory_source(spelling: str) -> tuple[tuple[str, ...], str]:
    """See `PassCall.source`. Only modules that are loaded anyway are executed, since a spelling may
    come from an untrusted source."""
    if spelling.endswith("]"):
        home, step = spelling[:-1].rsplit("[", 1)
        needs, made = _factory_source(home)
        return (*needs, f"from {__name__} import steps_inside"), f"steps_inside({made})[{step}]"
    place, name, args, _ = own(spelling)
    directory, module = _place(place)
    if module is None:
        path = f"sys.path.insert(0, {directory!r})"
        kind: _Kind | None = _kind_in(Path(place), name, spelling)
        made = _passed(f"runpy.run_path({place!r})[{name!r}]", name, args, kind)
        return (*_needs(made), "import runpy", "import sys", path), made
    loaded = sys.modules.get(module)
    file = _file(module, spelling) if loaded is None else loaded.__file__
    if loaded is not None:
        kind = _kind_of(load(spelling))
    else:
        kind = None if file is None else _kind_in(Path(file), name, spelling)
    made = _passed(name, name, args, kind)
    if file is None or "site-packages" in file:
        return (*_needs(made), f"from {module} import {name}"), made
    depth = len(module.split(".")) - (not file.endswith("__init__.py"))
    path = f"sys.path.insert(0, {str(Path(file).resolve().parents[depth])!r})"
    return (*_needs(made), "import sys", path, f"from {module} import {name}"), made


class _Kind(enum.Enum):
    """The kinds of things that a user may name as a pass."""

    PASS = "a pass"
    FACTORY = "a class or a function that gives a pass when it is called without arguments"
    FUNCTION = "a function from module to module"


def _needs(made: str) -> tuple[str, ...]:
    imports = {"tvm.": "import tvm", "dpl.": "from tvm.relax import dpl"}
    return tuple(line for name, line in imports.items() if name in made)


def _passed(got: str, name: str, args: str, kind: _Kind | None) -> str:
    """Python for the pass that an expression gives; if no kind is given, the Python finds out."""
    if args:
        return f"{got}{args}"
    if kind is _Kind.FUNCTION:
        return f"tvm.transform.module_pass(lambda mod, _: {got}(mod), opt_level=0, name={name!r})"
    if kind is None:
        passes = "(tvm.transform.Pass, dpl.PatternMatchingRewriter)"
        return f"(lambda it: it if isinstance(it, {passes}) else it())({got})"
    return f"{got}()" if kind is _Kind.FACTORY else got


def _kind_of(thing: Any) -> _Kind:
    if as_pass(thing) is not None:
        return _Kind.PASS
    return _Kind.FUNCTION if _takes_module(thing) else _Kind.FACTORY


def _takes_module(thing: Any) -> bool:
    """True for a function with exactly one parameter without a default."""
    if inspect.isclass(thing) or not callable(thing):
        return False
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):  # functions of C
        return False
    needed = [each.kind for each in parameters if each.default is each.empty]
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len(needed) == 1 and needed[0] in by_place


def _kind_in(file: Path, name: str, spelling: str) -> _Kind | None:
    """The kind of a thing, read from the file that defines it; None: only execution shows it."""
    try:
        body = ast.parse(file.read_bytes(), str(file)).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _fail(spelling, "cannot be read:", error)
    for node in reversed(body):
        match node:
            case ast.ClassDef(name=found) if found == name:
                rewrites = any(each.endswith("rewriter") for each in _decorators(node))
                return _Kind.PASS if rewrites else _Kind.FACTORY
            case ast.FunctionDef(name=found, args=args) if found == name:
                if not (decorators := _decorators(node)):
                    return _kind_by(args)
                return _Kind.PASS if all(each.endswith("_pass") for each in decorators) else None
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Lambda(args=args)):
                if found == name:
                    return _kind_by(args)
    return None


def _decorators(node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    return [ast.unparse(each).partition("(")[0] for each in node.decorator_list]


def _kind_by(args: ast.arguments) -> _Kind:
    """The kind of a function with these parameters."""
    needed = len(args.posonlyargs) + len(args.args) - len(args.defaults)
    return _Kind.FUNCTION if needed == 1 and None not in args.kw_defaults else _Kind.FACTORY


def _file(module: str, spelling: str) -> str | None:
    """The file of a module, found as by an import but without importing anything."""
    first, *rest = module.split(".")
    try:
        spec = importlib.machinery.PathFinder.find_spec(first, [os.getcwd()])
        spec = spec or importlib.util.find_spec(first)
        for part in rest:  # not by its full name: for a namespace package, that needs the parent
            inside = spec and spec.submodule_search_locations
            spec = importlib.machinery.PathFinder.find_spec(part, [*inside]) if inside else None
    except (ImportError, ValueError) as error:
        _fail(spelling, "cannot be found:", error)
    if spec is None:
        raise BadPass(f"No module {module!r} for the pass {spelling!r}")
    return spec.origin


def steps_inside(pipeline: tvm.transform.Pass) -> list[tvm.transform.Pass]:
    """The passes that a pipeline runs, in order, without pass groups.

    For a pipeline that is a function, these are the passes that it calls on a tiny module. A pass
    that runs no others is its own only step.
    """
    if isinstance(pipeline, tvm.transform.Sequential):
        # Some passes of TVM consist of others.
        if str(pipeline.info.name) in public_passes():
            return [pipeline]
        return [step for each in pipeline.passes for step in _unpacked(each)]
    called: list[tvm.transform.Pass] = []
    plain = tvm.transform.Pass.__call__

    def recorded(made: tvm.transform.Pass, mod: tvm.IRModule) -> tvm.IRModule:
        called.append(made)
        tvm.transform.Pass.__call__ = plain
        try:
            return plain(made, mod)
        finally:
            tvm.transform.Pass.__call__ = recorded

    tvm.transform.Pass.__call__ = recorded
    try:
        with cpu():
            plain(pipeline, tiny_module())
    except Exception:  # the pass is not for such a module
        return [pipeline]
    finally:
        tvm.transform.Pass.__call__ = plain
    return [step for each in called for step in _unpacked(each)] or [pipeline]


def _unpacked(step: tvm.transform.Pass) -> list[tvm.transform.Pass]:
    grouped = isinstance(step, tvm.transform.Sequential) or is_group(str(step.info.name))
    return steps_inside(step) if grouped else [step]


def is_group(name: str) -> bool:
    """True for the name of a pipeline or a list of passes (by default "sequential"), False for a
    step."""
    return name == "sequential" or name.endswith("_pipeline")


_ONE_AT_A_TIME = threading.Lock()
"""The builders of TVM in one process share one stack."""


def tiny_module() -> tvm.IRModule:
    """A module with a function that returns its parameter."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with _ONE_AT_A_TIME, builder.function("main", [x]):
        builder.emit_func_output(x)
    return builder.finalize()


def is_users(call: PassCall) -> bool:
    """True if the pass is the user's own, even under the name of one of TVM's."""
    return not call.is_tvms
