"""Policies in force: the two formats, layers, modes, mistakes, reload.  Also
P5: what nobody can decide is denied, and what cannot be read as a policy
stops the start."""
import os
import tempfile

import dw

GUARD = """default_action: %s
mode: %s
rules:
  - {id: no-delete, tool: delete_file, action: block}
  - {id: hold-mail, tool: send_email, action: require_approval}
  - {id: never-seen, tool: delete_file, action: allow}
  - {id: plain-star, tool: "wipe_*", action: block}
  - {id: ok-read, tool: read_file, action: allow}
"""


class Guard(dw.TestCase):
    def guard_error(self, w, ident, name, code, start, rule=None):
        w.call(ident, name)
        error = self.assertError(w.recv_client(), ident, code)
        self.assertTrue(error["message"].startswith(start), error)
        if rule is not None:
            self.assertIn(rule, error["message"])

    def test_codes_in_a_legacy_session(self):
        for version in dw.VERSIONS[:4]:
            with self.subTest(version):
                w = self.session(GUARD % ("allow", "enforce"))
                w.handshake(version)
                self.guard_error(w, 1, "delete_file", -32001, "Blocked: ", "no-delete")
                self.guard_error(w, "two", "send_email", -32002, "Held for approval: ", "hold-mail")
                w.round_trip(3, "read_file")
                w.round_trip(4, "unheard_of")
                w.barrier()

    def test_names_are_exact(self):
        names = ("wipe_all", "delete_files", "Delete_file", " delete_file", "delete_file ",
                 "xdelete_file")
        w = self.session(GUARD % ("allow", "enforce"),
                         tools=[dw.tool(name) for name in (*names, "wipe_*")])
        w.handshake()
        for i, name in enumerate(names):
            w.round_trip(i, name)
        self.guard_error(w, 10, "wipe_*", -32001, "Blocked: ", "plain-star")

    def test_default_actions(self):
        for action, code, start in (("block", -32001, "Blocked: "),
                                    ("require_approval", -32002, "Held for approval: ")):
            with self.subTest(action):
                w = self.session(GUARD % (action, "enforce"))
                w.handshake()
                self.guard_error(w, 1, "unheard_of", code, start)
                w.round_trip(2, "read_file")
                # All other methods pass.
                w.send_client({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "x"}})
                self.assertEqual(w.recv_server()["id"], 3)

    def test_stateless_request(self):
        """-32001 and -32002 have no place in 2026-07-28."""
        w = self.session(GUARD % ("allow", "enforce"))
        w.call(1, "delete_file", _meta=dw.MODERN)
        self.assertDenied(w.recv_client(), 1, "no-delete", modern=True)
        w.call(2, "send_email", _meta=dw.MODERN)
        self.assertDenied(w.recv_client(), 2, "hold-mail", modern=True)
        w.handshake()       # both on one pipe
        w.call(3, "delete_file", _meta=dw.MODERN)
        self.assertDenied(w.recv_client(), 3, "no-delete", modern=True)
        self.guard_error(w, 4, "delete_file", -32001, "Blocked: ")
        w.barrier()

    def test_observe(self):
        w = self.session(GUARD % ("block", "observe"))
        w.handshake()
        for i, name in enumerate(("delete_file", "send_email", "read_file", "unheard_of")):
            w.round_trip(i, name)
        self.assertEqual([w.event("verdict", id=i).get("would") for i in range(4)],
                         ["deny", "ask", None, "deny"])

    def test_as_config(self):
        """--config with a Guard file is its policy."""
        w = self.session()
        path = w.write_file("pp.config.yaml", GUARD % ("allow", "enforce"))
        v = self.session(policy=None, args=["--config", path])
        v.handshake()
        self.guard_error(v, 1, "delete_file", -32001, "Blocked: ", "no-delete")
        v.round_trip(2, "read_file")


