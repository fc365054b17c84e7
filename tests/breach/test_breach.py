"""A relay under an attacker's full control (promise P3) and the frame table.

Here: every state x frame x length against a table of our own, every kind of
malformed content, truncation, death and silence.  test_forged.py has what a
fallen relay can say that is well formed.
"""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dw
import frames as f
from arena import (OPEN, OPEN_BYTES, OPEN_LINES, Arena, breach, fine, listing_first,
                   open_answered)

# ---- what design.md section 3 and frames.h allow, and nothing else ----

REFUSE_MOST = 15 + f.ID_MAX + f.SAMPLE_MAX
ENVELOPE_MOST = 16 + 2 * f.ID_MAX + f.METHOD_MAX + f.VERSION_MAX
START = {f.HELLO: (8, 8), f.NOTE: (1, f.NOTE_MAX)}
PART = (f.PART, f.PART)         # a part that is not the last is full
LAST = (1, f.PART)
CELLS = {
    ("client", "start"): START,
    ("client", "idle"): {f.NOTE: (1, f.NOTE_MAX), f.EOI: (0, 0), f.TREE_PART: PART,
                         f.TREE_END: LAST, f.REFUSE: (15, REFUSE_MOST)},
    ("client", "tree"): {f.TREE_PART: PART, f.TREE_END: LAST},
    ("client", "ended"): {},
    ("server", "start"): START,
    ("server", "idle"): {f.NOTE: (1, f.NOTE_MAX), f.EOI: (0, 0),
                         f.REFUSE: (15, REFUSE_MOST), f.ENVELOPE: (16, ENVELOPE_MOST),
                         f.RESULT_PART: PART, f.RESULT_END: LAST},
    ("server", "result"): {f.RESULT_PART: PART, f.RESULT_END: LAST},
    ("server", "told"): {f.ENVELOPE: (16, ENVELOPE_MOST)},
    ("server", "line"): {f.LINE_PART: LAST},
    ("server", "ended"): {},
}
CONTENT = r"no acceptable message|malformed|of another length"

TYPES = list(range(f.TYPE_MAX + 2)) + [0x00ff, 0x0100 | f.HELLO, 0xffff]
NOT_OPEN = 99       # an id that nobody asked under
NEXT = {"client": 3, "server": 2}   # the call number after opening()


def padded_tree(n, tools=False):
    """A valid tree of exactly n bytes, or None."""
    def make(pad):
        if tools:
            return f.tree({"jsonrpc": "2.0", "id": NOT_OPEN,
                           "result": {"tools": [{"name": "x" * pad}]}})
        return f.tree({"jsonrpc": "2.0", "method": "notifications/x",
                       "params": {"pad": "x" * pad}})
    least = len(make(0))
    return make(n - least) if n >= least else None


def tail_of_tools(call):
    return f.said(call, f.KIND_RESULT, b"{}", NOT_OPEN, flags=f.RESULT)


