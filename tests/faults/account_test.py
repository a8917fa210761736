"""The account of scripts/soak and the draw of its rounds, without a cluster: what is broken must show."""

import json
import pathlib
import re
import unittest

import account
import main_rounds
import rounds


def line(ms, what, detail):
    return {"unix_ns": int(ms * 1e6), "what": what, "detail": detail}


def kill(ms, name):
    return line(ms, "kill", f"{name} pid 7 SIGKILL")


def restarted(ms, name):
    return line(ms, "process_restarted", f"{name} pid 8 incarnation 2")


def resumes(ms, job, rank):
    return line(ms, "worker_resumes", f"{job} rank {rank} at clock 9")


class Failover(unittest.TestCase):
    def test_from_a_kill_to_the_same_rank_going_on(self):
        chaos = [kill(100, "worker-mlp-1"), line(110, "stop", "worker-mlp-0 pid 3 SIGSTOP"), kill(120, "worker-mlp-0")]
        events = [restarted(130, "worker-mlp-1"), restarted(131, "worker-mlp-0"), resumes(150, "mlp", 0),
                  resumes(175, "mlp", 1)]
        self.assertEqual(account.failovers_ms(chaos, events), [75.0, 30.0])

    def test_the_life_before_is_not_the_one_that_comes_back(self):
        # It had just been let in when it was killed: its own event is later than the kill.
        events = [resumes(101, "mlp", 1), restarted(110, "worker-mlp-1"), resumes(140, "mlp", 1)]
        self.assertEqual(account.failovers_ms([kill(100, "worker-mlp-1")], events), [40.0])

    def test_who_is_killed_again_on_the_way_is_measured_once(self):
        chaos = [kill(100, "worker-mlp-1"), kill(120, "worker-mlp-1")]
        events = [restarted(110, "worker-mlp-1"), restarted(125, "worker-mlp-1"), resumes(160, "mlp", 1)]
        self.assertEqual(account.failovers_ms(chaos, events), [40.0])
        self.assertEqual(account.failovers_ms(chaos, events[:2]), [])

    def test_a_launcher_that_was_killed_on_the_way_is_not_measured(self):
        events = [restarted(110, "worker-mlp-1"), line(120, "run_resumed", "epoch 2"), resumes(900, "mlp", 1)]
        self.assertEqual(account.failovers_ms([kill(100, "worker-mlp-1")], events), [])

    def test_from_a_primarys_kill_to_its_replicas_promotion(self):
        chaos = [kill(100, "shard-0"), kill(150, "replica-1"), kill(200, "replica-0"), kill(220, "worker-mlp-0")]
        events = [line(90, "replica_promoted", "shard 0"), line(108, "replica_promoted", "shard 0"),
                  line(160, "replica_lost", "replica 1"), line(211, "replica_promoted", "shard 0")]
        self.assertEqual(account.promotions_ms(chaos, events, 2), [8.0, 11.0])
        self.assertEqual(account.promotions_ms(chaos[1:2], events, 2), [], "a replica that was none's primary")
        second = [kill(100, "replica-2")]
        self.assertEqual(account.promotions_ms(second, events[:2], 2), [8.0], "the other replica of shard 0")
        self.assertEqual(account.promotions_ms(second, events[:2], 3), [])

    def test_from_a_primarys_kill_to_the_next_pull_that_was_served(self):
        chaos = [kill(100, "shard-0"), kill(200, "replica-1")]
        events = [line(108, "replica_promoted", "shard 0")]
        pulls = [(ms * 1_000_000, end * 1_000_000) for ms, end in ((90, 101), (99, 130), (104, 125), (110, 119), (300, 301))]
        self.assertEqual(account.served_ms(chaos, events, pulls, 2), [19.0], "the second kill was of no primary")
        self.assertEqual(account.served_ms(chaos, events, pulls[:2], 2), [], "they had begun before")

    def test_percentiles_are_the_nearest_rank(self):
        values = [float(n) for n in range(1, 101)]
        self.assertEqual([account.percentile(values, p) for p in (50, 99, 100)], [50.0, 99.0, 100.0])
        self.assertEqual(account.percentile([3.0], 99), 3.0)
        self.assertIsNone(account.percentile([], 50))


