"""Starts the daemon as a part of this program."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .client import Client
from .forked import OWN
from .transport import Pool

# The shell ends the daemon when its standard input closes, and that happens however this program ends.
GUARD = '"$@" </dev/null & pid=$!; exec >&- 2>&-; read -r _; kill "$pid"; wait "$pid"; rmdir "$0"'

# Variables of the clients. The daemon refuses a variable that begins like its own and is none of them.
OURS = ("OBBD_BIN", "OBBD_URL", "OBBD_TOKEN", "OBBD_DEBUG")


def _binary_of(binary: str | None) -> str:
    own = Path(__file__).parent / "bin" / "obbd"
    return binary or os.environ.get("OBBD_BIN") or (str(own) if own.exists() else "obbd")


def _arguments(options: dict[str, Any]) -> list[str]:
    """history=2000 is --history=2000, demo=True is --demo, and a list repeats its option."""
    arguments = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not False and one is not None:
                arguments.append(option if one is True else f"{option}={one}")
    return arguments


class _Guard:
    """The shell that ends the daemon."""

    def __init__(self, command: list[str], folder: str):
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, folder, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name not in OURS},
            start_new_session=True,  # a Ctrl-C is for this program, which then ends the daemon
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.said, self.held = self.process.stdout, self.process.stdin
        OWN.add(self)

    def forked(self) -> None:
        """This is another process now. The daemon ends with the one before."""
        self.held.close()
        self.said.close()

    def end(self) -> None:
        self.held.close()
        self.said.close()
        self.process.wait()


def spawn(binary: str | None = None, *, token: Any = None, timeout: float = 10.0, retries: int = 3, **options: Any) -> Client:
    """Starts the daemon on a unix socket, which the client uses, and on a free port of loopback, for the web editor.

    binary    the daemon; by default OBBD_BIN, then bin/obbd of this package, then obbd on the PATH; an empty name counts as none
    options   of the daemon, as history=2000 for --history=2000

    It ends with `close`, at the end of a `with`, or with this program.
    """
    folder = tempfile.mkdtemp(prefix="obbd-")
    address = f"unix:{folder}/socket"
    command = [_binary_of(binary), "--listen", address, "--listen", "127.0.0.1:0", "--log-level", "warn", *_arguments(options)]
    guard = _Guard(command, folder)
    page = ""
    ready = False
    for line in iter(guard.said.readline, b""):
        found = re.search(rb"listening on (https?:\S+)", line)
        page = found.group(1).decode() if found else page
        ready = ready or address.encode() in line
        if page and ready:
            return Client(Pool(address, page), token, timeout, retries, guard.end)
    guard.end()
    raise RuntimeError(f"the daemon {command[0]} did not start: see its message on standard error")