class Step:
    """How to bring a relay into a state, then one frame, and how an honest
    relay would go on after it."""

    def __init__(self, side, state, kind, n):
        self.side, self.state, self.kind, self.n = side, state, kind, n
        self.call = 1 if state == "start" else NEXT[side]
        self.bring = self.rest = b""
        self.body = None        # a valid body, if there is one
        self.frame_call = 0 if kind in (f.HELLO, f.NOTE, f.EOI) else self.call
        low, high = CELLS[side, state].get(kind, (0, -1))
        self.allowed = low <= n <= high
        getattr(self, "at_" + state)()

    def at_start(self):
        if self.kind == f.HELLO and self.allowed:
            self.body = f.hello()[f.HEADER:]
        elif self.kind == f.NOTE and self.allowed:
            self.body = b"n" * self.n
            self.rest = f.hello()

    def at_idle(self):
        if not self.allowed:
            return
        if self.kind == f.NOTE:
            self.body = b"n" * self.n
        elif self.kind == f.EOI:
            self.body = b""
        elif self.kind == f.REFUSE:
            extra = self.n - 15
            sample = b"s" * max(0, extra - f.ID_MAX)
            ident = b"i" * (extra - len(sample))
            self.body = f.refuse_body("not_json", ident or None, 3, sample)
        elif self.kind in (f.TREE_PART, f.RESULT_PART):
            self.split(self.n + 10)
        elif self.kind in (f.TREE_END, f.RESULT_END):
            self.body = padded_tree(self.n, self.kind == f.RESULT_END)
            self.rest = tail_of_tools(self.call) if self.kind == f.RESULT_END else b""
        elif self.kind == f.ENVELOPE:
            self.envelope()

    def split(self, total):
        tools = self.kind in (f.RESULT_PART, f.RESULT_END)
        whole = padded_tree(total, tools)
        if whole is None:
            return
        self.body = whole[:self.n]
        self.rest = f.frame(f.RESULT_END if tools else f.TREE_END, self.call, whole[self.n:])
        if tools:
            self.rest += tail_of_tools(self.call)

    def envelope(self, flags=0):
        free = self.n - 16
        sizes = []
        for most in (f.ID_MAX, f.ID_MAX, f.METHOD_MAX, f.VERSION_MAX):
            sizes.append(min(most, max(0, free)))
            free -= sizes[-1]
        ident, token, method, version = (b"a" * k or None for k in sizes)
        kind = f.KIND_NOTIFICATION if ident is None else f.KIND_REQUEST
        if flags:
            if ident is None or method is not None:
                return
            kind = f.KIND_RESULT
        self.body = f.envelope_body(kind, 2, ident, method or b"", token, version or b"", flags)
        self.rest = f.frame(f.LINE_PART, self.call, b"{}")

    def at_tree(self):
        tools = self.side == "server"
        kinds = (f.RESULT_PART, f.RESULT_END) if tools else (f.TREE_PART, f.TREE_END)
        last = self.n if self.kind == kinds[1] and self.allowed else f.PART + 1
        whole = padded_tree(f.PART + max(1, last), tools)
        self.bring = f.frame(kinds[0], self.call, whole[:f.PART])
        tail = tail_of_tools(self.call) if tools else b""
        if not self.allowed:
            return
        if self.kind == kinds[0]:
            self.body = whole[f.PART:f.PART + self.n]
            self.rest = f.frame(kinds[1], self.call, whole[f.PART + self.n:]) + tail
        elif self.kind == kinds[1]:
            self.body = whole[f.PART:]
            self.rest = tail

    at_result = at_tree

    def at_told(self):
        self.bring = f.frame(f.RESULT_END, self.call, padded_tree(200, True))
        if self.allowed:
            self.envelope(f.RESULT)

    def at_line(self):
        n = self.n if self.allowed else 10
        self.bring = f.envelope(self.call, f.KIND_RESULT, n, NOT_OPEN)
        if self.allowed:
            self.body = b"x" * self.n

    def at_ended(self):
        self.bring = f.eoi()

    def expected(self):
        """None if an honest relay could do this, else the breach's words."""
        if not 0 < self.kind < f.TYPE_MAX or self.n > f.BODY_MAX:
            return "^no frame header in state %s$" % self.state
        if self.kind not in CELLS[self.side, self.state]:
            return "^%s in state %s$" % (f.NAMES[self.kind], self.state)
        if not self.allowed:
            return "^%s of %d bytes$" % (f.NAMES[self.kind], self.n)
        return None if self.body is not None and len(self.body) == self.n else CONTENT

    def frames(self):
        """A bad length is told by the header alone, before any body."""
        want = self.expected()
        if want is None or want == CONTENT:
            body = self.body if want is None else b"?" * self.n
            return self.bring + f.frame(self.kind, self.frame_call, body)
        return self.bring + f.header(self.n, self.kind, self.frame_call)

    def finish(self):
        """How an honest relay would end from here."""
        return self.rest + (b"" if self.kind == f.EOI else f.eoi())


def lengths(side, state, kind):
    cell = CELLS[side, state].get(kind)
    if cell is None:
        return (0, 8, f.BODY_MAX, f.BODY_MAX + 1) if kind < f.TYPE_MAX else (0, 8)
    low, high = cell
    return sorted({max(0, low - 1), low, high, high + 1, 0, f.BODY_MAX, f.BODY_MAX + 1,
                   0xffffffff})


def opening(side, state):
    """Two requests are open when the misbehaviour begins."""
    if state == "start":
        return f.order("P", 0)
    if side == "client":
        return f.write(f.hello() + f.message(1, OPEN[0]) + f.message(2, OPEN[1])) + \
            f.order("U", OPEN_BYTES)
    return f.write(f.hello()) + listing_first()


def case(side, name, orders, state="idle"):
    return {"side": side, "name": name, "orders": opening(side, state) + orders,
            "lines": b"".join(OPEN_LINES) if side == "server" else b""}


