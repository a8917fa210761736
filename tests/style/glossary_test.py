#!/usr/bin/env python3
"""glossary.py finds what it is for."""
import unittest

import glossary

PAGE = "| word | meaning |\n|---|---|\n| apply | a step |\n| push | the frame `push` |\n"


class GlossaryTest(unittest.TestCase):
    def test_a_good_page_has_no_problem(self):
        self.assertEqual(glossary.problems_of(PAGE, ["push"]), [])

    def test_a_word_that_is_defined_twice_is_found(self):
        self.assertIn("defined twice", glossary.problems_of(PAGE + "| push | again |\n", ["push"])[0])

    def test_words_out_of_order_are_found(self):
        self.assertIn("comes before", glossary.problems_of(PAGE + "| ask | late |\n", ["push"])[0])

    def test_a_frame_without_a_row_is_found(self):
        self.assertIn("`pull`", glossary.problems_of(PAGE, ["push", "pull"])[0])

    def test_kinds_are_read_from_the_header(self):
        self.assertEqual(glossary.frame_kinds("enum class frame_kind : int {\n  push = 1,\n  // x = 2\n  pull = 3,\n};"),
                         ["push", "pull"])


if __name__ == "__main__":
    unittest.main()
