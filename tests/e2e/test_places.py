"""Where things are kept: a directory that is refused is not used, and a
policy that cannot be reached is not the want of one."""
import json
import os
import subprocess
import tempfile

import dw

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "echo", "arguments": {}}}


# Lists one tool, and ends at its first call without an answer.
SERVER = """import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "tools/call":
        break
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"tools": [
        {"name": "echo", "inputSchema": {"type": "object"}}]}}), flush=True)
"""


def talk(*args, home=None, cwd=None):
    """(status, answers, stderr) of one call to a server that takes it and
    ends."""
    env = dict(os.environ)
    env.pop("HOME", None)
    r = subprocess.run([dw.program("doorward"), "run", *args, "--", "python3", "-c", SERVER], cwd=cwd, env=env,
                       input=json.dumps(CALL).encode() + b"\n", capture_output=True, timeout=60)
    answers = [json.loads(x) for x in r.stdout.splitlines()]
    return r.returncode, answers, r.stderr.decode()


class States(dw.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="dw-places-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.dir])

    def make(self, name, mode=0o700, files=()):
        path = os.path.join(self.dir, name)
        os.mkdir(path)
        for f in files:
            with open(os.path.join(path, f), "w"):
                pass
        os.chmod(path, mode)
        return path

    def assertForwarded(self, answers):
        """The server had the call, and ended without an answer."""
        self.assertEqual([x["error"]["code"] for x in answers], [1003])
        self.assertIn("before it answered", answers[0]["error"]["message"])

    def refused(self, state, word):
        before = sorted(os.listdir(state)) if os.path.isdir(state) else None
        mode = os.stat(state).st_mode if state else None
        for again in (0, 1):
            status, answers, err = talk("--state", state, cwd=self.dir)
            self.assertIn(word, err)
            self.assertIn("calls are denied", err)
            self.assertEqual([x["id"] for x in answers], [1], answers)
            self.assertTrue(answers[0]["result"]["isError"], answers)
            self.assertIn(word, answers[0]["result"]["content"][0]["text"])
            self.assertNotIn("method", answers[0])
        if before is not None:
            self.assertEqual(sorted(os.listdir(state)), before)
            self.assertEqual(os.stat(state).st_mode, mode)
        status, out, err = dw.run("doctor", "--state", state)
        self.assertEqual(status, 1)
        self.assertNotIn("chmod", out.split("state", 1)[1].split("runtime")[0])

    def test_open_to_others(self):
        self.refused(self.make("open", 0o755, ["foo"]), "open to others")

    def test_sticky(self):
        self.refused(self.make("sticky", 0o1777, ["foo"]), "open to others")

    def test_symbolic_link(self):
        os.symlink(self.make("good"), os.path.join(self.dir, "link"))
        self.refused(os.path.join(self.dir, "link"), "symbolic link")

    def test_file(self):
        path = os.path.join(self.dir, "file")
        with open(path, "w"):
            pass
        self.refused(path, "not a directory")

    def test_no_name(self):
        status, answers, err = talk("--state", "", cwd=self.dir)
        self.assertTrue(answers[0]["result"]["isError"])
        self.assertEqual(os.listdir(self.dir), [])

    def test_observing(self):
        state = self.make("open", 0o755, ["foo"])
        status, answers, err = talk("--state", state, "--mode", "observe")
        self.assertForwarded(answers)
        self.assertIn("without evidence", err)
        self.assertEqual(os.listdir(state), ["foo"])

    def test_only_the_runtime_directory(self):
        """The audit is written, and so calls go on."""
        state = self.make("state")
        with open(os.path.join(state, "run"), "w"):
            pass
        status, answers, err = talk("--state", state)
        self.assertForwarded(answers)
        self.assertIn("reload will not reach", err)
        self.assertNotIn("denied", err)
        self.assertIn("audit.jsonl", os.listdir(state))

    def test_empty_and_open_is_closed(self):
        state = self.make("empty", 0o755)
        talk("--state", state)
        self.assertEqual(os.stat(state).st_mode & 0o777, 0o700)


class DefaultPolicy(dw.TestCase):
    """The home is passwd's, so these look at the loader through a user whose
    home can be made unreadable: root's own is left alone."""

    def test_only_what_is_surely_not_there_is_none(self):
        with tempfile.TemporaryDirectory(prefix="dw-places-") as d:
            link = os.path.join(d, "link")
            os.symlink("nowhere", link)
            loop = os.path.join(d, "loop")
            os.symlink("loop", loop)
            for path in (link, loop, os.path.join(link, "x"), os.path.join(d, "absent")):
                status, out, err = dw.run("run", "--policy", path, "--state",
                                          os.path.join(d, "s"), "--", "true")
                self.assertEqual(status, 2, path)
                self.assertIn(path, err)
