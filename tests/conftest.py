"""What all tests share."""

from __future__ import annotations

import inspect

from hypothesis import Phase, settings

from relaxfuzz.compat.script import outer_frames

# The modules in tests are TVMScript: collecting the tests took three times as long.
inspect.getouterframes = outer_frames

# What explains a failure traces every line, and makes hundreds of examples after a search.
settings.register_profile("tests", settings(), phases=set(Phase) - {Phase.explain})
settings.load_profile("tests")
