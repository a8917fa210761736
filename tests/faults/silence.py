"""How long a job stood still without anybody saying why. Pure; times are unix nanoseconds."""

import json
import re
import time

# What tells a reason for as long as the job stands still, not for a moment only: events of these kinds. They name who waits
# for whom.
LASTING = ("waits", "no_progress")
# What whoever causes trouble says about it is no word of the cluster.
CAUSED = ("fault", "fault_failed")

LOG_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3}) ")


def told_by_events(text):
    """(moments, lasting ones) at which events.jsonl says something, by the time of writing."""
    whole = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
    said = [line for line in whole if line["kind"] not in CAUSED]
    return ([line["unix_ns"] for line in said if line["kind"] not in LASTING],
            [line["unix_ns"] for line in said if line["kind"] in LASTING])


def told_by_log(text):
    """Moments of lines in a process's log, which have local time."""
    return [int(time.mktime(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S"))) * 1_000_000_000 + int(found[2]) * 1_000_000
            for found in map(LOG_LINE.match, text.splitlines()) if found]


def excused(chaos):
    """(from, to) in which nobody could say anything: the launcher itself was stopped."""
    begins = [line["unix_ns"] for line in chaos if line["kind"] == "stall" and line["detail"].startswith("launcher-0 ")]
    ends = [line["unix_ns"] for line in chaos if line["kind"] == "continue" and line["detail"].startswith("launcher-0 ")]
    return list(zip(begins, ends))


def longest(begin, end, progress, told, lasting=(), spans=()):
    """(milliseconds, moment since the begin in milliseconds) of the longest time between `begin` and `end` in which there
    was neither progress nor a word. A lasting word holds until the next progress; spans count as told."""
    steps = [(at, "progress") for at in progress] + [(at, "word") for at in told] + [(at, "lasting") for at in lasting]
    steps += [(at, "progress") for span in spans for at in span]
    steps = sorted(step for step in steps if begin < step[0] < end) + [(end, "progress")]
    worst, since, holds = (0.0, 0.0), begin, False
    for at, kind in steps:
        if not holds and not any(first <= since and at <= last for first, last in spans) and at - since > worst[0]:
            worst = (at - since, since - begin)
        since = at
        holds = kind == "lasting" or (holds and kind == "word")
    return round(worst[0] / 1e6, 1), round(worst[1] / 1e6, 1)
