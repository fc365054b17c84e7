"""Promise P6: same policy, same history, same call, same verdict.

The other promises are proven where their subject is; test_docs holds
doorward(7) and the tests to naming each of them.
"""
import dw

POLICY = """version: 1
default_action: block
rules:
  - {id: reads, tool: "read_*", action: allow}
  - {id: sends, tool: "send_*", action: require_approval, reason: "a person decides"}
  - {id: echo, tool: echo, action: allow}
methods:
  resources/read: block
  prompts/get: ask
  completion/complete: allow
"""
VOLATILE = ("seq", "time", "mono_ns", "session", "latency_us", "args_digest")


class P6(dw.TestCase):
    def calls(self):
        tools = ("read_file", "send_mail", "echo", "delete_all", "read_", "Read_file", "*", "")
        for i in range(56):
            kind = i % 8
            if kind < 5:
                yield "tools/call", {"name": tools[i % len(tools)], "arguments": {
                    "n": i, "password": "x%d" % i, "deep": [{"token": i}, "\u202e"]}}
            else:
                yield ("resources/read", "prompts/get", "completion/complete")[kind - 5], {
                    "uri": "file:///%d" % i, "name": "n"}

    def play(self):
        w = self.session(POLICY)
        w.handshake()
        # What is held until the tools are listed comes later than the rest.
        w.round_trip("first", "read_file")
        for i, (method, params) in enumerate(self.calls()):
            w.send_client({"jsonrpc": "2.0", "id": "c%d" % i, "method": method, "params": params})
        w.events("verdict", 57)
        kept = [{k: v for k, v in x.items() if k not in VOLATILE}
                for x in w.audit() if x["event"] in ("verdict", "decision")]
        return kept

    def test_same_history_same_verdicts(self):
        """P6."""
        first, second = self.play(), self.play()
        for x in first + second:
            for said in (x, *x.get("others", ())):
                if "rule" in said:
                    said["rule"].pop("file", None)
        self.assertEqual(first, second)
        verdicts = {x["verdict"] for x in first if x["event"] == "verdict"}
        self.assertEqual(verdicts, {"allow", "deny", "ask"})
        self.assertEqual(len([x for x in first if x["event"] == "verdict"]), 57)
