"""The real relay with a monitor that only listens: what it says of every
input, what it holds while it lives, and when it ends.
"""
import fcntl
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import tty
import unittest

import dw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD") or "build")
SUFFIX = os.environ.get("SUFFIX", "")
SANITIZED = bool(SUFFIX)
RELAY = os.path.join(BUILD, "doorward-relay" + SUFFIX)
RELAY_TEST = os.path.join(BUILD, "test", "doorward-relay" + SUFFIX)
ORDINARY = 65534
MIB = 1 << 20
MESSAGE_MAX = 64 * MIB
PART_MAX = 256 * 1024

TYPES = {1: "HELLO", 2: "NOTE", 3: "EOI", 4: "TREE_PART", 5: "TREE_END",
         6: "REFUSE", 7: "ENVELOPE", 8: "LINE_PART", 9: "RESULT_PART",
         10: "RESULT_END"}
RESULT, UNREADABLE = 8, 16      # flags of an ENVELOPE
REASONS = {1: "GRAMMAR", 2: "UTF8", 3: "INCOMPLETE", 4: "TOO_LONG",
           5: "DEPTH", 9: "DUPLICATE", 11: "ARRAY", 13: "JSONRPC"}


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def scalar(body, at):
    kind, length = struct.unpack_from("<BH", body, at)
    text = body[at + 3:at + 3 + length]
    value = {0: None, 1: text.decode(), 2: '"' + text.decode("utf-8")}[kind]
    return value, at + 3 + length


class Refuse:
    def __init__(self, body):
        reason, self.offset = struct.unpack_from("<HQ", body)
        self.reason = REASONS.get(reason, reason)
        self.id, at = scalar(body, 10)
        length, = struct.unpack_from("<H", body, at)
        self.sample = body[at + 2:]
        assert len(self.sample) == length


class Envelope:
    def __init__(self, body):
        self.kind, self.flags, self.length = struct.unpack_from("<BBI", body)
        self.id, at = scalar(body, 6)
        self.token, at = scalar(body, at)
        n, = struct.unpack_from("<H", body, at)
        self.method = body[at + 2:at + 2 + n].decode()


def tree(body):
    """A tree as what json.loads() makes of its line, numbers as text."""
    def text(at):
        n, = struct.unpack_from("<I", body, at)
        return body[at + 4:at + 4 + n].decode(), at + 4 + n

    def value(at):
        tag = body[at:at + 1]
        at += 1
        if tag in (b"n", b"t", b"f"):
            return {b"n": None, b"t": True, b"f": False}[tag], at
        if tag == b"0":
            word, at = text(at)
            return ("number", word), at
        if tag == b'"':
            return text(at)
        out = {} if tag == b"{" else []
        while body[at:at + 1] != b".":
            if tag == b"{":
                assert body[at:at + 1] == b":"
                key, at = text(at + 1)
                out[key], at = value(at)
            else:
                item, at = value(at)
                out.append(item)
        return out, at + 1

    result, at = value(0)
    assert at == len(body)
    return result


def loads(line):
    number = lambda word: ("number", word)  # noqa: E731
    return json.loads(line, parse_int=number, parse_float=number)


