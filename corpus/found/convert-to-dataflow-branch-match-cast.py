# ConvertToDataflow: bindings are left outside of dataflow blocks in the branches of an If

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import ConvertToDataflow
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

x = relax.Var("x", R.Tensor((2, 2, 2, 2, 2), "float32"))
y = relax.Var("y", R.Tensor((2, 3, 2, 2, 2), "float32"))
z = relax.Var("z", R.Tensor((), "float32"))
gv1 = relax.Var("gv1", TensorType(None, "float32", ndim=5))
gv = relax.Var("gv", R.Tensor((2, 2, 2, 2, 2), "float32"))
main = relax.Function(
    [x, y, z],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv1, typed(
            relax.If(z, typed(relax.SeqExpr([], x), type_of(x)), typed(
                relax.SeqExpr(
                    [relax.BindingBlock([relax.VarBinding(gv, typed(
                        relax.op.maximum(x, x),
                        R.Tensor((2, 2, 2, 2, 2), "float32"),
                    ))])],
                    y,
                ),
                type_of(y),
            )),
            TensorType(None, "float32", ndim=5),
        ))])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertToDataflow(min_size=1),
    ]
    the_pass = passes[0]

    from types import SimpleNamespace

    import ast
    import tvm
    import tvm_ffi
    from tvm import relax


    def _converted(before, after, call):
        """Docstring: min_size consecutive dataflow bindings of a binding block become a new block."""
        limit = argument(call, "min_size") or 2
        for block in (block for _, func in relax_functions(after) for block in blocks_of(func)):
            if not isinstance(block, relax.DataflowBlock) and _longest_run(block) >= limit:
                return "consecutive dataflow bindings are left outside a dataflow block"
        return None


    def argument(call, keyword):
        """The literal given for a keyword in the call's text, or None."""
        for node in _parsed(call).keywords:
            if node.arg == keyword:
                return ast.literal_eval(node.value)
        return None


    def _parsed(call):
        root = ast.parse(call.expr, mode="eval").body
        if not isinstance(root, ast.Call):
            raise ValueError(f"Expected a call but got expr={call.expr!r}")
        return root


    def relax_functions(mod):
        """The module's Relax functions, without PrimFuncs and external functions."""
        return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, relax.Function))


    def blocks_of(root):
        """All blocks of bindings, dataflow or not."""
        return nodes(root, relax.BindingBlock)


    def nodes(root, *kinds):
        """The nodes of these types, or of types derived from them, inside `root` in post-order.

        A module stands for all of its Relax functions. Every use counts: a shared node comes as often
        as it is used.
        """
        found = []
        visit = (kinds, found.append)
        if isinstance(root, tvm.IRModule):
            for _, func in relax_functions(root):
                tvm_ffi.structural_walk(func, visit)
        else:
            tvm_ffi.structural_walk(root, visit)
        return found


    def _longest_run(block):
        longest = run = 0
        for binding in block.bindings:
            value = binding.value
            pure = not isinstance(value, relax.If) and not relax.analysis.contains_impure_call(value)
            run = run + 1 if pure else 0
            longest = max(longest, run)
        return longest


    call = SimpleNamespace(expr='ConvertToDataflow(min_size=1)', config={}, name='ConvertToDataflow')
    wrong = _converted(mod, apply(mod), call)
    assert wrong is None, wrong
