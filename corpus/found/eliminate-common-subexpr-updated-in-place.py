# a value that call_tir_inplace has overwritten is taken for a later, equal expression

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import EliminateCommonSubexpr
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def bump(A: T.Buffer((3,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(3):
            A[i] = A[i] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
        cls = mod
        with R.dataflow():
            a: R.Tensor((3,), dtype="float32") = R.add(x, x)
            b: R.Tensor((3,), dtype="float32") = R.call_tir_inplace(cls.bump, (a,), out_ty=R.Tensor((3,), dtype="float32"), inplace_indices=[0])
            c: R.Tensor((3,), dtype="float32") = R.add(x, x)
            R.output(b, c)
        return (b, c)


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        EliminateCommonSubexpr(),
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


    args = [np.array([2., 1., 0.], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([5., 3., 1.], "float32"), np.array([4., 2., 0.], "float32"), ), rtol=2e-05, atol=8.86646e-05)

    args = [np.array([2., 2., 3.], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([5., 5., 7.], "float32"), np.array([4., 4., 6.], "float32"), ), rtol=2e-05, atol=0.000119182)

    args = [np.array([ 0.625, -0.5  , -0.75 ], "float32")]
    actual = run('main', args)
    assert_close(actual, (np.array([ 2.25,  0.  , -0.5 ], "float32"), np.array([ 1.25, -1.  , -1.5 ], "float32"), ), rtol=2e-05, atol=4.67029e-05)
