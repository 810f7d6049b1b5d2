#!/usr/bin/python3
"""The rows of proto/clients/behaviour.json, played by the C client against the server that misbehaves."""

import sys
import time

from rows import asked, play_all, sees

from c_driver import Driver, failure


def act(driver, step):
    retries = {"retries": step["retries"]} if "retries" in step else {}
    if "commit" in step:
        return driver.value(do="commit", commit=step["commit"], **retries)
    if "query" in step:
        return driver.value(do="query", query=step["query"])
    if "ids" in step:
        return driver.value(do="ids", names=step["ids"], **({"keep": True} if "keep" in step else {}))
    if "delete" in step:
        return driver.value(do="delete")
    if "request" in step or "read" in step:
        method, path = step["request"] if "request" in step else ("GET", f"/v1/scenes/yard?{asked(step['read'])}")
        answer = driver.play(do="request", method=method, path=path)
        if "error" in answer:
            raise failure(answer)
        return answer.get("value")
    if "events" in step:
        silence = {"silence": step["silence"]} if "silence" in step else {}
        return driver.value(do="events", count=step["events"], topics=step["topics"], **silence)
    return time.sleep(step["wait"] / 1000)


def play(row, address):
    with Driver(address, **row.get("options", {})) as driver:
        if "on_lost" in row:
            driver.play(do="lost", **{"times": 1, **row["on_lost"]})
        for i, step in enumerate(row["do"]):
            sees(step.get("sees"), lambda: act(driver, step), f"step {i}")


sys.exit(play_all(play))
