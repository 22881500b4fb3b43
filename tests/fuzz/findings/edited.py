"""A measurement: are bugs recognized in modules that differ from those of their records?

    python -m tests.fuzz.findings.edited [--records 90] [--seed 1] [--out FILE.jsonl]

Modules of records are edited at random, as campaigns edit real ones. A variant that still shows the
bug, as far as oracle and blamed tell, is minimized, and its identity is compared with all records.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax import VarBinding

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.corpus.knowns import Known, fields_of, knowns
from relaxfuzz.fuzz.findings.confirm import DEATHS, take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.minimize.findings import minimized
from relaxfuzz.fuzz.process.executor import Executor, JobFailed, check, collect
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.reproducers import RunReproducer, Shown
from relaxfuzz.generators.bindings.pieces.edits import changed, is_deadly, is_tabulated
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops.variation import DTYPES
from relaxfuzz.generators.rewrite.change import Change, Inline
from relaxfuzz.generators.rewrite.nodes import substitute, untyped, with_functions
from relaxfuzz.generators.rewrite.scopes import Site, sites_of
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.seeds import Edit, Piece
from relaxfuzz.generators.seeds.sizes import changeable, resized
from relaxfuzz.generators.traits import Trait
from relaxfuzz.generators.values import value_of
from relaxfuzz.oracles.identify import LEGALIZERS
from relaxfuzz.oracles.identity import Sameness
from relaxfuzz.oracles.structural.checkers import input_flaw
from relaxfuzz.oracles.violation import Violation

TRIES, KEPT, SECONDS = 10, 2, 15.0
"""Edits of one module that are tried, those that are enough, and the time to minimize it."""

Made = tuple[tvm.IRModule | None, str] | None
"""The edited module, and the edit in words; None where it does not apply."""


def _site(c: random.Random, mod: tvm.IRModule, kind: Any) -> tuple[str, Site, list[Any]]:
    """A binding of a value of this kind, with the name of its function and what it may use."""
    functions = [(g, f) for g, f in mod.functions_items() if isinstance(f, relax.Function)]
    sites = [(str(g.name_hint), s) for g, f in functions for s in sites_of(f)]
    bindings = [(n, s) for n, s in sites if isinstance(s.binding, VarBinding)]
    name, site = c.choice([(n, s) for n, s in bindings if isinstance(s.binding.value, kind)])
    return name, site, [*site.params(), *(each.var for each in site.before())]


def _call(c: random.Random, mod: tvm.IRModule, edit: Edit) -> Made:
    """One call changed as campaigns do: operator, operands, or anything else about it."""
    name, site, visible = _site(c, mod, relax.Call)
    if not is_tabulated(site.binding.value) or is_deadly(site.binding.value):
        return None
    module = ModuleScope(frozenset(Trait), edits=(edit,))
    scope = Scope(module, (2, 3, tirx.Var("n", "int64")), ("float32",))
    scope.values = [value for var in visible if (value := value_of(var)) is not None]
    data = [255, *c.randbytes(3), *(255, c.randrange(256)) * 2, *c.randbytes(4)]
    call, edits = changed(Choices(bytes(data)), scope, site.binding.value)
    change = Change(values={site.key: call}, params={name: scope.params}, functions={name})
    return (change.apply(mod), "; ".join(edits)) if edits else None


NEIGHBOURS: dict[str, Callable[[Any], Any]] = {
    "negative": relax.op.negative,
    "add": lambda x: relax.op.add(x, x),
    "permute_dims": relax.op.permute_dims,
    "concat": lambda x: relax.op.concat([x, x], axis=0),
    "softmax": lambda x: relax.op.nn.softmax(x, axis=-1),
    "astype": lambda x: relax.op.astype(x, "float16"),
}


def _neighbour(c: random.Random, mod: tvm.IRModule, where: str) -> Made:
    """An operator before an operand, behind a result, or beside a binding."""
    name, site, visible = _site(c, mod, object)
    own, kind = relax.DataflowVar if site.dataflow else relax.Var, type(site.var)
    operator, value, bindings = c.choice(list(NEIGHBOURS)), site.binding.value, []

    def bound(kind: Any, name: str, value: Any) -> Any:
        value = relax.BlockBuilder().normalize(value)
        bindings.append(VarBinding(kind(name, value.ty), value))
        return bindings[-1].var

    if where == "behind":
        value = NEIGHBOURS[operator](bound(own, "before", value))
    else:
        operand = c.choice([var for var in visible if hash(var) in site.operands])
        new = bound(own, "other", NEIGHBOURS[operator](operand))
        value = untyped(substitute(value, {operand: new})) if where == "before" else value
    result = bound(kind, site.var.name, value)
    block = relax.DataflowBlock(bindings) if site.dataflow else relax.BindingBlock(bindings)
    seq = relax.BlockBuilder().normalize(relax.SeqExpr([block], result))
    change = Change(inlined={site.key: Inline(seq)}, functions={name})
    return change.apply(mod), f"{operator} {where} {site.var.name}"


def _size(c: random.Random, mod: tvm.IRModule) -> Made:
    """A size wherever it occurs."""
    piece = Piece("", save_json(mod))
    new = c.choice((None, None, 1, 0, 2, 3, 5, 16, *(size + 1 for size in changeable(piece))))
    found = resized(piece, c.randrange(256), new)
    return None if found is None else (found[0].load(), found[1])


def _function(c: random.Random, mod: tvm.IRModule) -> Made:
    """A function of the module again, under another name."""
    gvar, func = c.choice(list(mod.functions_items()))
    name = f"{gvar.name_hint}_again"
    if func.attrs is not None and "global_symbol" in func.attrs:
        func = func.with_attr("global_symbol", name)
    new = relax.GlobalVar(name)
    relax.expr._update_type(new, func.ty)
    return with_functions(mod, {**dict(mod.functions_items()), new: func}), f"function {name}"


def _text(c: random.Random, mod: tvm.IRModule) -> Made:
    """The script with another dtype, number or name, or another operator of TensorIR."""
    script = mod.script()
    ways = [(rf"\b{old}\b", c.choice(DTYPES)) for old in DTYPES if old in script for _ in range(3)]
    sizes = sorted({n for n in re.findall(r"\b\d+\b", script) if int(n) > 1})
    ways += [(rf"\b{old}\b(?!\.)", str(c.randrange(2, 40))) for old in sizes]
    names = sorted(set(re.findall(r"\b([A-Za-z]\w*): [RT]\.", script)))
    ways += [(rf"\b{name}\b", f"renamed_{name}") for name in names[:2]]
    if "T.prim_func" in script:
        ways += [(r"\] \+ ", "] * "), (r"\] \* ", "] + "), (r"T\.exp\(", "T.tanh(")]
    old, new = c.choice(ways)
    text = re.sub(old, new, script)
    return None if text == script else (tvm.script.from_source(text), f"{old} -> {new}")


EDITS: Sequence[tuple[Callable[..., Made], Any]] = (
    *((_call, edit) for edit in (Edit.OPERATOR, Edit.OPERATOR, Edit.OPERANDS)),
    *[(_call, Edit.VARIATION)] * 4,
    *((_neighbour, where) for where in ("before", "before", "behind", "behind", "beside")),
    *((edit, None) for edit in (_size, _size, _text, _text, _text, _function)),
)


def edited(text: str, seed: str) -> tuple[str, str] | None:
    """Another module, as TVM JSON, and the edit in words; None where the edit does not apply."""
    c, mod = random.Random(seed), load_json(text)
    for edit, kind in c.sample(EDITS, len(EDITS)):
        with suppress(Exception):  # TVM refuses what does not fit with errors of all kinds
            made = edit(c, mod) if kind is None else edit(c, mod, kind)
            if made is not None and made[0] is not None and input_flaw(made[0]) is None:
                return save_json(made[0]), made[1]
    return None


def variant(known: Known, seed: int, pool: Executor) -> tuple[list[str], Finding] | None:
    """The edits and a minimized module that shows the bug of the record after them, or None."""
    every: list[Shown] = []
    with suppress(JobFailed):
        every, _ = collect(pool, RunReproducer(file=str(known.reproducer), reports=known.reports))
    of_checks = [each for each in every if each.calls or each.pipeline]
    shown = random.Random(f"{seed} {known.name}").choice(of_checks or [Shown(None)])
    violation, text, edits = shown.violation, shown.module, list[str]()
    if violation is None:
        return None
    oracles = None if violation.oracle in DEATHS else (violation.oracle,)
    job = Check(module=text, calls=shown.calls, pipeline=shown.pipeline, oracles=oracles)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process, suppress(BrokenProcessPool):
        for number in range(TRIES):  # some edits kill the process
            if len(edits) == KEPT:
                break
            made = process.submit(edited, text, f"{seed} {known.name} {number}").result()
            found = [] if made is None else check(pool, replace(job, module=made[0]))
            again = next((each for each in found if _told(each) == _told(violation)), None)
            if made is not None and again is not None:
                text, violation = made[0], again
                edits.append(made[1])
    if structural_equal(load_json(text), load_json(shown.module)):
        return None
    finding = Finding(violation=violation, module=text, versions=versions())
    finding = replace(finding, calls=job.calls, pipeline=job.pipeline)
    until = time.monotonic() + SECONDS
    finding = minimized(pool, finding, over=lambda: time.monotonic() > until).finding
    return edits, replace(finding, reduced=True, evidence=take_evidence(pool, finding))


def _told(each: Violation) -> tuple[object, ...]:
    """The oracle, the pass, the class of the exception; of legalizations, the operator."""
    text = " ".join(each.key if each.pass_name in LEGALIZERS else ())
    operators = sorted(re.findall(r"\brelax\.[\w.]+", text))
    return each.oracle, each.pass_name, each.raised and each.raised.kind, operators


def main() -> None:
    """Print a line for each variant, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("edited.jsonl"))
    options = parser.parse_args()
    every = knowns()
    drawn = [known for known in every if known.reproducer is not None]
    random.Random(options.seed).shuffle(drawn)
    totals: Counter[str] = Counter()
    with LocalPool(2) as pool, ThreadPoolExecutor(2) as threads, options.out.open("w") as out:
        futures = [threads.submit(variant, known, options.seed, pool) for known in drawn]
        for known, future in zip(drawn, futures, strict=True):
            if totals.total() == options.records:
                future.cancel()
            elif (made := future.result()) is not None:
                edits, finding = made
                identity = finding.identity
                same = [k.name for k in every if k.sameness(identity) is Sameness.SAME]
                result = "similar" if known.sameness(identity) is Sameness.SIMILAR else "new"
                result = "recognized" if known.name in same else "as another" if same else result
                totals[result] += 1
                fields = {"record": known.name, "result": result, "same": same, "edits": edits}
                more: dict[str, Any] = {"report": [*finding.violation.full_key, finding.title]}
                more |= {"identity": fields_of(identity)}
                more |= {"of_record": [fields_of(each) for each in known.identities]}
                whole = {**fields, **more, "module": load_json(finding.module).script()}
                out.write(json.dumps(whole) + "\n")
                lines = [f"\n    {key}: {more[key]}" for key in more if result != "recognized"]
                print(f"{result} {known.name}", *edits, *lines, sep="; ", flush=True)
    print(", ".join(f"{count} {result}" for result, count in totals.most_common()))


if __name__ == "__main__":
    main()
