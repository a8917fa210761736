#!/usr/bin/env python3
"""Paragraphs of Debian's man pages in 16 languages, for languages.yaml and languages_pytorch.yaml beside this file.

    python3 examples/languages/prepare.py [--output build/languages]

Downloads 16 packages with apt-get (17 MB; nothing is installed), and writes train.tsv and test.tsv: a line for each paragraph, the
number of its language, a tab, its text. Which paragraphs are of the test is a function of their text, so a second run
writes the same bytes from the same packages. A paragraph that more than one language has is left out, as those that nobody has
translated yet; so is what reads as English elsewhere. Exit code 77: the packages cannot be had.
"""

import argparse
import collections
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGES = {"en": "manpages", "cs": "manpages-cs", "da": "manpages-da", "de": "manpages-de", "es": "manpages-es",
            "fr": "manpages-fr", "hu": "manpages-hu", "it": "manpages-it", "ja": "manpages-ja", "nl": "manpages-nl",
            "pl": "manpages-pl", "pt": "manpages-pt-br", "ro": "manpages-ro", "ru": "manpages-ru", "sv": "manpages-sv",
            "uk": "manpages-uk"}
TRAIN_MOST = 1500  # paragraphs of a language
TEST_MOST = 200
LETTERS_MIN = 60
MISSING = 77

# A line of troff that begins a paragraph, and what is no text within one.
BREAK = re.compile(r"^[.'](?:PP|P|LP|TP|IP|HP|SH|SS|sp|br|RS|RE|TH|nf|fi|EX|EE|Sh|Pp|It)\b|^\s*$")
ESCAPES = ((re.compile(r"\\(?:f[A-Z0-9]|f\(..|s[-+]?\d|[,/&|^:%])"), ""), (re.compile(r"\\\(?(?:aq|cq|oq|lq|rq|em|en|bu|co|ha|ti)"), " "),
           (re.compile(r"\\-"), "-"), (re.compile(r"\\[~ 0]"), " "), (re.compile(r"\\\[[^\]]*\]|\\\*\(..|\\."), " "))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/languages"))
    return parser.parse_args()


def run(folder, *command, **options):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, **options)


def download_archives(folder):
    """With the lists of packages that this machine has, which may be old or none; else with lists of our own."""
    wanted = ["download", "-q", *PACKAGES.values()]
    try:
        run(folder, "apt-get", *wanted, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        (folder / "lists/partial").mkdir(parents=True)
        own = ["apt-get", "-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder}"]
        run(folder, *own, "update", "-q")
        run(folder, *own, *wanted)


def download(folder):
    """The packages' files, by language."""
    try:
        download_archives(folder)
        for language, package in PACKAGES.items():
            archive, = folder.glob(f"{package}_*.deb")
            run(folder, "dpkg-deb", "-x", archive, folder / language)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"prepare.py: Debian's packages cannot be had: {error}; is this Debian, and is there a network?", file=sys.stderr)
        sys.exit(MISSING)
    return {language: sorted((folder / language / "usr/share/man").rglob("*.gz")) for language in PACKAGES}


def text_of(line):
    for escape, instead in ESCAPES:
        line = escape.sub(instead, line)
    return line


def paragraphs(page):
    """Texts of a man page's source, without its macros."""
    words = []
    for line in [*page.split("\n"), ""]:
        if BREAK.match(line):
            text = " ".join(" ".join(words).split())
            if sum(map(str.isalpha, text)) >= LETTERS_MIN:
                yield text
            words = []
        elif not line.startswith((".\\", "'\\")):
            # `.B word`: a macro around text.
            words.append(text_of(re.sub(r"^[.'][A-Za-z]{1,3}\s+", "", line)))


def reads_as_english(text):
    words = set(text.lower().split())
    return "the" in words and bool(words & {"and", "is", "that", "with", "are", "this", "for"})


def key_of(text):
    return hashlib.sha256(text.encode()).digest()


def main():
    options = parse()
    found = {}
    with tempfile.TemporaryDirectory(prefix="tidegate-languages-") as folder:
        for language, pages in download(pathlib.Path(folder)).items():
            found[language] = {text for page in pages if not page.is_symlink()
                               for text in paragraphs(gzip.decompress(page.read_bytes()).decode("utf-8", "replace"))}
    languages_of = collections.Counter(text for texts in found.values() for text in texts)
    parts = {"train": [], "test": []}
    for number, (language, texts) in enumerate(found.items()):
        own = sorted((text for text in texts if languages_of[text] == 1
                      and (language == "en" or not reads_as_english(text))), key=key_of)
        tests = [text for text in own if key_of(text)[0] < 32]  # an eighth
        parts["test"] += [(number, text) for text in tests[:TEST_MOST]]
        parts["train"] += [(number, text) for text in own if key_of(text)[0] >= 32][:TRAIN_MOST]
    options.output.mkdir(parents=True, exist_ok=True)
    for part, lines in parts.items():
        lines.sort(key=lambda line: key_of(line[1])[::-1])
        (options.output / f"{part}.tsv").write_text("".join(f"{number}\t{text}\n" for number, text in lines), encoding="utf-8")
        print(f"{options.output / part}.tsv: {len(lines)} paragraphs in {len({number for number, _ in lines})} languages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
