#!/usr/bin/env python3
"""bad_server.py BEHAVIOUR.json - a server for each row of the file, which misbehaves as the row says.

It prints one line of JSON: the address of each row's server, by the name of the row. A server
answers each request with the next entry of the row's `serve`. For each line of its standard input, a
name, it prints a line of JSON: the requests that arrived, and the connections with the milliseconds
at which each was opened and closed by the client. It ends when its standard input closes.
"""

import json
import socket
import sys
import threading
import time


class BadServer:
    def __init__(self, serve):
        self.serve = list(serve)
        self.lock = threading.Lock()
        self.requests = []
        self.connections = []
        self.open = set()
        self.begun = time.monotonic()
        self.listener = None
        self.port = 0
        self.listen()

    def listen(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen()
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(connection)
                self.connections.append({"opened": self.now(), "closed": None})
                number = len(self.connections) - 1
            threading.Thread(target=self.talk, args=(connection, number), daemon=True).start()

    def now(self):
        return round((time.monotonic() - self.begun) * 1000)

    def talk(self, connection, number):
        reader = connection.makefile("rb")
        try:
            while True:
                at_once = len(connection.recv(1 << 16, socket.MSG_PEEK))  # what one write brought, if it is small
                request = self.read(reader)
                if request is None:
                    self.connections[number]["closed"] = self.now()
                    break
                request["whole"] = at_once >= request.pop("size")
                with self.lock:
                    request.update(connection=number, at=self.now())
                    self.requests.append(request)
                    answer = self.serve.pop(0) if self.serve else {"status": 500}
                if not self.answer(connection, answer):
                    break
        except OSError:
            self.connections[number]["closed"] = self.now()
        with self.lock:
            self.open.discard(connection)
        close(connection)

    @staticmethod
    def read(reader):
        """The next request of the connection, or None at its end."""
        first = reader.readline()
        line = first.decode().split()
        if len(line) < 2:
            return None
        headers, size = {}, len(first)
        while True:
            field = reader.readline()
            size += len(field)
            if field.strip() == b"":
                break
            name, value = field.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", 0)))
        is_json = headers.get("content-type", "").startswith("application/json")
        return {
            "method": line[0],
            "path": line[1],
            "headers": headers,
            "body": json.loads(body) if is_json and body else None,
            "length": len(body),
            "size": size + len(body),
        }

    def answer(self, connection, answer):
        """Does what the entry says; False if the connection is over then."""
        if answer.get("cut") == "before":
            return False
        if answer.get("hang"):
            time.sleep(3600)
        for status in answer.get("ahead", ()):
            connection.sendall(head(status, {"Link": "</x>; rel=preload"}) + b"\r\n")
        headers = dict(answer.get("headers", {}))
        if "stream" in answer:
            headers["Content-Type"] = "text/event-stream"
            connection.sendall(head(200, headers) + b"\r\n")
            for part in answer["stream"]:
                if isinstance(part, str):
                    connection.sendall(part.encode())
                else:
                    time.sleep(part["pause"] / 1000)
            if answer.get("then") == "stay":
                connection.recv(1)
            return False
        value = answer.get("problem", answer.get("json"))
        text = answer.get("text", "" if value is None else json.dumps(value))
        body = text.encode()
        status = answer.get("status", 200)
        kind = answer.get("as", "application/problem+json" if "problem" in answer else "application/json")
        if body and kind:
            headers["Content-Type"] = kind
        headers["Content-Length"] = str(len(body))
        if answer.get("cut") == "within":
            body = body[: len(body) // 2]
        connection.sendall(head(status, headers) + b"\r\n" + body)
        if "refuse_ms" in answer:
            self.refuse(answer["refuse_ms"])
        return "cut" not in answer and not answer.get("close")

    def refuse(self, milliseconds):
        """Nobody listens for a while, and all connections are closed."""
        close(self.listener)
        with self.lock:
            for connection in self.open:
                close(connection)
        time.sleep(milliseconds / 1000)
        self.listen()


def head(status, headers):
    lines = [f"HTTP/1.1 {status} Scripted"] + [f"{name}: {value}" for name, value in headers.items()]
    return "".join(line + "\r\n" for line in lines).encode()


def close(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        servers = {row["name"]: BadServer(row["serve"]) for row in json.load(file)["rows"]}
    print(json.dumps({name: f"http://127.0.0.1:{server.port}" for name, server in servers.items()}), flush=True)
    for line in sys.stdin:
        server = servers[line.rstrip("\n")]
        print(json.dumps({"requests": server.requests, "connections": server.connections}), flush=True)


main()
