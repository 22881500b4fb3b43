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
"""Chooses arguments that fit the module; None if it offers none, e.g. no parameter to bind."""

Requires = Callable[[tvm.IRModule], str | None]
"""The reason why the pass does not apply to this module, or None."""

Post = Callable[[tvm.IRModule, tvm.IRModule, PassCall], str | None]
"""`post(before, after, call)`: the error in the result, or None.

The first line is part of the finding's key: it holds op and node kinds, never names or numbers.
Lines below it are details."""

ReferencePass = Callable[[PassCall], tvm.transform.Pass | None]
"""Makes the correct pass, written a second time, for these arguments; None if unsupported. Both
results are equal but for names of private functions; see `oracles/reference`."""


NO_CONTRACT = "no contract"
"""The mark of a TVM pass without a written contract."""


class Relation(enum.StrEnum):
    """Relation of the result to the module before: the way it is called and compared."""

    SAME = "same"  # every public function: same signature, same values
    NEW_SIGNATURE = "new signature"  # parameters change on purpose; the post-condition checks how
    LIFTED_PARAMS = "lifted params"  # main(x, *transform(w)) == main(x, *w)
    BUNDLED_PARAMS = "bundled params"  # main(x, (w1, w2)) == main(x, w1, w2)
    BOUND_PARAMS = "bound params"  # main(x) == main(x, w) with w bound
    BOUND_SIZES = "bound sizes"  # main(x) == main(x) for an x of the sizes that are bound
    LAZY_INPUT = "lazy input"  # main(x, get) == main(x, *w), where get(i, name) is w[i]
    LAZY_OUTPUT = "lazy output"  # main(x, set) sets what main(x) gives
    LAZY_PARAMS = "lazy params"  # transform() gets weights by get_item and gives them to set_item
    WORKSPACE = "workspace"  # external functions take an additional workspace
    LOOSE = "loose"  # same signature, values to a loose tolerance (mixed precision, fast math)
    ADJOINT = "adjoint"  # adds <fn>_adjoint, keeps the rest
    LOWERED = "lowered"  # the calling convention inside is lowered; called as before


def no_post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> None:
    """The post-condition of a pass that promises nothing beyond the promises of every pass."""


PARTIAL: Mapping[str, str] = {
    "chance": "each run may give another result",
    "values": "the result may compute other values",
    "allocations": "a buffer that parallel iterations share may become one of each of them later",
}
"""Promises other than oracles that an exemption may name."""


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
    """Documentation of the limit: a docstring, a documentation page, a message that names it."""
    when: Callable[[tvm.IRModule, PassCall], bool] | None = None
    """Only for these modules and arguments; None: always."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A clean refusal: the message names what is not supported, and the pass may give it."""

    pattern: str
    """Regular expression searched in the exception's text."""
    source: str
    function: str = ""
    """Regular expression that a function running when the exception is raised must match."""
    when: Callable[[Exception, tvm.IRModule], bool] | None = None
    """Only for these exceptions and modules; None: always."""
    outside: bool = False
    """Passes that run this one inside may refuse in the same way."""

    def covers(self, error: Exception, mod: tvm.IRModule) -> bool:
        """True if the exception is this refusal."""
        return (
            bool(re.search(self.pattern, messages.text_of(error)))
            and (
                not self.function
                or any(re.search(self.function, frame.name) for frame in frames_of(error))
            )
            and (self.when is None or self.when(error, mod))
        )


@dataclass(frozen=True, slots=True)
class Sought:
    """A feature that a pass works on and that most modules lack."""

    has: Callable[[tvm.IRModule], bool]
    """Fast test for the feature; it may accept modules in which the pass changes nothing."""
    ops: tuple[str, ...] = ()
    """Operators in such modules, named as in the table of operators."""
    chains: tuple[tuple[str, ...], ...] = ()
    """Chains of these operators, each applied to the result of the previous one."""
    traits: tuple[Trait, ...] = ()
    """The traits of modules with the feature."""
    dtypes: tuple[str, ...] = ()
    """Dtypes of buffers in modules with the feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassContract:
    """The promises of a pass. The defaults are the strict contract of an unknown pass."""

    name: str
    variants: Variants | None = None
    """Chooses the arguments; None: the pass is called without any."""
    no_variants: str = "it offers no arguments for the pass"
    """The reason why `variants` gives None: the thing that the module lacks."""
    stages: tuple[Stage, ...] = tuple(RELAX)
    """The stages at which the pass runs, in one pipeline or in several."""
    requires: Requires = lambda mod: None
    looks_for: Sought | None = None
    """The feature that the pass works on; None: nearly every module has it. A campaign makes
    modules with the feature and mostly checks the pass on those. Unlike `requires`, this takes no
    promise back."""
    relation: Relation = Relation.SAME
    post: Post = no_post
    normal_form: NormalForm | None = None
    """The promise of a normal form; None: a second run may change the result, but must neither
    raise nor break it."""
    reference: ReferencePass | None = None
    lowers: bool = False
    """The pass must leave only operators that the virtual machine's code generator or a later pass
    of the pipeline can handle."""
    synchronizes: Callable[[PassCall], str] | None = None
    """The storage scope of the memory that the pass inserts barriers for. Nothing in its result
    races there, even if the input did. None: the pass inserts no barriers."""
    inside: tuple[str, ...] = ()
    """The passes that it runs inside and that need no arguments, according to its source. A bug of
    one of them is reported as theirs if it shows on the very same module."""
    steps: Callable[[PassCall], tuple[PassCall, ...]] | None = None
    """The passes that a pipeline runs one after the other. A bug of one of them is reported as
    theirs if it shows on the result of the ones before it. None: the pass is not a pipeline."""
    shares: str = ""
    """The name to blame for bugs in TVM code that several passes share. A pass that does nothing
    else shows that code's behaviour."""
    ops_by: str = ""
    """The attribute of operators in TVM's registry that the pass reads before it runs code of the
    operator. If the pass raises, operators with the same value are interchangeable."""
    ops_alike: bool = False
    """The pass treats all model operators, or all arithmetic of TensorIR, alike, so none is an
    ingredient of its bugs."""
    exemptions: tuple[Exemption, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    universal_only: bool = False
    """True if the pass has no written contract: only the universal oracles apply."""

    def choose(self, choices: Choices, mod: tvm.IRModule) -> PassCall | None:
        """The pass with arguments that fit the module; None if it offers none."""
        if self.variants is None:
            return bare_call(self.name)
        return self.variants(choices, mod)

    def rejects(self, error: Exception, mod: tvm.IRModule) -> bool:
        """True if the exception is a clean refusal of the module."""
        return any(each.covers(error, mod) for each in self.rejections)

    def promises_normal_form(self, mod: tvm.IRModule, call: PassCall) -> bool:
        """True if a second run must give the result of the first one."""
        form = self.normal_form
        return form is not None and (form.when is None or form.when(mod, call))

    def exemption(self, oracle: str, mod: tvm.IRModule, call: PassCall) -> Exemption | None:
        """The exemption from this oracle for the module and arguments, or None."""
        for each in self.exemptions:
            if each.oracle == oracle and (each.when is None or each.when(mod, call)):
                return each
        return None
