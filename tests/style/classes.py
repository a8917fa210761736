#!/usr/bin/env python3
"""Checks the size of classes: one has METHODS member functions at most, and its definitions lie in SOURCES files.

A class that is larger owns the state of several things; divide it along that state. What is counted: declarations of
member functions of any access in the class itself, those with a body included; constructors, destructors, operators
and deleted ones are not.

usage: classes.py ROOT [--list]     --list prints the ten largest
"""
import collections
import pathlib
import re
import sys

import sources

METHODS = 45
SOURCES = 2

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?(?:\s*:\s*[^;{(]+)?\s*\{")
DEFINITION = re.compile(r"^(?![ \t#/}]|using\b|namespace\b|friend\b)[^\n=;]*?\b(\w+)::(?!operator)(\w+)\(", re.MULTILINE)


def without_comments(text: str) -> str:
    return COMMENT_OR_TEXT.sub(lambda match: '""' if match.group()[0] in "\"'" else " ", text)


def body_at(text: str, opening: int) -> str:
    """The text between the brace at `opening` and the one that closes it."""
    depth = 0
    for index in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[opening + 1:index]
    return text[opening + 1:]


def statements_of(body: str) -> list[str]:
    """The declarations of a class, bodies and nested classes cut out."""
    statements, depth, statement = [], 0, ""
    for character in body:
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0 and re.search(r"\)[^()]*$", statement):  # the end of a function's body
                statements.append(statement)
                statement = ""
        elif depth == 0 and character == ";":
            statements.append(statement)
            statement = ""
        elif depth == 0:
            statement += character
    return statements


def is_method(statement: str, name: str) -> bool:
    text = re.sub(r"\b(?:public|private|protected)\s*:", " ", statement)
    previous = ""
    while previous != text:  # template arguments may hold parentheses
        previous, text = text, re.sub(r"<[^<>]*>", " ", text)
    text = text.strip()
    if re.match(r"(?:using|friend|typedef|static_assert|enum|class|struct|union)\b", text) or "operator" in text:
        return False
    if "= delete" in text or "= default" in text:
        return False
    match = re.match(r"[^=(]*?\b(~?\w+)\s*\(", text)
    return match is not None and match.group(1) not in (name, f"~{name}")


def methods_in(text: str) -> dict[str, int]:
    """The number of methods of each class that `text` defines."""
    text = without_comments(text)
    found = {}
    for match in CLASS.finditer(text):
        statements = statements_of(body_at(text, match.end() - 1))
        found[match.group(1)] = sum(is_method(statement, match.group(1)) for statement in statements)
    return found


def measure(root: pathlib.Path) -> tuple[dict[str, tuple[str, int]], dict[str, set[str]]]:
    """Methods of each class, by header and name; and the sources that define methods, by class."""
    methods, defining = {}, collections.defaultdict(set)
    files = [path for path in sources.git_files(root, "*.hpp", "*.cpp") if not path.startswith("tests/")]
    for path in files:
        text = (root / path).read_text(encoding="utf-8")
        for name, count in methods_in(text).items():
            methods[f"{path}: {name}"] = (name, count)
        if path.endswith(".cpp"):
            for match in DEFINITION.finditer(without_comments(text)):
                defining[(pathlib.Path(path).parent, match.group(1))].add(path)
    return methods, defining


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    methods, defining = measure(root)
    if "--list" in sys.argv:
        for where, (name, count) in sorted(methods.items(), key=lambda entry: -entry[1][1])[:10]:
            print(f"{count:4} methods  {where}")
        for (folder, name), files in sorted(defining.items(), key=lambda entry: -len(entry[1]))[:10]:
            print(f"{len(files):4} sources  {folder}: {name}")
        return 0
    problems = [f"{where} has {count} methods; at most {METHODS}"
                for where, (_, count) in sorted(methods.items()) if count > METHODS]
    problems += [f"{folder}: {name} lies in {len(files)} sources; at most {SOURCES}: {', '.join(sorted(files))}"
                 for (folder, name), files in sorted(defining.items(), key=str) if len(files) > SOURCES]
    return sources.finish(problems, len(methods))


if __name__ == "__main__":
    sys.exit(main())
