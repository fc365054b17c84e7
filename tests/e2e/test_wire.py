"""Section 3 of the design: what is read from each side, what is refused,
what passes, and that what passes does so unchanged."""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import dw

SUITE = os.path.join(dw.ROOT, "tests", "data", "jsontestsuite", "test_parsing")
MIB = 1 << 20
LIMIT = 64 * MIB
CANNOT = 1003       # "Doorward cannot judge", and what a server did not answer


def message(ident, method="tools/call", params='{"name":"echo","arguments":{}}', more=""):
    """A request in pieces of raw JSON."""
    return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s%s}'
            % (ident, method, params, more))


def with_value(ident, value):
    """A call whose last value is the given raw JSON, as bytes."""
    return (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo",'
            b'"arguments":{"v":' % ident) + value + b"}}}"


def raw(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


class Wire(dw.TestCase):
    """One session for many small tries; a new one after a try that failed."""
    w = None

    @contextlib.contextmanager
    def attempt(self, label):
        w, self.w = self.w or self.session(), None
        with self.subTest(label):
            yield w
            self.w = w

    def each(self, tries):
        for item in tries:
            yield (self.attempt(repr(item)[:200]), *item)

    def refuse(self, w, line, code, reason, idents=(None,)):
        """The client's line gets one error and goes no further."""
        seen = len([e for e in w.audit() if e["event"] == "refusal"])
        w.send_client(raw(line) + b"\n")
        answer = w.recv_client()
        if all(type(answer.get("id")) is not type(i) or answer["id"] != i for i in idents):
            self.fail("id %r, not one of %r: %r" % (answer.get("id"), idents, answer))
        self.assertError(answer, answer["id"], code)
        event = w.events("refusal", seen + 1)[-1]
        self.assertEqual(event["reason"], reason)
        self.assertEqual(event["from"], "client")
        w.barrier()


def call(params):
    return message(1, params=params)


PASS_KEYS = '{"name":"echo","arguments":{"Name":1,"NAME":2,"Uri":3,"ID":4,"Method":5,"_META":6,"Tasks":7}}'


class FromClient(Wire):
    def test_not_json(self):
        lines = [
            "{", "}", "x", "nul", "{'a':1}", '"', "\\",
            '{"jsonrpc":"2.0","id":1,"method":"ping"',
            '{"jsonrpc":"2.0","id":1,"method":"ping",}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"} x',
            '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"/**/}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"}//',
            '{jsonrpc:"2.0","id":1,"method":"ping"}',
            '{"jsonrpc" "2.0","id":1,"method":"ping"}',
            '{"jsonrpc":"2.0";"id":1,"method":"ping"}',
            '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}',   # BOM, but not first
            '\x0b{"jsonrpc":"2.0","id":1,"method":"ping"}',
            '\x0c{"jsonrpc":"2.0","id":1,"method":"ping"}',
            '\u00a0{"jsonrpc":"2.0","id":1,"method":"ping"}',
            '\0{"jsonrpc":"2.0","id":1,"method":"ping"}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"}\0',
            '{"jsonrpc":"2.0","id":1,"method":"pi\0ng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\tng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\x1fng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\rng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\\xng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\\u12g4ng"}',
            '{"jsonrpc":"2.0","id":1,"method":"pi\\u12"}',
            '{"jsonrpc":"2.0","id":1,"method":"ping\\"}',
        ]
        lines += [call('{"name":"echo","arguments":{"v":%s}}' % v) for v in (
            "01", "-01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x1", "1_000",
            "NaN", "Infinity", "-Infinity", "tru", "True", "nulll", "undefined", "",
            "[1,]", "[,1]", "[1 2]", "[1", "]", '{"a"}', '{"a":}', '{1:2}', "{,}", '{"a":1,,"b":2}',
            "1 2", "'a'", "`a`")]
        for attempt, line in self.each([(x,) for x in lines]):
            with attempt as w:
                self.refuse(w, line, -32700, "not_json", (None, 1))

    def test_not_utf8(self):
        bad = [b"\x80", b"\xbf", b"\xc0\xaf", b"\xc1\xbf", b"\xc2", b"\xe0\x80\xaf", b"\xe2\x82",
               b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x80\x80\xaf", b"\xf0\x9f\x99",
               b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff"]
        lines = [with_value(1, b'"a' + x + b'b"') for x in bad]
        lines += [b'{"jsonrpc":"2.0","id":1,"method":"p' + bad[0] + b'"}',
                  b'{"jsonrpc":"2.0","id":1,"method":"ping","x' + bad[2] + b'":1}']
        for attempt, line in self.each([(x,) for x in lines]):
            with attempt as w:
                self.refuse(w, line, -32700, "invalid_utf8", (None, 1))

    def test_no_message(self):
        tries = [(x, "not_an_object", None) for x in ("42", '"x"', "null", "true", "1.5", '""')]
        tries += [(x, "batch", None) for x in (
            "[]", "[1]", "[%s]" % message(1), " [%s,%s]" % (message(1), message(2)), "[[]]")]
        tries += [
            ('{"id":1,"method":"ping"}', "no_jsonrpc", 1),
            ('{"jsonrpc":"1.0","id":1,"method":"ping"}', "no_jsonrpc", 1),
            ('{"jsonrpc":2.0,"id":1,"method":"ping"}', "no_jsonrpc", 1),
            ('{"jsonrpc":null,"id":1,"method":"ping"}', "no_jsonrpc", 1),
            ('{"jsonrpc":"2.00","id":1,"method":"ping"}', "no_jsonrpc", 1),
            ('{"jsonrpc":"2.0","id":1}', "not_a_message", 1),
            ('{"jsonrpc":"2.0","id":1,"params":{}}', "not_a_message", 1),
            ('{"jsonrpc":"2.0","id":1,"method":5}', "method_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":null}', "method_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":["ping"]}', "method_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', "params_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', "params_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":5}', "params_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', "params_type", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', "mixed_message", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":"x"}}',
             "mixed_message", 1),
            ('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
             "mixed_message", 1),
            ('{"jsonrpc":"2.0","id":1,"method":"%s"}' % ("m" * 1025), "method_too_long", 1),
        ]
        for attempt, line, reason, ident in self.each(tries):
            with attempt as w:
                self.refuse(w, line, -32600, reason, (ident,))

    def test_ids(self):
        tries = [("null", "id_null")]
        tries += [(x, "id_type") for x in (
            "1.5", "1.0", "1e2", "1E2", "-0.5", "true", "false", "{}", "[]", "[1]", '{"a":1}')]
        tries += [('"%s"' % ("i" * 1025), "id_too_long"), ("1" * 1025, "id_too_long"),
                  ('"%s"' % ("\u00e9" * 513), "id_too_long")]
        for attempt, ident, reason in self.each(tries):
            with attempt as w:
                self.refuse(w, message(ident), -32600, reason)
                self.refuse(w, '{"jsonrpc":"2.0","id":%s,"method":"ping"}' % ident, -32600, reason)

    def test_ids_that_pass(self):
        idents = ["0", "-1", "1", '"1"', '""', '"0"', "9007199254740993", "-9223372036854775809",
                  "123456789012345678901234567890", '"%s"' % ("i" * 1024), "1" * 1024,
                  '"\\u0061\\"\\\\/\\/\\n\\u2028\u2028\\ud83d\\ude42\U0001f642"', '"null"',
                  '"\u202e\u200b"', '" "']
        w = self.session()
        for ident in idents:
            w.send_client(message(ident))
            self.assertEqual(dw.exact(w.server_line()), dw.exact(message(ident)))
        for ident in reversed(idents):
            answer = '{"jsonrpc":"2.0","id":%s,"result":{}}' % ident
            w.send_server(answer)
            self.assertEqual(w.client_line().decode(), answer)
        w.barrier()

    def test_one_id_in_two_spellings(self):
        """The server may print an id in another way than the client."""
        w = self.session()
        w.send_client(message('"\\u0061/b\\u00e9"'))
        w.server_line()
        w.send_server('{"jsonrpc":"2.0","id":"a\\/b\u00e9","result":{}}')
        self.assertEqual(w.recv_client()["id"], "a/b\u00e9")
        w.send_server('{"jsonrpc":"2.0","id":"a/b\u00e9","result":{}}')     # a second answer
        w.barrier()

    def test_duplicate_keys(self):
        keys = ",".join('"k%d":%d' % (i, i) for i in range(2000))
        lines = [
            ('{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', (1,)),
            ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', (None, 1, 2)),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', (1,)),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}', (1,)),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":1}', (1,)),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"x"}', (1,)),
            (call('{"name":"echo","name":"echo"}'), (1,)),
            (call('{"name":"echo","n\\u0061me":"evil"}'), (1,)),
            (call('{"name":"echo","arguments":{},"arguments":{"a":1}}'), (1,)),
            (call('{"name":"echo","arguments":{"a":1,"b":2,"a":1}}'), (1,)),
            (call('{"name":"echo","arguments":{"":1,"":2}}'), (1,)),
            (call('{"name":"echo","arguments":{"\u00e9":1,"\\u00e9":2}}'), (1,)),
            (call('{"name":"echo","arguments":{"\U0001f642":1,"\\ud83d\\uDE42":2}}'), (1,)),
            (call('{"name":"echo","arguments":{"/":1,"\\/":2}}'), (1,)),
            (call('{"name":"echo","arguments":{"x":[[{"y":[{"a":1,"a":2}]}]]}}'), (1,)),
            (call('{"name":"echo","_meta":{"a":1,"a":2}}'), (1,)),
            (call('{"name":"echo","arguments":{%s,"k1000":0}}' % keys), (1,)),
            (message(1, more=',"zz":{"a":[],"a":[]}'), (1,)),
        ]
        for attempt, line, idents in self.each(lines):
            with attempt as w:
                self.refuse(w, line, -32600, "duplicate_key", idents)

    def test_similar_keys_pass(self):
        w = self.session()
        for params in (PASS_KEYS,
                       '{"name":"echo","arguments":{"a":1,"A":2,"a ":3," a":4,"aa":5,"":6}}',
                       '{"name":"echo","arguments":{"\u00e9":1,"e\u0301":2}}',
                       '{"name":"echo","arguments":[]}'.replace("[]", '{"x":[{"a":1},{"a":2}]}')):
            w.send_client(call(params))
            self.assertEqual(dw.exact(w.server_line()), dw.exact(call(params)))
            w.answer(1)
            w.client_line()

    def test_key_variants(self):
        envelope = ["jsonrpc", "id", "method", "params", "result", "error"]
        inner = ["name", "arguments", "uri", "cursor", "task", "inputResponses",
                 "requestState", "_meta"]
        tries = []
        for key in envelope + inner:
            forms = {key.upper(), key.capitalize(), key[:-1] + key[-1].upper(), key.swapcase(),
                     key.replace("s", "\u017f"), key.replace("k", "\u212a"),
                     key.upper().replace("S", "\u017f")} - {key}
            forms |= {"".join("\\u%04x" % ord(c) for c in key.upper())}
            for form in sorted(forms):
                if json.loads('"%s"' % form) == key:
                    continue
                if key in envelope:
                    tries.append((message(1, more=',"%s":1' % form),))
                    tries.append(('{"jsonrpc":"2.0","id":1,"%s":1,"method":"ping"}' % form,))
                else:
                    tries.append((call('{"name":"echo","%s":1}' % form),))
                    tries.append((message(1, "x/y", '{"%s":1}' % form),))
        self.assertGreater(len(tries), 80)
        for attempt, line in self.each(tries):
            with attempt as w:
                self.refuse(w, line, -32600, "key_variant", (1,))

    def test_nul_and_surrogates(self):
        tries = []
        for reason, escapes in (("nul_in_string", ["\\u0000"]),
                                ("lone_surrogate", ["\\ud83d", "\\ude42", "\\uDE42\\uD83D", "\\ud83dx",
                                                    "\\ud83d\\ud83d\\ude42", "\\ud83d\\u0041",
                                                    "\\udbff\\n"])):
            for e in escapes:
                tries += [(x, reason, (1,)) for x in (
                    call('{"name":"echo","arguments":{"v":"a%sb"}}' % e),
                    call('{"name":"echo","arguments":{"%s":1}}' % e),
                    call('{"name":"echo%s","arguments":{}}' % e),
                    call('{"name":"echo","arguments":{"v":[[{"x":["%s"]}]]}}' % e),
                    call('{"name":"echo","_meta":{"x":"%s"}}' % e),
                    message(1, "ping" + e, "{}"),
                    message(1, "ping", "{}", ',"%s":1' % e))]
                tries.append((message('"a%s"' % e), reason, (None,)))
        for attempt, line, reason, idents in self.each(tries):
            with attempt as w:
                self.refuse(w, line, -32600, reason, idents)

    def test_call_parameters(self):
        tries = ["{}", '{"arguments":{}}', '{"name":5}', '{"name":null}', '{"name":["echo"]}',
                 '{"name":"echo","arguments":[]}', '{"name":"echo","arguments":"x"}',
                 '{"name":"echo","arguments":5}']
        for attempt, line in self.each([(call(x),) for x in tries]):
            with attempt as w:
                self.refuse(w, line, -32602, "call_params", (1,))
        w = self.session()
        self.refuse(w, '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602, "call_params", (1,))
        w.send_client(call('{"name":"echo"}'))      # arguments are optional
        self.assertEqual(dw.exact(w.server_line()), dw.exact(call('{"name":"echo"}')))

    def test_call_without_id(self):
        tries = ['{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
                 '{"jsonrpc":"2.0","method":"tools\\/call","params":{"name":"echo"}}',
                 '{"method":"tools/call","params":{"name":"echo"},"jsonrpc":"2.0"}',
                 '{"jsonrpc":"2.0","method":"tools/call"}']
        for attempt, line in self.each([(x,) for x in tries]):
            with attempt as w:
                seen = len([e for e in w.audit() if e["event"] == "refusal"])
                w.send_client(line)
                w.barrier()
                self.assertEqual(w.events("refusal", seen + 1)[-1]["reason"], "call_without_id")

    def test_refused_notification(self):
        """Nothing of it reaches the server; an answer can have no id."""
        w = self.session()
        w.send_client('{"jsonrpc":"2.0","method":"notifications/x","a":1,"a":2}')
        w.send_client({"jsonrpc": "2.0", "id": "m", "method": "ping"})
        self.assertEqual(w.recv_server()["id"], "m")
        self.assertEqual(w.events("refusal")[0]["reason"], "duplicate_key")
        w.send_server({"jsonrpc": "2.0", "id": "m", "result": {}})
        answer = w.recv_client()
        if answer["id"] is None:
            self.assertError(answer, None, -32600)
            answer = w.recv_client()
        self.assertEqual(answer["id"], "m")

    def test_tolerances(self):
        ping = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
        w = self.session()
        w.send_client(b"\xef\xbb\xbf" + (ping % 1).encode() + b"\n")
        w.send_client(b"\n\r\n\n" + (ping % 2).encode() + b"\r\n")
        w.send_client(b"  \t" + (ping % 3).encode() + b" \t \r\n")
        w.send_client(b'{ "params" : { } ,\t"m\\u0065thod":"ping" , "id" : 4, "jsonrpc":"\\u0032.0" }\n')
        for i in range(1, 5):
            self.assertEqual(w.recv_server()["id"], i)
            w.send_server({"jsonrpc": "2.0", "id": i, "result": {}})
            self.assertEqual(w.recv_client()["id"], i)
        self.assertEqual([e for e in w.audit() if e["event"] == "refusal"], [])

    def test_bom_after_blank_lines(self):
        """Still before the first message."""
        w = self.session()
        w.send_client(b'\xef\xbb\xbf\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        self.assertEqual(w.recv_server()["id"], 1)

    def test_end_inside_a_line(self):
        for text in ('{"jsonrpc":"2.0","id":1,"method":"pi', message(1), '{"jsonrpc'):
            with self.subTest(text):
                w = self.session()
                w.order("linger")
                w.send_client(text.encode())
                w.close_client_in()
                self.assertEqual(w.heard(), "eof")
                self.assertFalse(w.server_in.lines or w.server_in.buf)
                answer = w.recv_client()
                self.assertIn(answer["id"], (None, 1))
                self.assertEqual(answer["error"]["code"], -32700)
                self.assertEqual(w.event("refusal")["reason"], "incomplete_line")
                w.order("exit 0")
                self.assertEqual(w.wait(), 0)

    def test_long_method_passes(self):
        w = self.session()
        w.send_client(message(1, "m" * 1024, "{}"))
        self.assertEqual(w.recv_server()["method"], "m" * 1024)

    def test_passes_unchanged(self):
        """Unknown methods, fields, order and spelling of values."""
        w = self.session()
        lines = [
            '{"id":1,"x-trace":[1,{"b":2,"a":1}],"params":{"z":1,"a":{"c":null,"b":[]}},'
            '"method":"vendor/Thing","jsonrpc":"2.0","Zz":0.10}',
            '{"jsonrpc":"2.0","method":"notifications/vendor","params":{"n":[1,1.0,1e0,-0,1E+2,0.1e-7,'
            '123456789012345678901234567890]}}',
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"a":1}}}',
            '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"_meta":{"progressToken":1,'
            '"x":{}},"task":{"ttl":60000},"arguments":{"b":1,"a":[true,false,null]},"name":"echo","q":2}}',
            '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}',
            '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///etc/x"}}',
            '{"jsonrpc":"2.0","id":4,"method":"completion/complete","params":{"ref":{"type":"ref/prompt",'
            '"name":"x"},"argument":{"name":"a","value":"\u2028\u2029\u0085\x7f\u200b\ufeff"}}}',
            '{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{}}}',
            '{"jsonrpc":"2.0","id":6,"method":"tasks/update","params":{"taskId":"t","inputResponses":{}}}',
            '{"jsonrpc":"2.0","id":7,"method":"","params":{}}',
        ]
        for line in lines:
            w.send_client(line)
            self.assertEqual(dw.exact(w.server_line()), dw.exact(line))
        w.barrier()

    def test_the_clients_bytes_are_not_passed(self):
        """P2: the server gets what was judged, printed anew."""
        w = self.session()
        w.send_client('  { "jsonrpc" :"2.0", "id":1 ,"method":"tools\\/call","params":'
                      '{"name":"\\u0065cho","arguments":{ "a" : "\\u0041\\/" } } }  ')
        line = w.server_line()
        self.assertEqual(line, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                               b'{"name":"echo","arguments":{"a":"A/"}}}')


