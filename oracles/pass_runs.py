"""The runs of one case, each made once, whichever oracle asks for it first."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm.ir.instrument import pass_instrument

from ..compat.drift import drift_of
from ..compat.serialization import load_json, save_json
from . import keys, rejection
from .catalogue import catalogue, rejects
from .catalogue.uncovered import missing_arguments
from .contract import Exemption, PassContract
from .errors import NoAnswer
from .passcall import OPT_LEVEL, PassCall, bare_call, cpu, pass_context
from .pipelines import seen_running
from .silence import inventory
from .silence.log import abstain
from .structural import checkers
from .text import messages
from .values.expectation import Expectation
from .values.expectations import Expectations
from .violation import Journal, Violation, silent

Pass: TypeAlias = tvm.transform.Pass
Run: TypeAlias = Callable[[tvm.IRModule], tvm.IRModule]


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
        return keys.exception(self.error).key


def attempt(run: Run, mod: tvm.IRModule) -> Outcome:
    """Run and keep the exception, if any, as a value.

    What we ask of TVM and do not get, such as `Sequential`, is no outcome of a pass.
    """
    try:
        return Outcome(mod=run(mod))
    except Exception as error:
        if drift_of(error) is not None:
            raise
        return Outcome(error=error)


class Given:
    """A module as it was handed in, and what is known of it."""

    def __init__(
        self, mod: tvm.IRModule, mark: int, again: Callable[[], tvm.IRModule] | None = None
    ) -> None:
        """
        Args:
            again: makes an equal module anew. Then the text, which costs as much as a check,
                need not be taken down before each run.
        """
        self.mod = mod
        self.mark = mark
        self.executed: dict[tuple[str, str], Any] = {}
        """By pipeline and mode: what came of the calls of `expectations` in the VM."""
        self.latest: str | None = None
        """The deep content, as it was taken down last to be compared with what it is later."""
        self._again = again
        self._text: str | None = None
        self._derived: dict[Hashable, tuple[tvm.IRModule | None, int | None]] = {}
        """By name, with the digest."""

    @property
    def fleeting(self) -> bool:
        """It can be made again, as one of many modules: not all of it is compared each time."""
        return self._again is not None

    def note(self, *, copies: bool = False) -> None:
        """Take the text down before a run, unless it can be made later.

        Args:
            copies: copies of the module will be wanted: to make it again would cost more.
        """
        if self._text is None and (self._again is None or copies):
            self._text = save_json(keys.comparable(self.mod))

    @property
    def text(self) -> str:
        """The deep content: names, annotations and the data of constants, which no hash covers.

        It is that of the module before the runs, if `note` was called then.
        """
        if self._text is None and (made := self._made_again()) is not None:
            self._text = save_json(keys.comparable(made))
        if self._text is None:
            self._text = save_json(keys.comparable(self.mod))
        return self._text

    def _made_again(self) -> tvm.IRModule | None:
        try:
            made = None if self._again is None else self._again()
        except MemoryError:
            raise
        except Exception:  # FuseTIR fails now and then, for some orders of addresses
            return None
        return made if made is not None and digest(made) == self.mark else None

    @functools.cached_property
    def flaw(self) -> Violation | None:
        """What makes it ill-formed: then nothing is promised for it."""
        return checkers.input_flaw(self.mod)

    @functools.cached_property
    def expectations(self) -> Expectations:
        """What its functions give, evaluated once for all passes that are applied to it."""
        return Expectations(self.mod)

    def derived(
        self, name: Hashable, make: Callable[[tvm.IRModule], tvm.IRModule | None]
    ) -> tvm.IRModule | None:
        """What is made of the module, once for all passes that leave it as it is.

        Args:
            name: of what is made.
        """
        made, mark = self._derived.get(name, (None, None))
        if name not in self._derived or (made is not None and digest(made) != mark):
            made = make(self.mod)
            self._derived[name] = made, None if made is None else digest(made)
        return made

    def copy(self) -> tvm.IRModule:
        """A module that shares no node with the original."""
        return load_json(self.text)

    def anew(self) -> tvm.IRModule:
        """The same; made as the original was where that is known, since loading fills in what may
        be missing from a module."""
        return self._made_again() or self.copy()


_last: Given | None = None


def given(mod: tvm.IRModule, again: Callable[[], tvm.IRModule] | None = None) -> Given:
    """The record of this module; made anew when it is another object or has changed.

    Args:
        again: see `Given`; kept with a record made now.
    """
    global _last
    mark = digest(mod)
    if _last is None or not _last.mod.same_as(mod) or _last.mark != mark:
        _last = Given(mod, mark, again)
    return _last


def same_functions(a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """Two modules are made of the very same objects: whatever holds for one holds for both."""
    if a.same_as(b):
        return True
    if (
        a.attrs is None
        or not a.attrs.same_as(b.attrs)
        or not a.global_infos.same_as(b.global_infos)
    ):
        return False
    old, new = a.functions, b.functions
    if old.same_as(new):
        return True
    return len(old) == len(new) and all(
        gvar in new and new[gvar].same_as(func) for gvar, func in old.items()
    )


class PassRuns:
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
        all_kinds: bool = False,
        skips: bool = True,
        known: Given | None = None,
        seen: Outcome | None = None,
    ) -> None:
        """
        Args:
            known: the module's record, where the caller has just made it.
            seen: what came of the passes, where somebody else has run them; it stands for all runs.
            config: PassContext options; None: those of the calls.
            alone: only the direct run is wanted.
            thorough: compare the deep content, whether or not it is in the sample.
            all_kinds: compare values on all kinds of arguments, as thorough runs do.
            skips: Sequential's skipping of passes above the default opt_level is expected, as it is
                where the calls have a level of their own.
        """
        self.mod = mod
        self.calls = tuple(calls)
        self.contract = contract
        self.alone = alone
        self.thorough = thorough
        self.all_kinds = thorough or all_kinds
        self.given = given(mod) if known is None else known
        if not alone:
            self.given.note()
        self.before: str | None = None
        """The deep content before the runs, where it is to be compared."""
        self.just_taken = False
        """It was taken down just before them, not after those of an earlier check."""
        if self.sampled and not alone:
            self.just_taken = self.given.latest is None or not self.given.fleeting
            if self.just_taken:
                self.given.latest = save_json(keys.comparable(mod))
            self.before = self.given.latest
        self.other_sides: dict[Expectation, Expectation] = {}
        """By call of the module: the call of the result that must give the same."""
        self._seen = seen
        self.passes = [] if seen is not None else [call.build() for call in calls]
        self.asked: list[str] = []
        """The oracles that were, by name."""
        self._rejections: dict[tuple[int, int], tuple[bool, Exception, tvm.IRModule | None]] = {}
        """By addresses of an exception and of a module, both kept alive: the answer."""
        self.lacking: list[str] = []
        """What the installed TVM lacks, so that an oracle could not answer."""
        self._journal = journal
        self._config = (
            {key: value for call in calls for key, value in call.config.items()}
            if config is None
            else dict(config)
        )
        self.skips = skips or OPT_LEVEL in self._config

    @property
    def call(self) -> PassCall:
        """The pass of a check of one pass."""
        return self.calls[0]

    @functools.cached_property
    def sampled(self) -> bool:
        """Whether the dearer comparisons are due: always, or in one of eight checks.

        In a campaign these are all on the same modules, whose text is then taken down once.
        """
        return self.thorough or zlib.crc32(self.entropy_of_module.encode()) % 8 == 0

    @property
    def entropy(self) -> str:
        """Seeds what is left to chance: the same wherever the files of a user's passes are."""
        return f"{self.given.mark} {', '.join(map(str, self.calls))}"

    @property
    def entropy_of_module(self) -> str:
        """The same for all passes that a campaign checks on the module."""
        return str(self.given.mark) if self.given.fleeting else self.entropy

    # Ways to run

    def under(self, pass_: Pass, **others: Any) -> Run:
        """Apply this pass under the case's PassContext, with other arguments too, and target."""
        context = pass_context(self._config, **others)

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
        """Sequential runs all of the passes under the case's context."""
        most = pass_context(self._config).opt_level
        return all(pass_.info.opt_level <= most for pass_ in self.passes)

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
        if self._seen is not None:
            return self._seen, self._seen
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
        """A further run, journaled first."""
        self.step(step)
        return attempt(run, mod)

    def step(self, step: str) -> None:
        """Write in the journal what comes next."""
        self._journal(step)

    # Questions about them

    @functools.cached_property
    def intact(self) -> bool:
        """The first runs have left the module with the same hash."""
        _ = self._first_runs
        return digest(self.mod) == self.given.mark

    @functools.cached_property
    def changed(self) -> bool:
        """The direct run gave another module than it was given."""
        after = self.direct.mod
        if after is None or after.same_as(self.mod):
            return False
        if same_functions(after, self.mod) and self.intact:
            return False
        if keys.compiled(after) != keys.compiled(self.mod):
            return True
        return self.direct.mark != self.given.mark

    def rejected(self, error: Exception, mod: tvm.IRModule | None = None) -> bool:
        """The exception is a clean rejection, or a reference has no answer.

        Args:
            mod: what the pass was given; None: the module of the case.
        """
        asked = id(error), id(mod)
        if asked not in self._rejections:  # several oracles ask, and the answer may take runs
            self._rejections[asked] = self._rejects(error, mod), error, mod
        return self._rejections[asked][0]

    def _rejects(self, error: Exception, mod: tvm.IRModule | None) -> bool:
        asked = self.mod if mod is None else mod
        if self.contract.universal_only and rejection.is_clean(error):
            return True
        if rejection.lacks_function(error, self.call.expr, asked):
            return True
        if isinstance(error, NoAnswer) or rejects(self.contract, error, asked):
            return True
        if self.call.factory is None and not self.contract.universal_only:
            return False
        return self._refused_inside(error, self.given.copy() if mod is None else mod)

    def _refused_inside(self, error: Exception, mod: tvm.IRModule) -> bool:
        """A pass of TVM that runs inside of this one rejects the very module that this one was
        given, by its own contract.

        If it rejects only what this pass has made of the module, that is this pass's fault.
        """
        mark = Outcome(error=error).mark
        for name, given_to_it in self._running(mod):
            contract = catalogue.get(name)
            if contract is None:
                continue
            refuses = rejects(contract, error, mod)
            if missing_arguments(name):  # it cannot be run alone
                if refuses and digest(given_to_it) == digest(mod):
                    return True
            elif refuses or contract.requires(mod) is not None:
                alone = self.attempt(name, self.under(bare_call(name).build()), mod)
                if alone.mark == mark:
                    return True
        return False

    def _running(self, mod: tvm.IRModule) -> list[tuple[str, tvm.IRModule]]:
        """The passes that run when the pass raises, the innermost first; what each was given."""
        running: list[tuple[str, tvm.IRModule]] = []

        @pass_instrument
        class Watch:
            def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
                running.append((str(info.name), mod))

            def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
                running.pop()

        (pass_,) = self.passes
        outcome = self.attempt("watched", self.under(pass_, instruments=[Watch()]), mod)
        return running[::-1] if outcome.error is not None else []

    def inner_passes(self) -> frozenset[str]:
        """The names of the passes that run when the module goes through the pass, its own too."""

        def run(instrument: Any) -> None:
            for pass_ in self.passes:
                self.attempt("watched", self.under(pass_, instruments=[instrument]), self.mod)

        return seen_running(run)

    def exempt(self, oracle: str) -> bool:
        """The contract does not promise what this oracle checks."""
        return self.exemption(oracle) is not None

    def exemption(self, oracle: str) -> Exemption | None:
        """Why the contract does not promise what this oracle checks."""
        return self.contract.exemption(oracle, self.mod, self.call)

    # For oracles that may have nothing to compare

    def result(self) -> tvm.IRModule | None:
        """What the direct run gave; the oracle abstains where the pass rejects the module."""
        if self.direct.error is not None:
            abstain(inventory.REJECTION, self._rejection)
        return self.direct.mod

    @functools.cached_property
    def _rejection(self) -> str:
        return f"the pass rejects the module: {messages.headline(str(self.direct.error))}"

    def changed_result(self) -> tvm.IRModule | None:
        """The same; the oracle abstains, too, where the pass leaves the module as it is."""
        after = self.result()
        if after is None or self.changed:
            return after
        abstain(inventory.UNCHANGED)
        return None
