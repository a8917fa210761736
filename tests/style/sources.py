"""Which files the style tests look at: those git tracks or would, so that a file is checked before it
is committed. Standard library only."""
import pathlib
import subprocess
import sys

SKIPPED = 77  # CTest's SKIP_RETURN_CODE of these tests


def git_files(root: pathlib.Path, *patterns: str) -> list[str]:
    """Paths relative to `root` that match any of the git pathspecs, sorted; existing files only."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard", "--", *patterns]
    try:
        listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: not a git checkout ({error})")
        sys.exit(SKIPPED)
    return sorted({path for path in listing.split("\0") if path and (root / path).is_file()})


def finish(problems: list[str], checked: int) -> int:
    """Prints the problems; the exit code of a check. A check that saw nothing has failed."""
    for problem in problems:
        print(problem)
    if checked == 0:
        print("nothing was checked")
        return 1
    print(f"{checked} checked, {len(problems)} problem(s)")
    return 1 if problems else 0
