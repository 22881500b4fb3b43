"""Crashes and ill-formed modules that take a rare operand, or two features that meet."""

from __future__ import annotations

import itertools
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar

from relaxfuzz.compat import ir
from relaxfuzz.compat.ops import relax_op
from relaxfuzz.generators.rewrite.nodes import substitute, with_functions, with_parts, with_type
from relaxfuzz.oracles.inspect import has_op_attr, is_public, nodes, op_name

from ..specimen import Family, Specimen, of
from .rare_values import axes_of
from .structure import PURE_UNARY
from .tools import (
    Emit,
    bound_values,
    in_public_functions,
    labelled,
    made,
    on_blocks,
    on_calls,
    on_functions,
    on_values,
    static_tensor,
    writes_in_place,
)
from .values import dtype_of, visible

Bindings = list[relax.Binding]


def _dims(expr: relax.Expr) -> list[int]:
    """The dims of a tensor of which all are known."""
    return [int(dim.value) for dim in expr.ty.shape.values]


# Crashes


def slices_takes() -> tvm.transform.Pass:
    """take at one constant index becomes a slice."""

    def change(call: relax.Call) -> relax.Expr | None:
        x, index = call.args
        if index.ty.ndim != 1 or not isinstance(index, ir.GenericConst) or not static_tensor(x):
            return None
        positions, dims = ir.constant_data(index).numpy().tolist(), _dims(x)
        axis = 0 if call.attrs.axis is None else int(call.attrs.axis) % len(dims)
        if len(positions) != 1 or not 0 <= positions[0] < dims[axis]:
            return None
        if call.attrs.axis is None and len(dims) != 1:
            return None
        (begin,) = positions
        return relax_op.strided_slice(x, [axis], [begin], [begin + 1])

    return made("SliceTakes", lambda mod: on_calls(mod, change, "relax.take"))


_BINARY = ("relax.add", "relax.subtract", "relax.multiply", "relax.divide", "relax.maximum")


def broadcasts_operands() -> tvm.transform.Pass:
    """Operands of binary operators are broadcast before."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) not in _BINARY or not static_tensor(value):
            return None
        assert isinstance(value, relax.Call)
        shape = value.ty.shape
        args = [
            arg
            if arg.ty.shape is None or tvm_ffi.structural_equal(arg.ty.shape, shape)
            else emit(relax_op.broadcast_to(arg, shape))
            for arg in value.args
        ]
        if all(new.same_as(old) for new, old in zip(args, value.args, strict=True)):
            return None
        return relax.Call(value.op, args)

    return made("BroadcastOperands", lambda mod: on_values(mod, change))


def outlines_dead_chains() -> tvm.transform.Pass:
    """Two elementwise operators, of which the second alone uses the first, become a function."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        builder = relax.BlockBuilder(mod)

        def rewrite(block: relax.BindingBlock, bindings: Bindings) -> Bindings:
            if not isinstance(block, relax.DataflowBlock):
                return bindings
            done = list(bindings)
            for first, second in itertools.pairwise(bindings):
                if first not in done or not _chain(first, second, bindings):
                    continue
                group = (first, second)
                outputs = [binding for binding in group if _leaves(binding, group, bindings)]
                gvar = builder.add_func(_outlined(first, second), "chain")
                call = relax.Call(gvar, list(first.value.args))
                done[done.index(second)] = relax.VarBinding(
                    outputs[0].var, with_type(call, second.var.ty)
                )
                done.remove(first)
            return done

        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and is_public(func) and not labelled(func):
                builder.update_func(gvar, on_blocks(func, rewrite))
        return with_functions(mod, dict(builder.get().functions_items()))

    return made("OutlineChains", transform)


