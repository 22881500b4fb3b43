"""Which exceptions of a pass without a contract are clean rejections."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import pytest
import tvm
from tvm import relax
from tvm.error import InternalError
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles import passcall
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.catalogue.uncovered import missing_arguments, without_contract
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.passcall import PassCall, cpu
from relaxfuzz.oracles.rejection import is_clean, lacks_function
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Closure:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        @R.function
        def inner(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            return y

        return inner(x)


def apply(pass_: tvm.transform.Pass) -> object:
    with cpu():
        return pass_(Closure)


def error_of(action: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # any
        action()
    return caught.value


def raised(error: Exception) -> Exception:
    """As a pass written in Python raises it: through TVM."""

    @tvm.transform.module_pass(opt_level=0)
    def refuses(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        if isinstance(error, NotImplementedError):
            raise NotImplementedError(*error.args)
        raise error

    return error_of(lambda: apply(refuses))


X = relax.Var("x", R.Tensor((2, 3), "float32"))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("symbolic shapes are not supported"),
        ValueError("The shape must be known"),
        TypeError("Expected a tensor but got a tuple"),
        RuntimeError("Legalization of attention_var_len op is not supported yet."),
        InternalError("MatchCast is unsupported in primitive functions"),
        InternalError("Check failed: (binding) is false: Now only support one dataflow block"),
        InternalError("call_tir should have been lowered earlier"),
        NotImplementedError("relax.shape_of"),
        ImportError("PyTorch is not installed"),
    ],
    ids=str,
)
def test_a_message_that_names_what_is_not_supported_is_clean(error: Exception) -> None:
    assert is_clean(raised(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("lv17"),
        KeyError("relu is not supported"),
        AssertionError("emit_te now only supports Tensor that has ShapeExpr shape"),
        InternalError("Check failed: (supported) is false: "),
        InternalError("Expected an integer argument"),
        NotImplementedError(),
    ],
    ids=repr,
)
def test_another_exception_is_a_crash(error: Exception) -> None:
    assert not is_clean(raised(error))


@pytest.mark.parametrize("pass_", ["VMShapeLower()", "Gradient('main')"])
def test_passes_of_tvm_that_refuse(pass_: str) -> None:
    assert is_clean(error_of(lambda: apply(PassCall(pass_).build())))


@pytest.mark.parametrize(
    "action",
    [
        lambda: None + 1,  # "unsupported operand type(s)"
        lambda: int(None),  # "must be a string"
        lambda: relax.BlockBuilder().normalize(relax.op.matmul(X, X)),  # "requires ... to be equal"
        lambda: relax.transform.FuseOps("one"),  # "Expected `int`"
        lambda: importlib.import_module("tvm.relax.no_such_module"),
    ],
    ids=["operand", "int", "operator", "conversion", "import"],
)
def test_what_the_pass_does_not_raise_itself_is_a_crash(action: Callable[[], object]) -> None:
    assert not is_clean(error_of(action))


# The pass as TVM's


def needs(level: int, *, kind: str, flag: bool = False, **more: object) -> tvm.transform.Pass:
    raise NotImplementedError("only its signature matters")


def refuses_closures(strict: bool = False, level: int = 2) -> tvm.transform.Pass:
    @tvm.transform.module_pass(opt_level=0, name="RefusesClosures")
    def refuses(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        if strict:
            raise KeyError("inner")
        raise ValueError("closures are not supported")

    return refuses


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, factory in {"Needs": needs, "RefusesClosures": refuses_closures}.items():
        monkeypatch.setattr(relax.transform, name, factory, raising=False)
    caches = (passcall._namespace, passcall.public_passes, without_contract)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("public")
def test_missing_arguments() -> None:
    assert missing_arguments("Needs") == ("level", "kind")
    assert missing_arguments("RefusesClosures") == ()
    assert missing_arguments("FuseOps") == ()


@pytest.mark.usefixtures("public")
def test_arguments_are_the_defaults_and_flags_are_either_way() -> None:
    contract = without_contract("RefusesClosures")
    calls = {str(contract.choose(Choices(bytes([byte])), Closure)) for byte in range(256)}
    assert calls == {"RefusesClosures()", "RefusesClosures(strict=True)"}


@pytest.mark.usefixtures("public")
def test_a_clean_rejection_counts_only_without_a_contract() -> None:
    call = PassCall("RefusesClosures()")
    without = without_contract("RefusesClosures")
    assert without.universal_only
    assert check(Case(Closure, (call,)), contract=without) == []
    (strict,) = check(Case(Closure, (call,)), contract=PassContract(name="RefusesClosures"))
    assert strict.oracle == "crash"
    strictly = PassCall("RefusesClosures(strict=True)")
    (crash,) = check(Case(Closure, (strictly,)), contract=without)
    assert crash.oracle == "crash"


def test_what_is_left_out_has_no_contract() -> None:
    assert contract_of(PassCall("VMBuiltinLower()")).universal_only
    assert not contract_of(PassCall("FuseOps()")).universal_only
    assert not contract_of(PassCall("VMBuiltinLower()", factory="own:it")).universal_only


def raises_for(name: str) -> tvm.transform.Pass:
    """A pass that looks a function up, as DeadCodeElimination does its entry functions."""

    @tvm.transform.module_pass(opt_level=0)
    def looks_up(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        tvm.IRModule({}).get_global_var(name)
        return mod

    return looks_up


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("gone", "DeadCodeElimination(entry_functions=['gone'])", True),
        ("gone", "Gradient('gone')", True),
        ("gone", "DeadCodeElimination(entry_functions=['gone_too'])", False),
        ("main", "Gradient('main')", False),  # the module has it
    ],
)
def test_a_function_that_the_call_names_may_be_missed(name: str, call: str, expected: bool) -> None:
    error = error_of(lambda: apply(raises_for(name)))
    assert lacks_function(error, call, Closure) is expected


def test_a_missing_entry_function_is_the_fault_of_the_call() -> None:
    call = PassCall("DeadCodeElimination(entry_functions=['gone'])")
    assert check(Case(Closure, (call,)), oracles=["crash"]) == []
