"""Keys of violations: exceptions, checker messages and differences without their accidents.

One root cause shows in many modules, operators, dtypes and ranks. What differs between those
(names, numbers, addresses, printed expressions) is dropped; what the compiler's author wrote (the
message, the kind of node) is kept. A key holds no file and line of TVM, which differ between
versions: they are the violation's `place`.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op
from tvm_ffi.access_path import AccessKind, AccessPath

from ..compat.schema import current_class
from . import LONGEST_MESSAGE
from .inspect import nodes
from .text import frames as stack
from .text.paths import as_there
from .violation import Raised, Violation

KEPT = 200_000
"""Characters of an exception's text that are kept."""

READ = 3_000
"""Characters of a message that are looked at, printed functions left out: TVM prints much."""


def exception(error: BaseException) -> Violation:
    """An exception by its class and normalized message, with the place that raised it."""
    kind, written = type(error).__name__, as_there(text_of(error))
    if isinstance(error, AttributeError):
        # The attribute's name is one of the compiler's source; the object's class is an accident.
        text = re.sub(r"'[\w.]+' object", "object", written)
    else:
        text = message(written)
    frames = stack.frames_of(error)
    file, line, function = stack.origin(frames)
    revisits = any((frame.line or "").startswith("return super().visit_") for frame in frames)
    if revisits and "relax/op/" in file:
        # A pass written in Python left the node to the visitor for all nodes. Which operator
        # refuses the operands that the pass gave it is an accident.
        text, file = REFUSED, ""
    return Violation(
        title=f"{kind}: {headline(written)}" if text else f"{kind} in {function}",
        detail=as_there(_shortened("".join(traceback.format_exception(error)))).rstrip(),
        key=(kind, text or function),
        place=f"{file}:{line}" if file else "",
        raised=Raised(
            kind,
            text,
            function,
            stack.legalizes(frames),
            stack.legalization(frames),
            stack.caller(frames),
            stack.analysis(frames),
        ),
    )


def text_of(error: BaseException) -> str:
    """The message of an exception; empty where it cannot be had."""
    try:
        return _shortened(str(error))
    except Exception:  # a pass may raise what cannot be shown
        return ""


def _shortened(text: str) -> str:
    if len(text) <= KEPT:
        return text
    left = len(text) - KEPT
    return f"{text[: KEPT // 2]}\n[{left} characters]\n{text[-KEPT // 2 :]}"


REFUSED = "an operator refuses the operands that the pass gave it"


# Messages


HEADLINE = 160
"""Characters of a headline."""


def headline(text: str) -> str:
    """The first line of a message, for people: short, without addresses and printed programs.

    What is wrong is never cut: it comes before a failed check's condition in a line too long for
    both, printed nodes lose their operands there, and a line that announces the next one has it.
    """
    text = _LISTING.sub("<function>", text).strip()
    line, _, rest = text.partition("\n")
    condition = _CONDITION.match(text)
    if condition and (len(line) > HEADLINE or not line[condition.end() :].strip(" :")):
        said = explanation(text).lstrip(" :\n").partition("\n")[0]
        line = f"{said} ({condition[0].rstrip(' :')})" if said else line
    elif line.rstrip().endswith(":"):
        line = " ".join([line.rstrip(), *rest.strip().splitlines()[:1]])
    if len(line) > HEADLINE:
        line = _without_operands(line)
    line = re.sub(r"0x[0-9a-fA-F]+", "<address>", line)
    return line if len(line) <= HEADLINE else line[: HEADLINE - 1] + "…"


_NAMED = re.compile(r'\bname="([^"]*)"')


def _without_operands(text: str) -> str:
    """Printed nodes by their names alone: `R.add(lv5, gv)` as `R.add(…)`."""
    parts: list[str] = []
    at = 0
    while (found := _PRINTED.search(text, at)) is not None:
        end = _closing(text, found.end()) if found.group(1) else found.end()
        operands = text[found.end() : end]
        named = _NAMED.search(operands)
        shown = found.group() + ("…)" if found.group(1) else "")
        parts += text[at : found.start()], named[1] if named else shown
        at = end
    return "".join(parts) + text[at:]


_APPENDED = re.compile(r"\n\s*(?:Error in pass|Access path|Error location|Traceback)\b.*", re.S)
"""What TVM appends to the message of an exception that leaves a pass."""

