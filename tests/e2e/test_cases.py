"""The hand-written cases of tests/data/cases, one test each: the file gives
the bytes, the test says what is right."""
import glob
import json
import os
import re
import shutil
import signal
import tempfile
import time

import dw

CASES = os.path.join(dw.ROOT, "tests", "data", "cases")
ALLOW = "version: 1\n"

# The policies of cases, as Doorward writes them.
NO_WRITING_SQL = r"""version: 1
tools:
  execute_sql:
    # deny_regex: a value that it is found in does not match this one.
    arg_patterns:
      sql: '(?is)(?!.*\b(insert|update|delete|drop|alter|create|grant|copy|merge|call|do)\b).*'
"""
MAIL = """version: 1
tools:
  send_email:
    exfiltrating: true
    sink_params: [to, cc, bcc]              # dest_args
    trusted_destinations: ["*@example.com"] # allow_dest
    on_unproven: ask                        # on_unknown_dest
"""
ASK_CHANGED = "version: 1\npins: {on_changed: ask, on_new: ask}\n"   # on_pin_change
ROOTS = """version: 1
tools:
  write_file: {write_params: [path], allowed_path_prefixes: [%s/work]}
"""
CONTROLS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f]")


class Case:
    def __init__(self, number):
        path, = glob.glob(os.path.join(CASES, "%s-*.json" % number))
        with open(path, encoding="utf-8") as f:
            self.data = json.load(f)
        self.steps = self.data["input"]["steps"]

    def data_of(self, step, **gen):
        """The bytes that a step writes."""
        if "line" in step:
            return step["line"].encode() + b"\n"
        if "hex" in step:
            return bytes.fromhex(step["hex"])
        g = {**step["gen"], **gen}
        return (g["prefix"] + g["repeat"] * g["count"] + g["suffix"]).encode()

    def play(self, w, *numbers):
        """Does the steps with these indices, all without a number."""
        for i in numbers or range(len(self.steps)):
            step = self.steps[i]
            if "sleep_ms" in step:
                w.pump_for(step["sleep_ms"] / 1000)
            elif "eof" in step:
                w.close_client_in()
            elif "signal" in step:
                os.kill(w.server_pid, getattr(signal, step["signal"]))
            elif "stderr_gen" in step:
                g = step["stderr_gen"]
                w.order("stderr %d" % (len(g["repeat"]) * g["count"]))
            elif step["from"] == "client":
                w.send_client(self.data_of(step))
            else:
                w.send_server(self.data_of(step))


