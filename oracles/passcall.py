"""A pass with its arguments, as text that can be printed, sent to another process and re-run."""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.util
import inspect
import os
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.relax.dpl import PatternMatchingRewriter

from ..compat.drift import Drift
from ..generators.near import did_you_mean
from ..generators.stages import MODULES
from .arithmetic import passes as arithmetic
from .text.paths import as_here

BACKEND_PASSES = ("DispatchSampling", "DispatchSortScan")
"""Passes of `tvm.relax.backend` that every CPU build runs."""

BELOW_RELAX: Mapping[str, ModuleType] = {
    family: functools.reduce(getattr, path.split("."), tvm) for family, path in MODULES.items()
}
"""The modules of `MODULES`."""

DEVICE_PIPELINES = ("relax.get_default_pipeline", "tirx.get_default_tir_pipeline")
"""Functions that give TVM's pipelines for a target: those for GPUs are passes of the catalogue."""

NO_PASSES = ("Apply", "Filter")
"""Functions that make a pass of a function of their caller's."""

REWRITING = ("PatternMatchingRewriter", "rewrite_bindings")
"""What `tvm.relax.dpl` rewrites modules and functions with, by rules that its caller writes."""


class BadSpelling(ValueError):
    """A text that spells no pass."""


class BadPass(ValueError):
    """A user's spelling names nothing that can be loaded, or what gives no pass."""


@functools.cache
def cpu() -> tvm.target.Target:
    """The current target of every pass."""
    return tvm.target.Target("llvm")


@functools.cache
def public_passes() -> Mapping[str, str]:
    """Every public pass of `tvm.relax.transform` and `BELOW_RELAX`, `BACKEND_PASSES` and
    `REWRITING`, and ours of `arithmetic`, by name.

    A pass is what makes one: a function or a class derived from Pass. The base classes
    and the decorators (`function_pass`) are none. The values are expressions for them.
    """
    return {name: name for name in _passes_in(relax.transform)} | {
        **{name: f"relax.backend.{name}" for name in BACKEND_PASSES},
        **{name: f"relax.dpl.{name}" for name in REWRITING},
        **{
            f"{family}.{name}": f"{MODULES[family]}.{name}"
            for family, module in BELOW_RELAX.items()
            for name in _passes_in(module)
        },
        **{name: name for name in DEVICE_PIPELINES},
        **{f"arith.{name}": f"arith.{name}" for name in _passes_in(arithmetic)},
    }


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
    """What makes the public pass of this name."""
    return eval(_compiled(public_passes()[name]), _namespace(()))


def as_pass(thing: object) -> tvm.transform.Pass | None:
    """A pass, or a rewriter by patterns as the module pass that it is; None of anything else."""
    if isinstance(thing, PatternMatchingRewriter):
        # A pass in C++, whose class in Python is not derived from Pass.
        return tvm.transform.module_pass(
            lambda mod, context: thing(mod), opt_level=0, name=PatternMatchingRewriter.__name__
        )
    return thing if isinstance(thing, tvm.transform.Pass) else None


OPT_LEVEL = "opt_level"
"""Stands among the options for the level of a PassContext, above which Sequential skips passes."""


