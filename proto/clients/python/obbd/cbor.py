"""CBOR (RFC 8949) with typed arrays (RFC 8746), as far as the contract uses them."""

from __future__ import annotations

import struct
from array import array
from typing import Any

from .arrays import LITTLE, is_array, view

TAG_OF = {"B": 64, "I": 70, "f": 85, "d": 86}
CODE_OF = {tag: code for code, tag in TAG_OF.items()}
SIZE_OF = {64: 1, 70: 4, 85: 4, 86: 8}
DEPTH = 128  # levels: 64 of an answer, and 64 of data in it

_DOUBLE = struct.Struct(">Bd")


def needs_cbor(value: Any) -> bool:
    """Is there a typed array in the value?"""
    if isinstance(value, dict):
        return any(map(needs_cbor, value.values()))
    if isinstance(value, (list, tuple)):
        return bool(value) and not isinstance(value[0], (int, float, str)) and any(map(needs_cbor, value))
    return is_array(value)


def _head(major: int, n: int) -> bytes:
    major <<= 5
    if n < 24:
        return bytes((major | n,))
    if n < 0x100:
        return bytes((major | 24, n))
    if n < 0x10000:
        return struct.pack(">BH", major | 25, n)
    if n < 0x100000000:
        return struct.pack(">BI", major | 26, n)
    return struct.pack(">BQ", major | 27, n)


def _integer(n: int) -> bytes:
    major, magnitude = (0, n) if n >= 0 else (1, -1 - n)
    if magnitude < 1 << 64:
        return _head(major, magnitude)
    digits = magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big")
    return _head(6, 2 + major) + _head(2, len(digits)) + digits


def _text(text: str) -> bytes:
    written = text.encode()
    return _head(3, len(written)) + written


# Heads of texts by their length. Below 128 they are ASCII themselves, so that many short texts are joined and encoded at once.
_TEXT_HEADS = [_head(3, length).decode() for length in range(128)]


def _texts(texts: list | tuple) -> bytes | None:
    """The texts one after the other, or None if this way does not fit: one of them is long, or not ASCII, or no text."""
    try:
        joined = "".join([_TEXT_HEADS[len(text)] + text for text in texts])
    except (IndexError, TypeError):
        return None
    return joined.encode() if joined.isascii() else None


class _Writer:
    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.block = bytearray()

    def flush(self) -> None:
        if self.block:
            self.parts.append(self.block)
            self.block = bytearray()

    def typed(self, value: Any) -> None:
        given = memoryview(value)
        code = "I" if given.format == "L" and given.itemsize == 4 else given.format
        if code not in TAG_OF or not given.c_contiguous:
            self.value(given.tolist())  # a type that has no tag, or does not lie in one piece
            return
        if not LITTLE:
            swapped = array(code, given.tobytes())
            swapped.byteswap()
            given = memoryview(swapped)
        self.block += _head(6, TAG_OF[code]) + _head(2, given.nbytes)
        if given.nbytes <= 512:
            self.block += given.tobytes()
            return
        self.flush()
        self.parts.append(given.cast("B") if given.ndim == 1 else given.cast("B", (given.nbytes,)))

    def value(self, value: Any) -> None:
        if value is None:
            self.block += b"\xf6"
        elif value is True:
            self.block += b"\xf5"
        elif value is False:
            self.block += b"\xf4"
        elif isinstance(value, str):
            self.block += _text(value)
        elif isinstance(value, float):
            self.block += _DOUBLE.pack(0xFB, value)
        elif isinstance(value, int):
            self.block += _integer(value)
        elif isinstance(value, dict):
            self.block += _head(5, len(value))
            for key, member in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"found the key {key!r}; keys of objects are texts")
                self.block += _text(key)
                self.value(member)
        elif isinstance(value, (list, tuple)):
            self.block += _head(4, len(value))
            texts = _texts(value) if value and isinstance(value[0], str) else None
            if texts is not None:
                self.block += texts
            else:
                for item in value:
                    self.value(item)
        elif is_array(value) and memoryview(value).ndim > 0:
            self.typed(value)
        elif hasattr(value, "item"):
            self.value(value.item())  # a single number of numpy
        else:
            raise TypeError(f"a {type(value).__name__} has no form in CBOR")


