"""Profiles of Hypothesis for tests that draw modules: `--hypothesis-profile=relaxfuzz-pr`.

Hypothesis calls `register` whenever it is imported (entry point `hypothesis`). Its pytest plugin, a
conftest.py and programs without pytest therefore have the profiles.
"""

from __future__ import annotations

NIGHTLY_EXAMPLES = 2000
"""Examples for each test; about 30 seconds for a cheap pass."""


def register() -> None:
    """Make the profiles known to Hypothesis, without loading one."""
    from hypothesis import HealthCheck, Phase, settings

    # The explain phase would check hundreds of variants, which explain nothing about a compiler.
    # Modules of late stages take a while to draw, and a check has its own limits.
    plain = settings(
        settings.get_profile("default"),
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    # The same examples each time: a pull request fails for its changes, not by bad luck.
    settings.register_profile("relaxfuzz-pr", plain, derandomize=True, database=None)
    settings.register_profile("relaxfuzz-nightly", plain, max_examples=NIGHTLY_EXAMPLES)