def _chain(first: relax.Binding, second: relax.Binding, bindings: Bindings) -> bool:
    """Both are elementwise, everything about them is known, and only one uses the other."""
    both = [each.value for each in (first, second) if isinstance(each, relax.VarBinding)]
    if len(both) < 2 or any(op_name(value) not in PURE_UNARY for value in both):
        return False
    if not isinstance(first.var, relax.DataflowVar) or not second.value.args[0].same_as(first.var):
        return False
    known = all(map(static_tensor, (*first.value.args, *both)))
    uses = sum(var.same_as(first.var) for b in bindings for var in nodes(b.value, relax.Var))
    return known and uses == 1 and isinstance(first.value.args[0], relax.Var)


def _leaves(binding: relax.Binding, group: tuple[relax.Binding, ...], bindings: Bindings) -> bool:
    """Something outside of the group uses its variable."""
    others = [other for other in bindings if other not in group]
    used = any(binding.var.same_as(v) for b in others for v in nodes(b.value, relax.Var))
    return used or not isinstance(binding.var, relax.DataflowVar)


def _outlined(first: relax.Binding, second: relax.Binding) -> relax.Function:
    """A private function that does both."""
    param = relax.Var("x", first.value.args[0].ty)
    inner, outer = relax.Var("inner", first.var.ty), relax.Var("outer", second.var.ty)
    values = [
        with_type(relax.Call(each.value.op, [arg], each.value.attrs), each.value.ty)
        for each, arg in ((first, param), (second, inner))
    ]
    block = relax.BindingBlock(
        [relax.VarBinding(v, value) for v, value in zip((inner, outer), values, strict=True)]
    )
    body = with_type(relax.SeqExpr([block], outer), outer.ty)
    return relax.Function([param], body, outer.ty)


def renames_output_aliases() -> tvm.transform.Pass:
    """What a dataflow block gives out under a second name gets that name at once."""

    def rewrite(block: relax.BindingBlock, bindings: Bindings) -> Bindings:
        if not isinstance(block, relax.DataflowBlock):
            return bindings
        where = {binding.var: i for i, binding in enumerate(bindings)}
        new: dict[relax.Var, relax.Var] = {}
        for binding in bindings:
            value = binding.value if isinstance(binding, relax.VarBinding) else None
            if not isinstance(value, relax.Var) or isinstance(binding.var, relax.DataflowVar):
                continue
            source = bindings[where[value]]
            plain = isinstance(value, relax.DataflowVar) and isinstance(source, relax.VarBinding)
            if plain and tvm_ffi.structural_equal(value.ty, binding.var.ty):
                new.setdefault(value, binding.var)
        if not new:
            return bindings
        kept = [b for b in bindings if not any(b.var.same_as(var) for var in new.values())]
        return [
            relax.VarBinding(new.get(b.var, b.var), substitute(b.value, new))
            if isinstance(b, relax.VarBinding)
            else relax.MatchCast(b.var, substitute(b.value, new), b.ty)
            for b in kept
        ]

    return made(
        "RenameOutputAliases", lambda mod: on_functions(mod, lambda func: on_blocks(func, rewrite))
    )


