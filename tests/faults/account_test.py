"""The account of scripts/soak and the draw of its rounds, without a cluster: what is broken must show."""

import json
import pathlib
import re
import unittest

import account
import main_rounds
import rough_rounds
import rounds
import silence


def line(ms, what, detail):
    return {"unix_ns": int(ms * 1e6), "kind": what, "detail": detail}


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


class Silence(unittest.TestCase):
    def longest(self, end, **moments):
        in_ns = {kind: [int(ms * 1e6) for ms in times] for kind, times in moments.items() if kind != "spans"}
        spans = [(int(a * 1e6), int(b * 1e6)) for a, b in moments.get("spans", ())]
        return silence.longest(0, int(end * 1e6), in_ns.get("progress", []), in_ns.get("told", []),
                               in_ns.get("lasting", []), spans)

    def test_between_two_steps_and_to_the_end(self):
        self.assertEqual(self.longest(100, progress=[10, 40, 90]), (50.0, 40.0))
        self.assertEqual(self.longest(200, progress=[10, 40, 90]), (110.0, 90.0))
        self.assertEqual(self.longest(100), (100.0, 0.0))

    def test_a_word_breaks_it_and_a_lasting_word_ends_it(self):
        self.assertEqual(self.longest(100, progress=[10], told=[40]), (60.0, 40.0))
        self.assertEqual(self.longest(100, progress=[10], lasting=[40]), (30.0, 10.0))
        self.assertEqual(self.longest(100, progress=[10], lasting=[40], told=[50]), (30.0, 10.0))
        self.assertEqual(self.longest(100, progress=[10, 60], lasting=[40]), (40.0, 60.0), "until the next progress")

    def test_nobody_speaks_for_a_launcher_that_is_stopped(self):
        self.assertEqual(self.longest(100, progress=[10], spans=[(20, 90)]), (10.0, 0.0))
        chaos = [line(20, "stall", "launcher-0 pid 3 for 1 s"), line(30, "stall", "shard-0 pid 4 for 1 s"),
                 line(90, "continue", "launcher-0 pid 3"), line(95, "continue", "shard-0 pid 4")]
        self.assertEqual(silence.excused(chaos), [(20_000_000, 90_000_000)])

    def test_who_causes_trouble_explains_nothing(self):
        text = "".join(json.dumps(line(at, kind, "")) + "\n" for at, kind in
                       ((1, "fault"), (2, "process_died"), (3, "waits"), (4, "fault_failed")))
        self.assertEqual(silence.told_by_events(text), ([2_000_000], [3_000_000]))

    def test_a_log_says_when(self):
        text = "2026-01-02T03:04:05.678 shard-0[7] info it says\nand more of it\n2026-01-02T03:04:06.001 no more\n"
        first, second = silence.told_by_log(text)
        self.assertEqual(second - first, 323_000_000)

    def test_what_is_done_is_counted_by_kind(self):
        books = account.Account(1)
        books.add_done([line(1, "cut", "shard-0 from replica-0"), line(2, "stall", "launcher-0 pid 3 for 7 s"),
                        line(2, "partition", "b interface eth0"), line(3, "heal", "b"), line(4, "silent_host", "b for 9 s")])
        books.add_silence("round 3", "cut", 70.0, 5.0)
        books.add_silence("round 4", "stall", 40.0, 6.0)
        self.assertTrue(books.good)
        seen = books.to_json()
        self.assertEqual(seen["faults"], {"cut": 1, "partition": 1, "stall": 1, "silent_host": 1})
        self.assertEqual(seen["stalls"], {"launcher": 1})
        self.assertEqual((seen["silent_ms"]["max"], seen["silent_ms"]["worst"]["where"]), (70.0, "round 3"))
        self.assertEqual(seen["silent_ms"]["longest_by_fault"], {"cut": 70.0, "stall": 40.0})


class RoughRounds(unittest.TestCase):
    def draw(self, fault, number):
        return rough_rounds.draw(1, number, rounds.ROLES, fault)

    def test_a_seed_a_number_and_a_fault_are_a_round(self):
        self.assertEqual(self.draw("cut", 7), self.draw("cut", 7))
        self.assertNotEqual(self.draw("cut", 7), self.draw("cut", 8))

    def test_every_fault_has_its_turn(self):
        for block in range(5):
            turns = [rough_rounds.draw_fault(1, 6 * block + turn, rounds.FAULTS) for turn in range(6)]
            self.assertEqual(sorted(turns), sorted(rounds.FAULTS))

    def test_moves_are_of_the_fault_and_last_as_long_as_they_should(self):
        for fault in rounds.FAULTS[1:]:
            moves = [move for number in range(60) for move in self.draw(fault, number).moves]
            kind = "stall" if fault == "hang" else fault
            self.assertEqual({move.kind for move in moves}, {kind, "kill"})
            lasting = [move.seconds for move in moves if move.kind == kind and kind != "cut"]
            self.assertTrue(all(5 <= seconds <= 40 for seconds in lasting))
            if kind == "stall":
                self.assertEqual({move.role for move in moves if move.kind == "stall"}, set(rounds.ROLES))

    def test_nobody_is_killed_whom_the_job_does_not_have_or_the_launcher_cannot_replace(self):
        for one in (self.draw(fault, number) for fault in rounds.FAULTS[1:] for number in range(60)):
            killed = {move.role for move in one.moves if move.kind == "kill"} | {move.meanwhile for move in one.moves}
            self.assertNotIn("launcher", killed)
            if not rounds.has_aggregators(one.job):
                self.assertNotIn("aggregator", killed)
            self.assertFalse(any(move.meanwhile for move in one.moves if move.role == "launcher"))

    def test_a_stall_is_a_death_only_where_it_should_be(self):
        for number in range(60):
            self.assertEqual(dict(self.draw("stall", number).supervision)["heartbeat"], {"timeout": "60s"})
            self.assertIn(dict(self.draw("hang", number).supervision)["heartbeat"]["timeout"], ("1s", "2s"))


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
        self.assertEqual({one.cluster["transport"] for one in some}, {"auto", "tcp", "ucx"})
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
        self.assertIsNone(rounds.refuse_words(rounds.ROLES, rounds.ROLES, "role"))
        self.assertIn("unknown role", rounds.refuse_words(["king"], rounds.ROLES, "role"))
        self.assertIn("no role", rounds.refuse_words([], rounds.ROLES, "role"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
