"""A small git repository with the layout and the registrations of TVM's."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

WRAPPERS = (
    "CanonicalizeBindings",
    "ConvertLayout",
    "DeadCodeElimination",
    "FuseOps",
    "FuseOpsByPattern",
    "FuseTIR",
    "Gradient",
    "LegalizeOps",
    "Normalize",
    "ToMixedPrecision",
)


def wrapper(name: str) -> str:
    """The Python function of a pass that is written in C++."""
    return f'\ndef {name}() -> Pass:\n    """A pass."""\n    return _ffi_api.{name}()\n'


def pass_file(name: str, body: str = "mod = Copy(mod)", includes: str = "") -> str:
    """The C++ file of a pass."""
    return f"""
#include <tvm/relax/transform.h>
{includes}

namespace tvm {{
namespace relax {{

class {name}Mutator : public ExprMutator {{
 public:
  void Run() {{ this->Visit(); }}
}};

namespace transform {{

Pass {name}() {{
  auto pass_func = [=](IRModule mod, PassContext pc) {{
    {body};
    return {name}Mutator(mod).Run();
  }};
  return CreateModulePass(pass_func, 0, "{name}", {{}});
}}

TVM_FFI_STATIC_INIT_BLOCK() {{
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.{name}", {name});
}}

}}  // namespace transform
}}  // namespace relax
}}  // namespace tvm
"""


def in_relax(body: str, includes: str = "") -> str:
    """A C++ file with a body in the namespace of Relax."""
    return f"""
#include <tvm/relax/expr.h>
{includes}

