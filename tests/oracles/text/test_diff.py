"""Texts of modules, their difference, and what no text shows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat import ir
from relaxfuzz.oracles.execute import Failure
from relaxfuzz.oracles.text.diff import unified
from relaxfuzz.oracles.text.exhibit import unprinted
from relaxfuzz.oracles.text.printed import LONGEST, clipped, printed
from relaxfuzz.oracles.text.value_comments import called
from relaxfuzz.oracles.violation import Violation


def function(name: str, *lines: str) -> list[str]:
    return ["    @R.function", f"    def {name}(x):", *(f"        {line}" for line in lines), ""]


def module(*functions: list[str]) -> str:
    return "\n".join(["@I.ir_module", "class Module:", *(line for f in functions for line in f)])


LINES = st.lists(st.sampled_from(["a = x", "b = a", "return b", "", "if x:"]), max_size=6)
FUNCTIONS = st.builds(lambda name, lines: function(name, *lines), st.sampled_from("fgh"), LINES)
TEXTS = st.lists(FUNCTIONS, max_size=4, unique_by=lambda lines: lines[1]).map(
    lambda functions: module(*functions)
) | st.text(alphabet="ab @\n", max_size=30)


@given(TEXTS, TEXTS)
def test_what_is_shown_makes_one_text_of_the_other(left: str, right: str) -> None:
    """Up to empty lines, which mean nothing between functions."""
    diff = unified(left, right, "left", "right").splitlines()[2:]
    lines = Counter(filter(str.strip, left.splitlines()))
    lines.subtract(line[1:] for line in diff if line[0] == "-" and line[1:].strip())
    lines.update(line[1:] for line in diff if line[0] == "+" and line[1:].strip())
    assert +lines == Counter(filter(str.strip, right.splitlines()))
    assert min(lines.values(), default=0) >= 0


@given(TEXTS)
def test_equal_texts_have_no_difference(text: str) -> None:
    assert unified(text, text, "left", "right") == ""


def test_functions_are_compared_by_name() -> None:
    common = ["with R.dataflow():", "a = R.add(x, x)", "R.output(a)", "return a"]
    left = module(function("main", *common), function("other", "return x"))
    right = module(
        function("added", *common), function("main", "return x"), function("other", "return x")
    )
    diff = unified(left, right, "before", "after").splitlines()
    assert diff[:3] == ["--- before", "+++ after", "@@ -3,6 +10,3 @@ def main"]
    assert [line for line in diff if line.startswith("@@")][1:] == ["@@ -0,0 +3,6 @@ def added"]


def test_a_renamed_function_is_compared_with_what_it_was() -> None:
    body = [f"a{i} = R.add(x, x)" for i in range(5)]
    diff = unified(module(function("f", *body)), module(function("g", *body)), "one", "other")
    assert "@@ def f -> def g" in diff
    assert [line for line in diff.splitlines()[3:] if line[0] in "+-"] == [
        "-    def f(x):",
        "+    def g(x):",
    ]


def with_constant(data: np.ndarray) -> tvm.IRModule:
    constant = relax.const(data, str(data.dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.op.add(constant, constant)))
    return builder.get()


def test_constants_stand_where_they_are_used() -> None:
    text = printed(with_constant(np.array([[1, 2], [3, 4]], "int32")))
    assert text.count('R.const([[1, 2], [3, 4]], "int32")') == 2
    assert "metadata" not in text
    assert "# from tvm.script" not in text


def test_the_name_of_a_long_constant_depends_on_its_content() -> None:
    data = np.arange(100, dtype="int64")
    text = printed(with_constant(data))
    assert ': R.Tensor((100,), "int64"), [0, 1, 2, ..., 98, 99]' in text
    assert text.count("# const_") == 1
    other = data.copy()
    other[50] = -1
    diff = unified(text, printed(with_constant(other)), "one", "other")
    assert "-# const_" in diff


def test_a_long_text_is_cut_with_a_mark() -> None:
    text = "\n".join(["x" * 99] * 1000)
    cut = clipped(text)
    assert len(cut) < LONGEST + 50
    assert cut.endswith("# ... 360 more lines")
    assert clipped("short\n") == "short"
    assert clipped("y" * 3000 + "\nz") == f"{'y' * 2000}  # ... 1000 more characters\nz"


def test_a_constant_that_tvm_cannot_parse_keeps_its_number() -> None:
    text = printed(with_constant(np.zeros((2, 0), "float32")))
    assert 'R.add(metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][0])' in text


def test_a_module_that_cannot_be_printed_is_named() -> None:
    call = relax.Call(tvm.ir.Op.get("relax.call_tir"), [])
    ty = relax.TensorType((2,), "float32")
    gv = relax.Var("gv", ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv, call)])], gv)
    broken = relax.Function([], body, ty).with_attr("global_symbol", "broken")
    text = printed(tvm.IRModule({"broken": broken, "main": Plain["main"]}))
    assert text.startswith("# TVM cannot print the module: ")
    assert "    # broken: " in text
    assert "    def main(x: R.Tensor" in text


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


def test_what_no_text_shows_is_noted() -> None:
    def placed(device: ir.VDevice | None) -> tvm.IRModule:
        ty = relax.TensorType((2,), "float32", device)
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        call = relax.Call(tvm.ir.Op.get("relax.nn.relu"), [x])
        relax.expr._update_type(call, ty)
        gv = relax.Var("gv", relax.TensorType((2,), "float32"))
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv, call)])], gv)
        func = relax.Function([x], body, relax.TensorType((2,), "float32"))
        return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})

    one, other = placed(ir.VDevice("llvm", 0, "global")), placed(None)
    assert printed(one) == printed(other)
    left, right = unprinted(one, other)
    assert left.startswith("# not printed: <root>.functions")
    assert "memory_scope" in left
    assert right.endswith("# None")
    assert unprinted(Plain, Plain) == ("", "")


def test_values_have_a_row_on_each_line() -> None:
    matrix = np.array([[0.1, 2.0], [3.0, -0.5]], "float32")
    assert called("main", [matrix, np.int64(3)], (matrix[0], ())) == "\n".join(
        [
            "# main(",
            "#   float32 (2, 2)",
            "#     [[0.1, 2.0],",
            "#      [3.0, -0.5]]",
            "#   int64 ()",
            "#     3",
            "# ) gives",
            "#   0: float32 (2,)",
            "#     [0.1, 2.0]",
        ]
    )


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("nothing good", "nothing good"),
        (
            Failure("run", "ValueError", "too many\nlines", Violation.titled("x")),
            "ValueError (run): too many",
        ),
        (np.zeros((2, 0), "int8"), "int8 (2, 0)"),
        (np.zeros((100, 100), "int8"), "int8 (100, 100)\n#     10000 elements"),
    ],
)
def test_what_came_instead_of_values(result: object, expected: str) -> None:
    assert f"# f() gives\n#   {expected}" in called("f", [], result)
