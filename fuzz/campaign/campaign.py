"""The campaign: blocks of modules go to the workers until the budget is used up."""

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
from dataclasses import dataclass

from ...compat import availability
from ...generators.families import DEFAULT, FAMILIES
from ...generators.ops import table
from ...generators.seeds import Whole
from ...generators.stages import Stage
from ...oracles.passcall import PassCall
from ...oracles.tiers import STRUCTURAL
from ...oracles.violation import mark_of, short_mark
from ..process import death
from ..process.block import Block, ModuleDone, Regenerate, Violated
from ..process.executor import Executor, ExecutorError, ask
from ..process.jobs import by_family
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
from ..process.targets import Avoid, Origin, Recipe, Target
from ..user_input.errors import UserError
from . import focus, schedule, steering
from .events import BlockDone, Event, Fault, Finished, Found, Lacks, Progress
from .focus import horizon
from .in_flight import InFlight
from .named import recipe
from .seeds import Seeds, with_pieces
from .state import Guide, State

AHEAD = 2
"""Blocks under way for each worker, so that one is ready when a worker becomes free."""

BUFFER = 8
"""Finished blocks for each worker that may wait for an earlier one to be committed."""

TICK = 0.25
"""Seconds between two events of progress."""

PATIENCE = 5.0
"""Seconds in which cancelled jobs end."""

SMALL = 100_000
"""Characters of a real module on which all passes are checked as it is, some 50 bindings. Larger
ones are checked in pieces, as a whole by pipelines alone."""

TURN = 1_000_000
"""Characters of the real modules that are checked between two blocks of generated ones: about as
many as these have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignConfig:
    """What to fuzz, and how long."""

    seed: int
    targets: tuple[Target, ...]
    seconds: float | None = None
    modules: int | None = None
    """Generated ones. At least one of both budgets; with both, the first that is used up ends the
    campaign."""
    oracles: tuple[str, ...] | None = None
    """Only these; None: all, expensive ones on a sample."""
    device: str | None = None
    """The kind of the device on which a sample of what is evaluated is executed, where `oracles`
    names none."""
    compositions: bool = True
    """Also check sequences of passes and the named pipelines."""
    modules_in_block: int = schedule.MODULES_IN_BLOCK
    """With more there is less overhead, and more is lost with a block."""
    is_known: Callable[[Found], bool] = lambda found: False
    """A report is presumed to be a known bug."""
    seeds: tuple[Seeds, ...] = ()
    """Real modules, pieces of each kind of which a share of the blocks is made of. The wholes are
    checked from the first block on, large ones where pipelines are."""
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
    state: State | None = None,
) -> Generator[Event, None, None]:
    """Run a campaign; the last event is `Finished`. Closing it ends what is under way.

    If the workers are lost, what was found until then is reported, `Finished` has `stopped` set,
    and then the error is raised.

    With a budget of modules the events but `Progress` are the same for any number of workers, and
    for any number of interruptions: blocks are committed in order, and each is a function of the
    seed, its number and the blocks long before it.

    Args:
        stop: set it to end the campaign soon; what has been found until then is reported.
        state: resume from here, with the config that it comes from; `Finished` includes what was
            done before. None: from the beginning.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    begin = State() if state is None else copy.deepcopy(state)
    return _Campaign(config, executor, stop or threading.Event(), begin).run()


def _blocks(config: CampaignConfig) -> Iterator[tuple[int, int, tuple[Whole, ...]]]:
    """First index and count of each block of generated modules; in turn with these, as long as
    there are any, those of real modules, which are given.
    """
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
    """The real modules of each block: a large one by itself."""
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
    if config.compositions:  # else pipelines are not asked
        yield from ((whole,) for whole in wholes if len(whole.text) > SMALL)


