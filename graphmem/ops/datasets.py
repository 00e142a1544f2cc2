"""Input pipelines that a step makes or reads: an element counts once the step has it, what the pipeline holds never."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register(
    "IteratorGetNext IteratorGetNextSync MultiDeviceIteratorGetNextFromShard DatasetToSingleElement GetElementAtIndex"
    " QueueDequeue QueueDequeueV2 QueueDequeueMany QueueDequeueManyV2 QueueDequeueUpTo QueueDequeueUpToV2 Unstage",
    Rule(source="iterator_ops.cc, queue_ops.cc, stage_op.cc: tensors of the input pipeline"),
)
register(
    "Iterator IteratorV2 AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 MakeIterator DeleteIterator"
    " IteratorFromStringHandle IteratorFromStringHandleV2 IteratorToStringHandle IteratorGetDevice SerializeIterator"
    " DeserializeIterator MultiDeviceIterator AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3"
    " MultiDeviceIteratorInit MultiDeviceIteratorToStringHandle MultiDeviceIteratorFromStringHandle"
    " DeleteMultiDeviceIterator FIFOQueue FIFOQueueV2 PaddingFIFOQueue PaddingFIFOQueueV2 PriorityQueue"
    " PriorityQueueV2 RandomShuffleQueue RandomShuffleQueueV2 QueueSize QueueSizeV2 QueueClose QueueCloseV2"
    " QueueIsClosed QueueIsClosedV2 StageSize StageClear",
    Rule(source="iterator_ops.cc, fifo_queue_op.cc: handles"),
)
register(
    "AssertCardinalityDataset BatchDataset BatchDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset"
    " DatasetCardinality DirectedInterleaveDataset FilterDataset FinalizeDataset FixedLengthRecordDataset"
    " FixedLengthRecordDatasetV2 FlatMapDataset GeneratorDataset GroupByWindowDataset InterleaveDataset ListDataset"
    " MapAndBatchDataset MapDataset ModelDataset OptimizeDataset OptimizeDatasetV2 OptionsDataset PaddedBatchDataset"
    " PaddedBatchDatasetV2 ParallelBatchDataset ParallelFilterDataset ParallelInterleaveDatasetV2"
    " ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 PrefetchDataset"
    " RandomDataset RandomDatasetV2 RangeDataset RebatchDatasetV2 RepeatDataset ScanDataset ShardDataset"
    " ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset"
    " SnapshotDatasetV2 SparseTensorSliceDataset TakeDataset TakeWhileDataset TensorDataset TensorSliceDataset"
    " TextLineDataset TFRecordDataset TFRecordDatasetV2 UnbatchDataset UniqueDataset WindowDataset WindowOp ZipDataset"
    " WrapDatasetVariant UnwrapDatasetVariant",
    Rule(source="data/*_dataset_op.cc: they describe a pipeline, which runs beside the step"),
)
