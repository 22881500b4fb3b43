"""Profiles of Hypothesis for tests that draw modules: `--hypothesis-profile=relaxfuzz-pr`.

Hypothesis calls `register` whenever it is imported (entry point `hypothesis`), so that its pytest
plugin, a conftest.py and programs without pytest have the profiles.
"""

from __future__ import annotations

NIGHTLY_EXAMPLES = 2000
"""Of each test; about 30 seconds for a cheap pass."""


def register() -> None:
    """Make the profiles known to Hypothesis; none is loaded."""
    from hypothesis import HealthCheck, Phase, settings

    # The explain phase would check hundreds of variants, which explains nothing of a compiler.
    # Modules of late stages take a while to draw, and a check has limits of its own.
    plain = settings(
        settings.get_profile("default"),
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    # The same examples each time: a pull request fails for what it changes, not by bad luck.
    settings.register_profile("relaxfuzz-pr", plain, derandomize=True, database=None)
    settings.register_profile("relaxfuzz-nightly", plain, max_examples=NIGHTLY_EXAMPLES)
