"""Interface kept: the functions that others can call, their signatures and attributes."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.analysis import type_base_check

from .. import keys
from ..contract import Relation
from ..identity import FailureKind
from ..inspect import attr, bindings_of, is_public, nodes
from ..oracle import ALL, TWINS, Breach, Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import excused
from ..tensorir.threads.launch import DEVICE_KERNEL
from ..text import messages
from ..violation import Case, Violation
from .result_types import inferred_wrongly, says_as_much, since

SAME_SIGNATURE = (Relation.SAME, Relation.LOOSE, Relation.ADJOINT)
SAME_FUNCTIONS = (Relation.SAME, Relation.LOOSE)

SAME_RESULT = (
    Relation.BOUND_PARAMS,
    Relation.BOUND_SIZES,
    Relation.BUNDLED_PARAMS,
    Relation.LAZY_INPUT,
    Relation.WORKSPACE,
)
"""Relations in which only parameters change, of all the things that callers see."""

TRANSFORM = "transform_params"
"""The suffix of the name of a function that makes weights. LiftTransformParams changes its result
on purpose, and composes an existing one with its own."""

IMPURE = "a pure public function becomes impure"

LESS_KNOWN = "less is known of the result of a public function"


def functions(runs: PassRuns) -> Violation | None:
    """Check that no public function disappears, and none appears unless the contract allows it."""
    after = runs.changed_result()
    if after is None:
        return None
    old, new = _both(runs)
    for name in sorted(old.keys() - new.keys()):
        if _replaced(name, after):
            continue
        kind = type(old[name]).__name__
        return _violation(f"a public {kind} is lost or renamed", name, after)
    if runs.contract.relation in SAME_FUNCTIONS:
        for name in sorted(new.keys() - old.keys()):
            kind = type(new[name]).__name__
            if attr(new[name], "Codegen") is not None:
                continue  # a library is expected to define it, under its global_symbol
            if attr(new[name], "calling_conv") == DEVICE_KERNEL:
                continue  # SplitHostDevice: "splits them into host and device-side PrimFuncs"
            return _violation(f"a {kind} becomes public, or a public one is added", name, after)
    return None


def signature(runs: PassRuns) -> Violation | None:
    """Public functions keep the names and types of parameters and the types of results.

    The type of a result may become more precise. A pass that changes parameters on purpose keeps
    the functions with unchanged parameters, and keeps purity and result of the others.
    """
    after = runs.changed_result()
    if after is None:
        return None
    keeps = runs.contract.relation in SAME_SIGNATURE
    for name, old, new in _pairs(runs):
        if name.endswith(TRANSFORM) and runs.contract.relation is Relation.LIFTED_PARAMS:
            continue
        if keeps or _same_params(old, new):
            wrong = _signature(old, new)
        else:
            wrong = _beside_params(old, new, runs.contract.relation)
        if wrong is not None:
            heads = f"{name}\nbefore: {_head(old)}\nafter:  {_head(new)}"
            found = _violation(wrong, heads, after)
            return dataclasses.replace(found, pass_name=inferred_wrongly(old, new) or "")
    return None


def attributes(runs: PassRuns) -> Violation | None:
    """Attributes of public functions and of the module stay, as do its global infos.

    So do attributes of private functions that are otherwise unchanged. Other private functions may
    be new ones under an old name.
    """
    after = runs.changed_result()
    if after is None:
        return None
    mod = runs.mod
    wrong = _lost(_attrs(mod), _attrs(after), "module attribute") or _lost(
        dict(mod.global_infos), dict(after.global_infos), "global info"
    )
    if wrong is not None:
        return _kind_of_loss(wrong, "an attribute or global info of the module", "", after)
    keeps = runs.contract.relation in (*SAME_SIGNATURE, Relation.LOWERED)
    for name, old, new in _pairs(runs):
        owned = {"global_symbol"} if keeps else {"global_symbol", "num_input"}
        attrs = {key: value for key, value in _attrs(old).items() if key not in owned}
        wrong = _lost(attrs, _attrs(new), f"attribute of a public {type(old).__name__}")
        if wrong is not None:
            whose = f"an attribute of a public {type(old).__name__}"
            return _kind_of_loss(wrong, whose, name, after)
    for name, old, new in _kept_privately(mod, after):
        kind = type(old).__name__
        wrong = _lost(_attrs(old), _attrs(new), f"attribute of a private {kind}")
        if wrong is not None:
            return _kind_of_loss(wrong, f"an attribute of a private {kind}", name, after)
    return None


def _kept_privately(mod: tvm.IRModule, after: tvm.IRModule) -> Iterator[tuple[str, Any, Any]]:
    """Yields private functions on both sides that differ in attributes alone."""
    new = {str(gvar.name_hint): func for gvar, func in after.functions_items()}
    for gvar, func in mod.functions_items():
        name = str(gvar.name_hint)
        other = new.get(name)
        if is_public(func) or other is None or func.same_as(other) or not _attrs(func):
            continue
        if _same_but_attributes(func, other):
            yield name, func, other


def _same_but_attributes(old: Any, new: Any) -> bool:
    if type(old) is not type(new) or not isinstance(old, relax.Function | tirx.PrimFunc):
        return False
    if tvm_ffi.structural_equal(old.attrs, new.attrs):
        return False
    return bool(tvm_ffi.structural_equal(_bare(old), _bare(new)))


def _bare(func: Any) -> Any:
    for name in _attrs(func):
        func = func.without_attr(name)
    return func


def _replaced(name: str, after: tvm.IRModule) -> bool:
    """True if an ExternFunc with source code defines the symbol.

    The code generator makes a module of that code (src/relax/backend/vm/codegen_vm.cc, `c_source`).
    """
    return any(
        isinstance(func, relax.ExternFunc)
        and func.global_symbol == name
        and attr(func, "c_source") is not None
        for func in after.functions.values()
    )


def _public(mod: tvm.IRModule) -> dict[str, Any]:
    return {str(gvar.name_hint): func for gvar, func in mod.functions_items() if is_public(func)}


@functools.lru_cache(maxsize=1)
def _both(runs: PassRuns) -> tuple[dict[str, Any], dict[str, Any]]:
    """The public functions before and after."""
    assert runs.direct.mod is not None
    return _public(runs.mod), _public(runs.direct.mod)


def _pairs(runs: PassRuns) -> Iterator[tuple[str, Any, Any]]:
    """Yields public functions of both modules that are different objects."""
    old, new = _both(runs)
    for name, func in sorted(old.items()):
        if name in new and not func.same_as(new[name]):
            yield name, func, new[name]


def _signature(old: Any, new: Any) -> str | None:
    if type(old) is not type(new):
        return f"a public {type(old).__name__} becomes a {type(new).__name__}"
    if isinstance(old, tirx.PrimFunc):
        return _prim_signature(old, new)
    if not isinstance(old, relax.Function):
        return None
    return _types(old, new) or _names(old, new)


def _beside_params(old: Any, new: Any, relation: Relation) -> str | None:
    """The error in a Relax function apart from its parameters, which change on purpose."""
    if relation not in SAME_RESULT or not _are_relax(old, new):
        return None
    if old.is_pure and not new.is_pure:
        return IMPURE
    wrong = contradiction(old, new)
    if wrong == LESS_KNOWN and (_loses_sizes(old, new) or _overstates(old)):
        return None
    return wrong


def _loses_sizes(old: relax.Function, new: relax.Function) -> bool:
    """True if the result's type has a size that only the changed parameters determined."""
    types = {str(param.name): param.ty for param in new.params}
    known = {
        hash(var)
        for param in old.params
        if tvm_ffi.structural_equal(param.ty, types.get(str(param.name)), map_free_vars=True)
        for var in nodes(param.ty, tirx.Var)
    }
    return any(hash(var) not in known for var in nodes(old.ret_ty, tirx.Var))


