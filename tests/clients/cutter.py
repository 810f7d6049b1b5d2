"""A proxy in front of a daemon."""

import socket
import threading


class Cutter:
    """Keeps the answer of its second connection to itself."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answers = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with near, socket.create_connection(("127.0.0.1", self.port)) as far:
                far.sendall(near.recv(1 << 16))
                answer = far.recv(1 << 16)
                self.answers += 1
                if self.answers != 2:
                    near.sendall(answer)
