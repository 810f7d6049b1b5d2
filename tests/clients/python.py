"""The Python client as it was packed and installed, and what its tests share."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / "build/clients/python"

if "without-numpy" in sys.argv:
    sys.modules["numpy"] = None  # importing it fails then
sys.path[:0] = [str(INSTALLED), str(ROOT / "tests/support")]


def plain(value):
    """Typed arrays as lists, to compare what CBOR and JSON say."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def same(one, other):
    """Equal by value: 1 and 1.0 are, true and 1 are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
