"""Well-formed: the checkers of TVM do not compare calls with functions of another type."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat import ir
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import well_formed
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Calls:
    @R.function(private=True)
    def inner(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        return R.add(x, w)

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        cls = Calls
        return cls.inner(x, x)


def giving(dtype: str) -> tvm.IRModule:
    """The private function says that it gives this dtype."""
    after = Calls.clone()
    inner = Calls["inner"]
    ty = relax.FuncType([param.ty for param in inner.params], relax.TensorType((3,), dtype))
    after["inner"] = ir.with_fields(inner, ret_ty=ty.ret, ty=ty)
    return after


@pytest.mark.parametrize(("dtype", "reported"), [("float32", False), ("int32", True)])
def test_a_private_result_of_another_type_is_ill_formed(dtype: str, reported: bool) -> None:
    call = PassCall("ToNonDataflow()")
    contract = PassContract(name=call.name)
    runs = PassRuns(Calls, (call,), contract, thorough=True, seen=Outcome(giving(dtype)))
    found = well_formed.check(runs)
    assert (found is not None) == reported
    assert found is None or "contradicts its body" in found.title


def test_a_call_must_have_as_many_arguments_as_the_function_has_parameters() -> None:
    bind = PassCall("BindParams('inner', {'w': np.ones(3, 'float32')})")
    (found,) = check(Case(Calls, (bind,)), oracles=["well-formed"])
    assert "a call has not as many arguments" in found.title
    assert check(Case(Calls, (PassCall("ToNonDataflow()"),)), oracles=["well-formed"]) == []
