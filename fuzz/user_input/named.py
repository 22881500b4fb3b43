"""Names in the code of a pass: operators, patterns, classes of nodes, numbers and more.

A pass that looks for one operator in two hundred leaves nearly all modules unchanged. Its code
shows the operator before the first module is made. The sources are the constants and names of its
functions and classes, the objects that they refer to (other functions and classes, tables,
patterns), and the closures of its decorators. References are followed through the user's files, but
not into installed packages.

The code is read from its file, in order. Nothing is executed, except that attributes of modules are
looked up. So the result depends only on the code, and is the same in every process and under every
Python.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import math
import operator
import re
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, s_tir, tirx
from tvm.relax import dpl

from ...compat.ops import relax_op
from ...generators.ops import LEFT_OUT, table
from ...generators.scope import DTYPES
from ...generators.traits import Trait
from ...oracles.passcall import PassCall, namespace, own
from ..process.targets import Named

DEEPEST = 60
"""Most steps from the pass to an object that it refers to."""
LARGEST = 1000
"""Most elements of a table to read."""
LONGEST = 5
"""Most operators of a chain, since a longer one is a list of operators, not a pattern."""
PATHS = 8
"""Most chains of one pattern."""
NUMBERS = 8
"""Most numbers of the code to keep; the first ones are kept."""

INTEGERS = ("int32", "int64", "int8")
"""Dtypes of most values of modules for a pass that works on integers alone."""

OF_INTEGERS = frozenset(
    {
        *("mod", "floordiv", "floormod", "truncdiv", "truncmod", "indexdiv", "indexmod"),
        *("bitwiseand", "bitwiseor", "bitwisexor", "bitwisenot"),
        *("shiftleft", "shiftright", "lshift", "rshift"),
    }
)
"""Classes of nodes, and functions that make them, whose operands are integers. Most generated
values are floats, whose integers are indices, which are never below 0."""

TRAITS: Mapping[str, tuple[Trait, ...]] = {
    "if": (Trait.IF,),
    "tuple": (Trait.TUPLES,),
    "tuplegetitem": (Trait.TUPLES,),
    "tupletype": (Trait.TUPLES,),
    "matchcast": (Trait.MATCH_CAST,),
    "constant": (Trait.CONSTANTS, Trait.UNIFORM_CONSTANTS),
    "genericconst": (Trait.CONSTANTS, Trait.UNIFORM_CONSTANTS),
    "isconst": (Trait.CONSTANTS, Trait.UNIFORM_CONSTANTS, Trait.BOUND_PARAMS),
    "istuple": (Trait.TUPLES,),
    "istuplegetitem": (Trait.TUPLES,),
    "iscalltir": (Trait.CALL_TIR,),
    "iscalldpspacked": (Trait.CALL_DPS_PACKED,),
    "shapeexpr": (Trait.SYMBOLIC_SHAPES,),
    "shapetype": (Trait.SYMBOLIC_SHAPES, Trait.SHAPE_VALUES),
    "primtype": (Trait.NUMBERS,),
    "functype": (Trait.FUNCTION_VALUES,),
    "anytype": (Trait.ANY,),
    "primfunc": (Trait.CALL_TIR,),
    "externfunc": (Trait.CALL_PACKED, Trait.EXTERN_FUNCS),
    "globalvar": (Trait.FUNCTION_CALLS, Trait.PRIVATE_FUNCTIONS),
    "vdevice": (Trait.VDEVICES,),
    "todevice": (Trait.VDEVICES,),
    "calltir": (Trait.CALL_TIR,),
    "calltirinplace": (Trait.CALL_TIR_INPLACE,),
    "calltirwithgrad": (Trait.CALL_TIR_WITH_GRAD,),
    "calldpspacked": (Trait.CALL_DPS_PACKED,),
    "callpurepacked": (Trait.CALL_PACKED,),
    "makeclosure": (Trait.CLOSURES,),
    "composite": (Trait.COMPOSITE,),
    "codegen": (Trait.CODEGEN,),
    "primitive": (Trait.PRIMITIVE,),
    "numinput": (Trait.NUM_INPUT,),
    "systemlibprefix": (Trait.SYSTEM_LIB_PREFIX,),
}
"""Traits by a lower-case name without underscores: that of a class of nodes, of a method that
visits it (`visit_if_`), of a function that makes it or a pattern of it, of an operator without a
record, or of an attribute."""


_OF_PRIM_FUNCS = (tirx.Stmt, s_tir.Schedule)
"""The classes that only code for PrimFuncs names."""

_THREADS = re.compile(
    "thread_?(binding|tag|extent|idx|allreduce)|block_?idx|launch_thread|storage_sync|warp_shuffle",
    re.IGNORECASE,
)
"""Names that have to do with the threads of a kernel."""

_SHARED = re.compile(rf"{_THREADS.pattern}|^(shared(\.dyn)?|warp)$", re.IGNORECASE)
"""The same for texts, which may be a scope of memory."""


def names_of(call: PassCall) -> Named:
    """Read the names in the code of a pass. The user's files are loaded, so this runs only in a
    process of its own.

    Raises:
        BadPass: the spelling does not name anything that can be loaded.
    """
    if call.factory is None:
        return names_in(getattr(relax.transform, call.name, None))
    names = namespace(call.factory)
    _, name, *_ = own(call.factory)
    return names_in(names.get(name), names, name)


def names_in(thing: object, names: Mapping[str, Any] = {}, name: str = "") -> Named:
    """Read the names in the code of a pass, or of a class or function that makes one.

    Args:
        names: the globals of its module.
        name: its name there.
    """
    reader = _Reader(_home(thing, names))
    reader.refer(name, thing, names)
    return reader.named()


def _of_name(file: str, name: str) -> ast.AST:
    """The last function of a file with this name, else its last assignment, else the whole file."""
    tree = _tree(file)
    for statement in reversed(tree.body):
        if isinstance(statement, _FUNCTION) and statement.name == name:
            return statement
    assigned = [each for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign)]
    own = [each for each in assigned if name in _stored(each)]
    return own[-1] if own else tree


@functools.cache
def _tree(file: str) -> ast.Module:
    """The syntax of a file; empty if it cannot be read."""
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@functools.cache
def _functions(file: str) -> Mapping[tuple[str, int], ast.AST]:
    """The functions of a file by name and first line, including the decorators."""
    found: dict[tuple[str, int], ast.AST] = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, _FUNCTION):
            first = min(each.lineno for each in (node, *node.decorator_list))
            found[node.name, first] = node
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), node)
    return found


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

_OPERATORS = {ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.Mult: operator.mul}


def _number(node: ast.AST) -> Any:
    """The number that a numeric expression such as `-2**31` gives; None for anything else."""
    match node:
        case ast.Constant(int() | float() as number):
            return number
        case ast.UnaryOp(ast.USub(), operand) if (number := _number(operand)) is not None:
            return -number
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
            numbers = _number(left), _number(right)
            if None not in numbers and abs(numbers[1]) < 100:
                with contextlib.suppress(ArithmeticError, TypeError, ValueError):
                    return _OPERATORS[type(sign)](*numbers)
    return None


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names to which code refers."""

    globals: Mapping[str, Any]
    locals: dict[str, Any]
    """Names with known values, including those of the closure."""
    words: set[str] = field(default_factory=set)
    """All names in the code."""

    def __getitem__(self, name: str) -> Any:
        return self.locals.get(name, self.globals.get(name))