class Relay:
    """A relay between a stream of ours and a socket of ours."""

    def __init__(self, side="client", stream=None, uid=None, program=RELAY,
                 env=None, args=(), extra=None):
        self.sock, theirs = socket.socketpair()
        self.stream = None
        if stream is None:
            stream, self.stream = os.pipe()
        opened = os.open(program, os.O_RDONLY)
        exe = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(opened)
        null = os.open(os.devnull, os.O_WRONLY)

        def child():
            os.dup2(stream, 0)
            if theirs.fileno() != 3:
                os.dup2(theirs.fileno(), 3)
            if extra is not None:
                os.dup2(extra, 9)
            if uid is not None:
                become(uid)

        keep = (3, exe) if extra is None else (3, exe, 9)
        self.child = subprocess.Popen(
            ["doorward-relay", side, *args], preexec_fn=child, env=env or {},
            executable="/proc/self/fd/%d" % exe, pass_fds=keep, stdin=stream,
            stdout=null, stderr=null)
        self.pid = self.child.pid
        theirs.close()
        os.close(stream)
        os.close(exe)
        os.close(null)
        self.pending = b""
        self.calls = 0
        self.sock.settimeout(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.stream is not None:
            os.close(self.stream)
        self.sock.close()
        try:
            self.child.wait(20)
        finally:
            self.child.kill()
            self.child.wait()

    def feed(self, data, close=False):
        """Writes from a thread, since the relay may wait for us to read."""
        def write():
            view = memoryview(data)
            fd = self.stream
            while view:
                view = view[os.write(fd, view):]
            if close:
                self.stream = None
                os.close(fd)
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        return thread

    def frame(self):
        """(type, call, body), or None at the end."""
        while True:
            if len(self.pending) >= 16:
                n, kind, zero, call = struct.unpack_from("<IHHQ", self.pending)
                assert zero == 0 and n <= MIB
                if len(self.pending) >= 16 + n:
                    body = self.pending[16:16 + n]
                    self.pending = self.pending[16 + n:]
                    return TYPES[kind], call, body
            data = self.sock.recv(MIB)
            if not data:
                assert not self.pending, "ended inside a frame"
                return None
            self.pending += data

    def message(self):
        """The next message: (what, value), or (EOI, None)."""
        parts, envelope, tools = [], None, None
        while True:
            got = self.frame()
            assert got is not None, "ended without EOI"
            kind, call, body = got
            if kind in ("HELLO", "NOTE", "EOI"):
                assert call == 0
                return kind, body
            if not parts and envelope is None and tools is None:
                self.calls += 1
            assert call == self.calls, "call numbers have a gap"
            if kind == "REFUSE":
                return kind, Refuse(body)
            assert len(body) <= PART_MAX
            parts.append(body)
            if kind == "TREE_END":
                return "TREE", tree(b"".join(parts))
            if kind == "RESULT_END":
                tools, parts = tree(b"".join(parts)), []
            elif kind == "ENVELOPE":
                assert len(parts) == 1
                envelope, parts = Envelope(body), []
            elif kind == "LINE_PART":
                if sum(map(len, parts)) >= envelope.length:
                    line = b"".join(parts)
                    assert len(line) == envelope.length
                    return "LINE", (envelope, line, tools)

    def hello(self):
        kind, body = self.message()
        assert kind == "HELLO", kind
        protocol, abi, layers = struct.unpack("<HHI", body)
        assert protocol == 1
        return layers, abi

    def rest(self):
        """All messages up to the end."""
        out = []
        while True:
            kind, value = self.message()
            if kind == "EOI":
                assert self.frame() is None
                return out
            out.append((kind, value))

    def proc(self, name):
        with open("/proc/%d/%s" % (self.pid, name)) as f:
            return f.read()

    def status(self, key):
        for line in self.proc("status").splitlines():
            if line.startswith(key + ":"):
                return line.split(":")[1].strip()
        return None

    def rss(self):
        return int(self.status("VmRSS").split()[0]) * 1024


def all_of(data, side="client", pieces=None, **how):
    """What a relay says of a whole input."""
    with Relay(side, **how) as relay:
        relay.hello()
        if pieces is None:
            relay.feed(data, close=True)
        else:
            for i in range(0, len(data), pieces):
                os.write(relay.stream, data[i:i + pieces])
                time.sleep(0.001)
            relay.feed(b"", close=True)
        out = relay.rest()
        assert relay.child.wait(20) == 0
        return out


CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}'


