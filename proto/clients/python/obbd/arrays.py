"""Arrays of numbers: of numpy where it is there, else memoryviews."""

from __future__ import annotations

import sys
from array import array
from typing import Any

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

LITTLE = sys.byteorder == "little"
NUMPY_TYPE = {"B": "u1", "I": "u4", "f": "f4", "d": "f8"}


def is_array(value: Any) -> bool:
    """Is this an object with a buffer, as arrays of numpy and array.array are? Bytes are not."""
    if isinstance(value, (bytes, bytearray, str, list, tuple, dict, int, float, bool)) or value is None:
        return False
    try:
        memoryview(value).release()
    except (TypeError, BufferError):
        return False
    return True


def number(value: Any) -> Any:
    """The value if it is a single number, also one of numpy; else None."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    return value if isinstance(value, (int, float)) else None


def view(body: memoryview, at: int, size: int, code: str) -> Any:
    """The numbers at this place of a body: a view, or one copy where they are not aligned."""
    part = body[at : at + size]
    if not LITTLE:
        numbers = array(code, part.tobytes())
        numbers.byteswap()
        part = memoryview(numbers).cast("B")
    if numpy is None:
        return part.cast(code)
    found = numpy.frombuffer(part, NUMPY_TYPE[code])
    return found if found.flags.aligned else found.copy()


def _converted(values: Any, code: str, keep: str) -> Any:
    """The values as a flat array that is sent as it lies; no copy if it is one of type code or `keep` already."""
    if numpy is not None:
        found = numpy.asarray(values)
        if code == "I" and found.size and (found.min() < 0 or found.max() >= 2**32):
            raise ValueError("an id that is sent in an array is 1 to 4294967295")
        wanted = NUMPY_TYPE[keep if keep and found.dtype == numpy.dtype(NUMPY_TYPE[keep]) else code]
        return numpy.ascontiguousarray(found, wanted).reshape(-1)
    if is_array(values):
        given = memoryview(values)
        if given.format in (code, keep) and given.c_contiguous:
            return given.cast("B").cast(given.format)
        values = given.tolist()
    flat = [number for row in values for number in row] if len(values) and hasattr(values[0], "__len__") else values
    return array(code, flat)


def floats(values: Any) -> Any:
    """Numbers of any shape as a flat array of doubles, or of floats if they are that already."""
    return _converted(values, "d", "f")


def ids(values: Any) -> Any:
    """Ids as a flat array of 32 bits."""
    return _converted(values, "I", "")


def rows(values: Any, width: int) -> Any:
    """A flat array as rows of so many numbers. Without numpy it stays flat."""
    return values.reshape(-1, width) if numpy is not None and not isinstance(values, list) else values


def width(values: Any) -> int | None:
    """How many numbers a row has; None if the values are flat, or none."""
    if hasattr(values, "shape"):
        return values.shape[-1] if len(values.shape) > 1 else None
    return len(values[0]) if len(values) and hasattr(values[0], "__len__") else None


def count(values: Any) -> int:
    """How many numbers there are, in all rows."""
    return values.size if hasattr(values, "size") else len(values)
