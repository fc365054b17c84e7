"""Pins: what a server shows of its tools, against what was trusted before.

The test holds both ends of the wire; the monitor's own tools/list arrives at
the server like any other request.
"""
import fcntl
import glob
import json
import os
import signal
import struct
import time

import dw


def listing(ident, tools, **result):
    return {"jsonrpc": "2.0", "id": ident, "result": {"tools": tools, **result}}


def names(message):
    return [t["name"] for t in message["result"]["tools"]]


class PinCase(dw.TestCase):
    def by_hand(self, **kwargs):
        """A session whose own listings the test answers itself."""
        return self.session(tools=None, **kwargs)

    def asked(self, s):
        """The monitor's own tools/list, next at the server."""
        request = s.recv_server()
        self.assertEqual(request["method"], "tools/list", request)
        self.assertRegex(request["id"], r"\Adoorward-[0-9a-f]{32}\Z")
        return request

    def list_as_client(self, s, tools, ident="l", **result):
        """The client lists; what it gets to see."""
        s.send_client({"jsonrpc": "2.0", "id": ident, "method": "tools/list"})
        request = s.recv_server()
        self.assertEqual(request["id"], ident)
        s.send_server(listing(ident, tools, **result))
        return s.recv_client()

    def pinned(self, tools, **kwargs):
        """A state directory in which a first session has pinned these."""
        s = self.session(tools=tools, **kwargs)
        s.handshake()
        s.round_trip(1, tools[0]["name"])
        self.assertEqual(s.finish(), 0)
        return s

    def again(self, before, tools, **kwargs):
        """Another session of the same server with the same state."""
        s = self.session(tools=tools, state=before.state, **kwargs)
        s.handshake()
        return s

    def session(self, *args, **kwargs):
        kwargs.setdefault("args", ["--server", "pinned"])
        return super().session(*args, **kwargs)


