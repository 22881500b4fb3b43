# take_backward along a negative axis writes outside of its result

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 3), "float32")
x0 = relax.Var("x0", R.Tensor((2, 2), "float32"))
x1 = relax.Var("x1", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [x0, x1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "grad.take_backward",
            [x0, x1, relax.const(np.array([0, 2], "int64"), "int64")],
            "TakeAttrs",
            axis=-1,
            mode="",
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    import tvm
    from tvm import tirx


    def accesses_outside(func, args):
        """Loads and stores whose indices are outside of their buffers, loop by loop.

        Args:
            args: NumPy arrays, whose shapes give symbolic dimensions their sizes.
        """
        analyzer = (tvm.sym if hasattr(tvm, "sym") else tvm.arith).Analyzer()

        def bind(var, value):
            if isinstance(value, int):
                value = tirx.IntImm(str(var.ty.dtype), value)
            analyzer.bind(var, value, allow_override=True)

        def number(expr):
            found = analyzer.simplify(expr)
            return int(found.value) if isinstance(found, tirx.IntImm) else None

        def touched(kind, buffer, at):
            indices, shape = list(map(number, at)), list(map(number, buffer.shape))
            pairs = zip(indices, shape, strict=True)
            if any(i is not None and size is not None and not 0 <= i < size for i, size in pairs):
                yield f"{kind} {buffer.name}{indices}, a buffer of shape {shape}"

        def loads(expr):
            name = str(getattr(getattr(expr, "op", None), "name", ""))
            select = type(expr).__name__ == "Select"
            if select or name.endswith("if_then_else"):
                condition, yes, no = (
                    (expr.condition, expr.true_value, expr.false_value) if select else expr.args
                )
                yield from loads(condition)
                taken = number(condition)
                # Otherwise it depends on data which one is looked at.
                if taken is not None:
                    yield from loads(yes if taken else no)
                return
            if type(expr).__name__ in ("TensorLoad", "BufferLoad"):
                source = expr.source if hasattr(expr, "source") else expr.buffer
                yield from touched("load of", source, expr.indices)
            for field in ("a", "b", "value"):
                if isinstance(getattr(expr, field, None), tvm.ir.Expr):
                    yield from loads(getattr(expr, field))
            for part in (*getattr(expr, "args", ()), *getattr(expr, "indices", ())):
                yield from loads(part)

        def walk(stmt):
            kind = type(stmt).__name__
            if kind == "For":
                start = number(stmt.min) or 0
                for i in range(start, start + (number(stmt.extent) or 0)):
                    bind(stmt.loop_var, i)
                    yield from walk(stmt.body)
            elif kind.endswith("BlockRealize"):
                values = [analyzer.simplify(value) for value in stmt.iter_values]
                if number(stmt.predicate) == 0:
                    return
                for axis, value in zip(stmt.block.iter_vars, values, strict=True):
                    bind(axis.var, value)
                yield from walk(stmt.block.body)
            elif kind == "SeqStmt":
                for part in stmt.seq:
                    yield from walk(part)
            elif kind == "IfThenElse":
                yield from loads(stmt.condition)
                taken = number(stmt.condition)
                branch = stmt.then_case if taken else stmt.else_case
                if taken is not None and branch is not None:
                    yield from walk(branch)
            elif kind == "BufferStore":
                yield from touched("store to", stmt.buffer, stmt.indices)
                yield from loads(stmt.value)
            elif hasattr(stmt, "body"):
                yield from walk(stmt.body)

        for param, arg in zip(func.params, args, strict=True):
            for dim, size in zip(getattr(param, "shape", ()), getattr(arg, "shape", ()), strict=True):
                if isinstance(dim, tirx.Var):
                    bind(dim, int(size))
        yield from walk(func.body)


    args = [np.array([[ 2.,  1.],
     [ 0., -2.]], "float32"), np.array([[-1., -3., -3.],
     [-3., -2.,  2.]], "float32"), np.array([0, 2], "int64"), np.array([[3.3961514e+38, 3.3961514e+38, 3.3961514e+38],
     [3.3961514e+38, 3.3961514e+38, 3.3961514e+38]], "float32")]
    func = apply(mod)['take_backward']
    wrong = next(accesses_outside(func, args), None)
    assert wrong is None, f"{func}\n{wrong}"