def _are_relax(*functions: Any) -> bool:
    return all(isinstance(each, relax.Function) for each in functions)


def _same_params(old: Any, new: Any) -> bool:
    """True for two Relax functions with the same names and types of parameters."""
    return _are_relax(old, new) and _names(old, new) is None and _same_param_types(old, new)


def _same_param_types(old: relax.Function, new: relax.Function) -> bool:
    anything = relax.AnyType()
    return bool(
        tvm_ffi.structural_equal(
            relax.FuncType([p.ty for p in old.params], anything),
            relax.FuncType([p.ty for p in new.params], anything),
            map_free_vars=True,
        )
    )


def _prim_signature(old: tirx.PrimFunc, new: tirx.PrimFunc) -> str | None:
    """The error in the signature of a PrimFunc.

    Arguments are passed by position; symbolic sizes, strides and offsets may be renamed.
    """
    if len(old.params) != len(new.params):
        return "a public PrimFunc has another number of parameters"
    if not tvm_ffi.structural_equal(
        [param.ty for param in old.params], [param.ty for param in new.params], map_free_vars=True
    ):
        return "a parameter of a public PrimFunc has another type"
    return None


def _names(old: relax.Function, new: relax.Function) -> str | None:
    """The error in names of parameters, which callers from outside and BindParams use."""
    same = [str(param.name) for param in old.params] == [str(param.name) for param in new.params]
    return None if same else "a parameter of a public function has another name"