class Reading(unittest.TestCase):
    def test_tree_is_the_line(self):
        line = (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"x",'
                b'"params":{"a":[1.0,1e2,-0,"\\u00e9\\ud83d\\ude42\\n",'
                b'null,true,{"":{}}],"\xe2\x80\xa8":"\xc2\x85"}}')
        (kind, value), = all_of(line + b"\n")
        self.assertEqual(kind, "TREE")
        self.assertEqual(value, loads(line))
        self.assertEqual(list(value), list(loads(line)))

    def test_line_is_the_line(self):
        line = b' {"id":"z", "jsonrpc":"2.0","result":{"x":"\\ud83d"}} '
        (_, (envelope, raw, tools)), = all_of(line + b"\r\n", "server")
        self.assertEqual(raw, line)
        self.assertIsNone(tools)
        self.assertEqual((envelope.kind, envelope.id), (3, '"z'))

    def test_listing_is_sent_twice(self):
        line = (b'{"jsonrpc":"2.0","id":1,"result":{"tools":'
                b'[{"name":"a"},{"name":"b"}]}}')
        (_, (envelope, raw, tools)), = all_of(line + b"\n", "server")
        self.assertEqual((raw, tools), (line, loads(line)))
        self.assertEqual(envelope.flags, 8)

    def told(self, result, **also):
        """(flags, tree) of an answer whose result has this text."""
        line = b'{"jsonrpc":"2.0","id":1,"result":%s%s}' % (
            result, b"".join(b',"%s":%s' % (k.encode(), v) for k, v in also.items()))
        (_, (envelope, raw, tools)), = all_of(line + b"\n", "server")
        self.assertEqual((raw, envelope.kind, envelope.id), (line, 3, "1"))
        return envelope.flags, tools

    def test_tool_that_cannot_be_a_tree(self):
        """It becomes null in its place; the others are told."""
        good = {"name": "good", "n": ("number", "1.0")}
        for bad in (b'{"name":"a\\u0000"}', b'{"name":"\\ud800"}', b'{"a\\u0000":1}',
                    b'{"name":"a","name":"b"}', b'{"name":"a","x":[{"k":1,"\\u006b":2}]}',
                    b'"\\udc00"'):
            flags, told = self.told(b'{"tools":[{"name":"good","n":1.0}, %s ,'
                                    b'{"name":"good","n":1.0}],"nextCursor":"c"}' % bad)
            self.assertEqual(flags, RESULT, bad)
            self.assertEqual(told["result"], {"tools": [good, None, good], "nextCursor": "c"})

    def test_fault_outside_the_tools(self):
        """No tree at all: what cannot be read in one way only is not told."""
        listed = b'"tools":[{"name":"a"}]'
        for result in (b'{%s,"nextCursor":"\\u0000"}' % listed, b'{%s,"x":"\\ud800"}' % listed,
                       b'{%s,"x":1,"x":2}' % listed, b'{%s,%s}' % (listed, listed),
                       b'{%s,"too\\u006cs":[]}' % listed, b'{"_meta":{"a":1,"a":1},%s}' % listed,
                       b'{%s,"Tools":[]}' % listed, b'{%s,"NextCursor":"c"}' % listed,
                       b'{"instructions":"a","In\\u0073tructionS":"b"}',
                       b'{"serverInfo":{"name":"\\u0000"}}',
                       b'{"instructions":"a","instructions":"b"}'):
            self.assertEqual(self.told(result), (UNREADABLE, None), result)
        # Besides the result, too.
        self.assertEqual(self.told(b"{%s}" % listed, x=b'"\\ud800"'), (UNREADABLE, None))

    def test_introduction_is_told(self):
        for result in (b'{"serverInfo":{"name":"n","version":"1"},"instructions":"do"}',
                       b'{"instructions":"do"}', b'{"serverInfo":{}}'):
            self.assertEqual(self.told(result), (RESULT, {
                "jsonrpc": "2.0", "id": ("number", "1"), "result": loads(result)}))

    def test_what_is_not_told(self):
        """Other results travel as their line alone, whatever is in them."""
        for result in (b'{"content":[]}', b'{}', b'[]', b'"x"', b'{"x":"\\u0000"}',
                       b'{"tool":[{"name":"a"}]}', b'{"x":{"tools":[]}}'):
            self.assertEqual(self.told(result), (0, None), result)

    def test_every_way_to_cut_it(self):
        data = (b"\xef\xbb\xbf" + CALL % 1 + b"\r\n\n \t\r\n" +
                '{"jsonrpc":"2.0","method":"é🙂"}\n'.encode() + b"nonsense\n" +
                b'{"jsonrpc":"2.0","id":"cut"')
        want = None
        for pieces in (None, 1, 2, 3, 5, 64):
            got = all_of(data, pieces=pieces)
            kinds = [kind for kind, _ in got]
            self.assertEqual(kinds, ["TREE", "TREE", "REFUSE", "REFUSE"])
            self.assertEqual(got[3][1].reason, "INCOMPLETE")
            self.assertEqual(got[3][1].id, '"cut')
            trees = [value for kind, value in got if kind == "TREE"]
            want = want or trees
            self.assertEqual(trees, want)

    def test_refusals_keep_the_session(self):
        data = (b'{"id":7,"x":tru}\n[]\n' + CALL % 1 + b"\n" +
                b'{"x":"\xff","id":"q"}\n' + CALL % 2 + b"\n")
        got = all_of(data)
        self.assertEqual([k for k, _ in got],
                         ["REFUSE", "REFUSE", "TREE", "REFUSE", "TREE"])
        refusals = [v for k, v in got if k == "REFUSE"]
        self.assertEqual([(r.reason, r.id) for r in refusals],
                         [("GRAMMAR", "7"), ("ARRAY", None),
                          ("UTF8", '"q')])
        self.assertEqual(refusals[0].offset, 12)

    def test_soft_faults_find_an_id_that_comes_last(self):
        deep = b"[" * 200 + b"]" * 200
        for body in (b'"a":1,"a":2', b'"v":"\\u0000"', b'"v":"\\ud800"',
                     b'"v":' + deep, b'"Method":1', b'"v":"\xc0\xaf"'):
            line = b'{"jsonrpc":"2.0","method":"x",%s,"id":"last"}\n' % body
            (kind, refuse), = all_of(line)
            self.assertEqual((kind, refuse.id), ("REFUSE", '"last'))

    def test_only_a_server_is_quoted(self):
        for side, sample in (("client", b""), ("server", b"x" * 80)):
            (_, refuse), = all_of(b"x" * 200 + b"\n", side)
            self.assertEqual(refuse.sample, sample)

    def test_many_small_ones(self):
        n = 20000
        got = all_of(b"".join(CALL % i + b"\n" for i in range(n)))
        self.assertEqual([v["id"] for _, v in got],
                         [("number", str(i)) for i in range(n)])


