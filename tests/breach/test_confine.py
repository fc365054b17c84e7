"""A relay's confinement, call by call, on the kernel that is running.

trycall.c confines itself with the relay's own code and tries one call; here
its end is looked at.  Each call is also made without confinement, so that a
row which could not fail would be seen.
"""
import ctypes
import errno
import fcntl
import os
import signal
import socket
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD") or "build")
TRYCALL = os.path.join(BUILD, "test", "trycall")

LAYER = {name: 1 << i for i, name in enumerate((
    "seccomp", "no_new_privs", "no_caps", "bounding", "not_dumpable",
    "rlimits", "landlock", "user_ns", "net_ns", "mount_ns", "ipc_ns"))}
ALWAYS = ("seccomp", "no_new_privs", "no_caps", "not_dumpable", "rlimits")
NAMESPACES = ("user_ns", "net_ns", "mount_ns", "ipc_ns")
ORDINARY = 65534


def kernel_landlock():
    """The ABI; landlock_create_ruleset(2) has one number everywhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(444, None, 0, 1))


def run(name, *options, uid=None):
    """(exit status or -signal, what it said)."""
    ours, theirs = socket.socketpair()
    stream = os.pipe()
    os.write(stream[1], b"x")
    # By descriptor, so that another user need not reach the path.
    opened = os.open(TRYCALL, os.O_RDONLY)
    program = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(opened)

    def child():
        os.dup2(stream[0], 0)
        if theirs.fileno() != 3:
            os.dup2(theirs.fileno(), 3)
        if uid is not None:
            become(uid)

    try:
        done = subprocess.run(
            ["trycall", *options, name], env={}, preexec_fn=child,
            executable="/proc/self/fd/%d" % program, pass_fds=(3, program),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        theirs.close()
        said = b""
        ours.settimeout(10)
        while data := ours.recv(4096):
            said += data
        return done.returncode, (said + done.stderr).decode()
    finally:
        ours.close()
        theirs.close()
        for fd in (program, *stream):
            os.close(fd)


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def calls():
    out = subprocess.run([TRYCALL, "--list"], check=True, capture_output=True,
                         text=True).stdout
    return [line.split() for line in out.splitlines()]


def layers_of(said):
    words = said.split()
    return int(words[1], 16), int(words[3])


class Calls(unittest.TestCase):
    def each(self, *options, uid=None):
        table = calls()
        self.assertGreater(sum(fate == "killed" for _, fate in table), 120)
        for name, fate in table:
            with self.subTest(call=name):
                status, said = run(name, *options, uid=uid)
                self.assertTrue(said.startswith("layers "), said)
                verdict = said.split("\n")[1]
                if fate == "killed":
                    self.assertEqual((status, verdict), (-signal.SIGSYS, ""))
                elif fate == "soft":
                    self.assertEqual((status, verdict),
                                     (0, "errno %d" % errno.ENOSYS))
                else:
                    self.assertEqual((status, verdict), (0, "ok"))

    def test_confined(self):
        self.each()

    def test_without_landlock_and_namespaces(self):
        self.each("--landlock-abi", "0", "--no-namespaces")

    def test_free(self):
        """What makes test_confined worth something."""
        for name, _ in calls():
            with self.subTest(call=name):
                status, said = run(name, "--unconfined")
                self.assertEqual(status, 0, said)
                self.assertRegex(said, r"^(ok|errno \d+)\n$")

    @unittest.skipUnless(os.geteuid() == 0, "has to be root to be another")
    def test_ordinary_user(self):
        self.each(uid=ORDINARY)


class Layers(unittest.TestCase):
    def check(self, said, abi, namespaces):
        layers, used = layers_of(said)
        for name in ALWAYS:
            self.assertTrue(layers & LAYER[name], name)
        self.assertEqual(used, abi)
        self.assertEqual(bool(layers & LAYER["landlock"]), abi > 0)
        for name in NAMESPACES:
            if not namespaces:
                self.assertFalse(layers & LAYER[name], name)

    def test_each_landlock_abi(self):
        for abi in range(kernel_landlock() + 2):
            used = min(abi, kernel_landlock())
            for uid in (None, ORDINARY) if os.geteuid() == 0 else (None,):
                status, said = run("brk", "--landlock-abi", str(abi), uid=uid)
                self.assertEqual(status, 0, said)
                self.check(said, used, True)

    def test_landlock_by_itself(self):
        """What it stops when the filter is not in front of it."""
        for abi in range(kernel_landlock() + 1):
            for name, since, error in (("openat", 1, errno.EACCES),
                                       ("kill_parent", 6, errno.EPERM)):
                with self.subTest(abi=abi, call=name):
                    status, said = run(name, "--only-landlock",
                                       "--landlock-abi", str(abi))
                    want = "errno %d" % error if abi >= since else "ok"
                    self.assertEqual(layers_of(said)[1], abi)
                    self.assertEqual((status, said.split("\n")[1]),
                                     (0, want))

    def test_without_namespaces(self):
        status, said = run("openat", "--no-namespaces")
        self.assertEqual(status, -signal.SIGSYS)
        self.check(said, kernel_landlock(), False)

    def test_namespaces_where_the_kernel_has_them(self):
        for uid in (None, ORDINARY) if os.geteuid() == 0 else (None,):
            if not can_unshare(uid):
                self.skipTest("no user namespaces here")
            _, said = run("brk", uid=uid)
            layers, _ = layers_of(said)
            for name in NAMESPACES + ("bounding",):
                self.assertTrue(layers & LAYER[name], name)


def can_unshare(uid):
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None)
        if uid is not None:
            become(uid)
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    return os.waitpid(pid, 0)[1] == 0


if __name__ == "__main__":
    unittest.main()