def _types(old: relax.Function, new: relax.Function) -> str | None:
    if tvm_ffi.structural_equal(_type(old), _type(new), map_free_vars=True):
        return None
    if len(old.params) != len(new.params):
        return "a public function has another number of parameters"
    if not _same_param_types(old, new):
        return "a parameter of a public function has another type"
    if old.is_pure and not new.is_pure:
        return IMPURE
    declared_more = int(type_base_check(old.ret_ty, old.body.ty)) != 3
    if declared_more and excused(inventory.OVERSTATED):
        return None
    wrong = contradiction(old, new)
    if wrong is not None and _overstates(old) and excused(inventory.OVERSTATED, wrong):
        return None
    return wrong


def _overstates(func: relax.Function) -> bool:
    """True if a variable has a more precise type than its operator infers; a pass may undo that."""
    builder = relax.BlockBuilder()
    for binding in bindings_of(func):
        value = binding.value
        if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
            again = relax.Call(value.op, value.args, value.attrs, value.ty_args)
            if int(type_base_check(binding.var.ty, builder.normalize(again).ty)) != 3:
                return True
    return False


def _type(func: relax.Function) -> relax.FuncType:
    return relax.FuncType([p.ty for p in func.params], func.ret_ty, purity=func.is_pure)


def contradiction(old: relax.Function, new: relax.Function) -> str | None:
    """The error in the new function's result type, or None."""
    if says_as_much(old.ret_ty, new.ret_ty):
        return None
    verdict = int(type_base_check(old.ret_ty, new.ret_ty))
    if verdict != 0:
        return LESS_KNOWN
    return retyped(since(old, new))


def retyped(operator: str | None) -> str:
    """The key for a result of another type, with the operator that causes it, if known."""
    reason = "" if operator is None else f", since {operator} has"
    return f"the result of a public function has another type{reason}"


def _attrs(node: Any) -> dict[str, Any]:
    return {} if node.attrs is None else {str(key): value for key, value in node.attrs.items()}


def _lost(old: Mapping[str, Any], new: Mapping[str, Any], what: str) -> str | None:
    for name, value in sorted(old.items()):
        if name not in new:
            return f"the {what} {name} is lost"
        if name != keys.OPAQUE and not tvm_ffi.structural_equal(
            value, new[name], map_free_vars=True
        ):
            return f"the {what} {name} is changed"
    return None


def _violation(title: str, detail: str, after: tvm.IRModule) -> Violation:
    return Violation.titled(title, f"{title}: {detail}\n\n{messages.listing(after)}")


def _kind_of_loss(wrong: str, whose: str, detail: str, after: tvm.IRModule) -> Violation:
    """The violation for a lost attribute, whose name is accidental and so not in the key."""
    lost = "lost" if wrong.endswith("is lost") else "changed"
    return dataclasses.replace(_violation(wrong, detail, after), key=(f"{whose} is {lost}",))


def _head(func: Any) -> str:
    return str(
        _type(func) if isinstance(func, relax.Function) else f"{len(func.params)} parameters"
    )


LINKAGE = (
    "include/tvm/ir/function.h, kGlobalSymbol: 'we can always refer to it by the symbol name'; "
)


