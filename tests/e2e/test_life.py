"""The life cycle of section 2: every way in which a session can end, each
without zombie, orphan or hang (the harness looks after each session)."""
import os
import resource
import shutil
import signal
import stat
import time

import dw

STEP = 2.0      # seconds from one step of the ending to the next


class Clock:
    def __init__(self):
        self.began = time.monotonic()

    @property
    def passed(self):
        return time.monotonic() - self.began


class ClientEnds(dw.TestCase):
    def test_end_of_input(self):
        for stdio in ("pipe", "socket"):
            for user in dw.users():
                with self.subTest(stdio=stdio, user=user):
                    w = self.session(stdio=stdio, user=user)
                    w.handshake()
                    clock = Clock()
                    self.assertEqual(w.finish(), 0)
                    self.assertLess(clock.passed, 1.5 * dw.SLOW)
                    end = w.event("session_end")
                    self.assertEqual((end["status"], end["server_status"]), (0, 0))

    def test_end_of_input_behind_a_server_that_does_not_read(self):
        """Calls that nobody takes must not hide that the client has ended."""
        w = self.session()
        w.round_trip(1)
        w.order("pause")
        for i in range(36):
            w.send_client({"jsonrpc": "2.0", "id": 10 + i, "method": "tools/call", "params": {
                "name": "echo", "arguments": {"text": "x" * 20000}}}, wait=False)
        w.pump(lambda: not w.client_in.queue, 20, "all calls to be taken")
        clock = Clock()
        w.close_client_in()
        w.wait(15)
        self.assertLess(clock.passed, 8 * dw.SLOW)
        self.assertEqual(w.event("session_end")["server_signal"], signal.SIGTERM)

    def test_end_of_input_at_once(self):
        w = self.session(server=False)
        self.assertEqual(w.finish(), 0)

    def test_status_is_the_servers(self):
        w = self.session()
        w.order("linger")
        w.close_client_in()
        self.assertEqual(w.heard(), "eof")
        w.order("exit 3", None)
        self.assertEqual(w.wait(), 3)

    def test_calls_in_flight(self):
        """Answers that arrive after the client's end of input still go out."""
        w = self.session()
        w.order("linger")
        w.call(1), w.call("two")
        w.close_client_in()
        self.assertEqual(w.recv_server()["id"], 1)
        self.assertEqual(w.recv_server()["id"], "two")
        self.assertEqual(w.heard(), "eof")
        w.answer("two"), w.answer(1)
        self.assertEqual(w.recv_client()["id"], "two")
        self.assertEqual(w.recv_client()["id"], 1)
        w.order("exit 0", None)
        self.assertEqual(w.wait(), 0)
        w.client_eof()
        self.assertEqual(len(w.events("result", 2)), 2)

    def test_what_was_read_before_is_still_forwarded(self):
        w = self.session("version: 1\nrules: [{id: r, tool: evil, action: block}]\n", server=False)
        calls = []
        for i in range(300):
            calls.append({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
                "name": "evil" if i % 3 == 0 else "echo", "arguments": {"x": "y" * 500}}})
        w.client_in.put(b"".join(map(dw.as_line, calls)))
        w.close_client_in()
        w.accept()
        w.pump(lambda: w.server_in.eof, what="the end of the server's input")
        self.assertEqual([dw.exact(x) for x in w.server_in.lines],
                         [dw.exact(dw.as_line(c)) for c in calls if c["params"]["name"] == "echo"])
        self.assertEqual(w.wait(), 0)
        answers = [w.recv_client() for _ in range(300)]
        denied = [a["id"] for a in answers if a.get("result", {}).get("isError")]
        self.assertEqual(denied, list(range(0, 300, 3)))
        failed = {a["id"] for a in answers if "error" in a}     # the server did not answer them
        self.assertEqual(failed, set(range(300)) - set(denied))
        w.client_eof()

    def test_end_of_input_behind_a_slow_server(self):
        """What it has not read yet is still its own to read."""
        w = self.session()
        w.order("linger")
        w.order("pause")
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "echo", "arguments": {"x": "y" * 1000000}}}
        w.send_client(message, wait=False)
        w.pump(lambda: not w.client_in.queue, what="the call to be taken")
        w.close_client_in()
        w.pump_for(0.5)
        w.order("resume")
        w.forwarded(message)
        self.assertEqual(w.heard(), "eof")
        w.answer(1)
        self.assertEqual(w.recv_client()["id"], 1)
        w.order("exit 0", None)
        self.assertEqual(w.wait(), 0)

    def test_server_ignores_the_end(self):
        """SIGTERM after one step."""
        w = self.session()
        w.order("linger")
        clock = Clock()
        w.close_client_in()
        self.assertEqual(w.wait(), 128 + signal.SIGTERM)
        self.assertGreater(clock.passed, STEP - 0.3)
        self.assertLess(clock.passed, (STEP + 1) * dw.SLOW)
        self.assertEqual(w.event("session_end")["server_signal"], signal.SIGTERM)

    def test_server_ignores_the_end_and_sigterm(self):
        w = self.session()
        w.order("linger")
        w.order("watch 15")
        w.call(1)
        w.server_line()
        clock = Clock()
        w.close_client_in()
        self.assertEqual(w.heard(), "eof")
        self.assertEqual(w.heard(), "signal 15")
        self.assertGreater(clock.passed, STEP - 0.3)
        w.answer(1)     # still goes out
        self.assertEqual(w.recv_client()["id"], 1)
        self.assertEqual(w.wait(), 128 + signal.SIGKILL)
        self.assertGreater(clock.passed, 2 * STEP - 0.3)
        self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_client_that_takes_nothing(self):
        """It is given up, although there is more for it than fits anywhere;
        and nobody is told that the server would not go."""
        w = self.session()
        w.handshake()
        w.client_out.paused = True
        for _ in range(40):
            w.send_server({"jsonrpc": "2.0", "method": "notifications/message",
                           "params": {"data": "x" * 100000}}, wait=False)
        w.pump_for(0.5)
        w.close_client_in()
        began = time.monotonic()
        w.wait(15)
        self.assertLess(time.monotonic() - began, 12 * dw.SLOW)
        self.assertNotIn("cannot be ended", w.stderr_text())

    def test_client_killed(self):
        for stdio in ("pipe", "socket", "pty"):
            with self.subTest(stdio):
                w = self.session(stdio=stdio, stderr="pipe" if stdio != "pty" else "stdout")
                w.handshake()
                w.call(1)
                w.server_line()
                clock = Clock()
                w.kill_client()
                self.assertIn(w.wait(), (0, 128 + signal.SIGHUP))
                self.assertLess(clock.passed, 1.5 * dw.SLOW)
                w.event("session_end")

    def test_client_killed_under_load(self):
        w = self.session()
        w.order("pause")
        w.client_out.paused = True
        w.send_client(b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"%s"}}\n'
                      % (b"x" * 1000) * 5000, wait=False)
        w.send_server(b'{"jsonrpc":"2.0","method":"notifications/y","params":{"x":"%s"}}\n'
                      % (b"x" * 1000) * 5000, wait=False)
        w.pump_for(1)
        clock = Clock()
        w.server_out.queue.clear()
        w.kill_client()
        w.wait()
        self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_nobody_at_stdout(self):
        """P7: nothing is forwarded after the client has gone, and the session
        ends although its input stays open."""
        for stdio in ("pipe", "socket"):
            with self.subTest(stdio):
                w = self.session(stdio=stdio)
                w.round_trip(1)
                clock = Clock()
                w.close_client_out()
                w.client_in.put(dw.as_line({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                                            "params": {"name": "echo"}}))
                self.assertEqual(w.wait(), 0)
                self.assertLess(clock.passed, 1.5 * dw.SLOW)
                self.assertFalse(w.server_in.lines or w.server_in.buf, w.report())

    def test_nobody_at_stdout_with_calls_in_one_piece(self):
        w = self.session()
        w.order("pause")        # so that doorward holds what comes next
        w.client_out.paused = True
        w.close_client_out()
        block = b"".join(dw.as_line({"jsonrpc": "2.0", "id": i, "method": "tools/call",
                                     "params": {"name": "echo"}}) for i in range(1000))
        w.client_in.put(block)
        w.pump_for(0.3)
        w.order_now("resume")
        w.wait()
        self.assertFalse(w.server_in.lines or w.server_in.buf, w.report())

    def test_terminal_hang_up(self):
        w = self.session(stdio="pty", stderr="stdout")
        w.round_trip(1)
        clock = Clock()
        w.kill_client()
        self.assertIn(w.wait(), (0, 128 + signal.SIGHUP))
        self.assertLess(clock.passed, 1.5 * dw.SLOW)


