"""A fallen relay under `doorward packs verify`: it can be a hostile server, and
everything else ends the probe with a sentence and nothing left running.
"""
import glob
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dw
import frames as f
from arena import environment, testing

RESULT = f.RESULT
LINE = b'{"id":1}'


def memory_tools():
    path = glob.glob(os.path.join(dw.ROOT, "tests", "data", "tools", "*memory*"))[0]
    with open(path, encoding="utf-8") as file:
        return json.load(file)["tools"]


def result(call, ident, value, line=LINE, **more):
    """The whole of an answer: its tree, its envelope, its line."""
    more.setdefault("flags", RESULT)
    return f.tools_frames(call, {"jsonrpc": "2.0", "id": ident, "result": value}) + \
        f.said(call, f.KIND_RESULT, line, ident, **more)


HELLO = f.hello()
INIT = result(1, 1, {"serverInfo": {"name": "n", "version": "v"}})
LIST = result(2, 2, {"tools": memory_tools()})


class Probe(dw.TestCase):
    def probe(self, data, end=f.order("X", 0)):
        with tempfile.TemporaryDirectory(prefix="dw-probe-") as directory:
            orders = os.path.join(directory, "orders")
            with open(orders, "wb") as file:
                file.write(f.write(data) + end)
            done = dw.run("packs", "verify", "memory", "--", "cat",
                          env=environment("server", orders), binary=testing("doorward"),
                          timeout=30)
        self.assertEqual(dw.gone(dw.adopted()), [])
        return done

    def breaks(self, data, pattern):
        status, out, err = self.probe(data)
        self.assertEqual((status, out), (1, ""), err)
        self.assertRegex(err, r"\Adoorward: %s\n\Z" % pattern)

    def test_a_lie_is_a_hostile_servers(self):
        """What is well formed is taken, so that the cases below fail for what
        they say."""
        status, out, err = self.probe(HELLO + INIT + LIST)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, "n v: 9 tools; pack memory: 9 tools\nno difference\n")

    def test_not_confined(self):
        for layers in (0, f.SECCOMP, f.NO_NEW_PRIVS):
            self.breaks(f.hello(layers=layers), "the relay is not confined")

    def test_table(self):
        """No frame where the monitor's table has none."""
        for data in (f.eoi(), INIT, HELLO + HELLO, HELLO + f.frame(f.LINE_PART, 1, b"x"),
                     HELLO + f.message(1, {"a": 1}), HELLO + INIT[:-8 - f.HEADER] + f.note(),
                     HELLO + f.frame(99), HELLO + f.frame(f.NOTE, 0, b"x" * 513),
                     HELLO + f.frame(f.RESULT_PART, 1, b"{"),
                     HELLO + f.frame(f.NOTE, 0, b"x", reserved=1),
                     HELLO + f.frame(f.NOTE, 0, length=f.BODY_MAX + 1)):
            self.breaks(data, "the relay broke its protocol: .+ in state [a-z]+")

    def test_call_numbers(self):
        for data in (result(2, 1, {}), INIT + result(1, 2, {"tools": []}),
                     INIT + result(3, 2, {"tools": []}), result(0, 1, {})):
            self.breaks(HELLO + data, "the relay broke its protocol: a wrong call number "
                        "in state idle")

    def test_trees(self):
        for tree in (b"", b"{", b"[.", b"{.x", f.tree({"a": f.Raw(f.text(b'"', b"\0"))}),
                     f.tree({"a": f.Raw(f.text(b'"', b"\xff"))}),
                     f.tree({"a": f.Num("007")}), f.tree(f.Pairs([("a", 1), ("a", 2)])),
                     f.tree(1), b"{" + f.text(b":", b"a") + b"[" * 200):
            self.breaks(HELLO + f.frame(f.RESULT_END, 1, tree),
                        "the relay broke its protocol: .+ in state [a-z]+")

    def test_envelopes(self):
        tree = f.tools_frames(1, {"id": 1, "result": {}})
        for data in (tree + f.envelope(1, f.KIND_RESULT, 1, 1),
                     f.envelope(1, f.KIND_RESULT, 1, 1, flags=RESULT),
                     f.envelope(1, 9, 1, 1), f.envelope(1, f.KIND_RESULT, 0, 1),
                     f.frame(f.ENVELOPE, 1, b"\1" * 20)):
            self.breaks(HELLO + data, "the relay broke its protocol: .+ in state [a-z]+")

    def test_lines(self):
        begun = f.envelope(1, f.KIND_NOTIFICATION, 5, method=b"x")
        for parts in (b"123456", b"12"):
            self.breaks(HELLO + begun + f.frame(f.LINE_PART, 1, parts),
                        "the relay broke its protocol: a part of another length .+")

    def test_silence_and_death(self):
        for data in (b"", HELLO, HELLO + INIT, HELLO[:7], HELLO + INIT[:50]):
            self.breaks(data, "the relay ended without a word")
        status, out, err = self.probe(HELLO, f.order("K", 9))
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "doorward: the relay ended without a word\n")

    def test_end_of_input(self):
        self.breaks(HELLO + f.eoi(), "the server ended before it answered initialize")
        self.breaks(HELLO + INIT + f.eoi(), "the server ended before it answered tools/list")

    def test_answers_to_nobody(self):
        """Other ids are nothing to us, whatever they hold."""
        strange = result(1, 2, {"tools": []}) + result(2, "1", {}) + \
            f.said(3, f.KIND_ERROR, LINE, 7) + f.refuse(4, "not_json", 9)
        status, out, err = self.probe(
            HELLO + f.note() + strange + result(5, 1, {}) + result(6, 2, {"tools": []}))
        self.assertEqual((status, err), (1, ""))
        self.assertIn(" : 0 tools; pack memory: 9 tools\n", out)

    def test_a_descriptor_is_not_taken(self):
        """It is closed with the message, and nothing hangs on it."""
        with tempfile.TemporaryDirectory(prefix="dw-probe-") as directory:
            orders = os.path.join(directory, "orders")
            with open(orders, "wb") as file:
                file.write(f.order("F", 3, HELLO + INIT + LIST) + f.order("X"))
            status, out, err = dw.run(
                "packs", "verify", "memory", "--", "cat", binary=testing("doorward"),
                env=environment("server", orders), timeout=30)
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.endswith("\nno difference\n"))
