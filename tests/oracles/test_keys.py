"""Keys: what is dropped from messages of TVM, what is kept, and which keys differ.

The messages are those that TVM 0.27 gave on modules of its own tests.
"""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles import keys
from relaxfuzz.oracles.structural import checkers, interface

SAME = [
    (
        "Check failed: (it_group != obj2group_.end()) is false: "
        "Variable conv1 could not be found in any group",
        "Check failed: (it_group != obj2group_.end()) is false: "
        "Variable C could not be found in any group",
    ),
    (
        'Cannot find global var "main" in the Module\ncandidates are: ["max_pool2d"]',
        'Cannot find global var "main" in the Module\ncandidates are: ["te_func", "shape_func"]',
    ),
    (
        "Check failed: (call->op.same_as(call_tir_op_)) is false: Only call_tir is supported in "
        "primitive function, but got: R.add(lv5, gelu1)",
        "Check failed: (call->op.same_as(call_tir_op_)) is false: Only call_tir is supported in "
        'primitive function, but got: R.astype(x, dtype="float16")',
    ),
    (
        "Check failed: signed_num_input <= func->params.size() (3 vs. 1) : Function was declared "
        "to have 3 runtime inputs, but only has 1 parameters total.",
        "Check failed: signed_num_input <= func->params.size() (2 vs. 0) : Function was declared "
        "to have 2 runtime inputs, but only has 0 parameters total.",
    ),
    (
        "Binary operators must have the same datatype for both operands.  However, R.add(lv1, "
        "T.float32(1.0000000000000001e-05)) uses datatype T.float16 on the LHS (Type of "
        'R.Tensor((32,), dtype="float16")), and datatype T.float32 on the RHS (Type of T.float32).',
        "Binary operators must have the same datatype for both operands.  However, R.add(lv1, "
        'bias) uses datatype T.float32 on the LHS (Type of R.Tensor((32, 8), dtype="float32")), '
        'and datatype T.int32 on the RHS (Type of R.Tensor((8,), dtype="int32")).',
    ),
    (
        "Binary operators must have the same datatype for both operands.  However, R.add("
        'metadata["ir.GenericConst"][0], T.float32(1e-05))\n# Metadata omitted. Use show_meta=True '
        "in script() method to show it. uses datatype T.float64 on the LHS (Type of T.float32).",
        "Binary operators must have the same datatype for both operands.  However, R.add(lv1, "
        "T.float32(1e-05)) uses datatype T.float16 on the LHS (Type of T.float32).",
    ),
    (
        "Check failed: (StructuralEqual()(old, new)) is false: "
        "Inconsistent buffers T_multiply and A mapped to the same relax var: lv10",
        "Check failed: (StructuralEqual()(old, new)) is false: "
        "Inconsistent buffers compute and B mapped to the same relax var: gv2",
    ),
    (
        "Check failed: (ffi::StructuralEqual()((*it).second.type(), new_buf.type())) is false: "
        "Inconsistent buffers flatten and lv0 mapped to the same relax var: gv",
        "Check failed: (ffi::StructuralEqual()((*it).second.type(), new_buf.type())) is false: "
        "Inconsistent buffers T_add and A mapped to the same relax var: lv27",
    ),
    (
        "Function # from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,)))"
        f"{'    lv = R.add(x, x)' * 1_000} has true for relax.force_pure but false for is_pure",
        "Function # from tvm.script import tirx as T\n\n@R.function\ndef f(n: T.int64)\n    pass"
        " has true for relax.force_pure but false for is_pure",
    ),
    (
        "error: 'Var' object has no attribute 'get_symbolic_vars'\n --> <str>:8:5\n   |  \n"
        " 8 |  def f(x):\n   |  ^^^^^^",
        "error: 'Op' object has no attribute 'get_symbolic_vars'\n --> <str>:12:9\n   |  \n"
        "12 |  def func(fget_param: R.Any):\n   |  ^^^^^^^^^^^",
    ),
    ("Do not have a default for relax.expr.If", "Do not have a default for ir.StringImm"),
    (
        "Function 0x56321c3d9cb0 is annotated as pure but contains an impure call: "
        'R.call_packed("f", x).  Please set relax.force_pure to true',
        "Function 0x7f00aa is annotated as pure but contains an impure call: "
        'R.call_packed("g", y, sinfo_args=(R.Tuple,)).  Please set relax.force_pure to true',
    ),
    (
        'In ir.Op(span=None, name="relax.multiply", arguments=(ir.ArgumentInfo(name="x1"),)), the '
        "first input shape at dim 1 is 3 and the second input shape at dim 1 is 4",
        'In ir.Op(span=None, name="relax.add", arguments=()), the '
        "first input shape at dim 0 is 7 and the second input shape at dim 2 is 16",
    ),
    (
        "the LHS x3 has shape R.shape([4, 4, 4]), while the RHS gv1 has shape R.shape([2])",
        "the LHS lv has shape R.shape([8]), while the RHS weight has shape R.shape([4, 4])",
    ),
    (
        "the argument gv is instead of type R.Tuple(R.Tensor((2,)), R.Tensor((2,)))",
        "the argument lv12 is instead of type R.Tuple(R.Tensor((4, 4)))",
    ),
    # A constant, a variable, a tuple or an expression of dimensions: what is there is an accident.
    (
        'the LHS metadata["relax.expr.Constant"][0] has shape R.shape([4, 4])',
        "the LHS lv has shape R.shape([8])",
    ),
    (
        "Operator ir.Op(x) requires argument 0 (x1) to be a tensor.  However, the argument "
        "(y, x1) is instead of type R.Tuple(R.Tensor((2,)))",
        "Operator ir.Op(x) requires argument 1 (condition) to be a tensor.  However, the argument "
        "n > T.int64(3) is instead of type R.Prim",
    ),
    (
        "Function has multiple symbolic variables with the name n, all of them named n",
        "Function has multiple symbolic variables with the name k, all of them named k",
    ),
    ("the layout is ABC, not NCHW", "the layout is ABCD, not NCW"),
    (
        "Invalid use of undefined variable count  While this variable was previously defined",
        "Invalid use of undefined variable blockIdx.x  While this variable was previously defined",
    ),
    (
        "Invalid use of undefined variable size",
        "Invalid use of undefined variable cse_v1",
    ),
    (
        "Check failed: (it != relaxed_accesses_.end()) is false: count is allocated but not "
        "accessed within block scope",
        "Check failed: (it != relaxed_accesses_.end()) is false: E is allocated but not accessed "
        "within block scope",
    ),
    # The messages of TVM 0.26 for the same bugs: classes have moved, or have another name.
    (
        "Cannot treat type `ir.GenericConst` as type `ir.Var`",
        "Cannot treat type `relax.expr.Constant` as type `ir.Var`",
    ),
    (
        "Check failed: (func->body.as<s_tir::SBlockRealizeNode>()) is false: no root block",
        "Check failed: (func->body.as<SBlockRealizeNode>()) is false: no root block",
    ),
    (
        "Check failed: (prim_value.as<PrimVar>()) is false: expected to be single tirx var.",
        "Check failed: (prim_value.as<tirx::PrimVar>()) is false: expected to be single tirx var.",
    ),
    # Buffers of TOPI have no name.
    (
        "TIR is ill-formed: buffer  is used at <root>.body without a prior DeclBuffer",
        "TIR is ill-formed: buffer out is used at <root>.body without a prior DeclBuffer",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_messages_of_one_cause_are_one(one: str, other: str) -> None:
    assert keys.message(one) == keys.message(other)


def test_messages_of_different_causes_have_different_keys() -> None:
    every = {keys.message(one) for one, _ in SAME} | {
        keys.message("Check failed: (memo_.count(expr)) is false: Could not find memo-ized group"),
        keys.message("cannot construct an Array of negative size"),
        keys.message("Cannot convert from type `ffi.Array` to `ir.Expr`"),
        keys.message("Cannot convert from type `ir.IntImm` to `ffi.Array`"),
    }
    assert len(every) == len(SAME) + 4


def test_names_of_the_module_at_hand_are_dropped() -> None:
    def text(name: str) -> str:
        return f"{name}(x, f(y)) is impure, as is my_{name} of call_tir"

    def shown(name: str) -> str:
        x = relax.Var(f"my_{name}", relax.TensorType((2,), "float32"))
        with keys.about(tvm.IRModule({name: relax.Function([x], relax.SeqExpr([], x), x.ty)})):
            return keys.message(text(name))

    assert shown("kernel") == shown("other") == "<node> is impure, as is <name> of call_tir"
    assert "kernel" in keys.message(text("kernel"))


def test_source_text_of_a_failed_check_is_kept() -> None:
    text = "Check failed: (it2 != obj2group_.end()) is false: Variable x3 is lost"
    assert keys.message(text).startswith("Check failed: (it2 != obj2group_.end()) is false:")


def test_what_tvm_appends_is_dropped() -> None:
    short = "Only tensors are supported"
    assert keys.message(f"{short}\n\nError in pass: FuseOps\nlocation:\n@R.function ...") == short


def test_own_operators_of_the_compiler_are_kept_where_asked() -> None:
    text = "the expression R.builtin.alloc_tensor(R.shape([2]), 0) is annotated as R.Tensor((2,))"
    assert "R.builtin.alloc_tensor is annotated" in keys.message(text, ops=True)
    assert "R.add" not in keys.message("the expression R.add(x, y) is wrong", ops=True)


def test_long_messages_do_not_take_long() -> None:
    keys.message("(" * 5_000 + "a, 1, " * 20_000)
    keys.message("R.add(" * 5_000)


def failure(mod: tvm.IRModule) -> Exception:
    with pytest.raises(Exception) as info:  # noqa: PT011  whatever TVM raises
        relax.transform.MergeCompositeFunctions()(mod)
    return info.value


def nothing_called_main(name: str) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    func = relax.Function([x], relax.SeqExpr([], x), ret_ty=x.ty)
    func = func.with_attr("global_symbol", name)
    return tvm.IRModule({name: func})


def test_an_exception_is_known_by_type_text_and_place() -> None:
    one, other = (keys.exception(failure(nothing_called_main(n))) for n in ("first", "second"))
    assert (one.key, one.place) == (other.key, other.place)
    kind, text = one.key
    assert kind == "ValueError"
    assert "Cannot find global var" in text
    assert one.place.startswith("ir/module.cc:")
    assert one.raised is not None
    assert (one.raised.kind, one.raised.text) == (kind, text)
    assert not one.raised.legalizes


def test_frames_outside_of_the_pass_are_no_place() -> None:
    def helper() -> None:
        raise ValueError("in the caller's own file")

    with pytest.raises(ValueError, match="own file") as info:
        helper()
    assert keys.exception(info.value).place.startswith("test_keys.py:")


LONG = " && ".join(f"value_{i} == {i}" for i in range(30))


@pytest.mark.parametrize(
    ("message", "beginning"),
    [
        ("Check failed: (a == b) is false: the message", "Check failed: (a == b) is false: the"),
        (f"Check failed: ({LONG}) is false: the message", "the message (Check failed: (value_0"),
        ("Check failed: (a == b) is false: \n the message", "the message (Check failed: (a == b)"),
        ("Check failed: (a == b) is false", "Check failed: (a == b) is false"),
        (
            f'In ir.Op(name="relax.add", description="{LONG}"), dtypes differ',
            "In relax.add, dtypes",
        ),
        (f"R.add({LONG}) has no type", "R.add(…) has no type"),
        (
            "Validation of R.add found: \n\n  too few operands\nat x",
            "Validation of R.add found: too",
        ),
        ("Expected one of:", "Expected one of:"),
    ],
)
def test_a_headline_says_first_what_is_wrong(message: str, beginning: str) -> None:
    line = keys.headline(message)
    assert line.startswith(beginning)
    assert len(line) <= keys.HEADLINE


def test_an_exception_without_text_is_known_by_its_function() -> None:
    def asserting() -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as info:
        asserting()
    assert keys.exception(info.value).key == ("AssertionError", "asserting")


# Differences


def first() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            lv = R.add(x, x)
            return R.astype(lv, "float16")

    return Module


def second() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            lv = R.subtract(x, x)
            return R.astype(lv, "float16")

    return Module


def third() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def other(y: R.Tensor((5,), "float32")):
            a = R.nn.relu(y)
            b = R.nn.softmax(a)
            return R.exp(b)

    return Module


def fourth() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def other(y: R.Tensor((5,), "float32")):
            a = R.nn.relu(y)
            b = R.nn.relu(a)
            return R.exp(b)

    return Module


def test_equal_modules_have_no_difference() -> None:
    assert keys.mismatch(first(), first(), "differs") is None


def test_a_difference_is_known_by_the_kinds_of_nodes_not_by_operators_or_depth() -> None:
    one, other = (
        keys.mismatch(first(), second(), "differs"),
        keys.mismatch(third(), fourth(), "differs"),
    )
    assert one is not None
    assert other is not None
    assert one.key == other.key
    assert "relax.subtract" not in " ".join(one.key)


def test_the_compilers_own_operators_have_different_keys() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    assert keys.kind_of(relax.op.add(x, x)) == keys.kind_of(relax.op.exp(x))
    assert keys.kind_of(relax.op.astype(x, "float16")) == "relax.astype"


# Ill-formed modules


def undefined(name: str, ty: relax.Type) -> tvm.IRModule:
    stray = relax.Var(name, ty)
    func = relax.Function([], relax.SeqExpr([], stray), ret_ty=ty)
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def test_an_undefined_value_has_one_key_whatever_its_name_and_type() -> None:
    tensor = relax.TensorType((2,), "float32")
    flaws = [
        checkers.flaw(undefined("lv3", tensor)),
        checkers.flaw(undefined("weight", relax.TupleType([tensor]))),
    ]
    assert flaws[0] is not None
    assert flaws[1] is not None
    assert flaws[0].key == flaws[1].key == ("ill-formed", "Var <name> is not defined.", "value")


def test_an_undefined_dimension_is_another_bug_than_an_undefined_value() -> None:
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    body = relax.BlockBuilder().normalize(relax.op.zeros(relax.ShapeExpr([n]), "float32"))
    y = relax.Var("y", body.ty)
    block = relax.BindingBlock([relax.VarBinding(y, body)])
    func = relax.Function([x], relax.SeqExpr([block], x), ret_ty=x.ty)
    flaw = checkers.flaw(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}))
    assert flaw is not None
    assert flaw.key[-1] == "dimension"


