"""Protocol buffer messages made at run time from a table of the fields that matter.

So files of TensorFlow and XLA are read without importing TensorFlow and with whatever version of protobuf is there.
Field numbers are those of the public protos, which never reuse one; fields that are not listed are skipped.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def message_class(package: str, root: str, fields: tuple[tuple[str, str], ...]) -> Any:
    """The class of the message `root`.

    Args:
        package: a name of the caller's own, so that two tables never meet.
        root: the message wanted.
        fields: (message, its fields), each field "number name type", a star after the name of a repeated one; the type
            is another message of the table or a scalar type of protobuf.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds, known = descriptor_pb2.FieldDescriptorProto, {name for name, _ in fields}
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, text in fields:
        message = file.message_type.add(name=name)
        for said in text.split(", "):
            number, field, kind = said.split()
            label = kinds.LABEL_REPEATED if field.endswith("*") else kinds.LABEL_OPTIONAL
            entry = message.field.add(name=field.rstrip("*"), number=int(number), label=label)
            if kind in known:
                entry.type, entry.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                entry.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{root}"))