class Cases(dw.TestCase):
    def refused(self, w, code, reason, ident=None):
        """The client gets this error, the audit this refusal."""
        error = self.assertError(w.recv_client(), ident, code)
        self.assertEqual(w.events("refusal")[-1]["reason"], reason)
        return error

    def test_001_stdout_noise(self):
        case, w = Case("001"), self.session(ALLOW)
        case.play(w, 0, 1, 2, 3)
        w.forwarded(case.data_of(case.steps[3]))
        case.play(w, 4, 5)
        self.assertEqual(w.client_line() + b"\n", case.data_of(case.steps[5]))
        w.barrier()
        # An open id in a line that is no message: an error, not silence.
        w.forwarded(w.call(2))
        w.send_server(b'{"jsonrpc":"2.0","id":2,"status":200}\n')
        self.assertError(w.recv_client(), 2, 1003)
        w.barrier()
        self.assertIn("Example MCP server", w.stderr_text())
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.event("session_end")["dropped"], 5)

    def test_003_separators_are_no_line_ends(self):
        case, w = Case("003"), self.session(ALLOW)
        case.play(w, 0)
        w.server_line()
        case.play(w, 1)
        got = w.client_line()
        self.assertEqual(got + b"\n", case.data_of(case.steps[1]))
        for char in "\u2028\u2029\u0085":
            self.assertIn(char, json.loads(got)["result"]["content"][0]["text"])
        # The other way the value has to survive.
        sent = w.call(8, arguments={"text": "a\u2028b\u2029c\u0085d"})
        w.forwarded(sent)
        w.answer(8)
        w.client_line()
        w.barrier()

    def sizes(self, count, step, every):
        case, w = Case("004"), self.session(ALLOW)
        case.play(w, 0)
        w.server_line()
        w.client_out.step, w.client_out.every = step, every
        result = case.data_of(case.steps[1], count=count)
        call = case.data_of(case.steps[2])
        # Both directions are full at once, and the server reads late.
        w.order("pause")
        w.send_server(result, wait=False)
        w.send_client(call, wait=False)
        w.pump_for(0.5)
        w.order_now("resume")
        self.assertEqual(w.client_line(60) + b"\n", result)
        w.forwarded(call)
        w.client_out.every = 0
        w.barrier()

    def test_004_large_messages_64k_slow_reader(self):
        self.sizes(65600, 4096, 0.020)

    def test_004_large_messages_1m(self):
        self.sizes(1048576, 16384, 0.020)

    def test_004_large_messages_10m(self):
        self.sizes(10485760, 65536, 0.010)

    def test_006_split_character(self):
        case, w = Case("006"), self.session(ALLOW)
        case.play(w, 0, 1)
        w.server_line(), w.server_line()
        case.play(w, 2, 3, 4)
        self.assertEqual(w.recv_client()["id"], 2)
        second = w.recv_client()
        self.assertEqual(second["id"], 1)
        self.assertEqual(second["result"]["content"][0]["text"], "\U0001f642")
        w.barrier()

    def test_007_id_types(self):
        case, w = Case("007"), self.session(ALLOW)
        legal = [s for s in case.steps if '"id":1.5' not in s["line"]]
        self.assertEqual(len(legal), 8)
        # All open at once: none may be taken for another.
        case.play(w)
        for step in legal:
            w.forwarded(case.data_of(step))
        self.refused(w, -32600, "id_type", None)
        for step in reversed(legal):
            ident = dw.dumps(json.loads(step["line"])["id"])
            answer = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}' % ident.encode()
            w.send_server(answer + b"\n")
            self.assertEqual(w.client_line(), answer)
        w.barrier()

    def test_009_call_without_id(self):
        case, w = Case("009"), self.session(ALLOW)
        case.play(w)
        w.barrier()     # no byte to the server, no answer to the client
        w.event("refusal", reason="call_without_id", verdict="deny")
        self.assertEqual([x for x in w.audit() if x["event"] == "verdict"], [])

    def test_011_batches(self):
        case, w = Case("011"), self.session(ALLOW)
        for i in (0, 1):
            case.play(w, i)
            self.refused(w, -32600, "batch", None)
            w.barrier()
        w.call(9)
        w.server_line()
        case.play(w, 2)         # id 9 is open, and still is not answered
        w.barrier()
        self.assertEqual(w.events("refusal", 2)[1]["reason"], "batch")
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.event("session_end")["dropped"], 1)

    def test_012_duplicate_and_variant_keys(self):
        case, w = Case("012"), self.session(
            "version: 1\ndefault_action: block\n"
            "rules: [{id: only-echo, tool: echo, action: allow}]\n")
        reasons = ["duplicate_key", "key_variant", "key_variant",
                   "nul_in_string", "duplicate_key"]
        for i, reason in enumerate(reasons):
            case.play(w, i)
            self.refused(w, -32600, reason, i + 1)
            w.barrier()
        w.round_trip(6, arguments={"Name": "a", "ID": 1, "METHOD": 2, "name": "b"})

    def test_013_numbers(self):
        case, w = Case("013"), self.session(ALLOW)
        case.play(w, 0)
        line = w.server_line()
        self.assertEqual(dw.exact(line), dw.exact(case.data_of(case.steps[0])))
        for literal in (b"7960607143101464576", b":1.0,", b":1e2,", b":-0,",
                        b":3.14159265358979323846264338}"):
            self.assertIn(literal, line)
        with open(w.audit_path, "rb") as f:
            verdict, = [x for x in f if b'"verdict"' in x and b"get_row" in x]
        for literal in (b"7960607143101464576", b":1.0", b":1e2", b":-0",
                        b":3.14159265358979323846264338"):
            self.assertIn(literal, verdict)
        case.play(w, 1)
        self.assertEqual(w.client_line() + b"\n", case.data_of(case.steps[1]))

    def test_015_bad_unicode(self):
        case, w = Case("015"), self.session(ALLOW)
        case.play(w, 0)
        error = self.refused(w, -32600, "lone_surrogate", 1)
        self.assertIn("surrogate", error["message"])
        case.play(w, 1)
        self.assertEqual(w.events("refusal", 2)[1]["reason"], "invalid_utf8")
        answer = w.recv_client()
        self.assertIn(answer["id"], (None, 2))
        self.assertEqual(answer["error"]["code"], -32700)
        self.assertIn("UTF-8", answer["error"]["message"])
        case.play(w, 2)
        self.refused(w, -32600, "nul_in_string", 3)
        case.play(w, 3)
        w.barrier()
        # From the server a lone surrogate escape passes as written.
        w.call(4)
        w.server_line()
        line = b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"\\ud83d"}]}}'
        w.send_server(line + b"\n")
        self.assertEqual(w.client_line(), line)
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.event("session_end")["dropped"], 1)

    def test_017_stderr_flood(self):
        case, w = Case("017"), self.session(ALLOW, stderr="pipe")
        w.stderr_reader.paused = True
        case.play(w, 0)
        w.server_line()
        case.play(w, 1)
        w.pump_for(0.5)
        # The server is stuck at its own full stderr, as without Doorward; it
        # is the client's pipe.  Doorward's own words to it are dropped.
        self.assertEqual(dw.descriptors(w.server_pid)[2], dw.descriptors(os.getpid())[
            w.stderr_reader.fd])
        for _ in range(20):
            w.send_server(b"a line for which Doorward has a word to say\n")
        case.play(w, 2)
        self.assertEqual(w.client_line() + b"\n", case.data_of(case.steps[2]))
        w.barrier()
        w.stderr_reader.paused = False
        w.stderr_reader.keep = False
        self.assertEqual(w.heard(), "stderr done")
        self.assertEqual(w.finish(), 0)

    def test_018_server_dies(self):
        case, w = Case("018"), self.session(ALLOW)
        case.play(w, 0, 1)
        w.server_line(), w.server_line()
        case.play(w, 3)
        began = time.monotonic()
        open_ids = [1, "two"]
        for _ in range(2):
            answer = w.recv_client(1.0)
            open_ids.remove(answer["id"])
            self.assertError(answer, answer["id"], 1003)
        w.client_eof()
        self.assertLess(time.monotonic() - began, 1.0 * dw.SLOW)
        self.assertEqual(w.wait(), 128 + signal.SIGKILL)
        self.assertEqual(w.event("session_end")["status"], 128 + signal.SIGKILL)

    TREE = ["sh", "-c", "sh -c 'trap : TERM; sleep 600' & wait"]

    def tree(self):
        w = self.session(ALLOW, command=self.TREE)
        w.pump(lambda: len(w.processes()["tree"]) == 3, what="the server's tree")
        return w, dw.descendants(w.pid)

    def test_020_run_1_client_closes_stdin(self):
        w, all_of_it = self.tree()
        began = time.monotonic()
        Case("020").play(w)
        self.assertEqual(w.wait(), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 3.0 * dw.SLOW)
        self.assertEqual(dw.gone(all_of_it, 0.1), [])

    def test_020_run_2_client_killed(self):
        w, all_of_it = self.tree()
        began = time.monotonic()
        w.kill_client()
        w.wait()
        self.assertLess(time.monotonic() - began, 3.0 * dw.SLOW)
        self.assertEqual(dw.gone(all_of_it, 0.1), [])

    def test_020_run_3_sigterm(self):
        w, all_of_it = self.tree()
        began = time.monotonic()
        w.proc.send_signal(signal.SIGTERM)
        self.assertEqual(w.wait(), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 3.0 * dw.SLOW)
        self.assertEqual(dw.gone(all_of_it, 0.1), [])

    def test_020_run_4_sigkill(self):
        w, _ = self.tree()
        mine = [p for p in dw.descendants(w.pid) if p.ppid == w.pid]
        self.assertEqual(len(mine), 3)      # two relays and the outer sh
        w.expect_orphans = True             # what doorward(1) says may survive
        w.proc.send_signal(signal.SIGKILL)
        self.assertEqual(w.wait(), -signal.SIGKILL)
        self.assertEqual(dw.gone(mine), [])

    def test_026_stateless(self):
        case, w = Case("026"), self.session(ALLOW)
        case.play(w, 0)
        w.forwarded(case.data_of(case.steps[0]))
        state = 'sealed "\u00e9\\u2028"/+= \U0001f642' + "x" * 3000
        asked = {"jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "input_required", "requestState": state,
            "inputRequests": {"own/key": {"method": "elicitation/create", "params": {
                "mode": "form", "message": "sure?", "requestedSchema": {
                    "type": "object", "properties": {"ok": {"type": "boolean"}}}}}}}}
        w.send_server(asked)
        self.assertEqual(w.client_line(), dw.as_line(asked)[:-1])
        retry = json.loads(case.steps[2]["line"])
        retry["params"]["requestState"] = state
        retry["params"]["inputResponses"] = {
            "own/key": {"action": "accept", "content": {"ok": True}}}
        w.send_client(retry)
        w.forwarded(retry)
        w.answer(2)         # a result without resultType counts as complete
        self.assertNotIn("resultType", w.recv_client()["result"])
        w.event("result", id=2, result="ok")
        w.barrier()

    def test_027_environment(self):
        script = 'printf "%s\\n" "$PATH" "[$A]" "[$B]" "$PWD" "$@" >&2; exec cat'
        env = {"PATH": "/opt/node/bin:/usr/bin", "A": "", "B": "x y"}
        w = self.session(ALLOW, env=env, cwd="/usr/share", command=[
            "sh", "-c", script, "_", "~/w", "${HOME}/w", "a b", ""])
        w.pump(lambda: w.stderr_text().count("\n") >= 8, what="the server's words")
        Case("027").play(w)
        self.assertEqual(w.wait(), 0)
        self.assertEqual(w.stderr_text(),
                         "/opt/node/bin:/usr/bin\n[]\n[x y]\n/usr/share\n"
                         "~/w\n${HOME}/w\na b\n\n")

    def test_027_not_found(self):
        w = self.session(ALLOW, env={"PATH": "/opt/node/bin:/usr/bin"},
                         command=["no-such-server", "x"])
        w.client_eof()
        self.assertEqual(w.wait(), 127)
        text = w.stderr_text()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn("no-such-server", text)
        self.assertIn("/opt/node/bin:/usr/bin", text)

    def test_060_nul(self):
        case, w = Case("060"), self.session(ALLOW)
        for i in (0, 2, 3):
            case.play(w, i)
            self.refused(w, -32600, "nul_in_string", i + 1)
            w.barrier()


