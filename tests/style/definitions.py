#!/usr/bin/env python3
"""Checks that a file of Python defines each function and class once: of two the second counts, and nobody is told.

usage: definitions.py ROOT
"""
import ast
import pathlib
import sys

import sources


def is_python(path: pathlib.Path) -> bool:
    if path.suffix:
        return path.suffix == ".py"
    with path.open("rb") as file:
        first = file.readline()
    return first.startswith(b"#!") and b"python" in first


def is_further(node: ast.AST) -> bool:
    """Whether it adds to what has the name already, as overloads and setters of properties do."""
    return bool(getattr(node, "decorator_list", []))


def defined_again(body: list[ast.stmt], where: str = "") -> list[tuple[int, str]]:
    """(line, name) of what the body of a file or class has defined before."""
    seen: set[str] = set()
    found = []
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if node.name in seen and not is_further(node):
            found.append((node.lineno, where + node.name))
        seen.add(node.name)
        if isinstance(node, ast.ClassDef):
            found += defined_again(node.body, f"{where}{node.name}.")
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = [name for name in sources.git_files(root) if is_python(root / name)]
    return sources.finish([f"{name}:{line}: {again} is defined a second time" for name in files
                           for line, again in defined_again(ast.parse((root / name).read_text()).body)], len(files))


if __name__ == "__main__":
    sys.exit(main())
