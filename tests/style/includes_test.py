#!/usr/bin/env python3
"""Plants violations of the law of includes and expects includes.py to find each, and nothing else."""
import pathlib
import tempfile
import unittest

import includes

LAWFUL = {
    "runtime/base/a.hpp": "#include <vector>\n",
    "runtime/memory/b.hpp": '#include "runtime/base/a.hpp"\n',
    "runtime/ucx/link.cpp": '#include <ucp/api/ucp.h>\n#include "runtime/memory/b.hpp"\n',
    "policies/p.hpp": '#include "runtime/base/a.hpp"\n',
    "actors/client.hpp": '#include "runtime/base/a.hpp"\n',
    "actors/shell.hpp": '#include <caf/all.hpp>\n#include "policies/p.hpp"\n',
    "actors/include/tidegate/client.hpp": '#include "actors/client.hpp"\n',
    "launch/main.cpp": '#include <yaml-cpp/yaml.h>\n#include "actors/client.hpp"\n',
    "examples/e.cpp": '#include <tidegate/client.hpp>\n#include "runtime/base/a.hpp"\n',
    "tests/actors/t.cpp": '#include <caf/all.hpp>\n#include "actors/shell.hpp"\n',
}

# path, content, what the report must say
VIOLATIONS = [
    ("runtime/base/x.cpp", '#include "policies/p.hpp"', "runtime/base/ may not include"),
    ("runtime/memory/x.cpp", '  #  include "runtime/ucx/u.hpp"', "may not include"),
    ("runtime/transport/x.cpp", "#include <ucs/type/status.h>", "only runtime/ucx/ includes"),
    ("policies/x.cpp", '#include "runtime/memory/b.hpp"', "policies/ may not include"),
    ("policies/y.cpp", "#include <caf/actor.hpp>", "only actors/ includes"),
    ("actors/x.cpp", '#include "launch/l.hpp"', "actors/ may not include"),
    ("actors/y.cpp", "#include <yaml-cpp/yaml.h>", "only launch/ includes"),
    ("launch/x.cpp", '#include "actors/shell.hpp"', "sees <caf/all.hpp> through actors/shell.hpp"),
    ("actors/seam/x.cpp", "#include <caf/actor.hpp>", "only actors/ includes"),
    ("actors/seam/y.cpp", '#include "launch/l.hpp"', "actors/seam/ may not include"),
    ("launch/y.cpp", '#include "runtime/ucx/u.hpp"', "launch/ may not include"),
    ("examples/x.cpp", '#include "actors/client.hpp"', "examples/ may not include"),
    ("tests/policies/x.cpp", "#include <ucp/api/ucp.h>", "only runtime/ucx/ includes"),
    ("policies/z.cpp", '#include "../actors/client.hpp"', "from the repository root"),
    ("policies/w.cpp", '#include "p.hpp"', "from the repository root"),
    ("elsewhere/x.cpp", "", "no rule"),
]


class law_of_includes(unittest.TestCase):
    def check(self, extra: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            tree = {"launch/l.hpp": "", "runtime/ucx/u.hpp": "", **LAWFUL, **extra}
            for path, text in tree.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return includes.checker(root, sorted(tree)).check()

    def test_a_lawful_tree_passes(self):
        self.assertEqual(self.check({}), [])

    def test_each_violation_is_found(self):
        for path, text, expected in VIOLATIONS:
            with self.subTest(path=path):
                problems = self.check({path: text + "\n"})
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith(path + ": "), problems)
                self.assertIn(expected, problems[0])


if __name__ == "__main__":
    unittest.main()
