"""The harness of the end-to-end tests: a whole session held at both ends.

A test starts `doorward run ... -- puppet`, plays the client on its stdin and
stdout, and plays the server through the puppet (puppet.c), which passes bytes
on and obeys orders.  Nothing is faked in between: these are the real programs.

BUILD names the build directory (default build), SUFFIX the programs' suffix
("-san" for a sanitizer build, which gets more time).
"""
import collections
import ctypes
import fcntl
import functools
import json
import os
import pty
import pwd
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
import tty
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD") or "build")
SUFFIX = os.environ.get("SUFFIX", "")
SAN = bool(SUFFIX)
SLOW = 4 if SAN else 1
LONG = os.environ.get("DW_LONG") == "1"
NOBODY = "nobody"

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}

PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper():
    """Whatever a session leaves behind becomes our child, and is seen."""
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


become_subreaper()


def long(test):
    """Marks a test that runs only with --long."""
    return unittest.skipUnless(LONG, "long test, needs --long")(test)


def need_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


def users():
    """Whom a test runs as: ourselves, and an ordinary user if we are root."""
    return [None, NOBODY] if os.geteuid() == 0 else [None]


# ---- JSON that keeps what a plain parser loses ----

class Number(str):
    """A number's literal text: 1.0 is not 1."""


class Object(list):
    """Pairs in their order, duplicates included."""


def exact(text):
    """Parses text to a value in which order and number literals count."""
    def bad(name):
        raise ValueError("not JSON: " + name)
    return json.loads(text, object_pairs_hook=Object, parse_int=Number,
                      parse_float=Number, parse_constant=bad)


def dumps(obj):
    return json.dumps(obj, ensure_ascii=False, separators=(",", ":"))


def as_line(message):
    if isinstance(message, (bytes, bytearray)):
        return bytes(message)
    if isinstance(message, str):
        return message.encode() + b"\n"
    return dumps(message).encode() + b"\n"


OWN_LISTING = re.compile(rb'"id":"doorward-[0-9a-f]{32}"')

# What a puppet says it has, besides what was called by then.
TOOLS = {"echo", "a", "b", "pay", "unheard_of", "one", "two", "both", "other", "evil", "bad", "read_file", "read_mail",
         "send_email", "delete_", "delete_all", "delete_file", "delete_mail"}


def called(text):
    """Names of tools that a client's lines call, as far as they can be read."""
    if len(text) > 1 << 20 or b"tools/call" not in text:
        return
    for line in text.splitlines():
        try:
            message = json.loads(line)
            name = message["params"]["name"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(name, str) and name and len(name) <= 1024:
            yield name


def tool(name, description="a tool", properties=None, **fields):
    """A definition as servers have them."""
    return {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties or {}}, **fields}


# ---- processes ----

class Process(collections.namedtuple("Process", "pid start ppid state argv")):
    def __str__(self):
        return "%d %s %s" % (self.pid, self.state, " ".join(self.argv))


