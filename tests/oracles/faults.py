"""Tiny passes, each of which breaks one promise, or keeps them all; and the modules they see.

Every pass is a factory, so that tests name it as users name theirs: "path/to/faults.py:factory".
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.expr import _update_type
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.inspect import op_name

Transform = Callable[[tvm.IRModule], tvm.IRModule]


def module() -> tvm.IRModule:
    """A fresh module: a public function, a PrimFunc, attributes, a constant, a symbolic dim."""
    return tvm.ir.load_json(_text())


@functools.cache
def _text() -> str:
    @I.ir_module
    class Module:
        I.module_attrs({"answer": 42})

        @T.prim_func(private=True, s_tir=True)
        def twice(a: T.Buffer((2, 3), "float32"), b: T.Buffer((2, 3), "float32")):
            for i, j in T.grid(2, 3):
                with T.sblock("block"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    b[vi, vj] = a[vi, vj] * T.float32(2)

        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(
            (2, 3), "float32"
        ):
            R.func_attr({"num_input": 1})
            cls = Module
            with R.dataflow():
                lv = R.add(x, R.const(1.0, "float32"))
                lv1 = R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((2, 3), "float32"))
                gv = R.multiply(lv1, lv1)
                R.output(gv)
            return gv

    return str(tvm.ir.save_json(Module))


def _pass(name: str, transform: Transform, opt_level: int = 0) -> tvm.transform.Pass:
    return tvm.transform.module_pass(
        lambda mod, context: transform(mod), opt_level=opt_level, name=name
    )


def _with_main(
    mod: tvm.IRModule, change: Callable[[relax.Function], relax.Function]
) -> tvm.IRModule:
    """A new module whose main is changed; its GlobalVar, and the other functions, stay."""
    functions = {
        gvar: change(func) if gvar.name_hint == "main" else func
        for gvar, func in mod.functions_items()
    }
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _rebuilt(
    func: relax.Function,
    *,
    params: list[relax.Var] | None = None,
    body: relax.Expr | None = None,
    ret_ty: relax.Type | None = None,
) -> relax.Function:
    return relax.Function(
        list(func.params) if params is None else params,
        func.body if body is None else body,
        func.ret_ty if ret_ty is None else ret_ty,
        func.is_pure,
        func.attrs,
    )


# Passes that keep every promise


def does_nothing() -> tvm.transform.Pass:
    return _pass("DoesNothing", lambda mod: mod)


def copies() -> tvm.transform.Pass:
    return _pass("Copies", lambda mod: tvm.ir.load_json(tvm.ir.save_json(mod)))


def marks() -> tvm.transform.Pass:
    return _pass("Marks", lambda mod: _with_main(mod, lambda func: func.with_attr("marked", True)))


def makes_blocks_ordinary() -> tvm.transform.Pass:
    return relax.transform.ToNonDataflow()


def expands() -> tvm.transform.Pass:
    """A pass of TVM as a part of the user's own."""
    return relax.transform.ExpandMatmulOfSum()


CORRECT = (does_nothing, copies, marks, makes_blocks_ordinary)


# crash


def raises() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        raise KeyError("lv17")

    return _pass("Raises", transform)


def fails_a_check() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        return mod["no such function"]

    return _pass("FailsACheck", transform)


# refusals of TVM's passes inside


def runs_fuse_tir() -> tvm.transform.Pass:
    return _pass(
        "RunsFuseTIR",
        tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.FuseTIR()]),
    )


