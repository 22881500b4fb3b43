"""AttachGlobalSymbol: every function gets the symbol by which generated code finds it.

The promises and their sources:

- "Attach global_symbol to Relax functions and TIR Primfuncs for codegen": the docstring. No
  code is generated for an external function, which has a symbol of its own already.
- The symbol is the name of the GlobalVar: rule 3 of `relax.analysis.well_formed`. Relax' virtual
  machine looks a PrimFunc up by its GlobalVar, and the library has it by its symbol.
- With the module attribute `system_lib_prefix`, names of C linkage begin with the prefix, so that
  two such libraries can be linked together: tvm/ir/module.h, kSystemLibPrefix. PrimFuncs that were
  public before are among them (test_multi_systemlib in tests/python/relax/test_vm_build.py). Relax
  functions, those that an external compiler will get too, are found in the executable by their own
  names and keep them.
- A symbol is unique: tvm/ir/function.h, kGlobalSymbol.
"""

from __future__ import annotations

import itertools

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar

from relaxfuzz.generators.rewrite.nodes import global_var, substitute, with_functions
from relaxfuzz.oracles.inspect import attr, nodes


def attach_global_symbol(*, leaves_global_vars: bool = False) -> tvm.transform.Pass:
    """The right behaviour of `relax.transform.AttachGlobalSymbol`.

    Args:
        leaves_global_vars: the fault that TVM had until apache/tvm#17202: with a prefix, a PrimFunc
            gets another symbol, and its GlobalVar and all calls keep the old name.
    """

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        symbols = _symbols(mod)
        renamed = {
            gvar: global_var(symbol, gvar.ty)
            for gvar, symbol in symbols.items()
            if symbol != gvar.name_hint and not leaves_global_vars
        }
        functions = {}
        for gvar, func in mod.functions_items():
            if gvar in symbols and symbols[gvar] != attr(func, "global_symbol"):
                func = func.with_attr("global_symbol", symbols[gvar])
            if renamed:
                func = _with_names(func, renamed)
            functions[renamed.get(gvar, gvar)] = func
        return with_functions(mod, functions)

    return tvm.transform.module_pass(transform, opt_level=0, name="AttachGlobalSymbol")


def _symbols(mod: tvm.IRModule) -> dict[GlobalVar, str]:
    """The symbol of each function of the module that gets one."""
    prefix = str(attr(mod, "system_lib_prefix") or "")
    symbols = {
        gvar: f"{prefix}{gvar.name_hint}" if isinstance(func, tirx.PrimFunc) else gvar.name_hint
        for gvar, func in mod.functions_items()
        if isinstance(func, relax.Function | tirx.PrimFunc)
    }
    # A kept name stays; a name that the prefix makes gets a number if it is taken.
    taken = {
        gvar.name_hint for gvar in mod.functions if symbols.get(gvar) in (None, gvar.name_hint)
    }
    for gvar, symbol in symbols.items():
        if symbol != gvar.name_hint:
            numbered = (f"{symbol}_{number}" for number in itertools.count(1))
            symbols[gvar] = next(s for s in itertools.chain([symbol], numbered) if s not in taken)
            taken.add(symbols[gvar])
    return symbols


def _with_names(func: tvm.ir.BaseFunc, renamed: dict[GlobalVar, GlobalVar]) -> tvm.ir.BaseFunc:
    func = substitute(func, renamed)
    # A function's attributes are not part of its structure.
    for key, value in func.attrs.items() if func.attrs and nodes(func.attrs, GlobalVar) else ():
        func = func.with_attr(key, substitute(value, renamed))
    return func
