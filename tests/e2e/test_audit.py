"""The audit: every event with its fields, and promises P1 and P4."""
import contextlib
import fcntl
import hashlib
import json
import os
import re
import resource
import signal
import stat
import subprocess
import tempfile
import threading
import time

import dw

RULES = """version: 1
rules:
  - {id: no-deletes, tool: "delete_*", action: block, reason: "deletes go through the console"}
  - {id: ask-mail, tool: send_email, action: require_approval}
methods:
  prompts/list: allow
  resources/subscribe: block
"""


class Audited(dw.TestCase):
    def lines(self, w, event):
        return [e for e in w.audit() if e["event"] == event]


class Events(Audited):
    def test_session(self):
        for user in dw.users():
            with self.subTest(user):
                w = self.session(RULES, user=user, args=["--server", "desk", "--agent-id", "agent-7"])
                start = w.event("session_start")
                self.assertEqual(start["command"], w.command)
                self.assertEqual(start["policy"]["files"], w.policy_files)
                self.assertRegex(start["policy"]["hash"], r"\A[0-9a-f]{64}\Z")
                self.assertEqual((start["server"], start["agent"], start["mode"]), ("desk", "agent-7", "enforce"))
                for who in ("monitor", "relay_client", "relay_server"):
                    self.assertIn("seccomp", start["layers"][who])
                    self.assertIn("no_new_privs", start["layers"][who])
                    self.assertIn("no_caps", start["layers"][who])
                self.assertTrue(start["version"])
                w.handshake()
                w.round_trip(1)
                w.call(2, "delete_all")
                w.client_line()
                w.send_client('{"jsonrpc":"2.0","method":"tools/call"}')
                w.barrier()
                self.assertEqual(w.finish(), 0)
                end = w.event("session_end")
                self.assertEqual(end["status"], 0)
                self.assertEqual((end["allowed"], end["denied"], end["refused"]), (1, 1, 1))
                # initialize, initialized, two calls, the refused one, a ping
                self.assertEqual(end["client_messages"], 6)
                # with the answer to the monitor's own tools/list
                self.assertEqual(end["server_messages"], 4)
                lines = w.audit()
                self.assertEqual([e["seq"] for e in lines], list(range(1, len(lines) + 1)))
                self.assertEqual({e["v"] for e in lines}, {1})
                self.assertEqual(len({e["session"] for e in lines}), 1)
                self.assertEqual({e["server"] for e in lines}, {"desk"})
                self.assertEqual({e["agent"] for e in lines}, {"agent-7"})
                self.assertEqual(lines[-1]["client"], "tester")
                self.assertEqual(sorted(e["mono_ns"] for e in lines), [e["mono_ns"] for e in lines])
                self.assertEqual((lines[0], lines[-1]), (start, end))
                now = time.time()
                then = time.mktime(time.strptime(end["time"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
                self.assertLess(abs(now - then), 60)

    def test_client_name_of_a_stateless_request(self):
        w = self.session()
        w.round_trip(1, _meta={**dw.MODERN, "io.modelcontextprotocol/clientInfo": {
            "name": "modern\u001b[31m\u202eclient", "version": "1"}})
        self.assertEqual(w.events("verdict")[-1]["client"], "modern\u001b[31m\u202eclient")

    def test_derived_server_name(self):
        w = self.session()
        self.assertEqual(w.event("session_start")["server"], "puppet")

    def test_verdicts(self):
        w = self.session(RULES)
        path = w.policy_files[0]
        w.handshake()
        args = {"text": "h\u00e9", "n": 1}
        w.round_trip("a1", "echo", args)
        v = w.event("verdict", id="a1")
        self.assertEqual((v["method"], v["tool"], v["args"], v["verdict"], v["mode"]),
                         ("tools/call", "echo", args, "allow", "enforce"))
        self.assertEqual(v["contract"], "default")
        self.assertEqual(v["rule"]["id"], "default_action")
        self.assertTrue(v["reason"])
        self.assertRegex(v["args_digest"], r"\A[0-9a-f]{64}\Z")
        self.assertGreaterEqual(v["latency_us"], 0)
        r = w.event("result", id="a1")
        self.assertEqual((r["method"], r["tool"], r["result"]), ("tools/call", "echo", "ok"))
        self.assertGreaterEqual(r["ms"], 0)
        self.assertEqual(r["bytes"], len(dw.as_line({"jsonrpc": "2.0", "id": "a1", "result": {
            "content": [{"type": "text", "text": "ok"}]}})) - 1)

        w.call(2, "delete_all")
        self.assertDenied(w.recv_client(), 2, "no-deletes", reason="deletes go through the console")
        v = w.event("verdict", id=2)
        self.assertEqual((v["verdict"], v["contract"], v["reason"]),
                         ("deny", "rule", "deletes go through the console"))
        self.assertEqual(v["rule"], {"id": "no-deletes", "file": path, "line": 3})

        w.call(3, "send_email", {"to": "x"})
        self.assertDenied(w.recv_client(), 3, "ask-mail")
        v = w.event("verdict", id=3)
        self.assertEqual((v["verdict"], v["rule"]["id"], v["rule"]["line"]), ("ask", "ask-mail", 4))
        d = w.event("decision", id=3)
        self.assertEqual((d["decision"], d["why"]), ("deny", "no_channel"))
        self.assertEqual(d["seq"], v["seq"] + 1)
        w.barrier()
        self.assertEqual(len(self.lines(w, "result")), 1)
        self.assertEqual(len(self.lines(w, "decision")), 1)

    def test_ids_in_the_audit(self):
        """The id as it was: its type and its digits."""
        w = self.session()
        for ident in ("1", '"1"', "9007199254740993", '"\\u001b"', "-0"):
            w.send_client('{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo"}}' % ident)
            w.server_line()
            with open(w.audit_path, "rb") as f:
                verdicts = [x for x in f if b'"event":"verdict"' in x]
            self.assertEqual(dict(dw.exact(verdicts[-1]))["id"], dw.exact(ident))

    def test_session_start_comes_first(self):
        """However early the client speaks."""
        for _ in range(10):
            w = self.session(server=False)
            w.client_in.put(dw.as_line({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                        "params": {"name": "echo"}}))
            w.accept()
            w.server_line()
            self.assertEqual([e["event"] for e in w.audit()], ["session_start", "pin", "verdict"])

    def test_which_methods_have_a_line(self):
        w = self.session(RULES)
        w.handshake()
        for i, (method, audited) in enumerate((
                ("resources/read", True), ("subscriptions/listen", True), ("prompts/get", True),
                ("prompts/list", True), ("tools/list", False), ("ping", False), ("vendor/x", False),
                ("completion/complete", False), ("server/discover", False))):
            w.send_client({"jsonrpc": "2.0", "id": i, "method": method, "params": {"uri": "file:///x"}})
            self.assertEqual(w.recv_server()["method"], method)
            w.send_server({"jsonrpc": "2.0", "id": i, "result": {}})
            w.client_line()
            self.assertEqual([v["method"] for v in self.lines(w, "verdict") if v["id"] == i],
                             [method] if audited else [])
        w.barrier()
        w.send_client({"jsonrpc": "2.0", "id": 99, "method": "resources/subscribe", "params": {"uri": "x"}})
        self.assertError(w.recv_client(), 99, 1001)
        v = w.event("verdict", id=99)
        self.assertEqual((v["verdict"], v["contract"], v["args"]), ("deny", "method", {"uri": "x"}))

    def test_results(self):
        w = self.session()
        for i, (line, want) in enumerate((
                ('{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}', "ok"),
                ('{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":true}}', "error"),
                ('{"jsonrpc":"2.0","id":%d,"result":{"isError":false,"content":[{"isError":true}]}}', "ok"),
                ('{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"x"}}', "error"))):
            w.call(i)
            w.server_line()
            w.send_server(line % i)
            w.client_line()
            self.assertEqual(w.event("result", id=i)["result"], want)
        w.call("open")
        w.server_line()
        w.order("raise 9", None)
        w.wait()
        self.assertEqual(w.event("result", id="open")["result"], "none")

    def test_refusals(self):
        w = self.session()
        w.send_client('{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"a","name":"b"}}')
        w.client_line()
        r = w.event("refusal")
        self.assertEqual((r["id"], r["from"], r["reason"]), ("r1", "client", "duplicate_key"))
        w.send_server("x" * 500)
        r = w.events("refusal", 2)[1]
        self.assertEqual((r["id"], r["from"], r["reason"]), (None, "server", "not_json"))

    def test_server_noise_has_a_bound(self):
        """A server cannot fill the disk with lines of its own choosing."""
        w = self.session()
        w.send_server(b"noise\n" * 20000)
        w.barrier()
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.event("session_end")["dropped"], 20000)
        self.assertLess(len(w.audit()), 200)

    def test_policy_event(self):
        w = self.session(RULES)
        status, _, err = dw.run("reload", "--state", w.state)
        self.assertEqual(status, 0, err)
        p = w.event("policy")
        self.assertEqual(p["policy"]["files"], w.policy_files)

    def test_no_raw_controls(self):
        """Whatever client and server write (dw.audit looks at every line)."""
        ugly = "".join(map(chr, range(1, 32))) + "\x7f\x80\x9b\u2028\u2029\u202e\u2066\u200b\ufeff"
        w = self.session(RULES)
        w.handshake()
        w.round_trip(ugly, ugly, {ugly: ugly, "a": [ugly, {"b": ugly}]})
        w.send_client({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": ugly}})
        w.server_line()
        w.call(3, "delete_" + ugly)
        w.client_line()
        w.send_server(ugly.replace("\n", "") + "\n")
        w.barrier()
        w.finish()
        v = w.event("verdict", id=ugly)
        self.assertEqual((v["tool"], v["args"]), (ugly, {ugly: ugly, "a": [ugly, {"b": ugly}]}))

    def test_forged_lines_are_data(self):
        w = self.session()
        fake = '"}\n{"v":1,"seq":999,"event":"verdict","verdict":"allow"}\n'
        w.round_trip(1, fake, {"x": fake})
        w.event("result")
        self.assertEqual([e["event"] for e in w.audit()],
                         ["session_start", "pin", "pin", "verdict", "result"])
        self.assertEqual(w.event("pin", what="suspicious")["tool"], fake)
        self.assertEqual([e["seq"] for e in w.audit()], [1, 2, 3, 4, 5])


class Redaction(Audited):
    SECRET = "s3cr3t-value-of-the-test"

    def test_by_key(self):
        secret = self.SECRET
        args = {"password": secret, "PassWord": secret, "db_password": secret, "api_token": secret,
                "Token": {"a": [secret]}, "user": "ann", "n": [{"password": [secret, 1], "ok": 1}],
                "deep": {"a": {"b": [{"accessToken": secret, "c": "kept"}]}}, "token": 5,
                "x": [[{"y": {"password": None}}]]}
        w = self.session()
        w.handshake()
        w.round_trip(1, "login", args)
        w.send_client({"jsonrpc": "2.0", "id": 2, "method": "prompts/get",
                       "params": {"name": "p", "arguments": {"password": secret}}})
        w.server_line()
        got = w.event("verdict", id=1)["args"]
        self.assertEqual(list(got), list(args))
        self.assertEqual((got["user"], got["n"][0]["ok"], got["deep"]["a"]["b"][0]["c"]), ("ann", 1, "kept"))
        w.finish()
        for name in (w.audit_path, w.stderr_path):
            with open(name) as f:
                self.assertNotIn(secret, f.read())
        self.assertNotIn(5, got.values())

    def test_words_of_the_policy(self):
        """They come on top of the built-in ones."""
        w = self.session("version: 1\naudit: {redact: [iban, ssn]}\n")
        w.round_trip(1, "pay", {"IBAN": self.SECRET, "user_ssn": self.SECRET, "password": self.SECRET,
                                "api-key": self.SECRET, "plain": "shown"})
        self.assertEqual(w.event("verdict", id=1)["args"]["plain"], "shown")
        with open(w.audit_path) as f:
            self.assertNotIn(self.SECRET, f.read())

    def test_full_and_none(self):
        for how, shown in (("full", True), ("none", False)):
            with self.subTest(how):
                w = self.session("version: 1\naudit: {args: %s}\n" % how)
                w.round_trip(1, "pay", {"password": self.SECRET, "other": "plain-text"})
                v = w.event("verdict", id=1)
                self.assertEqual("args" in v, shown)
                self.assertIn("args_digest", v)
                with open(w.audit_path) as f:
                    text = f.read()
                self.assertEqual(self.SECRET in text, shown)
                self.assertEqual("plain-text" in text, shown)

    def test_digest(self):
        """Keyed: equal for equal arguments, of no use without the key."""
        w = self.session()
        w.round_trip(1, "a", {"x": "1"})
        w.round_trip(2, "b", {"x": "1"})
        w.round_trip(3, "a", {"x": "2"})
        d = [w.event("verdict", id=i)["args_digest"] for i in (1, 2, 3)]
        self.assertEqual(d[0], d[1])
        self.assertNotEqual(d[0], d[2])
        again = self.session(state=w.state)
        again.round_trip(4, "a", {"x": "1"})
        self.assertEqual(again.event("verdict", id=4)["args_digest"], d[0])
        other = self.session()
        other.round_trip(1, "a", {"x": "1"})
        self.assertNotEqual(other.event("verdict", id=1)["args_digest"], d[0])
        for h in (hashlib.sha256, hashlib.blake2b, lambda x: hashlib.blake2b(x, digest_size=32)):
            self.assertNotEqual(h(b'{"x":"1"}').hexdigest(), d[0])

    def test_secrets_of_the_denied(self):
        w = self.session(RULES)
        w.call(1, "delete_x", {"token": self.SECRET})
        w.client_line()
        w.call(2, "send_email", {"token": self.SECRET})
        w.client_line()
        w.finish()
        for name in (w.audit_path, w.stderr_path):
            with open(name) as f:
                self.assertNotIn(self.SECRET, f.read())


class Promises(Audited):
    def test_p1_denied_calls_never_reach_the_server(self):
        w = self.session(RULES)
        w.handshake()
        for i in range(50):
            w.call(i, ("delete_%d" % i, "send_email")[i % 2], {"mark": "DENIED-BYTES"})
        for i in range(50):
            self.assertDenied(w.recv_client(), i)
        w.barrier()
        self.assertEqual(w.finish(), 0)
        # All that the server ever got: handshake and ping.
        self.assertLess(w.server_in.total, 600)

    def test_p4_verdict_before_the_call(self):
        """When the server has the call, the file has the line."""
        w = self.session()
        for i in range(100):
            w.call(i)
            w.server_line()
            self.assertEqual([v["id"] for v in self.lines(w, "verdict")][-1:], [i])

    def denied_for_the_audit(self, w, ident, name="echo"):
        w.call(ident, name)
        text = self.assertDenied(w.recv_client(10), ident)
        self.assertIn("audit", text)

    def passes(self, w, ident):
        w.send_client({"jsonrpc": "2.0", "id": ident, "method": "resources/list"})
        self.assertEqual(w.recv_server()["id"], ident)
        w.send_server({"jsonrpc": "2.0", "id": ident, "result": {}})
        self.assertEqual(w.recv_client()["id"], ident)

    @contextlib.contextmanager
    def small_disk(self, size="256k"):
        where = tempfile.mkdtemp(prefix="dw-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s,mode=700" % size, "tmpfs", where], check=True)
        try:
            yield where
        finally:
            subprocess.run(["umount", "-l", where], check=True)
            os.rmdir(where)

    def fill(self, where):
        with open(os.path.join(where, "fill"), "wb", buffering=0) as f:
            for step in (4096, 512, 1):
                with contextlib.suppress(OSError):
                    while f.write(b"x" * step) == step:
                        pass

    @dw.need_root
    def test_p4_full_disk(self):
        with self.small_disk() as disk:
            w = self.session(RULES, state=os.path.join(disk, "state"))
            w.handshake()
            w.round_trip(1)
            self.fill(disk)
            n = 2
            # The last page of the file may still have room.
            while n < 100:
                w.call(n)
                w.pump(lambda: w.server_in.lines or w.client_out.lines, what="a verdict")
                if not w.server_in.lines:
                    break
                w.server_line()
                w.answer(n)
                w.client_line()
                n += 1
            self.assertIn("audit", self.assertDenied(w.recv_client(), n))
            for i in range(3):
                self.denied_for_the_audit(w, "full-%d" % i)
            self.passes(w, "list")      # what needs no verdict goes on
            w.send_client({"jsonrpc": "2.0", "id": "read", "method": "resources/read", "params": {"uri": "x"}})
            self.assertError(w.recv_client(), "read", 1003)
            w.barrier()
            self.assertIn("audit", w.stderr_text())
            w.audit()                   # no torn line is left
            os.unlink(os.path.join(disk, "fill"))
            w.round_trip("again")
            lines = w.audit()
            self.assertEqual([e["seq"] for e in lines], list(range(1, len(lines) + 1)))
            self.assertEqual(w.finish(), 0)
            w.close()

    def test_p4_file_size_limit(self):
        """RLIMIT_FSIZE, which also sends a signal."""
        for user in dw.users():
            with self.subTest(user):
                def preexec():
                    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
                w = self.session(user=user, preexec=preexec)
                for i in range(60):
                    w.call(i)
                    w.pump(lambda: w.server_in.lines or w.client_out.lines, what="a verdict")
                    if not w.server_in.lines:
                        break
                    w.server_line()
                    w.answer(i)
                    w.client_line()
                self.assertLess(i, 59)
                self.assertIn("audit", self.assertDenied(w.recv_client(), i))
                self.denied_for_the_audit(w, "more")
                self.passes(w, "list")
                w.barrier()
                w.audit()
                self.assertEqual(w.finish(), 0)

    def test_p4_something_else_at_the_path(self):
        for kind in ("directory", "link", "fifo", "dangling link"):
            with self.subTest(kind):
                w = self.session()
                w.round_trip(1)
                os.rename(w.audit_path, w.audit_path + ".1")
                other = os.path.join(w.state, "other")     # where the monitor may write
                if kind == "directory":
                    os.mkdir(w.audit_path)
                elif kind == "fifo":
                    os.mkfifo(w.audit_path)
                else:
                    if kind == "link":
                        os.close(os.open(other, os.O_CREAT, 0o600))
                    os.symlink(other, w.audit_path)
                self.denied_for_the_audit(w, 2)
                self.passes(w, "list")
                w.barrier()
                self.assertEqual(os.path.exists(other), kind == "link")
                if kind == "link":
                    self.assertEqual(os.path.getsize(other), 0)
                os.rmdir(w.audit_path) if kind == "directory" else os.unlink(w.audit_path)
                w.round_trip(3)
                w.event("verdict", id=3)
                self.assertEqual(w.finish(), 0)

    def test_p4_counts_of_what_was_denied(self):
        """A cancellation falls with the call that it came with, and had no
        verdict of its own that could be taken back."""
        w = self.session()
        w.round_trip(1)
        os.rename(w.audit_path, w.audit_path + ".1")
        os.mkdir(w.audit_path)
        w.send_client(b"".join(map(dw.as_line, (
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}))))
        self.denied_for_the_audit(w, 3)
        os.rmdir(w.audit_path)
        w.round_trip(4)
        self.assertEqual(w.finish(), 0)
        end = w.event("session_end")
        self.assertEqual((end["allowed"], end["denied"], end["observed"]), (2, 2, 0))

    def test_breach_while_a_call_waits_for_its_line(self):
        """It is answered, and not looked at again when the lock is free."""
        w = self.session()
        w.round_trip(1)
        relay = w.processes()["server"]
        with open(os.path.join(w.state, "audit.lock"), "r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            w.call(2)
            w.pump_for(0.3)
            os.kill(relay.pid, signal.SIGKILL)
            self.assertError(w.recv_client(), 2, 1003)
            fcntl.lockf(lock, fcntl.LOCK_UN)
        self.assertEqual(w.wait(), 70)
        self.assertFalse(w.server_in.lines or w.server_in.buf, w.report())

    def test_end_of_a_subscription_that_waits_for_its_line(self):
        """The server cannot end what it has not been asked for yet."""
        w = self.session()
        w.round_trip(1)
        listen = {"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen",
                  "params": {"notifications": {}, "_meta": dw.MODERN}}
        with open(os.path.join(w.state, "audit.lock"), "r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            w.send_client(listen)
            w.pump_for(0.3)
            w.send_server({"jsonrpc": "2.0", "method": "notifications/cancelled",
                           "params": {"requestId": 2}})
            w.send_server({"jsonrpc": "2.0", "method": "notifications/x"})
            self.assertEqual(w.recv_client()["method"], "notifications/x")
            fcntl.lockf(lock, fcntl.LOCK_UN)
        w.forwarded(listen)
        w.send_server({"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete"}})
        self.assertEqual(w.recv_client()["id"], 2)
        w.barrier()
        self.assertEqual(w.finish(), 0)

    def test_answer_to_a_request_that_waits_for_its_line(self):
        """The client cannot have seen it yet: such an answer is dropped, and
        the request stays open for the one that is meant.  Both have to come
        in one turn of the monitor, which may take more than one try."""
        w = self.session(policy="version: 1\nmethods:\n  roots/list: allow\n")
        w.handshake()
        for ident in range(8):
            w.barrier()
            early = {"jsonrpc": "2.0", "id": ident, "result": {"n": "early"}}
            meant = {"jsonrpc": "2.0", "id": ident, "result": {"n": "meant"}}
            os.kill(w.pid, signal.SIGSTOP)
            w.send_server({"jsonrpc": "2.0", "id": ident, "method": "roots/list"})
            w.send_client(early)
            w.pump_for(0.3 * dw.SLOW)
            os.kill(w.pid, signal.SIGCONT)
            self.assertEqual(w.recv_client()["method"], "roots/list")
            w.send_client(meant)
            if w.recv_server()["result"]["n"] == "meant":
                break
        else:
            self.fail("the early answer went through each time")
        w.event("verdict", id=ident, method="roots/list")
        w.barrier()
        self.assertEqual(w.finish(), 0)

    def test_p4_unwritable_from_the_start(self):
        """Nothing is forwarded that needs a line (root may write all, so it
        is something else that stands there)."""
        w = self.session()
        state = os.path.join(w.dir, "other-state")
        os.mkdir(state, 0o700)
        os.mkdir(os.path.join(state, "audit.jsonl"))
        v = self.session(state=state)
        v.call(1)
        self.assertDenied(v.recv_client(), 1, "audit")
        self.assertIn("audit", v.stderr_text())

    def test_p4_read_only_for_an_ordinary_user(self):
        if os.geteuid() == 0:
            user = dw.NOBODY
        else:
            user = None
        w = self.session(user=user)
        w.round_trip(1)
        os.chmod(w.audit_path, 0o400)
        os.rename(w.audit_path, w.audit_path + ".1")
        os.chmod(w.state, 0o500)
        self.addCleanup(os.chmod, w.state, 0o700)
        self.denied_for_the_audit(w, 2)
        w.barrier()
        os.chmod(w.state, 0o700)
        w.round_trip(3)

    def test_p4_lock_is_held(self):
        """A bounded wait, then the call is denied; the session lives on, and
        what the server says is not held up."""
        w = self.session()
        w.handshake()
        w.round_trip(1)
        with open(os.path.join(w.state, "audit.lock"), "r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            began = time.monotonic()
            w.call(2)
            w.pump_for(0.2)
            w.send_server('{"jsonrpc":"2.0","method":"notifications/x"}')
            self.assertEqual(w.recv_client(1)["method"], "notifications/x")
            self.assertLess(time.monotonic() - began, 1.5 * dw.SLOW)
            text = self.assertDenied(w.recv_client(8), 2)
            took = time.monotonic() - began
            self.assertIn("audit", text)
            self.assertGreater(took, 0.5)
            self.assertLess(took, 5.0 * dw.SLOW)
            fcntl.lockf(lock, fcntl.LOCK_UN)
            w.round_trip(3)
            # Held for a moment only: the call waits and goes through.
            fcntl.lockf(lock, fcntl.LOCK_EX)
            message = w.call(4)
            w.pump_for(0.5)
            self.assertFalse(w.server_in.lines)
            fcntl.lockf(lock, fcntl.LOCK_UN)
            w.forwarded(message)
            w.answer(4)
            w.client_line()
        w.barrier()
        self.assertEqual(w.finish(), 0)
        seqs = [e["seq"] for e in w.audit()]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))

    def test_p4_lock_of_a_stopped_session(self):
        """Whatever a stopped doorward holds, another one does not hang."""
        a = self.session()
        b = self.session(state=a.state)
        a.round_trip(1)
        for i in range(20):
            a.send_client({"jsonrpc": "2.0", "id": "x%d" % i, "method": "tools/call",
                           "params": {"name": "echo"}})
            os.kill(a.pid, signal.SIGSTOP)
            began = time.monotonic()
            b.call(i)
            b.pump(lambda: b.server_in.lines or b.client_out.lines, 6, "a verdict")
            self.assertLess(time.monotonic() - began, 5 * dw.SLOW)
            if b.server_in.lines:
                b.server_line()
                b.answer(i)
            b.client_line()
            os.kill(a.pid, signal.SIGCONT)
            a.server_line()
        seqs = [e["seq"] for e in a.audit()]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))

    def test_lock_file_removed(self):
        a = self.session()
        b = self.session(state=a.state)
        for i in range(60):
            if i % 20 == 10:
                os.unlink(os.path.join(a.state, "audit.lock"))
            a.call(i), b.call(i)
            a.server_line(), b.server_line()
        seqs = [e["seq"] for e in a.audit()]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))

    def test_log_moved_or_removed(self):
        w = self.session()
        for i, how in enumerate((lambda: os.rename(w.audit_path, w.audit_path + ".old"),
                                 lambda: os.unlink(w.audit_path))):
            w.round_trip(i)
            w.event("result", id=i)     # written after the answer has left
            how()
            w.call("next-%d" % i)
            w.server_line()
            self.assertEqual([e["id"] for e in w.audit() if e["event"] == "verdict"], ["next-%d" % i])
            w.answer("next-%d" % i)
            w.client_line()
        with open(w.audit_path + ".old", "rb") as f:
            self.assertEqual(len(dw.parse_audit(f.read())), 4)      # nothing came later

    def test_log_cut_by_somebody(self):
        """A torn last line is not continued."""
        w = self.session()
        w.round_trip(1)
        os.truncate(w.audit_path, os.path.getsize(w.audit_path) - 10)
        w.call(2)
        w.pump(lambda: w.server_in.lines or w.client_out.lines, what="a verdict")
        with open(w.audit_path, "rb") as f:
            lines = f.read().split(b"\n")
        if w.server_in.lines:
            self.assertEqual(json.loads(lines[-2])["id"], 2)
        else:
            self.assertDenied(w.recv_client(), 2)

    def test_observe_goes_on_without_evidence(self):
        w = self.session(args=["--mode", "observe"])
        w.round_trip(1)
        os.rename(w.audit_path, w.audit_path + ".1")
        os.mkdir(w.audit_path)
        w.round_trip(2)
        w.barrier()
        self.assertIn("audit", w.stderr_text())
        self.assertIn("observ", w.stderr_text())

    def test_observe(self):
        w = self.session(RULES, args=["--mode", "observe"])
        w.handshake()
        w.round_trip(1, "delete_all")
        w.round_trip(2, "send_email")
        w.round_trip(3, "echo")
        for i, would in ((1, "deny"), (2, "ask"), (3, None)):
            v = w.event("verdict", id=i)
            self.assertEqual((v["verdict"], v["mode"], v.get("would")), ("allow", "observe", would))
        self.assertEqual(len(w.events("result", 3)), 3)
        # What the wire refuses is never forwarded.
        w.send_client('{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","name":"b"}}')
        self.assertError(w.recv_client(), 4, -32600)
        w.send_client('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}')
        w.barrier()
        self.assertEqual(w.finish(), 0)
        end = w.event("session_end")
        self.assertEqual((end["allowed"], end["denied"], end["observed"]), (1, 0, 2))

    def test_many_sessions_in_one_file(self):
        sessions, calls = 8, 500
        first = self.session()
        all_of_them = [first] + [self.session(state=first.state) for _ in range(sessions - 1)]
        trouble = []

        def drive(w, n):
            try:
                for start in range(0, calls, 50):
                    for i in range(start, start + 50):
                        w.send_client({"jsonrpc": "2.0", "id": "%d-%d" % (n, i), "method": "tools/call",
                                       "params": {"name": "echo", "arguments": {"x": "y" * (i % 300)}}}, wait=False)
                    for i in range(start, start + 50):
                        ident = json.loads(w.server_line(30))["id"]
                        w.send_server({"jsonrpc": "2.0", "id": ident, "result": {}}, wait=False)
                    for i in range(start, start + 50):
                        w.client_line(30)
                w.close_client_in()
                if w.wait(30) != 0:
                    raise AssertionError("exit status")
            except BaseException as e:
                trouble.append(e)

        threads = [threading.Thread(target=drive, args=(w, n)) for n, w in enumerate(all_of_them)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if trouble:
            raise trouble[0]
        lines = first.audit()       # every line is whole JSON
        self.assertEqual([e["seq"] for e in lines], list(range(1, len(lines) + 1)))
        for event in ("verdict", "result"):
            ids = [e["id"] for e in lines if e["event"] == event]
            self.assertEqual(len(ids), sessions * calls)
            self.assertEqual(set(ids), {"%d-%d" % (n, i) for n in range(sessions) for i in range(calls)})
        self.assertEqual(len([e for e in lines if e["event"] == "session_start"]), sessions)
        self.assertEqual(len([e for e in lines if e["event"] == "session_end"]), sessions)
        for session in {e["session"] for e in lines}:
            own = [e["mono_ns"] for e in lines if e["session"] == session]
            self.assertEqual(own, sorted(own))

    def test_files_are_private(self):
        w = self.session(preexec=lambda: os.umask(0))
        w.round_trip(1)
        self.assertEqual(stat.S_IMODE(os.stat(w.audit_path).st_mode), 0o600)
        os.rename(w.audit_path, w.audit_path + ".1")
        w.round_trip(2)     # one made by the confined monitor
        self.assertEqual(stat.S_IMODE(os.stat(w.audit_path).st_mode), 0o600)

    def test_large_arguments(self):
        """A verdict on 20 MiB is one line, and not one of 20 MiB."""
        w = self.session()
        w.call(1, "echo", {"x": "y" * (20 << 20), "password": "hidden-in-it"})
        w.server_line(60)
        v = w.event("verdict", id=1)
        self.assertIn("args_digest", v)
        self.assertLess(os.path.getsize(w.audit_path), 3 << 20)
        w.answer(1)
        w.client_line()
        w.barrier()
        text = re.sub(r"y{100,}", "", open(w.audit_path).read())
        self.assertNotIn("hidden-in-it", text)
