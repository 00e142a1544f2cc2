"""Ops that fill new outputs and hold nothing else: moving, making and looking up elements, random numbers."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register(
    "Shape ShapeN Size Rank BroadcastArgs BroadcastGradientArgs InvertPermutation ConcatOffset UnravelIndex",
    Rule(source="shape_ops.h"),
)
register("Const", Rule(source="constant_op.cc: held by the kernel"))
register("Fill Range LinSpace OneHot Empty Pack Where Bucketize", Rule(source="constant_op.cc, sequence_ops.cc"))
register(
    "Gather GatherV2 GatherNd ScatterNd StridedSliceGrad Reverse ReverseV2 ReverseSequence Roll SpaceToDepth"
    " DepthToSpace SpaceToBatch SpaceToBatchND BatchToSpace BatchToSpaceND ExtractImagePatches"
    " ExtractVolumePatches ParallelDynamicStitch DynamicStitch DynamicPartition Unique UniqueV2 UniqueWithCounts"
    " UniqueWithCountsV2 SearchSorted UpperBound LowerBound DenseBincount Bincount ListDiff HistogramFixedWidth"
    " TileGrad MirrorPadGrad NthElement",
    Rule(source="gather_op.cc and others: measured"),
)
register(
    "TensorScatterAdd TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin"
    " ScatterNdNonAliasingAdd TensorStridedSliceUpdate",
    Rule(forward=((0, (0,)),), source="scatter_nd_op.cc"),
)
register(
    "RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal RandomGamma RandomShuffle Multinomial"
    " StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomUniformInt StatelessRandomUniformIntV2"
    " StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomNormal StatelessRandomNormalV2"
    " StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessMultinomial StatelessRandomBinomial"
    " StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomGetAlg"
    " StatelessParameterizedTruncatedNormal StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomPoisson"
    " RandomPoissonV2 ParameterizedTruncatedNormal StatelessShuffle",
    Rule(source="random_op.cc, stateless_random_ops_v2.cc: measured"),
)
