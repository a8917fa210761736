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
    """The folder of the law that `path` belongs to: the longest that fits."""
    if under(path, "actors/include"):  # the front door re-exports actors and obeys its rules
        return "actors"
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

    def owner(self, name: str) -> str | None:
        return next((law.OWNED[start] for start in law.OWNED if name.startswith(start)), None)

    def may_own(self, path: str, owner: str) -> bool:
        free = [folder for start, free in law.FREE_OF.items() if law.OWNED[start] == owner
                for folder in free]
        if any(under(path, folder) for folder in free):
            return False
        folders = [owner, "tests/" + owner.split("/")[-1], *law.TESTS_TOO.get(owner, [])]
        return any(under(path, folder) for folder in folders)

    def check(self) -> list[str]:
        for path in self.files:
            folder = folder_of(path)
            if folder is None:
                self.problems.append(f"{path}: its folder has no rule in tests/style/law.py")
                continue
            for name in self.includes(path):
                self.check_one(path, folder, name)
            if folder in law.SHIELDED:
                self.check_shield(path)
        return self.problems

    def check_one(self, path: str, folder: str, name: str) -> None:
        owner = self.owner(name)
        if owner and not self.may_own(path, owner):
            self.problems.append(f"{path}: only {owner}/ includes <{name}>")
        beside = (self.root / path).parent / name
        if ".." in name.split("/") or (beside.is_file() and not self.resolve(name)):
            self.problems.append(f"{path}: includes {name}; name it from the repository root")
            return
        target = self.resolve(name)
        if target is None or under(target, folder):
            return
        allowed = law.PROJECT[folder]
        front_door = name.startswith("tidegate/") and "tidegate" in allowed
        if not front_door and not any(under(target, other) for other in allowed):
            self.problems.append(f"{path}: {folder}/ may not include {target}; "
                                 f"it may: {', '.join(allowed) or 'nothing'}")

    def check_shield(self, path: str) -> None:
        seen, waiting = {path}, [(path, [])]
        while waiting:
            here, way = waiting.pop()
            for name in self.includes(here):
                owner = self.owner(name)
                if owner and way and not self.may_own(path, owner):
                    self.problems.append(f"{path}: sees <{name}> through {' -> '.join(way)}")
                target = self.resolve(name)
                if target and target not in seen:
                    seen.add(target)
                    waiting.append((target, way + [target]))


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = sources.git_files(root, "*.hpp", "*.cpp", "*.h", "*.cu")
    return sources.finish(checker(root, files).check(), len(files))


if __name__ == "__main__":
    sys.exit(main())