class Table(dw.TestCase):
    """Every state x frame x length."""

    def every_cell(self, side):
        cases = []
        for (s, state) in CELLS:
            if s != side:
                continue
            for kind in TYPES:
                for n in lengths(side, state, kind):
                    step = Step(side, state, kind, n)
                    orders = f.write(step.frames())
                    if step.expected() is None:
                        orders += f.write(step.finish()) + f.order("C")
                    cases.append((step, case(side, "%s, %s, type %d, %d bytes" % (
                        side, state, kind, n), orders, state)))
        permitted = 0
        for step, out in Arena(self).play_all(cases):
            want = step.expected()
            with self.subTest(out.name):
                if want is None:
                    fine(self, out)
                    permitted += 1
                else:
                    breach(self, out, side, None if want == CONTENT else step.state, want)
                if step.state == "start" and want is not None:
                    self.assertEqual(out.server, b"", out)
                elif step.state == "start":
                    pass    # an end that may come before the calls are read
                elif side == "server" or want is not None:
                    open_answered(self, out)
        self.assertGreater(permitted, 10)

    def test_client(self):
        self.every_cell("client")

    def test_reserved_field(self):
        cases = [((s, k), case(s, "%s, reserved %d" % (s, k), f.write(
            f.frame(f.NOTE, 0, b"x", reserved=k)))) for s in ("client", "server")
            for k in (1, 0x100, 0xffff)]
        for (side, _), out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, "idle", "^no frame header")


class ServerTable(Table):
    test_client = test_reserved_field = None

    def test_server(self):
        self.every_cell("server")


# ---- malformed content ----

CALL = [("jsonrpc", "2.0"), ("id", 3), ("method", "tools/call"),
        ("params", {"name": "echo", "arguments": {"a": 1}})]


def without(*keys):
    return [p for p in CALL if p[0] not in keys]


def with_params(*pairs):
    return f.Pairs(without("params") + [("params", f.Pairs(pairs))])


def with_argument(value):
    return with_params(("name", "echo"), ("arguments", {"a": value}))


def nested(depth):
    """A call whose deepest container is at this depth (the root is 1)."""
    return with_argument(f.Raw(b"[" * (depth - 3) + b"." * (depth - 3)))


def bad_trees():
    good = f.tree(f.Pairs(CALL))
    raw = {"empty object": b"{.", "only a begin": b"{", "only an end": b".",
           "two roots": good + good, "a byte after the root": good + b".",
           "no end": good[:-1], "root array": b"[" + good + b".", "root null": b"n",
           "root string": f.text(b'"', "x"), "root number": f.text(b"0", "1"),
           "root key": f.text(b":", "x") + b"n",
           "value without key": b"{n.", "key without value": b"{" + f.text(b":", "a") + b".",
           "two keys": b"{" + f.text(b":", "a") + f.text(b":", "b") + b"n.",
           "key without value, then an end": good[:-1] + f.text(b":", "z") + b".",
           "text cut short": good[:-3], "head cut short": b"{:\1\0"}
    for tag in b"\0x]}N\xff 1":
        raw["tag %d" % tag] = good[:-1] + f.text(b":", "z") + bytes([tag]) + b"."
    for n in (4, 0x7fffffff, 0xffffffff, 0xfffffffb):
        raw["length %x" % n] = b"{:" + n.to_bytes(4, "little") + b"abc"
    out = {name: f.Raw(data) for name, data in raw.items()}
    out["key in an array"] = with_argument(f.Raw(b"[" + f.text(b":", "a") + b"n."))
    out["depth 129"] = nested(129)
    for lit in ("", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity",
                " 1", "1 ", "1\n", "1}", '1,"x":2', '1,"method":"tools/call"', "1\x002", "1_0",
                "٣", "--1", "1e5.5", "true"):
        out["number %r" % lit] = with_argument(f.Num(lit))
    for bad in (b"\xff", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xed\xa0\x80",
                b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"ab\xe2\x82", b"\x80", b"a\0b"):
        out["string %r" % bad] = with_argument(bad)
        out["key %r" % bad] = with_argument(f.Pairs([(bad, 1)]))
    out["key twice"] = f.Pairs(CALL + [("id", 4)])
    out["key twice, deep"] = with_argument(f.Pairs([("a", 1), ("b", 2), ("a", 3)]))
    out["key twice in many"] = with_argument(f.Pairs(
        [("k%d" % i, i) for i in range(40)] + [("k17", 0)]))
    out["name twice"] = with_params(("name", "echo"), ("name", "delete_all"))
    return out


