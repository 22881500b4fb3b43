"""`relax.ext.acme`: code for the functions that were cut out of a module.

A real accelerator would get instructions of its own. This one is simulated on the CPU: its code is
made of TensorIR.
"""

import tvm
from tvm import relax, te, tirx

SIMULATOR = {"kind": "llvm", "opt-level": 0}


@tvm.register_global_func("relax.ext.acme", override=True)
def compile_functions(functions, options, constant_names):
    """TVM calls this in RunCodegen; it wants runtime modules."""
    return [compile_function(function) for function in functions]


def compile_function(function):
    """One function that takes the operands and writes the results behind them."""
    tensors = {param: placeholder(param) for param in function.params}
    inputs = list(tensors.values())
    composites = {}
    for binding in bindings(function):
        if isinstance(binding.value, relax.Function):
            composites[binding.var] = binding.value
        elif isinstance(binding.value, relax.Call):
            args = [tensors[arg] for arg in binding.value.args]
            tensors[binding.var] = dense(composites[binding.value.op], args)
        else:
            tensors[binding.var] = tensors[binding.value]
    result = function.body.body
    fields = result.fields if isinstance(result, relax.Tuple) else [result]
    kernel = te.create_prim_func([*inputs, *(tensors[field] for field in fields)])
    symbol = function.attrs["global_symbol"]
    mod = tvm.IRModule({symbol: kernel.with_attr("global_symbol", symbol)})
    return tvm.tirx.build(mod, target=SIMULATOR)


def dense(composite, args):
    """The accelerator's one instruction: x @ weight, plus a bias for each column, through relu."""
    tensors = dict(zip(composite.params, args, strict=True))
    for binding in bindings(composite):
        operands = [tensors[arg] for arg in binding.value.args]
        match binding.value.op.name:
            case "relax.matmul":
                product = out = multiplied(*operands)
            case "relax.add":
                bias = operands[1] if operands[0] is product else operands[0]
                out = biased(product, bias)
            case "relax.nn.relu":
                out = cut_off(*operands)
        tensors[binding.var] = out
    return out


def multiplied(x, weight):
    (rows, depth), (_, columns) = x.shape, weight.shape
    k = te.reduce_axis((0, depth))
    return te.compute((rows, columns), lambda i, j: te.sum(x[i, k] * weight[k, j], axis=k))


def biased(x, bias):
    """The unit that adds holds one row."""
    row = [0] * (len(bias.shape) - 1)
    return te.compute(x.shape, lambda i, j: x[i, j] + bias[(*row, j)])


def cut_off(x):
    zero = tirx.const(0, "float32")
    return te.compute(x.shape, lambda i, j: te.max(x[i, j], zero))


def placeholder(var):
    return te.placeholder([int(size) for size in var.ty.shape.values], str(var.ty.dtype))


def bindings(function):
    return [binding for block in function.body.blocks for binding in block.bindings]
