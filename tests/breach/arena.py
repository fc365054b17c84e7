"""Many short sessions with one fallen relay each, several at a time.

All sessions of an arena share a state directory, so that each of them could
hurt what the others wrote: the audit must only have grown, line by line, and
nothing else may have changed.  The pins are those of an honest first session,
and stay so to the byte; only where a fallen relay reports lists of its own
may what waits for a person be added, and never what is trusted.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

import dw
import frames as f

# Lines that the honest client of a session with a fallen server relay sends.
# The call comes last: before it, the monitor lists the server's tools.
OPEN_CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
             "params": {"name": "echo", "arguments": {"text": "seven"}}}
OPEN_PING = {"jsonrpc": "2.0", "id": "seven", "method": "ping"}
OPEN = [OPEN_PING, OPEN_CALL]
OPEN_LINES = [dw.as_line(m) for m in OPEN]
OWN = dw.as_line({"jsonrpc": "2.0", "id": f.OWN_ID, "method": "tools/list", "params": {}})
OWN_LINE = re.compile(rb'^{"jsonrpc":"2\.0","id":"doorward-[0-9a-f]{32}",'
                      rb'"method":"tools/list"[^\n]*\n', re.M)
# What the server must have before a fallen relay begins to misbehave.
OPEN_BYTES = sum(map(len, OPEN_LINES)) + len(OWN)

# What the sink says that it has.
TOOLS = [dw.tool(name) for name in
         ("echo", "delete_all", "delete_x", "send_email", "e" * 300)]

POLICY = """version: 1
rules:
  - {id: no-deletes, tool: "delete_*", action: block}
  - {id: no-sends, tool: send_email, action: require_approval}
methods:
  sampling/createMessage: block
  roots/list: allow
