# resize3d takes the roi's depth for its width

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((1, 1, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 1, 2, 2, 2), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 1, 2, 2, 2), dtype="float32") = R.image.resize3d(x0, R.shape([2, 2, 2]), roi=[T.float32(0.5), T.float32(0.0), T.float32(0.0), T.float32(1.0), T.float32(1.0), T.float32(1.0)], layout="NCDHW", method="linear", coordinate_transformation_mode="tf_crop_and_resize", rounding_method="", cubic_alpha=-0.75, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None)
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


    args = [np.array([[[[[ 2.,  1.],
        [ 0., -2.]],

       [[-1., -3.],
        [-3., -3.]]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[[ 0.5, -1. ],
        [-1.5, -2.5]],

       [[-1. , -3. ],
        [-3. , -3. ]]]]], "float32"), rtol=2e-05, atol=4.28882e-05)

    args = [np.array([[[[[2., 2.],
        [3., 3.]],

       [[1., 1.],
        [3., 3.]]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[[1.5, 1.5],
        [3. , 3. ]],

       [[1. , 1. ],
        [3. , 3. ]]]]], "float32"), rtol=2e-05, atol=4.28882e-05)
