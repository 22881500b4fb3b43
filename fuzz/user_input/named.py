"""What the code of a pass names: operators, patterns, classes of nodes, numbers and more.

A pass that looks for one operator of two hundred leaves nearly all modules as they are. Its code
says what it looks for, before the first module is made: in the constants and names of its functions
and classes, in what they refer to (other functions and classes, tables, patterns), and in what the
closures of its decorators hold. That is followed through the files of the user's, and not into
installed packages.

Nothing is executed but the attributes of modules are looked up: the result depends on the code
alone, and is the same in every process.
"""

from __future__ import annotations

import ast
import difflib
import dis
import functools
import inspect
import math
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import dpl

from ...compat.ops import relax_op
from ...generators.ops import LEFT_OUT, table
from ...generators.scope import DTYPES
from ...generators.traits import Trait
from ...oracles.passcall import PassCall, namespace
from ..process.targets import Named

DEEPEST = 60
"""Steps from the pass to what it refers to."""
LARGEST = 1000
"""Elements of a table that are looked at."""
LONGEST = 5
"""Operators of a chain: what is longer is a list of operators, and no pattern."""
PATHS = 8
"""Chains of one pattern."""
NUMBERS = 8
"""Of the numbers in the code, the first ones."""

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
"""By a name without underscores in lower case: of a class of nodes, of a method that visits it
(`visit_if_`), of a function that makes it or a pattern of it, of an operator that is no record, of
an attribute."""

_ATTRS = object()
"""The attributes of some call."""


def names_of(call: PassCall) -> Named:
    """What a pass names. Files of the user's are loaded: only in a process of its own.

    Raises:
        BadPass: the spelling names nothing that can be loaded.
    """
    if call.factory is None:
        return names_in(getattr(relax.transform, call.name, None))
    names = namespace(call.factory)
    name = call.factory.rpartition(":")[2]
    return names_in(names.get(name), names, name)


def names_in(thing: object, names: Mapping[str, Any] = {}, name: str = "") -> Named:
    """What a pass names, or a class or function that makes one.

    Args:
        names: those of the module that has it.
        name: the one under which it is there.
    """
    reader = _Reader(_home(thing, names))
    reader.refer(name, thing, names)
    return reader.named()


def _of_name(file: str, name: str) -> CodeType:
    """The last function of a file that has this name, else what is assigned to it, else all."""
    tree = ast.parse(Path(file).read_bytes())
    whole = compile(tree, file, "exec")
    functions = [each for each in whole.co_consts if isinstance(each, CodeType)]
    for function in reversed(functions):
        if function.co_name == name:
            return function
    assigned = [each for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign)]
    own = [each for each in assigned if name in _stored(each)]
    return compile(ast.Module([*own[-1:]], []), file, "exec") if own else whole


