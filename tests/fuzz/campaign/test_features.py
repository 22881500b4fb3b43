"""Each feature is seen in a module that has it; traits that are left out make it rarer."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.fuzz.campaign.features import LACKED, WITHOUT, features, operator
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait

MODULES = 24


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


@I.ir_module
class Several:
    @R.function
    def main(x: R.Tensor(("n", 1), "float32")) -> R.Tensor(("n", 1), "float32"):
        cls = Several
        n = T.int64()
        y: R.Tensor((n, 1), "float32") = cls.other(x)
        return y

    @R.function(private=True)
    def other(x: R.Tensor(("n", 1), "float32")) -> R.Tensor(("n", 1), "float32"):
        R.func_attr({"num_input": 1})
        return x


def test_a_plain_module_has_few() -> None:
    assert features(Plain) == {
        *("relax.add", "DataflowBlock", "dtype float32", "attribute global_symbol"),
        *(f"no {each}" for each in LACKED if each != "DataflowBlock"),
    }


def test_what_a_module_has_is_seen() -> None:
    assert features(Several) >= {
        *("several functions", "call of a function", "symbolic dimension", "dimension of 1"),
        *("attribute num_input", "a parameter is returned", "bindings outside of dataflow"),
        *("no global info vdevice", "no DataflowBlock"),
    }
    assert "no main" in features(tvm.IRModule({"f": relax.Function([], relax.Tuple([]))}))


def test_it_does_not_change_the_module() -> None:
    before = tvm.ir.save_json(Several)
    features(Several)
    assert tvm.ir.save_json(Several) == before


def test_an_operator_stands_for_itself() -> None:
    assert operator("relax.nn.conv2d") == "nn.conv2d"
    assert operator("MatchCast") is None


@pytest.mark.parametrize("feature", WITHOUT)
def test_without_its_traits_it_is_rarer(feature: str) -> None:
    """So each name is one that modules have."""
    traits = [trait for trait in WITHOUT[feature] if trait is not Trait.NO_MAIN]

    def count(force: list[Trait], without: list[Trait]) -> int:
        strategy = ir_modules(force=force, without=without, max_functions=3, max_bindings=6)
        return sum(feature in features(example(strategy, 3, index)) for index in range(MODULES))

    forced = count(traits[:1] or [Trait.NO_MAIN], [])
    assert forced > count([], list(WITHOUT[feature]))
