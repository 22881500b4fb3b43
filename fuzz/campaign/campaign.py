"""The campaign: it sends blocks of modules to the workers until the budget is used up."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...compat import availability
from ...generators.families import DEFAULT, FAMILIES
from ...generators.ops import table
from ...generators.seeds import Whole
from ...generators.stages import Stage
from ...oracles.check import hides
from ...oracles.passcall import PassCall
from ...oracles.tiers import STRUCTURAL
from ...oracles.violation import mark_of, short_mark
from ..findings.finding import UnconfirmedFinding
from ..jobs.jobs import by_family
from ..process import death
from ..process.executor import Executor, ExecutorError, ask
from ..process.protocol import (
    LIMITS,
    Broken,
    Died,
    Ended,
    Failed,
    Heartbeat,
    Limits,
    Position,
    Reply,
    Result,
)
from ..process.targets import Origin, Recipe, Target
from ..system.errors import UserError
from . import schedule
from .block import CUTTING, Block, ModuleDone, Regenerate, WentOn
from .events import BlockDone, Event, Finished, HarnessFault, Lacks, Progress
from .in_flight import InFlight
from .named import numbers_near, recipe
from .seeds import Seeds, with_pieces
from .state import CampaignState, horizon

AHEAD = 2
"""Blocks in progress for each worker, so that a free worker always finds one ready."""

BUFFER = 8
"""Finished blocks for each worker that may wait for an earlier block to be committed."""

TICK = 0.25
"""Seconds between two events of progress."""

PATIENCE = 5.0
"""Seconds that cancelled jobs get to end."""

SMALL = 100_000
"""Characters of the largest real module that all passes check unchanged, some 50 bindings. Larger
ones are checked in pieces; only pipelines check them whole."""

TURN = 1_000_000
"""Characters of the real modules checked between two blocks of generated ones, about the size of
such a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignConfig:
    """The targets and the budget of a campaign."""

    seed: int
    targets: tuple[Target, ...]
    seconds: float | None = None
    modules: int | None = None
    """Budget of generated modules. At least one of the two budgets is set; if both are, the first
    one used up ends the campaign."""
    oracles: tuple[str, ...] | None = None
    """Oracles to run; None: all, with expensive ones on a sample."""
    device: str | None = None
    """The kind of the device on which a sample of the evaluated modules is executed, unless
    `oracles` is set."""
    compositions: bool = True
    """Also check sequences of passes and the named pipelines."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options under which passes run, in `PassCall.config`'s form; pipelines have their own."""
    modules_in_block: int = schedule.MODULES_IN_BLOCK
    """Size of a block. Larger blocks have less overhead, but a lost block costs more."""
    is_known: Callable[[UnconfirmedFinding], bool] = lambda found: False
    """Return whether a report is presumed to be a known bug."""
    seeds: tuple[Seeds, ...] = ()
    """Real modules; a share of the blocks is made from the pieces of each kind. The whole modules
    are checked from the first block on, large ones only by pipelines."""
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        if not self.targets:
            raise ValueError("Expected at least one pass to fuzz but got targets=()")
        for name in ("seconds", "modules", "modules_in_block"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"Expected a number above 0 but got {name}={value!r}")
        if self.seconds is None and self.modules is None:
            raise ValueError("Expected a budget but got seconds=None, modules=None")


