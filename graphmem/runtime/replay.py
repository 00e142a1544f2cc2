"""A simulated step under an allocator: what it has in use at the peak, and whether a limit is enough.

What a step gets depends on what was allocated and freed before it, so the replay starts where a program does: variables
are made, with what their initial values take on the way; what tracing leaves; the constants of the function; a first
step, to warm up; then the step that is reported, as `tf.config.experimental.get_memory_info` would see it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import lookup
from graphmem.runtime.allocators import Allocator, OutOfMemory, Stats
from graphmem.runtime.liveness import SCRATCH, WORKSPACE, Lifetimes
from graphmem.runtime.making import SMALL_BYTES
from graphmem.runtime.program import Program
from graphmem.runtime.simulate import Simulation
from graphmem.runtime.variables import written_by

#: Stands for the buffer of a variable that was assigned an argument or a constant: it is theirs, and never freed.
CALLERS = -1

#: Steps replayed; the last one is reported.
STEPS = 2


@dataclass(frozen=True)
class Failure:
    """A request that the allocator could not serve.

    Attributes:
        step: 0: the variables do not fit, 1: the first step fails, 2: a later one, though the first did not.
        op: index of the op that asked; `None` before the step.
        requested: bytes that it asked for.
        free: bytes free at that moment, in however many pieces.
        largest_free: the largest of the pieces (bytes).
    """

    step: int
    op: int | None
    requested: int
    free: int
    largest_free: int


@dataclass(frozen=True)
class Allocation:
    """What an allocator made of a step.

    Attributes:
        name: the allocator's.
        base_bytes: in use before the step that is reported.
        peak: the allocator's figures when most was in use; where it fails, until then.
        position: schedule position of that moment, -1 before the step.
        fails: what it could not serve, if anything.
    """

    name: str
    base_bytes: int
    peak: Stats
    position: int
    fails: Failure | None


def replay(simulation: Simulation, allocator: Allocator) -> Allocation:
    """Feed an allocator, new and empty, with what a program asks for up to and in its second step."""
    return Replay(simulation, allocator).run()


class Replay:
    """Requests in order; buffers are numbered anew in every step. `graphmem.runtime.placement` watches one."""

    def __init__(self, simulation: Simulation, allocator: Allocator) -> None:
        self.graph: StepGraph = simulation.graph
        self.lives: Lifetimes = simulation.lifetimes
        self.ops = simulation.schedule.ops
        self.on_gpu = simulation.env.device == "gpu"
        self.allocator = allocator
        self.numbers = 0
        self.step = 0
        self.op: int | None = None
        self.variables: dict[int, int] = {}  # variable -> the buffer it has now
        self.roles: dict[int, str] = {}  # buffer made before the step that no variable has -> why it is there
        self.base, self.peak, self.position = 0, Stats(), -1

    def run(self) -> Allocation:
        """All up to the end of the last step, or up to the request that cannot be served."""
        fails = None
        try:
            self._program()
            self._traced()
            self._constants()
            born, freed = self._events()
            for self.step in range(1, STEPS + 1):
                self._refill()
                self._reset()
                self._replay_step(born, freed)
        except OutOfMemory as error:
            fails = Failure(self.step, self.op, error.requested, error.free, error.largest_free)
        return Allocation(self.allocator.name, self.base, self.peak, self.position, fails)

    # --- before the step

    def _program(self) -> None:
        program = Program(self.graph, self._alloc, self.allocator.free, handles=not self.on_gpu)
        program.run()
        self.variables, self.roles = program.variables, program.roles

    def _traced(self) -> None:
        """Constants that shape inference keeps, in host memory."""
        if not self.on_gpu:
            for _ in range(self.graph.kept_constants):
                self.roles[self._alloc(SMALL_BYTES)] = "constant"

    def _constants(self) -> None:
        """Made once, when the function's kernels are, however often a loop runs them."""
        lives, ops, made = self.lives, self.graph.ops, set()
        for buffer, op in enumerate(lives.op):
            if lives.resident[buffer] and ops[op].type == "Const" and not lives.host[buffer]:
                if (op, lives.slot[buffer]) not in made:
                    self.roles[self._alloc(lives.nbytes[buffer])] = "constant"
                made.add((op, lives.slot[buffer]))

    def _alloc(self, nbytes: int | None) -> int:
        number = self.numbers
        self.numbers += 1
        self.allocator.alloc(number, nbytes or 0)
        return number

    # --- the step

    def _events(self) -> tuple[list[int], list[int]]:
        """Buffers in the order in which a step asks for them, and in the order in which they are given back."""
        lives, ops = self.lives, self.graph.ops
        counted = [buffer for buffer, nbytes in enumerate(lives.nbytes) if nbytes and not lives.host[buffer]]
        kept, before = set(lives.after.values()), set(lives.before.values())
        late = [
            slot == WORKSPACE or (slot == SCRATCH) != _scratch_first(ops[op].type)
            for op, slot in zip(lives.op, lives.slot, strict=True)
        ]
        born = [buffer for buffer in counted if not lives.resident[buffer]]
        born.sort(key=lambda buffer: (lives.born[buffer], late[buffer]))
        freed = [
            buffer for buffer in counted if buffer not in kept and (buffer in before or not lives.resident[buffer])
        ]
        freed.sort(key=lambda buffer: lives.freed[buffer])
        return born, freed

    def _refill(self) -> None:
        """A variable that a branch sets to a constant has memory of its own again after a step that takes the other."""
        emptied = [number for number, buffer in self.variables.items() if buffer == CALLERS]
        if emptied:
            others = written_by(self.graph, sorted(set(range(len(self.graph.ops))) - set(self.ops)))
            for number in sorted(others & set(emptied)):
                self.variables[number] = self._alloc(self.graph.variables[number].nbytes)

    def _reset(self) -> None:
        self.base = self.allocator.in_use
        self.peak, self.position = self.allocator.stats, -1

    def _replay_step(self, born: list[int], freed: list[int]) -> None:
        """Each op's requests, after what the ops before it gave back."""
        lives, allocator, first = self.lives, self.allocator, self.numbers
        self.numbers += len(lives.nbytes)
        held = {buffer: self.variables[number] for number, buffer in lives.before.items()}
        holders = Counter(self.variables.values())
        refused: set[int] = set()

        def free(buffer: int) -> None:
            if buffer in refused:
                return
            number = held.get(buffer, first + buffer)
            holders[number] -= 1
            if holders[number] <= 0 and number != CALLERS:
                allocator.free(number)

        most, gone = self.peak.bytes_in_use, 0
        for buffer in born:
            position = lives.born[buffer]
            while gone < len(freed) and lives.freed[freed[gone]] <= position:
                free(freed[gone])
                gone += 1
            self.op = self.ops[position]
            try:
                allocator.alloc(first + buffer, lives.nbytes[buffer] or 0)
            except OutOfMemory:
                if lives.slot[buffer] != WORKSPACE:
                    raise
                refused.add(buffer)  # the convolution is computed without (DnnScratchAllocator)
            if allocator.in_use > most:
                most = allocator.in_use
                self.peak, self.position = allocator.stats, position
        for buffer in freed[gone:]:
            free(buffer)
        for number, buffer in lives.after.items():
            callers = lives.resident[buffer] and buffer not in held
            self.variables[number] = CALLERS if callers else held.get(buffer, first + buffer)


def _scratch_first(op_type: str) -> bool:
    """Whether a kernel asks for its temporaries before its outputs."""
    rule = lookup(op_type)
    return rule is not None and rule.scratch_first
