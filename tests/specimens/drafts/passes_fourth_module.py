"""Passes on several functions, and on attributes; each also without its mistake, as NAME_fixed."""

import tvm
import tvm_ffi
from common import is_public, named, relax_functions, with_functions
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor


def new_global(name, func):
    gvar = tvm.ir.GlobalVar(name)
    relax.expr._update_type(gvar, func.ty)
    return gvar


@visitor
class Calls(PyExprVisitor):
    """The calls of functions of the module, and the functions that are used in another way."""

    def __init__(self):
        self.of, self.values, self.in_place = {}, set(), False

    def visit_call_(self, call):
        self.in_place |= isinstance(call.op, tvm.ir.Op) and "inplace" in call.op.name
        if not isinstance(call.op, tvm.ir.GlobalVar):
            super().visit_call_(call)
            return
        self.of.setdefault(call.op, []).append(call)
        for arg in call.args:
            self.visit_expr(arg)

    def visit_global_var_(self, gvar):
        self.values.add(gvar)


def calls_in(mod):
    calls = Calls()
    for func in relax_functions(mod).values():
        calls.visit_expr(func)
    return calls


def only_called(mod, calls):
    """The plain private functions of which all calls are known."""
    return {
        gvar: func
        for gvar, func in relax_functions(mod).items()
        if not func.attrs and gvar in calls.of and gvar not in calls.values
    }


# -- constants for parameters --------------------------------------------------------------------


# -- casts of results ----------------------------------------------------------------------------


@mutator
class _Cast(PyExprMutator):
    """Calls of other functions, whose results are cast."""

    def __init__(self, replaced):
        super().__init__()
        self.replaced = replaced

    def visit_call_(self, call):
        if call.op not in self.replaced:
            return super().visit_call_(call)
        gvar, dtype = self.replaced[call.op]
        args = [self.visit_expr(arg) for arg in call.args]
        return relax.op.astype(relax.Call(gvar, args), dtype)


def casts_hoisted(mod, result):
    """A private function that ends with a cast leaves it to its callers, where it may fuse."""
    while True:
        new = casts_hoisted_once(mod, result)
        if new is mod:
            return mod
        mod = new


def casts_hoisted_once(mod, result):
    functions, replaced, shorter = dict(mod.functions_items()), {}, {}
    for gvar, func in only_called(mod, calls_in(mod)).items():
        if not func.body.blocks:
            continue
        *blocks, block = func.body.blocks
        *bindings, last = block.bindings
        ends = isinstance(last, relax.VarBinding) and last.var.same_as(func.body.body)
        if not ends or not isinstance(last.value, relax.Call):
            continue
        if last.value.op != tvm.ir.Op.get("relax.astype"):
            continue
        operand = last.value.args[0]
        var = relax.Var("uncast", operand.ty)
        blocks.append(type(block)([*bindings, relax.VarBinding(var, operand)]))
        seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, var))
        new = relax.Function(func.params, seq, result(func.ret_ty, operand), func.is_pure)
        replaced[gvar] = new_global(gvar.name_hint, new), str(last.value.ty.dtype)
        shorter[gvar] = new
    if not replaced:
        return mod
    callers = _Cast(replaced)
    new_functions = {}
    for gvar, func in functions.items():
        func = shorter.get(gvar, func)
        if isinstance(func, relax.Function):
            func = callers.visit_expr(func)
        new_functions[replaced[gvar][0] if gvar in replaced else gvar] = func
    return with_functions(mod, new_functions)


def as_declared(ty, operand):
    return ty


def uncast(ty, operand):
    rank = ty.ndim if ty.shape is None else -1
    return relax.TensorType(ty.shape, str(operand.ty.dtype), ty.vdevice, rank)


hoist_final_cast = named("HoistFinalCast", casts_hoisted, result=as_declared)
hoist_final_cast_fixed = named("HoistFinalCastFixed", casts_hoisted, result=uncast)

# -- wrappers ------------------------------------------------------------------------------------


def wrapped(mod, free_name):
    """Public functions only check arguments; what they do is in private ones."""
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        if not is_public(func) or "wraps" in func.attrs or "Codegen" in func.attrs:
            continue
        impl = relax.utils.copy_with_new_vars(func).without_attr("global_symbol")
        taken = {other.name_hint for other in functions}
        target = new_global(free_name(f"{gvar.name_hint}_impl", taken), impl)
        call = relax.BlockBuilder().normalize(relax.Call(target, func.params))
        if not tvm_ffi.structural_equal(call.ty, func.ret_ty):
            continue
        out = relax.Var("out", func.ret_ty)
        block = relax.BindingBlock([relax.VarBinding(out, call)])
        seq = relax.BlockBuilder().normalize(relax.SeqExpr([block], out))
        new = relax.Function(func.params, seq, func.ret_ty, func.is_pure, func.attrs)
        functions[target] = impl
        functions[gvar] = new.with_attr("wraps", target.name_hint)
    return with_functions(mod, functions)


def as_it_is(name, taken):
    return name


def numbered(name, taken):
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


wrap_public = named("WrapPublic", wrapped, free_name=as_it_is)
wrap_public_fixed = named("WrapPublicFixed", wrapped, free_name=numbered)

# -- attributes ----------------------------------------------------------------------------------


def tensor_bytes(ty):
    if not isinstance(ty.shape, relax.ShapeExpr) or not ty.dtype:
        return 0
    count = (tvm.DataType(str(ty.dtype)).bits + 7) // 8
    for dim in ty.shape.values:
        if not isinstance(dim, tirx.IntImm):
            return 0
        count *= int(dim)
    return count


def of_fields(ty):
    fields = ty.fields if isinstance(ty, relax.TupleType) else [ty]
    return sum(tensor_bytes(field) for field in fields)


def of_all(ty):
    if isinstance(ty, relax.TupleType):
        return sum(of_all(field) for field in ty.fields)
    return tensor_bytes(ty) if isinstance(ty, relax.TensorType) else 0


def with_result_bytes(mod, size):
    """How much the caller has to make room for, as far as it is known."""
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        if is_public(func):
            functions[gvar] = func.with_attr("result_bytes", size(func.ret_ty))
    return with_functions(mod, functions)


note_result_bytes = named("NoteResultBytes", with_result_bytes, size=of_fields)
note_result_bytes_fixed = named("NoteResultBytesFixed", with_result_bytes, size=of_all)