def reorders_matmul_chains() -> tvm.transform.Pass:
    """(a b) c of integers becomes a (b c) where that takes fewer multiplications."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
            if op_name(value) != "relax.matmul":
                return None
            product: Any = values.get(value.args[0])
            if op_name(product) != "relax.matmul":
                return None
            (a, b), c = product.args, value.args[1]
            if not all(map(static_tensor, (a, b, c))):
                return None
            (m, k), (_, n), (_, p) = map(_dims, (a, b, c))
            same = len({dtype_of(each) for each in (a, b, c, product, value)}) == 1
            exact = same and dtype_of(value).startswith(("int", "uint"))
            if not exact or not all(visible(arg, value.args[0]) for arg in (a, b)):
                return None
            if m * k * n + m * n * p <= k * n * p + m * k * p:
                return None
            return relax_op.matmul(a, emit(relax_op.matmul(b, c)))

        return on_values(mod, change)

    return made("ReorderMatmuls", lambda mod: mod if writes_in_place(mod) else transform(mod))


def decomposes_layer_norm() -> tvm.transform.Pass:
    """layer_norm over the last axes becomes arithmetic."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) != "relax.nn.layer_norm" or dtype_of(value) != "float32":
            return None
        assert isinstance(value, relax.Call)
        x, gamma, beta = value.args
        ndim, attrs = x.ty.ndim, value.attrs
        if ndim < 1:
            return None
        axes = [int(axis) % ndim for axis in attrs.axes]
        others = [axis for axis in range(ndim) if axis not in axes]
        if others[-1] > min(axes) or axes != sorted(axes):
            return None  # gamma and beta would have to be expanded
        epsilon = relax.const(float(attrs.epsilon), dtype_of(value))
        shifted = emit(relax_op.subtract(x, emit(relax_op.mean(x, axes, True))))
        spread = emit(relax_op.add(emit(relax_op.variance(x, axes, True)), epsilon))
        out = emit(relax_op.divide(shifted, emit(relax_op.sqrt(spread))))
        if attrs.scale:
            out = emit(relax_op.multiply(out, gamma))
        return relax_op.add(out, beta) if attrs.center else out

    return made("DecomposeLayerNorm", lambda mod: on_values(mod, change))


def fuses_transposed_weights() -> tvm.transform.Pass:
    """Products become functions; a matrix that is transposed before gives them their name."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)
        numbers: dict[relax.Expr, int] = {}
        for var in nodes(mod, relax.Var):
            numbers.setdefault(var, len(numbers))

        def name(call: relax.Call) -> str:
            weight: Any = values.get(call.args[1])
            transposed = op_name(weight) == "relax.permute_dims"
            return f"linear{numbers[weight.args[0]]}" if transposed else "product"

        def operands(variables: list[relax.Var]) -> list[relax.Var]:
            return list(dict.fromkeys(variables))

        return in_public_functions(mod, relax.BlockBuilder(mod), name, operands, "relax.matmul")

    return made("OutlineLinearLayers", transform)


# Forms


def splits_combined_rows() -> tvm.transform.Pass:
    """A product with concatenated matrices becomes a concatenation of products."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def change(call: relax.Call) -> relax.Expr | None:
            joined: Any = values.get(call.args[1])
            if op_name(joined) != "relax.concat" or not isinstance(joined.args[0], relax.Tuple):
                return None
            matrices = list(joined.args[0].fields)
            if not all(map(static_tensor, (*matrices, call.args[0]))) or len(matrices) < 2:
                return None
            if not all(visible(matrix, call.args[1]) for matrix in matrices):
                return None
            ndim = matrices[0].ty.ndim
            if ndim != 2 or joined.attrs.axis is None or int(joined.attrs.axis) % ndim != 1:
                return None
            out = dtype_of(call)
            parts = [relax_op.matmul(call.args[0], matrix, out) for matrix in matrices]
            return relax_op.concat(parts, 1)

        return on_calls(mod, change, "relax.matmul")

    return made("SplitProducts", lambda mod: mod if writes_in_place(mod) else transform(mod))


