"""Passes that leave a module ill-formed, or break its interface or types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, s_tir, tirx

from relaxfuzz.compat import ir
from relaxfuzz.generators.rewrite.nodes import with_functions, with_parts, with_type
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import (
    attr,
    bindings_of,
    calls_of,
    global_vars,
    is_public,
    nodes,
    op_name,
    relax_functions,
)

from ..specimen import Family, Specimen, of
from .tools import made, on_calls, on_functions, on_prim_funcs


def _without(func: relax.Function, dead: Callable[[relax.Binding], bool]) -> relax.SeqExpr:
    """The body without the bindings at the top of the function that are dead."""
    blocks = [
        type(block)([binding for binding in block.bindings if not dead(binding)])
        for block in func.body.blocks
    ]
    left = [block for block in blocks if block.bindings]
    return with_type(relax.SeqExpr(left, func.body.body), func.body.ty)


def _renamed(
    mod: tvm.IRModule, new: dict[tvm.ir.GlobalVar, tuple[tvm.ir.GlobalVar, relax.Function]]
) -> dict[tvm.ir.GlobalVar, tvm.ir.BaseFunc]:
    """The module's functions, with other GlobalVars and bodies for some of them."""
    return dict(new.get(g, (g, f)) for g, f in mod.functions_items())


def _gvar_of(name: str, func: relax.Function) -> tvm.ir.GlobalVar:
    """A GlobalVar that stands for this function."""
    return with_type(tvm.ir.GlobalVar(name), func.ty)


def _private(mod: tvm.IRModule) -> dict[tvm.ir.GlobalVar, relax.Function]:
    """The private Relax functions without attributes that are only ever called directly."""
    uses = Counter(g for _, f in relax_functions(mod) for g in global_vars(f))
    called = Counter(
        c.op for _, f in relax_functions(mod) for c in calls_of(f) if c.op in dict(uses)
    )
    return {
        gvar: func
        for gvar, func in relax_functions(mod)
        if not is_public(func) and not func.attrs and uses[gvar] == called[gvar] > 0
    }


def counts_blocks() -> tvm.transform.Pass:
    """Notes on each PrimFunc how many blocks it has, for a scheduler to begin with the large."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions: dict[Any, Any] = dict(mod.functions_items())
        for gvar, func in functions.items():
            if isinstance(func, tirx.PrimFunc) and attr(func, "blocks") is None:
                functions[gvar] = func.with_attr("blocks", len(nodes(func, ir.SBlock)))
        if all(func.same_as(mod[gvar]) for gvar, func in functions.items()):
            return mod
        return tvm.IRModule(functions, global_infos=mod.global_infos)

    return made("CountBlocks", transform)


def shares_output_shapes() -> tvm.transform.Pass:
    """Lets what call_tir gives share the shape of an argument that has an equal one."""

    def change(call: relax.Call) -> relax.Expr | None:
        out = call.ty_args[0]
        if not isinstance(out, relax.TensorType):
            return None
        for arg in nodes(call.args[1], relax.Var):
            shape = getattr(arg.ty, "shape", None)
            if isinstance(shape, relax.ShapeExpr) and tvm_ffi.structural_equal(shape, out.shape):
                ty = relax.TensorType(shape, out.dtype)
                return relax.Call(call.op, call.args, call.attrs, [ty])
        return None

    return made("ShareOutputShapes", lambda mod: on_calls(mod, change, "relax.call_tir"))


def one_callee_per_caller() -> tvm.transform.Pass:
    """Gives each caller of a private function a copy of its own, to be specialised for it."""

    @relax.expr_functor.mutator
    class Renewal(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def visit_var_def_(self, var: relax.Var) -> relax.Var:
            return self.renewed(relax.Var, var)

        def visit_dataflow_var_def_(self, var: relax.DataflowVar) -> relax.Var:
            return self.renewed(relax.DataflowVar, var)

        def renewed(self, kind: type[relax.Var], var: relax.Var) -> relax.Var:
            new = kind(str(var.name), var.ty)
            self.set_var_remap(var, new)
            return new

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions: dict[Any, Any] = dict(mod.functions_items())
        names = {gvar.name_hint for gvar in functions}
        private = _private(mod)
        for callee, func in private.items():
            if any(other in private for other in global_vars(func)):
                continue  # a copy would be one more caller of the other
            callers = [g for g, f in relax_functions(mod) if callee in global_vars(f)]
            for caller in callers[1:]:
                name = f"{callee.name_hint}_of_{caller.name_hint}"
                while name in names:
                    name += "_"
                names.add(name)
                copy = Renewal().visit_expr(func)
                own = _gvar_of(name, copy)
                functions[own] = copy
                functions[caller] = _calling(functions[caller], {callee: own})
        if len(functions) == len(mod.functions):
            return mod
        return with_functions(mod, functions)

    return made("OneCalleePerCaller", transform)


def _calling(
    func: relax.Function, instead: dict[tvm.ir.GlobalVar, tvm.ir.GlobalVar]
) -> relax.Function:
    """The function with other callees of the same types."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def visit_global_var_(self, op: tvm.ir.GlobalVar) -> relax.Expr:
            return instead.get(op, op)

    return Mutator().visit_expr(func)