class Signals(dw.TestCase):
    def test_ending_signals(self):
        """SIGTERM and SIGINT reach the server; SIGHUP ends it as well."""
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(sig):
                w = self.session()
                w.handshake()
                if sig != signal.SIGHUP:
                    w.order("watch %d" % sig)
                w.order("linger")
                w.call(1)
                w.server_line()
                clock = Clock()
                w.proc.send_signal(sig)
                if sig != signal.SIGHUP:
                    self.assertEqual(w.heard(), "signal %d" % sig)
                    self.assertLess(clock.passed, 1.0 * dw.SLOW)
                    w.answer(1)
                    self.assertEqual(w.recv_client()["id"], 1)
                    w.order("exit 5", None)
                    self.assertEqual(w.wait(), 5)
                else:
                    self.assertGreaterEqual(w.wait(), 128)
                self.assertLess(clock.passed, (STEP + 1) * dw.SLOW)
                w.event("session_end")

    def test_default_server_dies_of_it(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sig):
                w = self.session()
                w.call("x")
                w.server_line()
                w.proc.send_signal(sig)
                self.assertError(w.recv_client(), "x", 1003)
                self.assertEqual(w.wait(), 128 + sig)
                w.client_eof()

    def test_server_that_will_not_go(self):
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(sig):
                w = self.session()
                w.order("linger")
                for n in (1, 2, 15):
                    w.order("ignore %d" % n)
                clock = Clock()
                w.proc.send_signal(sig)
                self.assertEqual(w.wait(), 128 + signal.SIGKILL)
                self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_signal_to_the_group(self):
        """Ctrl-C reaches doorward alone: the relays have sessions of their
        own, and so has the server."""
        w = self.session(preexec=os.setsid)
        w.round_trip(1)
        os.killpg(w.pid, signal.SIGINT)
        self.assertEqual(w.wait(), 128 + signal.SIGINT)
        self.assertEqual(w.event("session_end")["status"], 130)
        self.assertEqual([e for e in w.audit() if e["event"] == "breach"], [])

    def test_killed(self):
        """SIGKILL to doorward takes relays and server with it."""
        for user in dw.users():
            with self.subTest(user):
                w = self.session(user=user)
                w.order("linger")
                w.order("ignore 15")
                w.round_trip(1)
                mine = [p for p in dw.descendants(w.pid) if p.ppid == w.pid]
                self.assertEqual(len(mine), 3)
                w.expect_orphans = True
                w.proc.send_signal(signal.SIGKILL)
                self.assertEqual(w.wait(), -signal.SIGKILL)
                self.assertEqual(dw.gone(mine, 2), [])

    def test_signal_to_the_group_at_start(self):
        """At no moment of the start is Ctrl-C taken for a broken relay, and
        nothing is left behind."""
        for step in range(80):
            ms = step * 0.15 * dw.SLOW
            with self.subTest(ms):
                w = self.session(preexec=os.setsid, server=False)
                time.sleep(ms / 1000)
                family = dw.descendants(w.pid)
                w.expect_orphans = True     # if it died before it could know better
                os.killpg(w.pid, signal.SIGINT)
                self.assertIn(w.wait(), (128 + signal.SIGINT, -signal.SIGINT))
                self.assertEqual(dw.gone(family, 1), [])
                self.assertNotIn("breach", w.stderr_text())

    def test_relays_ignore_what_is_for_doorward(self):
        w = self.session()
        w.round_trip(0)
        p = w.processes()
        for side in ("client", "server"):
            for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(p[side].pid, sig)
        w.round_trip(1)
        self.assertEqual(w.finish(), 0)

    def test_killed_relay(self):
        """A breach: audited, what is open is answered, exit 70."""
        for side in ("client", "server"):
            for sig in (signal.SIGKILL, signal.SIGSEGV):
                with self.subTest(side=side, sig=sig):
                    w = self.session()
                    w.call(1), w.call("two")
                    w.server_line(), w.server_line()
                    os.kill(w.processes()[side].pid, sig)
                    ids = [w.recv_client(), w.recv_client()]
                    for answer in ids:
                        self.assertError(answer, answer["id"], 1003)
                    self.assertEqual({str(x["id"]) for x in ids}, {"1", "two"})
                    self.assertEqual(w.wait(), 70)
                    w.client_eof()
                    self.assertEqual(w.event("breach")["relay"], side)


