"""Real clients and real servers from npm, bare and behind Doorward.

transcript.mjs plays a scenario with the SDK's client (v1, and v2 with and
without its probe for 2026-07-28) and prints every message in both
directions.  Behind Doorward it has to be the same, for an ordinary user and
for root.  Node gives its children sockets as stdio, so this covers those.
"""
import atexit
import difflib
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile

import dw

HERE = os.path.dirname(os.path.abspath(__file__))
# Servers that are made to try everything out, also what a fallback asks about.
POLICY = "version: 1\npacks: none\npins: {hide: false}\n"
DEFAULTS = "version: 1\n"
DEADLINE = 60
JUDGED = {"tools/call", "resources/read", "resources/subscribe", "prompts/get",
          "subscriptions/listen"}


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@functools.lru_cache(maxsize=None)
def place():
    """Where node_modules and our scripts are, for every user to read."""
    subprocess.run([os.path.join(HERE, "npm-install.sh")], check=True, timeout=300)
    if os.geteuid() != 0 or dw.reachable(os.path.join(HERE, "x")):
        return HERE
    copy = tempfile.mkdtemp(prefix="dw-npm-")
    os.chmod(copy, 0o755)
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and
                    shutil.rmtree(copy, ignore_errors=True))
    shutil.copytree(os.path.join(HERE, "node_modules"), os.path.join(copy, "node_modules"),
                    symlinks=True, copy_function=link_or_copy)
    for name in os.listdir(HERE):
        if name.endswith(".mjs"):
            shutil.copy(os.path.join(HERE, name), copy)
    return copy


def node():
    arch = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    return os.path.join(place(), "node_modules", "node-linux-" + arch, "bin", "node")


def server(name, directory):
    """The command of a server."""
    if name == "server26":
        return [node(), os.path.join(place(), "server26.mjs")]
    command = [node(), os.path.join(place(), "node_modules", "@modelcontextprotocol",
                                    "server-" + name, "dist", "index.js")]
    if name == "filesystem":
        command.append(os.path.join(directory, "desk"))
    return command


class Run:
    """One scenario, played once."""

    def __init__(self, client, name, wrapped, user=None, policy=POLICY):
        with tempfile.TemporaryDirectory(prefix="dw-npm-run-") as directory:
            os.chmod(directory, 0o755)
            play = os.path.join(directory, "play")
            os.mkdir(play, 0o700)
            dw.give(play, user)
            command = server(name, play)
            # Not where the server runs: its relative names would lead into it.
            state = os.path.join(directory, "state")
            os.mkdir(state, 0o700)
            dw.give(state, user)
            if wrapped:
                path = os.path.join(directory, "policy.yaml")
                with open(path, "w") as f:
                    f.write(policy)
                command = [dw.program(), "run", "--state", state, "--policy", path,
                           "--", *command]
            self.play([node(), os.path.join(place(), "transcript.mjs"), client, name,
                       play, "--", *command], play, user)
            self.audit = []
            if wrapped:
                with open(os.path.join(state, "audit.jsonl"), "rb") as f:
                    self.audit = dw.parse_audit(f.read())

    def play(self, argv, cwd, user):
        env = dw.clean_env()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 cwd=cwd, env=env, **dw.user_kwargs(user))
            dw._live.add(p.pid)
            try:
                p.wait(DEADLINE * dw.SLOW)
                late = False
            except subprocess.TimeoutExpired:
                late = True
                for process in dw.descendants(p.pid):
                    os.kill(process.pid, signal.SIGKILL)
            finally:
                p.kill()
                p.wait()
                dw._live.discard(p.pid)
                left = dw.gone(dw.adopted())
                dw.leftovers()
            err.seek(0)
            said = err.read().decode("utf-8", "replace")[-4000:]
            out.seek(0)
            out = out.read()
        if late:
            raise AssertionError("no end: %s" % said)
        if left:
            raise AssertionError("left behind: %s" % "; ".join(map(str, left)))
        if p.returncode != 0:
            raise AssertionError("status %d: %s" % (p.returncode, said))
        self.steps = json.loads(out)

    def sent(self):
        """Methods of the client's requests, of all processes it started."""
        for step in self.steps:
            for m in step["sent"]:
                if "id" in m["message"] and "method" in m["message"]:
                    yield m["message"]["method"]


UNKNOWN = ("no-such-tool ", "none ")    # calls of tools that nobody listed


