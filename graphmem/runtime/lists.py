"""TensorLists: host objects that hold references to the buffers of their elements (list_kernels.{h,cc})."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class TensorList:
    """One list object.

    Attributes:
        elements: buffers held, one reference each, in the order they came.
        holders: values and lists that hold this object.
        cursor: the next element that a read takes; reads of loops go through a list in order.
    """

    elements: list[int] = field(default_factory=list)
    holders: int = 0
    cursor: int = 0

    def read(self) -> int | None:
        """The buffer of the element read next; `None` for a list without elements."""
        if not self.elements:
            return None
        buffer = self.elements[self.cursor % len(self.elements)]
        self.cursor += 1
        return buffer
