#!/usr/bin/env python3
"""words.py finds what it is for."""
import unittest

import words


class WordsTest(unittest.TestCase):
    def test_pronouns_are_identifiers_and_not_parts_of_comments_and_texts(self):
        self.assertEqual(words.pronouns_in('int one; // what\ncall("who", made_); auto onetime = 1;'), ["one", "made_"])

    def test_phrases_are_found_in_comments_and_messages(self):
        self.assertEqual(len(words.phrases_in('// Of a relay: it sums.\nfail("6 is none");')), 2)

    def test_a_folder_above_the_limit_is_a_problem(self):
        folder = words.folder_words()
        folder.lines, folder.pronouns = 1000, words.PER_THOUSAND
        self.assertEqual(words.problems_of({"x": folder}), [])
        folder.pronouns += 1
        self.assertEqual(len(words.problems_of({"x": folder})), 1)


if __name__ == "__main__":
    unittest.main()
