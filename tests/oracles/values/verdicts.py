"""The verdict on a module that an importer has made, built for that alone."""

from __future__ import annotations

import tvm

from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.values.frameworks import (
    FrameworkReference,
    ImporterVerdict,
    built,
    example,
    judge,
)


def verdict_of(
    mod: tvm.IRModule, reference: FrameworkReference, pipeline: str = pipelines.BUILT
) -> ImporterVerdict:
    """Evaluate and build the module, and compare both with the reference."""
    made = example(mod, reference)
    return judge(mod, reference, made, built(mod, made, pipeline=pipeline), pipeline=pipeline)