class Size(unittest.TestCase):
    def test_largest(self):
        head = b'{"jsonrpc":"2.0","id":1,"result":{"t":"'
        line = head + b"y" * (MESSAGE_MAX - len(head) - 3) + b'"}}'
        self.assertEqual(len(line), MESSAGE_MAX)
        with Relay("server") as relay:
            relay.hello()
            before = relay.rss()
            relay.feed(line + b"\r\n")
            kind, (_, raw, _) = relay.message()
            self.assertEqual((kind, raw == line), ("LINE", True))
            relay.feed(CALL % 1 + b"\n")
            self.assertEqual(relay.message()[0], "LINE")
            if not SANITIZED:
                self.assertLess(relay.rss() - before, 2 * MIB)

    def test_too_long(self):
        head = b'{"jsonrpc":"2.0","method":"x","params":{"t":"'
        with Relay("client") as relay:
            relay.hello()
            thread = relay.feed(head + b"y" * (100 * MIB) +
                                b'"},"id":"late"}\n' + CALL % 2 + b"\n")
            peak = 0
            while thread.is_alive():
                peak = max(peak, relay.rss())
                time.sleep(0.01)
            kind, refuse = relay.message()
            self.assertEqual((kind, refuse.reason, refuse.id),
                             ("REFUSE", "TOO_LONG", '"late'))
            self.assertEqual(relay.message()[0], "TREE")
            if not SANITIZED:
                self.assertGreater(peak, 32 * MIB)
                self.assertLess(peak, 72 * MIB)
                self.assertLess(relay.rss(), 8 * MIB)

    def test_nobody_reads(self):
        """It stops reading; nothing piles up in it."""
        with Relay("server") as relay:
            relay.hello()
            line = b'{"jsonrpc":"2.0","id":1,"result":"' + b"z" * MIB + b'"}\n'
            thread = relay.feed(line * 50, close=True)
            time.sleep(1)
            self.assertTrue(thread.is_alive())
            if not SANITIZED:
                self.assertLess(relay.rss(), 8 * MIB)
            self.assertEqual(len(relay.rest()), 50)

    @unittest.skipIf(SANITIZED, "a sanitizer's allocator asks for more")
    def test_most_keys(self):
        """The worst line for its own memory fits into its limits."""
        body = b",".join(b'"\\u0061%d":1' % i for i in range(990000))
        line = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{%s}}' % body
        pad = b" " * (MESSAGE_MAX - len(line))
        (kind, value), = all_of(line + pad + b"\n")
        self.assertEqual(kind, "TREE")
        self.assertEqual(len(value["params"]), 990000)


