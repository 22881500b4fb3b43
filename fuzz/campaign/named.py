"""Blocks made of what a pass names: its operators, in the situations in which first drafts fail.

From the first block on, and for good: what a campaign learns of a pass (`focus`) shows which
operators it changes, and not which situations of them nobody thought of.

What a block is made of depends on the targets, the seed, the number of the block, and on how many
modules each pass had changed long before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

from ...generators import corners
from ...generators.ops import FAMILIES, table
from ...generators.traits import IMPLIES, Trait
from ..process.targets import Named, Recipe, Target
from .draw import entropy

SHARE = 0.75
"""Of the blocks that a pass gets, where it names something; the others are as for any pass."""
ENOUGH = 5
"""A pass that has changed so many modules gets half the blocks of one that has changed none."""
CHOSEN = (1, 2, 2, 3, 4)
"""How many of the operators a block takes."""
WEIGHT = 2
"""How often each of them is there by itself."""
CHAINS = 4
"""Chains of a block: patterns of the pass, and a few operators in any order."""
LENGTHS = (1, 1, 2)
"""How many more operators such a chain has."""
BESIDE = 0.3
"""The chance that two of them do not form a chain, but have an operand in common."""
OTHERS = 2
"""Further operators of a block, for variety."""
STRICT = 0.5
"""The chance that a block has the patterns of a pass as they are, while the pass has not done
`ENOUGH` times what it is for. Of 150 modules ExpandMatmulOfSum rewrites 11, and 6 without."""
NEAR = 0.4
"""The chance that one operator of a chain is another one of its family: that of a pattern, or one
that a table of the pass has forgotten."""
FORCED = 0.6
"""The chance that all modules of a block have a trait that the pass names."""
ALONE = 0.95
"""The same of a pass that names no operator, and of dtypes that it names alone: without them,
modules have nothing for it."""
APART = 0.5
"""The chance that of several such traits a block has some and leaves the others out: code also
names what it keeps away from."""
SPECIAL = 0.3
"""The same for a trait that makes operands special."""
RETURNED = 0.7
"""The chance that the functions of a block return all that nothing else uses: what a pass does
wrong in dead code has no value that could be compared."""
LEFT_OUT = 0.45
"""The chance that a block leaves out any other trait: small modules are quick, and show more of
what is looked for."""
NEAR_NUMBERS = 0.6
"""The chance that sizes and constants of a block are near the numbers in the code of the pass."""
OF_DTYPES = 0.5
"""The chance that most functions of a block use dtypes that the code of the pass names."""

SITUATIONS = (
    *corners.TRAITS,
    Trait.REPEATED_CALLS,
    Trait.VARIED_CALLS,
    Trait.ZERO_SIZE,
    Trait.UNIT_DIMS,
    Trait.SYMBOLIC_SHAPES,
    Trait.INCOMPLETE_TYPES,
    Trait.DTYPES,
    Trait.CONSTANTS,
    Trait.IF,
    Trait.RECURSION,
)
"""What few first drafts think of."""


def recipe(
    targets: Sequence[Target],
    seed: int,
    number: int,
    operators: Collection[str],
    changed: Mapping[str, int] = {},
) -> Recipe | None:
    """What a block is made of that shows what one of the passes names; None: another block.

    As many blocks are as there are passes that name something. Those that have changed few modules
    get most of them.

    Args:
        operators: all that work on the installed TVM.
        changed: by label of a target: in how many checks it has changed a module.
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


def _traits(names: Named, random: Random) -> list[Trait]:
    """Those of the pass that a block may have."""
    if names.ops or len(names.traits) < 2 or random.random() >= APART:
        return list(names.traits)
    return [trait for trait in names.traits if random.random() < 0.5]


def _operators(
    names: Named, operators: Collection[str], random: Random, *, strict: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Those that are meant to be in its modules, and all that these are made of.

    Args:
        strict: patterns as they are.
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
    """Of its family, those that the pass does not name, if there are such."""
    family = next(records for records in FAMILIES.values() if table[op] in records)
    usable = [each.name for each in family if each.name in operators]
    return [name for name in usable if name not in known] or usable
