# a value that call_tir_inplace has overwritten is taken for a later, equal expression

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import EliminateCommonSubexpr
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

bump_gv = tvm.ir.GlobalVar("bump")
A = tirx.decl_buffer([3], "float32", "A", layout=make_node(
    "tirx.TileLayout",
    shard=[make_node(
        "tirx.Iter",
        extent=T.int32(3),
        stride=T.int32(1),
        axis=tirx.layout.Axis.get("m"),
    )],
    replica=[],
    offset={},
))
i = tirx.Var("i", "int32")
bump = prim_func(
    [A],
    tirx.For(i, 0, 3, tirx.ForKind.SERIAL, tirx.BufferStore(
        A,
        tirx.Add(A[i], T.float32(1.0)),
        [i],
    )),
    attrs=DictAttrs({"tirx.noalias": True}),
)

ty = TensorType((3,), "float32")
x = relax.Var("x", R.Tensor((3,), "float32"))
a = relax.DataflowVar("a", R.Tensor((3,), "float32"))
b = relax.Var("b", ty)
c = relax.Var("c", R.Tensor((3,), "float32"))
expr = relax.Tuple([b, c])
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(a, relax.op.add(x, x)),
            bind(b, relax.Call(
                Op.get("relax.call_tir_inplace"),
                [bump_gv, relax.Tuple([a])],
                make_node("relax.attrs.CallTIRInplaceAttrs", inplace_indices=[0]),
                [ty],
            )),
            bind(c, relax.op.add(x, x)),
        ])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

mod = tvm.IRModule({bump_gv: bump, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


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
