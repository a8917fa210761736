"""The comparison of rows and the page that scripts/bench rows writes, from made-up figures."""

import dataclasses
import pathlib
import re
import unittest

import rows_comparison
import rows_document
import rows_systems
import systems

HERE = pathlib.Path(__file__).resolve().parent
WORK = rows_systems.Work(workers=2, rows=1000, dim=4, batch=100, repeat=3)
RATES = {"tidegate, shared memory": 8e6, "tidegate, TCP": 4e6, "redis, unix socket": 2e6, "redis, TCP": 1e6, "torch, TCP": 5e5}


def result(rate, **more):
    """As a driver prints it."""
    return {"seconds": [200 / rate, 400 / rate, 100 / rate], "rows_per_round": 200.0, "workers_cpu_seconds": 300 / rate,
            "verified": 4, **more}


def measure(variant, work, folder, seconds):
    """In place of a run: a variant fails, and another pulls and pushes more rows than it should."""
    if variant.name == "16 keys a command":
        raise systems.Failed("exit codes [1]: no memory")
    if variant.name == "two threads a rank":
        return figures(RATES[variant.system] * 2, work, rows_per_round=300.0)
    servers = {} if variant.system.startswith("torch") else {"servers_cpu_seconds": 600 / RATES[variant.system]}
    lost = {"pushes_lost": 3, "pushes_compared": 12} if variant.system.startswith("redis") else {}
    return figures(RATES[variant.system], work, **servers, **lost)


def figures(rate, work, **more):
    return rows_systems.figures_of(result(rate, **{"seconds": [200 / rate] * work.repeat, "versions": {"numpy": "2"},
                                                   "verified": work.repeat + work.warmup, **more}), work)


def settings(**more):
    return rows_comparison.Settings(pathlib.Path("/b"), "/p", WORK, [0, 0.99], **{"rounds": 3, **more})


class Figures(unittest.TestCase):
    def test_a_rate_for_each_repeat_and_rows_of_cpu_seconds(self):
        found = rows_systems.figures_of(result(1e6, servers_cpu_seconds=1e-3, pushes_lost=1, pushes_compared=4), WORK)
        self.assertEqual([round(rate) for rate in found["rates"]], [1_000_000, 500_000, 2_000_000])
        self.assertAlmostEqual(found["rows_per_servers_cpu_second"], 600 / 1e-3)
        self.assertAlmostEqual(found["rows_per_cpu_second"], 600 / 1.3e-3)
        self.assertEqual(found["lost"], 0.25)

    def test_without_servers_there_are_none_of_their_cpu_seconds(self):
        found = rows_systems.figures_of(result(1e6), WORK)
        self.assertIsNone(found["rows_per_servers_cpu_second"])
        self.assertAlmostEqual(found["rows_per_cpu_second"], 600 / 300e-6)

    def test_a_run_that_was_not_verified_does_not_count(self):
        for wrong in ({"verified": 3}, {"seconds": [1.0]}):
            with self.assertRaises(systems.Failed):
                rows_systems.figures_of(result(1e6, **wrong), WORK)

    def test_command_lines_have_the_same_work(self):
        for variant in [*rows_systems.ours(pathlib.Path("/b")), *rows_systems.redis("/p"), *rows_systems.torch("/p")]:
            words = rows_systems.commands(variant, dataclasses.replace(WORK, zipf=0.5), pathlib.Path("/f"))
            self.assertEqual(len(words), 2 if variant.system == "torch, TCP" else 1)
            line = " ".join(words[0])
            for option in ("--rows=1000", "--dim=4", "--batch=100", "--workers=2", "--repeat=3", "--warmup=1"):
                self.assertIn(option, line)
            self.assertRegex(line, r"--zipf=0\.5|--distribution=zipf:0\.5")


class Compared(unittest.TestCase):
    def test_the_fastest_variant_of_each_system_takes_part(self):
        found = rows_comparison.Comparison(settings(peers=("redis",)), measure).run()
        self.assertEqual([each["system"] for each in found["distributions"][0]["systems"]], list(RATES)[:4])
        self.assertEqual(found["trials"]["redis, TCP: 16 keys a command"], "exit codes [1]: no memory")
        self.assertEqual(found["distributions"][1]["zipf"], 0.99)
        self.assertEqual(set(found["distributions"][1]["systems"][0]["rounds"]), {0, 1, 2})
        self.assertEqual(found["distributions"][1]["failures"], {})

    def test_a_system_that_moves_other_rows_does_not_count(self):
        found = rows_comparison.Comparison(settings(peers=("torch",)), measure).run()["distributions"][0]
        self.assertEqual([each["system"] for each in found["systems"]], list(RATES)[:2])
        self.assertEqual(found["failures"], {"torch, TCP: two threads a rank": "300 rows in a round, not 200"})

    def test_a_quick_comparison_takes_first_variants_without_trials(self):
        found = rows_comparison.Comparison(settings(every_variant=False), measure).run()
        self.assertEqual(found["trials"], {})
        self.assertEqual([each["system"] for each in found["distributions"][0]["systems"]], list(RATES))


class Page(unittest.TestCase):
    def setUp(self):
        self.data = {"machine": {"processor": "x"}, "left_out": {"torch": "there is no memory"},
                     "settings": {"rounds": 3, "pin": "auto", "work": dataclasses.asdict(WORK)},
                     **rows_comparison.Comparison(settings(peers=("redis",)), measure).run()}

    def test_ratios_are_those_of_rounds(self):
        ours, theirs = {"rounds": {0: 8.0, 1: 6.0, 2: 9.0}}, {"rounds": {0: 2.0, 2: 3.0}}
        self.assertEqual(rows_document.ratios_of(ours, theirs), [4.0, 3.0])
        self.assertEqual(rows_document.ratio_text([4.0, 3.0, 8.0]), "4.0 (3.0 to 8.0)")
        self.assertEqual(rows_document.ratio_text([]), "-")

    def test_tables_have_rates_and_ratios(self):
        text = rows_document.section(self.data["distributions"][0])
        self.assertRegex(text, r"\| redis, TCP +\| 1,024 keys a command +\| 1\.000 +\| 1\.000 +\| 1\.000 +\| 1\.000 ")
        self.assertRegex(text, r"\| tidegate, shared memory \| redis, TCP +\| 8\.0 \(8\.0 to 8\.0\) +\| 8\.0 +\| 8\.0 ")
        self.assertIn("redis, TCP: 25.0 % of the pushes", text)

    def test_without_peers_there_is_no_ratio(self):
        found = rows_comparison.Comparison(settings(peers=()), measure).run()
        self.assertIn("No peer was measured", rows_document.section(found["distributions"][0]))

    def test_the_page_is_whole(self):
        page = rows_document.page(self.data)
        for text in ("## Uniform", "## Zipf 0.99", "Left out: torch: there is no memory.", "numpy 2", "`BUILD/bin/tidegate ",
                     "- redis, TCP: 16 keys a command: exit codes [1]: no memory"):
            self.assertIn(text, page)
        # As seen from docs/measurements, where the page lies.
        for link in re.findall(r"\]\(([^)#]*)[^)]*\)", page):
            self.assertTrue((HERE.parents[2] / "docs/measurements" / link).exists(), link)


if __name__ == "__main__":
    unittest.main(verbosity=2)
