# relax.analysis.well_formed: a call of an operator with one operand too many is accepted

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import Normalize

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 2), "float32")
x = relax.Var("x", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, op("triu", [x, prim_value(0)]))])], gv),
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

    # Now an operator has more operands than it takes.
    document = json.loads(tvm.ir.save_json(mod))
    nodes = document["nodes"]
    (call,) = [node for node in nodes if node["type"].endswith(".Call")]
    operands = nodes[call["data"]["args"]]["data"]
    operands.append(operands[0])
    broken = tvm.ir.load_json(json.dumps(document))
    try:
        relax.analysis.well_formed(broken)
        the_pass(broken)
    except Exception as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("no error, where an operator has more operands than it takes")