class Judgement(unittest.TestCase):
    def test_a_sum_tells_lost_from_doubled(self):
        text = "worker 0: at the end: {} pushes, not within 750.000000 and 750.000000"
        self.assertEqual(account.judge_failure(text.format("749.000000")), "lost_pushes")
        self.assertEqual(account.judge_failure(text.format("751.000000")), "double_pushes")
        for other in ("out of memory", "", None):
            self.assertEqual(account.judge_failure(other), "failed_runs")

    def test_each_figure_that_must_be_0_spoils_the_result(self):
        for figure in account.BROKEN:
            books = account.Account(1)
            books.add_hits([kill(100, "worker-mlp-1"), kill(110, "shard-0")], [])
            self.assertTrue(books.good)
            self.assertEqual(books.to_json()["kills"], {"worker": 1, "shard": 1})
            books.problem(figure, "round 3", "so it was")
            self.assertFalse(books.good, figure)
            self.assertEqual(books.to_json()[figure], 1)

    def test_who_has_killed_nobody_has_shown_nothing(self):
        self.assertFalse(account.Account(1).good)

    def test_half_a_line_is_left_for_later(self):
        whole = json.dumps(kill(1, "shard-0")) + "\n"
        self.assertEqual(len(account.lines_of(whole + whole[:20])), 1)
        self.assertEqual(account.lines_of(""), [])


class Pushes(unittest.TestCase):
    def test_of_those_who_left_came_back_and_joined(self):
        changes = [{"rank": 1, "clock": 30, "joins": False}, {"rank": 2, "clock": 40, "joins": True},
                   {"rank": 1, "clock": 60, "joins": True}, {"rank": 2, "clock": 90, "joins": False},
                   {"rank": 3, "clock": 104, "joins": True}]
        self.assertEqual(account.pushes_of([], 2, 100), 200)
        self.assertEqual(account.pushes_of(changes, 2, 100), 100 + 30 + 40 + 50)


class Rounds(unittest.TestCase):
    def test_a_seed_and_a_number_are_a_round(self):
        self.assertEqual(rounds.draw(1, 7, ["worker"]), rounds.draw(1, 7, ["worker"]))
        self.assertNotEqual(rounds.draw(1, 7, ["worker"]), rounds.draw(2, 7, ["worker"]))

    def test_all_there_is_is_drawn(self):
        some = [rounds.draw(1, n, ["worker"]) for n in range(200)]
        self.assertEqual({"max_shards" in one.cluster for one in some}, {True, False})
        self.assertTrue(any(wanted.startswith("shards=") for one in some for _, wanted in one.resizes))
        policies = {json.dumps(one.job["consistency"]) for one in some}
        self.assertEqual(len(policies), len(rounds.POLICIES))
        self.assertEqual({one.cluster["transport"] for one in some}, {"auto", "tcp"})
        work = [one for one in some if one.kind == "workload"]
        self.assertEqual({(one.job["mode"][3], one.job["optimizer"]["name"]) for one in work},
                         {(way, name) for way in rounds.WAYS for name in rounds.OPTIMIZERS})
        self.assertEqual({"aggregators" in one.job for one in work}, {True, False})

    def test_the_calm_run_is_the_same_job(self):
        for one in (rounds.draw(1, n, ["worker"]) for n in range(50)):
            if one.kind != "workload":
                continue
            calm = json.loads(one.calm("w"))["jobs"]["job"]
            for same in ("workers", "optimizer", "seed", "consistency"):
                self.assertEqual(calm[same], one.job[same])
            self.assertEqual(calm["command"][2], str(one.clocks))

    def test_nobody_is_killed_whom_the_job_does_not_survive(self):
        some = [rounds.draw(1, n, rounds.ROLES) for n in range(200)]
        self.assertEqual({"checkpoint" in one.job for one in some}, {True, False})
        hit = set()
        for one in some:
            roles = set(one.chaos[one.chaos.index("--roles") + 1].split(","))
            if "checkpoint" not in one.job:
                self.assertLessEqual(roles, set(rounds.ALWAYS))
                self.assertEqual(one.launcher, ())
            hit |= roles | ({"launcher"} if one.launcher else set())
        self.assertEqual(hit, set(rounds.ROLES))

    def test_one_role_alone_is_hit_in_every_round(self):
        for role in rounds.ROLES:
            for one in (rounds.draw(1, n, [role]) for n in range(50)):
                if role == "launcher":
                    self.assertEqual(one.chaos, ())
                    self.assertGreaterEqual(len(one.launcher), 1)
                else:
                    self.assertEqual(one.chaos[one.chaos.index("--roles") + 1], role)
                    self.assertEqual(one.launcher, ())

    def test_both_kinds_of_rounds_say_all_that_carrying_them_out_asks(self):
        source = (pathlib.Path(__file__).resolve().parent / "soak_round.py").read_text()
        asked = set(re.findall(r"\bone\.(\w+)", source))
        self.assertIn("resizes", asked)
        self.assertEqual(asked - set(dir(rounds.draw(1, 0, rounds.ROLES))), set())
        # The main job counts no pushes.
        self.assertEqual(asked - set(dir(main_rounds.draw(1, 0, rounds.ROLES))), {"clocks", "job"})

    def test_what_is_no_role_is_refused(self):
        self.assertIsNone(rounds.refuse_roles(rounds.ROLES))
        self.assertIn("unknown role", rounds.refuse_roles(["king"]))
        self.assertIn("no role", rounds.refuse_roles([]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
