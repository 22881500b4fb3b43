"""Acme's accelerator as a backend of TVM: `offload()` moves to it what it can do."""

from . import codegen, patterns
from .transform import flatten_batches, offload

__all__ = ["codegen", "flatten_batches", "offload", "patterns"]
