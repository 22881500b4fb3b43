"""A finding as a Python file of its own, which needs only TVM, NumPy and the pass.

What compiled code does not show (a race, a read of memory that nobody wrote) needs relaxfuzz, too.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import re
import signal
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ..generators.source import to_source
from ..generators.tvm_api import load_json
from ..oracles.check import ORACLES
from ..oracles.oracle import Case
from ..oracles.pipelines import steps
from .finding import Finding
from .protocol import Death
from .runner import HUNG, Runners

SECONDS = 60.0
"""For one execution, on a busy machine."""

HANG_SECONDS = 15
MEMORY_MB = 3072

MISTAKES = frozenset({"NameError", "SyntaxError", "ImportError", "ModuleNotFoundError"})
"""A snippet that does not fit raises these; so does a finding only if it says so itself."""

DEATH_PROMISE = (
    "A pass transforms a module or raises an error; it never takes the process with it.",
    "docs/contribute/error_handling.rst: 'TVM contains structured error classes to indicate "
    "specific types of error'",
)

_RAISED = re.compile(
    r"^(?:\w+\.)*([A-Z]\w*(?:Error|Exception|Warning)|Mismatch|Undefined)(?::|$)", re.M
)
"""Names of exceptions at the end of a traceback; the last two are what `evaluate` raises where the
module has no meaning."""

_HERE = str(Path(__file__).parents[1])

_PACKAGES = re.compile(r'"[^"\n]*/site-packages/')
"""Where this machine keeps its packages: no business of a bug report's reader."""

_RUN = 'if __name__ == "__main__":'

_APPLY = """\
def apply(mod, p=None):
    with tvm.transform.PassContext(config={config!r}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)
"""

_USES_PASSES = re.compile(r"\b(?:apply|passes|the_pass)\b")
"""A snippet that does without builds the module by a pipeline of TVM's own."""

_USES_OURS = "from relaxfuzz import "

_DIRECT = "for p in passes:\n    mod = apply(mod, p)"
_WAYS_TO_DIE = (
    _DIRECT,
    "apply(mod, tvm.transform.Sequential(passes))",
    "for p in [*passes, *passes]:\n    mod = apply(mod, p)",
)
"""A pass may die only when it is run again, or inside Sequential."""


def texts(finding: Finding) -> Iterator[str]:
    """Reproducers to try, the simplest first. They are claims until `fails` has seen them fail.

    Raises:
        BadPass: the file that defines a user's pass is gone.
    """
    for way in _ways(finding):
        yield _text(finding, way)


def fails(text: str, finding: Finding) -> bool:
    """Execute a reproducer in a fresh interpreter: does it fail as the finding says?"""
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-reproducer-") as folder:
        path = Path(folder) / "reproducer.py"
        path.write_text(text, encoding="utf-8")
        return _fails(path, finding)


def is_reproducer(path: Path) -> bool:
    """A Python file with a check to run at its end, as reproducers have."""
    return f"\n{_RUN}\n" in path.read_text(encoding="utf-8")


def run(path: Path) -> tuple[int, str]:
    """Exit code (negative for a signal) and stderr of a reproducer; code `HUNG` if it hangs."""
    return _runners().run(path, SECONDS)


@functools.cache
def _runners() -> Runners:
    runners = Runners()
    atexit.register(runners.close)
    return runners


def prepared(path: Path, stderr: str) -> bool:
    """The exception comes from the check, not from building the module before it."""
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+), in <module>', stderr)
    before, found, _ = path.read_text(encoding="utf-8").partition(f"\n{_RUN}\n")
    return bool(found) and bool(lines) and int(lines[0]) > before.count("\n") + 1


def _fails(path: Path, finding: Finding) -> bool:
    code, stderr = run(path)
    match finding.oracle:
        case Death.SEGFAULT:
            return -code in (signal.SIGSEGV, signal.SIGBUS)
        case Death.ARITHMETIC:
            return -code == signal.SIGFPE
        case Death.ABORT:
            return -code == signal.SIGABRT
        case Death.SIGNAL:
            return code < 0
        case Death.HANG:
            return "Timeout (" in stderr
        case Death.OUT_OF_MEMORY:
            return code not in (0, HUNG) and prepared(path, stderr)
    return code == 1 and _raised(path, stderr, finding.detail)


def _raised(path: Path, stderr: str, detail: str) -> bool:
    """The exception comes from the check, and is none that an unfit snippet would raise."""
    kinds = _RAISED.findall(stderr)
    return (
        prepared(path, stderr)
        and bool(kinds)
        and not any(kind in MISTAKES and kind not in detail for kind in kinds)
    )