def permutes_after_concat() -> tvm.transform.Pass:
    """The same permute_dims of all that is concatenated is done once, afterwards."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def change(call: relax.Call) -> relax.Expr | None:
            fields = list(getattr(call.args[0], "fields", ()))
            found: list[Any] = [values.get(field) for field in fields]
            if len(found) < 2 or any(op_name(each) != "relax.permute_dims" for each in found):
                return None
            operands = [each.args[0] for each in found]
            if not all(map(static_tensor, operands)) or call.attrs.axis is None:
                return None
            if not all(map(visible, operands, fields)):
                return None
            axes, axis = axes_of(found[0]), int(call.attrs.axis)
            if any(axes_of(each) != axes for each in found):
                return None
            before = dict(enumerate(axes)).get(axis, axis)
            rest = [
                [d for i, d in enumerate(_dims(x)) if i != before % len(axes)] for x in operands
            ]
            if any(dims != rest[0] for dims in rest):
                return None
            return relax_op.permute_dims(relax_op.concat(operands, before), axes)

        return on_calls(mod, change, "relax.concat")

    return made("PermuteAfterConcat", lambda mod: mod if writes_in_place(mod) else transform(mod))


def removes_arguments_of_impure_calls() -> tvm.transform.Pass:
    """Removes what is not needed for what a function returns."""

    def change(func: relax.Function) -> relax.Function:
        if nodes(func.body, relax.If) or len(nodes(func, relax.Function)) > 1:
            return func
        live = set(nodes(func.body.body, relax.Var))
        blocks = []
        for block in reversed(func.body.blocks):
            kept = []
            for binding in reversed(block.bindings):
                needed = binding.var in live or isinstance(binding, relax.MatchCast)
                effect = isinstance(binding.value, relax.Call) and not _removable(binding.value)
                if needed:
                    live.update(nodes(binding.value, relax.Var))
                if needed or effect:
                    kept.append(binding)
            blocks.append(type(block)(kept[::-1]))
        left = [block for block in reversed(blocks) if block.bindings]
        if sum(len(b.bindings) for b in left) == sum(len(b.bindings) for b in func.body.blocks):
            return func
        return with_parts(func, body=with_type(relax.SeqExpr(left, func.body.body), func.body.ty))

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        return mod if writes_in_place(mod) else on_functions(mod, change)

    return made("RemoveUnneeded", transform)


def _removable(call: relax.Call) -> bool:
    """A call without effects."""
    name = op_name(call)
    if name is None:
        return bool(isinstance(call.op, GlobalVar) and getattr(call.op.ty, "purity", False))
    return has_op_attr(name, "FPurity") and bool(call.op.get_attr("FPurity"))


SHORT = 3


def dissolves_small_dataflow() -> tvm.transform.Pass:
    """Dataflow blocks that are too short to be worth it become ordinary ones."""

    def change(func: relax.Function) -> relax.Function:
        blocks: list[relax.BindingBlock] = []
        for block in func.body.blocks:
            short = isinstance(block, relax.DataflowBlock) and len(block.bindings) < SHORT
            new = relax.BindingBlock(block.bindings) if short else block
            if blocks and type(new) is type(blocks[-1]) is relax.BindingBlock:
                new = relax.BindingBlock([*blocks.pop().bindings, *new.bindings])
            blocks.append(new)
        if list(map(type, blocks)) == list(map(type, func.body.blocks)):
            return func
        return with_parts(func, body=with_type(relax.SeqExpr(blocks, func.body.body), func.body.ty))

    return made("DissolveShortBlocks", lambda mod: on_functions(mod, change))


def updates_equal_functions() -> tvm.transform.Pass:
    """x * x becomes square(x), in each private function once."""

    def square(call: relax.Call) -> relax.Expr | None:
        a, b = call.args
        if not isinstance(a, relax.Var) or not a.same_as(b) or dtype_of(call) != "float32":
            return None
        return relax_op.square(a)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        new = on_calls(mod, square, "relax.multiply")
        if new.same_as(mod) or tvm_ffi.structural_equal(new, mod):
            return mod
        done: list[tuple[GlobalVar, tvm.ir.BaseFunc]] = []
        for gvar, func in new.functions_items():
            private = isinstance(func, relax.Function) and not is_public(func)
            known = any(tvm_ffi.structural_equal(func, other) for _, other in done)
            if not (private and known):
                done.append((gvar, func))
        return with_functions(new, dict(done))

    return made("Square", transform)


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(slices_takes),
        family=Family.CRASH,
        fault="Expects the indices of take to be a tensor.",
        source="apache/tvm#16940: [Relax] Allow PrimValue as index in relax.op.take",
        needs=("take", "an index that is a number"),
    ),
    Specimen(
        factory=of(broadcasts_operands),
        family=Family.CRASH,
        fault="Expects all operands of arithmetic to be tensors.",
        source="apache/tvm#16827: [Relax] Handle binary operations between Tensor and PrimValue",
        needs=("arithmetic", "an operand that is a number"),
    ),
    Specimen(
        factory=of(outlines_dead_chains),
        family=Family.CRASH,
        fault="Expects that a group of operators has a result that is used.",
        source="apache/tvm#14354: [Unity][Pass] Fix FuseOps error if there is no output of a given "
        "group",
        needs=("elementwise operators in a chain", "dead code"),
    ),
    Specimen(
        factory=of(renames_output_aliases),
        family=Family.CRASH,
        fault="Expects that what a dataflow block gives out is computed in it.",
        source="apache/tvm#15523: [Unity][Bugfix] Handle assignment of non-dataflow var to a "
        "dataflow var in CanonicalizeBindings",
        needs=("an alias as output of a dataflow block", "a variable from outside"),
    ),
    Specimen(
        factory=of(reorders_matmul_chains),
        family=Family.CRASH,
        fault="Expects all operands in a chain of products to be matrices.",
        source="apache/tvm#19650: [Fix][Relax] Support ND batched matmul chains in "
        "AdjustMatmulOrder pass",
        needs=("matmuls in a chain", "another rank than two"),
    ),
    Specimen(
        factory=of(decomposes_layer_norm),
        family=Family.CRASH,
        fault="Expects an axis over which nothing is normalized.",
        source="apache/tvm#18063: [TOPI][NN][Layer_Norm] Fix layer_norm error with reduce-only "
        "axes",
        needs=("layer_norm", "all axes"),
    ),
    Specimen(
        factory=of(fuses_transposed_weights),
        family=Family.CRASH,
        fault="Expects a transposed weight to be a variable.",
        source="apache/tvm#17761: [FIX][RELAX] fix fusion of transpose + matmul when constant  "
        "weight",
        needs=("matmul", "permute_dims of a constant"),
    ),
    Specimen(
        factory=of(splits_combined_rows),
        family=Family.STRUCTURE,
        fault="Concatenates the products along axis 1, whatever the rank of the other operand.",
        source="apache/tvm#13597: [Relay] Fix `CombineParallelDense` slicing axis",
        needs=("matmul with concatenated matrices", "another rank than two"),
    ),
    Specimen(
        factory=of(permutes_after_concat),
        family=Family.STRUCTURE,
        fault="Moves a permute_dims behind concat, but does not permute an axis that is negative.",
        source="apache/tvm#19588: Normalize negative concat axis in ReorderPermuteDimsAfterConcat",
        needs=("concat along a negative axis", "permute_dims of every operand"),
    ),
    Specimen(
        factory=of(removes_arguments_of_impure_calls),
        family=Family.STRUCTURE,
        fault="Keeps impure calls whose result is not used, but not what computes their arguments.",
        source="apache/tvm#16036: [Unity][Bugfix] Track variable usage from input to impure "
        "functions",
        needs=("impure calls", "dead code"),
    ),
    Specimen(
        factory=of(dissolves_small_dataflow),
        family=Family.STRUCTURE,
        fault="Leaves variables of dataflow blocks behind outside of them.",
        source="apache/tvm#17148: [Bugfix][Relax] Preserve existing DataflowBlock in "
        "ConvertToDataflow",
        needs=("a dataflow block of two bindings", "a variable that does not leave it"),
    ),
    Specimen(
        factory=of(updates_equal_functions),
        family=Family.STRUCTURE,
        fault="Loses one of two private functions that are equal.",
        source="apache/tvm#16805: [Bugfix][Relax] BlockBuilder may not assume unique input "
        "functions",
        needs=("equal private functions", "the product of a tensor with itself"),
    ),
)