def read_process(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            rest = f.read().rsplit(")", 1)[1].split()
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            argv = f.read().rstrip(b"\0").decode("utf-8", "replace").split("\0")
    except (OSError, IndexError):
        return None
    return Process(pid, int(rest[19]), int(rest[1]), rest[0], argv)


def all_processes():
    found = (read_process(int(n)) for n in os.listdir("/proc") if n.isdigit())
    return [p for p in found if p is not None]


def descendants(pid):
    by_parent = collections.defaultdict(list)
    for p in all_processes():
        by_parent[p.ppid].append(p)
    todo, out = [pid], []
    while todo:
        for p in by_parent[todo.pop()]:
            out.append(p)
            todo.append(p.pid)
    return out


def status(pid):
    with open("/proc/%d/status" % pid) as f:
        return {k: v.strip() for k, v in
                (line.split(":", 1) for line in f if ":" in line)}


def descriptors(pid):
    """fd -> what it is, as /proc says."""
    base = "/proc/%d/fd" % pid
    out = {}
    for n in os.listdir(base):
        try:
            out[int(n)] = os.readlink(os.path.join(base, n))
        except FileNotFoundError:
            pass
    return out


def can_pivot():
    """Whether a process here can have another root: not in a plain chroot,
    whose root is no mount point, nor on the kernel's first file system."""
    with open("/proc/self/mountinfo") as f:
        mounts = [line.split() for line in f]
    return any(m[4] == "/" and m[m.index("-") + 1] != "rootfs" for m in mounts)


def fd_flags(pid, fd):
    with open("/proc/%d/fdinfo/%d" % (pid, fd)) as f:
        for line in f:
            if line.startswith("flags:"):
                return int(line.split()[1], 8)
    raise AssertionError("no flags")


def rss(pid):
    """Bytes in memory of a process, 0 if it is gone."""
    try:
        return int(status(pid)["VmRSS"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


# ---- programs, where the session's user can run them ----

def reachable(path):
    path = os.path.dirname(path)
    while path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        path = os.path.dirname(path)
    return True


@functools.lru_cache(maxsize=None)
def program_dir():
    """BUILD, or a copy of its programs where every user can reach them."""
    if os.geteuid() != 0 or reachable(os.path.join(BUILD, "x")):
        return BUILD
    copy = tempfile.mkdtemp(prefix="dw-bin-")
    os.chmod(copy, 0o755)
    os.mkdir(os.path.join(copy, "test"), 0o755)
    for sub in ("", "test"):
        for name in os.listdir(os.path.join(BUILD, sub)):
            path = os.path.join(BUILD, sub, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                shutil.copy(path, os.path.join(copy, sub, name))
        shutil.copytree(os.path.join(BUILD, sub, "packs"), os.path.join(copy, sub, "packs"))
    owner = os.getpid()
    import atexit
    atexit.register(lambda: os.getpid() == owner and
                    shutil.rmtree(copy, ignore_errors=True))
    return copy


def program(name="doorward"):
    return os.path.join(program_dir(), name + SUFFIX)


def puppet_path():
    return os.path.join(program_dir(), "test", "puppet")


def user_kwargs(user):
    if user is None:
        return {}
    pw = pwd.getpwnam(user)
    return {"user": pw.pw_uid, "group": pw.pw_gid, "extra_groups": []}


def give(path, user):
    if user is not None:
        pw = pwd.getpwnam(user)
        os.chown(path, pw.pw_uid, pw.pw_gid)


def clean_env():
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           "LANG": "C.UTF-8", "HOME": "/nonexistent"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


# ---- the wire ----

class Timeout(AssertionError):
    pass


class Reader:
    """One descriptor's incoming bytes, cut into lines."""

    def __init__(self, fd):
        self.fd = fd
        os.set_blocking(fd, False)
        self.buf = bytearray()
        self.scanned = 0
        self.lines = collections.deque()
        self.eof = False
        self.paused = False
        self.total = 0
        self.keep = True   # False: count the bytes and forget them
        self.takes = None  # called with each line; true: nobody else sees it
        self.step = 1 << 20
        self.every = 0.0   # seconds between two reads
        self.next_at = 0.0

    def wants(self, now):
        return not self.eof and not self.paused and now >= self.next_at

    def read(self, now):
        try:
            data = os.read(self.fd, self.step)
        except BlockingIOError:
            return
        except OSError:     # EIO of a terminal, ECONNRESET
            data = b""
        if self.every:
            self.next_at = now + self.every
        if not data:
            self.eof = True
            return
        self.total += len(data)
        if not self.keep:
            return
        self.buf += data
        while True:
            at = self.buf.find(b"\n", self.scanned)
            if at == -1:
                self.scanned = len(self.buf)
                return
            line = bytes(self.buf[:at])
            del self.buf[:at + 1]
            self.scanned = 0
            if self.takes is None or not self.takes(line):
                self.lines.append(line)


class Writer:
    def __init__(self, fd):
        self.fd = fd
        os.set_blocking(fd, False)
        self.queue = collections.deque()
        self.broken = False
        self.total = 0

    def put(self, data):
        if data:
            self.queue.append(memoryview(data))

    def write(self):
        while self.queue:
            head = self.queue[0]
            try:
                n = os.write(self.fd, head[:1 << 20])
            except BlockingIOError:
                return
            except OSError:
                self.broken = True
                self.queue.clear()
                return
            self.total += n
            if n == len(head):
                self.queue.popleft()
            else:
                self.queue[0] = head[n:]


class Ends:
    """The descriptors that the client and the wrapped program share."""

    def __init__(self, kind):
        self.kind = kind
        if kind == "pipe":
            self.child_in, self.to_child = os.pipe()
            self.from_child, self.child_out = os.pipe()
        elif kind == "socket":
            a, b = socket.socketpair()
            c, d = socket.socketpair()
            self.child_in, self.to_child = a.detach(), b.detach()
            self.child_out, self.from_child = c.detach(), d.detach()
        elif kind == "pty":
            master, slave = pty.openpty()
            tty.setraw(slave)
            self.child_in, self.to_child = slave, master
            self.child_out, self.from_child = os.dup(slave), os.dup(master)
        else:
            raise ValueError(kind)

    def close_child(self):
        os.close(self.child_in)
        os.close(self.child_out)


_live = set()   # pids that a session or test still answers for


class Wrapped:
    """A running session.  Everything that it starts is gone after close()."""

    def __init__(self, test, policy="version: 1\n", stdio="pipe", user=None,
                 args=(), server_args=(), command=None, env=None, cwd=None,
                 preexec=None, stderr="file", bare=False, state=None,
                 policies=None, binary=None, server=True, keep_ends=False,
                 tools=True):
        reap_the_dead()     # of a test before this one, that killed doorward
        self.test = test
        self.user = user
        self.keep_ends = keep_ends   # the program's own 0, 1 and 2 stay open here
        self.tools = tools   # what the monitor's own listing is answered with;
        self.called = set()
        self.listings = 0    # True: whatever the client calls; None: by the test
        self.kept = []
        self.closed = False
        self.expect_orphans = False
        self.dir = tempfile.mkdtemp(prefix="dw-")
        give(self.dir, user)
        test.addCleanup(shutil.rmtree, self.dir, True)
        test.addCleanup(self.close)
        self.ends = Ends(stdio)
        self.client_in = Writer(self.ends.to_child)
        self.client_out = Reader(self.ends.from_child)
        self.state = state or os.path.join(self.dir, "state")
        self.audit_path = os.path.join(self.state, "audit.jsonl")
        # Named from the session's directory, so that each session of a test
        # has the same command: another one would be another server.
        path = os.path.join(self.dir, "s")
        self.sock_path = "s" if cwd is None else path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(8)
        if command is None:
            command = [puppet_path(), self.sock_path, *server_args]
        self.command = command
        self.policy_files = []
        texts = policies if policies is not None else (
            [] if policy is None else [policy])
        for i, text in enumerate(texts):
            self.policy_files.append(self.write_file("policy%d.yaml" % i, text))
        self.argv = list(command) if bare else self.run_argv(args, binary)
        self.stderr_kind = stderr
        self.stderr_reader = None
        self.stderr_path = os.path.join(self.dir, "stderr")
        self.start(env, cwd, preexec)
        self.data = self.control = None
        self.server_in = self.server_out = self.orders = None
        if server and len(command) > 1 and command[1] == self.sock_path:
            self.accept()

    def run_argv(self, args, binary):
        argv = [binary or program(), "run", "--state", self.state]
        for path in self.policy_files:
            argv += ["--policy", path]
        return argv + list(args) + ["--"] + list(self.command)

    def write_file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, 0o600)
        give(path, self.user)
        return path

    def open_stderr(self):
        if self.stderr_kind == "file":
            return os.open(self.stderr_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if self.stderr_kind == "pipe":
            mine, theirs = os.pipe()
        elif self.stderr_kind == "socket":
            a, b = socket.socketpair()
            mine, theirs = a.detach(), b.detach()
        elif self.stderr_kind == "stdout":
            return os.dup(self.ends.child_out)
        else:
            raise ValueError(self.stderr_kind)
        self.stderr_reader = Reader(mine)
        return theirs

    def start(self, env, cwd, preexec):
        err = self.open_stderr()
        is_pty = self.ends.kind == "pty"

        def before():
            if is_pty:
                os.setsid()
                fcntl.ioctl(0, 0x540E, 0)   # TIOCSCTTY
            if preexec is not None:
                preexec()

        self.proc = subprocess.Popen(
            self.argv, stdin=self.ends.child_in, stdout=self.ends.child_out,
            stderr=err, env=clean_env() if env is None else env, cwd=cwd or self.dir,
            preexec_fn=before, restore_signals=False, **user_kwargs(self.user))
        self.pid = self.proc.pid
        _live.add(self.pid)
        if self.keep_ends:
            self.kept = [self.ends.child_in, self.ends.child_out, err]
        else:
            os.close(err)
            self.ends.close_child()

    # -- pumping --

    def readers(self):
        return [r for r in (self.client_out, self.server_in, self.orders,
                            self.stderr_reader) if r is not None]

    def writers(self):
        return [w for w in (self.client_in, self.server_out) if w is not None]

    def turn(self, wait):
        now = time.monotonic()
        poll = select.poll()
        by_fd = {}
        for r in self.readers():
            if r.wants(now) and r.fd >= 0:
                by_fd.setdefault(r.fd, [None, None])[0] = r
            elif not r.eof and not r.paused:
                wait = min(wait, max(0.0, r.next_at - now))
        for w in self.writers():
            if w.queue and w.fd >= 0:
                by_fd.setdefault(w.fd, [None, None])[1] = w
        for fd, (r, w) in by_fd.items():
            poll.register(fd, (select.POLLIN if r else 0) | (select.POLLOUT if w else 0))
        ready = poll.poll(max(0, wait) * 1000)
        now = time.monotonic()
        for fd, ev in ready:
            r, w = by_fd[fd]
            if r and ev & (select.POLLIN | select.POLLHUP | select.POLLERR):
                r.read(now)
            if w and ev & (select.POLLOUT | select.POLLHUP | select.POLLERR):
                w.write()

    def pump(self, done, timeout=10.0, what="it"):
        """Moves bytes until done() is true."""
        end = time.monotonic() + timeout * SLOW
        while True:
            value = done()
            if value:
                return value
            left = end - time.monotonic()
            if left <= 0:
                raise Timeout("waited %.0f s for %s\n%s" % (timeout * SLOW, what, self.report()))
            self.turn(min(left, 0.2))

    def pump_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.turn(left)

    def report(self):
        out = ["command: %s" % " ".join(map(str, self.argv)),
               "exit status: %s" % self.proc.poll()]
        for name, r in (("client", self.client_out), ("server", self.server_in)):
            if r is not None:
                out.append("%s has: %r %r%s" % (
                    name, [bytes(x[:300]) for x in list(r.lines)[:5]],
                    bytes(r.buf[:200]), " EOF" if r.eof else ""))
        out.append("stderr: " + self.stderr_text()[-3000:])
        try:
            with open(self.audit_path, errors="replace") as f:
                out.append("audit: " + f.read()[-3000:])
        except OSError:
            out.append("no audit")
        return "\n".join(out)

    # -- the puppet --

    def accept(self, timeout=10.0):
        """Takes the two connections of a puppet that was just started."""
        end = time.monotonic() + timeout * SLOW
        self.listener.settimeout(0.1)
        conns = []
        while len(conns) < 2:
            try:
                conn = self.listener.accept()[0]
            except TimeoutError:
                if self.proc.poll() is not None or time.monotonic() > end:
                    raise Timeout("the server was not started\n" + self.report())
                continue
            conns.append(conn)
        self.data, self.control = conns
        self.server_in = Reader(self.data.fileno())
        self.server_in.takes = self.take_listing
        self.server_out = Writer(self.data.fileno())
        self.orders = Reader(self.control.fileno())
        hello = self.pump(lambda: self.orders.lines and self.orders.lines.popleft(),
                          what="the server's first word").decode().split()
        self.server_pid = int(hello[1])
        self.server_fds = [int(x) for x in hello[3:]]

    def take_listing(self, line):
        """Answers the monitor's own tools/list, as a server would."""
        if self.tools is None or not OWN_LISTING.search(line):
            return False
        request = json.loads(line)
        self.test.assertEqual(request["method"], "tools/list")
        self.listings += 1
        tools = self.tools
        if tools is True:
            tools = [tool(name) for name in sorted(TOOLS | self.called)]
        self.server_out.put(as_line({"jsonrpc": "2.0", "id": request["id"],
                                     "result": {"tools": tools}}))
        return True

    def order(self, text, answer="ok", timeout=10.0):
        """Gives the puppet an order; answer=None does not wait."""
        self.pump(lambda: not self.server_out.queue, timeout, "the server's output to go out")
        self.control.setblocking(True)
        self.control.sendall(text.encode() + b"\n")
        self.control.setblocking(False)
        if answer is not None:
            line = self.heard(timeout)
            if not line.startswith(answer):
                raise AssertionError("the puppet says %r to %r" % (line, text))
            return line

    def order_now(self, text):
        """An order that does not wait for earlier output to be taken."""
        self.control.setblocking(True)
        self.control.sendall(text.encode() + b"\n")
        self.control.setblocking(False)
        self.heard()

    def heard(self, timeout=10.0):
        """The puppet's next word."""
        return self.pump(lambda: self.orders.lines and self.orders.lines.popleft(),
                         timeout, "the puppet").decode()

    # -- sending and receiving --

    def send_client(self, message, timeout=20.0, wait=True):
        line = as_line(message)
        self.called.update(called(line))
        self.client_in.put(line)
        if wait:
            self.pump(lambda: not self.client_in.queue, timeout, "the client's input to be taken")

    def send_server(self, message, timeout=20.0, wait=True):
        self.server_out.put(as_line(message))
        if wait:
            self.pump(lambda: not self.server_out.queue, timeout, "the server's output to be taken")

    def _line(self, reader, timeout, what):
        def done():
            if reader.lines:
                return (reader.lines.popleft(),)
            if reader.eof:
                raise AssertionError("end of input instead of %s\n%s" % (what, self.report()))
            return None
        return self.pump(done, timeout, what)[0]

    def client_line(self, timeout=10.0):
        """The next line that the client gets, as bytes without newline."""
        return self._line(self.client_out, timeout, "a line at the client")

    def server_line(self, timeout=10.0):
        return self._line(self.server_in, timeout, "a line at the server")

    def recv_client(self, timeout=10.0):
        return json.loads(self.client_line(timeout))

    def recv_server(self, timeout=10.0):
        return json.loads(self.server_line(timeout))

    def expect_silence(self, seconds=0.3):
        """Nothing arrives at either end."""
        self.pump_for(seconds * (2 if SAN else 1))
        for name, r in (("client", self.client_out), ("server", self.server_in)):
            if r is not None and (r.lines or r.buf):
                raise AssertionError("unexpected bytes at the %s\n%s" % (name, self.report()))

    def client_eof(self, timeout=10.0):
        """Asserts that the client's stdout ends, with nothing before it."""
        self.pump(lambda: self.client_out.eof, timeout, "the end of the client's stdout")
        if self.client_out.lines or self.client_out.buf:
            raise AssertionError("bytes before the end\n" + self.report())

    _marks = 0

    def barrier(self):
        """Asserts that nothing else is under way in either direction."""
        self._marks += 1
        mark = "mark-%d" % self._marks
        self.send_client({"jsonrpc": "2.0", "id": mark, "method": "ping"})
        got = self.server_line()
        if json.loads(got).get("id") != mark:
            raise AssertionError("the server got %r\n%s" % (got[:500], self.report()))
        answer = dumps({"jsonrpc": "2.0", "id": mark, "result": {}}).encode()
        self.send_server(answer + b"\n")
        got = self.client_line()
        if got != answer:
            raise AssertionError("the client got %r\n%s" % (got[:500], self.report()))

    def handshake(self, version="2025-11-25", capabilities=None):
        self.send_client({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "tester", "version": "1.2"}}})
        request = self.recv_server()
        self.test.assertEqual(request["method"], "initialize")
        self.send_server({"jsonrpc": "2.0", "id": "init", "result": {
            "protocolVersion": version, "capabilities": {"tools": {}},
            "serverInfo": {"name": "puppet", "version": "3.4"}}})
        answer = self.recv_client()
        self.test.assertEqual(answer["result"]["protocolVersion"], version)
        self.send_client({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.test.assertEqual(self.recv_server()["method"], "notifications/initialized")

    def call(self, ident, name="echo", arguments=None, **params):
        """Sends a tools/call."""
        message = {"jsonrpc": "2.0", "id": ident, "method": "tools/call",
                   "params": {"name": name, "arguments": arguments or {}, **params}}
        self.send_client(message)
        return message

    def answer(self, ident, text="ok", **fields):
        """The server answers a call."""
        message = {"jsonrpc": "2.0", "id": ident, "result": {
            "content": [{"type": "text", "text": text}], **fields}}
        self.send_server(message)
        return message

    def forwarded(self, message):
        """Asserts that the server gets this message next, and nothing else."""
        line = self.server_line()
        want = exact(as_line(message))
        if exact(line) != want:
            raise AssertionError("the server got %r, not %r\n%s" % (
                line[:2000], as_line(message)[:2000], self.report()))

    def round_trip(self, ident, name="echo", arguments=None, **params):
        """A call goes through and its answer comes back."""
        self.forwarded(self.call(ident, name, arguments, **params))
        sent = self.answer(ident)
        self.test.assertEqual(self.client_line(), as_line(sent)[:-1])

    # -- evidence --

    def audit(self, path=None):
        """All lines so far, each held to what every line has to have."""
        try:
            with open(path or self.audit_path, "rb") as f:
                raw = f.read()
        except FileNotFoundError:
            return []
        return parse_audit(raw)

    def events(self, event, count=1, timeout=5.0, **fields):
        """Waits until count lines of this kind with these fields are there."""
        def found():
            # A line that is being written right now has no newline yet: that
            # is no torn line, and the next look sees it whole.
            try:
                lines = self.audit()
            except TornLine:
                return None
            hits = [x for x in lines if x["event"] == event and
                    all(x.get(k) == v for k, v in fields.items())]
            return hits if len(hits) >= count else None
        return self.pump(found, timeout, "audit event %s %s" % (event, fields))

    def event(self, event, **fields):
        hits = self.events(event, **fields)
        if len(hits) != 1:
            raise AssertionError("%d lines: %r" % (len(hits), hits))
        return hits[0]

    def stderr_text(self):
        if self.stderr_reader is not None:
            lines = [bytes(x) for x in self.stderr_reader.lines] + [bytes(self.stderr_reader.buf)]
            return b"\n".join(lines).decode("utf-8", "replace")
        try:
            with open(self.stderr_path, errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def processes(self):
        """{'client': relay, 'server': relay, 'tree': others} of the session."""
        out = {"tree": []}
        for p in descendants(self.pid):
            side = relay_side(p)
            if side is not None:
                self.test.assertNotIn(side, out, "two relays of one side")
                out[side] = p
            else:
                out["tree"].append(p)
        return out

    # -- the end --

    def close_client_in(self):
        """The client's end of input (and of output, on a terminal)."""
        if self.client_in.fd >= 0:
            self.pump(lambda: not self.client_in.queue, 20, "the client's input to be taken")
            if self.ends.kind == "socket":
                socket.socket(fileno=self.client_in.fd).close()
            else:
                os.close(self.client_in.fd)
            self.client_in.fd = -1
            self.client_in.queue.clear()
            if self.ends.kind == "pty":
                self.close_client_out()

    def close_client_out(self):
        if self.client_out.fd >= 0:
            os.close(self.client_out.fd)
            self.client_out.fd = -1
            self.client_out.eof = True

    def kill_client(self):
        """As if the client process had been killed: all of its ends close."""
        self.client_in.queue.clear()
        self.close_client_in()
        self.close_client_out()
        if self.stderr_reader is not None and self.stderr_reader.fd >= 0:
            os.close(self.stderr_reader.fd)
            self.stderr_reader.fd = -1
            self.stderr_reader.eof = True

    def wait(self, timeout=10.0):
        """The exit status; negative for a signal.  Reads on meanwhile."""
        def done():
            status = self.proc.poll()
            return None if status is None else (status,)
        status = self.pump(done, timeout, "the end of the session")[0]
        _live.discard(self.pid)
        return status

    def finish(self, timeout=10.0):
        """The client goes away in the ordinary way; the exit status."""
        self.close_client_in()
        return self.wait(timeout)

    def close(self):
        """Ends the session if a test did not, and looks for leftovers."""
        if self.closed:
            return
        self.closed = True
        hung = None
        try:
            if self.proc.poll() is None:
                self.client_in.queue.clear()
                self.client_out.paused = False
                for r in (self.client_out, self.server_in):
                    if r is not None:
                        r.keep, r.every, r.next_at = False, 0.0, 0.0
                if self.server_in is not None:
                    self.server_in.paused = False
                if self.server_out is not None:
                    self.server_out.queue.clear()
                try:
                    os.kill(self.pid, signal.SIGCONT)
                    self.close_client_in()
                    self.wait(10)
                except AssertionError as e:
                    hung = e
        finally:
            self.proc.kill()
            self.proc.wait()
            _live.discard(self.pid)
            for fd in (self.client_in.fd, self.client_out.fd,
                       -1 if self.stderr_reader is None else self.stderr_reader.fd):
                if fd >= 0:
                    os.close(fd)
            for fd in self.kept:
                os.close(fd)
            for s in (self.data, self.control, self.listener):
                if s is not None:
                    s.close()
            left = leftovers()
        if hung is not None:
            raise AssertionError("the session did not end: %s" % hung)
        if left and not self.expect_orphans:
            raise AssertionError("left behind: %s" % "; ".join(map(str, left)))


def relay_side(p):
    if len(p.argv) >= 2 and os.path.basename(p.argv[0]).startswith("doorward-relay"):
        return p.argv[1]
    return None


def adopted():
    """Children that no session answers for."""
    return [p for p in all_processes() if p.ppid == os.getpid() and p.pid not in _live]


def reap_the_dead():
    """What had died when doorward was killed is ours to reap, and no leak."""
    for p in adopted():
        if p.state == "Z":
            try:
                os.waitpid(p.pid, os.WNOHANG)
            except ChildProcessError:
                pass


def leftovers():
    """Ends and reaps what became ours; returns what that was.  The children
    of what is ended become ours in turn."""
    found = []
    while True:
        left = adopted()
        if not left:
            return found
        found += left
        for p in left:
            try:
                os.kill(p.pid, signal.SIGKILL)
                os.waitpid(p.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def gone(processes, timeout=3.0):
    """Waits until none of these lives; returns those that do (zombies that
    became ours are reaped and count as gone)."""
    end = time.monotonic() + timeout * SLOW
    while True:
        left = []
        for p in processes:
            now = read_process(p.pid)
            if now is None or now.start != p.start:
                continue
            if now.state == "Z" and now.ppid == os.getpid() and p.pid not in _live:
                os.waitpid(p.pid, os.WNOHANG)
                continue
            left.append(now)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


# ---- audit lines ----

class TornLine(AssertionError):
    pass


EVENTS = {"session_start", "session_end", "verdict", "decision", "result",
          "refusal", "breach", "policy", "pin"}
TIME = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def parse_audit(raw):
    if raw and not raw.endswith(b"\n"):
        raise TornLine("the last line is not whole: %r" % raw[-200:])
    out = []
    for line in raw.split(b"\n")[:-1]:
        text = line.decode("utf-8")
        if CONTROL.search(text):
            raise AssertionError("a raw control character in the audit: %r" % text)
        pairs = exact(text)
        keys = [k for k, _ in pairs]
        if len(keys) != len(set(keys)):
            raise AssertionError("a key twice in the audit: %s" % text)
        obj = json.loads(text)
        for key, kind in (("v", int), ("seq", int), ("time", str), ("mono_ns", int),
                          ("event", str), ("session", str), ("server", str)):
            if type(obj.get(key)) is not kind:
                raise AssertionError("%s missing or of another type: %s" % (key, text))
        if not TIME.match(obj["time"]):
            raise AssertionError("time: " + text)
        if obj["event"] not in EVENTS:
            raise AssertionError("event: " + text)
        out.append(obj)
    return out


# ---- short-lived commands ----

def run(*argv, user=None, env=None, cwd=None, stdin=b"", timeout=20.0, preexec=None,
        binary=None):
    """Runs one command of the program to its end."""
    argv = [binary or program(), *argv]
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=clean_env() if env is None else env,
                         cwd=cwd, preexec_fn=preexec, **user_kwargs(user))
    _live.add(p.pid)
    try:
        out, err = p.communicate(stdin, timeout * SLOW)
    finally:
        p.kill()
        p.wait()
        _live.discard(p.pid)
    return p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def on_terminal(argv, typed, timeout=20.0):
    """Runs a command with a terminal of its own, on which this is typed once
    it asks; (exit status, all that the terminal showed)."""
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.execve(argv[0], argv, clean_env())
        finally:
            os._exit(127)
    shown = bytearray()
    end = time.monotonic() + timeout * SLOW
    waiting = typed
    try:
        while time.monotonic() < end:
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(fd, 65536)
            except OSError:     # EIO: the terminal's other end is closed
                break
            if not data:
                break
            shown += data
            if waiting and shown.rstrip().endswith(b"[y/N]"):
                os.write(fd, waiting.encode())
                waiting = ""
        else:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, shown.decode("utf-8", "replace")


class TestCase(unittest.TestCase):
    maxDiff = 4000

    def session(self, *args, **kwargs):
        return Wrapped(self, *args, **kwargs)

    def assertError(self, message, ident, code):
        self.assertEqual(set(message), {"jsonrpc", "id", "error"}, message)
        self.assertEqual(message["jsonrpc"], "2.0")
        self.assertIs(type(message["id"]), type(ident), message)
        self.assertEqual(message["id"], ident, message)
        self.assertEqual(message["error"]["code"], code, message)
        self.assertIs(type(message["error"]["message"]), str)
        self.assertTrue(message["error"]["message"])
        return message["error"]

    def assertDenied(self, message, ident, rule=None, modern=False, reason=None):
        """A denied tools/call as the model sees it."""
        self.assertEqual(message["id"], ident, message)
        self.assertIs(type(message["id"]), type(ident))
        result = message["result"]
        self.assertIs(result["isError"], True)
        self.assertEqual(result.get("resultType"), "complete" if modern else None)
        self.assertEqual([c["type"] for c in result["content"]], ["text"])
        text = result["content"][0]["text"]
        self.assertRegex(text, r"\A\[doorward denied\] .+ \(rule [^()]+\)\Z")
        if rule is not None:
            self.assertTrue(text.endswith(" (rule %s)" % rule), text)
        if reason is not None:
            self.assertIn(reason, text)
        return text
