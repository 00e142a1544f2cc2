"""Ops that work on the host, on strings, tables, generators and options: nothing of a step's tensors is copied."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register("LookupTableFindV2 LookupTableSizeV2 HashTableV2 MutableHashTableV2", Rule(source="lookup_table_op.cc"))
register(
    "AsString StringToHashBucketFast StringToHashBucketStrong StringToNumber StringLower",
    Rule(source="as_string_op.cc"),
)
register("RngReadAndSkip RngSkip", Rule(source="stateful_random_ops.cc"))
register("OptionalNone OptionalHasValue", Rule(source="optional_ops.cc"))
register("DataFormatDimMap DataFormatVecPermute", Rule(source="data_format_ops.cc"))
register("_Copy", Rule(source="graph_partition.cc: a copy between host and device, made by the trace"))
