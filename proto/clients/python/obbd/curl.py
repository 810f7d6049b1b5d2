"""Requests as commands for a shell."""

from __future__ import annotations

import json
import shlex
from typing import Any

from .transport import Pool


def plain(value: Any) -> Any:
    """For json.dumps: arrays and numbers of numpy as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    try:
        return memoryview(value).tolist()
    except TypeError:
        raise TypeError(f"a {type(value).__name__} has no form in JSON") from None


def curl(pool: Pool, method: str, path: str, headers: dict[str, str], body: Any) -> str:
    """The command that sends the same request; a body in CBOR becomes JSON, and a token $TOKEN."""
    words = ["curl -s -X", method]
    if pool.path is not None:
        words += ["--unix-socket", shlex.quote(pool.path)]
    for name, value in headers.items():
        if name == "Authorization":
            words.append('-H "Authorization: Bearer $TOKEN"')
        elif value not in ("application/json", "application/cbor"):
            words += ["-H", shlex.quote(f"{name}: {value}")]
    if body is not None:
        raw = isinstance(body, (bytes, bytearray, memoryview, str))
        text = body if raw else json.dumps(body, default=plain)
        words += ["--json", shlex.quote(text if isinstance(text, str) else bytes(text).decode())]
    return " ".join([*words, shlex.quote(pool.base + path)])
