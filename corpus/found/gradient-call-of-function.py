# the gradient through a call of a function of the module is 0, without a word

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def loss(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((), dtype="float32") = R.sum(x, axis=None, keepdims=False)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        cls = mod
        with R.dataflow():
            gv: R.Tensor((), dtype="float32") = cls.loss(x)
            R.output(gv)
        return gv


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        Gradient('main'),
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


    def shifted(value, direction, step):
        """A value moved by so many steps into a direction."""
        if isinstance(value, tuple):
            return tuple(shifted(v, d, step) for v, d in zip(value, direction, strict=True))
        return (value + step * direction).astype(value.dtype)


    def along(gradient, direction):
        """The slope that a gradient means, into a direction."""
        if isinstance(gradient, tuple):
            return sum(along(g, d) for g, d in zip(gradient, direction, strict=True))
        return float((np.asarray(gradient).astype("float64") * direction).sum())


    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    try:
        built = relax.build(apply(mod), target, relax_pipeline="default")
    except Exception as error:  # not what this is about
        raise SystemExit("TVM cannot build it: " + str(error).strip().splitlines()[0])
    machine = relax.VirtualMachine(built, [tvm.cpu()] * 4)


    def run(name, args):
        return to_numpy(machine[name](*map(from_numpy, args)))

    args = [np.array([2.0662587, 2.0907493, 3.0798118], "float32")]
    direction = np.array([ 0.72520719, -0.80016628, -1.37355345], "float64")


    def at(step):
        moved = [*args]
        moved[0] = shifted(args[0], direction, step)
        result = run('main', moved)
        return float(result[0] if isinstance(result, tuple) else result)


    expected = (at(2**-5) - at(-(2**-5))) * 2**4
    actual = along(run('main_adjoint', args)[1][0], direction)
    assert abs(actual - expected) <= 0.05 * (1 + abs(expected)), (
        f"the gradient of parameter 0 gives {actual}, finite differences {expected}"
    )
