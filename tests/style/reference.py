#!/usr/bin/env python3
"""docs/reference.md, from the comments of the headers that define what it lists.

usage: reference.py ROOT            fails if the page says something else than the headers, or if one has no comment
       reference.py ROOT --write    writes the page
"""
import pathlib
import re
import sys

import sources

PAGE = "docs/reference.md"
FRAMES = "runtime/base/frame_header.hpp"
REFUSALS = "policies/protocol/protocol.hpp"
MESSAGES = "actors/control/messages.hpp"
CALLS = "policies/protocol/control_calls.hpp"
ROUNDS = "policies/checkpoint/rounds.hpp"
EXITS = "launch/text/exit_code.hpp"


def comment_above(lines: list[str], number: int) -> str:
    """The sentences of the // lines that end above line `number`."""
    first = number
    while first > 0 and lines[first - 1].strip().startswith("//"):
        first -= 1
    return " ".join(line.strip().removeprefix("//").strip() for line in lines[first:number])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def enumerators(text: str, name: str) -> list[tuple[str, str, str]]:
    """(name, value, comment) of each enumerator; the comment is above it or at the end of its line."""
    body = re.search(rf"enum class {name}\b[^{{]*{{(.*?)}};", text, re.DOTALL)
    lines = body.group(1).split("\n")
    found = []
    for number, line in enumerate(lines):
        match = re.match(r"\s*(\w+) = (\d+),?\s*(?://\s*(.*))?$", line)
        if match:
            trailing = [match[3] or ""]
            following = number + 1
            while match[3] and following < len(lines) and lines[following].strip().startswith("//"):
                trailing.append(lines[following].strip().removeprefix("//").strip())
                following += 1
            found.append((match[1], match[2], comment_above(lines, number) or " ".join(trailing)))
    return found


def frames(text: str) -> list[str]:
    rows = ["| number | kind | from, to | meaning |", "|---|---|---|---|"]
    for name, value, comment in enumerators(text, "frame_kind"):
        way, _, meaning = comment.partition(": ")
        rows.append(f"| {value} | `{name}` | {way.replace(' -> ', ', ')} | {cell(meaning[:1].upper() + meaning[1:])} |")
    return rows


def table_of(text: str, name: str, title: str) -> list[str]:
    return [f"| number | {title} | meaning |", "|---|---|---|",
            *(f"| {value} | `{key}` | {cell(comment)} |" for key, value, comment in enumerators(text, name))]


def shorten(types: str) -> str:
    types = re.sub(r"std::uint(\d+)_t", r"u\1", types)
    return re.sub(r"\b(?:policies|caf|std)::", "", types).replace("\n", " ")


def messages(text: str) -> list[str]:
    """What the coordinator's actor takes, from its interface."""
    lines = re.search(r"using coordinator_actor = caf::typed_actor<\n(.*?)>;\n", text, re.DOTALL).group(1).split("\n")
    rows = ["| message | says | arguments | answer |", "|---|---|---|---|"]
    for number, line in enumerate(lines):
        if not re.match(r"\s*caf::(replies_to|reacts_to)<", line):
            continue
        whole, following = line.strip(), number + 1
        while following < len(lines) and not lines[following].strip().startswith(("//", "caf::replies_to", "caf::reacts_to")):
            whole += " " + lines[following].strip()
            following += 1
        match = re.match(r"caf::(?:replies_to|reacts_to)<(\w+)_atom(?:, (.*?))?>(?:::with<(.*?)>)?,?$", whole)
        if not match:
            raise ValueError(f"{MESSAGES}: cannot read {whole}")
        arguments = [argument for argument in (match[2] or "").split(", ") if argument][1:]  # but the run's token
        answer = {None: "-", "done_atom": "done"}.get(match[3], f"`{shorten(match[3] or '')}`")
        rows.append(f"| `{match[1]}` | {cell(comment_above(lines, number))} | "
                    f"{', '.join(f'`{shorten(argument)}`' for argument in arguments) or '-'} | {answer} |")
    return rows


def calls(header: str, interface: str, others: str) -> list[str]:
    """What shards and aggregators take from the coordinator: the structs that their actor's interface names."""
    wanted = re.findall(r"caf::replies_to<policies::(\w+)>::with<([\w:]+)>", interface)
    wanted += [(name, "") for name in re.findall(r"caf::reacts_to<policies::(\w+)>", interface)]
    rows = ["| call | says | answer |", "|---|---|---|"]
    seen = set()
    for name, answer in wanted:
        if name in seen or name == "hosted_member":
            continue
        seen.add(name)
        lines = (header + "\n" + others).split("\n")
        number = next((number for number, line in enumerate(lines) if line.startswith(f"struct {name} ")), None)
        comment = comment_above(lines, number) if number is not None else ""
        shown = {"": "-", "done_atom": "done"}.get(answer, f"`{shorten(answer)}`")
        rows.append(f"| `{name}` | {cell(comment)} | {shown} |")
    return rows


def exits(text: str) -> list[str]:
    rows = ["| code | name | meaning |", "|---|---|---|"]
    return rows + [f"| {value} | `{name}` | {cell(comment)} |" for name, value, comment in enumerators(text, "exit_code")]


def page(root: pathlib.Path) -> str:
    read = {path: (root / path).read_text(encoding="utf-8")
            for path in (FRAMES, REFUSALS, MESSAGES, CALLS, ROUNDS, EXITS)}
    shard_interface = read[MESSAGES].split("using shard_actor =")[1]
    sections = [
        ("# Reference",
         ["Written by [tests/style/reference.py](../tests/style/reference.py) from the headers that each section names; edit these "
          "and not the page. Keys of the YAML are in [yaml.md](yaml.md)."]),
        ("## Frames", [f"What goes between workers, shards and replicas over a link ([frame_header.hpp](../{FRAMES})).", "",
                       *frames(read[FRAMES])]),
        ("## Codes in frames", [f"Why a shard refuses ([protocol.hpp](../{REFUSALS})).", "",
                                *table_of(read[REFUSALS], "reply_code", "code")]),
        ("## Messages to the coordinator",
         [f"Over the control plane ([messages.hpp](../{MESSAGES})). Each begins with the token of messages, which is made from the run's token and left out here.",
          "", *messages(read[MESSAGES])]),
        ("## Calls of the coordinator", [f"To shards, aggregators, workers and processes of slots ([control_calls.hpp](../{CALLS})).",
                                         "", *calls(read[CALLS], shard_interface, read[ROUNDS])]),
        ("## Exit codes", [f"Of `tidegate` ([exit_code.hpp](../{EXITS})).", "", *exits(read[EXITS])]),
    ]
    return "\n\n".join(f"{title}\n\n" + "\n".join(lines) for title, lines in sections) + "\n"


def uncommented(text: str) -> list[str]:
    """Rows without a meaning."""
    return [line for line in text.split("\n") if re.match(r"\| .*\|  \|", line)]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    wanted = page(root)
    problems = [f"{PAGE}: has no comment in its header: {row}" for row in uncommented(wanted)]
    if "--write" in sys.argv:
        (root / PAGE).write_text(wanted, encoding="utf-8")
    elif not (root / PAGE).exists() or (root / PAGE).read_text(encoding="utf-8") != wanted:
        problems.append(f"{PAGE}: says something else than the headers; run tests/style/reference.py {root} --write")
    return sources.finish(problems, wanted.count("\n| "))


if __name__ == "__main__":
    sys.exit(main())