def _stored(statement: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    names = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


class _Reader:
    """Follows references from a pass, depth first, in the order of the code."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._seen: dict[int, object] = {}
        """By id, and kept, so that no id comes twice."""
        self._mentions: list[str] = []
        """Operators that are looked for, in order."""
        self._made: dict[str, None] = {}
        """Operators whose functions are referred to: the pass makes calls of them."""
        self._words: dict[str, None] = {}
        """Texts that may be parts of operators' names."""
        self._variables: set[str] = set()
        """The names of variables and of what is called: a text of that name may be such a name."""
        self._chains: dict[tuple[str, ...], None] = {}
        self._traits: dict[Trait, None] = {}
        self._attributes: dict[str, None] = {}
        self._unknown: dict[str, None] = {}
        self._numbers: dict[float, None] = {}
        self._dtypes: dict[str, None] = {}
        self._depth = 0

    def named(self) -> Named:
        """All that was read."""
        words = [word for word in self._words if word not in self._variables]
        if "relax." not in self._words and self._variables.isdisjoint(_TAKES_APART):
            words = [word for word in words if word not in table]  # "softmax", but not "sum"
        parts = (name for word in words for name in _by_last_part().get(word, ()))
        ops = (
            dict.fromkeys([*self._mentions, *parts])
            or self._made
            or dict.fromkeys(
                op for each in self._attributes for op in _by_attribute().get(each, ())
            )
        )
        return Named(
            tuple(ops),
            tuple(self._chains),
            tuple(self._traits),
            tuple(self._unknown),
            tuple(self._numbers)[:NUMBERS],
            tuple(self._dtypes),
        )

    def refer(self, name: str, thing: Any, names: Mapping[str, Any]) -> None:
        """Read an object that code refers to by a name among these."""
        file = str(names.get("__file__", ""))
        hidden = isinstance(thing, tvm.transform.Pass) and not hasattr(thing, "_inst")
        if hidden and file and self._is_own(file) and id(thing) not in self._seen:
            # TVM does not show the Python function of a pass that a decorator made of it.
            self._seen[id(thing)] = thing
            self.code(_of_name(file, name), names)
        elif isinstance(thing, FunctionType) or (
            isinstance(thing, type) and not self._is_own_class(thing)
        ):
            self._traits.update(dict.fromkeys(TRAITS.get(_letters(name), ())))
        self.read(thing)

    def read(self, thing: Any) -> None:
        """Read an object, and what it refers to."""
        if id(thing) in self._seen or self._depth > DEEPEST:
            return
        self._seen[id(thing)] = thing
        self._depth += 1
        match thing:
            case str():
                self._text(thing)
            case int() | float() if math.isfinite(thing) and thing not in (-1, 0, 1):
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
        if self._is_own(function.__code__.co_filename):
            self.code(function.__code__, function.__globals__, held)
            self._all(function.__defaults__ or ())
        self._all(held.values())

    def _class(self, kind: type) -> None:
        if not self._is_own_class(kind):
            self._traits.update(dict.fromkeys(TRAITS.get(_letters(kind.__name__), ())))
            return
        for base in kind.__mro__:
            if self._is_own_class(base):
                for name, value in vars(base).items():
                    self._visitor(name)
                    if name not in ("__doc__", "__module__", "__qualname__"):
                        self.read(value)

    def _visitor(self, method: str) -> None:
        """`visit_if_` overridden means that the pass looks for an If."""
        if method.startswith("visit_"):
            kind = _letters(method.removeprefix("visit_"))
            self._traits.update(dict.fromkeys(TRAITS.get(kind, ())))

    def code(self, code: CodeType, names: Mapping[str, Any], held: Mapping[str, Any] = {}) -> None:
        """Read a code object, and those inside it.

        Args:
            names: the globals.
            held: what is in its closure.
        """
        before = len(self._mentions)
        local: dict[str, Any] = dict(held)
        self._visitor(code.co_name)
        self._variables.update(code.co_varnames, code.co_names)
        module: Any = None
        constant: Any = None
        at: Any = None  # what is on the stack, where that is known
        for step in dis.get_instructions(code):
            operation, argument = step.opname, step.argval
            if operation == "IMPORT_NAME":
                at = module = _imported(argument, constant is not None, names)
            elif operation == "IMPORT_FROM":
                at = getattr(at if isinstance(at, ModuleType) else module, argument, None)
                self._name(argument, at, names)
            elif operation.startswith(("LOAD_ATTR", "LOAD_METHOD")):
                at = self._attribute(at, argument)
                self._name(argument, at, names)
            elif operation.startswith("STORE_") and isinstance(argument, str | tuple):
                at = self._store(operation, argument, at, local)
            elif operation.startswith(("LOAD_CONST", "LOAD_SMALL_INT")):
                at, constant = None, argument
                if isinstance(argument, CodeType):
                    self.code(argument, names, local)
                else:
                    self.read(argument)
            elif operation.startswith("LOAD_") and isinstance(argument, str | tuple):
                name = argument if isinstance(argument, str) else argument[-1]
                at = local.get(name, names.get(name))
                self._name(name, at, names)
            elif operation not in ("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "SWAP"):
                at = None
        mine = tuple(dict.fromkeys(self._mentions[before:]))
        if "is_op" in code.co_names or dpl.is_op in local.values():
            self._chain(mine)
            self._chain(mine[::-1])  # a pattern of nested calls begins with the last operator

    def _chain(self, ops: tuple[str, ...]) -> None:
        if 1 < len(ops) <= LONGEST:
            self._chains[ops] = None

    def _name(self, name: str, value: Any, names: Mapping[str, Any]) -> None:
        if value is not None and value is not _ATTRS and not isinstance(value, ModuleType):
            self.refer(name, value, names)

    def _attribute(self, owner: Any, name: str) -> Any:
        if owner is _ATTRS:
            self._attributes[name] = None
            return None
        if isinstance(owner, ModuleType | type) and name in vars(owner):
            return vars(owner)[name]
        if isinstance(owner, ModuleType):
            return getattr(owner, name, None)
        return _ATTRS if name == "attrs" else None

    def _store(self, operation: str, argument: Any, at: Any, local: dict[str, Any]) -> Any:
        """Python 3.13 has operations that store one name and load or store another."""
        first, *rest = (argument,) if isinstance(argument, str) else argument
        if not operation.startswith(("STORE_ATTR", "STORE_SUBSCR")):
            local[first] = at
        return local.get(rest[0]) if rest and "_LOAD_" in operation else None

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
        if module is None:  # a file that was run, and not imported
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
"""The fields of rewriters by patterns that hold rewriters and patterns."""

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


def _is_documentation(code: CodeType) -> bool:
    first = next(iter(code.co_consts), None)
    return isinstance(first, str) and " " in first


def _imported(name: str, of_names: bool, names: Mapping[str, Any]) -> Any:
    """What an import statement in a function gives, if it has been imported by now.

    Args:
        of_names: `from name import ...`; `import a.b` gives a.
    """
    package = names.get("__package__")
    near = f"{package}.{name}".rstrip(".") if package else name
    return sys.modules.get(name if of_names else name.partition(".")[0], sys.modules.get(near))


@functools.cache
def _operators() -> Mapping[Any, str]:
    """The functions of `relax.op` by themselves."""
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
    """The operators of TVM but those that the stages of lowering put into modules."""
    lowered = {f"relax.{name}" for name, why in LEFT_OUT.items() if why.startswith("structure")}
    return frozenset(map(str, tvm.ir.Op.list_op_names())) - lowered


_TAKES_APART = ("split", "rsplit", "partition", "rpartition", "endswith", "removeprefix")
"""Methods with which code looks at a part of a name."""


@functools.cache
def _by_last_part() -> Mapping[str, list[str]]:
    found = defaultdict(list)
    for name in table:
        found[name.rpartition(".")[2]].append(name)
    return found


def _is_misspelled(name: str) -> bool:
    """Such as "softmax" and "nn.sofmax"; not an option of PassContext."""
    last = name.rpartition(".")[2]
    return last in _by_last_part() or bool(difflib.get_close_matches(name, table, n=1, cutoff=0.8))


@functools.cache
def _by_attribute() -> Mapping[str, list[str]]:
    """Operators by attribute: the functions of TVM have parameters of these names."""
    found = defaultdict(list)
    for function, name in _operators().items():
        for parameter in inspect.signature(function).parameters:
            found[parameter].append(name)
    return found


@functools.cache
def _installed() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = [Path(paths[each]) for each in ("stdlib", "platstdlib", "purelib", "platlib")]
    packages = (__file__, tvm.__file__)
    return (*folders, Path(packages[0]).parents[2], Path(str(packages[1])).parent)


def _is_in(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.is_relative_to(folder)


def _home(thing: object, names: Mapping[str, Any]) -> Path | None:
    """The folder of the package that the pass is in; what is there is followed, too."""
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