def test_types_that_do_not_fit_are_one_bug_wherever_they_are_found() -> None:
    """A result, a variable and an argument have the type that they had before the pass."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    other = relax.TensorType((2,), "float64")
    gvar = tvm.ir.GlobalVar("callee")
    y = relax.Var("y", other)
    callee = relax.Function([y], relax.SeqExpr([], y), ret_ty=other)
    relax.expr._update_type(gvar, callee.ty)
    annotated = relax.op.exp(x)
    relax.expr._update_type(annotated, other)
    bound = relax.BlockBuilder().normalize(relax.op.exp(x))
    passed = relax.Call(gvar, [x])
    relax.expr._update_type(passed, other)
    for value in (annotated, bound, passed):
        var = relax.Var("z", other)
        seq = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(var, value)])], var)
        func = relax.Function([x], seq, ret_ty=other).with_attr("global_symbol", "main")
        flaw = checkers.flaw(tvm.IRModule({"main": func, gvar: callee}))
        assert flaw is not None
        assert flaw.key == ("ill-formed", "a type does not fit", ""), flaw.title


def test_a_well_formed_module_has_no_flaw() -> None:
    assert checkers.flaw(first()) is None


@I.ir_module
class Doubles:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float64"):
        with R.dataflow():
            y = R.astype(x, "float64")
            z = R.nn.relu(y)
            R.output(z)
        return z


@I.ir_module
class Singles:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            y = R.negative(x)
            z = R.nn.relu(y)
            R.output(z)
        return z


@I.ir_module
class Folded:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            z = R.nn.relu(x)
            R.output(z)
        return z


@pytest.mark.parametrize("after", [Singles, Folded])
def test_a_result_of_another_type_names_the_operator_that_began_it(after: tvm.IRModule) -> None:
    wrong = interface.contradiction(Doubles["main"], after["main"])
    assert wrong == "the result of a public function has another type, since relax.astype has"


@I.ir_module
class Dead:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float64"):
        with R.dataflow():
            _dead = R.sqrt(x)
            y = R.astype(x, "float64")
            R.output(y)
        return y


@I.ir_module
class Constant:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        return x


def test_an_operator_that_the_result_is_not_made_of_is_not_to_blame() -> None:
    wrong = interface.contradiction(Dead["main"], Constant["main"])
    assert wrong == "the result of a public function has another type, since relax.astype has"


@I.ir_module
class Given:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "int64"):
        with R.dataflow():
            y = R.negative(x)
            z = R.eye_like(y, 0, dtype="int64")
            R.output(z)
        return z


def test_an_operator_is_to_blame_for_the_dtype_that_no_operand_of_it_decides() -> None:
    """Of those that are gone: a relu has the dtype of what may have been wrong before it."""
    title = "the result of a public function has another type"
    func = Constant["main"]
    assert interface.contradiction(Given["main"], func) == f"{title}, since relax.eye_like has"
    assert interface.contradiction(Doubles["main"], func) == title


@I.ir_module
class Several:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 2), "float32")) -> R.Tuple(
        R.Tensor((2, 2), "int64"), R.Tensor((2, 2), "float64")
    ):
        with R.dataflow():
            y = R.eye_like(x, 0, dtype="int64")
            d = R.astype(x, "float64")
            R.output(y, d)
        if c:
            z = R.negative(d)
            r = z
        else:
            z = R.exp(d)
            r = z
        return (y, r)


@I.ir_module
class One:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 2), "float32")) -> R.Tuple(
        R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float64")
    ):
        d = R.astype(x, "float64")
        z = R.exp(x)
        return (z, d)


def test_only_what_a_field_of_another_type_is_made_of_is_to_blame() -> None:
    """Two variables of the old module may have one name, which then tells nothing."""
    wrong = interface.contradiction(Several["main"], One["main"])
    assert wrong == "the result of a public function has another type, since relax.eye_like has"


def test_a_result_of_which_less_is_known_names_no_operator() -> None:
    func = Doubles["main"]
    x = relax.Var("x", relax.TensorType(dtype="float64", ndim=2))
    vague = relax.Function([x], relax.SeqExpr([], x), x.ty)
    assert (
        interface.contradiction(func, vague) == "less is known of the result of a public function"
    )
    assert interface.contradiction(func, func) is None


@relax.expr_functor.mutator
class Narrows(relax.PyExprMutator):
    """Gives operators a result of `astype` that has another dtype than before."""

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if call.op.name == "relax.astype":
            return self.builder_.normalize(relax.op.astype(call.args[0], "float16"))
        return super().visit_call_(call)


@I.ir_module
class Mixed:
    @R.function
    def main(x: R.Tensor((2, 2), "float64")) -> R.Tensor((2, 2), "float64"):
        y = R.astype(x, "float64")
        return R.add(y, x)


def test_which_operator_refuses_the_operands_of_a_pass_is_an_accident() -> None:
    with pytest.raises(TypeError, match="same datatype") as raised:
        Narrows(Mixed).visit_expr(Mixed["main"])
    assert keys.exception(raised.value).key == ("TypeError", keys.REFUSED)
