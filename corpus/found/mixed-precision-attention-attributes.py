# attention loses its causal mask, its scale and its bias

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(q: R.Tensor((1, 2, 1, 4), dtype="float32"), k: R.Tensor((1, 2, 1, 4), dtype="float32"), v: R.Tensor((1, 2, 1, 3), dtype="float32"), bias: R.Tensor((1, 1, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 1, 3), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 2, 1, 3), dtype="float32") = R.nn.attention_bias(q, k, v, bias, scale=None, causal_mask="TopLeft", window_size=None)
            R.output(gv)
        return gv


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ToMixedPrecision(out_dtype='float16'),
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


    args = [np.array([[[[ 2.,  1.,  0., -2.]],

      [[-1., -3., -3., -3.]]]], "float32"), np.array([[[[-2.,  2.,  1.,  3.]],

      [[ 0.,  1.,  3.,  2.]]]], "float32"), np.array([[[[ 1.,  0.,  0.]],

      [[ 3., -2.,  2.]]]], "float32"), np.array([[[[ 1., -3.],
       [-1.,  3.]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[ 1.       ,  0.       ,  0.       ]],

      [[ 2.9051483, -1.9051483,  1.9051483]]]], "float32"), rtol=0.02, atol=0.201572)

    args = [np.array([[[[2., 2., 3., 3.]],

      [[1., 1., 3., 3.]]]], "float32"), np.array([[[[1., 1., 3., 2.]],

      [[1., 3., 1., 2.]]]], "float32"), np.array([[[[2., 2., 1.]],

      [[1., 3., 3.]]]], "float32"), np.array([[[[3., 2.],
       [3., 1.]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[2.       , 2.       , 1.       ]],

      [[1.9820137, 2.017986 , 1.0359724]]]], "float32"), rtol=0.02, atol=0.146125)

    args = [np.array([[[[ 0.625, -0.5  , -0.75 , -0.375]],

      [[-0.125,  0.625, -0.125, -0.75 ]]]], "float32"), np.array([[[[-0.25 ,  0.25 ,  0.625,  0.375]],

      [[ 0.875, -0.625,  0.75 , -0.875]]]], "float32"), np.array([[[[ 0.125, -0.375, -0.5  ]],

      [[ 0.25 , -0.375,  0.125]]]], "float32"), np.array([[[[-0.5  , -0.625],
       [ 0.5  , -0.125]]]], "float32")]
    actual = run('main', args)
    assert_close(actual, np.array([[[[ 0.125     , -0.375     , -0.5       ]],

      [[ 0.1719633 , -0.37499997, -0.26518345]]]], "float32"), rtol=0.02, atol=0.05125)
