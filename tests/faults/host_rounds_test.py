"""The draw of rounds of scripts/soak --hosts, and what tells that all shards are in sync, without a cluster."""

import json
import unittest

import account
import host_rounds
import rounds


def draw(number, **options):
    return host_rounds.draw(1, number, rounds.ROLES, **options)


class HostRounds(unittest.TestCase):
    def test_a_seed_and_a_number_are_a_round(self):
        self.assertEqual(draw(7), draw(7))
        self.assertNotEqual(draw(7), draw(8))
        self.assertNotEqual(host_rounds.draw(2, 7, rounds.ROLES), draw(7))

    def test_all_there_is_is_drawn(self):
        some = [draw(number) for number in range(300)]
        moves = [move for drawn in some for move in drawn.moves]
        self.assertEqual({drawn.hosts for drawn in some}, {3, 4})
        self.assertEqual({drawn.cluster["replicas"] for drawn in some}, {1, 2})
        self.assertEqual({drawn.kind for drawn in some}, {"workload", "count"})
        self.assertEqual({move.kind for move in moves}, {*host_rounds.KINDS, "kill"})
        self.assertEqual({move.role for move in moves if move.kind == "kill"}, set(rounds.ROLES) - {"launcher"})
        self.assertEqual({move.quiet for move in moves if move.kind == "host_kill"}, {True, False})
        self.assertGreater(sum("checkpoint" in drawn.job for drawn in some), 200)

    def test_cuts_are_shorter_and_longer_than_hosts_are_waited_for(self):
        cuts = [move.seconds for number in range(300) for move in draw(number).moves if move.kind == "host_cut"]
        first, last = host_rounds.SECONDS
        self.assertTrue(all(first <= seconds <= last for seconds in cuts))
        for begin, end in ((first, 5), (8, 13), (13, last)):
            self.assertGreater(sum(begin <= seconds <= end for seconds in cuts), 20)

    def test_what_lasts_is_as_long_as_it_should_be(self):
        for seconds in ((1.0, 3.0), (6.0, 7.0), (15.0, 16.0), (4.0, 4.0)):
            lasting = [move.seconds for number in range(100) for move in draw(number, seconds=seconds).moves if move.seconds]
            self.assertTrue(all(seconds[0] <= each <= seconds[1] for each in lasting), seconds)

    def test_without_checkpoints_nobody_dies_before_the_others_are_in_sync(self):
        for drawn in map(draw, range(300)):
            if "checkpoint" not in drawn.job:
                self.assertTrue(all(move.settled for move in drawn.moves))

    def test_the_file_names_the_hosts(self):
        cluster = json.loads(draw(7).yaml("worker", {"a": {}, "b": {}}))
        self.assertEqual(cluster["cluster"]["hosts"], {"a": {}, "b": {}})
        self.assertEqual(cluster["supervision"]["unreachable"], "10s")

    def test_nobody_is_killed_in_roles_that_are_left_out(self):
        moves = [move for number in range(100) for move in host_rounds.draw(1, number, ["worker", "launcher"]).moves]
        self.assertEqual({move.role for move in moves if move.kind == "kill"}, {"worker"})
        self.assertFalse(any(move.kind == "kill" for number in range(100)
                             for move in host_rounds.draw(1, number, ["launcher"]).moves))


class Sync(unittest.TestCase):
    def out_of_sync(self, *lines):
        events = [{"unix_ns": at, "kind": what, "detail": detail} for at, (what, detail) in enumerate(lines)]
        return account.shards_out_of_sync(events, 2)

    def test_a_shard_waits_at_first_after_a_death_and_after_going_back(self):
        both = (("replica_in_sync", "shard 0"), ("replica_in_sync", "shard 1"))
        self.assertEqual(self.out_of_sync(), {0, 1})
        self.assertEqual(self.out_of_sync(*both), set())
        for death in (("process_died", "replica-3 was lost: host c"), ("process_died", "shard 1 (pid 7) was killed"),
                      ("shard_lost", "shard 1: its process has ended"), ("replica_lost", "replica 3: so it is")):
            self.assertEqual(self.out_of_sync(*both, death), {1})
            self.assertEqual(self.out_of_sync(*both, death, both[1]), set())
        self.assertEqual(self.out_of_sync(*both, ("process_died", "worker-job-1 was lost: host c")), set())
        self.assertEqual(self.out_of_sync(*both, ("epoch", "2")), {0, 1})

    def test_hosts_have_figures_of_their_own(self):
        books = account.Account(1)
        books.add_done([{"unix_ns": at, "kind": kind, "detail": "b"} for at, kind in
                        enumerate(("host_kill", "host_joined", "agent_kill", "agent_kill", "host_cut"))],
                       [{"unix_ns": 9, "kind": "host_lost", "detail": "host b: its agent exited with status 137"}])
        self.assertTrue(books.good)
        seen = books.to_json()
        self.assertEqual(seen["hosts"], {"host_kill": 1, "agent_kill": 2, "host_cut": 1})
        self.assertEqual(seen["hosts_lost"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
