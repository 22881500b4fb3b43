"""The runs of one case, each made once, when an oracle first asks for it."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import tvm
from tvm.ir.instrument import pass_instrument

from ..compat import weights
from ..compat.drift import drift_of
from ..compat.serialization import load_json, save_json
from . import checkers, keys, lines, rejection
from .catalogue import catalogue, contract_of, rejects
from .catalogue.uncovered import missing_arguments
from .contract import Exemption, PassContract
from .errors import NoAnswer, NoModule
from .expected.expectation import Expectation
from .expected.expectations import Expectations
from .pace import late, late_for_kinds
from .passcall import OPT_LEVEL, PassCall, bare_call, pass_context, target_of, whole
from .pipelines import seen_running
from .silence import inventory
from .silence.log import abstain
from .text import messages
from .violation import StepJournal, Violation, silent

Pass: TypeAlias = tvm.transform.Pass
Transform: TypeAlias = Callable[[tvm.IRModule], tvm.IRModule]


def digest(mod: tvm.IRModule) -> int:
    """The structural hash, constants' data included: equal for structurally equal modules."""
    return weights.content(keys.comparable(mod))


class Outcome:
    """The outcome of a run: a module or an exception."""

    def __init__(self, mod: tvm.IRModule | None = None, error: Exception | None = None) -> None:
        self.mod = mod
        self.error = error

    @functools.cached_property
    def mark(self) -> int | tuple[str, ...]:
        """A value that is equal for equal outcomes: a module's hash, or an exception's key."""
        if self.mod is not None:
            return digest(self.mod)
        assert self.error is not None
        # The place is left out: inside Sequential, the same exception has passed other frames.
        return keys.exception(self.error).key


def outcome_of(result: Any) -> Outcome:
    """The outcome of a pass that returned `result`: an error unless that is a complete module."""
    try:
        return Outcome(mod=whole(result))
    except NoModule as error:
        return Outcome(error=error)


def attempt(run: Transform, mod: tvm.IRModule) -> Outcome:
    """Run, and keep an exception as a value.

    If the exception is due to something that this TVM lacks, such as `Sequential`, it is raised,
    since it is not an outcome of a pass.
    """
    try:
        return Outcome(mod=whole(run(mod)))
    except Exception as error:
        if drift_of(error) is not None:
            raise
        return Outcome(error=error)


class Given:
    """A module as it was passed in, and facts about it."""

    def __init__(
        self, mod: tvm.IRModule, mark: int, again: Callable[[], tvm.IRModule] | None = None
    ) -> None:
        """
        Args:
            again: makes an equal module. If given, the text, which costs as much as a check, need
                not be saved before each run.
        """
        self.mod = mod
        self.mark = mark
        self.executed: dict[str, Any] = {}
        """Results of `calls` in the VM, by pipeline and mode."""
        self.calls: list[Expectation] | None = None
        """The calls of `expectations` that builds execute, chosen once for all pipelines."""
        self.example: Expectation | None = None
        """A call on arguments of the user's, which builds execute first."""
        self.same_calls: dict[str, Any] = {}
        """The numbered values of its functions, by their names; see `values.same_calls`."""
        self.latest: str | None = None
        """The deep content as it was last saved, to be compared with later content."""
        self._again = again
        self._text: str | None = None
        self._derived: dict[Hashable, tuple[tvm.IRModule | None, int | None]] = {}
        """Derived modules with their digests, by name."""

    @property
    def fleeting(self) -> bool:
        """True if the module is one of many that can be made again.

        The deep content of such a module is compared in a sample of its checks only.
        """
        return self._again is not None

    def note(self, *, copies: bool = False) -> None:
        """Save the text before a run, unless the module can be made again later.

        Args:
            copies: copies of the module will be needed, and making it again would cost more.
        """
        if self._text is None and (self._again is None or copies):
            self._text = save_json(keys.comparable(self.mod))

    @property
    def text(self) -> str:
        """The deep content: names, annotations and the data of constants, which no hash covers.

        It is the content before the runs if `note` was called then.
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
        """The flaw of the module that voids all promises for it, or None."""
        return checkers.input_flaw(self.mod)

    @functools.cached_property
    def expectations(self) -> Expectations:
        """The results of its functions, evaluated once for all passes that are applied to it."""
        return Expectations(self.mod)

    def derived(
        self, name: Hashable, make: Callable[[tvm.IRModule], tvm.IRModule | None]
    ) -> tvm.IRModule | None:
        """A module derived from this one, made once for all passes that leave it intact.

        Args:
            name: the name of the derived module.
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
        """A copy, made like the original if possible: loading may fill in parts that a module
        lacks."""
        return self._made_again() or self.copy()


