"""Ops that fill new outputs and hold nothing else: moving, making and looking up elements, random numbers."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import times


def bins_per_thread(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The bins once for each thread and once more."""
    return [times(op.outputs[0].nbytes, env.threads + 1)]


def classes_per_thread(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """A cumulative distribution in float64 for each thread."""
    classes = inputs[0].shape[1] if inputs[0].shape else None
    return [times(classes, 8)] * env.threads


def input_copy(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """A copy of the first input, to work in."""
    return [inputs[0].nbytes]


register("MirrorPadGrad", Rule(cpu_scratch=input_copy, scratch_first=True, source="mirror_pad_op.cc"))
register("Multinomial StatelessMultinomial", Rule(cpu_scratch=classes_per_thread, source="multinomial_op.cc"))
register("Bincount DenseBincount", Rule(cpu_scratch=bins_per_thread, source="bincount_op.cc"))

register(
    "Shape ShapeN Size Rank BroadcastArgs BroadcastGradientArgs InvertPermutation ConcatOffset UnravelIndex",
    Rule(source="shape_ops.h"),
)
register("Const ImmutableConst HostConst", Rule(source="constant_op.cc: held by the kernel"))
register(
    "Fill Range LinSpace OneHot Empty ConcatV2 Concat Where Bucketize", Rule(source="constant_op.cc, sequence_ops.cc")
)
register(
    "Gather GatherV2 GatherNd ScatterNd StridedSliceGrad Reverse ReverseV2 ReverseSequence Roll SpaceToDepth"
    " DepthToSpace SpaceToBatch SpaceToBatchND BatchToSpace BatchToSpaceND ExtractImagePatches"
    " ExtractVolumePatches ParallelDynamicStitch DynamicStitch DynamicPartition Unique UniqueV2 UniqueWithCounts"
    " UniqueWithCountsV2 UpperBound LowerBound ListDiff HistogramFixedWidth TileGrad NthElement",
    Rule(source="gather_op.cc and others: measured"),
)
register(
    "TensorScatterAdd TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin",
    Rule(source="scatter_nd_op.cc: measured, never in place"),
)
register("ScatterNdNonAliasingAdd", Rule(forward=((0, (0,)),), source="scatter_nd_op.cc"))
register("TensorStridedSliceUpdate", Rule(forward=((0, (0,)),), source="strided_slice_op.cc"))
register(
    "RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal RandomGamma RandomShuffle"
    " StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomUniformInt StatelessRandomUniformIntV2"
    " StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomNormal StatelessRandomNormalV2"
    " StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessRandomBinomial StatelessRandomGetKeyCounter"
    " StatelessRandomGetKeyCounterAlg StatelessRandomGetAlg StatelessParameterizedTruncatedNormal"
    " StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomPoisson RandomPoissonV2"
    " ParameterizedTruncatedNormal StatelessShuffle RandomIndexShuffle StatefulUniform StatefulUniformInt"
    " StatefulUniformFullInt StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal"
    " StatefulRandomBinomial NonDeterministicInts StochasticCastToInt SobolSample",
    Rule(source="random_op.cc, stateless_random_ops_v2.cc: measured"),
)
register(
    "UniformCandidateSampler LogUniformCandidateSampler LearnedUnigramCandidateSampler FixedUnigramCandidateSampler"
    " ThreadUnsafeUnigramCandidateSampler AllCandidateSampler ComputeAccidentalHits",
    Rule(source="candidate_sampler_ops.cc"),
)
register("XlaDynamicUpdateSlice", Rule(source="measured: XLA compiles it alone, its output is new"))
register("DeepCopy Copy CopyHost", Rule(source="inplace_ops.cc, debug_ops.cc"))
register("InplaceAdd InplaceSub InplaceUpdate", Rule(view=((0, 0),), source="inplace_ops.cc: measured"))
