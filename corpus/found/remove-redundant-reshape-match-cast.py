# RemoveRedundantReshape: a reshape to the shape that the tensor has is left where a match_cast gave it this shape

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op
from tvm.relax.transform import RemoveRedundantReshape
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)


@I.ir_module
class mod:
    @R.function
    def main(gv7: R.Tensor((2,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
        k = T.int64()
        with R.dataflow():
            lv11: R.Tensor((k,), dtype="float32") = R.match_cast(gv7, R.Tensor((k,), dtype="float32"))
            lv12: R.Tensor((k,), dtype="float32") = R.reshape(lv11, R.shape([k]))
            R.output(lv12)
        return lv12


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        RemoveRedundantReshape(),
    ]
    the_pass = passes[0]

    from types import SimpleNamespace

    import tvm
    import tvm_ffi
    from tvm import relax
    from tvm.ir import Op


    def _no_redundant_reshape(before, after, call):
        """Docstring: a reshape to the shape that the tensor has anyway is removed."""
        for _, func in relax_functions(after):
            if attr(func, "Primitive"):
                continue
            for binding in bindings_of(func):
                for reshape in calls_of(binding.value, "relax.reshape"):
                    tensor, shape = reshape.args
                    if isinstance(tensor.ty, relax.TensorType) and tvm_ffi.structural_equal(
                        tensor.ty.shape, shape
                    ):
                        return "a reshape to the same shape is left"
        return None


    def relax_functions(mod):
        """The module's Relax functions, without PrimFuncs and external functions."""
        return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, relax.Function))


    def attr(func, name):
        """A function's attribute, or None."""
        attrs = func.attrs
        return None if attrs is None else attrs.get(name)


    def bindings_of(root):
        """All bindings inside, in order, those of branches and local functions before their own."""
        return nodes(root, relax.expr.Binding)


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


    def calls_of(root, op = None):
        """All calls inside a function (or expression, or module); only those of one operator if given.

        Calls of `tirx` operators inside symbolic shapes (`T.shift_left(n, 1)`) are among them.
        """
        calls = nodes(root, relax.Call)
        return calls if op is None else [c for c in calls if op_name(c) == op]


    def op_name(expr):
        """The registered name of the called operator, e.g. "relax.add"; None where none is called."""
        if isinstance(expr, relax.Call):
            op = expr.op
            if isinstance(op, Op):
                return str(op.name)
        return None


    call = SimpleNamespace(expr='RemoveRedundantReshape()', config={}, name='RemoveRedundantReshape')
    wrong = _no_redundant_reshape(mod, apply(mod), call)
    assert wrong is None, wrong
