"""What a process that is forked must leave to the one that it comes from."""

from __future__ import annotations

import os
import weakref
from typing import Any

# What is of this process: `forked` of each runs in a process that is forked from it.
OWN: weakref.WeakSet[Any] = weakref.WeakSet()


def _forked() -> None:
    for one in list(OWN):
        one.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
