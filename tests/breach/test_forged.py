"""What a fallen relay can say that is well formed (promise P3): forged calls,
answers and refusals, floods, odd orders, mutations of honest traffic.

A fallen client relay can make up, alter and drop calls, all judged and
audited.  A fallen server relay is a hostile server, and no more than that.
"""
import json
import os
import random
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dw
import frames as f
from arena import OPEN_LINES, POLICY, TOOLS, Arena, environment, judged, testing


class Evil(dw.Wrapped):
    """A session whose relay of one side obeys us, order by order."""

    def __init__(self, test, side, policy=POLICY, hello=True, **kwargs):
        self.side = side
        self.evil_path = os.path.join(dw.tempfile.mkdtemp(prefix="dw-evil-"), "o")
        test.addCleanup(dw.shutil.rmtree, os.path.dirname(self.evil_path), True)
        self.evil_listener = socket.socket(socket.AF_UNIX)
        self.evil_listener.bind(self.evil_path)
        self.evil_listener.listen(1)
        test.addCleanup(self.evil_listener.close)
        super().__init__(test, policy=policy, binary=testing("doorward"),
                         env=environment(side, self.evil_path), **kwargs)
        self.evil_listener.settimeout(10 * dw.SLOW)
        self.evil = self.evil_listener.accept()[0]
        test.addCleanup(self.evil.close)
        self.call_number = 0
        self.asked = []         # own tools/list that nobody has answered yet
        if hello:
            self.say(f.hello())

    def close(self):
        """A relay that we hold does not tell of the client's end."""
        if not self.closed and self.proc.poll() is None and self.side == "client":
            os.kill(self.pid, signal.SIGTERM)
        super().close()

    def give(self, letter, n=0, data=b""):
        """An order; the session goes on while the relay takes it."""
        data = f.order(letter, n, data)
        self.evil.setblocking(False)
        at = 0
        while at < len(data):
            try:
                at += self.evil.send(data[at:at + (1 << 20)])
            except BlockingIOError:
                self.turn(0.01)

    def done(self, timeout=20.0):
        """The relay's answer to the oldest order: b"k", or b"e"."""
        self.evil.setblocking(False)

        def answer():
            try:
                return self.evil.recv(1) or b"gone"
            except BlockingIOError:
                return None
        return self.pump(answer, timeout, "the evil relay")

    def say(self, data):
        """The relay writes to the monitor."""
        self.give("W", 0, data)
        self.test.assertEqual(self.done(), b"k", self.report())

    def next(self, n=1):
        self.call_number += n
        return self.call_number

    def take_listing(self, line):
        """Behind a fallen relay of the server's nobody answers unasked."""
        if self.side == "client":
            return super().take_listing(line)
        if not dw.OWN_LISTING.search(line):
            return False
        self.listings += 1
        self.asked.append(json.loads(line)["id"])
        return True

    def own_id(self):
        """The id of the oldest own tools/list that waits for its answer."""
        return self.pump(lambda: self.asked and self.asked.pop(0), what="the monitor's listing")

    def forge_list(self, tools=TOOLS, ident=None, **more):
        """The server's relay answers the monitor's own listing."""
        ident = self.own_id() if ident is None else ident
        self.say(f.listed(self.next(), {"tools": tools}, ident, **more))

    def prime(self, *called):
        """The tools, with those called besides, are listed for a call that is denied."""
        self.called.update(called)
        if self.side == "client":
            self.forge(tool_call("prime", "delete_x"))
        else:
            self.send_client(tool_call("prime", "delete_x"))
            self.forge_list()
        self.test.assertDenied(self.recv_client(), "prime", "no-deletes")

    def forge(self, *messages):
        """The client's relay claims these messages, in one write."""
        self.called.update(dw.called(b"".join(map(dw.as_line, messages))))
        self.say(b"".join(f.message(self.next(), m) for m in messages))

    def forge_said(self, kind, line, ident=None, method=b"", **more):
        """The server's relay claims this."""
        self.say(f.said(self.next(), kind, line, ident, method, **more))


def tool_call(ident, name="echo", **params):
    return {"jsonrpc": "2.0", "id": ident, "method": "tools/call",
            "params": {"name": name, "arguments": {"a": 1}, **params}}