RECORDS = 3
"""Number of modules whose records are kept, the last used first: between two passes over one
module, oracles use other modules."""

_recent: list[Given] = []


@contextlib.contextmanager
def records_kept() -> Iterator[None]:
    """Keep the records of the modules so far, whatever other modules occur inside the context."""
    before = list(_recent)
    try:
        yield
    finally:
        _recent[:] = before


def given(mod: tvm.IRModule, again: Callable[[], tvm.IRModule] | None = None) -> Given:
    """The record of this module; a new one if the module is another object or has changed.

    Args:
        again: see `Given`; kept with a record made now.
    """
    mark = digest(mod)
    others = [each for each in _recent if not each.mod.same_as(mod)]
    found = next((each for each in _recent if each.mod.same_as(mod) and each.mark == mark), None)
    found = Given(mod, mark, again) if found is None else found
    _recent[:] = [found, *others[: RECORDS - 1]]
    return found


def same_functions(a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """True if two modules consist of the very same objects: facts about one hold for the other."""
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

    Direct and Sequential runs work on the *same* module object, as a user's runs would. A bit of
    the module's hash decides which comes first, so that both orders are covered.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        calls: Sequence[PassCall],
        contract: PassContract,
        *,
        journal: StepJournal = silent,
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
            known: the module's record, if the caller has just made it.
            seen: the outcome of the passes, if they ran elsewhere; it stands for all runs.
            config: PassContext options; None: those of the calls.
            alone: only the direct run is wanted.
            thorough: compare the deep content, whether or not it is in the sample.
            all_kinds: compare values on all kinds of arguments, as thorough runs do.
            skips: Sequential is expected to skip passes above the default opt_level; it always is
                if the calls have a level of their own.
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
        """The deep content before the runs, if it is to be compared."""
        self.just_taken = False
        """True if `before` was saved just before the runs, not after those of an earlier check."""
        if self.sampled and not alone:
            self.just_taken = self.given.latest is None or not self.given.fleeting
            if self.just_taken:
                self.given.latest = save_json(keys.comparable(mod))
            self.before = self.given.latest
        self.other_sides: dict[Expectation, Expectation] = {}
        """Calls of the result, keyed by the call of the module whose result they must have."""
        self.near_constants: dict[str, list[Expectation]] = {}
        """Further calls by names of functions; see `expected.near_constants`."""
        self.same_calls: dict[str, bool] = {}
        """For functions by name, True if the result is proved to compute the same."""
        self._seen = seen
        with lines.watched():
            self.passes = [] if seen is not None else [call.build() for call in calls]
        self.asked: list[str] = []
        """The names of the oracles that were asked."""
        self._rejections: dict[tuple[int, int], tuple[bool, Exception, tvm.IRModule | None]] = {}
        """Answers of `rejected`, by addresses of the exception and the module, both kept alive."""
        self.once = False
        """True if only one run was made, since it took the whole time for the check. It stands for
        both the direct run and the one in Sequential."""
        self.lacking: list[str] = []
        """The features that the installed TVM lacks and an oracle would need to answer."""
        self._journal = journal
        self._config = (
            {key: value for call in calls for key, value in call.config.items()}
            if config is None
            else dict(config)
        )
        self.skips = skips or OPT_LEVEL in self._config

    @property
    def call(self) -> PassCall:
        """The pass, in a check of a single pass."""
        return self.calls[0]

    @functools.cached_property
    def sampled(self) -> bool:
        """True if the expensive comparisons are due: in one of eight checks, and in any that
        compares values on all kinds of arguments and has the time for that.

        In a campaign these checks are all on the same modules, whose text is then saved once.
        """
        if self.all_kinds and not late_for_kinds():
            return True
        return zlib.crc32(self.entropy_of_module.encode()) % 8 == 0

    @property
    def entropy(self) -> str:
        """The seed of random choices; it does not depend on the location of the user's files."""
        return f"{self.given.mark} {', '.join(map(str, self.calls))}"

    @property
    def entropy_of_module(self) -> str:
        """A seed that is the same for all passes that a campaign checks on the module."""
        return str(self.given.mark) if self.given.fleeting else self.entropy

    # Ways to run

    def under(self, pass_: Pass, **others: Any) -> Transform:
        """Apply this pass under the case's PassContext and target, with further arguments."""
        context, target = pass_context(self._config, **others), target_of(self._config)

        def run(mod: tvm.IRModule) -> tvm.IRModule:
            with context, target:
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
        """True if Sequential runs all of the passes under the case's context."""
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
            if self._one_suffices():
                return sequential, sequential
            return self.attempt("direct", self.directly, self.mod), sequential
        direct = self.attempt("direct", self.directly, self.mod)
        if direct.error is not None or self.alone or self._one_suffices():
            return direct, direct
        return direct, self.attempt("Sequential", self.in_sequential, self.mod)

    def _one_suffices(self) -> bool:
        """Note if the first run has used up the time for the check; the second is then not made."""
        self.once = late() and self.enabled()
        return self.once

    @functools.cached_property
    def again(self) -> Outcome:
        """The passes applied to their own result."""
        assert self.direct.mod is not None
        return self.attempt("second run", self.directly, self.direct.mod)

    def attempt(self, step: str, run: Transform, mod: tvm.IRModule) -> Outcome:
        """A further run, entered in the journal first."""
        self.step(step)
        with lines.watched():
            return attempt(run, mod)

    def step(self, step: str) -> None:
        """Write the next step to the journal."""
        self._journal(step)

    # Questions about them

    @functools.cached_property
    def intact(self) -> bool:
        """True if the first runs have left the hash of the module unchanged."""
        _ = self._first_runs
        return digest(self.mod) == self.given.mark

    def set_apart(self) -> None:
        """Go on with copies, since the pass changes its input in place.

        The module is restored, and its result comes from another copy, so the two can be compared.
        """
        outcome = self.attempt("on a copy", self.directly, self.given.copy())
        self.mod = self.given.copy()
        self.given = Given(self.mod, self.given.mark)
        for made in ("_first_runs", "again", "changed"):
            self.__dict__.pop(made, None)
        self._seen, self.intact = outcome, True

    @functools.cached_property
    def changed(self) -> bool:
        """True if the direct run gave a module different from its input."""
        after = self.direct.mod
        if after is None or after.same_as(self.mod):
            return False
        if same_functions(after, self.mod) and self.intact:
            return False
        if keys.compiled(after) != keys.compiled(self.mod):
            return True
        return self.direct.mark != self.given.mark

    def rejected(self, error: Exception, mod: tvm.IRModule | None = None) -> bool:
        """True if the exception is a clean rejection, or a reference has no answer.

        Args:
            mod: the input of the pass; None: the module of the case.
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
        if not self.passes or (self.call.is_tvms and not self.contract.universal_only):
            return False
        return self._refused_inside(error, self.given.copy() if mod is None else mod)

    def _refused_inside(self, error: Exception, mod: tvm.IRModule) -> bool:
        """True if a pass of TVM that runs inside this one rejects, by its own contract, the very
        input of this one.

        If it only rejects a module that this pass has made, this pass is at fault.
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
        """The passes that run when the pass raises, the innermost first, each with its input."""
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

    def raising(self) -> str:
        """The innermost pass of TVM that runs when the pass raises; empty if it is the pass."""
        names = [name for name, _ in self._running(self.mod) if name in catalogue]
        return names[0] if names and names[0] != self.call.name else ""

    def inner_passes(self) -> frozenset[str]:
        """The names of the passes that run when the pass is applied, including its own."""

        def run(instrument: Any) -> None:
            for pass_ in self.passes:
                self.attempt("watched", self.under(pass_, instruments=[instrument]), self.mod)

        return seen_running(run)

    def exempt(self, oracle: str) -> bool:
        """True if the contract does not promise what this oracle checks."""
        return self.exemption(oracle) is not None

    def exemption(self, oracle: str) -> Exemption | None:
        """The exemption of the contract from this oracle, or None."""
        return self.contract.exemption(oracle, self.mod, self.call)

    # For oracles that may have nothing to compare

    def result(self) -> tvm.IRModule | None:
        """The result of the direct run; the oracle abstains if the pass rejects the module."""
        if self.direct.error is not None:
            abstain(inventory.REJECTION, self._rejection)
        return self.direct.mod

    @functools.cached_property
    def _rejection(self) -> str:
        return f"the pass rejects the module: {messages.headline(str(self.direct.error))}"

    def changed_result(self) -> tvm.IRModule | None:
        """The result, if the pass has changed the module; else the oracle abstains."""
        after = self.result()
        if after is None or self.changed:
            return after
        abstain(inventory.UNCHANGED)
        return None


def run_alone(mod: tvm.IRModule, call: PassCall) -> PassRuns:
    """The direct run of a pass under its contract, for all kinds of arguments."""
    return PassRuns(mod, (call,), contract_of(call), alone=True, thorough=True)
