#!/usr/bin/env python3
"""Runs the end-to-end and breach tests.

usage: run.py [--long] [--workers N] [--list] [PATTERN...]

A test runs if its name (file.Class.test) contains one of the patterns.  The
classes are shared out to two workers, each a process of its own, so that what
a session leaves behind is found by the worker that ran it.
"""
import argparse
import glob
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
SLOW_SECONDS = 10


def load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def find(patterns):
    """[(class name, [tests])] in the files' order; a module that does not
    load is an error, not an absence."""
    classes = {}
    files = sorted(glob.glob(os.path.join(HERE, "test_*.py"))) + \
        sorted(glob.glob(os.path.join(TESTS, "breach", "test_*.py")))
    for path in files:
        for test in flatten(load(path)):
            if patterns and not any(p in test.id() for p in patterns):
                continue
            key = "%s.%s" % (type(test).__module__, type(test).__name__)
            classes.setdefault(key, []).append(test)
    return list(classes.items())


class Result(unittest.TestResult):
    """Sends each outcome to the parent as a line."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.began = 0.0
        self.trouble = []
        self.skip = None

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.trouble = []
        self.skip = None

    def addError(self, test, err):
        text = "".join(traceback.format_exception(*err))
        if hasattr(test, "_testMethodName"):
            self.trouble.append(text)
        else:                   # setUpClass and the like
            self.tell(test.id(), "failed", text, 0)

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            text = "".join(traceback.format_exception(*err))
            self.trouble.append("[%s]\n%s" % (subtest._subDescription(), text))

    def addSkip(self, test, reason):
        self.skip = reason

    def stopTest(self, test):
        took = time.monotonic() - self.began
        if self.trouble:
            self.tell(test.id(), "failed", "\n".join(self.trouble), took)
        elif self.skip is not None:
            self.tell(test.id(), "skipped", self.skip, took)
        else:
            self.tell(test.id(), "passed", "", took)
        super().stopTest(test)

    def tell(self, name, outcome, text, took):
        line = json.dumps([name, outcome, text, took]) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(self.out, data):]


def work(classes, tickets, out):
    import dw
    dw.become_subreaper()
    while True:
        ticket = os.read(tickets, 2)
        if len(ticket) < 2:
            return
        tests = classes[int.from_bytes(ticket, "little")][1]
        unittest.TestSuite(tests).run(Result(out))


def start_worker(classes, tickets):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(r)
            work(classes, tickets, w)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(w)
    return pid, r


def report(name, outcome, text, took, counts):
    counts[outcome] += 1
    if outcome == "failed":
        print("FAILED %s (%.1f s)\n%s" % (name, took, text), flush=True)
    elif took > SLOW_SECONDS:
        print("%s took %.1f s" % (name, took), flush=True)


def collect(workers, counts, skipped):
    import select
    pending = {r: b"" for _, r in workers}
    while pending:
        for r in select.select(list(pending), [], [])[0]:
            data = os.read(r, 1 << 16)
            if not data:
                del pending[r]
                continue
            *lines, pending[r] = (pending[r] + data).split(b"\n")
            for line in lines:
                name, outcome, text, took = json.loads(line)
                report(name, outcome, text, took, counts)
                if outcome == "skipped":
                    skipped.setdefault(text, []).append(name)


def reset_signals():
    """A job that nohup or a shell without job control started in the
    background inherits ignored signals, which would go on to every program
    under test.  SIGPIPE is ignored, as Python's own start has it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def main():
    reset_signals()
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    if args.long:
        os.environ["DW_LONG"] = "1"
    sys.path.insert(0, HERE)
    import dw
    for name in (os.path.join(dw.BUILD, "doorward" + dw.SUFFIX), os.path.join(dw.BUILD, "test", "puppet")):
        if not os.access(name, os.X_OK):
            print("%s is missing; `make test-programs` builds it" % name)
            return 1
    classes = find(args.patterns)
    expected = sum(len(tests) for _, tests in classes)
    if args.list:
        for _, tests in classes:
            for test in tests:
                print(test.id())
        return 0
    tickets, give = os.pipe()
    for i in range(len(classes)):
        os.write(give, i.to_bytes(2, "little"))
    os.close(give)
    workers = [start_worker(classes, tickets) for _ in range(max(1, args.workers))]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    skipped = {}
    collect(workers, counts, skipped)
    lost = 0
    for pid, _ in workers:
        if os.waitpid(pid, 0)[1] != 0:
            print("FAILED a worker of the tests ended early")
            lost = 1
    missing = expected - sum(counts.values())
    if missing != 0 and not lost:
        print("FAILED %d tests gave no result" % missing)
        lost = 1
    for reason, names in skipped.items():
        print("not run, %s: %s" % (reason, ", ".join(names)))
    if expected == 0:
        print("no test matches")
        lost = 1
    print("%d passed, %d failed" % (counts["passed"], counts["failed"] + lost))
    return 1 if counts["failed"] or lost else 0


if __name__ == "__main__":
    sys.exit(main())