def ping(ident):
    return {"jsonrpc": "2.0", "id": ident, "method": "ping"}


def cancel(ident):
    return {"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": ident}}


class FallenClient(dw.TestCase):
    def evil(self, **kwargs):
        return Evil(self, "client", **kwargs)

    def test_every_forged_call_is_judged(self):
        w = self.evil()
        w.forge(tool_call(1, "delete_all"), tool_call("x", "send_email"), tool_call(2))
        w.forwarded(tool_call(2))
        self.assertDenied(w.recv_client(), 1, "no-deletes")
        self.assertDenied(w.recv_client(), "x", "no-sends")
        w.answer(2)
        self.assertEqual(w.recv_client()["id"], 2)
        verdicts = [(x["id"], x["verdict"]) for x in w.events("verdict", 3)]
        self.assertEqual(verdicts, [(1, "deny"), ("x", "ask"), (2, "allow")])
        w.say(f.eoi())
        self.assertEqual(w.wait(), 0)

    def test_the_line_is_there_before_the_call(self):
        w = self.evil()
        for n in range(20):
            w.forge(tool_call(n))
            w.forwarded(tool_call(n))
            self.assertIn(n, [x["id"] for x in w.audit() if x["event"] == "verdict"])

    def test_no_audit_no_call(self):
        w = self.evil()
        w.forge(tool_call(1))
        w.forwarded(tool_call(1))
        os.rename(w.audit_path, w.audit_path + ".away")
        os.mkdir(w.audit_path)
        # With its own cancellation in the same batch: neither may pass.
        w.forge(tool_call(2), tool_call(3), cancel(3), ping(4))
        w.forwarded(ping(4))
        self.assertDenied(w.recv_client(), 2, "audit")
        os.rmdir(w.audit_path)
        w.forge(tool_call(2), tool_call(3))
        w.forwarded(tool_call(2))
        w.forwarded(tool_call(3))

    def test_what_is_printed_is_the_monitors_own(self):
        """No bytes of the relay's choice: what would break out of a string
        or a line is escaped."""
        w = self.evil()
        nasty = 'a"}\n{"jsonrpc":"2.0","id":9,"method":"tools/call"}\r\n\\ \x00'.replace(
            "\x00", "\x01\x1f\x7f\u2028")
        message = {"jsonrpc": "2.0", "id": nasty, "method": "x/" + nasty,
                   "params": {nasty: nasty, "n": [nasty]}}
        w.forge(message)
        line = w.server_line()
        self.assertEqual(json.loads(line), message)
        self.assertFalse(any(b < 0x20 for b in line))
        w.forge(ping(2))
        w.forwarded(ping(2))

    def test_it_cannot_answer_for_the_server(self):
        """A refusal under an open id is an error of Doorward's own wording;
        the server's answer still passes."""
        w = self.evil()
        w.forge(tool_call(1), tool_call(5, "delete_x"))
        w.forwarded(tool_call(1))
        self.assertDenied(w.recv_client(), 5)
        w.say(f.refuse(w.next(), "not_json", 5, sample=b'{"result":1}') +
              f.refuse(w.next(), "call_without_id", 1))
        error = self.assertError(w.recv_client(), 5, -32700)
        self.assertTrue(error["message"].startswith("[doorward refused] "), error)
        w.answer(1)
        self.assertIn("result", w.recv_client())
        w.forge(ping(8))
        w.forwarded(ping(8))

    def test_forged_answers_reach_no_closed_question(self):
        w = self.evil()
        w.forge({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "a",
                                                            "error": {}}, ping(2))
        w.forwarded(ping(2))

    def test_an_answer_is_given_once(self):
        w = self.evil()
        w.forge({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}})
        w.recv_server()
        w.send_server({"jsonrpc": "2.0", "id": "i", "result": {}})
        w.recv_client()
        w.send_server({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        self.assertEqual(w.recv_client()["method"], "roots/list")
        answer = {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}
        w.forge(answer, answer, {**answer, "id": "7"}, {**answer, "id": f.Num("-7")}, ping(1))
        w.forwarded(answer)
        w.forwarded(ping(1))

    def test_ids(self):
        """Reuse of open, cancelled and answered ids, in one batch and later."""
        w = self.evil()
        w.prime("delete_1")
        w.forge(tool_call(1), tool_call(1), cancel(1), tool_call(1), cancel(1), cancel(2),
                tool_call(f.Num("-0")), tool_call(0), tool_call("0"))
        got = [w.recv_client() for _ in range(3)]
        for message, ident in zip(got, (1, 1, 0)):
            self.assertError(message, ident, -32600)
        for ident in (1, None, 0, "0"):
            line = w.recv_server()
            self.assertEqual(line.get("id"), ident)
        w.forge(tool_call(1, "delete_1"), tool_call(1))
        self.assertDenied(w.recv_client(), 1)
        w.forwarded(tool_call(1))
        w.forge(ping("z"))
        w.forwarded(ping("z"))

    def test_long_tool_name(self):
        """Names are bounded: in the audit, and in the table of open calls."""
        w = self.evil()
        w.prime("x" * 1024)
        w.forge(tool_call(1, "x" * 1024), tool_call(2, "x" * 1025),
                tool_call(3, "x" * (8 * f.MIB)))
        self.assertEqual(w.recv_server()["id"], 1)
        for ident in (2, 3):
            self.assertError(w.recv_client(), ident, -32602)
        self.assertEqual([x["reason"] for x in w.events("refusal", 2)],
                         ["tool_name_too_long"] * 2)
        self.assertLess(os.path.getsize(w.audit_path), 64 * 1024)

    def test_the_honest_client_hears_of_the_end(self):
        """Denials that wait for the audit are not lost in a breach."""
        w = self.evil()
        w.prime()
        before = w.server_in.total
        # It may not live to say that it has written this.
        w.give("W", 0, f.message(2, tool_call(1, "delete_x")) + f.message(3, tool_call(2)) +
               f.refuse(4, "not_json", 3) + f.eoi() + b"x")
        self.assertEqual(w.wait(), 70)
        got = {}
        for line in w.client_out.lines:
            message = json.loads(line)
            self.assertNotIn(message["id"], got)
            got[message["id"]] = message
        self.assertDenied(got[1], 1)
        self.assertError(got[2], 2, 1003)
        self.assertError(got[3], 3, -32700)
        self.assertEqual(w.server_in.total, before)

    def test_before_the_other_relay_has_reported(self):
        """Nothing is forwarded before both relays are confined."""
        w = Evil(self, "server", hello=False)
        w.send_client(tool_call(1))
        w.pump_for(0.3)
        self.assertEqual(w.server_in.total, 0)
        self.assertEqual(w.audit(), [])
        w.say(f.hello())
        w.forge_list()
        w.forwarded(tool_call(1))
        events = [x["event"] for x in w.audit() if x["event"] != "pin"]
        self.assertEqual(events, ["session_start", "verdict"])

    def flood(self, w, data, count, most):
        """Writes data count times; the monitor's memory stays below most."""
        w.give("L", count, data)
        began, high = time.monotonic(), 0

        def ended():
            nonlocal high
            high = max(high, dw.rss(w.pid))
            try:
                return w.evil.recv(1)
            except BlockingIOError:
                return None
        w.evil.setblocking(False)
        answer = w.pump(ended, 60, "the end of the flood")
        if not dw.SAN:
            self.assertLess(high, most * f.MIB)
        return answer, time.monotonic() - began

    def test_floods(self):
        """Of notes, notifications, denied calls and refusals."""
        w = self.evil()
        w.prime()
        w.client_out.keep = w.server_in.keep = False
        small = f.note(b"n")
        self.assertEqual(self.flood(w, small * 1000, 300, 24)[0], b"k")
        for make in (lambda c: f.message(c, cancel(c)),
                     lambda c: f.refuse(c, "not_json", c),
                     lambda c: f.message(c, tool_call(c, "delete_x")),
                     lambda c: f.message(c, {"jsonrpc": "2.0", "method": "n/x"})):
            first = w.next(4000) - 4000
            data = b"".join(make(first + 1 + i) for i in range(4000))
            self.assertEqual(self.flood(w, data, 1, 32)[0], b"k")
        w.client_out.keep = w.server_in.keep = True
        w.pump_for(0.3)
        w.forge(tool_call("last"))
        w.pump(lambda: any(b'"last"' in x for x in w.server_in.lines), 10, "the last call")

    def test_requests_and_cancellations(self):
        """Open and cancelled requests are both bounded in number."""
        w = self.evil()
        w.prime("t" * 900)
        w.client_out.keep = w.server_in.keep = False
        pad = "p" * 900
        for _ in range(6):
            first = w.next(8000) - 8000
            data = b"".join(
                f.message(first + 1 + i, tool_call(pad + str(first + i // 2), "t" * 900)
                          if i % 2 == 0 else cancel(pad + str(first + i // 2)))
                for i in range(8000))
            self.assertEqual(self.flood(w, data, 1, 48)[0], b"k")
        first = w.next(6000) - 6000
        data = b"".join(f.message(first + 1 + i, ping(pad + "o%d" % i)) for i in range(6000))
        self.assertEqual(self.flood(w, data, 1, 48)[0], b"k")
        w.pump(lambda: len([x for x in w.audit() if x["event"] == "refusal"]) >= 6000 - 4096,
               20, "refusals")
        self.assertGreater(len([x for x in w.audit() if x.get("tool") == "t" * 900 and
                                x.get("verdict") == "allow"]), 6000)

    def test_answers_nobody_reads(self):
        """A client that does not read stops its relay, not the memory."""
        w = self.evil()
        w.prime()
        w.client_out.paused = True
        data = b"".join(f.message(w.next(), tool_call(i, "delete_x")) for i in range(60000))
        w.give("W", 0, data)
        w.pump_for(2)
        if not dw.SAN:
            self.assertLess(dw.rss(w.pid), 32 * f.MIB)
        w.client_out.keep, w.client_out.paused = False, False
        self.assertEqual(w.done(60), b"k")


class FallenServer(dw.TestCase):
    def evil(self, **kwargs):
        return Evil(self, "server", **kwargs)

    def session(self, legacy=True, primed=True):
        w = self.evil()
        if legacy:
            w.send_client({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}})
            w.recv_server()
            w.forge_said(f.KIND_RESULT, b"init", "i")
            self.assertEqual(w.client_line(), b"init")
        if primed:
            w.prime()
        return w

    def both_ways(self, w):
        """The client's side still works: a denied and an allowed call."""
        w.send_client(tool_call("d", "delete_x"))
        self.assertDenied(w.recv_client(), "d")
        w.send_client(tool_call("a"))
        w.forwarded(tool_call("a"))
        w.forge_said(f.KIND_RESULT, b"answer", "a")
        self.assertEqual(w.client_line(), b"answer")
        w.results = getattr(w, "results", 0) + 1
        w.events("result", w.results, id="a")

    def test_answers_to_what_is_not_open(self):
        w = self.session()
        for ident in ("i", 1, "1", f.Num("-0"), "x" * 1024, None):
            kinds = (f.KIND_ERROR,) if ident is None else (f.KIND_RESULT, f.KIND_ERROR)
            for kind in kinds:
                w.forge_said(kind, b"forged", ident)
        self.both_ways(w)
        # A denied call was never there, and an answer counts once.
        w.forge_said(f.KIND_RESULT, b"forged", "d")
        w.forge_said(f.KIND_RESULT, b"forged", "a")
        self.both_ways(w)

    def test_answer_before_the_request_is_sent(self):
        """While its audit line waits for the lock, a request is not sent, and
        neither an answer nor progress nor a refusal is one of it."""
        w = self.session()
        self.both_ways(w)
        with AuditLock(w):
            w.send_client(tool_call(1, _meta={"progressToken": "t"}))
            w.pump_for(0.2)
            w.forge_said(f.KIND_NOTIFICATION, b"forged", None, b"notifications/progress",
                         token="t")
            w.forge_said(f.KIND_RESULT, b"forged", 1)
            w.say(f.refuse(w.next(), "not_json", 1))
            w.pump_for(0.2)
            self.assertEqual(list(w.client_out.lines), [])
            self.assertEqual(list(w.server_in.lines), [])
        self.assertEqual(w.recv_server()["id"], 1)
        w.forge_said(f.KIND_NOTIFICATION, b"progress", None, b"notifications/progress", token="t")
        w.forge_said(f.KIND_RESULT, b"true", 1)
        self.assertEqual(w.client_line(), b"progress")
        self.assertEqual(w.client_line(), b"true")

    def test_breach_while_the_audit_waits(self):
        """The honest client's denied and open calls are answered even if the
        breach comes before their audit lines could be written."""
        w = self.session()
        self.both_ways(w)
        with AuditLock(w):
            # One write, so that both are read before the wait begins.
            w.send_client(dw.as_line(tool_call(1, "delete_x")) + dw.as_line(tool_call(2)))
            w.pump_for(0.2)
            w.say(b"\0" * 16)
            w.pump_for(0.1)
        self.assertEqual(w.wait(), 70)
        got = {m["id"]: m for m in map(json.loads, w.client_out.lines)}
        self.assertEqual(set(got), {1, 2}, w.report())
        self.assertDenied(got[1], 1)
        self.assertError(got[2], 2, 1003)
        self.assertEqual(list(w.server_in.lines), [])

    def test_requests_outside_a_legacy_session(self):
        w = self.session(legacy=False)
        for method in (b"sampling/createMessage", b"roots/list", b"ping", b"elicitation/create"):
            w.forge_said(f.KIND_REQUEST, b"forged", 1, method)
        self.both_ways(w)
        w.send_client({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}})
        w.recv_server()
        w.forge_said(f.KIND_REQUEST, b"forged", 2, b"roots/list")
        w.forge_said(f.KIND_REQUEST, b"a ping may come", 3, b"ping")
        self.assertEqual(w.client_line(), b"a ping may come")
        self.both_ways(w)

    def test_requests_that_the_policy_forbids(self):
        w = self.session()
        w.forge_said(f.KIND_REQUEST, b"forged", 1, b"sampling/createMessage")
        self.assertError(w.recv_server(), 1, 1001)
        self.both_ways(w)
        verdict = w.event("verdict", method="sampling/createMessage")
        self.assertEqual(verdict["verdict"], "deny")

    def test_no_audit_no_request_of_the_server(self):
        w = self.session()
        self.both_ways(w)
        os.rename(w.audit_path, w.audit_path + ".away")
        os.mkdir(w.audit_path)
        w.forge_said(f.KIND_REQUEST, b"forged", 1, b"roots/list")
        self.assertError(w.recv_server(), 1, 1003)
        w.forge_said(f.KIND_REQUEST, b"no rule names it", 2, b"ping")
        self.assertEqual(w.client_line(), b"no rule names it")
        os.rmdir(w.audit_path)
        w.forge_said(f.KIND_REQUEST, b"with its line", 1, b"roots/list")
        self.assertEqual(w.client_line(), b"with its line")

    def test_judged_requests_in_one_batch(self):
        """Each waits for its line, none for the next event."""
        w = self.session()
        began = time.monotonic()
        w.say(b"".join(f.said(w.next(), f.KIND_REQUEST, b"ask %d" % i, i, b"roots/list")
                       for i in range(50)))
        for i in range(50):
            self.assertEqual(w.client_line(), b"ask %d" % i)
        self.assertLess(time.monotonic() - began, 1.0 * dw.SLOW)

    def test_open_request_ids(self):
        """Of the server's own requests, and cancellations of any."""
        w = self.session()
        w.forge_said(f.KIND_REQUEST, b"one", 1, b"ping")
        self.assertEqual(w.client_line(), b"one")
        w.forge_said(f.KIND_REQUEST, b"forged", 1, b"ping")
        w.send_client(tool_call("a"))
        w.forwarded(tool_call("a"))
        for token in ("a", "nobody", None, 2):
            w.forge_said(f.KIND_NOTIFICATION, b"forged", None, b"notifications/cancelled",
                         token=token)
        w.forge_said(f.KIND_NOTIFICATION, b"gone", None, b"notifications/cancelled", token=1)
        self.assertEqual(w.client_line(), b"gone")
        w.send_client({"jsonrpc": "2.0", "id": 1, "result": {}})
        w.forge_said(f.KIND_RESULT, b"answer", "a")
        self.assertEqual(w.client_line(), b"answer")
        self.both_ways(w)

    def test_own_answers_wait_for_a_line_to_end(self):
        """And when it never does, they still come, after the cut."""
        w = self.session()
        w.send_client(tool_call(1))
        w.forwarded(tool_call(1))
        n = w.next()
        w.say(f.envelope(n, f.KIND_RESULT, f.PART + 4, 1) +
              f.frame(f.LINE_PART, n, b"x" * f.PART))
        w.send_client(tool_call(2, "delete_x"))
        w.pump_for(0.2)
        self.assertEqual(list(w.client_out.lines), [])
        w.say(f.frame(f.LINE_PART, n, b"yyyy"))
        self.assertEqual(w.client_line(), b"x" * f.PART + b"yyyy")
        self.assertDenied(w.recv_client(), 2)
        w.send_client(tool_call(3))
        w.forwarded(tool_call(3))
        n = w.next()
        w.say(f.envelope(n, f.KIND_RESULT, f.PART + 4, 3) +
              f.frame(f.LINE_PART, n, b"x" * f.PART))
        w.send_client(tool_call(4, "delete_x"))
        w.pump_for(0.2)
        w.give("X")
        self.assertEqual(w.wait(), 70)
        lines = list(w.client_out.lines)
        self.assertEqual(lines[0], b"x" * f.PART)
        self.assertDenied(json.loads(lines[1]), 4)
        self.assertEqual(len(lines), 2)

    def test_a_dropped_line_hides_nothing(self):
        """While a line that is not passed is under way, ours go out."""
        w = self.session()
        n = w.next()
        w.say(f.envelope(n, f.KIND_RESULT, 5, "nobody"))
        w.send_client(tool_call(2, "delete_x"))
        self.assertDenied(w.recv_client(), 2)
        w.say(f.frame(f.LINE_PART, n, b"12345"))
        self.both_ways(w)

    def test_silence(self):
        """A relay that says nothing any more: the session ends in order."""
        w = self.session()
        w.send_client(tool_call(1))
        w.forwarded(tool_call(1))
        began = time.monotonic()
        self.assertEqual(w.finish(), 0)
        self.assertLess(time.monotonic() - began, 2.0 * dw.SLOW)
        lines = list(w.client_out.lines)
        self.assertEqual(len(lines), 1)
        self.assertError(json.loads(lines[0]), 1, 1003)

    def test_the_server_ends_in_the_middle_of_a_line(self):
        """The relay never goes on: the client's calls are answered all the
        same, and the session ends."""
        w = self.session()
        w.send_client(tool_call(1))
        w.send_client(tool_call(2))
        w.forwarded(tool_call(1)), w.forwarded(tool_call(2))
        n = w.next()
        w.say(f.envelope(n, f.KIND_RESULT, f.PART + 4, 1) +
              f.frame(f.LINE_PART, n, b"x" * f.PART))
        w.order("exit 0", None)
        w.wait(15)
        lines = list(w.client_out.lines)
        self.assertEqual(lines[0], b"x" * f.PART)
        self.assertError(json.loads(lines[1]), 2, 1003)
        self.assertEqual(len(lines), 2)

    def test_sigterm_while_nobody_reads(self):
        """A flood that the client does not take: SIGTERM ends the session."""
        w = self.session()
        w.client_out.paused = True
        w.next(64)
        w.give("W", 0, b"".join(f.said(2 + i, f.KIND_NOTIFICATION, b"x" * f.PART, None,
                                       b"notifications/x") for i in range(64)))
        w.pump_for(0.5)
        began = time.monotonic()
        os.kill(w.pid, signal.SIGTERM)
        w.wait(20)
        self.assertLess(time.monotonic() - began, 12 * dw.SLOW)
        self.assertEqual(len(w.events("session_end")), 1)

    def test_out_of_band(self):
        """Data out of band is no way around the frames, and costs no time."""
        w = self.session()
        w.give("O", 0, f.note())
        w.done()
        w.pump_for(0.3)
        with open("/proc/%d/stat" % w.pid) as s:
            before = sum(map(int, s.read().rsplit(")", 1)[1].split()[11:13]))
        w.pump_for(0.5)
        with open("/proc/%d/stat" % w.pid) as s:
            after = sum(map(int, s.read().rsplit(")", 1)[1].split()[11:13]))
        self.assertLess(after - before, 10, "the monitor spins")

    def test_floods(self):
        w = self.session()
        w.client_out.keep = w.server_in.keep = False
        flood = FallenClient.flood
        self.assertEqual(flood(self, w, f.note(b"n") * 1000, 300, 24)[0], b"k")
        for make in (
                lambda c: f.said(c, f.KIND_RESULT, b"x" * 100, c),
                lambda c: f.said(c, f.KIND_NOTIFICATION, b"x" * 100, None, b"notifications/x"),
                lambda c: f.refuse(c, "not_json", c, sample=b"s" * 80),
                lambda c: f.said(c, f.KIND_REQUEST, b"x", "r" * 1000 + str(c), b"m" * 1000),
                lambda c: f.said(c, f.KIND_REQUEST, b"x", c, b"sampling/createMessage"),
                lambda c: f.tools_frames(c, {"result": {"tools": [None] * 1000}}) +
                f.said(c, f.KIND_RESULT, b"{}", 5, flags=f.RESULT)):
            first = w.next(6000) - 6000
            data = b"".join(make(first + 1 + i) for i in range(6000))
            self.assertEqual(flood(self, w, data, 1, 48)[0], b"k")
        w.client_out.keep = w.server_in.keep = True
        w.pump_for(0.3)
        w.client_out.lines.clear(), w.server_in.lines.clear()
        self.both_ways(w)
        lines = [x for x in w.audit() if x["event"] == "refusal"]
        self.assertLessEqual(len(lines), 32)

    def test_flood_that_the_server_does_not_read(self):
        """Errors for forbidden requests do not pile up before a server that
        does not read."""
        w = self.session()
        w.order("pause")
        first = w.next(20000) - 20000
        data = b"".join(f.said(first + 1 + i, f.KIND_REQUEST, b"x", "r" * 1000 + str(i),
                               b"sampling/createMessage") for i in range(20000))
        answer, _ = FallenClient.flood(self, w, data, 1, 32)
        self.assertEqual(answer, b"k")


class AuditLock:
    """Another process holds the audit's lock."""

    def __init__(self, w):
        self.w = w

    def __enter__(self):
        import fcntl
        import struct
        self.fd = os.open(os.path.join(self.w.state, "audit.lock"), os.O_RDWR)
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(self.fd, 37, lock)      # F_OFD_SETLK

    def __exit__(self, *unused):
        os.close(self.fd)


# ---- mutations of honest traffic ----

def honest_client(rng):
    out = [f.hello()]
    if rng.random() < 0.3:
        out.append(f.note())
    messages = [
        {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "clientInfo": {"name": "m"}}}, tool_call(1), tool_call("d", "delete_x"),
        tool_call(2, "send_email", _meta={"progressToken": 5}), cancel(1), ping(3),
        {"jsonrpc": "2.0", "id": 4, "result": {}}, {"jsonrpc": "2.0", "method": "notifications/x"},
        tool_call(6, "echo", task={}), tool_call(7, "e" * 300)]
    rng.shuffle(messages)
    for i, m in enumerate(messages):
        out.append(f.message(i + 1, m))
    out.append(f.refuse(len(messages) + 1, "not_json", 9, 3))
    out.append(f.eoi())
    return out


def honest_server(rng):
    parts = [lambda c: [f.said(c, f.KIND_RESULT, b'{"jsonrpc":"2.0","id":7,"result":{}}', 7)],
             lambda c: [f.said(c, f.KIND_ERROR, b'{"id":"seven"}', "seven")],
             lambda c: [f.said(c, f.KIND_NOTIFICATION, b"{}", None, b"notifications/progress",
                               token=5)],
             lambda c: [f.said(c, f.KIND_REQUEST, b"{}", c, b"ping")],
             lambda c: [f.refuse(c, "not_json", 7, 3, b"sample")],
             lambda c: [f.tools_frames(c, {"result": {"tools": [{"name": "a"}]}}),
                        f.said(c, f.KIND_RESULT, b"{}", 7, flags=f.RESULT)],
             lambda c: [f.said(c, f.KIND_NOTIFICATION, b"x" * 3000, None, b"notifications/x")]]
    rng.shuffle(parts)
    parts.insert(0, lambda c: [f.listed(c, {"tools": TOOLS})])
    out = [f.hello()]
    for i, part in enumerate(parts):
        out += part(i + 1)
    return out + [f.eoi()]


def mutate(rng, chunks):
    chunks = list(chunks)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        i = rng.randrange(len(chunks))
        kind = rng.randrange(7)
        data = bytearray(chunks[i])
        if kind == 0:
            for _ in range(rng.choice((1, 1, 2, 8))):
                at = rng.randrange(len(data)) if data else 0
                data[at:at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)])
        elif kind == 1:
            del data[rng.randrange(len(data)):]
        elif kind == 2:
            at = rng.randrange(len(data) + 1)
            data[at:at] = rng.randbytes(rng.choice((1, 4, 16, 300)))
        elif kind == 3:
            chunks.insert(i, bytes(data))
        elif kind == 4:
            j = rng.randrange(len(chunks))
            chunks[i], chunks[j] = chunks[j], chunks[i]
            continue
        elif kind == 5:
            at = rng.randrange(len(data))
            del data[at:at + rng.choice((1, 2, 16))]
        else:
            at = rng.randrange(max(1, len(data) - 4))
            data[at:at + 4] = rng.choice((0, 1, 0x7fffffff, 0xffffffff, 65536, 16)).to_bytes(
                4, "little")
        chunks[i] = bytes(data) or b"\0"
    return b"".join(chunks)


class Mutated(dw.TestCase):
    """No crash, no hang, nothing unjudged, whatever is flipped."""

    def mutations(self, side, count, seed):
        make = honest_client if side == "client" else honest_server
        cases = []
        for n in range(count):
            rng = random.Random("%s %d %d" % (side, seed, n))
            data = mutate(rng, make(rng))
            orders = f.write(data)
            if side == "server":
                first = len(f.hello())
                orders = f.write(data[:first]) + f.order("A") + f.write(data[first:])
            cases.append((n, {"side": side, "name": "%s, seed %d, %d: %s" % (
                side, seed, n, data.hex()[:20000]), "orders": orders + f.order("C"),
                "lines": b"".join(OPEN_LINES) if side == "server" else b""}))
        ends = {0: 0, 70: 0}
        forwarded = 0
        for _, out in Arena(self, workers=3, lists=True).play_all(cases):
            self.assertIn(out.status, ends, out)
            ends[out.status] += 1
            self.assertEqual(len(out.of("breach")), 1 if out.status == 70 else 0, out)
            judged(self, out)
            forwarded += b'"method":"tools/call"' in out.server
        self.assertGreater(min(ends.values()), count // 20, ends)
        self.assertGreater(forwarded, count // 10)

    def test_client(self):
        self.mutations("client", 400, 1)

    @dw.long
    def test_client_long(self):
        for seed in range(2, 12):
            self.mutations("client", 1000, seed)


class MutatedServer(Mutated):
    test_client = test_client_long = None

    def test_server(self):
        self.mutations("server", 400, 1)

    @dw.long
    def test_server_long(self):
        for seed in range(2, 12):
            self.mutations("server", 1000, seed)


class Installed(dw.TestCase):
    def test_no_such_way_in_an_installed_binary(self):
        """The ordinary program starts the real relays, whatever the
        environment says."""
        for name, real in (("doorward", True), ("test/doorward", False)):
            env = environment("client", "/nonexistent")
            w = dw.Wrapped(self, binary=dw.program(name), env=env, server=real)
            if real:
                w.handshake()
                found = w.processes()
                self.assertEqual(os.readlink("/proc/%d/exe" % found["client"].pid),
                                 dw.program("doorward-relay"))
                self.assertEqual(w.finish(), 0)
            else:
                self.assertEqual(w.wait(), 70)
        with open(dw.program("doorward"), "rb") as prog:
            self.assertNotIn(b"DOORWARD_TEST", prog.read())


if __name__ == "__main__":
    unittest.main()