class Limits(Wire):
    def deep(self, levels):
        """A call nested this deep, the root included."""
        return with_value(1, b"[" * (levels - 3) + b"]" * (levels - 3))

    def test_depth(self):
        w = self.session()
        w.send_client(self.deep(128) + b"\n")
        self.assertEqual(dw.exact(w.server_line()), dw.exact(self.deep(128)))
        w.answer(1)
        w.client_line()
        self.refuse(w, self.deep(129), -32600, "too_deep", (1,))
        self.refuse(w, self.deep(100003), -32600, "too_deep", (1,))
        self.refuse(w, b'{"a":' * 200 + b"1" + b"}" * 200, -32600, "too_deep")
        # From the server too: dropped, and an open call gets an error.
        result = b'{"jsonrpc":"2.0","id":2,"result":' + b"[" * 127 + b"]" * 127 + b"}"
        w.call(2)
        w.server_line()
        w.send_server(result + b"\n")
        self.assertEqual(w.client_line(), result)
        w.call(2)
        w.server_line()
        w.send_server(result.replace(b"[]", b"[[]]") + b"\n")
        self.assertError(w.recv_client(), 2, CANNOT)
        w.barrier()

    def test_nodes(self):
        # Values around the list: root, jsonrpc, id, method, params, name,
        # arguments and the list itself.
        w = self.session()
        fits = with_value(1, b"[" + b"1," * 999991 + b"1]")
        w.send_client(fits + b"\n")
        self.assertEqual(w.server_line(30), fits)
        w.answer(1)
        w.client_line()
        self.refuse(w, with_value(1, b"[" + b"1," * 999992 + b"1]"), -32600, "too_many_values", (1,))
        # Around this one: root, jsonrpc and id.
        w.call(2)
        w.server_line()
        result = b'{"jsonrpc":"2.0","id":2,"result":[' + b"1," * 999995 + b"1]}"
        w.send_server(result + b"\n")
        self.assertEqual(w.client_line(30), result)
        w.call(2)
        w.server_line()
        w.send_server(result.replace(b"1]}", b"1,1]}") + b"\n")
        self.assertError(w.recv_client(30), 2, CANNOT)
        w.barrier()

    def test_longest_call(self):
        w = self.session()
        frame = len(with_value(1, b'""'))
        fits = with_value(1, b'"' + b"x" * (LIMIT - frame) + b'"')
        self.assertEqual(len(fits), LIMIT)
        w.send_client(fits + b"\n", 60)
        self.assertEqual(w.server_line(60), fits)
        w.answer(1)
        w.client_line(60)
        w.send_client(fits[:-4] + b'x"}}}\n', 60)
        self.assertError(w.recv_client(60), 1, -32600)
        self.assertEqual(w.events("refusal")[-1]["reason"], "message_too_long")
        w.barrier()

    def test_much_too_long_line(self):
        """Skipped to its end, whatever its length, in bounded memory."""
        w = self.session()
        w.send_client(b'{"jsonrpc":"2.0","id":1,"x":"', wait=False)
        block = b"y" * (8 * MIB)
        for _ in range(32):
            w.send_client(block, 60)
        relay = w.processes()["client"].pid
        if not dw.SAN:
            self.assertLess(dw.rss(relay), 160 * MIB)
        w.send_client(b'"}\n', 60)
        self.assertError(w.recv_client(60), 1, -32600)
        w.barrier()

    def test_longest_result(self):
        w = self.session()
        head = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"'
        tail = b'"}]}}'
        fits = head + b"x" * (LIMIT - len(head) - len(tail)) + tail
        w.call(1)
        w.server_line()
        w.send_server(fits + b"\n", 60)
        self.assertEqual(w.client_line(60), fits)
        w.call(1)
        w.server_line()
        w.send_server(fits[:-5] + b'x"}]}}\n', 60)
        self.assertError(w.recv_client(60), 1, CANNOT)
        w.barrier()

    def test_in_flight(self):
        w = self.session()
        for i in range(4096):
            w.send_client(message(i), wait=False)
        for i in range(4096):
            self.assertEqual(json.loads(w.server_line(30))["id"], i)
        w.send_client(message(4096))
        self.assertError(w.recv_client(), 4096, -32600)
        self.assertEqual(w.events("refusal")[0]["reason"], "too_many_in_flight")
        w.send_client(message(4096, "ping", "{}"))      # every method counts
        self.assertError(w.recv_client(), 4096, -32600)
        w.send_client('{"jsonrpc":"2.0","method":"notifications/x"}')    # no request
        self.assertEqual(w.recv_server()["method"], "notifications/x")
        w.answer(17)
        self.assertEqual(w.recv_client()["id"], 17)
        w.round_trip(4096)
        for i in range(4096):
            if i != 17:
                w.send_server({"jsonrpc": "2.0", "id": i, "result": {}}, wait=False)
        got = {json.loads(w.client_line(30))["id"] for _ in range(4095)}
        self.assertEqual(got, set(range(4096)) - {17})
        w.barrier()

    def test_id_in_flight(self):
        w = self.session()
        for first, again in (("1", "1"), ('"a"', '"\\u0061"'), ("0", "-0"), ("-7", "-7")):
            with self.subTest(first):
                w.send_client(message(first))
                w.server_line()
                w.send_client(message(again, "ping", "{}"))
                answer = w.recv_client()
                self.assertError(answer, json.loads(again), -32600)
                self.assertEqual(w.events("refusal")[-1]["reason"], "id_in_flight")
                w.barrier()
                w.send_server('{"jsonrpc":"2.0","id":%s,"result":{}}' % first)
                self.assertEqual(w.recv_client()["id"], json.loads(first))
                w.send_client(message(first))   # free again once it was answered
                w.server_line()
                w.send_server('{"jsonrpc":"2.0","id":%s,"result":{}}' % first)
                w.client_line()


