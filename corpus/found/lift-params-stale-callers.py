# callers go on giving the weights as they were to a function that takes transformed ones now

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([3])
model_gv = tvm.ir.GlobalVar("model")
x = relax.Var("x", R.Tensor((3,), "float32"))
w = relax.Var("w", TensorType(shape, "float32"))
n = relax.DataflowVar("n", TensorType(shape, "float32"))
gv = relax.Var("gv", R.Tensor((3,), "float32"))
model = relax.Function(
    [x, w],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(n, relax.op.negative(w)), bind(gv, relax.op.add(x, n))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"num_input": 1, "global_symbol": "model"}),
)
set_type(model.body, type_of(gv))

x_1 = relax.Var("x", R.Tensor((3,), "float32"))
w_1 = relax.Var("w", R.Tensor((3,), "float32"))
gv_1 = relax.Var("gv", R.Tensor((3,), "float32"))
main = relax.Function(
    [x_1, w_1],
    relax.SeqExpr([relax.DataflowBlock([bind(gv_1, relax.Call(model_gv, [x_1, w_1]))])], gv_1),
    type_of(gv_1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv_1))

mod = tvm.IRModule({model_gv: model, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LiftTransformParams(),
    ]
    the_pass = passes[0]

    import numpy as np
    import tvm
    import tvm_ffi


    def from_numpy(value):
        """An argument for the VM: ndarray to tensor, tuple of int to shape, list or tuple to tuple.

        A function becomes one that the VM can call; it is given NumPy values, and gives some.
        """
        if callable(value):
            return tvm_ffi.convert(lambda *args: from_numpy(value(*map(to_numpy, args))))
        if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
            return tvm.runtime.ShapeTuple(value)
        if isinstance(value, tuple | list):
            return tuple(map(from_numpy, value))
        if isinstance(value, int | float):
            return value
        return tvm.runtime.tensor(value)


    def to_numpy(value):
        """A result of the VM: tensors to ndarrays, arrays to tuples, shapes to tuples of int."""
        if isinstance(value, tvm.runtime.Tensor):
            return value.numpy()
        if isinstance(value, tvm.runtime.ShapeTuple):
            return tuple(int(dim) for dim in value)
        if isinstance(value, str):
            return value
        if isinstance(value, tuple | list) or hasattr(value, "__len__"):
            return tuple(map(to_numpy, value))
        return value


    def assert_close(actual, expected, rtol, atol):
        """Tuples element by element; shapes and dtypes exactly; floats up to rounding."""
        if isinstance(expected, tuple | list):
            assert len(actual) == len(expected), f"expected {len(expected)} results: {actual}"
            for one, other in zip(actual, expected, strict=True):
                assert_close(one, other, rtol, atol)
            return
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(actual, expected, strict=True)
        else:
            actual, expected = actual.astype("float64"), expected.astype("float64")
            np.testing.assert_allclose(actual, expected, rtol, atol, strict=True)


    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    try:
        built = relax.build(apply(mod), target, relax_pipeline="default")
    except Exception as error:  # not what this is about
        raise SystemExit("TVM cannot build it: " + str(error).strip().splitlines()[0])
    machine = relax.VirtualMachine(built, [tvm.cpu()] * 4)


    def run(name, args):
        return to_numpy(machine[name](*map(from_numpy, args)))



    args = [np.array([2., 1., 0.], "float32"), np.array([-2., -1., -3.], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([4., 2., 3.], "float32"), rtol=2e-05, atol=6.57764e-05)

    args = [np.array([2., 2., 3.], "float32"), np.array([3., 1., 1.], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([-1.,  1.,  2.], "float32"), rtol=2e-05, atol=5.05176e-05)

    args = [np.array([ 0.625, -0.5  , -0.75 ], "float32"), np.array([-0.375, -0.125,  0.625], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([ 1.   , -0.375, -1.375], "float32"), rtol=2e-05, atol=3.52588e-05)
