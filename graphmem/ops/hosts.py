"""Ops that work on the host, on strings, tables, files, generators and options: no tensor of a step is copied."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register(
    "LookupTableFind LookupTableFindV2 LookupTableSize LookupTableSizeV2 LookupTableInsert LookupTableInsertV2"
    " LookupTableRemoveV2 LookupTableExport LookupTableExportV2 LookupTableImport LookupTableImportV2 HashTable"
    " HashTableV2 MutableHashTable MutableHashTableV2 MutableHashTableOfTensors MutableHashTableOfTensorsV2"
    " MutableDenseHashTable MutableDenseHashTableV2 AnonymousHashTable AnonymousMutableHashTable"
    " AnonymousMutableHashTableOfTensors AnonymousMutableDenseHashTable InitializeTable InitializeTableV2"
    " InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableFromDataset",
    Rule(source="lookup_table_op.cc: entries are the table's"),
)
register(
    "AsString StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber StringLower StringUpper"
    " _TensorToHashBucketFast StringStrip StringLength StringJoin StringFormat StringSplit StringSplitV2 StringNGrams"
    " Substr ReduceJoin UnsortedSegmentJoin RegexReplace StaticRegexReplace RegexFullMatch StaticRegexFullMatch"
    " UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode UnicodeTranscode UnicodeScript EncodeBase64 DecodeBase64"
    " Fingerprint",
    Rule(source="as_string_op.cc, string_split_op.cc, unicode_ops.cc and others"),
)
register(
    "DecodeRaw DecodePaddedRaw DecodeCSV DecodeCompressed DecodeJSONExample DecodeProtoV2 EncodeProto ParseTensor"
    " SerializeTensor ParseExample ParseExampleV2 ParseSingleExample ParseSequenceExample ParseSequenceExampleV2"
    " ParseSingleSequenceExample",
    Rule(source="decode_raw_op.cc, example_parsing_ops.cc and others"),
)
register(
    "ReadFile WriteFile MatchingFiles ShardedFilename ShardedFilespec Save SaveV2 SaveSlices Restore RestoreV2"
    " RestoreSlice MergeV2Checkpoints",
    Rule(source="io_ops.cc, save_restore_v2_ops.cc"),
)
register(
    "WriteSummary WriteScalarSummary WriteHistogramSummary WriteImageSummary WriteAudioSummary WriteRawProtoSummary"
    " WriteGraphSummary ImportEvent SummaryWriter CreateSummaryFileWriter CreateSummaryDbWriter FlushSummaryWriter"
    " CloseSummaryWriter ScalarSummary HistogramSummary ImageSummary AudioSummary AudioSummaryV2 TensorSummary"
    " TensorSummaryV2 MergeSummary",
    Rule(source="summary_kernels.cc, summary_op.cc"),
)
register("RngReadAndSkip RngSkip", Rule(source="stateful_random_ops.cc"))
register(
    "AnonymousSeedGenerator AnonymousRandomSeedGenerator DeleteSeedGenerator DeleteRandomSeedGenerator"
    " DummySeedGenerator DummyMemoryCache DummyIterationCounter DeviceIndex Timestamp GraphDefVersion"
    " IsResourceHandleRefCounting MutexV2 MutexLock ConsumeMutexLock DisableCopyOnRead",
    Rule(source="random_seed_ops.cc, device_index_op.cc, mutex_ops.cc and others"),
)
register("OptionalHasValue", Rule(source="optional_ops.cc"))
register("DataFormatDimMap DataFormatVecPermute", Rule(source="data_format_ops.cc"))
register("_Copy", Rule(source="graph_partition.cc: a copy between host and device, made by the trace"))
