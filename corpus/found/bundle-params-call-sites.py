# BundleModelParams: a function whose weights are bundled keeps its callers as they were: the VM raises 'expects 2 arguments, but 3 arguments were provided'

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import BundleModelParams
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2, 3), "float32")
func_gv = tvm.ir.GlobalVar("func")
x0 = relax.Var("x0", R.Tensor((), "bool"))
x1 = relax.Var("x1", R.Tensor((4,), "int64"))
x2 = relax.Var("x2", R.Tensor((2, 4), "float16"))
x3 = relax.Var("x3", R.Tensor((2, 3), "float32"))
x4 = relax.Var("x4", R.Tensor((3, 3), "float32"))
x5 = relax.Var("x5", R.Tensor((3,), "float32"))
gv24 = relax.Var("gv24", ty)
ty_1 = TensorType((2, 3), "float32")
ty_2 = TensorType((3, 3), "float32")
ty_3 = TensorType((3,), "float32")
model_1_gv = typed(tvm.ir.GlobalVar("model_1"), FuncType([ty_1, ty_2, ty_3], ty))
func = relax.Function(
    [x0, x1, x2, x3, x4, x5],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv24, relax.Call(model_1_gv, [x3, x4, x5]))])],
        gv24,
    ),
    type_of(gv24),
    True,
    DictAttrs({"num_input": 6, "global_symbol": "func"}),
)
set_type(func.body, type_of(gv24))

x0_1 = relax.Var("x0", ty_1)
w1 = relax.Var("w1", ty_2)
w2 = relax.Var("w2", ty_3)
gv14 = relax.Var("gv14", ty)
model_1 = relax.Function(
    [x0_1, w1, w2],
    relax.SeqExpr([relax.DataflowBlock([bind(gv14, relax.op.add(x0_1, w2))])], gv14),
    type_of(gv14),
    True,
    DictAttrs({"num_input": 1, "global_symbol": "model_1"}),
)
set_type(model_1.body, type_of(gv14))

mod = tvm.IRModule({func_gv: func, model_1_gv: model_1})
set_type(func_gv, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        BundleModelParams(),
    ]
    the_pass = passes[0]

    import numpy as np
    import tvm


    def from_numpy(value):
        """An argument for the VM: ndarray to tensor, tuple of int to shape, list or tuple to tuple."""
        if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
            return tvm.runtime.ShapeTuple(value)
        if isinstance(value, tuple | list):
            return tuple(map(from_numpy, value))
        return tvm.runtime.tensor(value)


    def to_numpy(value):
        """A result of the VM: tensors to ndarrays, arrays to tuples, shapes to tuples of int."""
        if isinstance(value, tvm.runtime.Tensor):
            return value.numpy()
        if isinstance(value, tvm.runtime.ShapeTuple):
            return tuple(int(dim) for dim in value)
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
    built = relax.build(apply(mod), target, relax_pipeline="default")
    machine = relax.VirtualMachine(built, [tvm.cpu()] * 4)


    def run(name, args):
        return to_numpy(machine[name](*map(from_numpy, args)))



    args = [np.array(True, "bool"), np.array([ 1,  0, -2, -1], "int64"), np.array([[-3., -3., -3., -2.],
     [ 2.,  1.,  3.,  0.]], "float16"), np.array([[1., 3., 2.],
     [1., 0., 0.]], "float32"), np.array([[ 3., -2.,  2.],
     [ 1., -3., -1.],
     [ 3.,  0., -3.]], "float32"), np.array([2., 2., 2.], "float32")]
    actual = run('func', [*args[:6], args[6:]])
    assert_close(actual, np.array([[3., 5., 4.],
     [3., 2., 2.]], "float32"), rtol=0.001, atol=0.00103815)

    args = [np.array(False, "bool"), np.array([2, 3, 3, 1], "int64"), np.array([[1., 3., 3., 1.],
     [1., 3., 2., 1.]], "float16"), np.array([[3., 1., 2.],
     [2., 2., 1.]], "float32"), np.array([[1., 3., 3.],
     [3., 2., 3.],
     [1., 2., 3.]], "float32"), np.array([1., 1., 1.], "float32")]
    actual = run('func', [*args[:6], args[6:]])
    assert_close(actual, np.array([[4., 2., 3.],
     [3., 3., 2.]], "float32"), rtol=0.001, atol=0.00103052)

    args = [np.array([[ 2.,  1.,  0.],
     [-2., -1., -3.]], "float32"), np.array([[-3., -3., -2.],
     [ 2.,  1.,  3.],
     [ 0.,  1.,  3.]], "float32"), np.array([2., 1., 0.], "float32")]
    actual = run('model_1', [*args[:1], args[1:]])
    assert_close(actual, np.array([[ 4.,  2.,  0.],
     [ 0.,  0., -3.]], "float32"), rtol=0.001, atol=0.00103052)

    args = [np.array([[2., 2., 3.],
     [3., 1., 1.]], "float32"), np.array([[3., 3., 1.],
     [1., 3., 2.],
     [1., 3., 1.]], "float32"), np.array([2., 2., 2.], "float32")]
    actual = run('model_1', [*args[:1], args[1:]])
    assert_close(actual, np.array([[4., 4., 5.],
     [5., 3., 3.]], "float32"), rtol=0.001, atol=0.00103815)