def outlines_broadcasts() -> tvm.transform.Pass:
    """Moves each reshape and broadcast into a private function, where a backend finds it."""

    def symbolic(ty: relax.Type) -> bool:
        return bool(relax.analysis.tir_vars_in_type(ty))

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        @relax.expr_functor.mutator
        class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
            def visit_call_(self, call: relax.Call) -> relax.Expr:
                call = super().visit_call_(call)
                if op_name(call) not in ("relax.reshape", "relax.broadcast_to"):
                    return call
                data, shape = call.args
                if symbolic(data.ty) or not isinstance(shape, relax.ShapeExpr):
                    return call
                param, out = relax.Var("data", data.ty), relax.Var("out", call.ty)
                value = with_type(relax.Call(call.op, [param, shape], call.attrs), call.ty)
                block = relax.BindingBlock([relax.VarBinding(out, value)])
                body = with_type(relax.SeqExpr([block], out), call.ty)
                func = relax.Function([param], body, call.ty).with_attr("Outlined", True)
                return relax.Call(self.builder_.add_func(func, "outlined"), [data])

        mutator = Mutator(mod)
        for gvar, func in relax_functions(mod):
            if not func.attrs or not any(
                name in func.attrs for name in ("Outlined", "Composite", "Codegen", "Primitive")
            ):
                new = mutator.visit_expr(func)
                if not tvm_ffi.structural_equal(new, func):
                    mutator.builder_.update_func(gvar, new)
        return with_functions(mod, dict(mutator.builder_.get().functions_items()))

    return made("OutlineBroadcasts", transform)


def removes_unused_values() -> tvm.transform.Pass:
    """Removes unused bindings of dataflow blocks."""

    def change(func: relax.Function) -> relax.Function:
        while True:
            used = Counter(nodes(func, relax.DataflowVar))
            if all(count > 1 for count in used.values()):
                return func

            def dead(binding: relax.Binding, used: Counter[relax.DataflowVar] = used) -> bool:
                return used[binding.var] == 1  # where it is defined

            body = _without(func, dead)
            if len(bindings_of(body)) == len(bindings_of(func.body)):
                return func  # the rest is in branches and local functions
            func = with_parts(func, body=body)

    return made("RemoveUnusedValues", lambda mod: on_functions(mod, change))


def removes_unused_parameters() -> tvm.transform.Pass:
    """Removes the parameters of private functions that their bodies do not use."""

    def step(mod: tvm.IRModule) -> tvm.IRModule:
        kept: dict[tvm.ir.GlobalVar, list[int]] = {}
        for gvar, func in _private(mod).items():
            used = set(nodes(func.body, relax.Var))
            places = [i for i, param in enumerate(func.params) if param in used]
            if len(places) < len(func.params):
                kept[gvar] = places
        new: dict[tvm.ir.GlobalVar, tuple[tvm.ir.GlobalVar, relax.Function]] = {}
        for gvar, places in kept.items():
            func = with_parts(mod[gvar], params=[mod[gvar].params[i] for i in places])
            new[gvar] = (_gvar_of(gvar.name_hint, func), func)

        @relax.expr_functor.mutator
        class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
            def visit_call_(self, call: relax.Call) -> relax.Expr:
                if call.op in new:
                    args = [call.args[i] for i in kept[call.op]]
                    call = relax.Call(new[call.op][0], args, call.attrs, call.ty_args)
                return super().visit_call_(call)

        if not new:
            return mod
        functions = _renamed(mod, new)
        for gvar, func in functions.items():
            if isinstance(func, relax.Function) and any(c.op in new for c in calls_of(func)):
                functions[gvar] = Mutator().visit_expr(func)
        return with_functions(mod, functions)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        new = step(mod)
        return mod if new.same_as(mod) else transform(new)  # callers may need less now

    return made("RemoveUnusedParameters", transform)