namespace tvm {{
namespace relax {{

{body}

}}  // namespace relax
}}  // namespace tvm
"""


FILES = {
    "docs/index.rst": "TVM\n",
    "src/tirx/ir/printer.cc": in_relax("Stmt Printed(Stmt stmt) { return stmt; }"),
    "src/tirx/transform/remove_no_op.cc": pass_file("RemoveNoOp").replace("relax", "tirx"),
    "python/tvm/tirx/__init__.py": "from . import transform\n",
    "python/tvm/tirx/transform/__init__.py": "from .transform import RemoveNoOp\n",
    "python/tvm/tirx/transform/_ffi_api.py": (
        'import tvm_ffi\n\ntvm_ffi.init_ffi_api("tirx.transform", __name__)\n'
    ),
    "python/tvm/tirx/transform/transform.py": (
        "from . import _ffi_api\n\n" + wrapper("RemoveNoOp")
    ),
    "src/arith/bound.cc": in_relax(
        "TVM_FFI_STATIC_INIT_BLOCK() {\n"
        '  refl::GlobalDef().def("sym.DeduceBound", [](Expr e) { return 0; });\n'
        "}"
    ),
    "python/tvm/sym/__init__.py": (
        "from . import _ffi_api\n\n\n"
        "class Analyzer:\n    def __init__(self):\n        self.simplifier = 0\n\n\n"
        "def deduce_bound(var, cond, hint, relax):\n"
        "    return _ffi_api.DeduceBound(var, cond, hint, relax)\n"
    ),
    "python/tvm/sym/_ffi_api.py": ('import tvm_ffi\n\ntvm_ffi.init_ffi_api("sym", __name__)\n'),
    "include/tvm/relax/expr.h": in_relax("class Expr : public ObjectRef {\n};"),
    "include/tvm/relax/analysis.h": in_relax(
        "TVM_DLL bool HasReshapePattern(const PrimFunc& func);\n\n"
        "TVM_DLL Map<Var, Expr> AnalyzeVar2Value(const Expr& expr);"
    ),
    "include/tvm/relax/transform.h": in_relax(
        "class ExprMutator : public ExprFunctor<Expr(const Expr&)> {\n  Expr result;\n};\n\n"
        "IRModule Copy(IRModule mod);\n\n"
        "namespace transform {\n\n"
        + "\n\n".join(f"TVM_DLL Pass {name}();" for name in WRAPPERS)
        + "\n\n}  // namespace transform",
    ),
    "src/relax/ir/expr_functor.cc": in_relax(
        "Expr ExprMutator::VisitExpr(const Expr& expr) { return expr; }",
        "#include <tvm/relax/transform.h>",
    ),
    "src/relax/analysis/var2value.cc": in_relax(
        "Map<Var, Expr> AnalyzeVar2Value(const Expr& expr) { return Map<Var, Expr>(); }",
        "#include <tvm/relax/analysis.h>",
    ),
    "src/relax/op/op_common.h": in_relax(
        "#define RELAX_UNARY_LAYOUT(OpName) \\\n"
        '  TVM_REGISTER_OP("relax." #OpName) \\\n'
        '      .set_attr<FRelaxInferLayout>("FRelaxInferLayout", InferLayoutUnary)'
    ),
    "src/relax/op/unary.cc": in_relax(
        'RELAX_UNARY_LAYOUT(abs).set_attr<Bool>("FPurity", true);\n\n'
        "InferLayoutOutput InferLayoutConcat(const Call& call) { return InferLayoutOutput(); }\n\n"
        "Expr MixedPrecisionConcat(const Call& call) { return call; }\n\n"
        'TVM_REGISTER_OP("relax.concat")\n'
        "    .set_num_inputs(1)\n"
        '    .set_attr<FRelaxInferLayout>("FRelaxInferLayout", InferLayoutConcat)\n'
        '    .set_attr<FInferMixedPrecision>("FInferMixedPrecision", MixedPrecisionConcat);',
        '#include "op_common.h"',
    ),
    "src/relax/transform/utils.h": in_relax(
        "inline String GetCodegenName(const std::string& name) { return name; }\n\n"
        "template <typename T>\ninline Expr MakeConstant(T value) {\n  return Constant(value);\n}",
    ),
    "src/relax/transform/canonicalize_bindings.cc": pass_file("CanonicalizeBindings"),
    "src/relax/transform/dead_code_elimination.cc": pass_file("DeadCodeElimination"),
    "src/relax/transform/normalize.cc": pass_file("Normalize"),
    "src/relax/transform/convert_layout.cc": pass_file(
        "ConvertLayout", 'auto map = Op::GetAttrMap<FRelaxInferLayout>("FRelaxInferLayout")'
    ),
    "src/relax/transform/to_mixed_precision.cc": pass_file(
        "ToMixedPrecision",
        'auto map = Op::GetAttrMap<FInferMixedPrecision>("FInferMixedPrecision")',
    ),
    "src/relax/transform/legalize_ops.cc": pass_file(
        "LegalizeOps", 'auto map = Op::GetAttrMap<FLegalize>("FLegalize")'
    ),
    "src/relax/transform/gradient.cc": pass_file(
        "Gradient",
        'auto map = Op::GetAttrMap<FPrimalGradient>("FPrimalGradient"); builder->Normalize(mod)',
    ),
    "src/relax/transform/fuse_ops.cc": pass_file(
        "FuseOps", "auto values = AnalyzeVar2Value(mod)", "#include <tvm/relax/analysis.h>"
    )
    + pass_file("FuseOpsByPattern", "GetCodegenName(mod)", '#include "utils.h"'),
    "src/relax/transform/fuse_tir.cc": pass_file(
        "FuseTIR", "mod = transform::DeadCodeElimination()(mod)"
    ),
    "python/tvm/relax/__init__.py": ("from . import op, transform\nfrom .expr import Function\n"),
    "python/tvm/relax/expr.py": (
        "import tvm_ffi\n\n\n"
        '@tvm_ffi.register_object("relax.expr.Function")\n'
        "class Function:\n"
        "    def __init__(self, body):\n        self.body = body\n\n"
        "    def bind_params(self, params):\n        return self, params\n"
    ),
    "python/tvm/relax/op/__init__.py": "from . import _op_gradient\nfrom .base import *\n",
    "python/tvm/relax/op/base.py": (
        "from tvm.ir import register_op_attr\n\n\n"
        "def register_gradient(op_name, fgradient=None):\n"
        '    return register_op_attr(op_name, "FPrimalGradient", fgradient)\n'
    ),
    "python/tvm/relax/op/_op_gradient.py": (
        "from .base import register_gradient\n\n\n"
        '@register_gradient("relax.add")\n'
        "def add_grad(var, call):\n    return [var, call]\n"
    ),
    "python/tvm/relax/transform/__init__.py": (
        f"from .transform import {', '.join(WRAPPERS)}\n"
        "from .fast_math import FastMathTransform\n"
        "from .lazy_transform_params import LazyTransformParams\n"
        "from . import legalize_ops\n"
    ),
    "python/tvm/relax/transform/_ffi_api.py": (
        'import tvm_ffi\n\ntvm_ffi.init_ffi_api("relax.transform", __name__)\n'
    ),
    "python/tvm/relax/transform/transform.py": (
        "from tvm.ir.transform import Pass\n\nfrom . import _ffi_api\n"
        "from .legalize_ops.common import LegalizeFunc\n\n" + "\n".join(map(wrapper, WRAPPERS))
    ),
    "python/tvm/relax/transform/fast_math.py": (
        "import tvm\nfrom tvm import relax\n\n\n"
        "class Mutator(relax.PyExprMutator):\n"
        "    def visit_call_(self, call):\n        return call\n\n\n"
        '@tvm.transform.module_pass(opt_level=0, name="FastMathTransform")\n'
        "class FastMathTransform:\n"
        "    def transform_module(self, mod, ctx):\n        return Mutator(mod)\n"
    ),
    "python/tvm/relax/transform/lazy_transform_params.py": (
        "import tvm\nfrom tvm import relax\n\n\n"
        '@tvm.transform.module_pass(opt_level=0, name="LazyTransformParams")\n'
        "class LazyTransformParams:\n"
        "    def transform_module(self, mod, ctx):\n"
        "        function = relax.Function(mod)\n"
        "        return function.bind_params(ctx)\n"
    ),
    "python/tvm/relax/transform/legalize_ops/__init__.py": "from . import binary\n",
    "python/tvm/relax/transform/legalize_ops/common.py": (
        "import tvm\n\nLegalizeFunc = object\n"
        '_LEGALIZE_ATTR_NAME = "FLegalize"\n\n\n'
        "def register_legalize(op_name, legal_func=None):\n"
        "    return tvm.ir.register_op_attr(op_name, _LEGALIZE_ATTR_NAME, legal_func)\n"
    ),
    "python/tvm/relax/transform/legalize_ops/binary.py": (
        "from tvm import topi\n\nfrom .common import register_legalize\n\n"
        'register_legalize("relax.add", topi.add)\n'
    ),
    "python/tvm/topi/__init__.py": "from .broadcast import *\n",
    "python/tvm/topi/broadcast.py": (
        '"""Broadcasting."""\n\nfrom . import cpp as _cpp\n\n\n'
        "def add(lhs, rhs):\n    return _cpp.add(lhs, rhs)\n"
    ),
    "python/tvm/topi/cpp.py": 'import tvm_ffi\n\ntvm_ffi.init_ffi_api("topi", __name__)\n',
    "src/topi/broadcast.cc": in_relax(
        "TVM_FFI_STATIC_INIT_BLOCK() {\n"
        '  refl::GlobalDef().def_packed("topi.add", [](PackedArgs args, Any* rv) { *rv = 1; });\n'
        "}"
    ),
}


@dataclass(frozen=True)
class Repository:
    """A git repository of one commit, with the tag v0.27.0 there and the branch main."""

    root: Path

    def git(self, *arguments: str) -> str:
        """Run git."""
        author = {
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        command = ["git", "-C", str(self.root), *arguments]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **author}
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace text in a file."""
        text = (self.root / path).read_text()
        assert old in text, f"{path} has no {old!r}"
        self.write(path, text.replace(old, new))

    def commit(self) -> str:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository that the others are copies of."""
    made = Repository(tmp_path_factory.mktemp("committed") / "tvm")
    for path, text in FILES.items():
        made.write(path, text)
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit()
    made.git("tag", "v0.27.0")
    return made


@pytest.fixture
def repository(committed: Repository, tmp_path: Path) -> Repository:
    """A repository in which nothing has changed yet."""
    shutil.copytree(committed.root, tmp_path / "tvm")
    return Repository(tmp_path / "tvm")
