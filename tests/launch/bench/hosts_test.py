"""Two hosts in namespaces reach one another, and nothing of them is left, whatever happens. Skipped where
namespaces cannot be made."""

import subprocess
import unittest

import hosts


def namespaces():
    return hosts.ip("netns", "list").split()


class HostsTest(unittest.TestCase):
    def make(self, *arguments, **options):
        try:
            with hosts.TwoHosts(*arguments, **options):
                pass
        except (hosts.NotHere, OSError) as why:
            self.skipTest(str(why))
        return hosts.TwoHosts(*arguments, **options)

    def send(self, link, side):
        """A datagram from one host to the other."""
        receive = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20); "
                   f"s.bind(('{link.address(1 - side)}', 5005)); print('bound', flush=True); "
                   "print(s.recv(100).decode())")
        post = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                f"s.sendto(b'hello', ('{link.address(1 - side)}', 5005))")
        with subprocess.Popen(link.command(1 - side, ["python3", "-c", receive]), stdout=subprocess.PIPE,
                              text=True) as receiver:
            self.addCleanup(receiver.kill)
            self.assertEqual(receiver.stdout.readline(), "bound\n")
            subprocess.run(link.command(side, ["python3", "-c", post]), check=True, timeout=20)
            self.assertEqual(receiver.communicate(timeout=30)[0], "hello\n")

    def test_both_directions_shaped_or_not(self):
        for rate in (None, "10gbit"):
            with self.subTest(rate=rate), self.make(rate) as link:
                self.send(link, 0)
                self.send(link, 1)

    def test_nothing_is_left_after_an_error(self):
        link = self.make()
        before = namespaces()
        with self.assertRaises(ZeroDivisionError):
            with link:
                self.assertNotEqual(namespaces(), before)
                raise ZeroDivisionError
        self.assertEqual(namespaces(), before)

    def test_a_rate_that_tc_refuses_leaves_nothing(self):
        self.make()
        before = namespaces()
        with self.assertRaises(hosts.NotHere):
            with hosts.TwoHosts("fast"):
                pass
        self.assertEqual(namespaces(), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
