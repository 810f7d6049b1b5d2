#!/usr/bin/python3
"""contract.py [ROOT] - checks that tests/CONTRACT.md and tests/CLAIMS.md name tests that exist.

It also checks that CLAIMS.md lists each sentence of the pages that it names, with a test or as one that
claims nothing, and no other sentence.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
CONTRACT = ROOT / "tests/CONTRACT.md"
CLAIMS = ROOT / "tests/CLAIMS.md"
BEHAVIOUR = ROOT / "proto/clients/behaviour.json"
EXAMPLES = ROOT / "proto/contract/examples"
faults: list[str] = []


def fault(text):
    print(text)
    faults.append(text)


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


# ---- Tests ----------------------------------------------------------------------------------------


def tests_of(program):
    """The tests of a program below tests/, as a list of patterns, or None if there is no such program."""
    if program == "behaviour":
        return [re.escape(row["name"]) for row in json.loads(read(BEHAVIOUR) or '{"rows": []}')["rows"]]
    if program == "examples":
        texts = [read(file) for file in EXAMPLES.glob("*.http")]
        return [re.escape(name) for text in texts for name in re.findall(r"^### (.*)$", text, re.M)]
    base = ROOT / "tests" / program
    texts = {end: read(base.with_name(f"{base.name}.{end}")) for end in ("c", "py", "mjs")}
    if not any(texts.values()):
        return None
    added = re.findall(r"\btcase_add_\w*\(([^;]*)\)", texts["c"])
    suite = {word for arguments in added for word in re.findall(r"\w+", arguments)}
    names = [name for name in re.findall(r"^START_TEST\((\w+)\)", texts["c"], re.M) if name in suite]
    names += re.findall(r"^    TEST\((\w+)\),$", texts["c"], re.M)
    names += re.findall(r"^@test\ndef (\w+)\(", texts["py"], re.M)
    names += re.findall(r'\badd\(f?"([^"]+)"', texts["py"])
    names += re.findall(r'\btest\([`"](.*?)[`"], ', texts["mjs"])
    return [re.sub(r"(\\\$)?\\\{.*?\\\}", ".+", re.escape(name)) for name in names]


known: dict[str, list[str] | None] = {}


def look_for(page, program, test):
    """Reports a test that is not there."""
    if program not in known:
        known[program] = tests_of(program)
    found = known[program]
    if found is None:
        fault(f"{page}: there is no program tests/{program}")
    elif not any(re.fullmatch(pattern, test) for pattern in found):
        fault(f"{page}: {program} has no test {test} in its suite")


def rows_of(text):
    """The cells of all rows of tables, without the heads."""
    text = re.sub(r"^\|.*\n\|[-|: ]+\|\n", "", text, flags=re.M)
    return [row.strip("| ").split(" | ") for row in text.split("\n") if row.startswith("| ")]


def programs_of(cell):
    """The programs and tests that a cell names: a program, then its tests, all in backquotes."""
    program, pairs = None, []
    for word in re.findall(r"`([^`]+)`", cell):
        if word in ("behaviour", "examples") or re.fullmatch(r"(?:\w+/)+\w+", word):
            program = word
        else:
            pairs.append((program, word))
    return pairs


def check_contract():
    rows = rows_of(read(CONTRACT))
    for row in rows:
        pairs = programs_of(row[-1])
        if not pairs:
            fault("tests/CONTRACT.md: a row names no test")
        for program, test in pairs:
            look_for("tests/CONTRACT.md", program, test)
    return len(rows)


# ---- Sentences ------------------------------------------------------------------------------------


def words(text):
    """How many words there are outside of code."""
    return len(re.findall(r"[A-Za-z][\w'-]+", re.sub(r"`[^`]*`", "", text)))


def split(text):
    """The sentences of a paragraph. One of less than three words belongs to the one before it, or the
    next one; a paragraph of less is a label."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\s+", " ", text)).strip()
    hidden = re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code.group()) - 2) + "`", text)
    ends = [0, *(end.end() for end in re.finditer(r"[.?!][\")*]* (?=[A-Z`\"*(])", hidden)), len(text)]
    sentences: list[str] = []
    for begin, end in zip(ends, ends[1:]):
        if sentences and (words(sentences[-1]) < 3 or words(text[begin:end]) < 3):
            sentences[-1] += " " + text[begin:end].strip()
        else:
            sentences.append(text[begin:end].strip())
    return sentences if words(text) >= 3 else []


def sentences_of(text):
    """The sentences of a page: of its paragraphs, list items and cells, but not of its programs,
    headings and pictures, the heads of its tables and their first cells, and not what "Shown by" names.
    Of a file of exchanges they are those of the comments behind a title."""
    if text.startswith("### "):
        text = "\n".join(re.sub(r"^# ", "", line) for line in text.split("\n") if re.match(r"#+ ", line))
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"^(#.*|!\[.*|<img.*)$", "", text, flags=re.M)
    text = re.sub(r"^Shown by .*?\n\n", "", text + "\n", flags=re.M | re.S)
    cells = [cell for row in rows_of(text) for cell in row[1:]]
    blocks = re.split(r"\n\s*\n|^(?:- |\d+\. )", re.sub(r"^\|.*$", "", text, flags=re.M), flags=re.M)
    return [sentence for block in blocks + cells for sentence in split(block)]


def language_of(page):
    """The folder of a client that a page is about, or None."""
    part = re.match(r"proto/clients/(\w+)/", page)
    return part and part.group(1)


def speaks(program, language):
    """Does a program test the client of a language? One that is of no language tests all."""
    words = set(program.rpartition("/")[2].split("_"))
    return language is None or language in words or not words & {"js", "python", "c", "csharp"}


def check_claims():
    """Checks the page of claims. Returns how many sentences and pages it looked at."""
    text = read(CLAIMS)
    pages = re.findall(r"^- \[`(.+?)`\]", text, re.M)
    listed = {row[0].replace("&#124;", "|"): programs_of(row[-1]) for row in rows_of(text)}
    bare = re.findall(r"^\* (.*)$", text, re.M)
    used: set[str] = set()
    looked = 0
    for page in pages:
        for sentence in sentences_of(read(ROOT / page)):
            looked += 1
            used.add(sentence)
            if sentence in bare:
                continue
            if sentence not in listed:
                fault(f"tests/CLAIMS.md: does not list, of {page}: {sentence}")
            elif not any(speaks(program, language_of(page)) for program, _ in listed[sentence]):
                fault(f"tests/CLAIMS.md: no test of the client of {page}: {sentence}")
    for sentence in [*listed, *bare]:
        if sentence not in used:
            fault(f"tests/CLAIMS.md: no page says: {sentence}")
    named = {pair for pairs in listed.values() for pair in pairs}
    for program, test in sorted(named):
        look_for("tests/CLAIMS.md", program, test)
    for row in tests_of("behaviour") or []:
        if not any(re.fullmatch(row, test) for program, test in named if program == "behaviour"):
            fault(f"tests/CLAIMS.md: nothing is shown by the row of behaviour.json: {row}")
    return looked, len(bare), len(pages)


promises = check_contract()
without = len(faults)
sentences, unclaimed, pages = check_claims()
print(
    f"check-contract: looked at {promises} promises, {without} without their test; at {sentences} "
    f"sentences of {pages} pages, of which {unclaimed} claim nothing, {len(faults) - without} faults"
)
sys.exit(1 if faults or promises == 0 or sentences == 0 else 0)