class Streams(unittest.TestCase):
    def test_terminal(self):
        parent, stream = pty.openpty()
        tty.setraw(stream)
        with Relay("client", stream=stream) as relay:
            relay.hello()
            os.write(parent, CALL % 1 + b"\n")
            self.assertEqual(relay.message()[0], "TREE")
            os.close(parent)
            self.assertEqual(relay.rest(), [])

    def test_socket(self):
        ours, stream = socket.socketpair()
        with Relay("client", stream=os.dup(stream.fileno())) as relay:
            relay.hello()
            stream.close()
            ours.sendall(CALL % 1 + b"\n")
            self.assertEqual(relay.message()[0], "TREE")
            ours.close()
            self.assertEqual(relay.rest(), [])

    def test_file(self):
        with tempfile.TemporaryFile() as f:
            f.write(CALL % 1 + b"\n" + CALL % 2 + b"\n")
            f.seek(0)
            with Relay("client", stream=os.dup(f.fileno())) as relay:
                relay.hello()
                self.assertEqual(len(relay.rest()), 2)

    def test_flags_stay(self):
        for flags in (0, os.O_NONBLOCK):
            read, write = os.pipe()
            old = fcntl.fcntl(read, fcntl.F_GETFL) | flags
            fcntl.fcntl(read, fcntl.F_SETFL, old)
            with Relay("client", stream=os.dup(read)) as relay:
                relay.hello()
                os.write(write, CALL % 1 + b"\n")
                self.assertEqual(relay.message()[0], "TREE")
                time.sleep(0.05)
                os.write(write, CALL % 2 + b"\n")
                self.assertEqual(relay.message()[0], "TREE")
                self.assertEqual(fcntl.fcntl(read, fcntl.F_GETFL), old)
                os.close(write)
                self.assertEqual(relay.rest(), [])
            os.close(read)


