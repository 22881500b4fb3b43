"""The zygote of all commands: the jobs that its children do, and the caches that they share.

Run as `python -m relaxfuzz.fuzz.zygote`; see `process.zygote`.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections import OrderedDict
from typing import Any

from ..compat import torch_hidden  # noqa: F401  # before anything imports TVM

# isort: split

import tvm_ffi
from tvm import tirx

from ..compat import availability
from ..compat.script import quick_frames
from ..generators import stages
from ..generators.families import FAMILIES
from ..generators.modules import ir_modules
from ..generators.stages import Stage
from ..oracles.execute import kept
from .campaign import block
from .jobs import generating, jobs, measuring, reproducers, trials
from .jobs.draw import example
from .minimize.child import Reduce, reduce
from .process.protocol import Job
from .process.worker import Handlers
from .process.zygote import JobHost, serve

KEPT = 256
"""Most compiled functions to keep in memory, some ten KB each."""

_NAME = "tirx.build"

HANDLERS: Handlers = {
    block.Block: block.run_block,
    block.Regenerate: block.regenerate,
    generating.Generate: generating.generate,
    jobs.Check: jobs.check,
    jobs.CheckEach: jobs.check_each,
    jobs.Examine: jobs.examine,
    jobs.Explain: jobs.explain,
    jobs.Walk: jobs.walk,
    jobs.Advance: jobs.advance,
    jobs.Read: jobs.read,
    jobs.Show: jobs.show,
    jobs.WriteChecks: jobs.write_checks,
    measuring.Measure: measuring.measure,
    Reduce: reduce,
    reproducers.RunReproducer: reproducers.run_reproducer,
    trials.Try: trials.attempt,
}
"""The kinds of jobs that a child does, and the function for each."""


def compile_once() -> None:
    """Make `tirx.build` return its earlier result for an equal PrimFunc and target.

    FoldConstant compiles the functions that it evaluates in every run, 20 to 60 ms each, and a
    check runs it three times on the same module. It calls the global function `tirx.build`, like
    all callers in C++. Tier 4 does not: it keeps libraries in a folder, which is created here so
    that all forks share it.
    """
    kept.folder()
    build = tvm_ffi.get_global_func(_NAME)
    built: OrderedDict[tuple[int, str], tuple[Any, Any]] = OrderedDict()

    def cached(func: Any, *target: Any) -> Any:
        if not isinstance(func, tirx.PrimFunc):
            return build(func, *target)
        key = (int(tvm_ffi.structural_hash(func)), str(target))
        known = built.get(key)
        if known is None or not tvm_ffi.structural_equal(func, known[0]):
            known = built[key] = func, build(func, *target)
            if len(built) > KEPT:
                built.popitem(last=False)
        return known[1]

    tvm_ffi.register_global_func(_NAME, cached, override=True)


def warm_up() -> None:
    """Fill the caches that all children share, without running a kernel."""
    compile_once()
    known = availability.current()
    if known.build:  # otherwise the probe is still running, and anything may end this process
        with contextlib.suppress(Exception):  # a child raises it again if it matters
            mod = example(ir_modules(), 0, 0)
            for name in stages.steps(Stage.LEGALIZED):
                stages.step(mod, name)


def prepare(job: Job[Any]) -> None:
    """Import, before the fork, everything that a child with such a job would import by itself."""
    words = [call.name for call in getattr(job, "calls", ())]
    if isinstance(job, block.Block):
        words.append(job.recipe.family)
    if isinstance(job, generating.Generate):
        words.append(job.family)
    if isinstance(job, trials.Try):
        words += [*job.names, *job.samples]
    families = {re.split(r"[. ]", word, maxsplit=1)[0] for word in words}
    imports = [name for family in families & FAMILIES.keys() for name in FAMILIES[family].imports]
    for name in imports:
        # A child raises the same exception if it matters.
        with quick_frames(), contextlib.suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    serve(JobHost(HANDLERS, warm_up, prepare))