def lines(step):
    return json.dumps(step, indent=1, ensure_ascii=False).splitlines()


class Npm(dw.TestCase):
    def same(self, bare, other, who):
        self.assertEqual([s["name"] for s in bare.steps], [s["name"] for s in other.steps])
        for a, b in zip(bare.steps, other.steps):
            if a["name"].startswith(UNKNOWN):
                self.unknown(b)
            # Order of keys counts, so texts are compared.
            elif lines(a) != lines(b):
                diff = "\n".join(list(difflib.unified_diff(
                    lines(a), lines(b), "bare", who, lineterm="", n=2))[:60])
                self.fail("step %r differs %s:\n%s" % (a["name"], who, diff))

    def unknown(self, step):
        """Such a call never reaches the server, whose answer it would be."""
        answers = [m["message"] for m in step["received"] if "id" in m["message"]]
        self.assertEqual(len(answers), 1, step)
        text = answers[0]["result"]["content"][0]["text"]
        self.assertRegex(text, r"has no tool .* \(rule tools/list\)\Z")

    def check(self, client, name):
        users = dw.users()
        bare = Run(client, name, False, users[-1])
        # Something was done at all.
        self.assertGreater(sum(m == "tools/call" for m in bare.sent()), 9)
        for user in users:
            who = "wrapped, as %s" % (user or "the caller")
            with self.subTest(who):
                wrapped = Run(client, name, True, user,
                              DEFAULTS if name in ("filesystem", "memory") else POLICY)
                self.same(bare, wrapped, who)
                self.judged(wrapped)

    def judged(self, run):
        """Every call that the client sent was judged, and was allowed."""
        verdicts = [e for e in run.audit if e["event"] == "verdict"]
        self.assertEqual(sorted(e["method"] for e in verdicts),
                         sorted(m for m in run.sent() if m in JUDGED))
        known = [e for e in verdicts if "%s " % e.get("tool") not in UNKNOWN]
        self.assertEqual({e["verdict"] for e in known}, {"allow"})
        self.assertEqual({(e["verdict"], e["contract"]) for e in verdicts if e not in known},
                         {("deny", "pin")} if len(known) < len(verdicts) else set())
        events = {e["event"] for e in run.audit}
        self.assertFalse(events & {"breach", "refusal"}, events)
        self.assertLessEqual({"session_start", "session_end"}, events)


class Everything(Npm):
    def test_v1(self):
        self.check("v1", "everything")

    def test_v1_2024_11_05(self):
        self.check("v1:2024-11-05", "everything")

    def test_v1_2025_03_26(self):
        self.check("v1:2025-03-26", "everything")

    def test_v1_2025_06_18(self):
        self.check("v1:2025-06-18", "everything")

    def test_v2(self):
        self.check("v2", "everything")

    def test_v2_auto(self):
        self.check("v2:auto", "everything")


class Others(Npm):
    def test_filesystem_v1(self):
        self.check("v1", "filesystem")

    def test_filesystem_v2_auto(self):
        self.check("v2:auto", "filesystem")

    def test_memory_v1(self):
        self.check("v1", "memory")

    def test_memory_v2(self):
        self.check("v2", "memory")

    def test_server26_v1(self):
        self.check("v1", "server26")

    def test_server26_v2(self):
        self.check("v2", "server26")

    def test_server26_v2_auto(self):
        self.check("v2:auto", "server26")

    def test_a_difference_is_seen(self):
        """Under a policy that blocks a tool the transcripts differ there, and
        nowhere else."""
        bare = Run("v2:auto", "server26", False)
        blocked = Run("v2:auto", "server26", True, policy=POLICY +
                      "rules:\n  - {id: quiet, tool: echo, action: block}\n")
        with self.assertRaises(AssertionError):
            self.same(bare, blocked, "blocked")
        differ = [a["name"] for a, b in zip(bare.steps, blocked.steps)
                  if lines(a) != lines(b) and not a["name"].startswith(UNKNOWN)]
        echoes = [s["name"] for s in bare.steps
                  if s["name"].startswith("echo ") or s["name"] == "32 calls at once"]
        self.assertEqual(differ, echoes)
        for step in blocked.steps:
            if step["name"] in echoes:
                for m in step["received"]:
                    self.assertDenied(m["message"], m["message"]["id"], "quiet", modern=True)