def bad_messages():
    """Well-formed trees that an honest relay refuses."""
    out = {}
    for key, value in CALL:
        for variant in (key.upper(), key.capitalize(), key.replace("s", "\u017f")):
            if variant != key:
                out["key %s" % variant] = f.Pairs(without(key) + [(variant, value)])
                out["key %s besides" % variant] = f.Pairs(CALL + [(variant, value)])
    for key in ("Result", "ERROR", "re\u017fult"):
        out["key %s" % key] = f.Pairs(CALL + [(key, {})])
    for key in ("Name", "ARGUMENTS", "argument\u017f", "URI", "Cursor", "ta\u017fk",
                "ta\u017f\u212a", "tas\u212a", "InputResponses", "requeststate", "_Meta"):
        out["params key %s" % key] = with_params(
            ("name", "echo"), ("arguments", {}), (key, {}))
    for value in (None, True, False, [], {}, f.Num("1.5"), f.Num("1.0"), f.Num("1e2"),
                  "x" * 1025, f.Num("1" * 1025)):
        out["id %.30r" % (value,)] = f.Pairs(without("id") + [("id", value)])
    for value in (None, 2, "1.0", "2", "2.00", ["2.0"], f.Num("2.0")):
        out["jsonrpc %r" % (value,)] = f.Pairs(without("jsonrpc") + [("jsonrpc", value)])
    out["no jsonrpc"] = f.Pairs(without("jsonrpc"))
    for value in (None, 1, [], {}, "x" * 1025):
        out["method %.30r" % (value,)] = f.Pairs(without("method") + [("method", value)])
    for value in (None, [], "x", 1, True):
        out["params %r" % (value,)] = f.Pairs(without("params") + [("params", value)])
    out["tools/call without id"] = f.Pairs(without("id"))
    out["method and result"] = f.Pairs(CALL + [("result", {})])
    out["method and error"] = f.Pairs(CALL + [("error", {})])
    out["result and error"] = {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}
    out["method and null result"] = f.Pairs(CALL + [("result", None)])
    out["none of the three"] = {"jsonrpc": "2.0", "id": 1}
    out["result without id"] = {"jsonrpc": "2.0", "result": {}}
    return out


BAD_REFUSALS = {
    "reason 0": f.refuse_body(0), "reason 28": f.refuse_body(28),
    "reason 65535": f.refuse_body(65535),
    "sample of 81": f.refuse_body("not_json", None, 0, b"x" * 81),
    "an id of type 3": b"\1\0" + bytes(8) + b"\3\1\0x\0\0",
    "no id, with text": b"\1\0" + bytes(8) + b"\0\1\0x\0\0",
    "id 1.5": f.refuse_body("not_json", f.Num("1.5")),
    "id 01": f.refuse_body("not_json", f.Num("01")),
    "an empty number": f.refuse_body("not_json", f.Num("")),
    "id with a NUL": f.refuse_body("not_json", b"a\0b"),
    "id of bad UTF-8": f.refuse_body("not_json", b"\xff"),
    "id of 1,025": f.refuse_body("not_json", b"x" * 1025),
    "a byte too many": f.refuse_body("not_json") + b"x",
    "id beyond the end": b"\1\0" + bytes(8) + b"\2\xff\xff\0\0",
    "sample beyond the end": b"\1\0" + bytes(8) + b"\0\0\0\5\0",
    **{"reason %s" % r: f.refuse_body(r, 5) for r in f.MONITORS},
}


