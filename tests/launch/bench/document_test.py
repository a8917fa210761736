"""The page that scripts/bench writes, from made-up figures."""

import json
import pathlib
import re
import unittest

import compare
import document
import systems

HERE = pathlib.Path(__file__).resolve().parent


def variant(system, name, median, work_bytes):
    work = systems.Work(2, 1, work_bytes)
    return {"system": system, "variant": name, "payload_bytes_copied": None,
            **compare.summary([median, median * 2, median / 2], [0.5], 7, work)}


def roof(size, threads, seconds):
    """As measured in three rounds, whose medians are around `seconds`."""
    rounds = [[{"operation": "sum 2 + sgd", "inputs": 2, "bytes": size, "threads": threads,
                "seconds": seconds * share / 2, "median_seconds": seconds * share}] for share in (1.5, 0.5, 1)]
    return compare.Comparison.ceilings_of_rounds(rounds)[0]


def configuration():
    sizes = []
    for size, ours, theirs in ((4 << 20, 4e-3, 2e-3), (64 << 20, 10e-3, 80e-3)):
        sizes.append({"bytes": size, "iterations": 10, "trials": {"gloo: ring": theirs, "gloo: bad": "took too long"},
                      "failures": {"mpich: x": "exit codes [1]"},
                      "roofline": [roof(size, 1, ours / 2), roof(size, 2, ours / 4)],
                      "variants": [variant("tidegate", "as shipped", ours, size),
                                   variant("gloo", "ring", theirs * 3, size),
                                   variant("gloo", "bcube", theirs, size)]})
    return {"workers": 2, "shards": 1, "sizes": sizes}


NETWORK = {"ucx one way": [1.1, 1.2, 1.3], "ucx both ways": [], "ours 16777216": [0.8, 0.9, 1.0],
           "ours cpu 16777216": [0.8, 0.8, 0.8], "ucx 16777216": [0.4, 0.5, 0.6], "ucx cpu 16777216": [1.6, 1.6, 1.6], "ours p50": [30e-6], "ucx round trip": [20e-6]}


class DocumentTest(unittest.TestCase):
    def test_ratios_are_to_the_best_variant_of_the_best_peer(self):
        rows = list(document.ratio_rows(configuration()))
        self.assertEqual([round(row[1], 6) for row in rows], [0.5, 8.0])
        self.assertEqual({row[2] for row in rows}, {"gloo: bcube"})
        self.assertEqual([round(one, 6) for one in rows[0][3]], [0.5, 0.25])
        self.assertIn("| geometric mean | 2.00 ", document.ratios(configuration()))

    def test_a_roofline_has_the_best_reading_and_its_rounds_medians(self):
        one = roof(4 << 20, 1, 1e-3)
        self.assertEqual([one["min"], one["median"], one["max"]], [0.25e-3, 1e-3, 1.5e-3])
        self.assertIn("| 4 MiB  | roofline | threads: 2", document.times_table(configuration()))

    def test_without_peers_there_is_no_ratio(self):
        one = configuration()
        for size in one["sizes"]:
            size["variants"] = size["variants"][:1]
        self.assertIn("none ran", document.ratios(one))

    def test_what_failed_is_told(self):
        told = document.failures(configuration())
        self.assertIn("4 MiB, gloo: bad: took too long", told)
        self.assertIn("64 MiB, mpich: x: exit codes [1]", told)

    def test_the_plot_has_ours_the_best_of_each_peer_and_the_roofline(self):
        plot = document.plot(configuration(), "sgd")
        self.assertEqual([one["name"] for one in plot["series"]],
                         ["tidegate", "gloo (best)", "roofline, threads: 1", "roofline, threads: 2"])
        self.assertEqual(plot["series"][1]["points"], [[4 << 20, 2e-3], [64 << 20, 80e-3]])
        json.dumps(plot)

    def test_the_network_is_compared_with_one_direction_of_the_yardstick(self):
        rows = {row[1]: row[2:] for row in document.network_rows("link", NETWORK)}
        self.assertEqual(rows["tidegate, 16 MiB, each direction, GB/s"], ["0.80", "0.90", "1.00", "0.75"])
        self.assertEqual(rows["tidegate over UCX, 16 MiB, CPU s/GB of gradient"][-1], "2.00")
        self.assertNotIn("tidegate, encrypted, 16 MiB, CPU s/GB of gradient", rows)
        self.assertEqual(rows["two ucx_perftest, each direction, GB/s"], ["-"] * 4)
        self.assertEqual(rows["tidegate bench latency, 4 KiB, p50, us"], ["30.0", "30.0", "30.0", "1.50"])

    def test_the_page_is_whole(self):
        data = {"machine": {"processor": "x"}, "memory_settings": "A=1", "commands": {"gloo: ring": "bench_gloo"},
                "settings": {"rounds": 5, "optimizer": "sgd", "transport": "auto", "pin": "auto"},
                "configurations": [{**configuration(), "svg": "exchange-2x1.svg"}],
                "latency": {"transport": "auto", "p50": [1e-6], "p99": [2e-6], "ucx_round_trip": []},
                "network": {"10 Gbit/s": NETWORK, "not shaped": "not root"}}
        page = document.page(data)
        for text in ("2 workers, 1 shard", "(exchange-2x1.svg)", "not measured: not root", "`bench_gloo`",
                     "tidegate, 16 MiB, each direction, GB/s"):
            self.assertIn(text, page)
        # As seen from docs/measurements, where the page lies.
        for link in re.findall(r"\]\((\.\./[^)]*)\)", page):
            self.assertTrue((HERE.parents[2] / "docs/measurements" / link).exists(), link)


if __name__ == "__main__":
    unittest.main(verbosity=2)
