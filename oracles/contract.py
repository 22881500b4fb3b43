"""The contract of one pass: when it applies, what it promises, which exemptions it has."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tvm

from ..generators.choices import Choices
from ..generators.stages import RELAX, Stage
from ..generators.traits import Trait
from .passcall import PassCall, bare_call
from .text import messages
from .text.frames import frames_of

Variants = Callable[[Choices, tvm.IRModule], PassCall | None]
"""Chooses arguments that fit the module; None where it offers none (no parameter to bind)."""

Requires = Callable[[tvm.IRModule], str | None]
"""Why the pass does not apply to this module, or None."""

Post = Callable[[tvm.IRModule, tvm.IRModule, PassCall], str | None]
"""`post(before, after, call)`: what is wrong with the result, or None.

The text is part of the finding's key: it holds op and node kinds, never names or numbers."""


NO_CONTRACT = "no contract"
"""The mark of a pass of TVM that nobody has written a contract for."""


class Relation(enum.StrEnum):
    """How the result is called and compared with the module before."""

    SAME = "same"  # every public function: same signature, same values
    NEW_SIGNATURE = "new signature"  # parameters change by purpose; the post-condition checks how
    LIFTED_PARAMS = "lifted params"  # main(x, *transform(w)) == main(x, *w)
    BUNDLED_PARAMS = "bundled params"  # main(x, (w1, w2)) == main(x, w1, w2)
    BOUND_PARAMS = "bound params"  # main(x) == main(x, w) with w bound
    BOUND_SIZES = "bound sizes"  # main(x) == main(x) for an x of the sizes that are bound
    LAZY_INPUT = "lazy input"  # main(x, get) == main(x, *w), where get(i, name) is w[i]
    LAZY_OUTPUT = "lazy output"  # main(x, set) sets what main(x) gives
    LAZY_PARAMS = "lazy params"  # transform() gets weights by get_item and gives them to set_item
    WORKSPACE = "workspace"  # external functions take a workspace besides
    LOOSE = "loose"  # same signature, values to a loose tolerance (mixed precision, fast math)
    ADJOINT = "adjoint"  # adds <fn>_adjoint, keeps the rest
    LOWERED = "lowered"  # the calling convention inside is lowered; called as before


def no_post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> None:
    """Nothing is promised besides what every pass promises."""


