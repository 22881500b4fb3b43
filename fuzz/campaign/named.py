"""Blocks made of the operators that a pass names, in situations in which first drafts fail.

They run throughout a campaign, from the first block on.

The ingredients of a block depend on the targets, the seed, the block's number, and the number of
modules that each pass had changed in much earlier blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

from ...generators import corners
from ...generators.ops import OP_FAMILIES, table
from ...generators.traits import IMPLIES, Trait
from ..jobs.draw import entropy
from ..process.targets import Named, Recipe, Target

SHARE = 0.75
"""Share of a pass's blocks that are made this way, if it names something; the others are as for any
pass."""
ENOUGH = 5
"""Number of changed modules at which a pass gets half as many blocks as with none."""
CHOSEN = (1, 2, 2, 3, 4)
"""Numbers of operators for a block."""
WEIGHT = 2
"""Number of times that each of them occurs by itself."""
CHAINS = 4
"""Chains in a block: patterns of the pass, or a few operators in any order."""
LENGTHS = (1, 1, 2)
"""Numbers of further operators in a chain."""
BESIDE = 0.3
"""Chance that two of them share an operand instead of forming a chain."""
OTHERS = 2
"""Additional operators of a block, for variety."""
STRICT = 0.5
"""Chance that a block uses a pass's patterns unchanged, while the pass has done its actual work
fewer than `ENOUGH` times. ExpandMatmulOfSum rewrites 11 of 150 modules with it, and 6 without."""
NEAR = 0.4
"""Chance that one operator of a chain is replaced by another one of its family, either that of a
pattern or one that a table of the pass has forgotten."""
FORCED = 0.6
"""Chance that all modules of a block have a trait that the pass names."""
ALONE = 0.95
"""Chance of such a trait if the pass names no operator, and of dtypes if it names nothing else:
otherwise modules contain nothing for it."""
APART = 0.5
"""Chance that a block has only some of several such traits and omits the others, since code also
names things that it avoids."""
SPECIAL = 0.3
"""Chance that all modules of a block have a given trait of `SITUATIONS`."""
RETURNED = 0.7
"""Chance that the functions of a block return all otherwise unused values: mistakes of a pass in
dead code affect no value that could be compared."""
LEFT_OUT = 0.45
"""Chance that a block leaves out any other trait: small modules are fast, and have a higher share
of interesting parts."""
NEAR_NUMBERS = 0.6
"""Chance that sizes and constants of a block are near the numbers in the code of the pass."""
OF_DTYPES = 0.5
"""Chance that most functions of a block use dtypes that the code of the pass names."""

SITUATIONS = (
    *corners.TRAITS,
    Trait.REPEATED_CALLS,
    Trait.VARIED_CALLS,
    Trait.ZERO_SIZE,
    Trait.UNIT_DIMS,
    Trait.EQUAL_DIMS,
    Trait.SYMBOLIC_SHAPES,
    Trait.INCOMPLETE_TYPES,
    Trait.DTYPES,
    Trait.CONSTANTS,
    Trait.IF,
    Trait.RECURSION,
)
"""Situations that few first drafts consider."""


def recipe(
    targets: Sequence[Target],
    seed: int,
    number: int,
    operators: Collection[str],
    changed: Mapping[str, int] = {},
) -> Recipe | None:
    """The ingredients of a block for things that one of the passes names; None if there is none.

    The number of such blocks grows with the number of passes that name something. Passes that
    changed few modules get most of them.

    Args:
        operators: all operators that work on the installed TVM.
        changed: number of checks in which a target has changed a module, by its label.
    """
    random = Random(entropy("named", seed, number))
    usable = [target for target in targets if target.named.usable]
    if not random.choice(targets).named.usable or random.random() >= SHARE:
        return None
    weights = [1 / (ENOUGH + changed.get(target.label, 0)) for target in usable]
    target = random.choices(usable, weights)[0]
    names = target.named
    idle = bool(names.chains) and changed.get(target.label, 0) < ENOUGH
    strict = idle and random.random() < STRICT
    used, ops = _operators(names, operators, random, strict=strict)
    needed = {need for op in used if (need := table[op].needs) is not None}
    if not all(table[op].legalizes for op in used):
        needed.add(Trait.NO_LEGALIZE)
    traits = _traits(names, random)
    chance = FORCED if names.ops else ALONE
    of_dtypes = OF_DTYPES if names.ops or names.traits else ALONE
    forced = needed.union(trait for trait in traits if random.random() < chance)
    forced.update(trait for trait in SITUATIONS if random.random() < SPECIAL)
    if random.random() < RETURNED:
        forced.add(Trait.ALL_RETURNED)
    kept = forced.union(traits, *(IMPLIES.get(trait, ()) for trait in forced))
    avoided = set(names.traits).difference(kept)
    disabled = [
        each
        for each in Trait
        if each in avoided or (random.random() < LEFT_OUT and each not in kept)
    ]
    numbers = names.numbers if random.random() < NEAR_NUMBERS else ()
    dtypes = names.dtypes if random.random() < of_dtypes else ()
    return Recipe(
        ops=ops,
        forced=tuple(each for each in Trait if each in forced),
        disabled=tuple(disabled),
        numbers=numbers,
        dtypes=dtypes,
    )


def numbers_near(targets: Sequence[Target], seed: int, number: int) -> tuple[float, ...]:
    """The numbers near which sizes of loop nests are drawn in a block: those in the code of one of
    the passes. A pass of PrimFuncs need not name anything else."""
    random = Random(entropy("numbers", seed, number))
    names = random.choice(targets).named
    return names.numbers if random.random() < NEAR_NUMBERS else ()


def _traits(names: Named, random: Random) -> list[Trait]:
    """The traits of the pass that a block may have."""
    if names.ops or len(names.traits) < 2 or random.random() >= APART:
        return list(names.traits)
    return [trait for trait in names.traits if random.random() < 0.5]


def _operators(
    names: Named, operators: Collection[str], random: Random, *, strict: bool
) -> tuple[list[str], tuple[str, ...]]:
    """The operators that its modules should have, and all their ingredients.

    Args:
        strict: use the patterns unchanged.
    """
    known = [op for op in names.ops if op in operators]
    if not known:
        return [], ()
    chosen = random.sample(known, min(len(known), random.choice(CHOSEN)))
    patterns = [chain for chain in names.chains if all(op in known for op in chain)]
    used, chains = list(chosen), []
    for _ in range(CHAINS):
        if patterns and (strict or random.random() < 0.5):
            chain, beside = list(random.choice(patterns)), False
        else:
            chain = [random.choice(chosen), *random.choices(known, k=random.choice(LENGTHS))]
            random.shuffle(chain)
            beside = random.random() < BESIDE
        if not strict and random.random() < NEAR:
            at = random.randrange(len(chain))
            chain[at] = random.choice(_neighbours(chain[at], known, operators))
        used += chain
        chains.append(" & ".join(chain[:2]) if beside else " > ".join(chain))
    others = random.sample(sorted(operators), OTHERS)
    return used, (*chosen * WEIGHT, *chains, *others)


def _neighbours(op: str, known: Collection[str], operators: Collection[str]) -> list[str]:
    """Operators of the family that the pass does not name; all of the family if it names each."""
    family = next(records for records in OP_FAMILIES.values() if table[op] in records)
    usable = [each.name for each in family if each.name in operators]
    return [name for name in usable if name not in known] or usable
