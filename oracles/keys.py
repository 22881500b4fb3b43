"""Keys of violations: the essence of a raised exception, or of the difference of two modules.

One root cause shows in many modules, operators, dtypes and ranks. Names, numbers and addresses
differ between these and are dropped. So is the text of messages: an exception is identified by its
origin (`identity`).
"""

from __future__ import annotations

import re
import traceback
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op
from tvm_ffi.access_path import AccessKind, AccessPath

from .text import frames as stack
from .text import messages
from .violation import Raised, Violation


def exception(error: BaseException) -> Violation:
    """The violation for an exception, keyed by its class and the place that raised it."""
    kind, written = type(error).__name__, messages.text_of(error)
    frames = stack.inside(stack.frames_of(stack.cause_of(error)))
    trace = stack.trace(stack.from_within(frames), kind, written)
    file, line = stack.origin(frames)
    function = trace.functions[-1] if trace.functions else kind
    first = messages.headline(written) if written.strip() else ""
    return Violation(
        title=f"{kind}: {first}" if first else f"{kind} in {function}",
        detail=messages.shortened("".join(traceback.format_exception(error))).rstrip(),
        key=(kind, trace.condition or function),
        place=f"{file}:{line}" if file else "",
        trace=trace,
        raised=Raised(kind, stack.within(frames), stack.own(frames)),
    )


OPAQUE = "external_mods"
"""The module attribute for compiled code, which TVM can neither compare nor save."""


def comparable(mod: tvm.IRModule) -> tvm.IRModule:
    """The module, without its compiled code."""
    attrs = mod.attrs
    return mod.without_attr(OPAQUE) if attrs is not None and OPAQUE in attrs else mod


def compiled(mod: tvm.IRModule) -> int:
    """The number of attached modules of compiled code."""
    attrs = mod.attrs
    return len(attrs[OPAQUE]) if attrs is not None and OPAQUE in attrs else 0


def mismatch(
    before: tvm.IRModule, after: tvm.IRModule, what: str, *, located: bool = False
) -> Violation | None:
    """The first place where two modules differ; None if they are equal.

    Args:
        what: the beginning of the title, e.g. "a second run changes the result".
        located: the key has the kind of node that differs. In results of a pass that node is
            accidental to the module; TVM's failure to print concerns one kind.
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
    """The innermost IR node on an access path, the step after it, and the text of the end."""
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
    return found, last, messages.value_text(node)


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
    """The kind of a called operator. Those that compute on tensors are all one kind, since which of
    them shows the bug is accidental."""
    if not isinstance(op, Op):
        return f"Call of a {type(op).__name__}"
    name = str(op.name)
    return "Call of an operator" if computes(name) else name


_STRUCTURAL = re.compile(
    r"relax\.(?:call_|invoke_|builtin\.|memory\.|vm\.|make_closure|shape_of|astype|hint_on|to_vdevice|"
    r"print|assert_op|null_value|tensor_to_shape|shape_to_tensor|grad\.|ccl\.|inspect\.)|tirx?\."
)


def computes(op: str) -> bool:
    """True for operators of models (add, conv2d), not for the compiler's own."""
    return _STRUCTURAL.match(op) is None
