# TopologicalSort: a call that reads a tensor is moved behind the call_tir_inplace that overwrites it

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.transform import TopologicalSort
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def multiply1(gv16: T.Buffer((T.int64(8),), "float32", layout=None), gv16_1: T.Buffer((T.int64(8),), "float32", layout=None), T_multiply: T.Buffer((T.int64(8),), "float32", layout=None)):
        for ax0 in range(T.int64(8)):
            T_multiply[ax0] = gv16[T.int64(0)]

    @T.prim_func(private=True)
    def tir_inplace_5(A: T.Buffer((8,), "float32", layout=None)):
        A[0] = T.float32(0.0)

    @R.function
    def main(lv21: R.Tensor((8,), dtype="float32")) -> R.Tuple(R.Tensor((8,), dtype="float32"), R.Tensor((8,), dtype="float32")):
        cls = mod
        with R.dataflow():
            gv26 = R.call_tir(cls.multiply1, (lv21, lv21), out_ty=R.Tensor((8,), dtype="float32"))
            gv27: R.Tensor((8,), dtype="float32") = R.call_tir_inplace(cls.tir_inplace_5, (lv21,), out_ty=R.Tensor((8,), dtype="float32"), inplace_indices=[0])
            R.output(gv26, gv27)
        return (gv27, gv26)


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        TopologicalSort(order='depth-first', direction='from-outputs'),
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


    args = [np.array([ 2.,  1.,  0., -2., -1., -3., -3., -3.], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([ 0.,  1.,  0., -2., -1., -3., -3., -3.], "float32"), np.array([2., 2., 2., 2., 2., 2., 2., 2.], "float32"), ), rtol=2e-05, atol=4.28882e-05)

    args = [np.array([2., 2., 3., 3., 1., 1., 3., 3.], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([0., 2., 3., 3., 1., 1., 3., 3.], "float32"), np.array([2., 2., 2., 2., 2., 2., 2., 2.], "float32"), ), rtol=2e-05, atol=4.28882e-05)

    args = [np.array([ 0.625, -0.5  , -0.75 , -0.375, -0.125,  0.625, -0.125, -0.75 ], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([ 0.   , -0.5  , -0.75 , -0.375, -0.125,  0.625, -0.125, -0.75 ], "float32"), np.array([0.625, 0.625, 0.625, 0.625, 0.625, 0.625, 0.625, 0.625], "float32"), ), rtol=2e-05, atol=2.5722e-05)
