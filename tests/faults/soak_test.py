"""scripts/soak for a short while, with a seed that stays: all is kept. And what it refuses."""

from faults import *
import tempfile

SOAK = SOURCE / "scripts/soak"
# Every draw of these is the same each time; among the first ten rounds the launcher is killed, too.
ROUNDS = 10
SECONDS = 240  # a limit, for a machine that is busy
ROUGH = ["--minutes", "5", "--lasting", "1..3", "--memory-kills", "0"]


class Soak(FaultTest):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-soak-test-"))
        self.json = self.folder / "soak.json"

    def soak(self, *arguments):
        """The logs of a soak that broke a promise stay, as its output says where they are."""
        done = subprocess.run([sys.executable, "-B", SOAK, "--build", BIN.parent, "--json", self.json, "--seed", "1",
                               *arguments], capture_output=True, text=True, timeout=SECONDS)
        if done.returncode != 1:
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        return done

    def test_every_promise_is_kept(self):
        done = self.soak("--minutes", "5", "--rounds", str(ROUNDS), "--memory-kills", "60", "--faults", "kill")
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)
        seen = json.loads(self.json.read_text())
        self.assertGreaterEqual(seen["kills"]["worker"], 80, seen)
        for role in ("shard", "launcher"):
            self.assertGreaterEqual(seen["kills"].get(role, 0), 1, seen)
        self.assertEqual(seen["rounds"], ROUNDS)
        self.assertGreaterEqual(seen["failover_ms"]["measured"], 40)
        self.assertEqual(seen["problems"], [])
        print(seen)

    def test_every_promise_is_kept_when_more_goes_wrong_than_deaths(self):
        faults = ["cut", "stall", "hang"] + (["partition", "silent_host"] if os.geteuid() == 0 else [])
        done = self.soak(*ROUGH, "--faults", ",".join(faults), "--rounds", str(len(faults)))
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)
        seen = json.loads(self.json.read_text())
        self.assertEqual((seen["rounds"], seen["problems"]), (len(faults), []))
        self.assertGreaterEqual(seen["faults"]["cut"], 3, seen)
        self.assertGreaterEqual(seen["faults"]["stall"], 2, seen)
        if os.geteuid() == 0:
            self.assertEqual((seen["faults"]["partition"], seen["faults"]["silent_host"]), (1, 1), seen)
        self.assertEqual(seen["silent_ms"]["measured"], len(faults))
        print(seen)

    def test_what_makes_no_sense_is_refused(self):
        for arguments, said in ((["--minutes", "1", "--roles", "worker,king"], "unknown role"),
                                (["--minutes", "1", "--faults", "flood"], "unknown fault"),
                                (["--minutes", "1", "--lasting", "9..3"], "--lasting: allowed"),
                                (["--minutes", "0"], "allowed: above 0"), ([], "--minutes")):
            done = self.soak(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(self.json.exists())


main()