class FromServer(Wire):
    GARBAGE = [
        "hello", "", "{", "}", "42", "null", '"x"', "true", "[]", "[1]", "{}", '{"a":1}',
        '{"status":200,"message":"ok"}', '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"1.0","method":"notifications/message"}',
        '{"method":"notifications/message","params":{}}',
        '{"jsonrpc":"2.0","method":5}', '{"jsonrpc":"2.0","method":"notifications/x",}',
        '{"jsonrpc":"2.0","method":"notifications/x"} {"jsonrpc":"2.0","method":"notifications/x"}',
        '{"jsonrpc":"2.0","method":"notifications/x","result":{}}',
        '[{"jsonrpc":"2.0","method":"notifications/x"}]',
        '\ufeff{"jsonrpc":"2.0","method":"notifications/x"}',
        '{"jsonrpc":"2.0","id":null,"result":{}}',
        '{"jsonrpc":"2.0","id":1.5,"result":{}}', '{"jsonrpc":"2.0","id":true,"result":{}}',
        '{"jsonrpc":"2.0","id":{},"result":{}}', '{"jsonrpc":"2.0","result":{}}',
        '{"jsonrpc":"2.0","id":"' + "i" * 1025 + '","result":{}}',
        '{"jsonrpc":"2.0","method":"notifications/x","params":{"v":01}}',
        '{"jsonrpc":"2.0","method":"notifications/x","params":{"v":"a\tb"}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"v":"\xff"}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"v":"\xed\xa0\x80"}}',
        b'\x1b[31mred\x1b[0m', b"\x00\x01\x02", "x" * 100000,
    ]

    def test_garbage_is_dropped(self):
        w = self.session()
        w.send_server('{"jsonrpc":"2.0","method":"notifications/x"}')   # no BOM can come first now
        w.client_line()
        for line in self.GARBAGE:
            w.send_server(raw(line) + b"\n")
            w.barrier()
        self.assertEqual(w.finish(), 0)
        # All but the blank line, which is tolerated.
        self.assertEqual(w.event("session_end")["dropped"], len(self.GARBAGE) - 1)
        noted = w.stderr_text()
        self.assertIn("hello", noted)
        self.assertLess(noted.count("\n"), 20)      # the first few only
        self.assertNotIn("\x1b", noted)

    def test_garbage_notes_are_visible_text(self):
        w = self.session()
        w.send_server(b"\x1b]0;title\x07\x9b31m \xe2\x80\xae \xff\r\x08end\n")
        w.barrier()
        w.finish()
        text = w.stderr_text()
        self.assertIn("end", text)
        self.assertFalse([c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)
                          or c in "\u202e\ufffd"], repr(text))

    def test_open_id_in_a_bad_line(self):
        """An error instead of silence, once, and the id is free again."""
        bad = [
            b'{"jsonrpc":"2.0","id":1}', b'{"id":1,"result":{}}',
            b'{"jsonrpc":"1.0","id":1,"result":{}}', b'{"jsonrpc":2.0,"id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"v":"\xff"}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"v":01}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"v":"a\x01b"}}',
            b'{"jsonrpc":"2.0","id":1,"result":{}} x',
            b'{"jsonrpc":"2.0","id":1,"result":{}',
        ]
        for attempt, line in self.each([(x,) for x in bad]):
            with attempt as w:
                w.call(1)
                w.server_line()
                w.send_server(line + b"\n")
                self.assertError(w.recv_client(), 1, CANNOT)
                w.answer(1)         # late: the id is not open any more
                w.barrier()
                w.round_trip(1)

    def test_two_ids_in_one_answer(self):
        """No client may take it for the answer to another call."""
        for line in ('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
                     '{"jsonrpc":"2.0","id":1,"result":{"a":1},"result":{"a":2}}',
                     '{"jsonrpc":"2.0","id":1,"i\\u0064":2,"result":{}}'):
            with self.subTest(line):
                w = self.session()
                w.call(1), w.call(2)
                w.server_line(), w.server_line()
                w.send_server(line)
                w.send_client({"jsonrpc": "2.0", "id": "m", "method": "ping"})
                w.server_line()
                w.send_server({"jsonrpc": "2.0", "id": "m", "result": {}})
                while (got := w.recv_client())["id"] != "m":
                    self.assertIn("error", got)

    def test_tolerances(self):
        w = self.session()
        line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{ "n":%d }}'
        w.send_server(b"\xef\xbb\xbf" + line % 1 + b"\r\n\n\r\n" + line % 2 + b"\n\n")
        self.assertEqual(json.loads(w.client_line())["params"]["n"], 1)
        self.assertEqual(json.loads(w.client_line())["params"]["n"], 2)
        w.barrier()

    def test_valid_messages_pass_byte_for_byte(self):
        w = self.session()
        w.handshake()
        lines = [
            b'{ "jsonrpc":"2.0" , "method":"notifications/message","params":{"level":"info","data":"\\u0041\\/"}}',
            b'{"params":{"uri":"file:///x"},"method":"notifications/resources/updated","jsonrpc":"2.0"}',
            b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
            b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}',
            b'{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"x":1,"x":2}}',
            b'{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}',
            b'{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t"}}',
            b'{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}',
            b'{"jsonrpc":"2.0","method":"notifications/vendor/new","params":{"a":[1.0,1e2,-0,1e400]}}',
            '{"jsonrpc":"2.0","method":"notifications/x","params":{"v":"\u2028\u2029\u0085\\u0000\\ud83d\U0001f642"}}'
            .encode(),
        ]
        for line in lines:
            w.send_server(line + b"\n")
            self.assertEqual(w.client_line(), line)
        for line in (b'{"jsonrpc":"2.0","id":1,"result":{"v":"\\u0000\\ud83d","a":1,"a":2,"b":1.0}}',
                     b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"x":[1.0]}}}',
                     b'{"jsonrpc":"2.0","id":1,"result":null}', b'{"id":1,"result":{},"jsonrpc":"2.0","x":0}',
                     b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'):
            w.call(1)
            w.server_line()
            w.send_server(line + b"\n")
            self.assertEqual(w.client_line(), line)
        w.barrier()

    def test_carriage_returns(self):
        """Nothing behind one can be taken for a message of its own."""
        w = self.session()
        w.handshake()
        w.send_client({"jsonrpc": "2.0", "id": 5, "method": "tools/list"})
        w.server_line()
        hidden = b'{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"evil"}]}}'
        w.send_server(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":\r'
                      + hidden + b'\r,"level":"info",\r\r"logger":"a\\rb"}}\r\r\n')
        line = w.client_line()
        self.assertNotIn(b"\r", line)
        self.assertEqual(json.loads(line)["params"], {
            "data": json.loads(hidden), "level": "info", "logger": "a\rb"})
        w.barrier()

    def test_tools_list_passes(self):
        w = self.session()
        w.handshake()
        tools = ",".join('{"name":"t%d","description":"\\u0041 \u00e9 ","inputSchema":{"type":"object","n":1.0},'
                         '"x-y":[%d]}' % (i, i) for i in range(500))
        w.send_client(message(1, "tools/list", "{}"))
        w.server_line()
        line = '{"jsonrpc":"2.0","id":1,"result":{ "tools":[%s],"nextCursor":""}}' % tools
        w.send_server(line)
        self.assertEqual(w.client_line().decode(), line)
        w.barrier()

    def test_too_many_tools(self):
        w = self.session()
        for count, fits in ((10000, True), (10001, False)):
            w.send_client(message(1, "tools/list", "{}"))
            w.server_line()
            line = '{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}' % ",".join(
                '{"name":"t%d"}' % i for i in range(count))
            w.send_server(line)
            if fits:
                self.assertEqual(w.client_line(30).decode(), line)
            else:
                self.assertError(w.recv_client(30), 1, CANNOT)
        w.barrier()

    def test_answers_nobody_waits_for(self):
        w = self.session()
        w.handshake()
        w.call(1), w.call("b")
        w.server_line(), w.server_line()
        for ident in ("2", '"1"', '"init"', "null", '"B"', '"b "', "1.0", "10", "-1", '"mark-9"'):
            w.send_server('{"jsonrpc":"2.0","id":%s,"result":{"forged":true}}' % ident)
            w.send_server('{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"forged"}}' % ident)
        w.send_server('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}')
        w.barrier()
        w.answer(1)
        self.assertEqual(w.recv_client()["id"], 1)
        w.answer(1)                 # twice
        w.send_server({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "late"}})
        w.barrier()
        w.answer("b")
        self.assertEqual(w.recv_client()["id"], "b")

    def test_answer_to_a_denied_call(self):
        w = self.session("version: 1\nrules: [{id: r, tool: evil, action: block}]\n")
        w.call(1, "evil")
        self.assertDenied(w.recv_client(), 1, "r")
        w.answer(1, "forged")
        w.barrier()

    def test_progress(self):
        def progress(token):
            return ('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,'
                    '"progress":0.5,"message":"half"}}' % token)
        w = self.session()
        w.call(1, _meta={"progressToken": "tok"})
        w.call(2, _meta={"progressToken": 7})
        w.call(3)
        for _ in range(3):
            w.server_line()
        for token in ('"TOK"', '"7"', "1", "3", '"nobody"', "8", "null"):
            w.send_server(progress(token))
        w.send_server('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}')
        w.barrier()
        for token in ('"tok"', "7", '"t\\u006fk"'):
            w.send_server(progress(token))
            self.assertEqual(w.client_line().decode(), progress(token))
        w.answer(1)
        w.client_line()
        w.send_server(progress('"tok"'))        # finished
        w.barrier()
        w.send_server(progress("7"))            # the other is not
        self.assertEqual(w.client_line().decode(), progress("7"))
        self.assertEqual(w.finish(), 0)
        self.assertGreaterEqual(w.event("session_end")["unknown_tokens"], 8)

    def test_progress_of_a_denied_call(self):
        w = self.session("version: 1\nrules: [{id: r, tool: evil, action: block}]\n")
        w.call(1, "evil", _meta={"progressToken": "tok"})
        w.client_line()
        w.send_server('{"jsonrpc":"2.0","method":"notifications/progress","params":'
                      '{"progressToken":"tok","progress":1}}')
        w.barrier()