class _Campaign:
    """The loop: submit blocks, receive replies, commit in order."""

    def __init__(
        self, config: CampaignConfig, executor: Executor, stop: threading.Event, state: State
    ) -> None:
        self._config = config
        self._executor = executor
        self._stop = stop
        self._state = state
        """Of the completed blocks."""
        self._tally = state
        """In the end also with what was done of the others."""
        self._replies: queue.SimpleQueue[tuple[InFlight, Reply | None]] = queue.SimpleQueue()
        self._todo = itertools.islice(enumerate(_blocks(config)), state.blocks, None)
        self._next = next(self._todo, None)
        self._in_flight: deque[InFlight] = deque()
        self._targets: dict[str, list[Target]] = defaultdict(list)
        """By family."""
        for target in config.targets:
            for family, part in by_family(target).items():
                self._targets[family].append(part)
        self._labels = {target.name: target.label for target in config.targets}
        off = availability.current().ops
        self._operators = [name for name in table if name not in off]
        self._begin = time.monotonic() - state.seconds

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
        tally = self._tally
        yield Finished(
            self._seconds(),
            tally.modules,
            tally.checks,
            dict(tally.stats),
            dict(tally.occurrences),
            {name: dict(counts) for name, counts in tally.ended.items()},
            self._stop.is_set() or failure is not None,
            dict(tally.known_checks),
        )
        if failure is not None:
            raise failure

    def _blocks(self) -> Iterator[Event]:
        """Run until the budget is used up; blocks that are not done then stay in flight."""
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
        """A block without anything that its modules are made of, and that is checked on them."""
        return Block(
            seed=self._config.seed,
            start=start,
            count=count,
            targets=(),
            oracles=self._config.oracles,
            device=self._config.device,
            compositions=self._config.compositions,
            yields=self._state.guide(number).yields,
            reported=tuple(map(short_mark, self._state.occurrences)),
        )

    def _generated(self, part: Block, number: int) -> Block:
        """A block of generated modules."""
        guide = self._state.guide(number)
        turn = part.start // self._config.modules_in_block  # among the blocks of generated modules
        avoid = {
            item: Avoid(patterns, guide.chances.get(item, steering.FIRST))
            for item, patterns in guide.patterns.items()
        }
        family = schedule.family(self._targets, self._config.seed, turn)
        targets = tuple(self._targets[family])
        made = self._recipe(targets, turn, guide, guide.hidden, avoid)
        device = self._config.device
        # Of kernels for other devices, nothing could be executed.
        target = device if device in FAMILIES[family].targets else None
        made = dataclasses.replace(made, family=family, target=target)
        return dataclasses.replace(part, targets=targets, recipe=made, avoid=avoid)

    def _unchanged(self, part: Block, wholes: tuple[Whole, ...]) -> Block:
        """A block of real modules: all passes that apply to them, if they are small, and pipelines.

        No expensive oracle is asked: pieces of the modules are for those. A module like those on
        which known bugs showed is checked, too: it comes once.
        """
        oracles = tuple(
            each.name for each in STRUCTURAL if part.oracles is None or each.name in part.oracles
        )
        targets = self._targets[DEFAULT] if len(wholes[0].text) <= SMALL else ()
        return dataclasses.replace(part, targets=tuple(targets), oracles=oracles, wholes=wholes)

    def _recipe(
        self,
        targets: Sequence[Target],
        turn: int,
        guide: Guide,
        hidden: Sequence[str],
        avoid: Mapping[str, Avoid],
    ) -> Recipe:
        """What the modules of a block are made of.

        Args:
            targets: of the block.
            turn: the number of the block among those of generated modules.
            hidden: the passes of which known bugs hide too much.
        """
        config, operators = self._config, self._operators
        made = recipe(targets, config.seed, turn, operators, guide.changed) or Recipe(
            ops=focus.focus(guide.surest, config.seed, turn, operators)
            or schedule.operators(operators, config.seed, turn),
            disabled=schedule.disabled(config.seed, turn),
        )
        if hidden:
            made = steering.steered(made, hidden, avoid, config.seed, turn)
        return with_pieces(made, config.seeds, config.seed, turn, guide.pieces, guide.edits)

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
        before = len(self._tally.occurrences)
        hits: set[tuple[str, int, Stage]] = set()
        for reply in block.replies:
            match reply:
                case Result(value=Violated() as violated):
                    violation, origin = violated.violation, violated.origin
                    item = self._item(violated.calls, violated.pipeline)
                    first = self._tally.is_new(mark_of(violation), item)
                    if first:
                        assert violated.module is not None, "the first comes with its module"
                        found = Found(
                            violation,
                            violated.module,
                            origin,
                            violated.calls,
                            violated.pipeline,
                            violated.ingredients,
                        )
                        self._note_known(found)
                        yield found
                    if mark_of(violation) in self._tally.known:
                        hits.add((item, origin.index, origin.stage))
                        self._tally.compare(mark_of(violation), violated.features)
                case Failed(drift=True):
                    if self._tally.is_new_fault(reply.traceback):
                        yield Lacks(reply.traceback)
                case Failed(user_error=False):
                    yield from self._fault(reply.traceback, reply.position)
                case Died():
                    yield from self._death(block, reply)
        self._tally.known_checks.update(item for item, _, _ in hits)
        stats = block.stats()
        self._tally.count(block.modules, stats)
        if self._tally is self._state:
            results = (reply.value for reply in block.replies if isinstance(reply, Result))
            done = [value for value in results if isinstance(value, ModuleDone)]
            new = len(self._state.occurrences) - before
            self._state.commit(done, self._seconds(), block.part.recipe, new)
        elif not stats:  # the budget was used up before it began
            return
        yield BlockDone(block.number, block.modules, stats, self._state)

    def _note_known(self, found: Found) -> None:
        if self._config.is_known(found):
            self._tally.known.add(mark_of(found.violation))

    def _item(self, calls: tuple[PassCall, ...], pipeline: str | None) -> str:
        if pipeline is not None:
            return pipeline
        return self._labels[calls[0].name] if len(calls) == 1 else "sequence"

    def _death(self, block: InFlight, died: Died) -> Iterator[Event]:
        violation, place = death.violation(died), died.position
        if place is None or not (place.calls or place.pipeline):
            yield from self._fault(f"The harness died: {violation.detail}", place)
            return
        first = self._tally.is_new(mark_of(violation), place.item)
        if first:
            found = Found(violation, "", Origin(0, 0, place.stage), place.calls, place.pipeline)
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
                yield Found(violation, module, origin, place.calls, place.pipeline)

    def _fault(self, text: str, place: Position | None) -> Iterator[Event]:
        if self._tally.is_new_fault(text):
            yield Fault(text, place)

    def _progress(self) -> Progress:
        blocks = self._in_flight
        return Progress(
            seconds=self._seconds(),
            modules=self._tally.modules + sum(block.modules for block in blocks),
            checks=self._tally.checks + sum(block.checks for block in blocks),
            violations=self._tally.occurrences.total() + sum(block.violations for block in blocks),
            distinct=len(self._tally.occurrences),
            current=tuple(
                block.position.item or block.position.step
                for block in blocks
                if block.position is not None and not block.done
            ),
            members=self._executor.members(),
        )