PARTIAL: Mapping[str, str] = {
    "chance": "each run may give another result",
    "values": "the result may compute other values",
    "allocations": "a buffer that parallel iterations share may become one of each of them later",
}
"""What an exemption may name besides an oracle."""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A promise that the pass has nothing left to do on its own result."""

    source: str
    """The source of the promise: a docstring, a test of TVM, or the nature of the pass (it
    eliminates, legalizes, simplifies, or does what its arguments ask for)."""
    when: Callable[[tvm.IRModule, PassCall], bool] | None = None
    """Only for these modules and arguments; None: always."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A promise of the strict contract that this pass does not make, with the documented source."""

    oracle: str
    """Name of the oracle that is silent, or one of `PARTIAL`."""
    reason: str
    source: str
    """Where the limit is documented: a docstring, a documentation page, a message that names it."""
    when: Callable[[tvm.IRModule, PassCall], bool] | None = None
    """Only for these modules and arguments; None: always."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A clean refusal: the message names what is not supported, and the pass may give it."""

    pattern: str
    """Regular expression searched in the exception's text."""
    source: str
    function: str = ""
    """Regular expression: a function with such a name must be running when it is raised."""
    when: Callable[[Exception, tvm.IRModule], bool] | None = None
    """Only for such an exception on such a module; None: always."""
    outside: bool = False
    """Passes that have this one inside may give it, too."""

    def covers(self, error: Exception, mod: tvm.IRModule) -> bool:
        """Whether the exception is this refusal."""
        return (
            bool(re.search(self.pattern, messages.text_of(error)))
            and (
                not self.function
                or any(re.search(self.function, frame.name) for frame in frames_of(error))
            )
            and (self.when is None or self.when(error, mod))
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The right behaviour of a pass, written down a second time; see `oracles/reference`."""

    make: Callable[[PassCall], tvm.transform.Pass | None]
    """The reference pass for these arguments; None where it does not know them."""
    unique: bool
    """There is one right answer: both results are equal but for the names of private functions.
    Otherwise the pass must do what the reference shows to be possible: give a result that keeps the
    post-condition, wherever the reference gives one."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What a pass works on, and most modules do not have."""

    has: Callable[[tvm.IRModule], bool]
    """Whether the module has it, asked fast: it may be more than the pass changes."""
    ops: tuple[str, ...] = ()
    """The operators to make modules of that have it, as in the table of operators."""
    chains: tuple[tuple[str, ...], ...] = ()
    """Some of them in a row, each on the result of the one before."""
    traits: tuple[Trait, ...] = ()
    """The traits of modules that have it."""
    dtypes: tuple[str, ...] = ()
    """Dtypes of buffers of modules that have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassContract:
    """What a pass promises. The defaults are the strict contract of an unknown pass."""

    name: str
    variants: Variants | None = None
    """None: it is called without arguments."""
    no_variants: str = "it offers no arguments for the pass"
    """Why `variants` gives None: what the module lacks."""
    stages: tuple[Stage, ...] = tuple(RELAX)
    """Where modules meet the pass, in one pipeline or in several."""
    requires: Requires = lambda mod: None
    looks_for: Sought | None = None
    """A campaign makes modules that have it, and checks the pass mostly on them, elsewhere only
    sometimes: unlike `requires`, this takes no promise back. None: nearly every module has it."""
    relation: Relation = Relation.SAME
    post: Post = no_post
    normal_form: NormalForm | None = None
    """None: a second run may change the result, but neither raise nor break it."""
    reference: Reference | None = None
    lowers: bool = False
    """It is to leave nothing that neither the virtual machine's code generator nor a later pass of
    the pipeline can handle."""
    synchronizes: Callable[[PassCall], str] | None = None
    """The storage scope of the memory that it puts barriers for: nothing in its result races there,
    whatever did before. None: it is not for that."""
    synchronized: bool = False
    """It comes behind the barriers: what does not race before must not race after, even where there
    is no barrier at all."""
    inside: tuple[str, ...] = ()
    """The passes that it runs inside, as its source shows, as far as they need no arguments. A bug
    of one of them, which must show on the very same module, is reported as theirs."""
    steps: Callable[[PassCall], tuple[PassCall, ...]] | None = None
    """The passes that a pipeline runs one after the other. A bug of one of them, which must show on
    what the ones before it give, is reported as theirs. None: it is no pipeline."""
    share: float | None = None
    """Of the checks of a campaign; None: that of every pass, which depends on its cost."""
    shares: str = ""
    """Code of TVM that it shares with other passes, by the name that is blamed; a pass that does
    nothing else shows what that does."""
    ops_alike: bool = False
    """It treats all operators of the model alike: none is an ingredient of its bugs."""
    expressions: bool = False
    """It changes each stored value and each condition by itself: findings about values name the
    smallest part that it gets wrong."""
    exemptions: tuple[Exemption, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    universal_only: bool = False
    """Nobody has written a contract for the pass: only the universal oracles are asked."""
    cost: float = 1.0
    """Milliseconds of one bare application, roughly; dear passes get a smaller share."""

    def choose(self, choices: Choices, mod: tvm.IRModule) -> PassCall | None:
        """The pass with arguments that fit the module; None where it offers none."""
        if self.variants is None:
            return bare_call(self.name)
        return self.variants(choices, mod)

    def rejects(self, error: Exception, mod: tvm.IRModule) -> bool:
        """Whether the exception is a clean refusal of the module."""
        return any(each.covers(error, mod) for each in self.rejections)

    def promises_normal_form(self, mod: tvm.IRModule, call: PassCall) -> bool:
        """A second run must give the result of the first one."""
        form = self.normal_form
        return form is not None and (form.when is None or form.when(mod, call))

    def exemption(self, oracle: str, mod: tvm.IRModule, call: PassCall) -> Exemption | None:
        """Why what this oracle checks is not promised for the module and arguments."""
        for each in self.exemptions:
            if each.oracle == oracle and (each.when is None or each.when(mod, call)):
                return each
        return None
