"""Values for the codecs of the clients: those of RFC 8949, appendix A, as they are written, bytes in hex and the value;
bytes that are no CBOR; and random values."""

import json

WRITTEN = [
    ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1a000f4240", 1000000), ("1b000000e8d4a51000", 10**12),
    ("1bffffffffffffffff", 2**64 - 1), ("c249010000000000000000", 2**64), ("3bffffffffffffffff", -(2**64)),
    ("c349010000000000000000", -(2**64) - 1), ("20", -1), ("3903e7", -1000), ("fb3ff199999999999a", 1.1), ("fbc010666666666666", -4.1),
    ("fb7e37e43c8800759c", 1e300), ("f4", False), ("f5", True), ("f6", None), ("60", ""), ("6449455446", "IETF"), ("62c3bc", "\u00fc"),
    ("64f0908591", "\U00010151"), ("80", []), ("8301820203820405", [1, [2, 3], [4, 5]]), ("a26161016162820203", {"a": 1, "b": [2, 3]}),
    ("826161a161626163", ["a", {"b": "c"}]), ("826161f6", ["a", None]),
    ("81" * 99 + "80", json.loads("[" * 100 + "]" * 100)),
]  # fmt: skip

# Other ways to write a number, which are read.
READ = [("fa47c35000", 100000), ("c340", -1), ("3b7fffffffffffffff", -(2**63)), ("c240", 0)]

# Trailing bytes, indefinite, an unknown tag, half a number in a typed array, a key that is no text, a simple value, too deep, no UTF-8,
# more items than there are bytes: all are refused.
BROKEN = ["0000", "9fff", "5fff", "d85040", "d8464101", "a10000", "e0", "81" * 130 + "00", "61ff", "9bffffffffffffffff"]


def random_value(numbers, depth=0):
    """A value of JSON, up to five levels deep, by this random.Random."""
    kind = numbers.randrange(5 if depth > 3 else 7)
    if kind == 5:
        return [random_value(numbers, depth + 1) for _ in range(numbers.randrange(40))]
    if kind == 6:
        return {f"{i}\u2603": random_value(numbers, depth + 1) for i in range(numbers.randrange(6))}
    text = "".join(chr(numbers.randrange(0x2000)) for _ in range(numbers.randrange(40)))
    whole = numbers.randrange(-(2 ** numbers.randrange(1, 90)), 2**90) >> numbers.randrange(90)
    return [whole, numbers.uniform(-1, 1) * 10 ** numbers.randrange(-150, 150), text, numbers.random() < 0.5, None][kind]