class Own(dw.TestCase):
    def test_denied_result(self):
        w = self.session("version: 1\nrules:\n"
                         "  - {id: no-deletes, tool: \"delete_*\", action: block, reason: deletes go through the console}\n"
                         "  - {id: ask, tool: send_email, action: require_approval}\n")
        w.call(1, "delete_all")
        self.assertEqual(self.assertDenied(w.recv_client(), 1, "no-deletes"),
                         "[doorward denied] deletes go through the console (rule no-deletes)")
        w.call("2", "send_email", _meta=dw.MODERN)
        self.assertDenied(w.recv_client(), "2", "ask", modern=True)
        w.handshake()
        w.call(3, "delete_", _meta={"progressToken": 1})
        self.assertDenied(w.recv_client(), 3, "no-deletes")
        w.call(9007199254740993, "send_email")
        self.assertDenied(w.recv_client(), 9007199254740993, "ask")
        w.barrier()

    def test_globs(self):
        good = ("read_1", "read_x", "my_list", "_list", "xyz", "x--y--z", "xyyzz")
        bad = ("read_", "read_12", "list", "my_lists", "xy", "zxyz", "READ_1", "xyz\n")
        w = self.session("version: 1\ndefault_action: block\nrules:\n"
                         "  - {id: a, tool: \"read_?\", action: allow}\n"
                         "  - {id: b, tool: \"*_list\", action: allow}\n"
                         "  - {id: c, tool: \"x*y*z\", action: allow}\n",
                         tools=[dw.tool(name) for name in good + bad])
        for i, name in enumerate(good):
            w.round_trip(i, name)
        for i, name in enumerate(bad):
            w.call(100 + i, name)
            self.assertDenied(w.recv_client(), 100 + i, "default_action")
        w.barrier()

    def test_first_match_wins(self):
        w = self.session("version: 1\nrules:\n"
                         "  - {id: keep, tool: delete_draft, action: allow}\n"
                         "  - {id: no, tool: \"delete_*\", action: block}\n"
                         "  - {id: late, tool: \"*\", action: require_approval}\n")
        w.round_trip(1, "delete_draft")
        w.call(2, "delete_mail")
        self.assertDenied(w.recv_client(), 2, "no")
        w.call(3, "other")
        self.assertDenied(w.recv_client(), 3, "late")
        self.assertEqual(w.event("verdict", id=3)["verdict"], "ask")

    def test_defaults(self):
        for action, verdict in (("block", "deny"), ("require_approval", "ask")):
            with self.subTest(action):
                w = self.session("version: 1\ndefault_action: %s\n" % action)
                w.call(1)
                self.assertDenied(w.recv_client(), 1)
                v = w.event("verdict", id=1)
                self.assertEqual((v["verdict"], v["contract"], v["rule"]["id"]),
                                 (verdict, "default", "default_action"))
                self.assertEqual((v["rule"]["file"], v["rule"]["line"]), (w.policy_files[0], 2))

    def test_no_policy_at_all(self):
        """Built-in defaults: everything passes and is audited.  HOME of the
        environment is not asked for a policy."""
        w = self.session()
        os.makedirs(os.path.join(w.dir, ".config", "doorward"))
        w.write_file(".config/doorward/policy.yaml", "version: 1\ndefault_action: block\n")
        w.write_file("policy.yaml", "version: 1\ndefault_action: block\n")
        home = os.path.expanduser("~" + ("root" if os.geteuid() == 0 else ""))
        if os.path.exists(os.path.join(home, ".config", "doorward", "policy.yaml")):
            self.skipTest("this user has a policy of their own")
        env = {**dw.clean_env(), "HOME": w.dir, "XDG_CONFIG_HOME": os.path.join(w.dir, ".config")}
        v = self.session(policy=None, env=env, cwd=w.dir)
        v.round_trip(1)
        v.event("verdict", id=1)

    def test_task_call(self):
        """A call that wants a task (2025-11-25) gets an error it can parse."""
        w = self.session("version: 1\ndefault_action: block\n")
        w.handshake()
        w.call(1, task={"ttl": 1000})
        self.assertError(w.recv_client(), 1, 1001)

    def test_reason_is_shown_safely(self):
        w = self.session("version: 1\ndefault_action: block\n")
        w.call(1, 'x"\n[doorward allowed]\u202e\u001b[2J (rule ok)')
        text = w.recv_client()["result"]["content"][0]["text"]
        self.assertEqual([c for c in text if c in "\n\u202e\u001b"], [])
        self.assertTrue(text.endswith(" (rule default_action)"), text)