class ServerEnds(dw.TestCase):
    def test_exit_statuses(self):
        for order, want in (("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("raise 9", 137),
                            ("raise 11", 139), ("raise 15", 143), ("raise 6", 134)):
            with self.subTest(order):
                w = self.session()
                w.round_trip(1)
                clock = Clock()
                w.order(order, None)
                self.assertEqual(w.wait(), want)
                self.assertLess(clock.passed, 1.5 * dw.SLOW)
                w.client_eof()
                self.assertEqual(w.event("session_end")["status"], want)

    def test_open_calls_get_errors(self):
        idents = [0, "0", 1, "1", "", "two", 9007199254740993, -5]
        for order, want in (("exit 0", 0), ("raise 9", 137)):
            with self.subTest(order):
                w = self.session()
                for i in idents:
                    w.call(i)
                    w.server_line()
                w.send_client({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
                w.server_line()
                w.answer("two")
                self.assertEqual(w.recv_client()["id"], "two")
                clock = Clock()
                w.order(order, None)
                left = [i for i in idents if i != "two"] + ["ping"]
                for _ in range(len(left)):
                    answer = w.recv_client()
                    self.assertError(answer, answer["id"], 1003)
                    self.assertIn((type(answer["id"]), answer["id"]), [(type(i), i) for i in left])
                    left = [i for i in left if (type(i), i) != (type(answer["id"]), answer["id"])]
                self.assertEqual(left, [])
                w.client_eof()
                self.assertLess(clock.passed, 1.0 * dw.SLOW)
                self.assertEqual(w.wait(), want)
                self.assertEqual(sum(e["result"] == "none" for e in w.audit() if e["event"] == "result"), 7)

    def test_last_words_go_out(self):
        """What it wrote before it ended arrives, however slow the client."""
        w = self.session()
        w.call(1), w.call(2)
        w.server_line(), w.server_line()
        w.client_out.paused = True
        w.answer(1, "x" * 300000)
        w.order("exit 0", None)
        w.pump_for(2.0)
        w.client_out.paused = False
        self.assertEqual(len(w.recv_client()["result"]["content"][0]["text"]), 300000)
        self.assertError(w.recv_client(), 2, 1003)
        w.client_eof()
        self.assertEqual(w.wait(), 0)

    def test_ends_inside_a_line(self):
        w = self.session()
        w.call(1)
        w.server_line()
        w.send_server(b'{"jsonrpc":"2.0","id":1,"result":{}}')     # no newline
        w.order("exit 0", None)
        self.assertError(w.recv_client(), 1, 1003)
        w.client_eof()
        self.assertEqual(w.wait(), 0)

    def test_grandchild_keeps_stdout(self):
        """Nobody waits for the end of a stream that a stranger holds."""
        for flags in ("k", "ks", "kst"):
            with self.subTest(flags):
                w = self.session()
                w.order("spawn " + flags, "spawned")
                w.call(1)
                w.server_line()
                clock = Clock()
                w.order("exit 4", None)
                self.assertError(w.recv_client(), 1, 1003)
                self.assertLess(clock.passed, 1.5 * dw.SLOW)
                self.assertEqual(w.wait(), 4)
                self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_grandchild_keeps_stdin_and_does_not_read(self):
        w = self.session()
        w.order("pause")
        w.order("spawn ks", "spawned")
        w.send_client(b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"%s"}}\n'
                      % (b"x" * 1000) * 2000, wait=False)
        w.pump_for(0.5)
        clock = Clock()
        w.order("exit 4", None)
        w.client_in.queue.clear()
        self.assertEqual(w.wait(), 4)
        self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_closes_stdout_and_stays(self):
        w = self.session()
        w.order("linger")
        w.call(1)
        w.server_line()
        clock = Clock()
        w.order("close")
        self.assertError(w.recv_client(), 1, 1003)
        self.assertLess(clock.passed, 1.5 * dw.SLOW)
        self.assertEqual(w.heard(), "eof")      # its input is closed in turn
        w.order("exit 6", None)
        self.assertEqual(w.wait(), 6)

    def test_closes_stdout_and_will_not_go(self):
        w = self.session()
        w.order("linger")
        w.order("ignore 15")
        clock = Clock()
        w.order("close")
        self.assertEqual(w.wait(), 137)
        self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_closes_stdin(self):
        """It can still speak; a call that cannot be delivered kills nobody."""
        w = self.session()
        w.order("closein")
        w.call(1)
        w.send_server('{"jsonrpc":"2.0","method":"notifications/x"}')
        got = [w.recv_client()]
        if "id" in got[0]:      # the call may have got its error first
            self.assertError(got[0], 1, 1003)
            got.append(w.recv_client())
        self.assertEqual(got[-1]["method"], "notifications/x")
        w.order("exit 2", None)
        self.assertEqual(w.wait(), 2)
        self.assertEqual([e for e in w.audit() if e["event"] == "breach"], [])


class Grandchildren(dw.TestCase):
    def kinds(self):
        return ("", "t", "s", "st", "k", "kst")

    def test_gone_with_the_client(self):
        for flags in self.kinds():
            with self.subTest(flags):
                w = self.session()
                pid = int(w.order("spawn " + flags, "spawned").split()[1])
                self.assertIn(pid, [p.pid for p in dw.descendants(w.pid)])
                clock = Clock()
                self.assertEqual(w.finish(), 0)
                self.assertIsNone(dw.read_process(pid))
                self.assertLess(clock.passed, (2 * STEP + 1) * dw.SLOW)

    def test_gone_with_the_server(self):
        for flags in self.kinds():
            with self.subTest(flags):
                w = self.session()
                pid = int(w.order("spawn " + flags, "spawned").split()[1])
                w.order("raise 9", None)
                self.assertEqual(w.wait(), 137)
                self.assertIsNone(dw.read_process(pid))

    def test_shell_of_a_shell(self):
        """As npx -> sh -> node."""
        for user in dw.users():
            with self.subTest(user):
                w = self.session(user=user, server=False, command=["sh", "-c",
                                 'sh -c "sleep 600 & sleep 601" & sleep 602 & exec cat'])
                w.pump(lambda: len(w.processes()["tree"]) >= 5, what="the tree")
                tree = dw.descendants(w.pid)
                self.assertEqual(w.finish(), 0)
                self.assertEqual(dw.gone(tree, 0.1), [])

    def test_adopted_children_are_reaped(self):
        """An orphan of the server ends while the session goes on."""
        w = self.session(server=False, command=["sh", "-c", "(sleep 0.3 &); exec cat"])
        w.pump(lambda: any("sleep" in p.argv[0] and p.ppid == w.pid for p in w.processes()["tree"]),
               what="the orphan")
        w.pump(lambda: not any(p.argv[0] == "sleep" or p.state == "Z" for p in dw.descendants(w.pid)),
               what="its end")
        self.assertIsNone(w.proc.poll())
        self.assertEqual(w.finish(), 0)

    def test_children_of_our_own_are_left_alone(self):
        """What doorward's caller had as children before the exec is his, but
        for a sweep by pid alone nobody could tell."""
        ready, tell = os.pipe()
        os.set_inheritable(tell, True)

        def preexec():
            if os.fork() == 0:
                os.setsid()
                os.write(tell, b"%d\n" % os.getpid())
                os.closerange(0, 64)
                time.sleep(60)
                os._exit(0)

        w = self.session(preexec=preexec)
        os.close(tell)
        pid = int(os.read(ready, 32))
        os.close(ready)
        w.round_trip(1)
        w.expect_orphans = True     # it is ours to end
        self.assertEqual(w.finish(), 0)
        self.assertIsNotNone(dw.read_process(pid))
        self.assertNotEqual(dw.read_process(pid).state, "Z")
        os.kill(pid, signal.SIGKILL)

    def test_more_children_than_can_be_remembered(self):
        """None of them is ended for that."""
        ready, tell = os.pipe()
        os.set_inheritable(tell, True)

        def preexec():
            for _ in range(70):
                if os.fork() == 0:
                    os.setsid()
                    os.write(tell, b"%d\n" % os.getpid())
                    os.closerange(0, 64)
                    time.sleep(60)
                    os._exit(0)

        w = self.session(preexec=preexec)
        os.close(tell)
        with os.fdopen(ready) as f:
            pids = [int(line) for line in f]
        self.assertEqual(len(pids), 70)
        self.addCleanup(lambda: [os.kill(p, signal.SIGKILL) for p in pids if dw.read_process(p)])
        w.round_trip(1)
        w.expect_orphans = True
        self.assertEqual(w.finish(), 0)
        alive = [p for p in map(dw.read_process, pids) if p is not None and p.state != "Z"]
        self.assertEqual(len(alive), 70)
        self.assertIn("too many child processes", w.stderr_text())


class Start(dw.TestCase):
    def not_started(self, command, status, *words, **kwargs):
        w = self.session(command=command, **kwargs)
        w.client_in.put(dw.as_line({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        self.assertEqual(w.wait(), status)
        w.client_eof()
        text = w.stderr_text()
        self.assertTrue(text.startswith("doorward: "), text)
        for word in words:
            self.assertIn(word, text)

    def test_not_found(self):
        self.not_started(["no-such-server"], 127, "no-such-server", dw.clean_env()["PATH"])
        self.not_started(["/no/such/server"], 127, "/no/such/server")
        self.not_started(["./no-such-server"], 127, "no-such-server")

    def test_not_executable(self):
        w = self.session()
        path = w.write_file("plain", "#!/bin/sh\n")
        self.not_started([path], 126, path)
        self.not_started([w.dir], 126, w.dir)

    def test_no_command(self):
        for argv in (["run"], ["run", "--"], ["run", "--policy"], ["run", "--no-such", "--", "true"]):
            with self.subTest(argv):
                status, out, err = dw.run(*argv)
                self.assertEqual((status, out), (2, ""), err)
                self.assertTrue(err.startswith("doorward: "), err)

    def test_closed_stdin(self):
        w = self.session(preexec=lambda: os.close(0), server=False)
        self.assertEqual(w.wait(), 0)
        w.client_eof()

    def test_closed_stdout(self):
        w = self.session(preexec=lambda: os.close(1), server=False)
        w.client_in.put(dw.as_line({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                    "params": {"name": "echo"}}))
        w.wait()
        self.assertEqual([e for e in w.audit() if e.get("verdict") == "allow"], [])

    def test_closed_stderr(self):
        """No file of ours may become the server's stderr."""
        w = self.session(preexec=lambda: os.close(2))
        w.round_trip(1)
        w.order("stderr 1000")
        w.send_server(b"something to note\n")
        w.barrier()
        self.assertEqual(w.finish(), 0)
        with open(w.audit_path) as f:
            self.assertNotIn("wwww", f.read())

    def test_all_closed(self):
        w = self.session(preexec=lambda: os.closerange(0, 3), server=False)
        w.wait()
        w.client_eof()

    def test_regular_file_as_stdin(self):
        """A script on stdin, and a file to take the answers."""
        w = self.session()
        given = w.write_file("in", dw.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
        taken = os.path.join(w.dir, "out")

        def preexec():
            os.dup2(os.open(given, os.O_RDONLY), 0)
            os.dup2(os.open(taken, os.O_WRONLY | os.O_CREAT, 0o600), 1)

        v = self.session(preexec=preexec, server=False)
        v.accept()
        v.order("linger")
        self.assertEqual(v.recv_server()["id"], 1)
        v.send_server({"jsonrpc": "2.0", "id": 1, "result": {}})
        v.order("exit 0", None)
        self.assertEqual(v.wait(), 0)
        with open(taken) as f:
            self.assertEqual(f.read(), '{"jsonrpc":"2.0","id":1,"result":{}}\n')

    def test_probe_and_second_start(self):
        """A client that starts the server twice to probe server/discover."""
        first = self.session()
        first.send_client({"jsonrpc": "2.0", "id": 0, "method": "server/discover",
                           "params": {"_meta": dw.MODERN}})
        self.assertEqual(first.recv_server()["method"], "server/discover")
        second = self.session(state=first.state)    # before the first has ended
        second.handshake()
        self.assertEqual(first.finish(), 0)
        second.round_trip(1)
        self.assertEqual(second.finish(), 0)
        self.assertEqual(len({e["session"] for e in first.audit()}), 2)

    def test_debug_speaks_on_stderr_only(self):
        w = self.session(args=["--debug"])
        w.handshake()
        w.send_server(b"noise\n")
        w.round_trip(1)
        w.barrier()
        self.assertEqual(w.finish(), 0)
        w.client_eof()
        self.assertTrue(w.stderr_text())
        self.assertTrue(all(x.startswith("doorward: ") for x in w.stderr_text().splitlines()))

    def test_few_descriptors(self):
        """A tight limit of the caller's, which is the server's as well."""
        w = self.session(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
        w.round_trip(1)
        self.assertEqual(w.finish(), 0)
        # No room for the pins: nothing is trusted, and so nothing forwarded.
        w = self.session(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)))
        w.call(1)
        self.assertDenied(w.recv_client(), 1, "pins", reason="Too many open files")
        self.assertEqual(w.finish(), 0)
        # Too tight: said, and nothing was started.
        w = self.session(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)), server=False)
        self.assertIn(w.wait(), range(1, 128))
        w.client_eof()
        self.assertIn("doorward: ", w.stderr_text())

    def test_twenty_starts(self):
        """No start is lost and none is left behind."""
        for _ in range(20):
            w = self.session()
            w.round_trip(1)
            self.assertEqual(w.finish(), 0)
            w.close()

    def test_relay_is_missing(self):
        """Without relays nothing runs."""
        w = self.session()
        alone = os.path.join(w.dir, "bin")
        os.mkdir(alone)
        copy = os.path.join(alone, "doorward" + dw.SUFFIX)
        shutil.copy(dw.program(), copy)
        shutil.copytree(os.path.join(dw.program_dir(), "packs"), os.path.join(alone, "packs"))
        mark = os.path.join(w.dir, "mark")
        v = self.session(binary=copy, command=["touch", mark])
        self.assertIn(v.wait(), (1, 70, 126, 127))
        v.client_eof()
        self.assertTrue(v.stderr_text().startswith("doorward: "))

    def test_state_directory(self):
        """Modes do not depend on the umask; a state of others is refused."""
        w = self.session(preexec=lambda: os.umask(0))
        w.round_trip(1)
        self.assertEqual(stat.S_IMODE(os.stat(w.state).st_mode), 0o700)
        for base, dirs, files in os.walk(w.state):
            for name in dirs:
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(base, name)).st_mode), 0o700, name)
            for name in files:
                path = os.path.join(base, name)
                if not stat.S_ISFIFO(os.stat(path).st_mode):
                    self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, name)


class Idle(dw.TestCase):
    def test_no_work_when_idle(self):
        w = self.session()
        w.handshake()
        w.round_trip(1)
        w.pump_for(0.5)
        pids = [w.pid] + [w.processes()[s].pid for s in ("client", "server")]

        def used():
            total = 0
            for pid in pids:
                with open("/proc/%d/stat" % pid) as f:
                    rest = f.read().rsplit(")", 1)[1].split()
                total += int(rest[11]) + int(rest[12])
            return total
        before = used()
        w.pump_for(3)
        self.assertLessEqual(used() - before, 1)    # ticks of 10 ms