class Content(dw.TestCase):
    """Frames of allowed lengths with something wrong inside."""

    def test_trees(self):
        cases = []
        for name, value in {**bad_trees(), **bad_messages()}.items():
            cases.append(("no acceptable message", case("client", name, f.write(
                f.message(3, value)))))
        for name, body in BAD_REFUSALS.items():
            cases.append(("malformed REFUSE", case("client", name, f.write(
                f.frame(f.REFUSE, 3, body)))))
        for want, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, "client", None, want)
                open_answered(self, out)
                self.assertNotIn(b'"id":3', out.server, out)

    def test_what_is_just_good_enough(self):
        """The controls: what the cases above do not test by accident."""
        good = {"a call": f.Pairs(CALL), "depth 128": nested(128),
                "numbers": with_argument([f.Num(x) for x in (
                    "-0", "0", "1.0", "1e5", "1E+5", "-1.5e-7", "9" * 400)]),
                "keys that look alike": with_argument(f.Pairs(
                    [("a", 1), ("A", 2), ("", 3), ("b" * 5000, 4), ("b" * 4999, 5)])),
                "an id of 1,024": f.Pairs(without("id") + [("id", "x" * 1024)]),
                "unknown keys": f.Pairs(CALL + [("extra", [None, True, {}])])}
        cases = [(v, case("client", k, f.write(f.message(3, v) + f.eoi())))
                 for k, v in good.items()]
        for value, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                fine(self, out)
                self.assertEqual(out.server.count(b"\n"), 3, out)

    def bad_envelopes(self):
        body = f.envelope_body
        good = body(f.KIND_RESULT, 2, NOT_OPEN)
        bodies = {
            "a byte too many": good + b"x", "a byte too few": good[:-1],
            "line of 0": body(f.KIND_RESULT, 0, NOT_OPEN),
            "line of 64 MiB and one": body(f.KIND_RESULT, f.MESSAGE_MAX + 1, NOT_OPEN),
            "line of 4 GiB": body(f.KIND_RESULT, 0xffffffff, NOT_OPEN),
            "request without id": body(f.KIND_REQUEST, 2, None, b"ping"),
            "notification with id": body(f.KIND_NOTIFICATION, 2, 1, b"x"),
            "result without id": body(f.KIND_RESULT, 2),
            "result with method": body(f.KIND_RESULT, 2, 1, b"ping"),
            "error with method": body(f.KIND_ERROR, 2, 1, b"ping"),
            "method of bad UTF-8": body(f.KIND_NOTIFICATION, 2, None, b"\xff\xff"),
            "version of bad UTF-8": body(f.KIND_RESULT, 2, 1, version=b"\xff"),
            "version of 33": body(f.KIND_RESULT, 2, 1, version=b"2" * 33),
            "method of 1,025": body(f.KIND_NOTIFICATION, 2, None, b"m" * 1025),
            "method beyond the end": good[:-4] + b"\xff\xff\0\0",
            "tools that were not sent": body(f.KIND_RESULT, 2, 1, flags=f.RESULT),
        }
        for kind in (0, 5, 255):
            bodies["kind %d" % kind] = body(kind, 2, 1)
        for flags in (f.RESULT | f.UNREADABLE, 32, 64, 128, 255):
            bodies["flags %d" % flags] = body(f.KIND_RESULT, 2, 1, flags=flags)
        for kind in (f.KIND_REQUEST, f.KIND_NOTIFICATION, f.KIND_ERROR):
            ident = None if kind == f.KIND_NOTIFICATION else 1
            for flag in (f.IS_ERROR, f.TASK, f.INPUT, f.UNREADABLE):
                bodies["kind %d, flag %d" % (kind, flag)] = body(kind, 2, ident, flags=flag)
        for bad in (f.Num("1.5"), f.Num("01"), f.Num(""), b"a\0b", b"\xff", b"x" * 1025):
            bodies["id %.20r" % bad] = body(f.KIND_RESULT, 2, bad)
            bodies["token %.20r" % bad] = body(f.KIND_NOTIFICATION, 2, None, b"x", bad)
        return bodies

    def bad_tools(self):
        """{name: frames} of a list that is none."""
        t = {"jsonrpc": "2.0", "id": NOT_OPEN, "result": {"tools": []}}
        values = {"no result": {"id": 1}, "tools no array": {"result": {"tools": {}}},
                  "no tools": {"result": {}}, "result no object": {"result": []},
                  "10,001 tools": {"result": {"tools": [None] * 10001}},
                  "a key twice": {"result": f.Pairs([("tools", []), ("tools", [])])},
                  "cut short": f.Raw(f.tree(t)[:-1]), "a byte more": f.Raw(f.tree(t) + b"n"),
                  "root array": [t], "a NUL": {"result": {"tools": ["a\0"]}}}
        out = {k: ("malformed result", f.tools_frames(2, v)) for k, v in values.items()}
        tools = f.tools_frames(2, t)
        out["a list, then an ENVELOPE without its flag"] = (
            "malformed ENVELOPE", tools + f.envelope(2, f.KIND_RESULT, 2, NOT_OPEN))
        out["a list, then an error"] = (
            "malformed ENVELOPE", tools + f.envelope(2, f.KIND_ERROR, 2, NOT_OPEN))
        out["a list, then an error with its flag"] = (
            "malformed ENVELOPE",
            tools + f.envelope(2, f.KIND_ERROR, 2, NOT_OPEN, flags=f.RESULT))
        for name, flags in (("unreadable", f.UNREADABLE), ("both", f.RESULT | f.UNREADABLE)):
            out["a list, then " + name] = ("malformed ENVELOPE", tools + f.envelope(
                2, f.KIND_RESULT, 2, NOT_OPEN, flags=flags))
        return out

    def bad_lines(self):
        one = f.envelope(2, f.KIND_RESULT, 10, 7)     # an open call: it would pass
        big = f.envelope(2, f.KIND_RESULT, f.PART + 10, 7)
        part = f.frame
        return {
            "newline first": (one + part(f.LINE_PART, 2, b"\n123456789"), "newline"),
            "newline last": (one + part(f.LINE_PART, 2, b"123456789\n"), "newline"),
            "newline inside": (one + part(f.LINE_PART, 2, b"1234\n67890"), "newline"),
            "a byte too many": (one + part(f.LINE_PART, 2, b"12345678901"), "another length"),
            "a byte too few": (one + part(f.LINE_PART, 2, b"123456789"), "another length"),
            "a first part of 1": (big + part(f.LINE_PART, 2, b"1"), "another length"),
            "a second part too long": (big + part(f.LINE_PART, 2, b"x" * f.PART) +
                                       part(f.LINE_PART, 2, b"x" * 11), "another length"),
            "newline in a later part": (big + part(f.LINE_PART, 2, b"x" * f.PART) +
                                        part(f.LINE_PART, 2, b"x" * 9 + b"\n"), "newline"),
        }

    def test_server(self):
        cases = []
        for name, body in self.bad_envelopes().items():
            cases.append(("malformed ENVELOPE", case("server", name, f.write(
                f.frame(f.ENVELOPE, 2, body) + f.frame(f.LINE_PART, 2, b"{}")))))
        for name, (want, data) in self.bad_tools().items():
            cases.append((want, case("server", "tools: " + name, f.write(data))))
        for name, (data, want) in self.bad_lines().items():
            cases.append((want, case("server", "line: " + name, f.write(data))))
        for name, body in BAD_REFUSALS.items():
            cases.append(("malformed REFUSE", case("server", name, f.write(
                f.frame(f.REFUSE, 2, body)))))
        for want, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, "server", None, want)
                self.assertEqual(out.server, b"".join(OPEN_LINES), out)
                if not out.name.startswith("line: "):
                    open_answered(self, out)

    def test_half_a_line_is_ended(self):
        """What the client has of a line is closed off before the errors."""
        data = f.envelope(2, f.KIND_RESULT, f.PART + 10, 7) + \
            f.frame(f.LINE_PART, 2, b"x" * f.PART) + f.frame(f.NOTE, 0, b"x")
        begun = f.envelope(2, f.KIND_RESULT, 10, 7) + f.frame(f.NOTE, 0, b"x")
        cases = [(b"x" * f.PART, case("server", "half a line", f.write(data))),
                 (None, case("server", "nothing of a line", f.write(begun)))]
        for half, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, "server", "line", "^NOTE in state line$")
                lines = out.client.split(b"\n")
                self.assertEqual(lines.pop(), b"")
                if half is not None:
                    self.assertEqual(lines.pop(0), half)
                self.assertTrue(all(lines), "an empty line: %s" % out)
                self.assertIn(b'"id":"seven","error"', lines[-1])

    def test_hello(self):
        cases = []
        for side in ("client", "server"):
            for proto in (0, 2, 0xffff):
                cases.append(((side, "malformed HELLO"), f.hello(protocol=proto)))
            for bit in (11, 31):
                cases.append(((side, "malformed HELLO"), f.hello(f.LAYERS | 1 << bit)))
            for layers in (0, f.SECCOMP, f.NO_NEW_PRIVS, f.LAYERS & ~f.SECCOMP,
                           f.LAYERS & ~f.NO_NEW_PRIVS):
                cases.append(((side, "without seccomp or no_new_privs"), f.hello(layers)))
        cases = [(k, case(k[0], "%s hello %s" % (k[0], data.hex()), f.write(data), "start"))
                 for k, data in cases]
        for (side, want), out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, "start", want)
                self.assertEqual(out.server, b"", out)

    def test_call_numbers(self):
        cases = []
        for side in ("client", "server"):
            right = NEXT[side]
            for call in (0, right - 1, right + 1, right | 1 << 32, 2 ** 64 - 1):
                cases.append(((side, "carries call"), f.refuse(call, "not_json")))
            for kind, body in ((f.NOTE, b"x"), (f.EOI, b"")):
                cases.append(((side, "carries call"), f.frame(kind, 1, body)))
        whole = padded_tree(f.PART + 9)
        for call in (2, 4, 1):
            cases.append((("client", "carries call"), f.frame(
                f.TREE_PART, 3, whole[:f.PART]) + f.frame(f.TREE_END, call, whole[f.PART:])))
            cases.append((("server", "carries call"), f.envelope(
                2, f.KIND_RESULT, 2, NOT_OPEN) + f.frame(f.LINE_PART, call - 1, b"{}")))
        tools = f.tools_frames(2, {"result": {"tools": []}})
        cases.append((("server", "carries call"), tools + f.envelope(
            3, f.KIND_RESULT, 2, NOT_OPEN, flags=f.RESULT)))
        good = f.refuse(2, "not_json") + f.refuse(3, "not_json")
        cases.append((("server", "carries call"), good + f.refuse(3, "not_json")))
        cases = [(k, case(k[0], "%s, %d bytes" % (k[0], len(d)), f.write(d))) for k, d in cases]
        for (side, want), out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, None, want)
                open_answered(self, out)

    def test_descriptors(self):
        """One, two and many, with a frame, a piece of one, and alone."""
        cases = []
        for side in ("client", "server"):
            for n in (1, 2, 250):
                for data in (f.note(), f.note()[:5]):
                    cases.append((side, case(side, "%s, %d descriptors" % (side, n),
                                             f.order("F", n, data))))
            cases.append((side, case(side, "%s, behind a good frame" % side, f.write(
                f.note()) + f.order("F", 1, f.note()))))
        for side, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, None, "^a descriptor came with a frame$")
                if side == "server":
                    open_answered(self, out)


