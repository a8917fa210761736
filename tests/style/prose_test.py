#!/usr/bin/env python3
"""prose.py finds what it is for, and nothing else."""
import unittest

import prose

WORDS = "word " * 30


def problems(text: str) -> list[str]:
    return prose.problems_of("page.md", text)


class ProseTest(unittest.TestCase):
    def test_a_sentence_of_41_words_is_too_long_and_one_of_40_is_not(self):
        short = "Short sentences follow. " * 5
        self.assertEqual(problems(short + "Word " + "word " * 38 + "end."), [])
        self.assertEqual(len(problems(short + "Word " + "word " * 39 + "end.")), 1)

    def test_targets_of_links_and_code_blocks_do_not_count(self):
        self.assertEqual(problems(f"A [link](x.md#{WORDS.replace(' ', '-')}).\n\n```\n{WORDS * 3}\n```\n"), [])

    def test_items_of_a_list_are_sentences_of_their_own(self):
        self.assertEqual(problems("".join(f"- {'word ' * 20}\n" for _ in range(4))), [])

    def test_a_page_of_long_sentences_is_too_long_on_average(self):
        self.assertEqual(len(problems(("Word " + "word " * 24 + "end. ") * 3)), 1)

    def test_a_cell_of_301_characters_is_too_long_and_its_line_is_named(self):
        self.assertEqual(problems("| a |\n|---|\n| " + "x" * 300 + " |\n"), [])
        found = problems("| a |\n|---|\n| " + "x" * 301 + " |\n")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("page.md:3:"), found)


if __name__ == "__main__":
    unittest.main()
