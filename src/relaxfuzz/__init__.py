"""Pass-level fuzzing and differential testing for Apache TVM's Relax IR and TensorIR.

- `ir_modules()`: a Hypothesis strategy for IRModules.
- `prim_funcs()`: the same for IRModules of PrimFuncs alone.
- `arguments(mod, name)`: a Hypothesis strategy for the arguments of a function.
- `check_pass(pass_, mod)`: a check that the pass keeps its promises on this module.
- `Checker()`: a pass instrument for your own builds that finds the first pass to break the module.
- `PassContract`: the promises of a pass, if it does not make all of them.
- `minimize(mod, interesting)`: the smallest module that is still interesting.
- `evaluate(mod, name, args)`: the result of a function of a module, computed in NumPy.
- `sanitize(func, args, outputs=...)`: the first access or operation of a PrimFunc that is wrong.

Importing this package does not import TVM; using any of these names does. `__version__` is the
version of relaxfuzz.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .fuzz.checker.checker import Checker
    from .fuzz.minimize.search import minimize
    from .fuzz.property_tests.arguments import arguments
    from .fuzz.property_tests.check_pass import PassViolation, check_pass
    from .generators.modules import ir_modules
    from .generators.prim_funcs import prim_funcs
    from .oracles.contract import PassContract
    from .oracles.evaluate import evaluate
    from .oracles.tensorir import sanitize

_HOMES = {
    "Checker": "fuzz.checker.checker",
    "PassContract": "oracles.contract",
    "PassViolation": "fuzz.property_tests.check_pass",
    "arguments": "fuzz.property_tests.arguments",
    "check_pass": "fuzz.property_tests.check_pass",
    "evaluate": "oracles.evaluate",
    "ir_modules": "generators.modules",
    "minimize": "fuzz.minimize.search",
    "prim_funcs": "generators.prim_funcs",
    "sanitize": "oracles.tensorir",
}

__all__ = [
    "Checker",
    "PassContract",
    "PassViolation",
    "arguments",
    "check_pass",
    "evaluate",
    "ir_modules",
    "minimize",
    "prim_funcs",
    "sanitize",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("relaxfuzz")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .compat.drift import cannot_work
    from .compat.release import TVMUnsupported, require_tvm

    require_tvm()
    try:
        home = importlib.import_module(f".{_HOMES[name]}", __name__)
    except Exception as error:
        if (lacking := cannot_work(error)) is None:
            raise
        raise TVMUnsupported(lacking) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
