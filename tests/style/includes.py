#!/usr/bin/env python3
"""Checks every #include against the law of includes (law.py).

usage: includes.py ROOT
"""
import pathlib
import re
import sys

import law
import sources

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def folder_of(path: str) -> str | None:
    """The row of the law that `path` obeys: the longest that fits."""
    fitting = [folder for folder in law.PROJECT if under(path, folder)]
    return max(fitting, key=len, default=None)


class checker:
    def __init__(self, root: pathlib.Path, files: list[str]):
        self.root = root
        self.files = files
        self.problems: list[str] = []
        self.read: dict[str, list[str]] = {}

    def includes(self, path: str) -> list[str]:
        if path not in self.read:
            text = (self.root / path).read_text(encoding="utf-8")
            self.read[path] = INCLUDE.findall(text)
        return self.read[path]

    def resolve(self, name: str) -> str | None:
        """The project file that an include names; None for the headers of others."""
        for base in law.INCLUDE_ROOTS:
            path = f"{base}/{name}" if base else name
            if (self.root / path).is_file():
                return path
        return None

    def owned(self, name: str) -> str | None:
        """The entry of law.OWNED that a header of another project falls under."""
        return next((start for start in law.OWNED if name.startswith(start)), None)

    def may_include(self, path: str, owned: str) -> bool:
        owners = law.OWNED[owned]
        folders = [*owners, *(f"tests/{owner}" for owner in owners), *law.TESTS_TOO.get(owned, [])]
        return any(under(path, folder) for folder in folders)

    def check(self) -> list[str]:
        for path in self.files:
            folder = folder_of(path)
            if folder is None:
                self.problems.append(f"{path}: its folder has no rule in tests/style/law.py")
                continue
            for name in self.includes(path):
                self.check_one(path, folder, name)
            if folder != "tests":
                self.check_shield(path)
        return self.problems

    def check_one(self, path: str, folder: str, name: str) -> None:
        owned = self.owned(name)
        if owned and not self.may_include(path, owned):
            self.problems.append(f"{path}: only {', '.join(law.OWNED[owned])} may include <{name}>")
        beside = (self.root / path).parent / name
        if ".." in name.split("/") or (beside.is_file() and not self.resolve(name)):
            self.problems.append(f"{path}: includes {name}; name it from the repository root")
            return
        target = self.resolve(name)
        if target is None or under(target, folder):
            return
        allowed = law.PROJECT[folder]
        if not any(under(target, other) for other in allowed):
            self.problems.append(f"{path}: {folder}/ may not include {target}; "
                                 f"it may: {', '.join(allowed) or 'nothing'}")

    def check_shield(self, path: str) -> None:
        seen, waiting = {path}, [(path, [])]
        while waiting:
            here, way = waiting.pop()
            for name in self.includes(here):
                owned = self.owned(name)
                if owned and way and not self.may_include(path, owned):
                    self.problems.append(f"{path}: sees <{name}> through {' -> '.join(way)}")
                target = self.resolve(name)
                if target and target not in seen:
                    seen.add(target)
                    waiting.append((target, way + [target]))


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = sources.git_files(root, "*.hpp", "*.cpp", "*.h", "*.cu", "*.cuh")
    return sources.finish(checker(root, files).check(), len(files))


if __name__ == "__main__":
    sys.exit(main())