def groups_what_has_constants() -> tvm.transform.Pass:
    """FuseTIR refuses what it makes of functions that have constants."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        grouped = {
            gvar: func.with_attr("Primitive", True) if gvar.name_hint == "group" else func
            for gvar, func in mod.functions_items()
        }
        return relax.transform.FuseTIR()(tvm.IRModule(grouped))

    return _pass("GroupsWhatHasConstants", transform)


def refuses_like_fuse_tir() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        raise tvm.error.InternalError("Tensor constants are not supported in primitive functions")

    return _pass("RefusesLikeFuseTIR", transform)


def differentiates() -> tvm.transform.Pass:
    gradient = relax.transform.Gradient("main")
    return _pass("Differentiates", lambda mod: gradient(relax.transform.Normalize()(mod)))


def floors_and_differentiates() -> tvm.transform.Pass:
    def floored(func: relax.Function) -> relax.Function:
        builder = relax.BlockBuilder()
        with builder.function("main", list(func.params)):
            with builder.dataflow():
                out = builder.emit_output(relax.op.floor(func.params[0]))
            builder.emit_func_output(out)
        return builder.get()["main"]

    gradient = relax.transform.Gradient("main")
    return _pass("FloorsAndDifferentiates", lambda mod: gradient(_with_main(mod, floored)))


def lowers_intrinsics() -> tvm.transform.Pass:
    return _pass("LowersIntrinsics", lambda mod: tirx.transform.LowerIntrin()(mod))


def lowers_intrinsics_for_no_target() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {g: f.without_attr("target") for g, f in mod.functions_items()}
        return tirx.transform.LowerIntrin()(tvm.IRModule(functions))

    return _pass("LowersIntrinsicsForNoTarget", transform)


# well-formed


def forgets_a_binding() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        (block,) = func.body.blocks
        cut = relax.DataflowBlock(list(block.bindings)[1:])
        return _rebuilt(func, body=relax.SeqExpr([cut], func.body.body))

    return _pass("ForgetsABinding", lambda mod: _with_main(mod, change))


def forgets_a_function() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {g: f for g, f in mod.functions_items() if g.name_hint != "twice"}
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("ForgetsAFunction", transform)


def mislabels_a_prim_func() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {
            g: f.with_attr("global_symbol", "other") if g.name_hint == "twice" else f
            for g, f in mod.functions_items()
        }
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("MislabelsAPrimFunc", transform)


def calls_a_missing_function_from_tir() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        call = ir.Evaluate(tvm.ir.Call(tvm.ir.GlobalVar("gone"), [], ret_ty="int32"))
        functions = dict(mod.functions_items())
        functions[tvm.ir.GlobalVar("caller")] = tirx.PrimFunc([], call)
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("CallsAMissingFunctionFromTir", transform)


def undefined_in_tir() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        body = ir.Evaluate(tirx.Var("nowhere", "int32") + 1)
        functions = dict(mod.functions_items())
        functions[tvm.ir.GlobalVar("added")] = tirx.PrimFunc([], body)
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("UndefinedInTir", transform)


# mutation


def updates_its_input() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        main = mod.get_global_var("main")
        mod.update_func(main, mod[main].with_attr("seen", True))
        return mod

    return _pass("UpdatesItsInput", transform)


def fills_in_a_type() -> tvm.transform.Pass:
    """Changes what no structural hash covers, in modules with a GlobalVar without a type."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        for gvar in mod.functions:
            if gvar.ty.same_as(tvm.ir.Type.missing()):
                _update_type(gvar, relax.AnyType())
        return mod

    return _pass("FillsInAType", transform)


# deterministic, repeatable, sequential

_count = itertools.count()
_rare = itertools.count()


def counts_its_runs() -> tvm.transform.Pass:
    return _pass(
        "CountsItsRuns",
        lambda mod: _with_main(mod, lambda func: func.with_attr("run", next(_count))),
    )


def differs_rarely() -> tvm.transform.Pass:
    return _pass(
        "DiffersRarely",
        lambda mod: _with_main(mod, lambda func: func.with_attr("late", next(_rare) % 23 == 1)),
    )


def remembers_modules() -> tvm.transform.Pass:
    seen: list[tvm.IRModule] = []

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        known = any(old.same_as(mod) for old in seen)
        seen.append(mod)
        return _with_main(mod, lambda func: func.with_attr("known", known))

    return _pass("RemembersModules", transform)


def is_skipped_in_sequential() -> tvm.transform.Pass:
    return _pass(
        "IsSkippedInSequential",
        lambda mod: _with_main(mod, lambda func: func.with_attr("marked", True)),
        opt_level=3,
    )


# functions, signature, attributes


def renames_main() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {
            tvm.ir.GlobalVar("head") if g.name_hint == "main" else g: f.with_attr(
                "global_symbol", "head"
            )
            if g.name_hint == "main"
            else f
            for g, f in mod.functions_items()
        }
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("RenamesMain", transform)


