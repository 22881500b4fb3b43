# TopologicalSort: a call that reads a tensor is moved behind the call_tir_inplace that overwrites it

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import TopologicalSort
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def tuple_of(ty, fields):
    if not hasattr(tvm.ir, "Tuple"):
        return relax.Tuple(fields)
    return make_node("ir.Tuple", ty=ty, fields=fields, span=None)

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((8,), "float32")
main_gv = tvm.ir.GlobalVar("main")
lv21 = relax.Var("lv21", R.Tensor((8,), "float32"))
gv26 = relax.Var("gv26", R.Tensor((8,), "float32"))
ty_1 = TensorType((8,), "float32")
multiply1_gv = typed(tvm.ir.GlobalVar("multiply1"), FuncType(
    [R.Tensor((8,), "float32"), R.Tensor((8,), "float32"), R.Tensor((8,), "float32")],
    TupleType([]),
    False,
))
ty_2 = TensorType((8,), "float32")
gv27 = relax.Var("gv27", ty)
tir_inplace_5_gv = typed(tvm.ir.GlobalVar("tir_inplace_5"), FuncType(
    [R.Tensor((8,), "float32")],
    TupleType([]),
    False,
))
expr = relax.Tuple([gv27, gv26])
main = relax.Function(
    [lv21],
    relax.SeqExpr(
        [relax.DataflowBlock([
            relax.VarBinding(gv26, typed(
                relax.Call(
                    Op.get("relax.call_tir"),
                    [multiply1_gv, tuple_of(TupleType([ty_2, ty_2]), [lv21, lv21])],
                    None,
                    [ty_1],
                ),
                ty_1,
            )),
            bind(gv27, relax.Call(
                Op.get("relax.call_tir_inplace"),
                [tir_inplace_5_gv, tuple_of(TupleType([ty_2]), [lv21])],
                make_node("relax.attrs.CallTIRInplaceAttrs", inplace_indices=[0]),
                [ty],
            )),
        ])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

gv16 = buffer([8], "float32", "gv16")
gv16_1 = buffer([8], "float32", "gv16")
T_multiply = buffer([8], "float32", "T_multiply")
ax0 = tirx.Var("ax0", "int64")
multiply1 = prim_func([gv16, gv16_1, T_multiply], tirx.For(
    ax0,
    T.int64(0),
    T.int64(8),
    tirx.ForKind.SERIAL,
    tirx.BufferStore(T_multiply, gv16[T.int64(0)], [ax0]),
))

A = tirx.decl_buffer([8], "float32", "A", layout=None)
tir_inplace_5 = prim_func([A], tirx.BufferStore(A, T.float32(0.0), [0]))

mod = tvm.IRModule({main_gv: main, multiply1_gv: multiply1, tir_inplace_5_gv: tir_inplace_5})
set_type(main_gv, type_of(main))

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
