"""Keys: which exceptions, differences and ill-formed modules have one, and headlines for people."""

from __future__ import annotations

import runpy

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.corpus.knowns import SHIPPED
from relaxfuzz.oracles import checkers, keys
from relaxfuzz.oracles.structural import interface
from relaxfuzz.oracles.text import messages
from relaxfuzz.oracles.text.frames import LEGALIZATION
from relaxfuzz.oracles.violation import Raised


def failure(mod: tvm.IRModule) -> Exception:
    with pytest.raises(Exception) as info:  # noqa: PT011  whatever TVM raises
        relax.transform.MergeCompositeFunctions()(mod)
    return info.value


def nothing_called_main(name: str) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    func = relax.Function([x], relax.SeqExpr([], x), ret_ty=x.ty)
    func = func.with_attr("global_symbol", name)
    return tvm.IRModule({name: func})


def test_an_exception_is_known_by_its_class_and_the_condition_that_failed() -> None:
    one, other = (keys.exception(failure(nothing_called_main(n))) for n in ("first", "second"))
    assert one.detail != other.detail, "it names what is in the module"
    assert (one.key, one.trace, one.place) == (other.key, other.trace, other.place)
    assert one.key == ("ValueError", one.trace.condition)
    assert one.place.startswith("ir/module.cc:")
    assert one.trace.condition.startswith(one.place)
    assert one.trace.functions[-1] == "IRModuleNode::GetGlobalVar"
    assert one.raised == Raised("ValueError")


def test_the_source_text_of_a_failed_check_is_the_condition() -> None:
    mod = runpy.run_path(str(SHIPPED / "merge-composite-only-main.py"))["mod"]
    with pytest.raises(tvm.error.InternalError, match="could not be found in any group") as info:
        relax.transform.MergeCompositeFunctions()(mod)
    found = keys.exception(info.value)
    assert found.key == ("InternalError", "(it_group != obj2group_.end())")
    assert found.trace.condition == "(it_group != obj2group_.end())"
    assert found.trace.functions[-1] == "OperatorFusor::GetGroupFromVar"
    assert "Check failed: (it_group != obj2group_.end()) is false" in found.title


def test_frames_outside_of_the_pass_are_no_place() -> None:
    def helper() -> None:
        raise ValueError("in the caller's own file")

    with pytest.raises(ValueError, match="own file") as info:
        helper()
    found = keys.exception(info.value)
    assert found.place.startswith("test_keys.py:")
    assert found.key == ("ValueError", 'raise ValueError("in the caller\'s own file")')
    assert found.trace.functions[-1] == "test_keys.py:helper"
    assert found.raised == Raised("ValueError", own="test_keys.py:helper")


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
    line = messages.headline(message)
    assert line.startswith(beginning)
    assert len(line) <= messages.HEADLINE


def test_an_exception_without_text_is_known_by_its_function() -> None:
    def asserting() -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as info:
        asserting()
    found = keys.exception(info.value)
    assert found.title == "AssertionError in test_keys.py:asserting"
    assert found.key == ("AssertionError", "raise AssertionError")


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
    place = "WellFormedChecker::VisitExpr_(VarNode)"
    assert flaws[0].key == flaws[1].key == ("ill-formed", place)


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
        assert flaw.key == ("ill-formed", "a type does not fit"), flaw.title


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
class Added:
    @R.function
    def main(x: R.Tensor((2, 2), "float64")) -> R.Tensor((2, 2), "float64"):
        y = R.astype(x, "float64")
        return R.add(y, x)


@I.ir_module
class Multiplied:
    @R.function
    def main(w: R.Tensor((8,), "float64")) -> R.Tensor((8,), "float64"):
        z = R.astype(w, "float64")
        return R.multiply(w, z)


def test_which_operator_refuses_the_operands_of_a_pass_is_an_accident() -> None:
    found = []
    for mod in (Added, Multiplied):
        with pytest.raises(TypeError, match="same datatype") as raised:
            Narrows(mod).visit_expr(mod["main"])
        found.append(keys.exception(raised.value))
    assert found[0].detail != found[1].detail
    assert found[0].key == found[1].key
    assert found[0].trace == found[1].trace
    assert found[0].trace.functions[-1] == "InferBinaryArithOpOutDtype"


def test_an_elementwise_operator_that_a_legalization_fails_at_is_an_accident() -> None:
    found = []
    for op in (relax.op.exp, relax.op.sin, relax.op.tanh):
        x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            with builder.dataflow():
                output = builder.emit_output(op(x))
            builder.emit_func_output(output)
        with pytest.raises(Exception) as info:  # noqa: PT011  whatever TVM raises
            relax.transform.FoldConstant()(builder.get())
        found.append(keys.exception(info.value))
    assert len({each.trace for each in found}) == 1
    assert len({each.key for each in found}) == 1
    assert {each.raised.within for each in found if each.raised is not None} == {LEGALIZATION}
