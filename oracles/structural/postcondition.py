"""Post-condition: the result has the properties that the contract of the pass promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import tvm
import tvm_ffi

from ...compat.serialization import load_json, save_json
from ..contract import no_post
from ..identity import FailureKind
from ..inspect import is_public
from ..oracle import TWINS, Breach, Oracle
from ..pass_runs import PassRuns, attempt
from ..silence import inventory
from ..silence.log import abstain
from ..text import messages
from ..text.scripted import scripted
from ..violation import Case, Violation


def check(runs: PassRuns) -> Violation | None:
    """Apply the contract's post-condition; the first line of its text becomes the key."""
    if runs.contract.post is no_post:
        abstain(inventory.NO_PROMISE, "the contract has no post-condition")
        return None
    after = runs.result()
    if after is None:
        return None
    if _loses_function(runs.mod, after) and not runs.exempt("functions"):
        # A post-condition looks functions up by their names.
        abstain(inventory.EXPLAINED, "a function is lost, which 'functions' reports")
        return None
    wrong = runs.contract.post(runs.mod, after, runs.call)
    if wrong is None:
        return None
    title = wrong.partition("\n")[0]
    return Violation.titled(title, f"{wrong}\n\n{messages.listing(after)}")


def _loses_function(before: tvm.IRModule, after: tvm.IRModule) -> bool:
    left = {str(gvar.name_hint) for gvar in after.functions}
    public = (str(gvar.name_hint) for gvar, func in before.functions_items() if is_public(func))
    return not left.issuperset(public)


_BRIEF: Mapping[str, str] = {
    "an unused pure binding is left": """\
after = the_pass(mod)
for func in after.functions.values():
    if isinstance(func, relax.Function):
        used = relax.analysis.remove_all_unused(func)
        tvm.ir.assert_structural_equal(func, used, map_free_vars=True)
""",
    "a reshape to the same shape is left": """\
text = the_pass(mod).script()
assert "R.reshape(" not in text, text
""",
    "an allocated tensor or storage is never killed": """\
text = the_pass(mod).script()
for what in ("tensor", "storage"):
    made, killed = (text.count(f"memory.{verb}_{what}(") for verb in ("alloc", "kill"))
    assert made <= killed, text
""",
    "a transform_params function still returns a tuple of weights": """\
after = the_pass(mod)
for gvar, func in after.functions_items():
    if gvar.name_hint.endswith("transform_params"):
        assert not func.ret_ty.fields, func
""",
    "a type names a virtual device that the module does not have": """\
text = the_pass(mod).script()
assert ":-1:" not in text, text  # the index of a device that is none of the module's
""",
}
"""Short checks by title, valid for modules on which the pass has nothing else to keep or do."""


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """A check in terms of TVM, or a comparison with the wrong result that no correct pass gives."""
    if violation.title in _BRIEF:
        yield _BRIEF[violation.title]
    (call,) = case.calls
    after = attempt(call.run, load_json(save_json(case.mod))).mod
    if after is None:
        return
    if tvm_ffi.structural_equal(after, case.mod, map_free_vars=True):
        yield _DIFFERS.format(wrong="mod", what=violation.title)
        return
    wrong = scripted("Wrong", after)
    if wrong is not None:
        yield f"{wrong}\n\n{_DIFFERS.format(wrong='Wrong', what=violation.title)}"


_DIFFERS = """\
assert not tvm_ffi.structural_equal(the_pass(mod), {wrong}, map_free_vars=True), {what!r}
"""


ORACLE = Oracle(
    name="postcondition",
    breach=Breach(FailureKind.FORM, explains=TWINS),
    tier=1,
    promise="The result has what the pass's docstring says.",
    source="the docstring of the pass; its contract quotes it",
    check=check,
    brief=_brief,
)