def pass_context(options: Mapping[str, Any], **others: Any) -> tvm.transform.PassContext:
    """The PassContext with these options, as `PassCall.config` has them, and other arguments."""
    config = dict(options)
    if OPT_LEVEL in config:
        others[OPT_LEVEL] = config.pop(OPT_LEVEL)
    return tvm.transform.PassContext(config=config, **others)


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass with its arguments and PassContext: the variant of a contract.

    `expr` is a Python expression over the names `tvm`, `relax`, `tirx`, `s_tir`, `np`, `arith` (our
    passes of `arithmetic`) and all of `tvm.relax.transform` (for the passes of the catalogue), e.g.
    "FuseOps(fuse_opt_level=2)", "relax.backend.DispatchSortScan()",
    "tirx.transform.UnrollLoop()" or "arith.Simplify()"; or, for a user's own pass,
    `factory` names where it comes from ("package.module:Name" or "path/to/file.py:Name": a pass or
    a rewriter by patterns, or a function or a class that gives one when it is called without
    arguments) and `expr` is a label.
    """

    expr: str
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """PassContext options, e.g. {"relax.FuseOps.max_depth": 4}, and its `OPT_LEVEL`."""
    imports: tuple[str, ...] = ()
    """Statements that `expr` needs besides: imports, e.g. "from tvm.relax.dpl import is_op", and
    definitions."""
    factory: str | None = None
    like: str | None = None
    """The pass of the catalogue whose contract a user's own pass keeps; None: the strict one."""

    @property
    def name(self) -> str:
        """The pass's bare name: "FuseOps" of "FuseOps(fuse_opt_level=2)", "tirx.UnrollLoop" of
        "tirx.transform.UnrollLoop()".

        What calls or wraps a pass of TVM has its name.
        """
        return _bare_name(self.expr) if self.factory is None else _called_name(self.expr)

    def build(self) -> tvm.transform.Pass:
        """The pass object.

        Raises:
            BadPass: what the user names cannot be loaded, raises, or gives no Pass.
            Drift: this TVM has no such pass.
            Exception: whatever the constructor of a pass of TVM raises for these arguments.
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
        """What the pass runs in: its PassContext options, and the CPU target."""
        with pass_context(self.config), cpu():
            yield

    def run(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Build and apply directly, under the call's PassContext and the CPU target."""
        with self.context():
            return self.build()(mod)

    def source(self) -> tuple[tuple[str, ...], str]:
        """Statements and an expression for the pass, for a file of its own.

        They need TVM, NumPy and, for a user's pass, the module that defines it.

        Raises:
            BadPass: the module that defines the user's factory cannot be found.
        """
        if self.factory is not None:
            return _factory_source(self.factory)
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


def bare_call(name: str) -> PassCall:
    """The public pass of this name, called without arguments."""
    return PassCall(f"{public_passes().get(name, name)}()")


def parse(text: str) -> PassCall:
    """The pass that a user spelled.

    Spellings: a public pass's name (`FuseOps`, `tirx.UnrollLoop`), one with literal arguments
    (`FuseOps(fuse_opt_level=2)`), `path/to/file.py:factory`, `package.module:factory`. Nothing is
    imported or evaluated: arguments are read as literals, factories are loaded by `build`.

    Raises:
        BadSpelling: the text is none of these; the message names what is wrong, and near names.
    """
    text = text.strip()
    place, colon, factory = text.rpartition(":")
    if colon and factory.isidentifier():
        return _parse_factory(text, place, factory)
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


def _parse_factory(text: str, place: str, factory: str) -> PassCall:
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            near = did_you_mean(path.name, (p.name for p in path.absolute().parent.glob("*.py")))
            raise BadSpelling(f"No file {place!r} for the pass {text!r}{near}")
        return PassCall(f"{factory}()", factory=f"{path.resolve()}:{factory}")
    if not all(part.isidentifier() for part in place.split(".")):
        raise BadSpelling(
            f"Expected 'path/to/file.py:factory' or 'package.module:factory' but got {text!r}"
        )
    return PassCall(f"{factory}()", factory=f"{place}:{factory}")


def _known(name: str, text: str) -> str:
    name = bare(name)
    passes = public_passes()
    if name not in passes:
        home = BELOW_RELAX.get(name.partition(".")[0], relax.transform)
        raise BadSpelling(f"No pass {name!r} in {home.__name__}{did_you_mean(name, passes)}")
    return passes[name]