class ServerRequests(Wire):
    REQUEST = '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"x":1.0}}'

    def test_dropped_without_a_session(self):
        w = self.session()
        w.send_client({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": dw.MODERN}})
        w.server_line()
        w.send_server({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "tools": []}})
        w.client_line()
        for method in ("sampling/createMessage", "roots/list", "elicitation/create", "ping", "x/y"):
            w.send_server(self.REQUEST % (1, method))
        w.barrier()
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.event("session_end")["dropped"], 5)

    def test_dropped_when_initialize_fails(self):
        w = self.session()
        w.send_client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}})
        w.server_line()
        error = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"2026-07-28 only","data":{"supported":["2026-07-28"]}}}'
        w.send_server(error + b"\n")
        self.assertEqual(w.client_line(), error)
        w.send_server(self.REQUEST % (1, "roots/list"))
        w.barrier()

    def test_pass_in_a_session(self):
        for version in dw.VERSIONS[:4]:
            with self.subTest(version):
                w = self.session()
                w.handshake(version)
                for ident in ("1", '"1"', "0", '"x"'):
                    request = self.REQUEST % (ident, "roots/list")
                    w.send_server(request)
                    self.assertEqual(w.client_line().decode(), request)
                for ident in ('"x"', "0", '"1"', "1"):
                    answer = '{"jsonrpc":"2.0","id":%s,"result":{"roots":[1.0,{"b":1,"a":2}]}}' % ident
                    w.send_client(answer)
                    self.assertEqual(dw.exact(w.server_line()), dw.exact(answer))
                    w.send_client(answer)       # a second time
                w.barrier()

    def test_error_answers_pass(self):
        w = self.session()
        w.handshake()
        w.send_server(self.REQUEST % (5, "sampling/createMessage"))
        w.client_line()
        answer = {"jsonrpc": "2.0", "id": 5, "error": {"code": -1, "message": "rejected", "data": [1]}}
        w.send_client(answer)
        w.forwarded(answer)
        w.send_client({"jsonrpc": "2.0", "id": 5, "result": {}})
        w.barrier()

    def test_answers_nobody_asked_for(self):
        w = self.session()
        w.handshake()
        w.call(3)
        w.server_line()
        w.send_server(self.REQUEST % (4, "ping"))
        w.client_line()
        for ident in (1, "4", 3, "init", 44, -4):
            w.send_client({"jsonrpc": "2.0", "id": ident, "result": {"forged": True}})
            w.send_client({"jsonrpc": "2.0", "id": ident, "error": {"code": 1, "message": "forged"}})
        w.barrier()
        w.send_client({"jsonrpc": "2.0", "id": 4, "result": {}})
        self.assertEqual(w.recv_server()["id"], 4)

    def test_same_id_both_ways(self):
        """The two directions have ids of their own."""
        w = self.session()
        w.handshake()
        w.call(1)
        w.server_line()
        w.send_server(self.REQUEST % (1, "ping"))
        self.assertEqual(w.recv_client()["method"], "ping")
        w.send_client({"jsonrpc": "2.0", "id": 1, "result": {}})
        self.assertEqual(w.recv_server(), {"jsonrpc": "2.0", "id": 1, "result": {}})
        w.answer(1)
        self.assertEqual(w.recv_client()["id"], 1)
        w.barrier()

    def test_cancellation_both_ways(self):
        w = self.session()
        w.handshake()
        w.call(1)
        w.server_line()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled",
                  "params": {"requestId": 1, "reason": "no"}}
        w.send_client(cancel)
        w.forwarded(cancel)
        w.send_server(self.REQUEST % (9, "roots/list"))
        w.client_line()
        w.send_server('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}')
        self.assertEqual(w.recv_client()["method"], "notifications/cancelled")
        w.round_trip(2)
        w.round_trip(1)             # its id is free again

    def test_cancellation_of_a_denied_call(self):
        """The server never saw the call, so it hears nothing of its end."""
        w = self.session("version: 1\nrules: [{id: r, tool: evil, action: block}]\n")
        w.handshake()
        w.call(1, "evil")
        self.assertDenied(w.recv_client(), 1, "r")
        w.send_client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        w.barrier()

    def test_answer_after_a_cancellation(self):
        """2026-07-28: nothing more may come for that id."""
        w = self.session()
        w.call(1, _meta={**dw.MODERN, "progressToken": "t"})
        w.server_line()
        w.send_client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        w.server_line()
        w.answer(1)
        w.send_server({"jsonrpc": "2.0", "method": "notifications/progress",
                       "params": {"progressToken": "t", "progress": 1}})
        w.barrier()
        w.event("result", id=1, result="cancelled")

    def test_subscriptions(self):
        """Open for as long as it likes; the server may end one, and only one."""
        w = self.session()
        w.send_client({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen",
                       "params": {"notifications": {"toolsListChanged": True}, "_meta": dw.MODERN}})
        self.assertEqual(w.recv_server()["id"], "sub")
        w.call(1, _meta=dw.MODERN)
        w.server_line()
        for method in ("notifications/subscriptions/acknowledged", "notifications/tools/list_changed"):
            note = {"jsonrpc": "2.0", "method": method, "params": {
                "_meta": {"io.modelcontextprotocol/subscriptionId": "sub"}}}
            w.send_server(note)
            self.assertEqual(w.client_line(), dw.as_line(note)[:-1])
        end = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        w.send_server(end)      # a call of the client is not the server's to cancel
        w.barrier()
        end["params"]["requestId"] = "sub"
        w.send_server(end)
        self.assertEqual(w.client_line(), dw.as_line(end)[:-1])
        w.round_trip("sub")     # the id is free again
        w.answer(1)
        self.assertEqual(w.recv_client()["id"], 1)

    def test_progress_of_a_task(self):
        """2025-11-25: a task outlives its request, and so does its token."""
        w = self.session()
        w.handshake()
        w.call(1, task={"ttl": 60000}, _meta={"progressToken": "t"})
        w.server_line()
        created = {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "x", "status": "working"}}}
        w.send_server(created)
        self.assertEqual(w.recv_client(), created)
        progress = {"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": "t", "progress": 1}}
        w.send_server(progress)
        self.assertEqual(w.recv_client(), progress)

    def test_both_eras_on_one_pipe(self):
        w = self.session()
        w.send_client({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": dw.MODERN}})
        self.assertEqual(w.recv_server()["method"], "server/discover")
        error = b'{"jsonrpc":"2.0","id":"d","error":{"code":-32601,"message":"Method not found"}}'
        w.send_server(error + b"\n")
        self.assertEqual(w.client_line(), error)
        w.handshake()
        w.round_trip(1, _meta=dw.MODERN)
        w.round_trip(2)
        w.send_server(self.REQUEST % (1, "ping"))
        self.assertEqual(w.recv_client()["method"], "ping")

    def test_probe_without_an_answer(self):
        """A legacy server may stay silent to server/discover."""
        w = self.session()
        w.send_client({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": dw.MODERN}})
        w.server_line()
        w.handshake("2024-11-05")
        w.round_trip(1)


class Suite(Wire):
    """JSONTestSuite through the real relays.  A newline ends a message, so
    in the y_ files, where every newline is white space, a blank stands for
    it; an n_ file with newlines arrives as several lines, none of which may
    get through."""

    # Valid JSON that is refused from a client on purpose.
    REFUSED = {
        "y_object_duplicated_key.json": "duplicate_key",
        "y_object_duplicated_key_and_value.json": "duplicate_key",
        "y_object_escaped_null_in_key.json": "nul_in_string",
        "y_string_null_escape.json": "nul_in_string",
    }
    # A duplicated "" key and NUL have no place in an argument, whatever a
    # file's own class; i_ files may go either way, but never change.

    def files(self, kind):
        names = sorted(n for n in os.listdir(SUITE) if n.startswith(kind + "_"))
        self.assertGreater(len(names), 30)
        for name in names:
            with open(os.path.join(SUITE, name), "rb") as f:
                yield name, f.read()

    def test_y_from_the_client(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("y"))):
            with attempt as w:
                line = with_value(n, data.replace(b"\n", b" "))
                want = dw.exact(line)
                w.send_client(line + b"\n")
                if name in self.REFUSED:
                    self.assertError(w.recv_client(), n, -32600)
                    self.assertEqual(w.events("refusal")[-1]["reason"], self.REFUSED[name])
                    w.barrier()
                else:
                    self.assertEqual(dw.exact(w.server_line()), want)

    def test_n_from_the_client(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("n"))):
            with attempt as w:
                line = with_value(n, data)
                with self.assertRaises(ValueError):     # the wrapping keeps it invalid
                    dw.exact(line.decode()) if len(line) < 90000 else int("x")
                w.send_client(line + b"\n")
                for _ in line.split(b"\n"):
                    answer = w.recv_client()
                    self.assertIn(answer["id"], (n, None))
                    self.assertIn(answer["error"]["code"], (-32700, -32600))
                w.barrier()

    def test_i_from_the_client(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("i"))):
            with attempt as w:
                line = with_value(n, data)
                self.assertNotIn(b"\n", line)
                w.send_client(line + b"\n")
                w.pump(lambda: w.client_out.lines or w.server_in.lines, what="a decision")
                if w.server_in.lines:
                    self.assertEqual(dw.exact(w.server_line()), dw.exact(line))
                else:
                    answer = w.recv_client()
                    self.assertIn(answer["error"]["code"], (-32700, -32600))
                    w.barrier()

    def result(self, n, data):
        return b'{"jsonrpc":"2.0","id":%d,"result":{"v":' % n + data + b"}}"

    def test_y_from_the_server(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("y"))):
            with attempt as w:
                line = self.result(n, data.replace(b"\n", b" "))
                w.call(n)
                w.server_line()
                w.send_server(line + b"\n")
                self.assertEqual(w.client_line(), line)

    def test_n_from_the_server(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("n"))):
            with attempt as w:
                w.call(n)
                w.server_line()
                w.send_server(self.result(n, data) + b"\n")
                self.assertError(w.recv_client(), n, CANNOT)
                w.barrier()

    def test_i_from_the_server(self):
        for n, (attempt, name, data) in enumerate(self.each(self.files("i"))):
            with attempt as w:
                line = self.result(n, data)
                w.call(n)
                w.server_line()
                w.send_server(line + b"\n")
                got = w.client_line()
                if got != line:
                    self.assertError(json.loads(got), n, CANNOT)
                w.barrier()

    def test_bare_values(self):
        """The files themselves as lines: none is a message, none gets by."""
        for kind in "yni":
            for attempt, name, data in self.each(self.files(kind)):
                with attempt as w:
                    w.send_client(data + b"\n")
                    w.send_server(data + b"\n")
                    w.send_client({"jsonrpc": "2.0", "id": "m", "method": "ping"})
                    self.assertEqual(json.loads(w.server_line())["id"], "m")
                    w.send_server({"jsonrpc": "2.0", "id": "m", "result": {}})
                    while (got := w.recv_client())["id"] != "m":
                        # Some of the files have a member called id.
                        self.assertError(got, got["id"], got["error"]["code"])
                        self.assertIn(got["error"]["code"], (-32700, -32600))