def _ways(finding: Finding) -> Iterator[str]:
    if finding.oracle in ORACLES:
        snippet = ORACLES[finding.oracle].snippet
        mod = load_json(finding.module)
        case = Case(mod, finding.calls, finding.pipeline)
        yield snippet if isinstance(snippet, str) else snippet(case)
        return
    for way in _WAYS_TO_DIE:
        match finding.oracle:
            case Death.HANG:
                yield (
                    "import faulthandler\n\n"
                    f"faulthandler.dump_traceback_later({HANG_SECONDS}, exit=True)\n{way}"
                )
            case Death.OUT_OF_MEMORY:
                limit = f"({MEMORY_MB} << 20, {MEMORY_MB} << 20)"
                yield f"import resource\n\nresource.setrlimit(resource.RLIMIT_DATA, {limit})\n{way}"
            case Death.EXIT:
                yield (
                    "import os\n\npid = os.fork()\nif pid == 0:\n"
                    + textwrap.indent(way, "    ")
                    + "\n    os.kill(os.getpid(), 9)\n"
                    "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                    'assert code == -9, f"the pass ended the process with exit code {code}"'
                )
            case _:
                yield way


def _text(finding: Finding, way: str) -> str:
    imports, module = _module(finding)
    calls = finding.calls or (steps(finding.pipeline) if finding.pipeline else ())
    if not _USES_PASSES.search(way):
        calls = ()
    expressions = []
    config: dict[str, object] = {}
    paths: list[str] = []
    for call in calls:
        lines, expression = call.source()
        for line in lines:
            (imports if line.startswith(("import ", "from ")) else paths).append(line)
        expressions.append(expression)
        config |= call.config
    passes = "".join(f"    {expression},\n" for expression in expressions)
    check = f"passes = [\n{passes}]\nthe_pass = passes[0]\n\n{way.strip()}" if calls else way
    if "relax.VDevice" in check:
        moved = 'if not hasattr(relax, "VDevice"):  # before TVM 0.27'
        check = f"{moved}\n    relax.VDevice = tvm.ir.VDevice\n{check}"
    if "DiagnosticError" in finding.title + finding.detail:
        # TVM's excepthook does not show this kind of error otherwise.
        check = f'os.environ["TVM_BACKTRACE"] = "1"\n{check}'
        imports.append("import os")
    imports += ["import tvm"]
    imports += ["from tvm import relax"] if "relax." in check else []
    imports += ["import numpy as np"] if "np." in check else []
    return "\n".join(
        [
            _header(finding, check),
            "",
            *_merged(imports),
            *dict.fromkeys(paths),
            "",
            module,
            "",
            "",
            *([_APPLY.format(config=config), ""] if calls else []),
            _RUN,
            textwrap.indent(check, "    "),
            "",
        ]
    )


def _module(finding: Finding) -> tuple[list[str], str]:
    """Import lines, and statements that define `mod`."""
    if not finding.source:
        # What source cannot express still travels as JSON, if only within one TVM version.
        chunks = [finding.module[at : at + 90] for at in range(0, len(finding.module), 90)]
        quoted = "\n".join(f"    {chunk!r}" for chunk in chunks)
        return [], f"mod = tvm.ir.load_json(\n{quoted}\n)"
    lines = finding.source.strip().splitlines()
    imports = list(itertools.takewhile(lambda line: line.startswith(("import ", "from ")), lines))
    return imports, "\n".join(lines[len(imports) :]).strip()


def _merged(imports: list[str]) -> list[str]:
    """Import lines without repetition: plain ones first, one line for each module."""
    plain = sorted({line for line in imports if line.startswith("import ")})
    names: dict[str, set[str]] = {}
    for line in imports:
        module, found, listed = line.removeprefix("from ").partition(" import ")
        if found:
            names.setdefault(module, set()).update(name.strip() for name in listed.split(","))
    return plain + [
        f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)
    ]


def _header(finding: Finding, check: str) -> str:
    if finding.oracle in ORACLES:
        oracle = ORACLES[finding.oracle]
        promise, source = oracle.promise, oracle.source
    else:
        promise, source = DEATH_PROMISE
    versions = ", ".join(f"{name} {version}" for name, version in finding.versions.items())
    detail = _without_own_frames(_PACKAGES.sub('"', finding.detail).strip().splitlines())
    shown = [*detail[:30], "..."] if len(detail) > 30 else detail
    paragraphs = [
        f"{finding.pass_name}: {finding.title}",
        f"Oracle: {finding.oracle}. Finding: {finding.id}. "
        f"Pass: {'; '.join(map(str, finding.calls)) or finding.pipeline}.",
        f"Promise: {promise}",
        f"Promised by: {source}",
        f"Seen with: {versions}",
        "Run this file with Python: it fails as long as the bug is there.",
    ]
    if _USES_OURS in check:
        paragraphs.append("It needs relaxfuzz, besides TVM and NumPy: compiled code hides the bug.")
    lines = [line for text in paragraphs for line in textwrap.wrap(text, 97)]
    lines += ["", "What was seen:", *(f"  {line[:200]}" for line in shown)]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _without_own_frames(lines: list[str]) -> list[str]:
    """A traceback without the frames of relaxfuzz: they tell nothing of the bug."""
    kept = []
    own = False
    for line in lines:
        if line.lstrip().startswith('File "'):
            own = f'File "{_HERE}' in line
        elif not line.startswith("    "):
            own = False
        if not own:
            kept.append(line)
    return kept


def source_of(module: str) -> str:
    """Python source of a module in JSON; empty where it cannot be written."""
    try:
        return to_source(load_json(module))
    except Exception:
        return ""