_CONDITION = re.compile(r"Check failed: .*?(?: is false\b| \(\S+ vs\. \S+\) ?:|$)", re.M)
"""The source text of a failed check: the same for every module, whatever names are in it."""

_NAMESPACE = re.compile(r"\b(?:tvm::)?(?:arith|ir|prim|relax|s_tir|sym|tirx?)::")
"""Classes move between the namespaces of the compiler's parts, and a check is the same check."""

_TYPE_KEY = re.compile(r"`((?:[a-z_]\w*\.)+([A-Z]\w*))`")
"""A class as messages of TVM's object system name it: `tirx.PrimFunc`."""

_LISTING = re.compile(r"# from \w[\w.]* import.*?(?=\s(?:has|is|does|which|but)\s|\Z)", re.S)
_PRINTED = re.compile(r"(?<!`)\b(?:[RTI]|ir|relax|tirx?|s_tir|ffi)\.[A-Za-z_][\w.]*(\()?")

_MAYBE_NAMED = re.compile(r"(?<![\w.<`])(\w+(?=\()|\w*[a-zA-Z]_\w+)(\()?")
"""A call, or what has an underscore."""

_MARK = r"<(?:name|n|node|list)>"
"""What stands for a name, a number, a node or several of them."""

_SUBSTITUTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.S), replacement)
    for pattern, replacement in (
        # Below its first line a diagnostic shows the source text with carets.
        (r"\n\s*--> .*", ""),
        # Metadata of printed constants, which comes with some modules only.
        (r"\s*# Metadata omitted\. Use show_meta=True in script\(\) method to show it\.", ""),
        (r'\bmetadata\["[^"\n]*"\]\[\d+\]', "<node>"),
        (r"\b(buffers) \S+ and \S+", r"\1 <name> and <name>"),
        (r"\b(mapped to the same relax var:) \S+", r"\1 <n>"),
        # After "but got" comes whatever the module happened to have there.
        (
            r"(\b(?:but|however|instead|,)[, ]+(?:it |we |the \w+ )?"
            r"(?:got|gets|found|received|is)\b).*",
            r"\1",
        ),
        (r'(?<!attribute )(?:"[^"\n]*"|\'[^\'\n]*\')', "<name>"),
        (r"0x[0-9a-fA-F]+", "<address>"),
        (r"\b(?:bfloat16|float\d+\w*|u?int\d+|bool)(?:x\d+)?\b", "<dtype>"),
        (r"\b\w*\d\w*\b", "<n>"),
        # A layout, which follows from ranks.
        (r"\b(?:[NCDHWOI]{3,6}|AB(?:C(?:D(?:EF?)?)?)?)\b", "<name>"),
        # What has no vowel is a variable (lv, gv, x), whatever the module calls it.
        (
            r"(?<![\w<>%.!:'-])(?!(?:vs|[lr]hs)\b)[b-df-hj-np-tv-xz]+(?![\w>'-]|[.:]+[\w<])",
            "<name>",
        ),
        # A message that begins with the name of a buffer.
        (r"\A([\s:]*)\S+(?= (?:is|was) (?:allocated|declared)\b)", r"\1<name>"),
        # An operator's own name of its operand.
        (r"\b(argument <n>) \(<?\w+>?\)", r"\1"),
        # A product, sum or comparison of dimensions.
        (rf"{_MARK}(?: (?:[-+*/%]|//|[<>]=?|[=!]=) {_MARK})+", "<node>"),
        (r"[\[(][\w\s,*+/<>-]*[,<][\w\s,*+/<>-]*[\])]", "<list>"),
        (r"\b([Aa]rgument) <list> ", r"\1 <name> "),
        # An empty name, as buffers of TOPI have it, leaves two spaces.
        (r"\b([Vv]ar|[Vv]ariable|[Bb]uffer)  (?=(?:is|has|was|must)\b)", r"\1 <name> "),
        # The checker of TensorIR writes where a variable is used, or was defined, behind its name.
        (r"\b(undefined variable) \S+", r"\1 <name>"),
        (
            r"\b((?:[Dd]ataflow)?[Vv]ar|[Gg]lobalVar|[Vv]ariable|[Ff]unction|[Pp]aram(?:eter)?|[Bb]uffer|"
            r"[Aa]rgument|[Ll]ayout|[LR]HS(?: of)?)\s+"
            r"(?!is\b|has\b|was\b|must\b|does\b|can|<list>)\S+?"
            r"(?=\s+(?:is|has|was|must|does|can|cannot|could|not|in|and|used|as|with)\b"
            r"|\s*(?:[,:;]|\.\s|\.?$))",
            r"\1 <name>",
        ),
        (r"\s+", " "),
    )
)


