"""The runs of one case, each made once, whichever oracle asks for it first."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tvm
import tvm_ffi

from ..generators.tvm_api import load_json, save_json
from . import keys, well_formed
from .contract import PassContract
from .oracle import Journal, Problem, silent
from .passcall import PassCall

Pass: TypeAlias = tvm.transform.Pass
Run: TypeAlias = Callable[[tvm.IRModule], tvm.IRModule]


@functools.cache
def cpu() -> tvm.target.Target:
    """The target that a pass is told when it asks for the current one."""
    return tvm.target.Target("llvm")


def digest(mod: tvm.IRModule) -> int:
    """The structural hash, constants' data included: equal for structurally equal modules."""
    return int(tvm_ffi.structural_hash(keys.comparable(mod), map_free_vars=True))


class Outcome:
    """What a run gave: a module or an exception."""

    def __init__(self, mod: tvm.IRModule | None = None, error: Exception | None = None) -> None:
        self.mod = mod
        self.error = error

    @functools.cached_property
    def mark(self) -> int | tuple[str, ...]:
        """Equal for equal outcomes: a module's hash, an exception's key."""
        if self.mod is not None:
            return digest(self.mod)
        assert self.error is not None
        # The place is left out: inside Sequential the same exception has passed other frames.
        return keys.exception(self.error).fingerprint


def attempt(run: Run, mod: tvm.IRModule) -> Outcome:
    """Run and keep the exception, if any, as a value."""
    try:
        return Outcome(mod=run(mod))
    except Exception as error:
        return Outcome(error=error)


class Given:
    """A module as it was handed in, and what is known of it."""

    def __init__(self, mod: tvm.IRModule, mark: int) -> None:
        self.mod = mod
        self.mark = mark

    @functools.cached_property
    def text(self) -> str:
        """The deep content: names, annotations and the data of constants, which no hash covers.

        Whoever wants to compare it must have asked for it before the first run.
        """
        return save_json(keys.comparable(self.mod))

    @functools.cached_property
    def flaw(self) -> Problem | None:
        """What makes it ill-formed: then nothing is promised for it."""
        return well_formed.flaw(self.mod)

    def copy(self) -> tvm.IRModule:
        """A module that shares no node with the original."""
        return load_json(self.text)


_last: Given | None = None


def given(mod: tvm.IRModule) -> Given:
    """The record of this module; made anew when it is another object or has changed."""
    global _last
    mark = digest(mod)
    if _last is None or not _last.mod.same_as(mod) or _last.mark != mark:
        _last = Given(mod, mark)
    return _last


class Subject:
    """One module and one pass (or a list of passes), and the runs that the oracles look at.

    Direct and Sequential runs work on the *same* module object, as a user's would. Which of them
    comes first depends on a bit of the module's hash, so that both orders are covered.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        calls: Sequence[PassCall],
        contract: PassContract,
        *,
        journal: Journal = silent,
        config: Mapping[str, Any] | None = None,
        alone: bool = False,
        thorough: bool = False,
        skips: bool = True,
    ) -> None:
        """
        Args:
            config: PassContext options; None: those of the calls.
            alone: only the direct run is wanted.
            thorough: compare everything, not a sample.
            skips: Sequential's skipping of passes above the context's opt_level is expected.
        """
        self.mod = mod
        self.calls = tuple(calls)
        self.contract = contract
        self.alone = alone
        self.thorough = thorough
        self.skips = skips
        self.given = given(mod)
        if not alone:
            _ = self.given.text
        self.passes = [call.build() for call in calls]
        self._journal = journal
        self._config = (
            {key: value for call in calls for key, value in call.config.items()}
            if config is None
            else dict(config)
        )

    @property
    def call(self) -> PassCall:
        """The pass of a check of one pass."""
        return self.calls[0]

    @property
    def sampled(self) -> bool:
        """Whether the dearer comparisons are due: always, or in one of eight checks."""
        chosen = zlib.crc32(f"{self.given.mark} {self.calls}".encode()) % 8 == 0
        return self.thorough or chosen

    # Ways to run

    def under(self, pass_: Pass, disabled: str | None = None) -> Run:
        """Apply this pass under the case's PassContext and target, with another pass disabled."""
        context = tvm.transform.PassContext(
            config=self._config, disabled_pass=[] if disabled is None else [disabled]
        )

        def run(mod: tvm.IRModule) -> tvm.IRModule:
            with context, cpu():
                return pass_(mod)

        return run

    def directly(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Apply the passes one after the other."""
        for pass_ in self.passes:
            mod = self.under(pass_)(mod)
        return mod

    def in_sequential(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Apply the passes as one Sequential."""
        return self.under(tvm.transform.Sequential(self.passes))(mod)

    def enabled(self) -> bool:
        """Sequential runs all of the passes under the default context."""
        return all(
            pass_.info.opt_level <= tvm.transform.PassContext().opt_level for pass_ in self.passes
        )

    # Runs, each made once

    @property
    def direct(self) -> Outcome:
        """The passes applied directly."""
        return self._first_runs[0]

    @property
    def sequential(self) -> Outcome:
        """The passes applied inside Sequential."""
        return self._first_runs[1]

    @functools.cached_property
    def _first_runs(self) -> tuple[Outcome, Outcome]:
        if self.given.mark & 1 and not self.alone:
            sequential = self.attempt("Sequential", self.in_sequential, self.mod)
            return self.attempt("direct", self.directly, self.mod), sequential
        direct = self.attempt("direct", self.directly, self.mod)
        if direct.error is not None or self.alone:
            return direct, direct
        return direct, self.attempt("Sequential", self.in_sequential, self.mod)

    @functools.cached_property
    def again(self) -> Outcome:
        """The passes applied to their own result."""
        assert self.direct.mod is not None
        return self.attempt("second run", self.directly, self.direct.mod)

    def attempt(self, step: str, run: Run, mod: tvm.IRModule) -> Outcome:
        """A further run, told to the journal first."""
        self.tell(step)
        return attempt(run, mod)

    def tell(self, step: str) -> None:
        """Say in the journal what comes next."""
        self._journal(step)

    # Questions about them

    @functools.cached_property
    def changed(self) -> bool:
        """The direct run gave another module than it was given."""
        after = self.direct.mod
        if after is None:
            return False
        return not after.same_as(self.mod) and self.direct.mark != self.given.mark

    def rejected(self, error: Exception) -> bool:
        """The contract lists this exception as a clean refusal."""
        text = str(error)
        return any(re.search(rejection.pattern, text) for rejection in self.contract.rejections)

    def exempt(self, oracle: str) -> bool:
        """The contract does not promise what this oracle checks."""
        return any(
            exemption.oracle == oracle
            and (exemption.when is None or exemption.when(self.mod, self.call))
            for exemption in self.contract.exemptions
        )
