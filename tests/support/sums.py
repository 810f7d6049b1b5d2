"""Tests under Python, with sums in the form that tests/run.sh counts."""

import os
import time
import traceback

TIMEOUT_S = 15.0 * float(os.environ.get("TIMEOUT_FACTOR", "1"))
_tests = []


def test(work):
    """A test, named by its function; tests run in the order in which they stand."""
    add(work.__name__.replace("_", " "), work)
    return work


def add(name, work):
    _tests.append((name, work))


def is_picked(name):
    """Does the name contain ONLY of the environment? All do without it."""
    return os.environ.get("ONLY", "") in name


def run():
    """Runs all, or those whose name contains ONLY, and prints the sums; returns the status to exit with."""
    picked = [(name, work) for name, work in _tests if is_picked(name)]
    failures = 0
    for name, work in picked:
        begun = time.monotonic()
        try:
            work()
            print(f"{name}: ok, {round(1000 * (time.monotonic() - begun))} ms")
        except Exception:  # whatever a test raises is a failure
            failures += 1
            print(f"{name}: FAILED, {traceback.format_exc()}")
    share = 100 * (len(picked) - failures) // max(1, len(picked))
    print(f"{share}%: Checks: {len(picked)}, Failures: {failures}, Errors: 0", flush=True)
    return 0 if picked and failures == 0 else 1


def effort(cases):
    """How many random cases to try: so many, times EFFORT of the environment."""
    return cases * int(os.environ.get("EFFORT", "1"))


def until(what, look):
    """Waits until what `look` gives is true, or says what it gave last."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        last = look()
        if last:
            return last
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not so after {TIMEOUT_S} s, last seen {last!r}")
        time.sleep(0.05)
