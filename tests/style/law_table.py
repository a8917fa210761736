#!/usr/bin/env python3
"""The law of includes as a table, in the pages that show it between the marks below.

usage: law_table.py ROOT            fails if a page shows another table than law.py says
       law_table.py ROOT --write    writes the table into the pages
"""
import collections
import pathlib
import sys

import law
import sources

PAGES = ["CONTRIBUTING.md", "docs/architecture.md"]
BEGIN = "<!-- law of includes: written by tests/style/law_table.py -->"
END = "<!-- end of the law of includes -->"


MANY = 8


def shorten(folders: list[str]) -> list[str]:
    """The common layers of policies/ in one word, and many folders of one layer in braces."""
    if all(folder in folders for folder in law.COMMON):
        folders = ["*common*", *(folder for folder in folders if folder not in law.COMMON)]
    layers = collections.Counter(folder.partition("/")[0] for folder in folders)
    shown: list[str] = []
    for folder in folders:
        layer, _, name = folder.partition("/")
        if layers[layer] < MANY or not name:
            shown.append(folder if folder.startswith("*") else f"`{folder}`")
        elif f"`{layer}/{{" in "".join(shown):
            shown[-1] = f"{shown[-1][:-2]},{name}}}`"
        else:
            shown.append(f"`{layer}/{{{name}}}`")
    return shown


def table() -> str:
    rows = [f"*common*: {', '.join(f'`{folder}`' for folder in law.COMMON)}.", "",
            "| folder | may include |", "|---|---|"]
    rows += [f"| `{folder}` | {', '.join(shorten(allowed)) or 'nothing of ours'} |"
             for folder, allowed in law.PROJECT.items()]
    rows += ["", "| headers of others | only in |", "|---|---|"]
    rows += [f"| `{start}` | {', '.join(f'`{folder}`' for folder in folders)} |"
             for start, folders in law.OWNED.items()]
    return "\n".join(rows)


def with_table(text: str) -> str | None:
    """`text` with the table between its marks; None where they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}" if begin and end else None


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = []
    for page in PAGES:
        text = (root / page).read_text(encoding="utf-8")
        wanted = with_table(text)
        if wanted is None:
            problems.append(f"{page}: has no marks for the law of includes")
        elif "--write" in sys.argv:
            (root / page).write_text(wanted, encoding="utf-8")
        elif wanted != text:
            problems.append(f"{page}: shows another law than law.py; run tests/style/law_table.py {root} --write")
    return sources.finish(problems, len(PAGES))


if __name__ == "__main__":
    sys.exit(main())