class Confined(unittest.TestCase):
    users = (None, ORDINARY) if os.geteuid() == 0 else (None,)

    def test_status(self):
        for uid in self.users:
            with self.subTest(uid=uid), Relay("server", uid=uid) as relay:
                relay.hello()
                self.assertEqual(relay.status("Seccomp"), "2")
                self.assertEqual(relay.status("NoNewPrivs"), "1")
                self.assertEqual(relay.status("Threads"), "1")
                for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                    self.assertEqual(int(relay.status(name), 16), 0, name)

    def test_bounding_set(self):
        for uid in self.users:
            with Relay("server", uid=uid) as relay:
                layers, _ = relay.hello()
                left = int(relay.status("CapBnd"), 16)
                self.assertEqual(left == 0, bool(layers & 1 << 3))

    @unittest.skipUnless(os.geteuid() == 0, "has to see another's /proc")
    def test_descriptors(self):
        for uid in self.users:
            extra = os.open("/", os.O_RDONLY)
            with Relay("client", uid=uid, extra=extra) as relay:
                relay.hello()
                where = "/proc/%d/fd" % relay.pid
                held = {int(fd): os.readlink(os.path.join(where, fd))
                        for fd in os.listdir(where)}
                self.assertEqual(sorted(held), [0, 1, 2, 3])
                self.assertTrue(held[0].startswith("pipe:"))
                self.assertTrue(held[3].startswith("socket:"))
                self.assertEqual(os.stat(where + "/1").st_rdev,
                                 os.stat(os.devnull).st_rdev)
            os.close(extra)

    @unittest.skipUnless(os.geteuid() == 0, "has to see another's /proc")
    def test_namespaces_are_what_it_says(self):
        names = {"user": 7, "net": 8, "mnt": 9, "ipc": 10}
        for uid in self.users:
            with Relay("client", uid=uid) as relay:
                layers, _ = relay.hello()
                for name, bit in names.items():
                    same = (os.readlink("/proc/%d/ns/%s" % (relay.pid, name))
                            == os.readlink("/proc/self/ns/" + name))
                    if name == "mnt" and not same and not dw.can_pivot():
                        self.assertFalse(layers & 1 << bit)
                        continue
                    self.assertEqual(not same, bool(layers & 1 << bit), name)
                if layers & 1 << names["mnt"]:
                    root = "/proc/%d/root" % relay.pid
                    self.assertEqual(os.listdir(root), [])
                    self.assertEqual(
                        len(relay.proc("mountinfo").splitlines()), 1)

    @unittest.skipUnless(os.geteuid() == 0, "has to be root to be another")
    def test_not_dumpable_by_its_own_doing(self):
        """Without a change of credentials, which would do it as well."""
        env = {"DOORWARD_TEST_NO_NAMESPACES": "1"}
        with Relay("client", uid=ORDINARY, program=RELAY_TEST,
                   env=env) as relay:
            relay.hello()
            self.assertEqual(os.stat("/proc/%d/environ" % relay.pid).st_uid, 0)

    @unittest.skipIf(os.geteuid() == 0, "root may look at everything")
    def test_not_dumpable(self):
        with Relay("client") as relay:
            relay.hello()
            self.assertRaises(PermissionError, os.listdir,
                              "/proc/%d/fd" % relay.pid)

    def test_limits(self):
        want = {"Max file size": "0", "Max open files": "4",
                "Max processes": "0", "Max core file size": "0",
                "Max locked memory": "0"}
        if not SANITIZED:
            want["Max address space"] = str(512 * MIB)
        with Relay("client") as relay:
            relay.hello()
            limits = relay.proc("limits") if os.geteuid() == 0 else None
            if limits is None:
                self.skipTest("has to see another's /proc")
            for name, value in want.items():
                line, = [x for x in limits.splitlines() if x.startswith(name)]
                self.assertEqual(line[len(name):].split()[:2], [value] * 2)

    def test_hooks_are_in_the_test_program_only(self):
        env = {"DOORWARD_TEST_LANDLOCK_ABI": "0",
               "DOORWARD_TEST_NO_NAMESPACES": "1"}
        seen = {}
        for program in (RELAY, RELAY_TEST):
            with Relay("client", program=program, env=env) as relay:
                seen[program] = relay.hello()
        with Relay("client") as relay:
            self.assertEqual(seen[RELAY], relay.hello())
        layers, abi = seen[RELAY_TEST]
        self.assertEqual((layers >> 6, abi), (0, 0))