class Sizes(dw.TestCase):
    """The limits of a tree: one over is a breach, the most is none."""

    def nodes(self, n):
        """A notification of n values in all."""
        fixed = f.Pairs([("jsonrpc", "2.0"), ("method", "notifications/x"),
                         ("params", {"a": f.Raw(b"[" + b"n" * (n - 5) + b".")})])
        return f.message(3, fixed)

    def test_nodes(self):
        cases = [(0, case("client", "1,000,000 values", f.write(
            self.nodes(f.NODES_MAX) + f.eoi()))),
            (1, case("client", "1,000,001 values", f.write(self.nodes(f.NODES_MAX + 1))))]
        for bad, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                if bad:
                    breach(self, out, "client", None, "no acceptable message")
                else:
                    fine(self, out)
                    self.assertEqual(out.server.count(b"null"), f.NODES_MAX - 5)

    def test_tree_without_end(self):
        cases = []
        for side, kind, call in (("client", f.TREE_PART, 3), ("server", f.RESULT_PART, 2)):
            cases.append((side, case(side, side, f.order(
                "L", 0, f.frame(kind, call, b"n" * f.PART)))))
        for side, out in Arena(self).play_all(cases):
            with self.subTest(side):
                breach(self, out, side, None, "tree of more than %d bytes" % f.TREE_MAX)
                open_answered(self, out)

    def test_printed_it_would_be_too_long(self):
        """A control character is one byte in a tree and six on the wire: what
        no line of 64 MiB can have said is not printed."""
        def call(n):
            return f.message(3, with_argument(b"\x01" * n))
        cases = [(1, case("client", "12 MiB of controls", f.write(call(12 * f.MIB)))),
                 (0, case("client", "8 MiB of controls", f.write(call(8 * f.MIB) + f.eoi())))]
        for bad, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                if bad:
                    breach(self, out, "client", None, "no acceptable message")
                    open_answered(self, out)
                else:
                    fine(self, out)
                    self.assertEqual(out.server.count(b"\\u0001"), 8 * f.MIB)


