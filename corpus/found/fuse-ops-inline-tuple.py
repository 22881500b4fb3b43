# FuseOps: DataflowVar lv is not defined.

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FuseOps

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

ty = TensorType((3,), "float32")
lv = relax.DataflowVar("lv", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.DataflowBlock([
            relax.VarBinding(lv, relax.TupleGetItem(
                relax.Tuple([constant(
                    tvm.runtime.tensor(np.array([1.0, 3.0, -2.0], "float32")),
                    ty,
                )]),
                0,
            )),
            relax.VarBinding(gv, relax.TupleGetItem(relax.Tuple([lv]), 0)),
        ])],
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

if __name__ == "__main__":
    relax.analysis.well_formed(FuseOps(fuse_opt_level=1)(mod))