class Listing(PinCase):
    def test_before_the_first_call(self):
        s = self.by_hand()
        s.handshake()
        first = s.call(1)
        request = self.asked(s)
        s.expect_silence()
        s.send_server(listing(request["id"], [dw.tool("echo")]))
        s.forwarded(first)
        s.answer(1)
        self.assertEqual(s.recv_client()["id"], 1)
        s.round_trip(2)
        self.assertEqual(s.event("pin")["what"], "pinned")

    def test_in_its_place_behind_what_came_first(self):
        s = self.by_hand()
        s.send_client(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
                      b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' +
                      dw.as_line({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                  "params": {"name": "echo"}}))
        self.assertEqual([s.recv_server()["method"] for _ in range(3)],
                         ["initialize", "notifications/initialized", "tools/list"])
        s.kill_client()

    def test_everything_else_flows(self):
        s = self.by_hand()
        s.handshake()
        first = s.call(1)
        request = self.asked(s)
        s.barrier()
        second = s.call(2)
        s.barrier()
        s.send_server(listing(request["id"], [dw.tool("echo")]))
        s.forwarded(first)
        s.forwarded(second)

    def test_more_capabilities_than_are_kept(self):
        """What cannot be compared is not shown either."""
        before = self.pinned([dw.tool("echo")])
        s = self.again(before, None)
        for i in range(40):
            meta = {**dw.MODERN, "io.modelcontextprotocol/clientCapabilities": {"x": {"n": i}}}
            s.send_client({"jsonrpc": "2.0", "id": i, "method": "tools/list",
                           "params": {"_meta": meta}})
            s.recv_server()
            s.send_server(listing(i, [dw.tool("echo", "worse")], resultType="complete"))
            self.assertEqual(names(s.recv_client()), [])

    def test_modern_requests_look_like_the_clients(self):
        s = self.by_hand()
        meta = {**dw.MODERN, "io.modelcontextprotocol/clientInfo": {"name": "n"},
                "progressToken": 7, "x": 1.0}
        first = s.call(1, _meta=meta)
        request = self.asked(s)
        want = {k: v for k, v in meta.items() if k != "progressToken"}
        self.assertEqual(request["params"], {"_meta": want})
        s.send_server(listing(request["id"], [dw.tool("echo")], resultType="complete"))
        s.forwarded(first)

    def test_all_pages(self):
        s = self.by_hand()
        s.handshake()
        first = s.call(1, "b")
        request = self.asked(s)
        self.assertNotIn("cursor", request["params"])
        s.send_server(listing(request["id"], [dw.tool("a")], nextCursor=""))
        second = self.asked(s)
        self.assertEqual(second["params"]["cursor"], "")
        self.assertNotEqual(second["id"], request["id"])
        s.send_server(listing(second["id"], [dw.tool("b")], nextCursor=None))
        s.forwarded(first)

    def denied(self, s, ident, reason, rule="tools/list", **kwargs):
        return self.assertDenied(s.recv_client(), ident, rule, reason=reason, **kwargs)

    def test_a_server_that_never_answers(self):
        s = self.by_hand()
        s.handshake()
        start = time.monotonic()
        s.call(1)
        self.asked(s)
        s.barrier()
        self.denied_late(s, start)
        # The answer comes after all: it is nobody's, and the next call asks anew.
        late = self.late_request
        s.send_server(listing(late["id"], [dw.tool("echo")]))
        s.barrier()
        first = s.call(2)
        request = self.asked(s)
        s.send_server(listing(request["id"], [dw.tool("echo")]))
        s.forwarded(first)

    def denied_late(self, s, start):
        answer = json.loads(s.client_line(30))
        self.assertDenied(answer, 1, "tools/list", reason="in time")
        self.assertGreater(time.monotonic() - start, 9)

    def asked(self, s):
        self.late_request = super().asked(s)
        return self.late_request

    def test_answers_that_are_no_list(self):
        bad = [
            ("an error", lambda i: {"jsonrpc": "2.0", "id": i,
                                    "error": {"code": -32601, "message": "no"}}),
            ("no list", lambda i: {"jsonrpc": "2.0", "id": i, "result": {}}),
            ("no list", lambda i: {"jsonrpc": "2.0", "id": i, "result": {"tools": {}}}),
            ("nextCursor", lambda i: listing(i, [dw.tool("echo")], nextCursor=3)),
            ("no list", lambda i: ('{"jsonrpc":"2.0","id":"%s","result":{"tools":[],'
                                   '"nextCursor":"a","nextCursor":"b"}}' % i)),
            ("no list", lambda i: listing(i, [dw.tool("echo")], Tools=[])),
            ("no valid message", lambda i: '{"jsonrpc":"2.0","id":"%s","result":{"tools":[}}' % i),
        ]
        for n, (reason, answer) in enumerate(bad):
            with self.subTest(reason=reason, n=n):
                s = self.by_hand()
                s.handshake()
                s.call(1)
                s.send_server(answer(self.asked(s)["id"]))
                self.denied(s, 1, reason)
                self.assertEqual(s.event("verdict")["contract"], "pin")
                s.finish()

    def test_pages_without_end(self):
        s = self.by_hand()
        s.handshake()
        s.call(1)
        for n in range(1000):
            s.send_server(listing(self.asked(s)["id"], [], nextCursor=str(n)))
        self.denied(s, 1, "no end")
        s.barrier()

    def test_pages_that_repeat(self):
        s = self.by_hand()
        s.handshake()
        s.call(1)
        for cursor in ("a", "b", "a"):
            s.send_server(listing(self.asked(s)["id"], [], nextCursor=cursor))
        self.denied(s, 1, "repeat")

    def test_too_many_tools(self):
        s = self.by_hand()
        s.handshake()
        s.call(1)
        page = [{"name": "t%d" % n} for n in range(6000)]
        s.send_server(listing(self.asked(s)["id"], page, nextCursor="x"))
        s.send_server(listing(self.asked(s)["id"], page))
        self.denied(s, 1, "too many")

    def test_tools_that_nobody_listed(self):
        s = self.session(tools=[dw.tool("echo")])
        s.handshake()
        s.call(1, "other")
        self.denied(s, 1, 'no tool "other"')
        s.round_trip(2)

    def test_a_name_twice(self):
        s = self.session(tools=[dw.tool("a"), dw.tool("a", "another"), dw.tool("b")])
        s.handshake()
        s.call(1, "a")
        self.denied(s, 1, "two tools")
        s.round_trip(2, "b")
        seen = self.list_as_client(s, [dw.tool("a"), dw.tool("b"), dw.tool("a", "x")])
        self.assertEqual(names(seen), ["b"])
        seen = self.list_as_client(s, [dw.tool("a"), dw.tool("b")], "m")
        self.assertEqual(names(seen), ["b"])

    def test_definitions_that_have_two_readings(self):
        for n, bad in enumerate(('"d":"\\u0000"', '"d":"\\ud800"', '"d":1,"d":2',
                                 '"inputSchema":{"a":{"b":1,"b":1}}')):
            with self.subTest(bad=bad):
                s = self.by_hand()
                s.handshake()
                s.call(1, "bad")
                text = ('{"jsonrpc":"2.0","id":"%s","result":{"tools":[{"name":"good","n":1.0},'
                        '{"name":"bad",' + bad + '}]}}')
                s.send_server(text % self.asked(s)["id"])
                self.denied(s, 1, 'no tool "bad"')
                s.round_trip(2, "good")
                s.send_client({"jsonrpc": "2.0", "id": "l", "method": "tools/list"})
                s.recv_server()
                s.send_server(text % "l")
                self.assertEqual(s.client_line(), b'{"jsonrpc":"2.0","id":"l","result":{"tools":'
                                                  b'[{"name":"good","n":1.0}]}}')
                s.finish()

    def test_a_list_for_the_client_that_cannot_be_read(self):
        s = self.session()
        s.handshake()
        for text in ('"tools":[],"a":1,"a":2', '"tools":[],"Tools":[]', '"TOOLS":[]',
                     '"tools":[],"nextcursor":"b"'):
            s.send_client({"jsonrpc": "2.0", "id": "l", "method": "tools/list"})
            s.recv_server()
            s.send_server('{"jsonrpc":"2.0","id":"l","result":{%s}}' % text)
            self.assertError(s.recv_client(), "l", 1003)
        # Of no other result is this asked.
        s.send_client({"jsonrpc": "2.0", "id": 5, "method": "prompts/list"})
        s.recv_server()
        s.send_server('{"jsonrpc":"2.0","id":5,"result":{"Tools":[]}}')
        self.assertEqual(s.client_line(), b'{"jsonrpc":"2.0","id":5,"result":{"Tools":[]}}')

    def test_changes_while_listing(self):
        s = self.by_hand()
        s.handshake()
        first = s.call(1)
        request = self.asked(s)
        s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        s.send_server(listing(request["id"], [dw.tool("echo", "old")]))
        second = self.asked(s)
        s.send_server(listing(second["id"], [dw.tool("echo", "new")]))
        s.forwarded(first)
        self.assertEqual(s.recv_client()["method"], "notifications/tools/list_changed")

    def test_changes_that_the_client_is_not_told_of(self):
        s = self.by_hand(policy="version: 1\nmethods: "
                                "{notifications/tools/list_changed: block}\n")
        s.handshake()
        first = s.call(1)
        s.send_server(listing(self.asked(s)["id"], [dw.tool("echo", "old")]))
        s.forwarded(first)
        s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        s.barrier()
        s.call(2)
        s.send_server(listing(self.asked(s)["id"], [dw.tool("echo", "new")]))
        self.denied(s, 2, "changed", rule="pins.on_changed")

    def test_changes_without_end(self):
        s = self.by_hand()
        s.handshake()
        s.call(1)
        for _ in range(5):
            request = self.asked(s)
            s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            s.send_server(listing(request["id"], [dw.tool("echo")]))
            self.assertEqual(s.recv_client()["method"], "notifications/tools/list_changed")
        self.denied(s, 1, "while they are listed")

    def test_nothing_of_it_is_for_the_client(self):
        s = self.by_hand()
        s.handshake()
        first = s.call(1)
        request = self.asked(s)
        for _ in range(2):
            s.send_server(listing(request["id"], [dw.tool("echo")]))
        s.forwarded(first)
        s.send_client({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": request["id"]}})
        s.barrier()


class Held(PinCase):
    def held(self, **kwargs):
        s = self.by_hand(**kwargs)
        s.handshake()
        s.call(1)
        self.request = self.asked(s)
        return s

    def test_cancelled(self):
        s = self.held()
        s.send_client({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": 1}})
        v = s.event("verdict")
        self.assertEqual((v["verdict"], v["id"]), ("deny", 1))
        s.send_server(listing(self.request["id"], [dw.tool("echo")]))
        s.barrier()

    def test_cancelled_behind_the_servers_back(self):
        """That the server is not told keeps nothing from being given up."""
        s = self.held(policy="version: 1\nmethods: {notifications/cancelled: block}\n")
        s.send_client({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": 1}})
        self.assertEqual(s.event("verdict", id=1)["verdict"], "deny")
        s.send_server(listing(self.request["id"], [dw.tool("echo")]))
        s.barrier()

    def test_under_an_id_that_comes_again(self):
        s = self.held()
        s.call(1, "echo", {"a": 2})
        self.assertDenied(s.recv_client(), 1, "held")
        self.assertError(s.recv_client(), 1, -32600)
        s.send_server(listing(self.request["id"], [dw.tool("echo")]))
        s.barrier()

    def test_the_clients_end_of_input(self):
        """What was read before is still judged and forwarded."""
        s = self.held()
        s.close_client_in()
        s.pump_for(0.3)
        s.send_server(listing(self.request["id"], [dw.tool("echo")]))
        self.assertEqual(s.recv_server()["id"], 1)
        s.answer(1)
        self.assertEqual(s.recv_client()["id"], 1)
        self.assertEqual(s.wait(), 0)

    def test_the_clients_death(self):
        s = self.held()
        s.kill_client()
        s.pump(lambda: s.server_in.eof, what="the server's end of input")
        s.wait()
        self.assertEqual(s.event("verdict")["verdict"], "deny")

    def test_the_servers_death(self):
        s = self.held()
        s.order("exit 3", answer=None)
        self.assertDenied(s.recv_client(), 1, "held")
        self.assertEqual(s.wait(), 3)

    def test_a_server_that_ends_while_it_is_asked(self):
        """What was asked ends with it: nothing looks for the answer later."""
        s = self.held()
        s.order("linger")
        s.order("ignore 15")
        s.pump_for(7.5)
        s.order("close", answer=None)
        self.assertDenied(s.recv_client(), 1, "held")
        s.wait(20)
        self.assertNotIn("tools/list in time", s.stderr_text())

    def test_a_signal(self):
        s = self.held()
        os.kill(s.pid, signal.SIGTERM)
        self.assertDenied(s.recv_client(), 1, "held")
        s.wait()
        self.assertFalse(s.server_in.lines)

    def test_much_that_waits(self):
        """Memory stays bounded: the client is not read on."""
        s = self.held()
        for n in range(2, 40):
            s.send_client({"jsonrpc": "2.0", "id": n, "method": "tools/call",
                           "params": {"name": "echo", "arguments": {"x": "y" * 200000}}},
                          wait=False)
        s.pump_for(0.5)
        self.assertTrue(s.client_in.queue)
        s.send_server(listing(self.request["id"], [dw.tool("echo")]))
        self.assertEqual([s.recv_server(30)["id"] for _ in range(1, 40)], list(range(1, 40)))

    def test_too_many_that_wait(self):
        s = self.held()
        for n in range(2, 4098):
            s.send_client({"jsonrpc": "2.0", "id": n, "method": "tools/call",
                           "params": {"name": "echo"}}, wait=False)
        # The monitor's own request is one of them.
        for ident in (4096, 4097):
            self.assertError(json.loads(s.client_line(30)), ident, -32600)
        s.kill_client()


OLD = dw.tool("t", "Read", {"id": {"type": "string"}}, annotations={"destructiveHint": True})
CHANGES = {
    "annotation": {**OLD, "annotations": {"destructiveHint": False}},
    "argument": {**OLD, "inputSchema": {"type": "object", "properties": {
        "id": {"type": "string"}, "callback_url": {"type": "string"}}}},
    "title": {**OLD, "title": "x"}, "output": {**OLD, "outputSchema": {"type": "object"}},
    "icons": {**OLD, "icons": [{"src": "data:x"}]}, "meta": {**OLD, "_meta": {"a": 1}},
    "description": {**OLD, "description": "Read "},
}


class Changed(PinCase):
    def test_within_a_session(self):
        """Each change is refused, hidden, and told with what it is."""
        for name, new in CHANGES.items():
            with self.subTest(change=name):
                s = self.by_hand()
                s.handshake()
                first = s.call(1, "t")
                s.send_server(listing(self.asked(s)["id"], [OLD, dw.tool("u")]))
                s.forwarded(first)
                s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                s.recv_client()
                s.call(2, "t")
                s.send_server(listing(self.asked(s)["id"], [new, dw.tool("u")]))
                self.assertDenied(s.recv_client(), 2, "pins.on_changed", reason="has changed")
                seen = self.list_as_client(s, [new, dw.tool("u")])
                self.assertEqual(names(seen), ["u"])
                self.assertEqual(len(s.events("pin", what="changed")), 1)
                s.round_trip(3, "u")
                s.finish()

    def test_order_spacing_and_escapes_are_no_change(self):
        before = self.pinned([OLD])
        s = self.again(before, None)
        first = s.call(1, "t")
        text = ('{ "jsonrpc":"2.0", "result": {"tools":[ {"annotations":{"destructiveHint": true},'
                '"inputSchema":{"properties":{"id":{"type":"\\u0073tring"}},"type":"object"},'
                '"description":"\\u0052ead", "name":"t"} ]}, "id":"%s"}')
        s.send_server(text % self.asked(s)["id"])
        s.forwarded(first)

    def test_over_sessions(self):
        before = self.pinned([OLD, dw.tool("u")])
        new = CHANGES["argument"]
        s = self.again(before, [new, dw.tool("u"), dw.tool("v")])
        seen = self.list_as_client(s, [new, dw.tool("u"), dw.tool("v")])
        self.assertEqual(names(seen), ["u"], "hidden before any call")
        s.call(1, "t")
        text = self.assertDenied(s.recv_client(), 1, "pins.on_changed")
        # Not a word of the server's for the model, all of it for the person.
        self.assertIn("(inputSchema)", text)
        self.assertNotIn("callback_url", text)
        self.assertIn("callback_url", s.event("pin", what="changed")["detail"])
        self.assertIn("doorward pins diff pinned", text)
        self.assertIn("2 of the server's tools are new or changed", s.stderr_text())
        s.call(2, "v")
        self.assertDenied(s.recv_client(), 2, "pins.on_new")
        s.round_trip(3, "u")

    def test_a_rename(self):
        before = self.pinned([OLD])
        s = self.again(before, [{**OLD, "name": "t2"}])
        s.call(1, "t2")
        self.assertDenied(s.recv_client(), 1, "pins.on_new")
        s.call(2, "t")
        self.assertDenied(s.recv_client(), 2, "tools/list")

    def test_asking(self):
        policy = "version: 1\npins: {on_new: ask, on_changed: ask, hide: false}\n"
        before = self.pinned([OLD])
        new = CHANGES["annotation"]
        s = self.again(before, [new, dw.tool("v")], policy=policy)
        seen = self.list_as_client(s, [new, dw.tool("v")])
        self.assertEqual(names(seen), ["t", "v"])
        for n, (tool, rule) in enumerate((("t", "pins.on_changed"), ("v", "pins.on_new"))):
            s.call(n, tool)
            self.assertDenied(s.recv_client(), n, rule)
            self.assertEqual(s.event("verdict", tool=tool, verdict="ask")["contract"], "pin")
            self.assertEqual(s.event("decision", id=n)["why"], "no_channel")

    def test_observing(self):
        before = self.pinned([OLD])
        new = CHANGES["annotation"]
        s = self.again(before, [new], policy="version: 1\nmode: observe\n")
        seen = self.list_as_client(s, [new])
        self.assertEqual(names(seen), ["t"])
        s.round_trip(1, "t")
        v = s.event("verdict", contract="pin")
        self.assertEqual((v["verdict"], v["would"]), ("allow", "deny"))

    def test_observing_what_cannot_be_listed(self):
        """A list that was not to be had is no first sight of anything."""
        s = self.by_hand(policy="version: 1\nmode: observe\n")
        s.handshake()
        first = s.call(1, "t")
        s.send_server({"jsonrpc": "2.0", "id": self.asked(s)["id"],
                       "error": {"code": -32601, "message": "not yet"}})
        s.forwarded(first)
        self.assertEqual(s.event("verdict")["would"], "deny")
        s.answer(1)
        s.recv_client()
        self.assertEqual(s.finish(), 0)
        self.again(s, [OLD]).round_trip(2, "t")

    def test_before_the_first_forwarded_call(self):
        """First sight lasts until then."""
        s = self.by_hand(policy="version: 1\nrules: [{id: no, tool: u, action: block}]\n")
        s.handshake()
        s.call(1, "u")
        s.send_server(listing(self.asked(s)["id"], [OLD, dw.tool("u")]))
        self.assertDenied(s.recv_client(), 1, "no")
        for _ in range(4):
            s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            s.recv_client()
        first = s.call(2, "t")
        s.send_server(listing(self.asked(s)["id"], [CHANGES["title"], dw.tool("u")]))
        s.forwarded(first)

    def test_what_is_hidden_leaves_the_rest_as_it_was(self):
        before = self.pinned([OLD, dw.tool("u")])
        s = self.again(before, [OLD])
        s.send_client({"jsonrpc": "2.0", "id": 9007199254740993, "method": "tools/list"})
        s.recv_server()
        u = dw.dumps(dw.tool("u"))
        s.send_server('{"result":{"z":1.0,"nextCursor":"\\u00e9","tools":[%s,{"name":"w"},%s],'
                      '"_meta":{"n":12345678901234567890.10}},"id":9007199254740993,'
                      '"jsonrpc":"2.0"}' % (u, dw.dumps(OLD)))
        want = ('{"result":{"z":1.0,"nextCursor":"\u00e9","tools":[%s,%s],'
                '"_meta":{"n":12345678901234567890.10}},"id":9007199254740993,'
                '"jsonrpc":"2.0"}' % (u, dw.dumps(OLD)))
        self.assertEqual(dw.exact(s.client_line()), dw.exact(want))

    def test_nothing_hidden_passes_byte_for_byte(self):
        s = self.session()
        s.handshake()
        s.send_client({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        s.recv_server()
        line = b'{ "id" : 1,"jsonrpc":"2.0","result":{"tools":[ {"name":"\\u0061"} ]}}'
        s.send_server(line + b"\n")
        self.assertEqual(s.client_line(), line)

    def test_blocked_tools_are_hidden(self):
        rules = "rules: [{id: no, tool: 'del_*', action: block}]\n"
        tools = [dw.tool("del_a"), dw.tool("echo")]
        for policy, want in (
                ("version: 1\n" + rules, ["echo"]),
                ("version: 1\npins: {hide: false}\n" + rules, ["del_a", "echo"]),
                ("version: 1\npacks: none\ndefault_action: block\nrules: "
                 "[{id: y, tool: echo, action: allow}]\n", ["echo"]),
                ("version: 1\nmode: observe\n" + rules, ["del_a", "echo"]),
                ("default_action: allow\nrules: [{id: no, tool: del_a, action: block}]\n",
                 ["echo"])):
            with self.subTest(policy=policy):
                s = self.session(policy=policy, tools=tools)
                s.handshake()
                self.assertEqual(names(self.list_as_client(s, tools)), want)
                s.finish()

    def test_capabilities_have_sets_of_their_own(self):
        s = self.session(tools=[OLD])
        s.handshake(capabilities={})
        s.round_trip(1, "t")
        s.finish()
        more = [OLD, dw.tool("roots")]
        t = self.session(tools=more, state=s.state)
        t.handshake(capabilities={"roots": {}})
        t.round_trip(1, "roots")
        t.finish()
        u = self.session(tools=more, state=s.state)
        u.handshake(capabilities={})
        u.call(1, "roots")
        self.assertDenied(u.recv_client(), 1, "pins.on_new")
        u.finish()
        # A new set does not open the door for another definition.
        v = self.session(tools=[CHANGES["title"]], state=s.state)
        v.handshake(capabilities={"sampling": {}})
        v.call(1, "t")
        self.assertDenied(v.recv_client(), 1, "pins.on_changed")

    def test_too_many_capabilities(self):
        s = self.session()
        for n in range(33):
            s.call(n, _meta={**dw.MODERN,
                             "io.modelcontextprotocol/clientCapabilities": {"x%d" % n: {}}})
            if n < 32:
                self.assertEqual(s.recv_server()["id"], n)
        self.assertDenied(s.recv_client(), 32, "tools/list", modern=True)

    def test_too_much_meta(self):
        """Every page of the monitor's own listing would repeat it."""
        s = self.session()
        s.call(1, _meta={**dw.MODERN, "x": "y" * 65536})
        self.assertDenied(s.recv_client(), 1, "tools/list", modern=True)
        s.round_trip(2, _meta={**dw.MODERN, "x": "y" * 60000})

    def test_two_first_sights(self):
        """Of two sessions that start together one pins, the other is held to it."""
        a = self.by_hand()
        b = self.by_hand(state=a.state)
        for s in (a, b):
            s.handshake()
            s.call(1, "t")
        ask_a, ask_b = self.asked(a), self.asked(b)
        a.send_server(listing(ask_a["id"], [OLD]))
        self.assertEqual(a.recv_server()["id"], 1)
        b.send_server(listing(ask_b["id"], [CHANGES["title"]]))
        self.assertDenied(b.recv_client(), 1, "pins.on_changed")

    def test_suspicious_definitions_are_told_of(self):
        s = self.session(tools=[dw.tool("t", "Send\x1b[8m always"), dw.tool("u\u202e")])
        s.handshake()
        seen = self.list_as_client(s, [dw.tool("t", "Send\x1b[8m always")])
        self.assertEqual(seen["result"]["tools"][0]["description"], "Send\x1b[8m always")
        s.round_trip(1, "t")
        hits = s.events("pin", 2, what="suspicious")
        self.assertEqual({h["tool"] for h in hits}, {"t", "u\u202e"})
        self.assertIn("U+001B", [h for h in hits if h["tool"] == "t"][0]["detail"])


class Facts(PinCase):
    def greet(self, s, instructions, version="3.4"):
        s.send_client({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}}})
        s.recv_server()
        result = {"protocolVersion": "2025-11-25", "capabilities": {},
                  "serverInfo": {"name": "puppet", "version": version}}
        if instructions is not None:
            result["instructions"] = instructions
        s.send_server({"jsonrpc": "2.0", "id": "init", "result": result})
        got = s.recv_client()
        s.send_client({"jsonrpc": "2.0", "method": "notifications/initialized"})
        s.recv_server()
        return got["result"]

    def first(self, instructions="Be good."):
        s = self.session(tools=[OLD])
        self.assertEqual(self.greet(s, instructions).get("instructions"), instructions)
        s.round_trip(1, "t")
        s.finish()
        return s

    def test_changed_instructions_are_withheld(self):
        before = self.first()
        s = self.session(tools=[OLD], state=before.state)
        got = self.greet(s, "Be bad.")
        self.assertNotIn("instructions", got)
        self.assertEqual(got["serverInfo"], {"name": "puppet", "version": "3.4"})
        s.event("pin", what="instructions")
        s.round_trip(1, "t")
        s.finish()
        t = self.session(tools=[OLD], state=before.state)
        self.assertEqual(self.greet(t, "Be good.")["instructions"], "Be good.")

    def test_unreadable_introductions(self):
        """Some clients ignore case: what they read is not what was pinned."""
        s = self.session()
        for n, text in enumerate(('"serverInfo":{},"instructions":"a","instructions":"b"',
                                  '"serverInfo":{},"Instructions":"b"',
                                  '"instruction\u017f":"b"')):
            s.send_client({"jsonrpc": "2.0", "id": n, "method": "initialize", "params": {}})
            s.recv_server()
            s.send_server('{"jsonrpc":"2.0","id":%d,"result":{%s}}' % (n, text))
            self.assertError(s.recv_client(), n, 1003)

    def test_another_version_is_noted(self):
        before = self.first()
        s = self.session(tools=[OLD], state=before.state)
        self.greet(s, "Be good.", "3.5")
        s.round_trip(1, "t")
        self.assertEqual(s.event("pin", what="version")["detail"], "3.5")

    def test_another_command(self):
        before = self.first()
        s = self.session(tools=[OLD], state=before.state, server_args=["--more"])
        self.greet(s, "Be good.")
        s.call(1, "t")
        self.assertDenied(s.recv_client(), 1, "pins.on_changed", reason="command")
        s.event("pin", what="command")


class Store(PinCase):
    def files(self, s):
        return glob.glob(os.path.join(s.state, "pins", "*.pins"))

    def test_damaged(self):
        before = self.pinned([OLD])
        path, = self.files(before)
        with open(path, "r+") as f:
            text = f.read()
            f.seek(0)
            f.truncate(len(text) - 5)
        s = self.again(before, [OLD])
        seen = self.list_as_client(s, [OLD])
        self.assertEqual(names(seen), [])
        s.call(1, "t")
        self.assertDenied(s.recv_client(), 1, "pins")
        self.assertIn("pins cannot be read", s.stderr_text())

    def test_nothing_forwarded_before_it_is_written(self):
        s = self.session(tools=[OLD])
        os.rmdir(os.path.join(s.state, "pins")) if not self.files(s) else None
        s.handshake()
        s.call(1, "t")
        self.assertDenied(s.recv_client(), 1, "pins", reason="cannot be written")

    def test_a_lock_that_somebody_holds(self):
        s = self.session(tools=[OLD])
        s.handshake()
        fd = os.open(os.path.join(s.state, "pins", ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(fd, 37, lock)       # F_OFD_SETLK
        first = s.call(1, "t")
        s.expect_silence(0.5)
        s.barrier()                     # nothing else waits
        os.close(fd)
        s.forwarded(first)

    def test_a_change_while_somebody_holds_the_lock(self):
        s = self.by_hand()
        s.handshake()
        fd = os.open(os.path.join(s.state, "pins", ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        s.call(1, "t")
        s.send_server(listing(self.asked(s)["id"], [OLD]))
        s.barrier()
        s.send_server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        s.recv_client()
        s.send_server(listing(self.asked(s)["id"], [dw.tool("u")]))
        self.assertDenied(s.recv_client(), 1, "tools/list")
        os.close(fd)

    def test_a_lock_that_is_never_given_up(self):
        s = self.session(tools=[OLD])
        s.handshake()
        fd = os.open(os.path.join(s.state, "pins", ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        s.call(1, "t")
        self.assertDenied(s.recv_client(), 1, "pins", reason="lock")
        os.close(fd)
        s.round_trip(2, "t")

    def test_accepted_in_a_stream(self):
        """In 2026-07-28 only a stream that asked for it is told, by its id."""
        before = self.pinned([OLD])
        new = CHANGES["argument"]
        s = self.session(tools=[new], state=before.state)
        for ident, wants in (("deaf", False), ("all ears", True), (7, True)):
            s.send_client({"jsonrpc": "2.0", "id": ident, "method": "subscriptions/listen",
                           "params": {"notifications": {"toolsListChanged": wants},
                                      "_meta": dw.MODERN}})
            self.assertEqual(s.recv_server()["id"], ident)
        # The server's own word in a stream makes the monitor look again.
        told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}}}
        for n in (1, 2):
            s.call(n, "t", _meta=dw.MODERN)
            self.assertDenied(s.recv_client(), n, "pins.on_changed", modern=True)
            self.assertEqual(s.listings, n)
            s.send_server(told)
            self.assertEqual(s.recv_client(), told)
        status, text = dw.on_terminal(
            [dw.program(), "pins", "accept", "--state", s.state, "pinned"], "y\n")
        self.assertEqual(status, 0, text)
        ids = []
        for _ in range(2):
            message = s.recv_client()
            self.assertEqual(message["method"], "notifications/tools/list_changed")
            ids.append(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"])
        self.assertEqual(ids, ["all ears", 7])
        s.round_trip(3, "t", _meta=dw.MODERN)

    def test_accepted_by_a_person(self):
        """The session hears of it, and tells the client."""
        before = self.pinned([OLD])
        new = CHANGES["argument"]
        s = self.again(before, [new])
        s.call(1, "t")
        self.assertDenied(s.recv_client(), 1, "pins.on_changed")
        status, text = dw.on_terminal(
            [dw.program(), "pins", "accept", "--state", s.state, "pinned"], "y\n")
        self.assertEqual(status, 0, text)
        self.assertIn("callback_url", text)
        self.assertEqual(s.recv_client()["method"], "notifications/tools/list_changed")
        s.round_trip(2, "t")
        self.assertEqual(names(self.list_as_client(s, [new])), ["t"])