class Life(unittest.TestCase):
    def test_signals(self):
        with Relay("client") as relay:
            relay.hello()
            self.assertEqual(os.getsid(relay.pid), relay.pid)
            for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                        signal.SIGPIPE):
                os.kill(relay.pid, sig)
            time.sleep(0.05)
            os.kill(relay.pid, signal.SIGSTOP)
            time.sleep(0.05)
            os.kill(relay.pid, signal.SIGCONT)
            relay.feed(CALL % 1 + b"\n")
            self.assertEqual(relay.message()[0], "TREE")

    def test_monitor_closes(self):
        with Relay("client") as relay:
            relay.hello()
            relay.sock.close()
            self.assertEqual(relay.child.wait(5), 0)

    def test_monitor_closes_while_it_writes(self):
        with Relay("server") as relay:
            relay.hello()
            line = b'{"jsonrpc":"2.0","id":1,"result":"' + b"z" * MIB + b'"}\n'
            os.write(relay.stream, line[:65536])
            thread = threading.Thread(target=self.swallow,
                                      args=(relay.stream, line[65536:] * 3))
            thread.start()
            time.sleep(0.2)
            relay.sock.close()
            self.assertEqual(relay.child.wait(5), 0)
            thread.join(10)

    @staticmethod
    def swallow(fd, data):
        try:
            os.write(fd, data)
        except BrokenPipeError:
            pass

    def test_monitor_shuts_down_its_side(self):
        with Relay("client") as relay:
            relay.hello()
            relay.sock.shutdown(socket.SHUT_WR)
            self.assertEqual(relay.child.wait(5), 0)

    def test_monitor_dies(self):
        """Even where the socket stays open in somebody else's hands."""
        ours, theirs = socket.socketpair()
        tell, told = os.pipe()
        stream, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            pid = os.fork()
            if pid == 0:
                os.dup2(stream, 0)
                os.dup2(theirs.fileno(), 30)
                os.dup2(30, 3)
                os.execve(RELAY, ["doorward-relay", "client"], {})
            os.write(told, struct.pack("<I", pid))
            time.sleep(60)
            os._exit(1)
        try:
            pid, = struct.unpack("<I", os.read(tell, 4))
            ours.settimeout(20)
            self.assertEqual(len(ours.recv(24, socket.MSG_WAITALL)), 24)
            self.assertNotIn(self.state(pid), (None, "Z"))
            os.kill(middle, signal.SIGKILL)
            os.waitpid(middle, 0)
            end = time.time() + 5
            while self.state(pid) not in (None, "Z") and time.time() < end:
                time.sleep(0.01)
            self.assertIn(self.state(pid), (None, "Z"))
        finally:
            for fd in (stream, writer, tell, told):
                os.close(fd)
            ours.close()
            theirs.close()

    @staticmethod
    def state(pid):
        try:
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None

    def test_debug(self):
        """Only then does it talk, and never in the middle of a message."""
        for args, want in (((), 0), (("--debug",), 3)):
            with Relay("server", args=args) as relay:
                relay.hello()
                relay.feed(b"one\x1b\n" + CALL % 1 + b"\ntwo\n", close=True)
                notes = [v for k, v in relay.rest() if k == "NOTE"]
                self.assertEqual(len(notes), want)
                self.assertTrue(all(n.isascii() for n in notes))

    def test_by_hand(self):
        for args in ([], ["client"], ["nonsense"]):
            done = subprocess.run([RELAY, *args], capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=20)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"not by hand", done.stderr)
            self.assertEqual(done.stdout, b"")

    def test_wrong_arguments(self):
        for side, args in (("both", ()), ("client", ("--verbose",)),
                           ("client", ("--debug", "x"))):
            with Relay(side, args=args) as relay:
                self.assertEqual(relay.child.wait(20), 2)
                self.assertIsNone(relay.frame())


if __name__ == "__main__":
    unittest.main()