def removes_unused_outputs() -> tvm.transform.Pass:
    """Removes the fields of tuples that private functions return and no caller asks for."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        results = {
            binding.var: binding.value.op
            for binding in bindings_of(mod)
            if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call)
        }
        fields: dict[tvm.ir.GlobalVar, set[int]] = {}
        for item in nodes(mod, relax.TupleGetItem):
            callee = results.get(item.tuple_value)
            if isinstance(callee, tvm.ir.GlobalVar):
                fields.setdefault(callee, set()).add(int(item.index))
        new: dict[tvm.ir.GlobalVar, tuple[tvm.ir.GlobalVar, relax.Function]] = {}
        places: dict[tvm.ir.GlobalVar, list[int]] = {}
        for gvar, func in _private(mod).items():
            result = func.body.body
            asked = sorted(fields.get(gvar, ()))
            if not asked or not isinstance(result, relax.Tuple) or len(asked) == len(result.fields):
                continue
            if not isinstance(func.ret_ty, relax.TupleType):
                continue
            left = relax.Tuple([result.fields[index] for index in asked])
            body = with_type(relax.SeqExpr(func.body.blocks, left), left.ty)
            ret_ty = relax.TupleType([func.ret_ty.fields[index] for index in asked])
            func = with_parts(func, body=body, ret_ty=ret_ty)
            new[gvar] = (_gvar_of(gvar.name_hint, func), func)
            places[gvar] = asked

        @relax.expr_functor.mutator
        class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
            def visit_call_(self, call: relax.Call) -> relax.Expr:
                if call.op in new:
                    call = relax.Call(new[call.op][0], call.args, call.attrs, call.ty_args)
                return super().visit_call_(call)

            def visit_tuple_getitem_(self, op: relax.TupleGetItem) -> relax.Expr:
                callee = results.get(op.tuple_value)
                if callee not in new:
                    return super().visit_tuple_getitem_(op)
                value = self.visit_expr(op.tuple_value)
                return relax.TupleGetItem(value, places[callee].index(int(op.index)))

        if not new:
            return mod
        functions = _renamed(mod, new)
        for gvar, func in functions.items():
            if isinstance(func, relax.Function) and any(c.op in new for c in calls_of(func)):
                functions[gvar] = Mutator().visit_expr(func)
        return with_functions(mod, functions)

    return made("RemoveUnusedOutputs", transform)


def expands_likes() -> tvm.transform.Pass:
    """Replaces zeros_like and ones_like by zeros and ones of the shape that is known."""
    makers = {"relax.zeros_like": relax.op.zeros, "relax.ones_like": relax.op.ones}

    def change(call: relax.Call) -> relax.Expr | None:
        like = call.args[0].ty
        known = isinstance(like.shape, relax.ShapeExpr) and like.dtype is not None
        if not known or call.ty.vdevice is not None:
            return None
        return makers[call.op.name](like.shape, str(like.dtype))

    return made("ExpandLikes", lambda mod: on_calls(mod, change, *makers))


def marks_reductions() -> tvm.transform.Pass:
    """Notes on each PrimFunc with loops whether it reduces; its name serves as key meanwhile."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        def change(gvar: tvm.ir.GlobalVar, func: tirx.PrimFunc) -> tirx.PrimFunc:
            if not nodes(func, ir.For):
                return func
            keyed = func.with_attr("global_symbol", gvar.name_hint)
            kinds = {v.iter_type for block in nodes(func, ir.SBlock) for v in block.iter_vars}
            if tirx.IterVar.CommReduce in kinds:
                return keyed.with_attr("reduces", True)
            done = keyed.with_attr("reduces", False)
            return done if is_public(func) else done.without_attr("global_symbol")

        functions: dict[Any, Any] = {
            gvar: change(gvar, func) if isinstance(func, tirx.PrimFunc) else func
            for gvar, func in mod.functions_items()
        }
        return with_functions(mod, functions)

    return made("MarkReductions", transform)


