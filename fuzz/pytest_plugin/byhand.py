"""What the fixture `relaxfuzz` does, and the options that its marker takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm

from ..findings.store import Store
from ..property_tests.check_pass import called, check_pass
from ..user_input.mistake import Mistake, near, parse_budget
from ..user_input.options import EXEMPT_INSTEAD, Relaxations
from ..user_input.settings import read
from ..user_input.targets import check_names, oracles_of, targets
from ..user_input.unnamed_pass import Held
from .byhand_campaign import Campaign
from .options import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """What a marker says, and nothing of what it does not say."""

    oracles: tuple[str, ...] | None
    relaxations: Mapping[str, Any]
    """By name of a field of `Relaxations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker(Relaxations):
    oracles: tuple[str, ...] | None = None


def options(given: Mapping[str, Any]) -> Options:
    """The options of a marker.

    Raises:
        Mistake: an option that there is not, a value of another kind, a name of nothing.
    """
    names = [field.name for field in dataclasses.fields(_Marker)]
    for name in given:
        if (instead := EXEMPT_INSTEAD.get(name.replace("_", "-"))) is not None:
            raise Mistake(f"{name} is now exempt=[{instead!r}]")
        if name not in names:
            raise Mistake(f"no option {name!r}{near(name, names)}")
    table = {
        name.replace("_", "-"): list(value) if isinstance(value, tuple | set) else value
        for name, value in given.items()
    }
    said = read(table, _Marker, "options")
    oracles_of(said.oracles)
    check_names(said)
    relaxations = {name: getattr(said, name) for name in given if name != "oracles"}
    return Options(said.oracles, relaxations)


def check(
    pass_: tvm.transform.Pass | str,
    mod: tvm.IRModule,
    options: Options | None,
    promises: Relaxations | None,
) -> None:
    """See `RelaxFuzz.check`."""
    __tracebackhide__ = True
    call = called(pass_)
    relaxations = _relaxations(options, promises)
    if relaxations != Relaxations():
        if call.factory is None and not isinstance(call, Held):
            raise Mistake(
                f"{pass_!r} is a pass of TVM, whose contract is in the catalogue: no option but "
                "oracles can be given for it"
            )
        call = dataclasses.replace(call, like=relaxations.like)
    oracles = None if options is None else options.oracles
    check_pass(call, mod, oracles=oracles, exempt=relaxations.exempt)


def fuzz(
    pass_: str,
    settings: Settings,
    options: Options | None,
    promises: Relaxations | None,
    *,
    budget: str | None,
    modules: int | None,
    seed: int,
) -> None:
    """See `RelaxFuzz.fuzz`."""
    __tracebackhide__ = True
    if not isinstance(pass_, str):
        raise Mistake(
            f"expected the name of a pass, as 'package.module:Name', but got {pass_!r}: it goes to "
            "another process"
        )
    if budget is None and modules is None:
        raise Mistake("expected a budget: relaxfuzz.fuzz(..., budget='10s') or modules=200")
    if modules is not None and modules < 1:
        raise Mistake(f"expected at least one module but got modules={modules!r}")
    seconds = None if budget is None else parse_budget(budget, "budget =")
    relaxations = _relaxations(options, promises)
    own = {} if relaxations == Relaxations() else {pass_: relaxations}
    (target,) = targets([pass_], Relaxations(), own)
    with Store(settings.out) as store:
        done = Campaign(store, target, settings, seed).run(
            None if options is None else options.oracles, seconds, modules
        )
    if done is not None:
        raise done


def _relaxations(options: Options | None, promises: Relaxations | None) -> Relaxations:
    """A marker wins over pyproject.toml."""
    general = promises or Relaxations()
    return general if options is None else dataclasses.replace(general, **options.relaxations)
