"""The ids of a scene's boxes by their names, as far as the client was told."""

from __future__ import annotations

import threading
from typing import Any, Iterable, Mapping


def _copy(numbers: memoryview) -> memoryview:
    return memoryview(bytes(numbers.cast("B"))).cast(numbers.format)


class Known:
    """A dictionary that learns columns late. A first load tells 100,000 ids, and most programs keep the array and ask for no name,
    so the newest columns wait until somebody asks. For any number of threads."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._columns: tuple[list[str], list[int] | memoryview] | None = None
        self._lock = threading.Lock()

    def _learned(self) -> dict[str, int]:
        if self._columns is not None:
            names, ids = self._columns
            self._columns = None
            self._ids.update(zip(names, ids))
        return self._ids

    def tell(self, ids: Mapping[str, int]) -> None:
        with self._lock:
            self._learned().update(ids)

    def tell_columns(self, names: Iterable[str], ids: Any) -> None:
        """The ids are a list or an array. The caller may change both afterwards."""
        kept: list[int] | memoryview = ids[:] if isinstance(ids, list) else _copy(memoryview(ids))
        columns = list(names), kept
        with self._lock:
            self._learned()
            self._columns = columns

    def forget(self, names: Iterable[str]) -> None:
        with self._lock:
            known = self._learned()
            for name in names:
                known.pop(name, None)

    def clear(self) -> None:
        with self._lock:
            self._columns = None
            self._ids = {}

    def ids(self, names: Iterable[str]) -> list[int]:
        """Raises KeyError with the first name that is not known."""
        with self._lock:
            known = self._learned()
            return [known[name] for name in names]

    def missing(self, names: Iterable[str]) -> set[str]:
        """Those whose ids are not known."""
        with self._lock:
            return set(names) - self._learned().keys()
