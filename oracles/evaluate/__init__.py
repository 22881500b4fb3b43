"""NumPy evaluation of Relax functions at every stage: the meaning of a module, no compiler used."""

from .evaluator import MAX_CALLS, MAX_DEPTH, Evaluator, evaluate

__all__ = ["MAX_CALLS", "MAX_DEPTH", "Evaluator", "evaluate"]
