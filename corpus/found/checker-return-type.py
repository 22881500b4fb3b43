# relax.analysis.well_formed: a function that is said to return another dtype than it does is accepted

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import Normalize
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x = relax.Var("x", R.Tensor((2, 2), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr([], x),
    type_of(x),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(x))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    the_pass = Normalize()
    import json

    # Now the return type contradicts the result.
    document = json.loads(tvm.ir.save_json(mod))
    nodes = document["nodes"]
    (main,) = [node for node in nodes if node["type"] == "relax.expr.Function"]
    ret_ty = nodes[main["data"]["ret_ty"]]
    nodes.append({"type": "ir.PrimType", "data": {"span": ret_ty["data"]["span"], "dtype": "int32"}})
    nodes.append({"type": ret_ty["type"], "data": {**ret_ty["data"], "dtype": len(nodes) - 1}})
    main["data"]["ret_ty"] = len(nodes) - 1
    broken = tvm.ir.load_json(json.dumps(document))
    try:
        relax.analysis.well_formed(broken)
        the_pass(broken)
    except Exception as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("no error, where the return type contradicts the result")