def _function_of(violation: Violation) -> str:
    """The name of the function at the end of the detail's first line."""
    return violation.detail.partition("\n")[0].rpartition(": ")[2]


def _brief_functions(case: Case, violation: Violation) -> Iterator[str]:
    name = _function_of(violation)
    if "is lost" in violation.title:
        yield f"after = the_pass(mod)\nassert {name!r} in after, {violation.title!r}"
    else:
        yield (
            f"after = the_pass(mod)[{name!r}]\n"
            f'assert "global_symbol" not in (after.attrs or {{}}), {violation.title!r}'
        )


def _brief_signature(case: Case, violation: Violation) -> Iterator[str]:
    name = _function_of(violation)
    title = violation.title
    if "number of parameters" in title:
        verdict = f"assert len(before.params) == len(after.params), {title!r}"
    elif "another name" in title:
        names = ("[str(p) for p in after.params]", "[str(p) for p in before.params]")
        verdict = f"assert {' == '.join(names)}, {title!r}"
    elif "parameter" in title:
        types = (f"relax.TupleType([p.ty for p in {side}.params])" for side in ("after", "before"))
        verdict = f"tvm.ir.assert_structural_equal({', '.join(types)}, map_free_vars=True)"
    elif "impure" in title:
        verdict = f"assert after.is_pure, {title!r}"
    elif "result" in title:
        verdict = (
            "known = relax.analysis.type_base_check(before.ret_ty, after.ret_ty)\n"
            'assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"'
        )
    else:
        verdict = f"assert type(before) is type(after), {title!r}"
    yield f"before, after = mod[{name!r}], the_pass(mod)[{name!r}]\n{verdict}"


_ATTRIBUTE = re.compile(
    r"the (?P<whose>module attribute|global info|attribute of a (?:public|private) \w+) "
    r"(?P<key>\S+) "
    r"is (?P<what>lost|changed)"
)


def _brief_attributes(case: Case, violation: Violation) -> Iterator[str]:
    found = _ATTRIBUTE.fullmatch(violation.title)
    if found is None:
        return
    whose = {"module attribute": "mod.attrs", "global info": "mod.global_infos"}.get(
        found["whose"], f"mod[{_function_of(violation)!r}].attrs"
    )
    before, key = whose, found["key"]
    lines = [f"result = the_pass(mod)\nafter = {before.replace('mod', 'result', 1)}"]
    if found["what"] == "lost":
        lines.append(f"assert {key!r} in (after or {{}}), {violation.title!r}")
    else:
        pair = f"after[{key!r}], {before}[{key!r}]"
        lines.append(f"tvm.ir.assert_structural_equal({pair}, map_free_vars=True)")
    yield "\n".join(lines)


FUNCTIONS = Oracle(
    name="functions",
    breach=Breach(FailureKind.FORM, explains=ALL - {1}),
    tier=1,
    promise="Functions with external linkage keep their names, and private ones stay private.",
    source=LINKAGE + "LinkageType: 'Do not remove a function with external linkage'",
    check=functions,
    brief=_brief_functions,
)

SIGNATURE = Oracle(
    name="signature",
    breach=Breach(FailureKind.ILL_FORMED, explains=ALL - {1}),
    # If a result is called as before, its values can be compared.
    breaches={LESS_KNOWN: Breach(FailureKind.ILL_FORMED, explains=frozenset())},
    tier=1,
    promise="Functions with external linkage are called with the same names and types after a "
    "pass.",
    source=LINKAGE + "the callers of an exported function know its signature; "
    "VirtualMachine.set_input: 'kwargs: Named arguments to the function'; "
    "BindParams: 'The map from parameter or parameter name to constant tensors'",
    check=signature,
    brief=_brief_signature,
)

ATTRIBUTES = Oracle(
    name="attributes",
    breach=Breach(FailureKind.FORM, explains=TWINS),
    tier=1,
    promise="A pass keeps the attributes of functions and modules that it does not own.",
    source="include/tvm/ir/attrs.h, DictAttrs: attributes are the meta-data of functions and "
    "modules for others than the pass",
    check=attributes,
    brief=_brief_attributes,
)
