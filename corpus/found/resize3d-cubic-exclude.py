# cubic_exclude of resize3d takes the weights of the width for those of the depth

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((1, 1, 4, 1, 2), dtype="float32")) -> R.Tensor((1, 1, 8, 1, 2), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 1, 8, 1, 2), dtype="float32") = R.image.resize3d(x0, R.shape([8, 1, 2]), roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)], layout="NCDHW", method="cubic", coordinate_transformation_mode="half_pixel", rounding_method="", cubic_alpha=-0.75, cubic_exclude=1, extrapolation_value=0.0, out_dtype=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
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
    built = relax.build(mod, target, relax_pipeline="default")
    machine = relax.VirtualMachine(built, [tvm.cpu()] * 4)


    def run(name, args):
        return to_numpy(machine[name](*map(from_numpy, args)))


    args = [np.array([[[[[ 2.,  1.]],

       [[ 0., -2.]],

       [[-1., -3.]],

       [[-3., -3.]]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[[ 2.2727273 ,  1.4090909 ]],

       [[ 1.6219081 ,  0.41696113]],

       [[ 0.60754716, -1.1396227 ]],

       [[-0.3671875 , -2.5429688 ]],

       [[-0.6328125 , -2.8789062 ]],

       [[-1.6075472 , -3.1018867 ]],

       [[-2.6219082 , -3.0318022 ]],

       [[-3.2727273 , -3.        ]]]]], "float32"), rtol=0.001, atol=0.0010267)

    args = [np.array([[[[[2., 2.]],

       [[3., 3.]],

       [[1., 1.]],

       [[3., 3.]]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[[1.8636364, 1.8636364]],

       [[2.2685513, 2.2685513]],

       [[2.9509435, 2.9509435]],

       [[2.5820312, 2.5820312]],

       [[1.2773438, 1.2773438]],

       [[1.3018868, 1.3018868]],

       [[2.5265017, 2.5265017]],

       [[3.2727273, 3.2727273]]]]], "float32"), rtol=0.001, atol=0.0010267)
