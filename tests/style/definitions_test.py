#!/usr/bin/env python3
"""What definitions.py takes for a second definition."""
import ast
import unittest

import definitions


class Definitions(unittest.TestCase):
    def found(self, text):
        return [name for _, name in definitions.defined_again(ast.parse(text).body)]

    def test_a_function_or_class_that_was_defined_before(self):
        self.assertEqual(self.found("def a(): ...\ndef b(): ...\ndef a(x): ..."), ["a"])
        self.assertEqual(self.found("class A: ...\nasync def A(): ..."), ["A"])
        self.assertEqual(self.found("class A:\n    def b(self): ...\n    def b(self, c): ..."), ["A.b"])

    def test_what_belongs_together(self):
        self.assertEqual(self.found("class A:\n    @property\n    def b(self): ...\n    @b.setter\n    def b(self, c): ..."), [])
        self.assertEqual(self.found("class A:\n    def c(self): ...\nclass B:\n    def c(self): ..."), [])


if __name__ == "__main__":
    unittest.main()
