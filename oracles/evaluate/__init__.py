"""NumPy evaluation of Relax functions at every stage: a module's meaning, without a compiler."""

from .evaluator import MAX_CALLS, MAX_DEPTH, Evaluator, evaluate

__all__ = ["MAX_CALLS", "MAX_DEPTH", "Evaluator", "evaluate"]
