"""What peers of rows are made of: they draw the rows that ours draws, wrong rows are noticed, and Redis is right with tiny
sizes. Needs numpy; without redis-server that part is skipped. A quick run of scripts/bench has torch."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy

import redis_rows
import row_draws
import row_references

HERE = pathlib.Path(__file__).resolve().parent
ROWS, BATCH = 5000, 512
WORK = ["--rows", str(ROWS), "--dim", "6", "--batch", str(BATCH), "--workers", "2", "--warmup", "1", "--repeat", "2"]


def rounds(theta):
    """Batches of three rounds of two ranks."""
    draws = row_draws.draws_of_ranks(ROWS, BATCH, theta, 2)
    return [row_draws.round_of(draws) for _ in range(3)]


class Draws(unittest.TestCase):
    def test_numbers_are_those_of_splitmix64(self):
        self.assertEqual(int(row_draws.mix([0])[0]), 0xe220a8397b1dcdaf)
        generator, again = row_draws.Generator(7), row_draws.Generator(7)
        self.assertEqual([int(again.next(1)[0]) for _ in range(5)], generator.next(5).tolist())
        bounds = numpy.array([1, 3, 1 << 31])
        numbers = row_draws.Generator(3).next(3).tolist()
        self.assertEqual(row_draws.Generator(3).below(bounds, 3).tolist(),
                         [number * bound >> 64 for number, bound in zip(numbers, bounds.tolist())])

    def test_batches_are_distinct_and_popular_rows_come_often(self):
        for theta, least in ((0, 440), (0.99, 150)):
            batches = [batch for clocks in rounds(theta) for clock in clocks for batch in clock]
            for batch in batches:
                self.assertEqual(len(set(batch.tolist())), len(batch))
                self.assertTrue(least < len(batch) <= BATCH and batch.max() < ROWS)
            share = numpy.mean([0 in batch for batch in batches])  # the most popular
            self.assertTrue(share > 0.9 if theta else share < 0.5, share)

    def test_a_single_row_and_too_many(self):
        self.assertEqual(row_draws.Draws(1, 5, 0.5, 1).next().tolist(), [0])
        with self.assertRaisesRegex(ValueError, "allowed"):
            row_draws.Draws(1 << 32, 5, 0, 1)

    @unittest.skipUnless(os.environ.get("TIDEGATE"), "no program is named by TIDEGATE")
    def test_ours_pulls_and_pushes_as_many(self):
        done = subprocess.run([os.environ["TIDEGATE"], "bench", "rows", *WORK, "--distribution", "zipf:0.99", "--json", "-"],
                              capture_output=True, text=True, timeout=60, check=True)
        drawn = [len(batch) for clocks in rounds(0.99)[1:] for clock in clocks for batch in clock]
        self.assertEqual(json.loads(done.stdout)["rows_per_round"], sum(drawn) / 2)


class References(unittest.TestCase):
    def test_gradients_of_a_clock_are_summed(self):
        reference = row_references.Summed(10)
        reference.push([numpy.array([1, 2]), numpy.array([2])])
        reference.push([numpy.array([2]), numpy.array([3])])
        values, states = numpy.zeros((2, 10, 4), numpy.float32)
        values[1], values[3], states[1], states[3] = -0.01, -0.01, 1, 1
        values[2], states[2] = -0.01 - 0.01 / 5 ** 0.5, 5
        reference.check(values, states)
        with self.assertRaisesRegex(ValueError, "wrong states of row 1"):
            reference.check(values, states * 4)
        values[2, 3] = -0.02
        with self.assertRaisesRegex(ValueError, "wrong values of row 2"):
            reference.check(values, states)

    def test_pushes_that_meet_may_be_lost_and_others_not(self):
        reference = row_references.Counted(10, 2)
        for _ in range(3):
            reference.push([numpy.array([1, 2]), numpy.array([2])])
        after = reference.values_after(6)
        self.assertAlmostEqual(float(after[2]), -0.01 - 0.01 / 2 ** 0.5, places=6)

        def check(of_first, of_second):
            values, states = numpy.zeros((2, 10, 4), numpy.float32)
            for row, steps in ((1, of_first), (2, of_second)):
                values[row], states[row] = after[steps], steps
            return reference.check(values, states)

        self.assertEqual([check(3, 6), check(3, 4)], [0, 2])
        with self.assertRaisesRegex(ValueError, "wrong row 1 after 3 pushes"):
            check(2, 6)
        values, states = numpy.zeros((2, 10, 4), numpy.float32)
        states[2], values[2], states[1], values[1] = 6, after[5], 3, after[3]
        with self.assertRaisesRegex(ValueError, "wrong row 2"):
            reference.check(values, states)

    def test_the_most_popular_rows_are_compared(self):
        numbers = row_references.compared_rows(1_000_000).tolist()
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertTrue({0, 1000, 999_000, row_draws.scatter_of(1_000_000) % 1_000_000} <= set(numbers))
        self.assertEqual(row_references.compared_rows(7).tolist(), list(range(7)))


class RedisClient(unittest.TestCase):
    """Beside a server of a few lines, which answers the first request with what it is given."""

    def answered(self, answer):
        folder = tempfile.TemporaryDirectory(prefix="tidegate-rows-test-")
        self.addCleanup(folder.cleanup)
        address = str(pathlib.Path(folder.name) / "socket")
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(address)
        server.listen()

        def serve():
            connection, _ = server.accept()
            with connection:
                self.request = connection.recv(1 << 16)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):  # a request may come in pieces
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        client = redis_rows.Client(address, 2, 3)
        self.addCleanup(client.close)
        return client

    def test_a_batch_is_asked_for_and_read(self):
        row = numpy.arange(4, dtype=numpy.float32).tobytes()
        client = self.answered(b"*2\r\n" + 2 * (b"$16\r\n" + row + b"\r\n"))
        client.request_pull(numpy.array([1, 258], numpy.uint64))
        values, states = client.pulled(2)
        self.assertEqual((values.tolist(), states.tolist()), ([[0, 1]] * 2, [[2, 3]] * 2))
        self.assertEqual(self.request, b"*3\r\n$4\r\nMGET\r\n" + b"$8\r\n\1\0\0\0\0\0\0\0\r\n" + b"$8\r\n\2\1\0\0\0\0\0\0\r\n")

    def test_a_batch_is_written(self):
        client = self.answered(b"+OK\r\n")
        client.push(numpy.array([5], numpy.uint64), numpy.ones((1, 2), numpy.float32), numpy.zeros((1, 2), numpy.float32))
        client.pushed(1)
        self.assertTrue(self.request.startswith(b"*3\r\n$4\r\nMSET\r\n"))

    def test_an_error_and_a_row_that_is_not_there_are_noticed(self):
        for answer, message in ((b"-OOM no memory\r\n", "OOM no memory"), (b"*1\r\n$-1\r\n" + bytes(30), "not there"),
                                (b"", "closed")):
            client = self.answered(answer)
            client.request_pull(numpy.array([1], numpy.uint64))
            with self.assertRaisesRegex(redis_rows.Refused, message):
                client.pulled(1)


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class Redis(unittest.TestCase):
    def check(self, *words):
        with tempfile.TemporaryDirectory(prefix="tidegate-rows-test-") as folder:
            done = subprocess.run([sys.executable, "-B", HERE / "redis_rows.py", *WORK, "--zipf", "0.99", "--folder", folder,
                                   *words], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((len(found["seconds"]), found["verified"]), (2, 3))
        drawn = [len(batch) for clocks in rounds(0.99)[1:] for clock in clocks for batch in clock]
        self.assertEqual(found["rows_per_round"], sum(drawn) / 2)
        for seconds in (*found["seconds"], found["workers_cpu_seconds"], found["servers_cpu_seconds"]):
            self.assertGreater(seconds, 0)
        self.assertTrue(0 <= found["pushes_lost"] < found["pushes_compared"])

    def test_rows_are_right_over_a_socket_and_over_tcp(self):
        self.check("--transport", "unix", "--keys", "100")
        self.check("--transport", "tcp", "--io-threads", "2")


if __name__ == "__main__":
    unittest.main(verbosity=2)
