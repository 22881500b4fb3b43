"""Contracts of the passes that hand parts of a module to an external backend."""

from __future__ import annotations

import tvm
from tvm import ir, relax

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Exemption, PassContract, Relation, Sought
from ..inspect import (
    attr,
    bindings_of,
    calls_of,
    nodes,
    ops_used,
    prim_funcs,
    public_functions,
    relax_functions,
)
from ..pass_arguments import argument
from ..passcall import PassCall, partitions
from .common import for_all_operators, kind, named_functions, spelled, without_dataflow
from .memory import RENAMED
from .tensorir import ELEMENTWISE, IMPORTS, signature, spell

HIGH_LEVEL = (Stage.RAW, Stage.LEGALIZED)

DPL = ("from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, is_var, wildcard",)

# Operand patterns by operator; the first is the general one.
PATTERNS: dict[str, tuple[str, ...]] = {
    "relax.add": ("(wildcard(), wildcard())", "(wildcard(), is_const())"),
    "relax.multiply": ("(wildcard(), wildcard())", "(wildcard(), is_const())"),
    "relax.subtract": ("(wildcard(), wildcard())",),
    "relax.divide": ("(wildcard(), wildcard())",),
    "relax.maximum": ("(wildcard(), wildcard())",),
    "relax.matmul": (
        "(wildcard(), wildcard())",
        "(wildcard(), is_op('relax.permute_dims')(wildcard()))",
    ),
    "relax.nn.conv2d": ("(wildcard(), wildcard())", "(wildcard(), is_const())"),
    "relax.nn.relu": ("(wildcard())", "(is_op('relax.add')(wildcard(), wildcard()))"),
    "relax.nn.softmax": ("(wildcard())",),
    "relax.exp": ("(wildcard())",),
    "relax.tanh": ("(wildcard())",),
    "relax.negative": ("(wildcard())",),
    "relax.sqrt": ("(wildcard())",),
    "relax.permute_dims": ("(wildcard())",),
    "relax.astype": ("(wildcard())",),
    "relax.sum": ("(wildcard())",),
    "relax.split": ("(wildcard())",),
}


# Patterns, as templates for the text of a call's pattern.
CONSTRAINTS: tuple[str, ...] = (
    "{0}",
    "{0}.has_dtype('float32')",
    "{0} & wildcard().has_shape([2, 3])",
    "{0} & ~wildcard().has_dtype('float16')",
    "{0} | is_op('relax.abs')(wildcard())",
    "is_op('relax.nn.relu')({0}) | {0}",
    "is_op('relax.multiply')({0}, is_var() | is_const())",
    "is_op('relax.concat')(is_tuple([{0}, wildcard()], unordered=True))",
    "is_tuple_get_item({0})",
    "{0}.has_attr({{'axis': 0}})",
    "{0}.dup()",
)


def _fuse_ops_by_pattern(c: Choices, mod: tvm.IRModule) -> PassCall:
    present = sorted(ops_used(mod) & PATTERNS.keys()) or ["relax.add"]
    rules = [
        (_rule_name(c, op), f"is_op({op!r}){c.pick(PATTERNS[op])}")
        for op in dict.fromkeys([c.pick(present), *c.subset(present, 0.3)])
    ]
    if c.flag(0.4):
        rules = [(name, c.pick(CONSTRAINTS).format(pattern)) for name, pattern in rules]
    texts = [f"({name!r}, {pattern})" for name, pattern in rules]
    entries = [name for name, func in named_functions(mod) if not _offloaded(func)]
    options = spelled(
        "",
        bind_constants=False if c.flag(0.4) else None,
        annotate_codegen=True if c.flag(0.4) else None,
        entry_functions=c.subset(entries, 0.7) or None if c.flag(0.2) else None,
    )[1:-1]
    arguments = ", ".join(part for part in (f"[{', '.join(texts)}]", options) if part)
    return PassCall(f"FuseOpsByPattern({arguments})", imports=DPL)


def _rule_name(c: Choices, op: str) -> str:
    return f"{c.pick(['cutlass', 'dnnl'])}.{op.rsplit('.', 1)[-1]}"


def _offloaded(func: relax.Function) -> bool:
    return any(attr(func, name) is not None for name in ("Composite", "Codegen", "Primitive"))


