#!/usr/bin/python3
"""The rows of proto/clients/behaviour.json, played by the C# client against the server that misbehaves."""

import sys

from csharp import Driver, Session
from rows import asked, play_all, sees


def act(client, step):
    retries = step.get("retries")
    if "commit" in step:
        return client("commit", commit=step["commit"], retries=retries)
    if "query" in step:
        return client("query", query=step["query"], retries=retries)
    if "read" in step:
        return client("info", which=asked(step["read"]))
    if "ids" in step:
        return client("ids", names=step["ids"], keep=step.get("keep"))
    if "delete" in step:
        return client("delete")
    if "request" in step:
        return client("request", method=step["request"][0], path=step["request"][1])["value"]
    if "events" in step:
        return client("events", topics=step["topics"], count=step["events"], silence=step.get("silence"))
    return client("wait", ms=step["wait"])


with Driver() as driver:

    def play(row, address):
        with Session(driver, address, options=row.get("options"), on_lost=row.get("on_lost")) as client:
            for i, step in enumerate(row["do"]):
                sees(step.get("sees"), lambda step=step: act(client, step), f"step {i}")

    status = play_all(play)
sys.exit(status)