_names: contextvars.ContextVar[Callable[[], frozenset[str]] | None] = contextvars.ContextVar(
    "names", default=None
)


@contextlib.contextmanager
def about(mod: tvm.IRModule) -> Iterator[None]:
    """Messages are about this module meanwhile: its names are dropped from them."""
    token = _names.set(functools.cache(lambda: frozenset(_identifiers(mod))))
    try:
        yield
    finally:
        _names.reset(token)


def _without_names(text: str) -> str:
    """Replace calls of the functions of the module at hand, and its names with an underscore.

    Other names may be words of the compiler's.
    """
    of_module = _names.get()
    if of_module is None or _MAYBE_NAMED.search(text) is None:
        return text
    names = of_module()
    parts: list[str] = []
    at = 0
    for found in _MAYBE_NAMED.finditer(text):
        name = found.group(1)
        if found.start() >= at and name in names:
            end = _closing(text, found.end()) if found.group(2) else found.end()
            parts += text[at : found.start()], "<node>" if found.group(2) else "<name>"
            at = end
    return "".join(parts) + text[at:]


def _identifiers(mod: tvm.IRModule) -> Iterator[str]:
    """The names of functions, variables and buffers, and the texts among attributes."""
    for gvar, func in mod.functions_items():
        yield str(gvar.name_hint)
        for node in (func, *nodes(func, tvm.ir.Expr)):
            if isinstance(node, relax.Var | tvm.tirx.Var):
                yield str(node.name)
            elif isinstance(node, relax.ExternFunc):
                yield str(node.global_symbol)
            attrs = getattr(node, "attrs", None)
            if isinstance(attrs, tvm.ir.DictAttrs):
                yield from (value for _, value in attrs.items() if isinstance(value, str))


def message(text: str, *, ops: bool = False) -> str:
    """A message without source listings, names, numbers, addresses, shapes, printed nodes.

    Which names with an underscore are the module's, not the compiler's, is known within `about`.

    Args:
        ops: keep the names of the compiler's own operators in printed expressions.
    """
    text = _APPENDED.sub("", re.sub(r"[^\s -~]+", "", text))
    condition = _CONDITION.match(text[:READ])
    head = condition.group() if condition else ""
    # What is wrong with a printed function stands behind it, however long it is.
    text = _LISTING.sub("<function>", text[len(head) :])[:READ]
    text = _without_names(_without_nodes(_TYPE_KEY.sub(_class, text), ops))
    for pattern, replacement in _SUBSTITUTIONS:
        text = pattern.sub(replacement, text)
    head = _NAMESPACE.sub("", re.sub(r" \(\S+ vs\. \S+\) ?:$", ":", head))
    return (head + text).strip()[:LONGEST_MESSAGE].strip()


def explanation(text: str) -> str:
    """What a message says for people: without a failed check's condition and what TVM appends."""
    text = _APPENDED.sub("", text)[:READ]
    return _CONDITION.sub("", text, count=1).strip() if _CONDITION.match(text) else text.strip()


def _class(found: re.Match[str]) -> str:
    """The class of a type key: where it lives differs between versions, and a few were renamed."""
    return f"`{current_class(found[1])}`"


def _without_nodes(text: str, ops: bool) -> str:
    """Replace what TVM prints of nodes (`R.add(lv5, gv)`, `ir.Op(...)`) by a word."""
    parts: list[str] = []
    at = 0
    while (found := _PRINTED.search(text, at)) is not None:
        name = found.group().rstrip("(")
        keep = (
            ops and name.startswith("R.") and name[2].islower() and not computes(f"relax{name[1:]}")
        )
        parts += text[at : found.start()], name if keep else "<node>"
        at = _closing(text, found.end()) if found.group(1) else found.end()
    return "".join(parts) + text[at:]


