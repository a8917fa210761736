#!/usr/bin/env python3
"""Checks the prose of README and guides: sentences and table cells are short enough to be read once.

No sentence has more than LONGEST words and a page's sentences have MEAN words on average; no table cell has more than
CELL characters as it is displayed.

usage: prose.py ROOT
"""
import pathlib
import re
import sys

import sources

LONGEST = 40
MEAN = 22
CELL = 300

# Decisions are a record of their day; generated pages are judged where their text is written.
SKIPPED_PAGES = re.compile(r"docs/decisions/|docs/reference\.md|docs/measurements/|CHANGELOG\.md")

LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[A-Z`\[(*\"'0-9])")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|vs|cf|et al|Fig|Sec|No)\.")


def displayed(markdown: str) -> str:
    """The text of a piece of Markdown without targets of links and marks of emphasis."""
    return re.sub(r"\*\*|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)", "", LINK.sub(r"\1", markdown)).strip()


def blocks_of(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Paragraphs and table cells of a page, each with the line where it begins. Code, headings and comments are
    left out; each item of a list is a paragraph."""
    paragraphs: list[tuple[int, str]] = []
    cells: list[tuple[int, str]] = []
    lines: list[str] = []
    start, in_code = 0, False

    def flush():
        if lines:
            paragraphs.append((start, " ".join(lines)))
            lines.clear()

    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            flush()
            in_code = not in_code
        elif in_code:
            continue
        elif not stripped or stripped.startswith(("#", "<!--", "<")):
            flush()
        elif stripped.startswith("|"):
            flush()
            row = re.split(r"(?<!\\)\|", stripped.strip("|"))
            cells += [(number, displayed(cell)) for cell in row if not re.fullmatch(r"[\s:-]*", cell)]
        else:
            item = re.match(r"(?:[-*]|\d+\.)\s+", stripped)
            if item:
                flush()
                stripped = stripped[item.end():]
            if not lines:
                start = number
            lines.append(stripped)
    flush()
    return paragraphs, cells


def sentences_of(paragraph: str) -> list[str]:
    text = ABBREVIATIONS.sub(lambda match: match.group().replace(".", ""), displayed(paragraph))
    return [sentence for sentence in END.split(text) if re.search(r"\w", sentence)]


def words_in(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def mean_of(counts: list[int]) -> float:
    return sum(counts) / max(len(counts), 1)


def problems_of(page: str, text: str) -> list[str]:
    paragraphs, cells = blocks_of(text)
    problems = [f"{page}:{line}: a table cell of {len(cell)} characters; at most {CELL}: {cell[:60]}..."
                for line, cell in cells if len(cell) > CELL]
    counts = []
    for line, paragraph in paragraphs:
        for sentence in sentences_of(paragraph):
            counts.append(words_in(sentence))
            if counts[-1] > LONGEST:
                problems.append(f"{page}:{line}: a sentence of {counts[-1]} words; at most {LONGEST}: "
                                f"{sentence[:60]}...")
    if mean_of(counts) > MEAN:
        problems.append(f"{page}: {mean_of(counts):.1f} words per sentence; at most {MEAN}")
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    pages = [page for page in sources.git_files(root, "*.md") if not SKIPPED_PAGES.match(page)]
    problems = []
    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        problems += problems_of(page, text)
    return sources.finish(problems, len(pages))


if __name__ == "__main__":
    sys.exit(main())