def bare(name: str) -> str:
    """The name of a public pass, of its name with modules before it."""
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
    }
    names["__name__"] = __name__  # an expression asks TVM in our name, see `drift_of`
    for line in imports:
        # Without our own `from __future__ import annotations`: a file has these lines only.
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
    thing = _load(spelling)
    if (pass_ := as_pass(thing)) is not None:
        return pass_
    if not callable(thing):
        raise BadPass(
            f"Expected {spelling} to be a pass, a class of passes or a function that returns one "
            f"but got {thing!r} (type={type(thing).__name__})"
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
    """The names of the module of a user's spelling; it is executed once, as an import would.

    Raises:
        BadPass: it cannot be loaded.
    """
    place = as_here(spelling.rpartition(":")[0])
    directory, module = _place(place)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        imported = importlib.import_module(module) if module else None
        return vars(imported) if imported else runpy.run_path(place)
    except Exception as error:
        _fail(spelling, "cannot be loaded: importing it raised", error)


def _load(spelling: str) -> object:
    """What a user's spelling names."""
    place, _, name = spelling.rpartition(":")
    names = namespace(spelling)
    if name not in names:
        raise BadPass(f"No {name!r} in {as_here(place)}{did_you_mean(name, names)}")
    return names[name]


def _place(place: str) -> tuple[str, str | None]:
    """The directory that `sys.path` needs, and the module's dotted name (None for a file)."""
    if place.endswith(".py"):
        return str(Path(place).parent), None
    return os.getcwd(), place


def _fail(spelling: str, what: str, error: Exception) -> NoReturn:
    raise BadPass(f"{spelling} {what} {type(error).__name__}: {error}") from error


def _factory_source(spelling: str) -> tuple[tuple[str, ...], str]:
    """Nothing is executed that is not loaded anyway: a spelling may come from anybody."""
    place, _, name = spelling.rpartition(":")
    directory, module = _place(place)
    if module is None:
        path = f"sys.path.insert(0, {directory!r})"
        made = _passed(
            f"runpy.run_path({place!r})[{name!r}]", _makes(Path(as_here(place)), name, spelling)
        )
        return (*_needs(made), "import runpy", "import sys", path), made
    loaded = sys.modules.get(module)
    file = _file(module, spelling) if loaded is None else loaded.__file__
    if loaded is not None:
        makes: bool | None = as_pass(_load(spelling)) is None
    else:
        makes = None if file is None else _makes(Path(file), name, spelling)
    made = _passed(name, makes)
    if file is None or "site-packages" in file:
        return (*_needs(made), f"from {module} import {name}"), made
    depth = len(module.split(".")) - (not file.endswith("__init__.py"))
    path = f"sys.path.insert(0, {str(Path(file).resolve().parents[depth])!r})"
    return (*_needs(made), "import sys", path, f"from {module} import {name}"), made


def _needs(made: str) -> tuple[str, ...]:
    return ("import tvm", "from tvm.relax import dpl") if "tvm." in made else ()


def _passed(got: str, makes: bool | None) -> str:
    """The pass that an expression gives, by a call or without one."""
    if makes is None:
        passes = "(tvm.transform.Pass, dpl.PatternMatchingRewriter)"
        return f"(lambda it: it if isinstance(it, {passes}) else it())({got})"
    return f"{got}()" if makes else got


def _makes(file: Path, name: str, spelling: str) -> bool | None:
    """Whether it makes a pass when called (False: is one; None: only execution shows it)."""
    try:
        body = ast.parse(file.read_bytes(), str(file)).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _fail(spelling, "cannot be read:", error)
    for node in reversed(body):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name != name:
            continue
        decorated = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
        if isinstance(node, ast.ClassDef):
            return not any(each.endswith("rewriter") for each in decorated)
        if not decorated:
            return True
        return False if all(each.endswith("_pass") for each in decorated) else None
    return None


def _file(module: str, spelling: str) -> str | None:
    """The file of a module, found as an import does, of which nothing is imported."""
    first, *rest = module.split(".")
    try:
        spec = importlib.machinery.PathFinder.find_spec(first, [os.getcwd()])
        spec = spec or importlib.util.find_spec(first)
        name = first
        for part in rest:
            name = f"{name}.{part}"
            inside = None if spec is None else spec.submodule_search_locations
            spec = importlib.machinery.PathFinder.find_spec(name, inside) if inside else None
    except (ImportError, ValueError) as error:
        _fail(spelling, "cannot be found:", error)
    if spec is None:
        raise BadPass(f"No module {module!r} for the pass {spelling!r}")
    return spec.origin


def is_users(call: PassCall) -> bool:
    """The pass is the user's own, whatever it is called."""
    tvms = call.name in public_passes() or call.expr.startswith("tvm.")
    return call.factory is not None or not tvms
