"""Policies of Bouncer and of MCP Guard, as their users have them, with the
verdict that each documented key promises: by `doorward policy test`, and the
same calls through `doorward run`."""
import glob
import json
import os

import dw

POLICIES = os.path.join(dw.ROOT, "tests", "data", "policies")
FLIP = {"allow": "deny", "ask": "allow", "deny": "allow"}


def names():
    return sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(POLICIES, "*.yaml")))


def cases(name):
    with open(os.path.join(POLICIES, name + ".cases.json"), encoding="utf-8") as f:
        return json.load(f)["cases"]


def policy(name):
    with open(os.path.join(POLICIES, name + ".yaml"), encoding="utf-8") as f:
        return f.read()


class Documented(dw.TestCase):
    def test_there_are_both_sides(self):
        """Each policy has calls that pass and calls that do not."""
        self.assertEqual(len(names()), 9)
        for name in names():
            verdicts = {c["expect"] for c in cases(name)}
            self.assertTrue("allow" in verdicts and len(verdicts) > 1, name)

    def test_policy_test(self):
        for name in names():
            path = os.path.join(POLICIES, name)
            with self.subTest(name):
                got = dw.run("policy", "test", "--policy", path + ".yaml", path + ".cases.json")
                self.assertEqual(got, (0, "%d passed, 0 failed\n" % len(cases(name)), ""))

    def test_policy_test_turned_round(self):
        """No case passes by accident."""
        w = self.session()
        for name in names():
            turned = [{**c, "expect": FLIP[c["expect"]]} for c in cases(name)]
            for c in turned:
                c.pop("rule", None)
                c.pop("contract", None)
            path = w.write_file("turned.json", json.dumps({"cases": turned}))
            with self.subTest(name):
                status, out, _ = dw.run("policy", "test", "--policy",
                                        os.path.join(POLICIES, name + ".yaml"), path)
                self.assertEqual(status, 1)
                self.assertTrue(out.endswith("\n0 passed, %d failed\n" % len(turned)), out)

    def test_policy_check(self):
        for name in names():
            with self.subTest(name):
                status, out, err = dw.run("policy", "check", os.path.join(POLICIES, name + ".yaml"))
                self.assertEqual((status, err), (0, ""))
                self.assertTrue(out.endswith("\nok\n"), out)
                kind = {"b": "Bouncer", "g": "MCP Guard", "o": "Doorward"}[name[0]]
                self.assertIn(kind, out.splitlines()[0])

    def test_through_the_program(self):
        for name in names():
            with self.subTest(name):
                self.play(name)

    def play(self, name):
        listed, count = {}, {}
        for c in cases(name):
            definition = {"name": c["tool"], "description": "a tool", "inputSchema": c["schema"]}
            self.assertEqual(listed.setdefault(c["tool"], definition), definition)
        w = self.session(policy(name), tools=list(listed.values()))
        for i, c in enumerate(cases(name)):
            count[c["tool"]] = count.get(c["tool"], 0) + 1
            # The order of the file is the order of the run.
            if c.get("contract") == "budget" or "attempt" in c:
                self.assertEqual(c.get("attempt", 1), count[c["tool"]], c)
            call = w.call(i, c["tool"], c["arguments"], _meta=dw.MODERN)
            if c["expect"] == "allow":
                w.forwarded(call)
                w.answer(i)
                self.assertEqual(w.recv_client()["result"]["content"][0]["text"], "ok", c)
            else:
                self.assertDenied(w.recv_client(), i, c.get("rule"), modern=True)
            self.audited(w, i, c)
        w.barrier()
        self.assertEqual(w.finish(), 0)

    def audited(self, w, i, c):
        e = w.event("verdict", id=i)
        self.assertEqual((e["verdict"], e["tool"]), (c["expect"], c["tool"]))
        if c["expect"] == "ask":
            self.assertEqual(w.event("decision", id=i)["why"], "no_channel")
        if "contract" in c:
            self.assertEqual(e["contract"], c["contract"], c)
        if "rule" in c:
            self.assertEqual(e["rule"]["id"], c["rule"], c)


