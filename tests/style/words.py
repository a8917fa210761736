#!/usr/bin/env python3
"""Checks the words of sources: identifiers are nouns and verbs of the field, comments are sentences.

Counts, by folder of the law, identifiers that are pronouns (PRONOUNS) and phrases that leave out what they speak of
(PHRASES). A folder may have PER_THOUSAND pronouns per 1,000 lines of code, and no such phrase.

usage: words.py ROOT [--list FOLDER]
"""
import collections
import pathlib
import re
import sys

import includes
import sources

PER_THOUSAND = 5
PRONOUNS = {"one", "what", "who", "whom", "made", "told", "which", "how"}
PHRASES = [
    re.compile(r"\bis none\b"),             # "6 is none"
    re.compile(r"//\s*Of [^.;]{1,80}?:"),   # "Of a relay: ..."
]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*',
                   re.DOTALL)
NOT_OURS = ".what()"  # the standard library's name for the message of an exception


def pronouns_in(text: str) -> list[str]:
    """The identifiers of a C++ source that are pronouns, members with their trailing underscore included."""
    text = text.replace(NOT_OURS, "")
    return [token.group() for token in TOKEN.finditer(text) if token.group().rstrip("_") in PRONOUNS]


def phrases_in(text: str) -> list[str]:
    return [match.group() for phrase in PHRASES for match in phrase.finditer(text)]


class folder_words:
    def __init__(self):
        self.lines = 0
        self.pronouns = 0
        self.phrases = 0

    def figures(self) -> dict[str, float]:
        return {"pronouns": round(1000 * self.pronouns / max(self.lines, 1), 1), "phrases": self.phrases}


def measure(root: pathlib.Path, files: list[str]) -> dict[str, folder_words]:
    folders: dict[str, folder_words] = collections.defaultdict(folder_words)
    for path in files:
        text = (root / path).read_text(encoding="utf-8")
        folder = folders[includes.folder_of(path) or "elsewhere"]
        folder.lines += text.count("\n")
        folder.pronouns += len(pronouns_in(text))
        folder.phrases += len(phrases_in(text))
    return folders


def problems_of(folders: dict[str, folder_words]) -> list[str]:
    problems = []
    for folder, words in sorted(folders.items()):
        has = words.figures()
        if has["pronouns"] > PER_THOUSAND:
            problems.append(f"{folder}: {has['pronouns']} identifiers per 1,000 lines are pronouns; at most "
                            f"{PER_THOUSAND} (words.py ROOT --list {folder})")
        if has["phrases"] > 0:
            problems.append(f"{folder}: {has['phrases']} comments or messages say 'is none' or 'Of ...:' "
                            f"(words.py ROOT --list {folder})")
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = sources.git_files(root, "*.hpp", "*.cpp", "*.cu", "*.cuh")
    if "--list" in sys.argv:
        files = [path for path in files if includes.folder_of(path) == sys.argv[-1]]
        for path in files:
            for number, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
                if pronouns_in(line) or phrases_in(line):
                    print(f"{path}:{number}: {line.strip()}")
        return 0
    folders = measure(root, files)
    return sources.finish(problems_of(folders), len(files))


if __name__ == "__main__":
    sys.exit(main())
