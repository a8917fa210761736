#!/usr/bin/env python3
"""Plants violations of the law of includes and expects includes.py to find each, and nothing else."""
import pathlib
import tempfile
import unittest

import includes

LAWFUL = {
    "include/tidegate/session.hpp": "#include <memory>\n",
    "runtime/base/a.hpp": "#include <tidegate/session.hpp>\n",
    "runtime/memory/b.hpp": '#include "runtime/base/a.hpp"\n',
    "runtime/ucx/link.cpp": '#include <ucp/api/ucp.h>\n#include "runtime/memory/b.hpp"\n',
    "policies/model/m.hpp": '#include "runtime/base/a.hpp"\n',
    "policies/shard/core.hpp": '#include "policies/model/m.hpp"\n',
    "policies/worker/core.hpp": '#include "policies/model/m.hpp"\n',
    "actors/seam/s.hpp": '#include "policies/shard/core.hpp"\n',
    "actors/node/n.hpp": '#include "actors/control/c.hpp"\n',
    "actors/control/c.hpp": '#include <caf/all.hpp>\n#include "actors/seam/s.hpp"\n',
    "launch/config/y.cpp": '#include <yaml-cpp/yaml.h>\n#include "policies/model/m.hpp"\n',
    "launch/cli/main.cpp": '#include <boost/program_options.hpp>\n#include "launch/run/l.hpp"\n',
    "runtime/kernels/cuda/k.cuh": "#include <cuda_runtime_api.h>\n",
    "examples/e.cpp": "#include <tidegate/session.hpp>\n",
    "tests/actors/t.cpp": '#include <caf/all.hpp>\n#include "actors/control/c.hpp"\n',
}

# path, content, what the report must say
VIOLATIONS = [
    ("runtime/base/x.cpp", '#include "policies/model/m.hpp"', "runtime/base/ may not include"),
    ("runtime/memory/x.cpp", '  #  include "runtime/ucx/u.hpp"', "may not include"),
    ("runtime/transport/x.cpp", "#include <ucs/type/status.h>", "only runtime/ucx may include"),
    ("policies/model/x.cpp", '#include "runtime/memory/b.hpp"', "policies/model/ may not include"),
    ("policies/model/y.cpp", '#include "policies/shard/core.hpp"', "policies/model/ may not include"),
    ("policies/worker/x.cpp", '#include "policies/shard/core.hpp"', "policies/worker/ may not include"),
    ("policies/shard/y.cpp", "#include <caf/actor.hpp>", "only actors/control"),
    ("actors/session/x.cpp", '#include "launch/run/l.hpp"', "actors/session/ may not include"),
    ("actors/node/y.cpp", "#include <yaml-cpp/yaml.h>", "only launch/config, launch/kubernetes may include"),
    ("launch/cli/x.cpp", '#include "actors/node/n.hpp"', "sees <caf/all.hpp> through actors/node/n.hpp"),
    ("actors/seam/x.cpp", "#include <caf/actor.hpp>", "only actors/control"),
    ("actors/seam/y.cpp", '#include "launch/run/l.hpp"', "actors/seam/ may not include"),
    ("launch/run/y.cpp", '#include "runtime/ucx/u.hpp"', "launch/run/ may not include"),
    ("launch/run/z.cpp", "#include <boost/program_options.hpp>", "only launch/cli"),
    ("runtime/kernels/y.cpp", "#include <cuda_runtime_api.h>", "only runtime/kernels/cuda"),
    ("runtime/kernels/z.cpp", '#include "runtime/kernels/cuda/k.cuh"', "sees <cuda_runtime_api.h> through"),
    ("examples/x.cpp", '#include "runtime/base/a.hpp"', "examples/ may not include"),
    ("tests/policies/x.cpp", "#include <ucp/api/ucp.h>", "only runtime/ucx may include"),
    ("policies/model/z.cpp", '#include "../shard/core.hpp"', "from the repository root"),
    ("policies/model/w.cpp", '#include "m.hpp"', "from the repository root"),
    ("policies/x.cpp", "", "no rule"),
    ("elsewhere/x.cpp", "", "no rule"),
]


class law_of_includes(unittest.TestCase):
    def check(self, extra: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            tree = {"launch/run/l.hpp": "", "runtime/ucx/u.hpp": "", **LAWFUL, **extra}
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