def run(
    config: CampaignConfig,
    executor: Executor,
    stop: threading.Event | None = None,
) -> Generator[Event, None, None]:
    """Run a campaign; the last event is `Finished`. Closing the generator ends all running jobs.

    If the workers are lost, the violations found so far are reported, `Finished` has `stopped` set,
    and then the error is raised.

    With a budget of modules the events except `Progress` are the same for any number of workers.
    Blocks are committed in order, and each depends only on the seed, its number and much earlier
    blocks.

    Args:
        stop: set it to end the campaign soon; the violations found so far are reported.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    return _Campaign(config, executor, stop or threading.Event()).run()


def _blocks(config: CampaignConfig) -> Iterator[tuple[int, int, tuple[Whole, ...]]]:
    """First index and count of each block, and its real modules. Blocks of real modules alternate
    with blocks of generated ones while there are any."""
    turns = _turns(config)
    generated = schedule.blocks(config.modules, config.modules_in_block)
    at = 0
    for wholes, block in itertools.zip_longest(turns, generated):
        if wholes is not None:
            yield at, len(wholes), wholes
            at += len(wholes)
        if block is not None:
            yield *block, ()


def _turns(config: CampaignConfig) -> Iterator[tuple[Whole, ...]]:
    """The real modules of each block; a large one gets a block of its own."""
    wholes = [whole for each in config.seeds for whole in each.wholes]
    small = [whole for whole in wholes if len(whole.text) <= SMALL]
    turn: list[Whole] = []
    for whole in small:
        turn.append(whole)
        if sum(len(each.text) for each in turn) >= TURN:
            yield tuple(turn)
            turn.clear()
    if turn:
        yield tuple(turn)
    if config.compositions:  # otherwise pipelines are not checked
        yield from ((whole,) for whole in wholes if len(whole.text) > SMALL)


class _Campaign:
    """The main loop: submit blocks, receive replies, commit in order."""

    def __init__(self, config: CampaignConfig, executor: Executor, stop: threading.Event) -> None:
        self._config = config
        self._executor = executor
        self._stop = stop
        self._state = CampaignState()
        """State after the completed blocks."""
        self._tally = self._state
        """Counts; at the end they include the finished parts of other blocks."""
        self._replies: queue.SimpleQueue[tuple[InFlight, Reply | None]] = queue.SimpleQueue()
        self._todo = enumerate(_blocks(config))
        self._next = next(self._todo, None)
        self._in_flight: deque[InFlight] = deque()
        self._targets: dict[str, list[Target]] = defaultdict(list)
        """Targets by family."""
        for target in config.targets:
            for family, part in by_family(target).items():
                self._targets[family].append(part)
        self._labels = {target.name: target.label for target in config.targets}
        off = availability.current().ops
        self._operators = [name for name in table if name not in off]
        self._begin = time.monotonic()

    def run(self) -> Generator[Event, None, None]:
        failure: ExecutorError | UserError | None = None
        try:
            try:
                yield from self._blocks()
            except (ExecutorError, UserError) as error:
                failure = error
            self._cancel()
            self._tally = copy.deepcopy(self._state)
            while self._in_flight:
                yield from self._commit(self._in_flight.popleft())
        finally:
            self._cancel()
        self._tally.seconds = self._seconds()
        yield Finished(self._tally, self._stop.is_set() or failure is not None)
        if failure is not None:
            raise failure

    def _blocks(self) -> Iterator[Event]:
        """Run until the budget is used up; unfinished blocks then stay in flight."""
        tick = 0.0
        self._submit()
        while self._in_flight and not self._over():
            with contextlib.suppress(queue.Empty):
                block, reply = self._replies.get(timeout=TICK)
                self._receive(block, reply)
                if isinstance(reply, Failed) and reply.user_error:
                    raise UserError(reply.traceback)
            while self._in_flight and self._in_flight[0].done:
                yield from self._commit(self._in_flight.popleft())
            self._submit()
            if self._seconds() - tick >= TICK:
                tick = self._seconds()
                yield self._progress()

    def _seconds(self) -> float:
        return time.monotonic() - self._begin

    def _over(self) -> bool:
        limit = self._config.seconds
        return self._stop.is_set() or (limit is not None and self._seconds() >= limit)

    def _submit(self) -> None:
        workers = self._executor.workers
        while (
            len(self._in_flight) < BUFFER * workers
            and sum(not block.done for block in self._in_flight) < AHEAD * workers
            and self._next is not None
            and horizon(self._next[0]) <= self._state.blocks
        ):
            number, (start, count, wholes) = self._next
            self._next = next(self._todo, None)
            part = self._part(number, start, count)
            part = self._unchanged(part, wholes) if wholes else self._generated(part, number)
            block = InFlight(number, part, start + count)
            self._in_flight.append(block)
            self._send(block)

    def _part(self, number: int, start: int, count: int) -> Block:
        """A block without module ingredients and targets."""
        return Block(
            seed=self._config.seed,
            start=start,
            count=count,
            targets=(),
            oracles=self._config.oracles,
            device=self._config.device,
            compositions=self._config.compositions,
            reported=tuple(map(short_mark, self._state.occurrences)),
            config=self._config.config,
            ends=self._state.past_of(number).ends,
        )

    def _generated(self, part: Block, number: int) -> Block:
        """A block of generated modules."""
        turn = part.start // self._config.modules_in_block  # among the blocks of generated modules
        family = schedule.family(self._targets, self._config.seed, turn)
        targets = tuple(self._targets[family])
        made = self._recipe(targets, turn, self._state.past_of(number).acted)
        device = self._config.device
        # Kernels for other devices could not be executed.
        target = device if device in FAMILIES[family].targets else None
        made = dataclasses.replace(made, family=family, target=target)
        if family != DEFAULT and not made.numbers:
            made = dataclasses.replace(made, numbers=numbers_near(targets, self._config.seed, turn))
        return dataclasses.replace(part, targets=targets, recipe=made)

    def _unchanged(self, part: Block, wholes: tuple[Whole, ...]) -> Block:
        """A block of real modules.

        Pipelines are always checked, and all passes that apply if the modules are small. Expensive
        oracles only run on pieces of the modules. A module similar to those of known bugs is also
        checked, since it occurs only once.
        """
        oracles = tuple(
            each.name for each in STRUCTURAL if part.oracles is None or each.name in part.oracles
        )
        targets = self._targets[DEFAULT] if len(wholes[0].text) <= SMALL else ()
        return dataclasses.replace(part, targets=tuple(targets), oracles=oracles, wholes=wholes)

    def _recipe(self, targets: Sequence[Target], turn: int, acted: Mapping[str, int]) -> Recipe:
        """The ingredients of the modules of a block.

        Args:
            targets: the targets of the block.
            turn: the block's number among the blocks of generated modules.
            acted: number of checks in which a pass did its actual work, by item of the schedule.
        """
        config, operators = self._config, self._operators
        made = recipe(targets, config.seed, turn, operators, acted) or Recipe(
            ops=schedule.operators(operators, config.seed, turn),
            disabled=schedule.disabled(config.seed, turn),
        )
        return with_pieces(made, config.seeds, config.seed, turn)

    def _send(self, block: InFlight) -> None:
        def sink(reply: Reply | None) -> None:
            self._replies.put((block, reply))

        limits = self._config.limits
        if block.part.wholes:
            limits = limits.for_module(block.part.wholes[0].text)
        try:
            block.job = self._executor.submit(block.part, sink, limits=limits)
        except ExecutorError:
            block.done = True  # no reply will come
            raise

    def _receive(self, block: InFlight, reply: Reply | None) -> None:
        match reply:
            case None:
                block.discard()
            case Heartbeat(position=position):
                block.position = position
            case Ended():
                block.done = True
            case Broken(reason=reason):
                raise ExecutorError(reason)
            case Died():
                block.settle(reply)
                rest = block.rest(reply)
                if rest is None:
                    block.done = True
                else:
                    block.part = rest
                    self._send(block)
            case _:
                block.add(reply)

    def _cancel(self) -> None:
        running = [block for block in self._in_flight if not block.done]
        for block in running:
            self._executor.cancel(block.job)
        deadline = time.monotonic() + PATIENCE
        while not all(block.done for block in running) and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                block, reply = self._replies.get(timeout=TICK)
                if isinstance(reply, Died):
                    block.settle(reply)
                    block.done = True
                elif isinstance(reply, Broken):
                    block.done = True
                else:
                    self._receive(block, reply)

    def _commit(self, block: InFlight) -> Iterator[Event]:
        hits: set[tuple[str, int, Stage]] = set()
        """Checks that ended in a known bug."""
        rest: WentOn | None = None
        for reply in block.replies:
            match reply:
                case Result(value=UnconfirmedFinding() as found):
                    mark, item = mark_of(found.violation), self._item(found.calls, found.pipeline)
                    if self._tally.is_new(mark, item):
                        assert found.module, "the first comes with its module"
                        self._note_known(found)
                        yield found
                    if mark in self._tally.known and hides(found.violation):
                        hits.add((item, found.origin.index, found.origin.stage))
                case Result(value=WentOn() as rest):
                    hits.discard((rest.item, rest.index, rest.stage))
                    if rest.way:
                        self._tally.ways[rest.mark] = rest.way
                case Failed(drift=True):
                    if self._tally.is_new_fault(reply.traceback):
                        yield Lacks(reply.traceback)
                case Failed(user_error=False):
                    yield from self._fault(reply.traceback, reply.position)
                case Died():
                    yield from self._death(block, reply, rest)
        self._tally.known_checks.update(item for item, _, _ in hits)
        stats = block.stats()
        results = (reply.value for reply in block.replies if isinstance(reply, Result))
        done = [value for value in results if isinstance(value, ModuleDone)]
        self._tally.count(block.modules, stats)
        self._tally.see_lines(done)
        if self._tally is self._state:
            self._state.commit(self._seconds())
        elif not stats:  # the budget was used up before it began
            return
        yield BlockDone(block.number, block.modules, stats, self._state)

    def _note_known(self, found: UnconfirmedFinding) -> None:
        if self._config.is_known(found):
            self._tally.known.add(mark_of(found.violation))

    def _item(self, calls: tuple[PassCall, ...], pipeline: str | None) -> str:
        if pipeline is not None:
            return pipeline
        return self._labels[calls[0].name] if len(calls) == 1 else "sequence"

    def _death(self, block: InFlight, died: Died, rest: WentOn | None) -> Iterator[Event]:
        """The events of a death.

        Args:
            rest: the last module on which a check continued.
        """
        violation, place = death.violation(died), died.position
        if place is not None and place.step == CUTTING:
            return  # if a pass caused it, it is met again
        if place is None or not (place.calls or place.pipeline):
            yield from self._fault(f"The harness died: {violation.detail}", place)
            return
        first = self._tally.is_new(mark_of(violation), place.item)
        if first:
            found = UnconfirmedFinding(
                violation, "", Origin(0, 0, place.stage), place.calls, place.pipeline
            )
            self._note_known(found)
        if mark_of(violation) in self._tally.known:
            self._tally.known_checks[place.item] += 1
        if first:
            part = block.part
            recipe = part.made_of(place.index)
            origin = Origin(part.seed, place.index, place.stage, recipe)
            try:
                made = ask(self._executor, Regenerate(origin), limits=self._config.limits)
            except ExecutorError as error:
                yield from self._fault(f"Cannot generate {origin} again: {error}", place)
                return
            if isinstance(made, Died):
                yield from self._fault(f"Cannot generate {origin} again: {made}", place)
            else:
                module, names = made
                origin = dataclasses.replace(origin, recipe=recipe.made_of(names))
                if rest is not None and rest.at == (place.index, place.stage, place.ordinal):
                    module = rest.module
                yield UnconfirmedFinding(violation, module, origin, place.calls, place.pipeline)

    def _fault(self, text: str, place: Position | None) -> Iterator[Event]:
        if self._tally.is_new_fault(text):
            yield HarnessFault(text, place)

    def _progress(self) -> Progress:
        blocks = self._in_flight
        return Progress(
            seconds=self._seconds(),
            modules=self._tally.modules + sum(block.modules for block in blocks),
            checks=self._tally.checks + sum(block.checks for block in blocks),
            violations=self._tally.occurrences.total() + sum(block.violations for block in blocks),
            current=tuple(
                block.position.item or block.position.step
                for block in blocks
                if block.position is not None and not block.done
            ),
        )