"""


def evil():
    return os.path.join(dw.program_dir(), "test", "evil")


def testing(name):
    return os.path.join(dw.program_dir(), "test", name + dw.SUFFIX)


def environment(side, orders, watch=None, tools=None):
    env = dw.clean_env()
    env.update(DOORWARD_TEST_RELAY=evil(), DOORWARD_TEST_EVIL_SIDE=side,
               DOORWARD_TEST_REAL_RELAY=testing("doorward-relay"),
               DOORWARD_TEST_EVIL_ORDERS=orders)
    if watch is not None:
        env["DOORWARD_TEST_EVIL_WATCH"] = watch
    if tools is not None:
        env["DOORWARD_TEST_EVIL_TOOLS"] = tools
    return env


def listing_first():
    """Orders of a fallen server relay: what the server says to the monitor's
    own tools/list is taken from the stream and reported as it is."""
    return f.order("A") + f.write(f.listed(1, {"tools": TOOLS})) + f.order("U", OPEN_BYTES)


def trusted(data):
    """What a file of pins says is trusted: {(kind or set, name): values}."""
    out, where = {}, None
    for line in data.decode().splitlines():
        words = line.strip().split(" ", 2)
        if line.startswith("set "):
            where = line.split()[1] + " " + line.split()[2]
            if line.split()[3] == "known":
                out[where, None] = set()
        elif not line.startswith("\t"):
            where = None
            if line.startswith(("server ", "package ")) or words[1:2] == ["pinned"]:
                out.setdefault((words[0], None), set()).add(line)
        elif where is not None and words[0] == "pinned":
            out.setdefault((where, words[2]), set()).add(words[1])
    return out


class Outcome:
    """What a session left: exit status, and the bytes at every end."""

    def __init__(self, name, status, client, server, stderr):
        self.name, self.status, self.stderr = name, status, stderr
        self.client, self.server = client, OWN_LINE.sub(b"", server)
        self.own = OWN_LINE.findall(server)     # the monitor's own requests
        self.audit = []

    def __str__(self):
        brief = ("event", "relay", "state", "id", "tool", "verdict", "reason", "status")
        return "%s: exit %s\nclient: %r\nserver: %r\nstderr: %s\naudit: %s" % (
            self.name, self.status, self.client[-500:], self.server[:500], self.stderr[-1000:],
            "\n       ".join(dw.dumps({k: x[k] for k in brief if k in x})[:300]
                             for x in self.audit))

    def of(self, event):
        return [x for x in self.audit if x["event"] == event]

    def answers(self):
        return [json.loads(line) for line in self.client.split(b"\n") if line]


class Arena:
    """lists: its sessions report lists that are not the honest one."""

    def __init__(self, test, policy=POLICY, workers=3, lists=False):
        self.test = test
        self.workers = workers
        self.lists = lists
        self.dir = tempfile.mkdtemp(prefix="dw-breach-")
        test.addCleanup(shutil.rmtree, self.dir, True)
        self.state = os.path.join(self.dir, "state")
        self.policy = os.path.join(self.dir, "policy.yaml")
        with open(self.policy, "w") as file:
            file.write(policy)
        self.tools = os.path.join(self.dir, "tools.json")
        with open(self.tools, "w") as file:
            file.write(dw.dumps({"tools": TOOLS}))
        self.count = 0
        self.lock = threading.Lock()
        self.runs = []
        for server in ("bystander", "sink"):
            first = self.play("client", "a session before", b"".join(OPEN_LINES), stdin=None,
                              real=True, server=server)
            test.assertEqual((first.status, len(first.own)), (0, 1), first)
            test.assertEqual(first.server, b"".join(OPEN_LINES), first)
        self.before = self.picture()
        self.pins = sorted(p for p in self.before if p.endswith(".pins"))
        test.assertEqual(len(self.pins), 2)

    def picture(self):
        """Everything in the state directory and the policy file."""
        out = {}
        for top in (self.state, self.policy):
            for path in [top] + [os.path.join(d, n) for d, ds, fs in os.walk(top)
                                 for n in ds + fs]:
                st = os.lstat(path)
                data = None
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        data = file.read()
                out[path] = (st.st_mode, st.st_uid, st.st_gid, data)
        return out

    def play(self, side, name, lines=b"", orders=b"", stdin="open", real=False,
             timeout=30, server="sink"):
        """One session.  lines: what the client has sent.  stdin: "open" until
        the session has ended, or None for an end of input after the lines."""
        with self.lock:
            self.count += 1
            number = self.count
        base = os.path.join(self.dir, "%d" % number)
        sink, script = base + ".sink", base + ".orders"
        with open(script, "wb") as file:
            file.write(orders)
        env = environment("none" if real else side, script, sink, self.tools)
        argv = [testing("doorward"), "run", "--state", self.state, "--policy", self.policy,
                "--server", server, "--agent-id", "case-%d" % number, "--",
                evil(), "sink"]
        r, w = os.pipe()
        try:
            if lines:
                os.write(w, lines)
            proc = subprocess.Popen(argv, stdin=r, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=env)
            with self.lock:
                dw._live.add(proc.pid)
            os.close(r)
            r = -1
            if stdin is None:
                os.close(w)
                w = -1
            try:
                out, err = proc.communicate(timeout=timeout * dw.SLOW)
                status = proc.returncode
            except subprocess.TimeoutExpired:
                proc.kill()
                out, err = proc.communicate()
                status = "hung"
            with self.lock:
                dw._live.discard(proc.pid)
        finally:
            for fd in (r, w):
                if fd >= 0:
                    os.close(fd)
        got = b""
        if os.path.exists(sink):
            with open(sink, "rb") as file:
                got = file.read()
            os.unlink(sink)
        os.unlink(script)
        outcome = Outcome(name, status, out, got, err.decode("utf-8", "replace"))
        outcome.agent = "case-%d" % number
        with self.lock:
            self.runs.append(outcome)
        return outcome

    def play_all(self, cases):
        """cases: [(key, kwargs of play)]; yields (key, outcome) in order,
        each with its audit lines, after the arena was found unhurt."""
        cases = list(cases)
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            done = list(pool.map(lambda c: self.play(**c[1]), cases))
        self.look_after()
        return [(case[0], outcome) for case, outcome in zip(cases, done)]

    def look_at_pins(self, after):
        """Lies about lists are noted in this server's file, for a person."""
        for path in self.pins if self.lists else ():
            old, new = self.before[path], after.get(path)
            self.test.assertIsNotNone(new, "pins are gone")
            if b'\nserver "sink"\n' in old[3]:
                self.test.assertEqual(trusted(old[3]), trusted(new[3]))
                after[path] = new[:3] + (old[3],)

    def look_after(self):
        """The state is as it was but for whole new lines, in sequence; no
        process is left."""
        after = self.picture()
        log = os.path.join(self.state, "audit.jsonl")
        old, new = self.before[log][3], after[log][3]
        self.test.assertTrue(new.startswith(old), "the audit did not only grow")
        for picture in (self.before, after):
            entry = picture.pop(log)
            picture[log] = entry[:3] + (None,)
        self.look_at_pins(after)
        self.test.assertEqual(self.before, after, "the state directory or policy has changed")
        self.before[log] = after[log][:3] + (new,)
        lines = dw.parse_audit(new)
        self.test.assertEqual([x["seq"] for x in lines], list(range(1, len(lines) + 1)))
        by_agent = {}
        for x in lines:
            by_agent.setdefault(x["agent"], []).append(x)
        for outcome in self.runs:
            outcome.audit = by_agent.get(outcome.agent, [])
        left = dw.leftovers()
        self.test.assertEqual(left, [], "left behind: %s" % "; ".join(map(str, left)))