class Flow(Wire):
    BOUND = 150 * MIB if not dw.SAN else 1200 * MIB

    def memory(self, w):
        return sum(dw.rss(p) for p in [w.pid] + [
            x.pid for side, x in w.processes().items() if side in ("client", "server")])

    def test_many_calls_before_reading(self):
        for stdio in ("pipe", "socket"):
            with self.subTest(stdio):
                w = self.session(stdio=stdio)
                w.client_out.paused = True
                text = "x" * 20000
                for i in range(64):
                    w.send_client({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
                        "name": "echo", "arguments": {"text": text}}}, wait=False)
                for i in range(64):
                    got = w.recv_server(20)
                    self.assertEqual(got["id"], i)
                    self.assertEqual(got["params"]["arguments"]["text"], text)
                    w.send_server({"jsonrpc": "2.0", "id": i, "result": {"text": text}}, wait=False)
                w.pump(lambda: not w.client_in.queue, 20, "all calls to be taken")
                w.client_out.paused = False
                for i in range(64):
                    got = w.recv_client(20)
                    self.assertEqual((got["id"], got["result"]["text"]), (i, text))
                w.barrier()

    def stall(self, w, writer):
        """Pumps until nothing more is taken for a second; bytes taken."""
        last, since = writer.total, time.monotonic()
        while time.monotonic() - since < 1.0 * dw.SLOW:
            w.turn(0.1)
            if writer.total != last:
                last, since = writer.total, time.monotonic()
            self.assertLess(self.memory(w), self.BOUND)
        return last

    def test_client_does_not_read(self):
        for stdio in ("pipe", "socket"):
            with self.subTest(stdio):
                w = self.session(stdio=stdio)
                w.client_out.paused = True
                line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\n' % (b"d" * 10000)
                count = 300 * MIB // len(line)
                block = line * 100
                for _ in range(count // 100):
                    w.send_server(block, wait=False)
                taken = self.stall(w, w.server_out)
                self.assertLess(taken, 64 * MIB)
                w.client_out.keep = False
                w.client_out.paused = False
                w.pump(lambda: not w.server_out.queue, 60, "the flood to pass")
                total = count // 100 * len(block)
                w.pump(lambda: w.client_out.total == total, 60, "the flood to arrive")
                w.client_out.keep = True
                w.barrier()

    def test_server_does_not_read(self):
        w = self.session()
        w.order("pause")
        line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"data":"%s"}}\n' % (b"d" * 10000)
        count = 300 * MIB // len(line)
        block = line * 100
        for _ in range(count // 100):
            w.send_client(block, wait=False)
        taken = self.stall(w, w.client_in)
        self.assertLess(taken, 64 * MIB)
        # What the server says meanwhile still goes out.
        w.send_server('{"jsonrpc":"2.0","method":"notifications/y"}')
        self.assertEqual(w.recv_client()["method"], "notifications/y")
        w.server_in.keep = False
        w.order("resume")
        w.pump(lambda: not w.client_in.queue, 60, "the flood to pass")
        total = count // 100 * len(block)
        w.pump(lambda: w.server_in.total == total, 60, "the flood to arrive")
        w.server_in.keep = True
        w.barrier()

    def test_refusals_to_a_client_that_does_not_read(self):
        """A flood of bad lines makes a flood of errors: bounded as well."""
        w = self.session()
        w.client_out.paused = True
        block = b'{"jsonrpc":"2.0","id":1,"method":5}\n' * 2000
        for _ in range(1000):
            w.send_client(block, wait=False)
        taken = self.stall(w, w.client_in)
        self.assertLess(taken, 64 * MIB)

    def test_long_pauses(self):
        """Longer than Doorward waits for a relay of its own: neither end may
        take the other's pause for a fault."""
        w = self.session()
        w.round_trip(0)
        w.order("pause")
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "echo", "arguments": {"x": "y" * (6 * MIB)}}}
        w.send_client(call)
        w.client_out.paused = True
        big = dw.as_line({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "z" * (6 * MIB)}})
        w.send_server(big, wait=False)
        w.pump_for(12)
        w.client_out.paused = False
        self.assertTrue(w.client_line() + b"\n" == big, w.report())
        w.order("resume")
        w.forwarded(call)
        w.send_client(b'{"jsonrpc":"2.0",')     # half a line is no fault either
        w.send_server(b'{"jsonrpc":"2.0",')
        w.pump_for(12)
        w.send_client(b'"id":2,"method":"ping"}\n')
        self.assertEqual(w.recv_server()["id"], 2)
        w.send_server(b'"id":2,"result":{}}\n')
        self.assertEqual(w.recv_client()["id"], 2)
        w.barrier()

    def test_stopped_and_continued(self):
        """A monitor that was suspended in the middle of a message."""
        w = self.session()
        line = with_value(1, b'"' + b"x" * (32 * MIB) + b'"') + b"\n"
        w.send_client(line, wait=False)
        w.pump_for(0.05)
        os.kill(w.pid, signal.SIGSTOP)
        w.pump_for(11)
        os.kill(w.pid, signal.SIGCONT)
        self.assertEqual(w.server_line(30) + b"\n", line)
        w.answer(1)
        w.client_line()
        w.barrier()

    def test_order_and_concurrency(self):
        w = self.session()
        for i in range(200):
            w.send_client(message(i), wait=False)
        seen = [json.loads(w.server_line())["id"] for _ in range(200)]
        self.assertEqual(seen, list(range(200)))
        order = list(range(200))
        random.Random(7).shuffle(order)
        for i in order:
            w.send_server({"jsonrpc": "2.0", "id": i, "result": {"n": i}}, wait=False)
        self.assertEqual([json.loads(w.client_line())["id"] for _ in range(200)], order)

    def test_small_pieces(self):
        """Bytes one at a time, and several messages in one piece."""
        w = self.session()
        line = (message(1, params='{"name":"echo","arguments":{"t":"\u00e9\U0001f642\\n"}}') + "\n").encode()
        for i in range(len(line)):
            w.send_client(line[i:i + 1])
            if i % 10 == 0:
                time.sleep(0.001)
        self.assertEqual(dw.exact(w.server_line()), dw.exact(line))
        w.send_client(b"".join((message(i) + "\n").encode() for i in range(2, 50)))
        for i in range(2, 50):
            self.assertEqual(json.loads(w.server_line())["id"], i)

    def test_all_kinds_of_stdio(self):
        for stdio in ("pipe", "socket", "pty"):
            for user in dw.users():
                with self.subTest(stdio=stdio, user=user):
                    w = self.session(stdio=stdio, user=user,
                                     stderr="stdout" if stdio == "pty" else "socket")
                    w.handshake()
                    w.round_trip(1, arguments={"x": "y" * 3000})
                    w.barrier()
                    self.assertIn(w.finish(), (0, 129))