# ---- truncation, death, silence ----

def states(side):
    """{state: frames that lead there from idle} where a relay may die."""
    if side == "client":
        whole = padded_tree(f.PART + 9)
        return {"idle": b"", "tree": f.frame(f.TREE_PART, 3, whole[:f.PART])}
    return {"idle": b"", "result": f.frame(f.RESULT_PART, 2, padded_tree(f.PART + 9, True)[:f.PART]),
            "told": f.frame(f.RESULT_END, 2, padded_tree(200, True)),
            "line": f.envelope(2, f.KIND_RESULT, 10, NOT_OPEN)}


class Truncated(dw.TestCase):
    def test_end_of_file(self):
        """The socket closes in every state, at and inside a frame."""
        cases = []
        for side in ("client", "server"):
            for state, bring in states(side).items():
                for name, cut in (("after a frame", b""), ("in a header", f.header(
                        8, f.NOTE)[:7]), ("after a header", f.header(8, f.NOTE)),
                        ("in a body", f.header(8, f.NOTE) + b"123")):
                    if cut and state != "idle":
                        continue
                    for how in ("C", "S", "X"):
                        cases.append(((side, state), case(side, "%s, %s, %s, %s" % (
                            side, state, name, how), f.write(bring + cut) + f.order(how))))
            for how in ("C", "X"):
                cases.append(((side, "start"), case(side, "%s, start, %s" % (
                    side, how), f.order(how), "start")))
        for (side, state), out in Arena(self, workers=8).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, state, "^ended in state %s without end of input" % state)
                if state != "start":
                    open_answered(self, out)

    def test_signals(self):
        cases = []
        for side in ("client", "server"):
            for state, bring in states(side).items():
                for sig in (signal.SIGKILL, signal.SIGSEGV, signal.SIGSYS):
                    cases.append(((side, state, sig), case(side, "%s, %s, %s" % (
                        side, state, sig.name), f.write(bring) + f.order("K", sig))))
            cases.append(((side, "start", signal.SIGABRT), case(
                side, "%s, start" % side, f.order("K", signal.SIGABRT), "start")))
        cases.append((("server", "ended", signal.SIGSEGV), case(
            "server", "server, ended", f.write(f.eoi()) + f.order("P", 50) +
            f.order("K", signal.SIGSEGV))))
        for (side, state, sig), out in Arena(self, workers=8).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, state, "^killed by signal %d in state %s$" % (sig, state))
                if state != "start":
                    open_answered(self, out)

    def test_death_while_a_child_has_the_socket(self):
        """The socket stays open, yet the relay is dead."""
        cases = [(side, case(side, side, f.order("H") + f.order("K", signal.SIGSEGV)))
                 for side in ("client", "server")]
        for side, out in Arena(self).play_all(cases):
            with self.subTest(side):
                breach(self, out, side, "idle", "^killed by signal 11")
                open_answered(self, out)

    def test_after_the_end(self):
        """Nothing comes after EOI, not even a byte."""
        cases = []
        for side in ("client", "server"):
            for cut in (1, 15, 16):
                cases.append((side, case(side, "%s, %d bytes" % (side, cut), f.write(
                    f.eoi() + f.note()[:cut]))))
        for side, out in Arena(self).play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, "ended")
                open_answered(self, out)

    def test_one_byte_at_a_time(self):
        """Frames may come in any pieces."""
        call = f.message(3, f.Pairs(CALL))
        cases = [("client", case("client", "client", f.order("B", 0, call + f.eoi()))),
                 ("server", case("server", "server", f.order("B", 0, f.said(
                     2, f.KIND_RESULT, b'{"a":1}', 7) + f.eoi()) + f.order("C")))]
        for side, out in Arena(self).play_all(cases):
            with self.subTest(side):
                fine(self, out)
                if side == "server":
                    self.assertIn(b'{"a":1}\n', out.client)