def judged(test, outcome):
    """No byte at the server without its verdict: every line is one whole JSON
    message, and every call has an allowing verdict line of its own."""
    allowed = [(x["id"], x.get("tool")) for x in outcome.of("verdict")
               if x["verdict"] == "allow" and x["method"] == "tools/call"]
    lines = outcome.server.split(b"\n")
    if lines[-1]:                   # cut short by the end: never a whole message
        with test.assertRaises(ValueError, msg=str(outcome)):
            json.loads(lines[-1])
    for line in lines[:-1]:
        message = json.loads(line)
        test.assertEqual(message["jsonrpc"], "2.0", outcome)
        if message.get("method") != "tools/call":
            continue
        name = message["params"]["name"]
        test.assertFalse(name.startswith("delete_") or name == "send_email", outcome)
        key = (message["id"], name)
        test.assertIn(key, allowed, "not judged: %r\n%s" % (line, outcome))
        allowed.remove(key)


def breach(test, outcome, side, state=None, reason=None):
    """The session ended as a breach has to end, and says so once."""
    test.assertEqual(outcome.status, 70, outcome)
    lines = outcome.of("breach")
    test.assertEqual(len(lines), 1, outcome)
    test.assertEqual(lines[0]["relay"], side, outcome)
    if state is not None:
        test.assertEqual(lines[0]["state"], state, outcome)
    if reason is not None:
        test.assertRegex(lines[0]["reason"], reason, str(outcome))
    ends = outcome.of("session_end")
    test.assertEqual([x["status"] for x in ends], [70], outcome)
    test.assertIn("doorward: breach: the relay of the %s" % side, outcome.stderr, outcome)
    judged(test, outcome)


def fine(test, outcome):
    test.assertEqual(outcome.status, 0, outcome)
    test.assertEqual(outcome.of("breach"), [], outcome)
    test.assertEqual(len(outcome.of("session_end")), 1, outcome)
    judged(test, outcome)


def open_answered(test, outcome, ids=(7, "seven"), code=1003):
    """Each of these requests got exactly one answer, an error under its own
    id and type."""
    got = outcome.answers()
    for ident in ids:
        mine = [m for m in got if m.get("id") == ident and type(m["id"]) is type(ident)]
        test.assertEqual(len(mine), 1, outcome)
        test.assertEqual(mine[0]["error"]["code"], code, outcome)
