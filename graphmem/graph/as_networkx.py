"""The public face of a simulated step: a networkx DAG of tensors with lifetimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphmem.graph.model import Op, Tensor

if TYPE_CHECKING:
    import networkx

    from graphmem.runtime.simulate import Simulation

SCRATCH, COPY, WORKSPACE = -1, -2, -3
"""What stands in `Lifetimes.slot` for buffers that hold no tensor of the graph."""


def as_networkx(simulation: Simulation) -> networkx.DiGraph:
    """The step as a DAG: nodes are tensors, named `op:slot`, edges go from each tensor an op reads to each it writes.

    Values are texts, integers and booleans, so that `networkx.write_graphml` takes them; what is unknown is left out.

    Node attributes:
        op, type, phase, scope, source: of the op that writes it ("" for no scope or source).
        role: why its buffer exists, one of `graphmem.graph.model.ROLES`.
        dtype: TensorFlow's name.
        shape: "8x224x224x3", "?" for an unknown dimension, "scalar"; missing for an unknown rank.
        bytes: what the tensor alone would take, or all temporaries of one run of the op; missing if unknown.
        kind: "new": it has a buffer of its own; "shared": it lies in an earlier tensor's (a view, or taken over);
            "resident": in one that outlives the step (variables, arguments, constants); "none": it takes no memory;
            "skipped": its op does not run, being on a branch not taken; "scratch": an op's temporaries, node
            `op:scratch`; "workspace": cuDNN's, node `op:workspace`; "copy": the copy of a
            variable made to update it, node `op:copy`.
        host: whether it lies in host memory during a step on a GPU.
        buffer: number of its buffer; tensors of one buffer share it. Missing if it has none.
        born, freed: schedule positions between which its buffer is alive, half-open; in loops over all iterations.
        last_reader: the op that uses the buffer last; missing if nobody reads it.
        at_peak: whether a buffer that it made or shares is part of the peak.
        peak_bytes: what it adds to the peak: the bytes of the buffers it made that are alive then. Over all nodes they
            add up to the step's peak.

    Edge attributes: op, type: of the op that reads one and writes the other.

    Graph attributes: peak_bytes, peak_position, peak_op, positions.

    The back edges of loops (NextIteration to Merge) are left out: it is a DAG. Control edges carry no tensor and are
    left out too.

    >>> dag = as_networkx(simulation)                                       # doctest: +SKIP
    >>> alive = [name for name, at_peak in dag.nodes(data="at_peak") if at_peak]  # doctest: +SKIP
    """
    import networkx

    dag = networkx.DiGraph()
    ops = simulation.graph.ops
    for op in ops:
        for slot, tensor in enumerate(op.outputs):
            dag.add_node(f"{op.name}:{slot}", **_of_op(op), **_of_tensor(tensor), kind="skipped")
    _add_values(dag, simulation)
    _add_buffers(dag, simulation)
    for op in ops:
        for producer, source in op.inputs:
            if op.type.endswith("Merge") and ops[producer].type.endswith("NextIteration"):
                continue
            for slot in range(len(op.outputs)):
                dag.add_edge(f"{ops[producer].name}:{source}", f"{op.name}:{slot}", op=op.name, type=op.type)
    dag.graph.update(peak_bytes=simulation.peak, positions=len(simulation.schedule.ops))
    if simulation.schedule.ops:
        peak_op = ops[simulation.schedule.ops[simulation.position]].name
        dag.graph.update(peak_position=simulation.position, peak_op=peak_op)
    return dag


def _of_op(op: Op) -> dict[str, Any]:
    return {
        "op": op.name,
        "type": op.type,
        "role": op.role,
        "phase": op.phase,
        "scope": op.scope,
        "source": op.source,
        "at_peak": False,
        "peak_bytes": 0,
    }


def _of_tensor(tensor: Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {"dtype": tensor.dtype, "host": tensor.host}
    if tensor.shape is not None:
        found["shape"] = "x".join("?" if dim is None else str(dim) for dim in tensor.shape) or "scalar"
    if tensor.nbytes is not None:
        found["bytes"] = tensor.nbytes
    return found


def _add_values(dag: networkx.DiGraph, simulation: Simulation) -> None:
    """Where each tensor lies and how long; a tensor in a loop has a value per iteration."""
    ops, schedule, lives = simulation.graph.ops, simulation.schedule, simulation.lifetimes
    for index, first in zip(schedule.ops, schedule.values, strict=True):
        for slot in range(len(ops[index].outputs)):
            node = dag.nodes[f"{ops[index].name}:{slot}"]
            buffer = lives.value_buffer[first + slot]
            if buffer < 0:
                node["kind"] = "none"
                continue
            own = lives.op[buffer] == index and lives.slot[buffer] == slot
            node["kind"] = "resident" if lives.resident[buffer] else "new" if own else "shared"
            _extend(node, simulation, buffer)


def _add_buffers(dag: networkx.DiGraph, simulation: Simulation) -> None:
    """What each buffer adds to the peak, and nodes for those that hold no tensor of the graph."""
    lives, ops = simulation.lifetimes, simulation.graph.ops
    for buffer, (index, slot) in enumerate(zip(lives.op, lives.slot, strict=True)):
        if slot >= 0:
            name = f"{ops[index].name}:{slot}"
        else:
            kind = {SCRATCH: "scratch", COPY: "copy", WORKSPACE: "workspace"}[slot]
            name = f"{ops[index].name}:{kind}"
            if name not in dag:
                role = "scratch" if slot in (SCRATCH, WORKSPACE) else ops[index].role
                dag.add_node(name, **{**_of_op(ops[index]), "role": role, "kind": kind, "host": lives.host[buffer]})
                dag.nodes[name]["bytes"] = 0
            node = dag.nodes[name]
            _extend(node, simulation, buffer)
            if lives.nbytes[buffer] is None:
                node.pop("bytes", None)
            elif "bytes" in node and lives.born[buffer] == node["born"]:
                node["bytes"] += lives.nbytes[buffer]
        if _at_peak(simulation, buffer):
            dag.nodes[name]["peak_bytes"] += lives.nbytes[buffer] or 0


def _extend(node: dict[str, Any], simulation: Simulation, buffer: int) -> None:
    """Add a buffer to the life of a node."""
    lives, schedule = simulation.lifetimes, simulation.schedule
    node["buffer"] = buffer
    node["born"] = min(node.get("born", lives.born[buffer]), lives.born[buffer])
    node["freed"] = max(node.get("freed", lives.freed[buffer]), lives.freed[buffer])
    node["at_peak"] = node["at_peak"] or _at_peak(simulation, buffer)
    if lives.last[buffer] >= 0:
        node["last_reader"] = simulation.graph.ops[schedule.ops[lives.last[buffer]]].name


def _at_peak(simulation: Simulation, buffer: int) -> bool:
    lives = simulation.lifetimes
    if lives.resident[buffer] or lives.host[buffer]:
        return False
    return lives.born[buffer] <= simulation.position < lives.freed[buffer]
