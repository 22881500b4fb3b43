# relax.analysis.well_formed: an operator that takes a tensor is given a function, and it is accepted

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LowerRuntimeBuiltin
from tvm.script import relax as R

TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2, 2), "float32"))
gv = relax.Var("gv", TupleType([]))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op("memory.kill_tensor", [x]),
            TupleType([]),
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main", "relax.force_pure": True}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    the_pass = LowerRuntimeBuiltin()
    import json

    # Now an operator that takes a tensor is given a function.
    document = json.loads(tvm.ir.save_json(mod))
    nodes = document["nodes"]
    nodes[34]["data"]["args"] = 49  # was 32
    nodes.append({'type': 'ffi.Array', 'data': [18]})
    broken = tvm.ir.load_json(json.dumps(document))
    try:
        relax.analysis.well_formed(broken)
        the_pass(broken)
    except Exception as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("no error, where an operator that takes a tensor is given a function")