class Differential(Wire):
    """P8: what reaches the server parses to the value that the client wrote,
    in Python and in Node."""
    ODD = ("\u00e9\u0301\u200b\u200d\u2028\u2029\u0085\ufeff\ufffd\uffff\u202e\u00a0\u3000\U0001f642\U0001f468"
           "\U0010ffff\x7f\u0080aZ09 \"\\/\b\f\n\r\t\x01\x1f<>&'`${}[]:,#")
    NUMBERS = ["0", "-0", "1", "1.0", "-1.50", "1e2", "1E+2", "1e-7", "0.1", "9007199254740993",
               "-9223372036854775809", "123456789012345678901234567890", "1e308", "5e-324",
               "3.14159265358979323846264338", "0e10", "100000000000000000000000.5", "-0.0", "-0e-0"]

    def string(self, r):
        out = []
        for _ in range(r.choice((0, 1, 3, 8, 40))):
            c = r.choice(self.ODD) if r.random() < 0.7 else chr(r.choice(
                (r.randrange(32, 127), r.randrange(160, 0xd800), r.randrange(0xe000, 0x110000))))
            if c in '"\\' or c < " ":
                short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n",
                         "\r": "\\r", "\t": "\\t"}.get(c)
                out.append(short if short and r.random() < 0.7 else "\\u%04x" % ord(c))
            elif r.random() < 0.3:
                units = c.encode("utf-16-be")
                out.extend("\\u%02X%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
            elif c == "/" and r.random() < 0.5:
                out.append("\\/")
            else:
                out.append(c)
        return '"%s"' % "".join(out)

    def value(self, r, depth):
        blank = r.choice(("", "", " ", "\t", "  "))
        kind = r.randrange(8 if depth > 0 else 6)
        if kind < 2:
            return self.string(r)
        if kind < 4:
            return blank + r.choice(self.NUMBERS) + blank
        if kind < 6:
            return r.choice(("true", "false", "null"))
        if kind == 6:
            return "[" + blank + ",".join(self.value(r, depth - 1) for _ in range(r.randrange(5))) + "]"
        keys = {}
        for _ in range(r.randrange(5)):
            key = self.string(r) if r.random() < 0.7 else r.choice(
                ('"__proto__"', '"constructor"', '"10"', '"2"', '"Name"', '"toString"'))
            keys.setdefault(json.loads(key), key)
        return "{" + ",".join("%s%s:%s%s" % (blank, k, blank, self.value(r, depth - 1))
                              for k in keys.values()) + "}"

    def test_same_value(self):
        node = shutil.which("node")
        self.assertIsNotNone(node, "node is needed")
        r = random.Random(20260728)
        lines = [message(i, params='{"name":%s,"arguments":{"v":%s}}' % (
            self.string(r), self.value(r, 5)), more=',"extra":%s' % self.value(r, 2))
            for i in range(400)]
        names = {json.loads(line)["params"]["name"] for line in lines} - {""}
        w = self.session("version: 1\npacks: none\n", tools=[dw.tool(name) for name in names])
        sent, got = [], []
        for i, line in enumerate(lines):
            if not json.loads(line)["params"]["name"]:
                continue    # no tool is called that
            w.send_client(line.encode())
            w.send_client(b"\n")
            sent.append(line.encode())
            got.append(w.server_line())
            self.assertEqual(dw.exact(got[-1]), dw.exact(line), line)
            w.send_server({"jsonrpc": "2.0", "id": i, "result": {}}, wait=False)
            w.client_line()
        a = w.write_file("sent", b"\n".join(sent))
        b = w.write_file("got", b"\n".join(got))
        script = """
        const {isDeepStrictEqual} = require('util'), fs = require('fs');
        const [a, b] = process.argv.slice(1).map(f => fs.readFileSync(f, 'utf8').split('\\n'));
        let n = 0;
        if (a.length !== b.length) { console.log('lines'); process.exit(1); }
        for (let i = 0; i < a.length; i++) {
          const x = JSON.parse(a[i]), y = JSON.parse(b[i]);
          if (!isDeepStrictEqual(x, y) || JSON.stringify(x) !== JSON.stringify(y)) {
            console.log(a[i] + '\\n' + b[i]); process.exit(1);
          }
          n++;
        }
        console.log(n);"""
        done = subprocess.run([node, "-e", script, a, b], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, str(len(got))), done.stdout + done.stderr)
        self.assertGreater(len(got), 300)
