"""Every rule of silence. An oracle abstains only by one of these.

The price of each excuse (true reports lost against false reports avoided) is measured by
`make bench-silence` and listed in docs/silence.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Mismatch, TooLarge, Undefined, Unpromised
from .rule import SilenceKind, SilenceRule

# Nothing to compare

UNCHANGED = SilenceRule(
    "unchanged",
    SilenceKind.NOTHING,
    "the pass leaves the module as it is",
    "a result that is the module itself keeps every promise about results",
)
INAPPLICABLE = SilenceRule(
    "inapplicable",
    SilenceKind.NOTHING,
    "the pass does not apply to its own result, or to a twin of the module, or there is no twin",
    "the field `requires` of its contract, which quotes the documentation; a twin would be the "
    "module itself",
)
NO_PROMISE = SilenceRule(
    "no-promise",
    SilenceKind.NOTHING,
    "the contract promises nothing that the oracle could check",
    "the contract of the pass: it has no post-condition or no reference, lowers no operators, or "
    "makes no gradients",
)
NO_ANSWER = SilenceRule(
    "no-answer",
    SilenceKind.NOTHING,
    "the reference pass has no answer for the module",
    "no document defines which result is right; the reference names the reason",
)
ANOTHER_SUBJECT = SilenceRule(
    "another-subject",
    SilenceKind.NOTHING,
    "the oracle is asked of single passes, and this is a list of passes or a pipeline",
    "each step of a pipeline is checked by itself",
)
NO_EFFECTS = SilenceRule(
    "no-effects",
    SilenceKind.NOTHING,
    "all functions are pure on both sides",
    "docstring of relax.Function: is_pure, 'Whether the function is pure'",
)
NO_PRIM_FUNC = SilenceRule(
    "no-prim-func",
    SilenceKind.NOTHING,
    "the result has no new PrimFunc, or none for the kind of device",
    "the oracle looks at the PrimFuncs that the pass has made",
)
NOT_CALLED = SilenceRule(
    "not-called",
    SilenceKind.NOTHING,
    "no public function computes something that the pass has changed, or it is not known how to "
    "call it",
    "only public functions are called from outside",
)
NOT_EXECUTED = SilenceRule(
    "not-executed",
    SilenceKind.NOTHING,
    "no function is one that a build for the CPU runs and that the evaluator knows",
    "the records of the operators (`executes`), and threads of a device in a PrimFunc",
)
NOT_AVAILABLE = SilenceRule(
    "not-available",
    SilenceKind.NOTHING,
    "the installed TVM, or this machine, lacks what the oracle needs",
    "found by trying; `relaxfuzz doctor` lists it",
)
NO_SCRIPT = SilenceRule(
    "no-script",
    SilenceKind.NOTHING,
    "the module before the pass has no TVMScript form either",
    "the parser refuses it, whatever the pass does",
)

NO_ARGUMENTS = SilenceRule(
    "no-arguments",
    SilenceKind.NOTHING,
    "no kind of arguments is defined: the module has a result for none of those that were drawn",
    "`undefined` and `accepts` in the records of the operators; the reason names the parameter",
)
DIED = SilenceRule(
    "died",
    SilenceKind.NOTHING,
    "the process of the check died",
    "the death is a report of its own, and is confirmed in a fresh process",
)
MISMATCH = SilenceRule(
    "mismatch",
    SilenceKind.NOTHING,
    "the module refuses the arguments",
    "docstring of relax.MatchCast: 'insert equality assertions'",
)

# Excuses

EXEMPTION = SilenceRule(
    "exemption",
    SilenceKind.EXCUSE,
    "the contract of the pass does not make the promise",
    "an `Exemption` of the contract, with the document that says so",
)
NO_NORMAL_FORM = SilenceRule(
    "no-normal-form",
    SilenceKind.EXCUSE,
    "a second run of a pass of TVM changes the result, and nobody promises a normal form",
    "the contract has no `normal_form`: neither documentation nor the nature of the pass promises "
    "one",
)
REJECTION = SilenceRule(
    "rejection",
    SilenceKind.EXCUSE,
    "the pass raises, and refuses the module cleanly",
    "a `Rejection` of the contract, with the message that names what is not supported; for a pass "
    "without one, such a message",
)
EXPLAINED = SilenceRule(
    "explained",
    SilenceKind.EXCUSE,
    "another oracle has found something that explains what this one would report",
    "the field `explains` of that oracle",
)
UNDEFINED = SilenceRule(
    "undefined",
    SilenceKind.EXCUSE,
    "the module itself has no defined result for the arguments",
    "`undefined` in the records of the operators, each with its source; for PrimFuncs LLVM's "
    "LangRef",
)
OPEN = SilenceRule(
    "open",
    SilenceKind.EXCUSE,
    "the record of an operator promises no result for the operands; if only for their kind of "
    "numbers, the pass has replaced the operator",
    "`undefined` and `dtypes` in the records of the operators",
)
NOT_FINITE = SilenceRule(
    "not-finite",
    SilenceKind.EXCUSE,
    "NaN or infinity comes up, and an operator on the way does not define what it makes of it",
    "`nonfinite` in the records of the operators",
)
MISUSED = SilenceRule(
    "misused",
    SilenceKind.EXCUSE,
    "a tensor that the module updates in place is aliased, or live after the update",
    "docstring of relax.op.call_tir_inplace: no such argument may be 'aliased' or 'live after "
    "calling call_tir_inplace'",
)
OVERFLOW = SilenceRule(
    "overflow",
    SilenceKind.EXCUSE,
    "signed integers of the module, or only those of the result, overflow",
    "src/sym/rewrite_simplify.cc: 'signed-overflow-is-UB lets those rules assume no wraparound'",
)
ARBITRARY = SilenceRule(
    "arbitrary",
    SilenceKind.EXCUSE,
    "the result of the module depends on memory that nobody has written to",
    "LangRef of LLVM, alloca: 'loading from uninitialized memory produces an undefined value'",
)
ROUNDING = SilenceRule(
    "rounding",
    SilenceKind.EXCUSE,
    "rounding of the operands or of results on the way moves the value as far",
    "docs/arch/index.rst: a pass gives a 'functionally equivalent or approximately equivalent' "
    "module",
)
LESS_PRECISE = SilenceRule(
    "less-precise",
    SilenceKind.EXCUSE,
    "special values and extremes, where the pass computes in less precision",
    "relation `loose` of the contract: ToMixedPrecision, FastMathTransform",
)
REFUTED = SilenceRule(
    "refuted",
    SilenceKind.EXCUSE,
    "the VM computes something else than the evaluator on one of the sides",
    "then the evaluator or code generation is wrong: executed-by-pipeline asks that",
)
UNCONFIRMED_VALUE = SilenceRule(
    "unconfirmed-value",
    SilenceKind.EXCUSE,
    "the VM has no vote, and rounding may explain the difference or other arguments show none",
    "one draw near the tolerance is no evidence",
)
LATER_PASS = SilenceRule(
    "later-pass",
    SilenceKind.EXCUSE,
    "a later pass of the pipeline breaks its own contract on the result, or fails to lower it",
    "that pass is checked by itself",
)
BUILD_REFUSAL = SilenceRule(
    "build-refusal",
    SilenceKind.EXCUSE,
    "a build refuses the module with a message that names what is missing",
    "src/relax/backend/vm/codegen_vm.cc: 'CodeGenVM cannot emit this Relax operator directly'",
)
NONFINITE_DIFFERENCE = SilenceRule(
    "nonfinite-difference",
    SilenceKind.EXCUSE,
    "a build gives another value for NaN or infinity, and no operator alone does, given operands "
    "that are not known when it is compiled",
    "src/sym/rewrite_simplify.cc: 'do not preserve NaN/Inf that may occur in the inputs'",
)
LEFT_UNWRITTEN = SilenceRule(
    "left-unwritten",
    SilenceKind.EXCUSE,
    "legalized code leaves an output unwritten, so that the value of a build is an accident",
    "the sanitizer reports the output that is left unwritten",
)
OVERSTATED = SilenceRule(
    "overstated",
    SilenceKind.EXCUSE,
    "the declared type of a result said more than the body proves",
    "a pass that builds the call again gets the type that its operator infers: "
    "relax.BlockBuilder.normalize",
)
UNSCRIPTABLE = SilenceRule(
    "unscriptable",
    SilenceKind.EXCUSE,
    "the parser refuses the script of the result for what was in the module before",
    "the pass is not to blame for what it was given",
)
UNSTABLE = SilenceRule(
    "unstable",
    SilenceKind.EXCUSE,
    "a mere copy of the module gives another result, too",
    "the oracle `json` reports that",
)

KNOWN = SilenceRule(
    "known",
    SilenceKind.EXCUSE,
    "a finding has the identity of a known bug",
    "docs/known.md; the bug is counted and named instead",
)

# Not looked at

UNKNOWN = SilenceRule(
    "unknown",
    SilenceKind.BUDGET,
    "the evaluator does not know an operator or a node of the module",
    "the evaluator never guesses",
)
SAMPLED = SilenceRule(
    "sampled",
    SilenceKind.BUDGET,
    "a campaign asks the dearer oracles, and most kinds of arguments, in a sample of its checks; "
    "so it runs a pass that promises no normal form a second time",
    "`ms` and `worth` in `fuzz/campaign/costs.py`; `relaxfuzz check` samples nothing",
)
NOT_REPEATED = SilenceRule(
    "not-repeated",
    SilenceKind.BUDGET,
    "a report does not fail again in a fresh process",
    "the summary counts such reports: nobody could reproduce them",
)
TOO_LARGE = SilenceRule(
    "too-large",
    SilenceKind.BUDGET,
    "the values, or the accesses to memory, take too long to compute",
    "the budget of a check; smaller pieces of the module are compared instead",
)
NO_TIME = SilenceRule(
    "no-time",
    SilenceKind.BUDGET,
    "the time was used up before, or the build or the VM takes too long",
    "`--budget` of `relaxfuzz check`, which lists these checks at its end; a module whose values "
    "take seconds is compared on the first kinds of arguments",
)

_ALL = [value for value in list(globals().values()) if isinstance(value, SilenceRule)]

RULES: Mapping[str, SilenceRule] = {rule.name: rule for rule in _ALL}
"""All rules by name, in the order above."""

assert len(RULES) == len(_ALL), "two rules of silence bear the same name"

COUNTED = tuple(rule.name for rule in _ALL if rule.kind is not SilenceKind.NOTHING)
"""Names of the rules that campaigns count."""

EXCUSES = tuple(rule.name for rule in _ALL if rule.kind is SilenceKind.EXCUSE)
"""Names of the rules that `--loud` can lift."""


def of_error(error: Exception) -> SilenceRule:
    """The rule for a call that the evaluator gives no result for.

    Args:
        error: `Unsupported`, `TooLarge`, `Mismatch` or `Undefined`.
    """
    if isinstance(error, TooLarge):
        return TOO_LARGE
    if isinstance(error, Unpromised):
        return OPEN
    if isinstance(error, Undefined):
        return UNDEFINED
    return MISMATCH if isinstance(error, Mismatch) else UNKNOWN
