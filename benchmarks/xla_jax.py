"""Have JAX's own XLA compile a module and run it once, on the first device of this machine; TensorFlow is not needed.

    XLA_FLAGS=--xla_gpu_autotune_level=0 python benchmarks/xla_jax.py benchmarks/xla_modules/mlp.hlo.pb.gz

Prints one line of JSON: `device`, `jax`, bytes of `temp`, `output` (what results take besides the parameters that they
are written over), `arguments`, and `peak`: the most that was in use while the module ran, arguments included; null
where the device does not tell, or where compiling took more. A process of its own, as XLA reads its flags once.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> None:
    """Measure the module that the command line names."""
    print(json.dumps(measure(gzip.decompress(Path(sys.argv[1]).read_bytes()))))


def measure(module: bytes) -> dict[str, Any]:
    """What JAX says of a serialized `HloModuleProto`, and what its device does while it runs on zeros."""
    import jax
    import numpy as np
    from jax._src.lib import _jax, xla_client

    jax.config.update("jax_enable_x64", True)  # else int64 parameters are cut to int32
    device = jax.devices()[0]
    program = xla_client.XlaComputation(without_copies(module))
    text = _jax.mlir.xla_computation_to_mlir_module(program)
    devices = xla_client.DeviceList((device,))
    executable = device.client.compile_and_load(text, devices, xla_client.CompileOptions())
    sizes = executable.get_compiled_memory_stats()
    before = device.memory_stats()
    shapes = program.program_shape().parameter_shapes()
    given = [jax.device_put(np.zeros(shape.dimensions(), shape.numpy_dtype()), device) for shape in shapes]
    for result in executable.execute(given):
        result.block_until_ready()
    return {
        "device": device.device_kind,
        "jax": jax.__version__,
        "temp": sizes.temp_size_in_bytes,
        "output": sizes.output_size_in_bytes - sizes.alias_size_in_bytes,
        "arguments": sizes.argument_size_in_bytes,
        "peak": peak_of_run(before, device.memory_stats()),
    }


def peak_of_run(before: dict[str, int] | None, after: dict[str, int] | None) -> int | None:
    """The most that was in use since `before` beyond what was in use then; `None` if the device does not tell.

    The device keeps one peak for the whole process: if compiling took more than running did, it tells nothing of that.
    """
    if not before or not after or after["peak_bytes_in_use"] <= before["peak_bytes_in_use"]:
        return None
    return after["peak_bytes_in_use"] - before["bytes_in_use"]


def without_copies(module: bytes) -> bytes:
    """The module with a `reshape` for each `copy`, which JAX's way into XLA does not take, and XLA makes anew."""
    from graphmem.xla.proto import parse_module

    proto = parse_module(module)
    for computation in proto.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "copy":
                instruction.opcode = "reshape"
    return bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()