class Silent(dw.TestCase):
    """What was begun has to be ended in ten seconds.  All wait at once."""

    def test_timeouts(self):
        cases = []
        for side in ("client", "server"):
            cases.append(((side, "start"), case(side, "%s, no HELLO" % side, b"", "start")))
            drip = b"".join(f.write(f.note()) + f.order("P", 1000) for _ in range(30))
            cases.append(((side, "start"), case(side, "%s, only NOTEs" % side, drip, "start")))
            for state, bring in states(side).items():
                if state != "idle":
                    cases.append(((side, state), case(
                        side, "%s, %s" % (side, state), f.write(bring))))
            cases.append(((side, "idle"), case(side, "%s, half a header" % side, f.write(
                f.header(8, f.NOTE)[:9]))))
            cases.append(((side, "idle"), case(side, "%s, half a body" % side, f.write(
                f.header(8, f.NOTE) + b"1234"))))
            cases.append(((side, "idle"), case(side, "%s, byte by byte" % side, f.order(
                "B", 800000, f.header(8, f.NOTE) + b"1234"))))
        arena = Arena(self, workers=len(cases))
        for (side, state), out in arena.play_all(cases):
            with self.subTest(out.name):
                breach(self, out, side, state, "^nothing whole for 10000 ms in state %s$" % state)
                if state != "start":
                    open_answered(self, out)


if __name__ == "__main__":
    unittest.main()