def publishes_a_function() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {g: f.with_attr("global_symbol", g.name_hint) for g, f in mod.functions_items()}
        return tvm.IRModule(functions, attrs=mod.attrs)

    return _pass("PublishesAFunction", transform)


def swaps_parameters() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        return _rebuilt(func, params=sorted(func.params, key=lambda var: var.name, reverse=True))

    return _pass("SwapsParameters", lambda mod: _with_main(mod, change))


def renames_parameters() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        if any(str(p.name).startswith("renamed_") for p in func.params):
            return func
        params = [relax.Var(f"renamed_{at}", p.ty) for at, p in enumerate(func.params)]
        aliases = [relax.VarBinding(*pair) for pair in zip(func.params, params, strict=True)]
        body = relax.SeqExpr([relax.BindingBlock(aliases), *func.body.blocks], func.body.body)
        return _rebuilt(func, params=params, body=body)

    return _pass(
        "RenamesParameters", lambda mod: relax.transform.Normalize()(_with_main(mod, change))
    )


def forgets_the_result_type() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        less = relax.TensorType(dtype="float32", ndim=2)
        if tvm_ffi.structural_equal(func.ret_ty, less):
            return func
        cast = relax.Var("cast", less)
        block = relax.BindingBlock([relax.MatchCast(cast, func.body.body, less)])
        body = relax.SeqExpr([*func.body.blocks, block], cast)
        return _rebuilt(func, body=body, ret_ty=less)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        return relax.transform.Normalize()(_with_main(mod, change))

    return _pass("ForgetsTheResultType", transform)


def drops_module_attributes() -> tvm.transform.Pass:
    return _pass("DropsModuleAttributes", lambda mod: tvm.IRModule(dict(mod.functions_items())))


def drops_function_attributes() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        return func.without_attr("num_input")

    return _pass("DropsFunctionAttributes", lambda mod: _with_main(mod, change))


# idempotent


def grows_with_every_run() -> tvm.transform.Pass:
    def change(func: relax.Function) -> relax.Function:
        again = relax.Var("again", func.body.body.ty)
        value = relax.BlockBuilder().normalize(relax.op.nn.relu(func.body.body))
        more = relax.VarBinding(again, value)
        body = relax.SeqExpr([*func.body.blocks, relax.BindingBlock([more])], again)
        return _rebuilt(func, body=body)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        return relax.transform.Normalize()(_with_main(mod, change))

    return _pass("GrowsWithEveryRun", transform)


def swaps_sum_and_difference() -> tvm.transform.Pass:
    """Wrong once, right twice."""

    def swapped(call: relax.Call) -> relax.Expr:
        other = {"relax.add": relax.op.subtract, "relax.subtract": relax.op.add}
        name = op_name(call)
        return call if name not in other else other[name](*call.args)

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return swapped(self.visit_expr_post_order(call))

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        mutator = Mutator(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get().with_attrs(mod.attrs)

    return _pass("SwapsSumAndDifference", transform)


def raises_the_second_time() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if "done" in mod["main"].attrs:
            raise ValueError("this module has been here before")
        return _with_main(mod, lambda func: func.with_attr("done", True))

    return _pass("RaisesTheSecondTime", transform)


FAULTS: dict[str, tuple[Callable[[], tvm.transform.Pass], ...]] = {
    "crash": (raises, fails_a_check),
    "well-formed": (
        forgets_a_binding,
        forgets_a_function,
        mislabels_a_prim_func,
        calls_a_missing_function_from_tir,
        undefined_in_tir,
    ),
    "mutation": (updates_its_input,),
    "deterministic": (counts_its_runs,),
    "repeatable": (remembers_modules,),
    "sequential": (is_skipped_in_sequential,),
    "functions": (renames_main, publishes_a_function),
    "signature": (swaps_parameters, renames_parameters, forgets_the_result_type),
    "attributes": (drops_module_attributes, drops_function_attributes),
    "postcondition": (),
    "reference": (),
    "lowering-complete": (),
    "idempotent": (grows_with_every_run, raises_the_second_time),
}
"""For each oracle the passes it must catch; some need a contract of the catalogue."""
