# relax.analysis.well_formed: a TupleGetItem whose index is out of range is accepted

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import Normalize
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

ty = TensorType((2, 2), "float32")
x = relax.Var("x", TupleType([R.Tensor((2, 2), "float32"), ty]))
gv = relax.Var("gv", ty)
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv, relax.TupleGetItem(x, 1))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    the_pass = Normalize()
    import json

    # Now the index of a TupleGetItem is out of range.
    document = json.loads(tvm.ir.save_json(mod))
    nodes = document["nodes"]
    (item,) = [node for node in nodes if node["type"].endswith("TupleGetItem")]
    item["data"]["index"] = 1000
    broken = tvm.ir.load_json(json.dumps(document))
    try:
        relax.analysis.well_formed(broken)
        the_pass(broken)
    except Exception as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("no error, where the index of a TupleGetItem is out of range")