def _closing(text: str, start: int) -> int:
    """The place behind the parenthesis that closes the one before `start`; the end where none."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


# Differences

OPAQUE = "external_mods"
"""The module attribute with compiled code: TVM can neither compare nor save what is in it."""


def comparable(mod: tvm.IRModule) -> tvm.IRModule:
    """The module, without its compiled code."""
    attrs = mod.attrs
    return mod.without_attr(OPAQUE) if attrs is not None and OPAQUE in attrs else mod


def compiled(mod: tvm.IRModule) -> int:
    """How many modules of compiled code are attached."""
    attrs = mod.attrs
    return len(attrs[OPAQUE]) if attrs is not None and OPAQUE in attrs else 0


def mismatch(
    before: tvm.IRModule, after: tvm.IRModule, what: str, *, located: bool = False
) -> Violation | None:
    """The first place where two modules differ; None where they are equal.

    Args:
        what: the beginning of the title, e.g. "a second run changes the result".
        located: the key has the kind of node that differs. What a pass makes differently shows at
            one node or another, by accident of the module; what TVM cannot print is one kind.
    """
    before, after = comparable(before), comparable(after)
    paths = tvm_ffi.get_first_structural_mismatch(before, after, map_free_vars=True)
    if paths is None:
        return None
    old, old_step, old_text = _site(before, paths[0])
    new, new_step, new_text = _site(after, paths[1])
    where = f"{old} / {new}"
    if old == new:
        where = ", ".join(filter(None, (old, old_step or new_step)))
    places = " / ".join(dict.fromkeys(map(str, paths)))
    detail = f"{what}\nat {places}\n  one:   {old_text}\n  other: {new_text}"
    return Violation(f"{what} at {where}", detail, (what, where) if located else (what,))


_MISSING = (
    AccessKind.ATTR_MISSING,
    AccessKind.ARRAY_ITEM_MISSING,
    AccessKind.MAP_ITEM_MISSING,
)


def _site(root: tvm.IRModule, path: AccessPath) -> tuple[str, str, str]:
    """The innermost IR node on an access path, the last step behind it, and what is at its end."""
    found, last = "", ""
    node: Any = root
    for step in path.to_steps():
        kind = AccessKind(step.kind)
        if kind in (AccessKind.ATTR, AccessKind.ATTR_MISSING) or isinstance(step.key, str):
            last = str(step.key)
        if kind in _MISSING:
            return f"{found} missing", last, "nothing"
        try:
            node = getattr(node, step.key) if kind is AccessKind.ATTR else node[step.key]
        except (AttributeError, IndexError, KeyError, TypeError):
            break
        if (name := kind_of(node)) is not None:
            found, last = name, ""
    return found, last, value_text(node)


def kind_of(node: Any) -> str | None:
    """The kind of an IR node for keys: the operator it calls, or its class; else None."""
    if isinstance(node, relax.Binding):
        return kind_of(node.value) if isinstance(node, relax.VarBinding) else "MatchCast"
    if isinstance(node, relax.Call):
        return _operator(node.op)
    if isinstance(node, relax.Var):
        return "Var"
    if isinstance(node, relax.Expr | tvm.ir.BaseFunc | tvm.ir.Type | relax.BindingBlock):
        return type(node).__name__
    return None


def _operator(op: Any) -> str:
    """Operators that compute on tensors are one kind: which of them it hit is an accident."""
    if not isinstance(op, Op):
        return f"Call of a {type(op).__name__}"
    name = str(op.name)
    return "Call of an operator" if computes(name) else name


_STRUCTURAL = re.compile(
    r"relax\.(?:call_|invoke_|builtin\.|memory\.|vm\.|make_closure|shape_of|astype|hint_on|to_vdevice|"
    r"print|assert_op|null_value|tensor_to_shape|shape_to_tensor|grad\.|ccl\.|inspect\.)|tirx?\."
)


def computes(op: str) -> bool:
    """It is one of the many operators of the model (add, conv2d), not one of the compiler's own."""
    return _STRUCTURAL.match(op) is None


def value_text(value: Any) -> str:
    """What stands at one place of a module, as people write it; the beginning of what is long."""
    if isinstance(value, Op):
        return str(value.name)
    if isinstance(value, str):
        return repr(str(value))
    return clip(str(value.numpy() if isinstance(value, tvm.runtime.Tensor) else value))


def clip(text: str) -> str:
    """The beginning of a node's text, which may be a whole function's."""
    return text if len(text) <= 500 else text[:500] + " …"


def listing(mod: tvm.IRModule) -> str:
    """The module as TVMScript for a report, or why TVM cannot print it."""
    try:
        return str(mod.script())
    except Exception as error:
        return f"(TVM cannot print the module: {headline(str(error))})"