class Bouncer(dw.TestCase):
    def test_mistakes_stop_the_start(self):
        """(file, place, a word of what is said): check says it, and run does
        not start."""
        mistakes = [
            ("send:\n  sink_params: [to]\n", "2:3", "exfiltrating"),
            ("send:\n  trusted_destinations: [a@b.example]\n", "2:3", "exfiltrating"),
            ("send: {exfiltrating: false, sink_params: [to]}\n", "1:29", "exfiltrating"),
            ("send:\n  exfiltrating: true\n  sink_parms: [to]\n", "3:3", 'did you mean "sink_params"'),
            ("w:\n  write_param: [path]\n", "2:3", 'did you mean "write_params"'),
            ("w:\n  max_call: 2\n", "2:3", 'did you mean "max_calls"'),
            ("send: {exfiltrating: yes}\n", "1:22", "true or false"),
            ("send: {exfiltrating: true, sink_params: to}\n", "1:41", "list"),
            ("w: {max_calls: -1}\n", "1:16", "max_calls"),
            ("w: {max_calls: '3'}\n", "1:16", "max_calls"),
            ("w: {max_calls: 1.5}\n", "1:16", "max_calls"),
            ("w: {write_params: [path], allowed_path_prefixes: [out]}\n", "1:51", "absolute"),
            ("w: {write_params: [path], allowed_path_prefixes: ['~/out']}\n", "1:51", "not expanded"),
            ("w: {arg_patterns: {path: '('}}\n", "1:26", "path"),
            ("w: {arg_patterns: ['a']}\n", "1:19", "mapping"),
            ("w: {max_calls: 1, max_calls: 2}\n", "1:19", "max_calls"),
            ("w: {max_calls: 1}\nw: {max_calls: 2}\n", "2:1", "w"),
            ("w: {on_unproven: deny}\n", "1:5", "version: 1"),
            ("w: {replace: true}\n", "1:5", "version: 1"),
            ("w: [a]\n", "1:1", "list"),
        ]
        w = self.session()
        for text, place, word in mistakes:
            with self.subTest(text):
                path = w.write_file("bad.yaml", text)
                status, out, err = dw.run("policy", "check", path)
                self.assertEqual(status, 2, out)
                self.assertIn("bad.yaml:%s: " % place, err)
                self.assertIn(word, err)
                bad = self.session(text, server=False, command=["sh", "-c", "echo started >&2"])
                bad.client_eof()
                self.assertEqual(bad.wait(), 2)
                self.assertNotIn("started", bad.stderr_text())
                self.assertIn(":%s: " % place, bad.stderr_text())

    def test_tools_that_were_not_there_at_the_start(self):
        s = self.session("anything: {max_calls: 5}\n", tools=[dw.tool("a"), dw.tool("anything")])
        s.handshake()
        s.call(1, "b")
        self.assertDenied(s.recv_client(), 1, "tools/list")
        s.round_trip(2, "a")
        # One that appears later is refused, too, and so is one that was known.
        s.tools = [dw.tool("a", "changed"), dw.tool("b"), dw.tool("anything")]
        s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        s.recv_client()
        s.call(3, "b")
        self.assertDenied(s.recv_client(), 3, "pins.on_new")
        s.call(4, "a")
        self.assertDenied(s.recv_client(), 4, "pins.on_changed")
        s.round_trip(5, "anything")
        self.assertEqual({e["contract"] for e in s.events("verdict", verdict="deny")}, {"pin"})

    def test_a_budget_is_of_one_run(self):
        text = "w: {max_calls: 1}\n"
        first = self.session(text, tools=[dw.tool("w")], args=["--server", "one"])
        first.round_trip(1, "w")
        first.call(2, "w")
        self.assertDenied(first.recv_client(), 2, "w.max_calls")
        self.assertEqual(first.finish(), 0)
        again = self.session(text, tools=[dw.tool("w")], args=["--server", "one"], state=first.state)
        again.round_trip(1, "w")

    def test_each_attempt_counts(self):
        """Also those that cannot be in time: many at once."""
        w = self.session("w: {max_calls: 3}\n", tools=[dw.tool("w")])
        for i in range(10):
            w.call(i, "w")
        got = [w.recv_server()["id"] for _ in range(3)]
        self.assertEqual(got, [0, 1, 2])
        for i in range(3, 10):
            self.assertDenied(w.recv_client(), i, "w.max_calls")

    def test_over_and_under_another_file(self):
        """A Bouncer file on top of one in Doorward's own format replaces its
        entries; the other way round they are merged."""
        own = "version: 1\ntools:\n  w: {max_calls: 1}\n"
        theirs = "w: {arg_patterns: {p: 'a+'}}\n"
        for policies, rule in (([own, theirs], None), ([theirs, own], "tools.w.max_calls")):
            with self.subTest(str(policies)):
                w = self.session(policies=policies, tools=[dw.tool("w")])
                w.round_trip(1, "w", {"p": "aa"})
                if rule is None:
                    w.round_trip(2, "w", {"p": "aa"})
                else:
                    w.call(2, "w", {"p": "aa"})
                    self.assertDenied(w.recv_client(), 2, rule)
                w.call(3, "w", {"p": "b"})
                text = self.assertDenied(w.recv_client(), 3)
                self.assertIn("w.arg_patterns" if rule is None else "w.", text)

    def test_observing(self):
        w = self.session(policy("bouncer-budgets"), args=["--mode", "observe"],
                         tools=[dw.tool("wipe_all"), dw.tool("remove_group")])
        w.round_trip(1, "wipe_all")
        w.round_trip(2, "remove_group", {"id": "a"})
        self.assertEqual([w.event("verdict", id=i).get("would") for i in (1, 2)], ["deny", None])


class Guard(dw.TestCase):
    def test_codes_of_its_clients(self):
        """A session before 2026-07-28 gets Guard's own errors."""
        w = self.session(policy("guard-allow"), tools=[dw.tool(n) for n in (
            "drop_tenant", "ship_release", "read_tenant")])
        w.handshake()
        for i, (name, code, rule) in enumerate((("drop_tenant", -32001, "no-drops"),
                                                ("ship_release", -32002, "ask-release"))):
            w.call(i, name)
            self.assertIn(rule, self.assertError(w.recv_client(), i, code)["message"])
        w.round_trip(3, "read_tenant")
        w.barrier()

    def test_mistakes_stop_the_start(self):
        good = policy("guard-allow")
        mistakes = [
            (good.replace("default_action: allow", "default_action: ask"), "require_approval or block"),
            (good.replace("mode: enforce", "mode: enforced"), "enforce"),
            (good.replace("action: block", "action: deny", 1), "block"),
            (good.replace("id: no-drops, ", ""), "id"),
            (good.replace("tool: drop_tenant, ", ""), "tool"),
            (good + "  - {id: x, tool: y, action: block, cap_usd: 5}\n", "cap_usd"),
            ("default_action: allow\n", "rules"),
        ]
        w = self.session()
        for text, word in mistakes:
            with self.subTest(word):
                self.assertNotEqual(text, good)
                status, _, err = dw.run("policy", "check", w.write_file("bad.yaml", text))
                self.assertEqual(status, 2)
                self.assertIn(word, err)
