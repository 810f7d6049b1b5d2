"""The daemon as a child process, for tests that run under Python."""

import hashlib
import json
import os
import re
import subprocess


class Daemon:
    """A daemon on loopback; a context manager, whose end expects that it ends with 0."""

    def __init__(self, *options, port=0):
        command = [os.environ["OBBD"], "--log-level", "warn", *options, "--listen", f"127.0.0.1:{port}"]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.child.stdout:
            found = re.search(r"listening on (https?:\S+:(\d+))", line)
            if found:
                self.url, self.port = found.group(1), int(found.group(2))
                return
        raise AssertionError(f"the daemon ended with {self.child.wait()}")

    def stop(self):
        self.child.terminate()
        self.child.stdout.close()
        return self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        assert self.stop() == 0


def token_file(folder, token, scopes=("read", "write")):
    """Writes a file for --token-file by which this token has these scopes of all scenes, and returns its name."""
    entry = {"name": "test", "sha256": hashlib.sha256(token.encode()).hexdigest(), "scopes": scopes, "scenes": ["*"]}
    file = os.path.join(folder, "tokens.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"tokens": [entry]}, out)
    return file


def certificate(folder):
    """Makes a certificate of localhost that signs itself; returns the names of its file and its key's, for --tls-cert and --tls-key."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*made, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key
