#!/usr/bin/env python3
"""Checks docs/glossary.md: each word is defined once, words are in order, and every kind of frame is in it.

usage: glossary.py ROOT
"""
import pathlib
import re
import sys

import sources

GLOSSARY = "docs/glossary.md"
FRAMES = "runtime/base/frame_header.hpp"

ROW = re.compile(r"^\| ([^|]+?) \| (.+) \|$", re.MULTILINE)


def frame_kinds(header: str) -> list[str]:
    body = re.search(r"enum class frame_kind[^{]*\{(.*?)\};", header, re.DOTALL)
    return re.findall(r"^\s*(\w+)\s*=\s*\d+", body.group(1), re.MULTILINE) if body else []


def problems_of(glossary: str, kinds: list[str]) -> list[str]:
    rows = [(word, meaning) for word, meaning in ROW.findall(glossary) if word != "word"]
    words = [word.lower() for word, _ in rows]
    problems = [f"{GLOSSARY}: '{word}' is defined twice" for word in sorted(set(words)) if words.count(word) > 1]
    problems += [f"{GLOSSARY}: '{later}' comes before '{earlier}'"
                 for earlier, later in zip(words[1:], words) if later > earlier]
    text = " ".join(meaning for _, meaning in rows)
    problems += [f"{GLOSSARY}: the frame `{kind}` ({FRAMES}) is in no row" for kind in kinds if f"`{kind}`" not in text]
    if not kinds:
        problems.append(f"{FRAMES}: no kind of frame was found")
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    kinds = frame_kinds((root / FRAMES).read_text(encoding="utf-8"))
    glossary = (root / GLOSSARY).read_text(encoding="utf-8")
    return sources.finish(problems_of(glossary, kinds), len(kinds))


if __name__ == "__main__":
    sys.exit(main())