def _stored(statement: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    names = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


class _Reader:
    """Follows references from a pass, depth first, in the order of the code."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._seen: dict[int, object] = {}
        """Objects by id; they are kept, so that no id is reused."""
        self._mentions: list[str] = []
        """Operators that the pass looks for, in order."""
        self._made: dict[str, None] = {}
        """Operators whose functions are referenced, so the pass makes calls of them."""
        self._words: dict[str, None] = {}
        """Texts that may be parts of operator names."""
        self._variables: set[str] = set()
        """The names of variables and callees: a text that equals one may be such a name."""
        self._chains: dict[tuple[str, ...], None] = {}
        self._traits: dict[Trait, None] = {}
        self._unknown: dict[str, None] = {}
        self._numbers: dict[float, None] = {}
        self._dtypes: dict[str, None] = {}
        self._statements = self._bindings = False
        self._depth = 0

    def named(self) -> Named:
        """Everything that was read."""
        words = [word for word in self._words if word not in self._variables]
        if "relax." not in self._words and self._variables.isdisjoint(_TAKES_APART):
            words = [word for word in words if word not in table]  # "softmax", but not "sum"
        parts = (name for word in words for name in _by_last_part().get(word, ()))
        ops = dict.fromkeys([*self._mentions, *parts]) or self._made
        return Named(
            tuple(ops),
            tuple(self._chains),
            tuple(self._traits),
            tuple(self._unknown),
            tuple(self._numbers)[:NUMBERS],
            tuple(self._dtypes),
            any(map(_THREADS.search, self._variables)) or any(map(_SHARED.search, self._words)),
            self._statements,
            self._bindings or bool(ops),
        )

    def refer(self, name: str, thing: Any, names: Mapping[str, Any]) -> None:
        """Read an object that code refers to by one of these names."""
        file = str(names.get("__file__", ""))
        hidden = isinstance(thing, tvm.transform.Pass) and not hasattr(thing, "_inst")
        if hidden and file and self._is_own(file) and id(thing) not in self._seen:
            # TVM hides the Python function of a pass made by a decorator.
            self._seen[id(thing)] = thing
            self.code(_of_name(file, name), names)
        elif isinstance(thing, FunctionType) or (
            isinstance(thing, type) and not self._is_own_class(thing)
        ):
            self._node(name)
        self.read(thing)

    def read(self, thing: Any) -> None:
        """Read an object, and the objects that it refers to."""
        if id(thing) in self._seen or self._depth > DEEPEST:
            return
        self._seen[id(thing)] = thing
        self._depth += 1
        match thing:
            case str():
                self._text(thing)
            case int() | float() if type(thing) in (int, float):  # not a member of an enumeration
                if math.isfinite(thing) and thing not in (-1, 0, 1):
                    self._numbers[thing] = None
            case tvm.ir.Op():
                self._text(str(thing.name))
            case dpl.DFPattern():
                self._pattern(thing)
            case dpl.PatternMatchingRewriter():
                self._all(getattr(thing, part) for part in _RULES if hasattr(thing, part))
            case FunctionType():
                self._function(thing)
            case MethodType():
                self._all((thing.__func__, thing.__self__))
            case classmethod() | staticmethod():
                self.read(thing.__func__)
            case property():
                self._all((thing.fget, thing.fset))
            case functools.partial():
                self._all((thing.func, *thing.args, *thing.keywords.values()))
            case Mapping():
                self._all([*thing.keys(), *thing.values()][:LARGEST])
            case set() | frozenset():
                self._all(sorted(thing, key=str)[:LARGEST])
            case tuple() | list() | tvm_ffi.Array():
                self._all(thing[:LARGEST])
            case type():
                self._class(thing)
            case _ if self._is_own_class(type(thing)) or isinstance(thing, tvm.transform.Pass):
                self._all((type(thing), *getattr(thing, "__dict__", {}).values()))
            case _ if hasattr(thing, "__wrapped__"):
                self.read(thing.__wrapped__)
        self._depth -= 1

    def _all(self, things: Iterable[Any]) -> None:
        for each in things:
            self.read(each)

    def _text(self, text: str) -> None:
        name = text.removeprefix("relax.")
        if name in table and "." in text:
            self._mentions.append(name)
        elif text in DTYPES:
            self._dtypes[text] = None
        elif traits := TRAITS.get(_letters(name)):
            self._traits.update(dict.fromkeys(traits))
        elif text != name and (text in _registered() or _is_misspelled(name)):
            self._unknown[text] = None
        else:
            self._words[text] = None

    def _function(self, function: FunctionType) -> None:
        if (name := _operators().get(function)) is not None:
            self._made[name] = None
            return
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        held = {name: cell.cell_contents for name, cell in cells.items() if _is_full(cell)}
        code = function.__code__
        if self._is_own(code.co_filename):
            place = (code.co_name, code.co_firstlineno)
            if (syntax := _functions(code.co_filename).get(place)) is not None:
                self.code(syntax, function.__globals__, held)
            self._all(function.__defaults__ or ())
        self._all(held.values())

    def _class(self, kind: type) -> None:
        if not self._is_own_class(kind):
            self._node(kind.__name__)
            self._statements |= issubclass(kind, _OF_PRIM_FUNCS)
            self._bindings |= kind.__module__.startswith("tvm.relax.") and kind is not relax.Var
            return
        for base in kind.__mro__:
            if self._is_own_class(base):
                for name, value in vars(base).items():
                    self._visitor(name)
                    if name not in ("__doc__", "__module__", "__qualname__"):
                        self.read(value)

    def _node(self, name: str) -> None:
        """Note a class of nodes, or a function that makes them."""
        self._traits.update(dict.fromkeys(TRAITS.get(_letters(name), ())))
        if _letters(name) in OF_INTEGERS:
            self._dtypes.update(dict.fromkeys(INTEGERS))

    def _visitor(self, method: str) -> None:
        """Note that a method such as `visit_if_` shows that the pass looks for an If."""
        if method.startswith("visit_"):
            self._node(method.removeprefix("visit_"))

    def code(self, code: ast.AST, names: Mapping[str, Any], held: Mapping[str, Any] = {}) -> None:
        """Read a function, a class or a statement, and everything inside it.

        Args:
            names: the globals.
            held: the variables of its closure.
        """
        before = len(self._mentions)
        scope = _Scope(names, dict(held))
        if isinstance(code, _FUNCTION):
            self._visitor(code.name)
        if isinstance(code, (*_FUNCTION, ast.Lambda)):
            scope.words.update(
                each.arg for each in ast.walk(code.args) if isinstance(each, ast.arg)
            )
        body = getattr(code, "body", code)
        for statement in body if isinstance(body, list) else [body]:
            self._value(statement, scope)
        self._variables |= scope.words
        mine = tuple(dict.fromkeys(self._mentions[before:]))
        if "is_op" in scope.words or dpl.is_op in scope.locals.values():
            self._chain(mine)
            self._chain(mine[::-1])  # a pattern of nested calls starts with the last operator

    def _value(self, node: ast.AST, scope: _Scope) -> Any:
        """Read a statement or an expression; return the object that it gives, if known."""
        match node:
            case ast.Expr(ast.Constant()):  # documentation
                return None
            case ast.Constant(constant):
                self.read(constant)
            case ast.UnaryOp() | ast.BinOp() if (number := _number(node)) is not None:
                self.read(number)
            case ast.Name(name, ast.Load()):
                scope.words.add(name)
                self._name(name, scope[name], scope.globals)
                return scope[name]
            case ast.Name(name):
                scope.words.add(name)
                scope.locals[name] = None
            case ast.Attribute(owner, name):
                scope.words.add(name)
                found = self._attribute(self._value(owner, scope), name)
                if isinstance(node.ctx, ast.Load):
                    self._name(name, found, scope.globals)
                    return found
            case ast.Assign(targets, value):
                self._bind(targets, self._value(value, scope), scope)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._bind([target], self._value(value, scope), scope)
            case ast.NamedExpr(target, value):
                self._bind([target], self._value(value, scope), scope)
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inner = replace(scope, words=set())
                results = (e for e in ast.iter_child_nodes(node) if isinstance(e, ast.expr))
                for part in (*node.generators, *results):
                    self._value(part, inner)
                self._variables |= inner.words
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                outside = (*getattr(node, "decorator_list", ()), *getattr(node, "bases", ()))
                defaults = getattr(node, "args", None)
                for part in (*outside, *(ast.iter_child_nodes(defaults) if defaults else ())):
                    if not isinstance(part, ast.arg):
                        self._value(part, scope)
                self.code(node, scope.globals, scope.locals)
            case _:
                for part in ast.iter_child_nodes(node):
                    self._value(part, scope)
        return None

    def _bind(self, targets: Iterable[ast.expr], value: Any, scope: _Scope) -> None:
        for target in targets:
            self._value(target, scope)
            if isinstance(target, ast.Name):
                scope.locals[target.id] = value

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                found = _imported(alias.name, alias.asname is not None, scope.globals)
            else:
                module = _imported(node.module or "", True, scope.globals)
                found = getattr(module, alias.name, None)
                self._name(alias.name, found, scope.globals)
            bound = alias.asname or alias.name.partition(".")[0]
            scope.words.update((alias.name, bound))
            scope.locals[bound] = found

    def _chain(self, ops: tuple[str, ...]) -> None:
        if 1 < len(ops) <= LONGEST:
            self._chains[ops] = None

    def _name(self, name: str, value: Any, names: Mapping[str, Any]) -> None:
        if value is not None and not isinstance(value, ModuleType):
            self.refer(name, value, names)

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, ModuleType | type) and name in vars(owner):
            return vars(owner)[name]
        return getattr(owner, name, None) if isinstance(owner, ModuleType) else None

    def _pattern(self, pattern: dpl.DFPattern) -> None:
        for chain in _paths(pattern)[:PATHS]:
            for name in chain:
                self._text(name)
            self._chain(tuple(name.removeprefix("relax.") for name in chain))

    def _is_own(self, file: str) -> bool:
        path = Path(file)
        return _is_in(path, self._home) or not any(_is_in(path, each) for each in _installed())

    def _is_own_class(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        if module is None:  # a file that was run, not imported
            return True
        file = getattr(module, "__file__", None)
        return file is not None and self._is_own(file)


def _paths(pattern: Any) -> list[tuple[str, ...]]:
    """The operators of a pattern from each of its leaves to its root."""
    if isinstance(pattern, dpl.ExprPattern) and isinstance(pattern.expr, tvm.ir.Op):
        return [(str(pattern.expr.name),)]
    if isinstance(pattern, dpl.CallPattern):
        inner = [path for arg in pattern.args or () for path in _paths(arg)]
        root = _paths(pattern.op)
        return [(*path, *end) for path in inner or [()] for end in root or [()]]
    if not isinstance(pattern, dpl.DFPattern):
        return []
    parts = (getattr(pattern, name, None) for name in _PARTS)
    flat = (each for part in parts for each in (_row(part) or (part,)))
    return [path for each in flat for path in _paths(each)]


_RULES = ("lhs", "rhs", "pattern", "patterns")
"""The fields of pattern rewriters that hold rewriters and patterns."""

_PARTS = ("left", "right", "pattern", "tuple", "fields", "body", "reject")
"""The fields of patterns that hold patterns."""


def _row(part: Any) -> tuple[Any, ...]:
    is_row = isinstance(part, Iterable) and not isinstance(part, dpl.DFPattern | str)
    return tuple(part) if is_row else ()


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _imported(name: str, of_names: bool, names: Mapping[str, Any]) -> Any:
    """The result of an import statement in a function, if the module is already imported.

    Args:
        of_names: `from name import ...`; otherwise `import a.b`, which gives a.
    """
    package = names.get("__package__")
    near = f"{package}.{name}".rstrip(".") if package else name
    return sys.modules.get(name if of_names else name.partition(".")[0], sys.modules.get(near))


@functools.cache
def _operators() -> Mapping[Any, str]:
    """The functions of `relax.op`, with the names of their operators."""
    found = {}
    for name in table:
        function: Any = relax_op
        for part in name.split("."):
            function = getattr(function, part, None)
        if isinstance(function, FunctionType):
            found[function] = name
    return found


@functools.cache
def _registered() -> frozenset[str]:
    """The operators of TVM, except those inserted by the stages of lowering."""
    lowered = {f"relax.{name}" for name, why in LEFT_OUT.items() if why.startswith("structure")}
    return frozenset(map(str, tvm.ir.Op.list_op_names())) - lowered


_TAKES_APART = ("split", "rsplit", "partition", "rpartition", "endswith", "removeprefix")
"""Methods by which code examines a part of a name."""


@functools.cache
def _by_last_part() -> Mapping[str, list[str]]:
    found = defaultdict(list)
    for name in table:
        found[name.rpartition(".")[2]].append(name)
    return found


def _is_misspelled(name: str) -> bool:
    """Return whether it resembles an operator ("softmax", "nn.sofmax"), not a PassContext
    option."""
    last = name.rpartition(".")[2]
    return last in _by_last_part() or bool(difflib.get_close_matches(name, table, n=1, cutoff=0.8))


@functools.cache
def _installed() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = [Path(paths[each]) for each in ("stdlib", "platstdlib", "purelib", "platlib")]
    packages = (__file__, tvm.__file__)
    return (*folders, Path(packages[0]).parents[2], Path(str(packages[1])).parent)


def _is_in(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.is_relative_to(folder)


def _home(thing: object, names: Mapping[str, Any]) -> Path | None:
    """The folder of the package that contains the pass; references into it are also followed."""
    name = str(getattr(thing, "__module__", None) or names.get("__name__", ""))
    module = sys.modules.get(name)
    file = names.get("__file__") or getattr(module, "__file__", None)
    if file is None:
        return None
    first = sys.modules.get(name.partition(".")[0])
    root = getattr(first, "__file__", None)
    if root is None or "." not in name or Path(root).parent in _installed():
        return Path(file).parent
    return Path(root).parent
