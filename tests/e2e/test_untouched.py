"""P9: the server is left alone.  Each thing is compared with what the same
command has when it is started without Doorward."""
import fcntl
import os
import resource
import signal

import dw

ODD_ENV = {
    "PATH": "/usr/bin:/bin:/opt/x y", "EMPTY": "", "SPACED": "a b  c", "UTF8": "\u00e9\U0001f642",
    "NEWLINE": "a\nb", "EQUALS": "a=b=c", "lower": "x", "HOME": "/nowhere", "LD_BIND_NOW": "1",
    "NODE_OPTIONS": "--no-warnings", "GITHUB_TOKEN": "ghp_x", "DOORWARD_SESSION": "theirs",
    "XDG_RUNTIME_DIR": "/nonexistent", "LC_ALL": "C.UTF-8",
}


def read(pid, name):
    with open("/proc/%d/%s" % (pid, name), "rb") as f:
        return f.read()


class Untouched(dw.TestCase):
    def both(self, user=None, **kwargs):
        """The puppet with and without Doorward."""
        bare = self.session(bare=True, user=user, **kwargs)
        wrapped = self.session(user=user, **kwargs)
        wrapped.round_trip(1)   # everything is up and confined
        return bare, wrapped

    def test_environment(self):
        env = {**dw.clean_env(), **ODD_ENV}
        for user in dw.users():
            with self.subTest(user):
                bare, wrapped = self.both(user=user, env=env)
                self.assertEqual(read(wrapped.server_pid, "environ"), read(bare.server_pid, "environ"))
                self.assertIn(b"EMPTY=\0", read(wrapped.server_pid, "environ"))

    def test_arguments(self):
        args = ["", "a b", "~", "$HOME", "*", "-x", "--", "--policy", "a\nb", "\u00e9", "'\"\\"]
        bare, wrapped = self.both(server_args=args)
        tail = [a.encode() for a in args]
        for w in (bare, wrapped):
            self.assertEqual(read(w.server_pid, "cmdline").split(b"\0")[2:-1], tail)

    def test_directory(self):
        bare, wrapped = self.both(cwd="/usr/share")
        self.assertEqual(os.readlink("/proc/%d/cwd" % wrapped.server_pid), "/usr/share")
        self.assertEqual(os.readlink("/proc/%d/root" % wrapped.server_pid), "/")

    def test_limits(self):
        def preexec():
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 777))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
            resource.setrlimit(resource.RLIMIT_CPU, (1000, 2000))
            resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 64 << 20))
        for user in dw.users():
            with self.subTest(user):
                bare, wrapped = self.both(user=user, preexec=preexec)
                self.assertEqual(read(wrapped.server_pid, "limits"), read(bare.server_pid, "limits"))
                self.assertIn(b"777", read(wrapped.server_pid, "limits"))

    def test_signals(self):
        def preexec():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2, signal.SIGWINCH})

        def plain():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)   # Python ignores it

        def pipe_ignored():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for user in dw.users():
            for before in (preexec, plain, pipe_ignored):
                with self.subTest(user=user, before=before.__name__):
                    bare, wrapped = self.both(user=user, preexec=before)
                    a, b = dw.status(bare.server_pid), dw.status(wrapped.server_pid)
                    for key in ("SigBlk", "SigIgn", "SigCgt"):
                        self.assertEqual(b[key], a[key], key)

    def test_privileges(self):
        keys = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Umask",
                "NoNewPrivs", "Seccomp", "Seccomp_filters", "TracerPid", "Speculation_Store_Bypass",
                "Cpus_allowed_list", "NSpid")
        for user in dw.users():
            with self.subTest(user):
                bare, wrapped = self.both(user=user, preexec=lambda: os.umask(0o027))
                a, b = dw.status(bare.server_pid), dw.status(wrapped.server_pid)
                for key in keys:
                    if key in a:
                        if key == "NSpid":
                            self.assertEqual(len(b[key].split()), len(a[key].split()))
                        else:
                            self.assertEqual(b[key], a[key], key)
                self.assertEqual((b["NoNewPrivs"], b["Seccomp"], b["TracerPid"]), ("0", "0", "0"))
                for ns in os.listdir("/proc/self/ns"):
                    self.assertEqual(os.readlink("/proc/%d/ns/%s" % (wrapped.server_pid, ns)),
                                     os.readlink("/proc/%d/ns/%s" % (bare.server_pid, ns)), ns)
                for name in ("oom_score_adj", "coredump_filter", "timerslack_ns"):
                    try:
                        want = read(bare.server_pid, name)
                    except OSError:
                        continue
                    self.assertEqual(read(wrapped.server_pid, name), want, name)
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, wrapped.server_pid),
                                 os.getpriority(os.PRIO_PROCESS, bare.server_pid))

    def test_dumpable(self):
        """/proc/PID of a process that is not dumpable belongs to root."""
        for user in dw.users():
            with self.subTest(user):
                bare, wrapped = self.both(user=user)
                self.assertEqual(os.stat("/proc/%d/environ" % wrapped.server_pid).st_uid,
                                 os.stat("/proc/%d/environ" % bare.server_pid).st_uid)

    def test_descriptors(self):
        """0, 1 and 2, and nothing of ours; stderr is the client's own."""
        for stderr in ("file", "pipe", "socket"):
            for user in dw.users():
                with self.subTest(stderr=stderr, user=user):
                    w = self.session(user=user, stderr=stderr, keep_ends=True)
                    self.assertEqual(w.server_fds, [0, 1, 2])
                    fds = dw.descriptors(w.server_pid)
                    self.assertTrue(fds[0].startswith("pipe:") and fds[1].startswith("pipe:"))
                    self.assertNotEqual(fds[0], fds[1])
                    self.assertEqual(fds[2], dw.descriptors(os.getpid())[w.kept[2]])
                    w.order("stderr 5")
                    w.pump(lambda: "wwwww" in w.stderr_text(), what="the server's stderr")

    def test_descriptors_of_the_caller(self):
        """What the client left open for it stays open, as without us."""
        r, other = os.pipe()
        for fd in (r, other):
            os.set_inheritable(fd, True)
        try:
            bare = self.session(bare=True, preexec=lambda: os.dup2(r, 9))
            w = self.session(preexec=lambda: os.dup2(r, 9))
            self.assertEqual(w.server_fds, bare.server_fds)
        finally:
            os.close(r)
            os.close(other)

    def test_pipes_of_the_server_block(self):
        """Its stdin and stdout are as a program expects them."""
        w = self.session()
        w.round_trip(1)
        for fd in (0, 1):
            self.assertFalse(dw.fd_flags(w.server_pid, fd) & os.O_NONBLOCK, fd)

    def test_flags_of_the_client_stay(self):
        """O_NONBLOCK is a property of what others hold as well, here the test
        itself: during the session, under load, and after it."""
        for stdio, stderr in (("pipe", "pipe"), ("socket", "socket"), ("pty", "stdout")):
            for user in dw.users():
                with self.subTest(stdio=stdio, user=user):
                    w = self.session(stdio=stdio, stderr=stderr, user=user, keep_ends=True, server=False)

                    def flags():
                        return [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in w.kept]
                    before = flags()
                    self.assertFalse(any(f & (os.O_NONBLOCK | os.O_ASYNC) for f in before))
                    w.accept()
                    w.handshake()
                    for i in range(20):
                        w.round_trip(i, arguments={"x": "y" * 2000})
                        self.assertEqual(flags(), before)
                    w.send_server(b"a line to note on stderr\n")
                    w.client_out.paused = True
                    for _ in range(100):
                        w.send_server({"jsonrpc": "2.0", "method": "notifications/x",
                                       "params": {"x": "y" * 2000}}, wait=False)
                    w.pump_for(0.3)
                    self.assertEqual(flags(), before)
                    w.client_out.paused = False
                    w.proc.send_signal(signal.SIGTERM)
                    w.wait()
                    self.assertEqual(flags(), before)

    def test_own_session(self):
        """Session and process group of its own: no terminal to inject into."""
        w = self.session(stdio="pty", stderr="stdout")
        w.round_trip(1)
        self.assertEqual(os.getsid(w.server_pid), w.server_pid)
        self.assertEqual(os.getpgid(w.server_pid), w.server_pid)
        with open("/proc/%d/stat" % w.server_pid) as f:
            self.assertEqual(f.read().rsplit(")", 1)[1].split()[4], "0")    # no terminal

    def test_found_as_without_us(self):
        """By the caller's PATH, from the caller's directory."""
        w = self.session()
        script = w.write_file("tool", "#!/bin/sh\nexec cat\n")
        os.chmod(script, 0o755)
        for env, command, cwd in (({"PATH": "/nonexistent:" + w.dir + ":/usr/bin:/bin"}, ["tool"], "/"),
                                  ({"PATH": "/usr/bin:/bin"}, ["./tool"], w.dir),
                                  ({"PATH": "/usr/bin:/bin"}, [script], "/")):
            v = self.session(command=command, env=env, cwd=cwd)
            v.pump(lambda: any(p.argv[0].endswith("cat") for p in v.processes()["tree"]), what="cat")
            self.assertEqual(v.finish(), 0)