class PolicyCases(dw.TestCase):
    """Cases that are about what a policy says."""

    def tools_of(self, case):
        return case.data["setup"]["server_tools"]

    def test_050_sql(self):
        case = Case("050")
        w = self.session(NO_WRITING_SQL, tools=self.tools_of(case))
        rule = "tools.execute_sql.arg_patterns"
        for i in (0, 2):
            case.play(w, i)
            w.forwarded(case.data_of(case.steps[i]))
            w.answer(i // 2 + 1)
            w.recv_client()
        case.play(w, 3)
        self.assertDenied(w.recv_client(), 3, rule)
        case.play(w, 4)     # what the pattern takes for one: a word in quotes
        self.assertDenied(w.recv_client(), 4, rule)
        for i, sql in enumerate(("DROP TABLE x", "sELECT 1;\ndo $$ begin end $$", "\n\n--\nUpdate t set a=1",
                                 "select 1/*x*/;grant all on t to u", "select 1;call p()"), 10):
            w.call(i, "execute_sql", {"sql": sql})
            self.assertDenied(w.recv_client(), i, rule)
        for i, sql in enumerate(("select inserted, updated_at from calls", "select 'document'"), 20):
            w.round_trip(i, "execute_sql", {"sql": sql})
        w.barrier()
        self.assertEqual({v["contract"] for v in w.events("verdict", verdict="deny")}, {"pattern"})

    def npx(self, *args, version, **kwargs):
        """A session with a program that is called npx."""
        w = self.session(MAIL, tools=self.tools_of(Case("051")), server=False,
                         command=[self.npx_path, *args], **kwargs)
        w.accept()
        w.send_client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"}}})
        w.server_line()
        w.send_server({"jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "mail-mcp", "version": version}}})
        w.recv_client()
        return w

    def test_051_bcc_inside_the_server(self):
        case = Case("051")
        directory = tempfile.mkdtemp(prefix="dw-npx-")
        self.addCleanup(shutil.rmtree, directory, True)
        self.npx_path = os.path.join(directory, "npx")
        with open(self.npx_path, "w") as f:
            f.write("#!/bin/sh\nexec '%s' s\n" % dw.puppet_path())
        os.chmod(self.npx_path, 0o755)
        first = self.npx("-y", "mail-mcp@1.0.15", version="1.0.15")
        case.play(first, 0)
        first.forwarded(case.data_of(case.steps[0]))
        case.play(first, 1)
        first.client_line()
        self.assertEqual(first.finish(), 0)
        # What was seen is said, and no more: asked for, forwarded, answered.
        v, r = first.event("verdict"), first.event("result")
        self.assertEqual((v["verdict"], v["args"]["to"]), ("allow", "a@example.com"))
        self.assertEqual(r["result"], "ok")
        with open(first.audit_path) as f:
            self.assertNotRegex(f.read(), "(?i)deliver|sent only|only to")
        # A new version of the same command is noted, and the call goes on.
        second = self.npx("-y", "mail-mcp@1.0.15", version="1.0.16", state=first.state)
        case.play(second, 0)
        second.forwarded(case.data_of(case.steps[0]))
        self.assertIn("1.0.16", second.event("pin", what="version")["detail"])
        self.assertEqual(second.finish(), 0)
        # Another command line is not what was trusted.
        third = self.npx("-y", "mail-mcp", version="1.0.16", state=first.state)
        case.play(third, 0)
        self.assertDenied(third.recv_client(), 1, "pins.on_changed", reason="command")
        self.assertEqual(len(third.events("pin", what="command")), 1)
        third.barrier()

    def test_053_escapes_in_definitions(self):
        case = Case("053")
        w = self.session(MAIL, tools=self.tools_of(case), stderr="file")
        case.play(w, 0)
        self.assertEqual(w.recv_server()["method"], "tools/list")
        listing = {"jsonrpc": "2.0", "id": 1, "result": {"tools": self.tools_of(case)}}
        line = json.dumps(listing).encode()
        w.send_server(line + b"\n")
        self.assertEqual(w.client_line(), line)     # as it was sent
        case.play(w, 1)
        text = self.assertDenied(w.recv_client(), 2, "tools.send_email.on_unproven")
        self.assertNotRegex(text, CONTROLS)
        w.barrier()
        # Sent to a trusted one, so that the definition gets pinned.
        w.round_trip(3, "send_email", {"to": "a@example.com", "body": "\x1b[2J\r\u009b1A"})
        self.assertEqual(w.event("pin", what="suspicious")["tool"], "send_email")
        v = w.event("verdict", id=2)
        self.assertEqual((v["verdict"], v["contract"], v["args"]["to"]),
                         ("ask", "sink", "x@evil.example.net"))
        self.assertEqual(w.event("decision", id=2)["why"], "no_channel")
        self.assertEqual(w.finish(), 0)
        self.assertNotRegex(w.stderr_text(), CONTROLS)
        # The audit is held to this line by line; and by the programs' output.
        status, out, err = dw.run("pins", "list", "--state", w.state)
        self.assertEqual(status, 0, err)
        self.assertIn("send_email", out)
        self.assertNotRegex((out + err).replace("\t", ""), CONTROLS)

    def pinned_t(self):
        """A state in which the case's first definitions are pinned."""
        first = self.session(ASK_CHANGED, tools=Case("055").data["setup"]["server_outputs"][0],
                             args=["--server", "case"])
        first.handshake()
        first.round_trip(1, "t", {"id": "1"})
        self.assertEqual(first.finish(), 0)
        return first

    def after_change(self, first, tools, rule):
        """The case's steps, the server showing these tools from the second
        listing on."""
        case = Case("055")
        w = self.session(ASK_CHANGED, tools=tools, state=first.state, args=["--server", "case"])
        w.handshake()
        case.play(w, 0)
        w.server_line()
        w.send_server({"jsonrpc": "2.0", "id": 1, "result": {
            "tools": case.data["setup"]["server_outputs"][0]}})
        self.assertEqual([t["name"] for t in w.recv_client()["result"]["tools"]], ["t"])
        case.play(w, 1)
        self.assertEqual(w.recv_client()["method"], "notifications/tools/list_changed")
        case.play(w, 2)     # before the client has listed again: Doorward has
        self.assertDenied(w.recv_client(), 2, rule)
        self.assertGreaterEqual(w.listings, 1)
        case.play(w, 3)
        w.server_line()
        w.send_server({"jsonrpc": "2.0", "id": 3, "result": {"tools": tools}})
        self.assertEqual(w.recv_client()["result"]["tools"], [])    # hidden
        case.play(w, 4)
        self.assertDenied(w.recv_client(), 4, rule)
        w.barrier()
        self.assertEqual(w.finish(), 0)
        return w

    def test_055_changed_definitions(self):
        outputs = Case("055").data["setup"]["server_outputs"]
        for tools, said in ((outputs[1], "destructiveHint"), (outputs[2], "callback_url")):
            with self.subTest(said):
                first = self.pinned_t()
                w = self.after_change(first, tools, "pins.on_changed")
                self.assertEqual({v["verdict"] for v in w.events("verdict") if v["session"] ==
                                  w.event("pin", what="changed")["session"]}, {"ask"})
                status, out, err = dw.run("pins", "diff", "--state", first.state)
                self.assertIn(said, out, err)

    def test_055_renamed(self):
        """t is gone, and t2 was never seen."""
        first = self.pinned_t()
        tools = Case("055").data["setup"]["server_outputs"][3]
        w = self.after_change(first, tools, "tools/list")
        again = self.session(ASK_CHANGED, tools=tools, state=w.state, args=["--server", "case"])
        again.handshake()
        again.call(1, "t2", {"id": "1"})
        self.assertDenied(again.recv_client(), 1, "pins.on_new")

    def test_055_every_member_counts(self):
        tool, = Case("055").data["setup"]["server_outputs"][0]
        for key, value in (("title", "T"), ("outputSchema", {"type": "object"}),
                           ("icons", [{"src": "https://example.com/i.png"}]), ("_meta", {"a": 1})):
            with self.subTest(key):
                self.after_change(self.pinned_t(), [{**tool, key: value}], "pins.on_changed")

    def test_055_same_in_other_words(self):
        """Other order, spacing and escapes: the same definition."""
        first = self.pinned_t()
        tool, = Case("055").data["setup"]["server_outputs"][0]

        def backwards(v):
            return {k: backwards(v[k]) for k in reversed(v)} if isinstance(v, dict) else v

        text = json.dumps(backwards(tool), indent=1).replace("\n", " ").replace(
            "Read", "\\u0052\\u0065ad").replace('"id"', '"\\u0069d"')
        self.assertEqual(json.loads(text), tool)
        w = self.session(ASK_CHANGED, tools=None, state=first.state, args=["--server", "case"])
        w.handshake()
        call = w.call(2, "t", {"id": "1"})
        request = w.recv_server()
        w.send_server('{"jsonrpc":"2.0","id":"%s","result":{"tools":[%s]}}' % (request["id"], text))
        w.forwarded(call)
        self.assertEqual(w.finish(), 0)

    def test_056_prefix_and_links(self):
        case = Case("056")
        srv = os.path.realpath(tempfile.mkdtemp(prefix="dw-srv-"))
        self.addCleanup(shutil.rmtree, srv, True)
        for name in ("work", "work_evil"):
            os.mkdir(os.path.join(srv, name))
        for name, to in (("work/l", "/etc"), ("work/dang", srv + "/work_evil/new"), ("alias", srv + "/work")):
            os.symlink(to, os.path.join(srv, name))
        w = self.session(ROOTS % srv, tools=self.tools_of(case))
        for i, step in enumerate(case.steps, 1):
            line = step["line"].replace("/srv/", srv + "/").replace('"/srv"', '"%s"' % srv)
            w.send_client(line.encode() + b"\n")
            if i <= 6:
                self.assertDenied(w.recv_client(), i, "tools.write_file.allowed_path_prefixes")
            else:
                w.forwarded(line.encode())
        w.barrier()
        verdicts = w.events("verdict", 8)
        self.assertEqual([v["verdict"] for v in verdicts], ["deny"] * 6 + ["allow"] * 2)
        self.assertEqual({v["contract"] for v in verdicts[:6]}, {"path"})
