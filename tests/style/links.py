#!/usr/bin/env python3
"""Checks that relative links in the project's Markdown lead to a file, and to a heading in it, and that
a code block below the comment `<!-- whole file: PATH -->` is that file.

usage: links.py ROOT
"""
import pathlib
import re
import sys
import urllib.parse

import sources

CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
WHOLE_FILE = re.compile(r"^<!-- whole file: (\S+) -->\n```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in HEADING.findall(CODE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        name, n = slug, 0
        while name in found:
            n += 1
            name = f"{slug}-{n}"
        found.add(name)
    return found


def check(root: pathlib.Path, page: str) -> list[str]:
    whole = (root / page).read_text(encoding="utf-8")
    text = CODE.sub("", whole)
    targets = REFERENCE.findall(text) + LINK.findall(INLINE_CODE.sub("", text))
    problems = [f"{page}: the text of {path} is out of date" for path, copy
                in WHOLE_FILE.findall(whole) if copy != (root / path).read_text(encoding="utf-8")]
    for target in targets:
        if ELSEWHERE.match(target):
            continue
        path, _, anchor = target.partition("#")
        there = (root / page).parent / urllib.parse.unquote(path) if path else root / page
        if not there.exists():
            problems.append(f"{page}: {target} leads nowhere")
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text("utf-8")):
            problems.append(f"{page}: {target}: no such heading")
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    pages = sources.git_files(root, "*.md")
    problems = [problem for page in pages for problem in check(root, page)]
    return sources.finish(problems, len(pages))


if __name__ == "__main__":
    sys.exit(main())
