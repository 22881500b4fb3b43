"""The Python file of a reproducer: header, imports, module, check."""

from __future__ import annotations

import ast
import io
import itertools
import re
import textwrap
import tokenize
from collections.abc import Iterable
from dataclasses import replace

from ...oracles.passcall import TARGET, PassCall, context_text, target_text
from ...oracles.pipelines import steps
from ..findings.finding import Finding
from ..findings.script import MAIN
from .checks import FailingCheck
from .module_text import ModuleText

_STANDARD = {
    "tvm": "import tvm",
    "tvm_ffi": "import tvm_ffi",
    "np": "import numpy as np",
    "relax": "from tvm import relax",
}

_USES_PASSES = re.compile(r"\b(?:passes|the_pass)\b")
"""Names that a check uses unless it builds the module by one of TVM's pipelines."""

_IMPORT = re.compile(r"(?:from \S+ )?import .*")

_MOVED = {
    "relax.VDevice": """\
if not hasattr(relax, "VDevice"):  # before TVM 0.27
    relax.VDevice = tvm.ir.VDevice""",
    "tvm.s_tir.analysis.verify_well_formed": """\
if not hasattr(tvm.s_tir.analysis, "verify_well_formed"):  # before TVM 0.27
    tvm.s_tir.analysis = tvm.tirx.analysis""",
}
"""Code that a portable file needs to define a name of TVM 0.27 in older versions."""


def file_text(finding: Finding, module: ModuleText, check: FailingCheck, header: str) -> str:
    """The whole file.

    Raises:
        BadPass: the file that defines a user's pass no longer exists.
    """
    calls = finding.calls or (steps(finding.pipeline) if finding.pipeline else ())
    if not _USES_PASSES.search(check.text):
        calls = ()
    imports = list(module.imports)
    expressions: list[str] = []
    paths: list[str] = []
    late: list[str] = []
    for call in calls:
        lines, expression = call.source()
        known = True
        for line in lines:
            if not line.startswith(("import ", "from ")):
                paths.append(line)
                known = False  # later imports may need this path
            else:
                (imports if known else late).append(line)
        expressions.append(expression)
    body = check.text.splitlines()
    needed = list(itertools.takewhile(_IMPORT.match, body))
    imports += needed
    check = replace(check, text="\n".join(body[len(needed) :]).strip())
    code = _code(check, calls, expressions)
    if module.portable:
        code = "\n".join([*(moved for new, moved in _MOVED.items() if new in code), code])
    if "DiagnosticError" in finding.title + finding.detail:
        # TVM's excepthook would otherwise hide this kind of error.
        code = f'os.environ["TVM_BACKTRACE"] = "1"\n{code}'
        imports.append("import os")
    code = _naming(module.name, code)
    text = "\n".join([module.statements, "", MAIN, textwrap.indent(code, "    "), ""])
    for name, line in _STANDARD.items():
        if re.search(rf"(?<![\w.]){name}\.", text) and line not in "\n".join(imports):
            imports.append(line)
    above = [header, ""] if header else []
    paths = [*dict.fromkeys(paths), *_merged(late)]
    return "\n".join([*above, *_merged(imports), *paths, "", text])


def _naming(name: str, code: str) -> str:
    """Adapt a check of `mod` to a module with another name."""
    if name == "mod":
        return code
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    places = [token.start for token in tokens if token[:2] == (tokenize.NAME, "mod")]
    if len(places) != 1:  # several uses justify a short name
        return f"mod = {name}\n{code}"
    ((row, column),) = places
    lines = code.splitlines()
    lines[row - 1] = f"{lines[row - 1][:column]}{name}{lines[row - 1][column + 3 :]}"
    return "\n".join(lines)


def _code(check: FailingCheck, calls: Iterable[PassCall], expressions: list[str]) -> str:
    """The check, with the definitions and contexts that it needs."""
    if not expressions:
        return check.text
    passes = f"[{', '.join(expressions)}]"
    the_pass = f"tvm.transform.Sequential({passes})"
    if len(expressions) == 1:
        (the_pass,) = expressions
        if isinstance(ast.parse(the_pass, mode="eval").body, ast.BinOp):
            the_pass = f"({the_pass})"
    text = check.text
    once = len(re.findall(r"\bthe_pass\b", text)) == 1 and "\n    " not in text
    if once and "#" not in the_pass:
        text = re.sub(r"\bthe_pass\b", lambda _: the_pass, text)
    elif "the_pass" in text:
        text = f"the_pass = {the_pass}\n{text}"
    if "passes" in check.text:
        text = f"passes = {passes}\n{text}"
    config = {key: value for call in calls for key, value in call.config.items()}
    contexts = [context_text(config)] if config.keys() - {TARGET} else []
    contexts += [target_text(config)] if check.targeted or TARGET in config else []
    return f"with {', '.join(contexts)}:\n{textwrap.indent(text, '    ')}" if contexts else text


def _merged(imports: Iterable[str]) -> list[str]:
    """Sorted import lines, one for each module."""
    plain = sorted({line for line in imports if line.startswith("import ")})
    names: dict[str, set[str]] = {}
    for line in imports:
        module, found, listed = line.removeprefix("from ").partition(" import ")
        if found:
            names.setdefault(module, set()).update(name.strip() for name in listed.split(","))
    ordered = sorted(names, key=lambda module: (module != "__future__", module))
    lines = [f"from {module} import {', '.join(sorted(names[module]))}" for module in ordered]
    return lines[:1] + plain + lines[1:] if "__future__" in names else plain + lines