def _fused_by_pattern(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring of annotate_codegen: the wrapper only calls its composite and has its codegen."""
    old = {name for name, _ in named_functions(before)}
    annotated = _annotates(before, call)
    for name, func in named_functions(after):
        if name in old:
            continue
        if not annotated:
            if attr(func, "Composite") is None:
                return "a new function has no attribute Composite"
            continue
        codegen = attr(func, "Codegen")
        if codegen is None or attr(func, "global_symbol") is None:
            return "a new function lacks the attribute Codegen or global_symbol"
        problem = _holds_only_composites(func, str(codegen))
        if problem is not None:
            return problem
    return None


def _holds_only_composites(func: relax.Function, codegen: str) -> str | None:
    """Each call of a Codegen function must be of a local Composite function of that codegen."""
    local = {
        binding.var: binding.value
        for block in func.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Function)
    }
    for block in func.body.blocks:
        for binding in block.bindings:
            value = binding.value
            if not isinstance(value, relax.Call):
                continue
            callee = value.op if isinstance(value.op, relax.Function) else local.get(value.op)
            composite = attr(callee, "Composite") if callee is not None else None
            if composite is None:
                return f"a Codegen function calls {kind(value)}, no Composite function"
            if str(composite).split(".", 1)[0] != codegen:
                return "a Codegen function calls a Composite function of another codegen"
    return None


def _annotates(mod: tvm.IRModule, call: PassCall) -> bool:
    return bool(argument(call, "annotate_codegen", 2))


def _composites(mod: tvm.IRModule) -> list[relax.Function]:
    return [func for _, func in relax_functions(mod) if attr(func, "Composite") is not None]


def _of_primitives(mod: tvm.IRModule) -> str | None:
    """Docstring: it groups what FuseOpsByPattern created, which has the attribute Primitive too.

    FuseOpsByPattern may have created nothing: a model without a match goes through the same passes.
    """
    if not all(attr(func, "Primitive") for func in _composites(mod)):
        return "a Composite function that FuseOpsByPattern did not make (docstring)"
    return None


def _merged(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: composite functions are grouped into functions with Codegen and global_symbol."""
    old = {name for name, _ in named_functions(before)}
    functions = dict(named_functions(after))
    for name, func in functions.items():
        codegen = attr(func, "Codegen")
        if codegen is None:
            if attr(func, "Composite") is None and _calls_composite(func, functions):
                return "a call of a Composite function is left outside of all Codegen functions"
        elif name not in old:
            if attr(func, "global_symbol") is None:
                return "a Codegen function has no global_symbol"
            problem = _holds_only_composites(func, str(codegen))
            if problem is not None:
                return problem
    return None


def _calls_composite(func: relax.Function, functions: dict[str, relax.Function]) -> bool:
    """In a dataflow block: FuseOpsByPattern "only operates within dataflow blocks" (docstring)."""
    blocks = nodes(func, relax.DataflowBlock)
    for binding in (binding for block in blocks for binding in block.bindings):
        value = binding.value
        if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            callee = functions.get(value.op.name_hint)
            if callee is not None and attr(callee, "Composite") is not None:
                return True
    return False


# RunCodegen

# A backend that takes every function and compiles it to nothing.
REGISTER = (
    "tvm_ffi.register_global_func('relax.ext.{0}', lambda functions, options, constants: "
    "[], override=True)"
)


def _run_codegen(c: Choices, mod: tvm.IRModule) -> PassCall:
    backends = sorted({str(_codegen(func)) for func in _of_codegens(mod)}) or ["dnnl"]
    entries = [name for name, func in named_functions(mod) if not _offloaded(func)]
    call = spelled(
        "RunCodegen",
        target_options={backends[0]: {"level": 1}} if c.flag(0.2) else None,
        entry_functions=c.subset(entries) or None if c.flag(0.3) else None,
    )
    return PassCall(
        call, imports=("import tvm_ffi", *(REGISTER.format(backend) for backend in backends))
    )


def _codegen(func: relax.Function) -> object:
    return attr(func, "Codegen")


def _of_codegens(mod: tvm.IRModule) -> list[relax.Function]:
    """The functions with an annotated codegen, local ones among them."""
    return [func for func in nodes(mod, relax.Function) if _codegen(func) is not None]


def _without_symbol(mod: tvm.IRModule) -> str | None:
    if all(attr(func, "global_symbol") is not None for func in _of_codegens(mod)):
        return None
    return "a function with an annotated codegen has no global symbol (docstring)"


def _compiled(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the functions with an annotated codegen become runtime modules."""
    functions = dict(named_functions(after))
    for gvar, func in public_functions(before):
        if _codegen(func) is None and gvar.name_hint not in functions:
            return "a public function without a codegen is lost"
    for call_node in nodes(after, relax.Call):
        # A function that is also used as a value stays for its users, as a function of TVM's own.
        callee = isinstance(call_node.op, ir.GlobalVar) and functions.get(call_node.op.name_hint)
        if callee and _codegen(callee) is not None:
            return "a function with an annotated codegen is still called"
    return None if _of_codegens(before) else _more(before, after)


def _more(before: tvm.IRModule, after: tvm.IRModule) -> str | None:
    """Report additions to a module without a codegen; dead code may disappear, nothing else."""
    if not _attributes(after) <= _attributes(before):
        return "there is no codegen, and the module gets an attribute"
    old = {gvar.name_hint: func for gvar, func in before.functions_items()}
    if not {gvar.name_hint for gvar, _ in after.functions_items()} <= old.keys():
        return "there is no codegen, and a function is new"
    for gvar, func in relax_functions(after):
        left = map(_bound, bindings_of(old[gvar.name_hint]))
        if not all(_bound(binding) in left for binding in bindings_of(func)):
            return "there is no codegen, and a function has other bindings than before"
    return None


def _attributes(mod: tvm.IRModule) -> set[str]:
    return set() if mod.attrs is None else set(map(str, mod.attrs.keys()))


def _bound(binding: relax.Binding) -> tuple[type, str]:
    return type(binding), kind(binding.value)


# SplitCallTIRByPattern

NOTHING_MATCHED = "['', tvm.tirx.IntImm('int32', 0), []]"
FIRST_MATCHED = (
    "['void {global_symbol}() {}', tvm.tirx.IntImm('int32', 1), "
    "list(matches[0].matched_buffers)[:-1]]"
)


def _kernel(name: str) -> str | None:
    """The entry of `ELEMENTWISE` that the PrimFunc of this name presumably computes."""
    name = "tir_sum" if name.startswith("add") else name
    return next((each for each in ELEMENTWISE if name.startswith(each)), None)


def _split_call_tir(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    """A library that offers an elementwise kernel for the shape of some PrimFunc."""
    named = {(gvar.name_hint, signature(func)): None for gvar, func in prim_funcs(mod)}
    # A pattern consists of loops ("Invalid pattern function"), which a scalar does not have.
    found = [(name, each) for name, each in named if each is not None and each[0]]
    if not found:
        return None
    known = [(kernel, each) for name, each in found if (kernel := _kernel(name)) is not None]
    kernel, (shape, dtype) = c.pick(known or [("tir_add_one", found[0][1])])
    if c.flag(0.2):
        kernel, (_, (shape, dtype)) = c.pick(["tir_add_one", "tir_square"]), c.pick(found)
    pattern = spell(kernel, str(shape), dtype)
    code = c.pick([FIRST_MATCHED, NOTHING_MATCHED])
    return PassCall(f"SplitCallTIRByPattern([{pattern}], lambda matches: {code})", imports=IMPORTS)


def _split(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: only what matched is replaced by a call of an ExternFunc."""
    packed = [len(calls_of(mod, "relax.call_dps_packed")) for mod in (before, after)]
    if NOTHING_MATCHED in call.expr and packed[0] != packed[1]:
        return "a library is called although the code generator took nothing"
    return None


_OF_LIBRARIES = ("nn.attention", "matmul", "nn.conv2d")
"""Operators that the libraries of `partitions` take."""


def _for_library(name: str) -> PassContract:
    """The contract of a function that hands parts of a module to an external library."""
    inside = partitions()[name].inside
    allocates = "AllocateWorkspace" in inside
    return PassContract(
        name=name,
        stages=(Stage.RAW,),
        requires=without_dataflow,
        looks_for=Sought(
            lambda mod: not {f"relax.{op}" for op in _OF_LIBRARIES}.isdisjoint(ops_used(mod)),
            ops=_OF_LIBRARIES,
            chains=(("matmul", "add", "nn.relu"), ("nn.conv2d", "add", "nn.relu")),
        ),
        relation=Relation.WORKSPACE if allocates else Relation.SAME,
        exemptions=(RENAMED,),
        inside=inside,
    )


CONTRACTS: tuple[PassContract, ...] = (
    *map(_for_library, partitions()),
    PassContract(
        name="FuseOpsByPattern",
        variants=_fuse_ops_by_pattern,
        stages=HIGH_LEVEL,
        requires=without_dataflow,
        post=_fused_by_pattern,
    ),
    for_all_operators(
        name="MergeCompositeFunctions",
        stages=HIGH_LEVEL,
        requires=_of_primitives,
        looks_for=Sought(
            lambda mod: bool(_composites(mod)),
            traits=(Trait.COMPOSITE, Trait.FUNCTION_CALLS),
        ),
        post=_merged,
        inside=("DeadCodeElimination",),
    ),
    for_all_operators(
        name="RunCodegen",
        variants=_run_codegen,
        stages=HIGH_LEVEL,
        requires=_without_symbol,
        looks_for=Sought(lambda mod: bool(_of_codegens(mod)), traits=(Trait.CODEGEN,)),
        post=_compiled,
        exemptions=(
            Exemption(
                "functions",
                "the functions of a codegen become runtime modules",
                "docstring: produces the runtime::Module with an annotated codegen",
                lambda mod, call: bool(_of_codegens(mod)),
            ),
        ),
        inside=("DeadCodeElimination",),
    ),
    PassContract(
        name="SplitCallTIRByPattern",
        variants=_split_call_tir,
        no_variants="it has no PrimFunc over tensors of static shape",
        looks_for=Sought(
            lambda mod: any(_kernel(gvar.name_hint) for gvar, _ in prim_funcs(mod)),
            traits=(Trait.CALL_TIR,),
        ),
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.TIR_FUSED),
        post=_split,
    ),
)