def encode(value: Any) -> list[Any]:
    """The value as CBOR, in parts to be sent one after the other.

    A typed array of more than 512 bytes is a part of its own, which lies where the array lies: do not
    change the array before the parts are sent.
    """
    writer = _Writer()
    writer.value(value)
    writer.flush()
    return writer.parts


class _Reader:
    def __init__(self, body: Any):
        self.body = memoryview(body)
        self.at = 0

    def take(self, size: int) -> int:
        at = self.at
        if size > len(self.body) - at:
            raise ValueError(f"the CBOR ends too early: {size} bytes are missing behind byte {at}")
        self.at += size
        return at

    def number(self, info: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise ValueError(f"a length of unknown form before byte {self.at} of the CBOR")
        size = 1 << (info - 24)
        at = self.take(size)
        return int.from_bytes(self.body[at : at + size], "big")

    def length(self, info: int) -> int:
        n = self.number(info)
        if n > len(self.body) - self.at:
            raise ValueError(f"the CBOR ends too early: {n} items are missing behind byte {self.at}")
        return n

    def text(self, info: int) -> str:
        size = self.length(info)
        at = self.take(size)
        return str(self.body[at : at + size], "utf-8")

    def tagged(self, tag: int, plain: bool) -> Any:
        first = self.body[self.take(1)]
        if first >> 5 != 2:
            raise ValueError(f"the tag {tag} before byte {self.at} of the CBOR wants bytes")
        size = self.length(first & 31)
        at = self.take(size)
        if tag in (2, 3):
            magnitude = int.from_bytes(self.body[at : at + size], "big")
            return magnitude if tag == 2 else -1 - magnitude
        if tag not in CODE_OF or size % SIZE_OF[tag] != 0:
            raise ValueError(f"the tag {tag} before byte {at} of the CBOR is unknown")
        if plain and tag == 86:
            return list(struct.unpack_from(f"<{size // 8}d", self.body, at))
        return view(self.body, at, size, CODE_OF[tag])

    def value(self, depth: int, plain: bool) -> Any:
        if depth > DEPTH:
            raise ValueError(f"the CBOR has more than {DEPTH} levels")
        first = self.body[self.take(1)]
        major, info = first >> 5, first & 31
        if major == 0:
            return self.number(info)
        if major == 1:
            return -1 - self.number(info)
        if major == 2:
            size = self.length(info)
            at = self.take(size)
            return self.body[at : at + size].tobytes()
        if major == 3:
            return self.text(info)
        if major == 4:
            return [self.value(depth + 1, plain) for _ in range(self.length(info))]
        if major == 5:
            members = {}
            for _ in range(self.length(info)):
                head = self.body[self.take(1)]
                if head >> 5 != 3:
                    raise ValueError(f"a key before byte {self.at} of the CBOR is no text")
                key = self.text(head & 31)
                members[key] = self.value(depth + 1, plain and key != "columns")
            return members
        if major == 6:
            return self.tagged(self.number(info), plain)
        if info in (20, 21):
            return info == 21
        if info == 22:
            return None
        if info == 26:
            return struct.unpack_from(">f", self.body, self.take(4))[0]
        if info == 27:
            return struct.unpack_from(">d", self.body, self.take(8))[0]
        raise ValueError(f"a simple value before byte {self.at} of the CBOR is unknown")


def decode(body: Any) -> Any:
    """The value of CBOR.

    Arrays of ids, and the arrays inside `columns`, are typed: views on the body where they are
    aligned, else copies. Other arrays of doubles are vectors, rotations and matrices: lists, as in
    JSON.
    """
    reader = _Reader(body)
    value = reader.value(0, True)
    if reader.at < len(reader.body):
        raise ValueError(f"the CBOR goes on behind its value, at byte {reader.at}")
    return value