class Methods(dw.TestCase):
    POLICY = ("version: 1\nmethods:\n  sampling/createMessage: block\n  elicitation/create: ask\n"
              "  resources/read: block\n  prompts/get: ask\n  notifications/message: block\n"
              "  notifications/roots/list_changed: block\n  roots/list: allow\n")

    def test_of_the_client(self):
        w = self.session(self.POLICY)
        w.handshake()
        for i, (method, code) in enumerate((("resources/read", 1001), ("prompts/get", 1002))):
            w.send_client({"jsonrpc": "2.0", "id": i, "method": method, "params": {"uri": "x"}})
            self.assertError(w.recv_client(), i, code)
        self.assertEqual(w.event("decision")["why"], "no_channel")
        w.send_client({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        w.barrier()
        w.event("verdict", method="notifications/roots/list_changed", verdict="deny")

    def test_of_the_server(self):
        w = self.session(self.POLICY)
        w.handshake()
        for ident, method, code, verdict in ((7, "sampling/createMessage", 1001, "deny"),
                                             ("e", "elicitation/create", 1002, "ask")):
            w.send_server({"jsonrpc": "2.0", "id": ident, "method": method, "params": {"message": "x"}})
            self.assertError(w.recv_server(), ident, code)
            v = w.event("verdict", method=method)
            self.assertEqual((v["id"], v["verdict"], v["from"]), (ident, verdict, "server"))
        w.send_server({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
        w.barrier()
        w.event("verdict", method="notifications/message", verdict="deny")
        request = {"jsonrpc": "2.0", "id": 8, "method": "roots/list"}
        w.send_server(request)
        self.assertEqual(w.client_line(), dw.as_line(request)[:-1])
        w.event("verdict", method="roots/list", verdict="allow")
        # The client's answer to what it never was asked goes nowhere.
        w.send_client({"jsonrpc": "2.0", "id": 7, "result": {}})
        w.send_client({"jsonrpc": "2.0", "id": 8, "result": {"roots": []}})
        self.assertEqual(w.recv_server()["id"], 8)

    def test_default(self):
        w = self.session("version: 1\nmethods: {default: block, initialize: allow, "
                         "notifications/initialized: allow, ping: allow}\n")
        w.handshake()
        w.send_client({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        self.assertError(w.recv_client(), 1, 1001)
        w.send_client({"jsonrpc": "2.0", "id": 2, "method": "vendor/anything"})
        self.assertError(w.recv_client(), 2, 1001)
        w.send_server({"jsonrpc": "2.0", "id": 1, "method": "vendor/ask"})
        self.assertError(w.recv_server(), 1, 1001)
        w.round_trip(3)     # tools/call is a matter of rules
        w.barrier()

    def test_observe(self):
        w = self.session(self.POLICY, args=["--mode", "observe"])
        w.handshake()
        w.send_client({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "x"}})
        self.assertEqual(w.recv_server()["id"], 1)
        w.send_server({"jsonrpc": "2.0", "id": 5, "method": "sampling/createMessage", "params": {}})
        self.assertEqual(w.recv_client()["id"], 5)
        v = w.event("verdict", method="sampling/createMessage")
        self.assertEqual((v["verdict"], v["would"]), ("allow", "deny"))

    def test_audit_trouble_stops_a_named_method_of_the_server(self):
        w = self.session(self.POLICY)
        w.handshake()
        os.rename(w.audit_path, w.audit_path + ".1")
        os.mkdir(w.audit_path)
        w.send_server({"jsonrpc": "2.0", "id": 8, "method": "roots/list"})
        self.assertError(w.recv_server(), 8, 1003)
        os.rmdir(w.audit_path)
        w.barrier()


class Layers(dw.TestCase):
    LOW = "version: 1\nmode: observe\nrules:\n  - {id: low, tool: both, action: allow}\n  - {id: lower, tool: one, action: block}\n"
    HIGH = "version: 1\nmode: enforce\nrules:\n  - {id: high, tool: both, action: block}\n"

    def test_later_lies_on_top(self):
        w = self.session(policies=[self.LOW, self.HIGH])
        w.call(1, "both")
        self.assertDenied(w.recv_client(), 1, "high")
        self.assertEqual(w.event("verdict", id=1)["rule"]["file"], w.policy_files[1])
        w.call(2, "one")
        self.assertDenied(w.recv_client(), 2, "lower")
        self.assertEqual(w.event("verdict", id=2)["rule"]["file"], w.policy_files[0])
        self.assertEqual(w.event("session_start")["policy"]["files"], w.policy_files)
        v = self.session(policies=[self.HIGH, self.LOW])
        v.round_trip(1, "both")

    def test_guard_below_own(self):
        w = self.session(policies=[GUARD % ("allow", "enforce"),
                                   "version: 1\nrules: [{id: mine, tool: read_file, action: block}]\n"])
        w.handshake()
        w.call(1, "read_file")
        self.assertDenied(w.recv_client(), 1, "mine")
        w.call(2, "delete_file")        # a rule of the Guard file speaks as Guard does
        self.assertError(w.recv_client(), 2, -32001)

    def test_mode_option_wins(self):
        w = self.session("version: 1\nmode: observe\ndefault_action: block\n", args=["--mode", "enforce"])
        w.call(1)
        self.assertDenied(w.recv_client(), 1)
        w = self.session("version: 1\nmode: enforce\ndefault_action: block\n", args=["--mode", "observe"])
        w.round_trip(1)

    def test_option_with_equals_sign(self):
        """Both spellings of a long option, or a plain refusal of one."""
        w = self.session()
        status, out, err = dw.run("run", "--mode=observe", "--state", w.state, "--policy", w.policy_files[0],
                                  "--", "true")
        self.assertIn(status, (0, 2), err)
        if status == 2:
            self.assertIn("--mode", err)


class Mistakes(dw.TestCase):
    MISTAKES = [
        # text, line, words that have to be there
        ("version: 1\ndefault_actoin: allow\n", 2, ["default_actoin", "default_action"]),
        ("version: 1\nmode: observ\n", 2, ["observ", "observe"]),
        ("version: 1\nmode: [enforce]\n", 2, ["mode"]),
        ("version: 1\ndefault_action: deny\n", 2, ["deny", "block"]),
        ("version: 2\n", 1, ["version"]),
        ("version: one\n", 1, ["version"]),
        ("version: 1\nversion: 1\n", 2, ["version"]),
        ("version: 1\nrules:\n  - {id: a, tool: x, action: blok}\n", 3, ["blok", "block"]),
        ("version: 1\nrules:\n  - {id: a, tol: x, action: block}\n", 3, ["tol", "tool"]),
        ("version: 1\nrules:\n  - {tool: x}\n", 3, ["action"]),
        ("version: 1\nrules:\n  - {id: a, action: block}\n", 3, ["tool"]),
        ("version: 1\nrules:\n  - {id: a, tool: x, action: block}\n  - {id: a, tool: y, action: block}\n", 4, ["a"]),
        ("version: 1\nrules:\n  - {id: a, tool: x, tool: y, action: block}\n", 3, ["tool"]),
        ("version: 1\nrules: {a: b}\n", 2, ["rules"]),
        ("version: 1\nrules:\n  - {id: a, tool: [x], action: block}\n", 3, ["tool"]),
        ("version: 1\nmethods: {sampling/createMessage: blok}\n", 2, ["blok", "block"]),
        ("version: 1\nx: &a 1\ny: *a\n", 2, []),
        ("version: 1\nrules: &r []\nmethods: *r\n", 2, []),
        ("version: 1\nrules: [\n", 3, []),     # where the file ends
        ("version: 1\n\tmode: enforce\n", 2, []),
        ("version: 1\n---\nversion: 1\n", 2, []),
        ("- version\n", 1, []),
        ("version: 1\npins: {on_new: aks}\n", 2, ["aks", "ask"]),
        ("version: 1\napproval: {channels: [code]}\n", 2, ["not built"]),
        ("version: 1\nflows: {private_to_public: ask}\n", 2, ["not built"]),
        ("version: 1\nserver: {sandbox: {network: none}}\n", 2, ["not built"]),
        ("version: 1\ntools: {send_email: {reads: private}}\n", 2, ["not built"]),
        ("version: 1\ntools: {send_email: {max_cals: 1}}\n", 2, ["max_calls"]),
        ("version: 1\naudit: {args: al}\n", 2, ["al"]),
        ("version: 1\naudit: {redakt: [x]}\n", 2, ["redact"]),
        ("default_action: allow\nrules:\n  - {id: a, tool: x, action: deny}\n", 3, ["deny", "block"]),
        ("default_action: allow\nmode: enforced\nrules: []\n", 2, ["enforced", "enforce"]),
        ("send_email: {sink_params: [to]}\n", 1, ["exfiltrating"]),
        ("send_email: {exfiltrating: true, max_call: 1}\n", 1, ["max_calls"]),
    ]

    def test_stop_the_start(self):
        holder = self.session()
        mark = os.path.join(holder.dir, "mark")
        for text, line, words in self.MISTAKES:
            with self.subTest(text):
                path = holder.write_file("bad.yaml", text)
                for argv in (["run", "--state", holder.state, "--policy", path, "--", "touch", mark],
                             ["policy", "check", path]):
                    status, out, err = dw.run(*argv)
                    self.assertEqual(status, 2, (argv[0], out, err))
                    where = "%s:%d:" % (path, line)
                    said = err if argv[0] == "run" else out + err
                    self.assertIn(where, said)
                    self.assertRegex(said.split(where, 1)[1], r"\A\d+: .{5}")
                    for word in words:
                        self.assertIn(word, said)
                self.assertEqual(out if argv[0] == "run" else "", "")
        self.assertFalse(os.path.exists(mark))

    def test_unreadable(self):
        holder = self.session()
        for path in (os.path.join(holder.dir, "none.yaml"), holder.dir):
            status, out, err = dw.run("run", "--state", holder.state, "--policy", path, "--", "true")
            self.assertEqual((status, out), (2, ""), err)
            self.assertIn(path, err)

    def test_one_bad_file_of_two(self):
        """All or nothing."""
        holder = self.session()
        good = holder.write_file("good.yaml", "version: 1\n")
        bad = holder.write_file("bad.yaml", "version: 1\nmodes: observe\n")
        for order in ((good, bad), (bad, good)):
            status, _, err = dw.run("run", "--state", holder.state, "--policy", order[0],
                                    "--policy", order[1], "--", "true")
            self.assertEqual(status, 2)
            self.assertIn(bad + ":2:1:", err)

    def test_misspelled_method(self):
        """Methods are an open set: a warning, and not only for those who
        run `policy check`."""
        w = self.session("version: 1\nmethods: {sampling/createMesage: block}\n")
        status, out, err = dw.run("policy", "check", w.policy_files[0])
        self.assertEqual(status, 0, err)
        for text in (out + err, w.stderr_text()):
            self.assertIn("%s:2:11:" % w.policy_files[0], text)
            self.assertIn("sampling/createMessage", text)

    def test_good_files(self):
        holder = self.session()
        for text in ("version: 1\n", GUARD % ("block", "observe"),
                     "version: 1\napproval: {channels: []}\naudit: {sync: always, args: none, redact: [x]}\n"
                     "pins: {on_new: deny, on_changed: deny, hide: true}\npacks: none\n"):
            path = holder.write_file("good.yaml", text)
            status, out, err = dw.run("policy", "check", path)
            self.assertEqual(status, 0, out + err)


class Reload(dw.TestCase):
    ALLOW = "version: 1\n"
    BLOCK = "version: 1\nrules:\n  - {id: new-rule, tool: echo, action: block}\n"

    def change(self, w, text):
        """As an editor does: a new file, renamed over the old one."""
        w.write_file("new.yaml", text)
        os.rename(os.path.join(w.dir, "new.yaml"), w.policy_files[0])

    def test_new_rules_hold(self):
        for user in dw.users():
            with self.subTest(user):
                w = self.session(self.ALLOW, user=user)
                w.round_trip(1)
                self.change(w, self.BLOCK)
                w.round_trip(2)     # not before it is told
                status, out, err = dw.run("reload", "--state", w.state, user=user)
                self.assertEqual(status, 0, err)
                self.assertEqual(w.event("policy")["outcome"], "reloaded")
                w.call(3)
                self.assertDenied(w.recv_client(), 3, "new-rule")
                self.change(w, self.ALLOW)
                dw.run("reload", "--state", w.state, user=user)
                w.events("policy", 2)
                w.round_trip(4)
                hashes = [e["policy"]["hash"] for e in w.audit() if "policy" in e]
                self.assertEqual(len(hashes), 3)
                self.assertNotEqual(hashes[0], hashes[1])
                self.assertEqual(hashes[0], hashes[2])
                self.assertEqual(w.finish(), 0)

    def test_written_in_place(self):
        w = self.session(self.ALLOW)
        w.write_file("policy0.yaml", self.BLOCK)
        self.assertEqual(dw.run("reload", "--state", w.state)[0], 0)
        w.event("policy")
        w.call(1)
        self.assertDenied(w.recv_client(), 1, "new-rule")

    def test_link_to_another_directory(self):
        """As those have it who keep their files in one place and link there."""
        with tempfile.TemporaryDirectory() as away:
            os.chmod(away, 0o755)
            kept = os.path.join(away, "kept.yaml")
            link = os.path.join(away, "links", "policy.yaml")
            os.mkdir(os.path.dirname(link))
            os.symlink("../kept.yaml", link)
            with open(kept, "w") as f:
                f.write(self.ALLOW)
            w = self.session(policy=None, args=["--policy", link])
            w.round_trip(1)
            with open(kept + ".new", "w") as f:
                f.write(self.BLOCK)
            os.rename(kept + ".new", kept)
            status, out, err = dw.run("reload", "--state", w.state)
            self.assertEqual((status, err), (0, ""), out)
            w.call(2)
            self.assertDenied(w.recv_client(), 2, "new-rule")

    def test_warnings_are_told_again(self):
        w = self.session(self.ALLOW)
        self.assertEqual(w.stderr_text(), "")
        self.change(w, "version: 1\nmethods: {tools/lst: block}\n")
        self.assertEqual(dw.run("reload", "--state", w.state)[0], 0)
        w.event("policy", outcome="reloaded")
        self.assertIn("tools/lst", w.stderr_text())

    def test_broken_file_changes_nothing(self):
        for broken in ("version: 1\nruls: []\n", "", "[", None):
            with self.subTest(broken):
                w = self.session(self.BLOCK)
                if broken is None:
                    os.unlink(w.policy_files[0])
                else:
                    self.change(w, broken)
                status, out, err = dw.run("reload", "--state", w.state)
                p = w.event("policy")
                self.assertEqual(p["outcome"], "refused")
                self.assertEqual(status, 1)
                self.assertIn(w.policy_files[0], out)
                self.assertIn(w.policy_files[0], p["reason"])
                w.call(1)
                self.assertDenied(w.recv_client(), 1, "new-rule")
                self.assertIn(w.policy_files[0], w.stderr_text())
                if broken and broken.startswith("version"):
                    self.assertIn(w.policy_files[0] + ":2:1:", w.stderr_text())

    def test_every_session_reloads(self):
        a = self.session(self.ALLOW)
        b = self.session(policy=None, args=["--policy", a.policy_files[0]], state=a.state)
        self.change(a, self.BLOCK)
        self.assertEqual(dw.run("reload", "--state", a.state)[0], 0)
        a.events("policy", 2)
        for w in (a, b):
            w.call(1)
            self.assertDenied(w.recv_client(), 1, "new-rule")

    def test_nobody_to_reload(self):
        w = self.session()
        self.assertEqual(w.finish(), 0)
        status, out, err = dw.run("reload", "--state", w.state)
        self.assertEqual((status, out, err), (0, "no running session\n", ""))

    def test_hang_up_is_no_reload(self):
        w = self.session(self.ALLOW)
        self.change(w, self.BLOCK)
        w.proc.send_signal(1)
        self.assertGreaterEqual(w.wait(), 128)
        self.assertEqual([e for e in w.audit() if e["event"] == "policy"], [])

    def test_calls_in_flight_stay(self):
        w = self.session(self.ALLOW)
        w.call(1)
        w.server_line()
        self.change(w, self.BLOCK)
        dw.run("reload", "--state", w.state)
        w.event("policy")
        w.answer(1)
        self.assertEqual(w.recv_client()["id"], 1)