def unrolls_short_loops() -> tvm.transform.Pass:
    """Unrolls the innermost loop of each block of a PrimFunc if it has at most four iterations."""

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        if not isinstance(func.body, ir.SBlockRealize) or func.body.block.name_hint != "root":
            return func
        # It is given the very function: what shares its body only, the schedule would write into.
        schedule = s_tir.Schedule(tvm.IRModule({"main": func}))
        unrolled = False
        for block in schedule.get_child_blocks(schedule.get_sblock("root")):
            for loop in schedule.get_loops(block)[-1:]:
                found = schedule.get(loop)
                short = isinstance(found.extent, tirx.IntImm) and found.extent.value <= 4
                if short and found.kind == ir.ForKind.SERIAL:
                    schedule.unroll(loop)
                    unrolled = True
        if not unrolled:
            return func
        done = schedule.mod["main"]
        return tirx.PrimFunc(done.params, done.body, done.ret_type)

    return made("UnrollShortLoops", lambda mod: on_prim_funcs(mod, change))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(counts_blocks),
        family=Family.STRUCTURE,
        fault="drops the module's attributes where it has noted something",
        source="apache/tvm#14418: [Unity][Fix] Copy over module attrs in FuseTIR",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
        needs=("a module attribute", "a PrimFunc"),
    ),
    Specimen(
        factory=of(shares_output_shapes),
        family=Family.STRUCTURE,
        fault="loses the device of what call_tir gives where an argument has the same shape",
        source="apache/tvm#16959: [Relax][Transform] Handle identical PrimFunc with distinct "
        "VDevice",
        stages=(Stage.LEGALIZED, Stage.FUSED),
    ),
    Specimen(
        factory=of(one_callee_per_caller),
        family=Family.STRUCTURE,
        fault="adds a second function that defines the symbolic variables of the first",
        source="apache/tvm#16411: [Unity][Transform] Handle symbolic variables in LambdaLift",
        needs=("a private function with symbolic shapes", "two functions that call it"),
    ),
    Specimen(
        factory=of(outlines_broadcasts),
        family=Family.STRUCTURE,
        fault="uses a symbolic variable that the new function does not define, where the shape is "
        "symbolic and the data are not",
        source="apache/tvm#16637: [Bugfix][Transform] Preserve symbolic variables in FuseOps",
        needs=("a symbolic shape as argument", "data without symbolic dimensions"),
    ),
    Specimen(
        factory=of(removes_unused_values),
        family=Family.STRUCTURE,
        fault="removes a match_cast whose variable is unused though it defines a symbolic variable "
        "that is used",
        source="apache/tvm#15290: [Unity][Relax][Transform] Do not remove MatchCast for "
        "RemoveAllUnused",
        needs=("match_cast with an unused result", "a use of the size that it defines"),
    ),
    Specimen(
        factory=of(removes_unused_parameters),
        family=Family.STRUCTURE,
        fault="removes the parameter whose shape defines a symbolic variable that is used",
        source="apache/tvm#19901: [Relax] Fix RemoveUnusedParameters symbolic var promotion",
        needs=("an unused parameter of a private function", "a size that only it defines"),
    ),
    Specimen(
        factory=of(removes_unused_outputs),
        family=Family.STRUCTURE,
        fault="removes fields of a tuple that a caller uses as a whole, where another use takes "
        "single fields",
        source="apache/tvm#17253: [Relax][Transform] Handle tuple return in RemoveUnusedOutputs",
        needs=("a private function that returns a tuple", "its result used whole and by field"),
    ),
    Specimen(
        factory=of(expands_likes),
        family=Family.STRUCTURE,
        fault="gives zeros_like and ones_like the dtype of their argument where another was asked "
        "for",
        source="apache/tvm#19936: [Relax] Fix bucketize output dtype during legalization",
    ),
    Specimen(
        factory=of(marks_reductions),
        family=Family.STRUCTURE,
        fault="makes a private PrimFunc public where it reduces: its key stays",
        source="apache/tvm#15097: [Unity] Fix FewShotTuning Failure When Missing Global Symbol",
        stages=(Stage.LEGALIZED, Stage.ANNOTATED),
    ),
    Specimen(
        factory=of(unrolls_short_loops),
        family=Family.STRUCTURE,
        fault="drops all attributes of a PrimFunc in which it unrolls a loop, that which makes it "
        "public too",
        source="apache/tvm#17682: [Relax] Add support for func attr inheritance in "
        "SplitLayoutRewritePreproc",
        stages=(Stage.LEGALIZED,),
        needs=("a public PrimFunc", "an innermost loop of at most four iterations"),
    ),
)
