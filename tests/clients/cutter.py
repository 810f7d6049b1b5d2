"""Proxies in front of a daemon, a request for each connection; a server that takes its time."""

import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Gives each connection to `talk`, which has a connection to the daemon beside it."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.joined, args=(near,), daemon=True).start()

    def joined(self, near):
        with near, socket.create_connection(("127.0.0.1", self.port)) as far:
            self.talk(near, far)


class Cutter(Proxy):
    """Keeps the answer of its second connection to itself."""

    def __init__(self, port):
        self.answers = 0
        super().__init__(port)

    def talk(self, near, far):
        far.sendall(near.recv(1 << 16))
        answer = far.recv(1 << 16)
        self.answers += 1
        if self.answers != 2:
            near.sendall(answer)


class Prefixed(Proxy):
    """Shows a daemon below /below/it, and nothing elsewhere."""

    def __init__(self, port):
        self.requests = []
        super().__init__(port)
        self.url += "/below/it"

    def talk(self, near, far):
        line, rest = near.recv(1 << 16).split(b"\r\n", 1)
        self.requests.append(line.decode())
        if b" /below/it/" not in line:
            near.sendall(b"HTTP/1.1 404 Elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        far.sendall(line.replace(b" /below/it/", b" /") + b"\r\nConnection: close\r\n" + rest)
        with suppress(OSError):  # a stream is left in the middle
            while part := far.recv(1 << 16):
                near.sendall(part)


class Slow:
    """Takes what it is sent, at most 16 MiB a second, and says nothing."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self.take, args=(near,), daemon=True).start()

    def take(self, near):
        with near, suppress(OSError):
            while near.recv(1 << 18):
                time.sleep(1 / 64)
