"""What all tests share."""

from __future__ import annotations

import inspect

from relaxfuzz.compat.script import outer_frames

# The modules in tests are TVMScript: collecting the tests took three times as long.
inspect.getouterframes = outer_frames
