"""The live processes as the kernel sees them: the sandboxes are on, and each
descriptor is where the map says and nowhere else.  The processes are not
dumpable, so that it takes root to look at some of this."""
import os
import pwd
import stat

import dw

NO_CAPS = "0" * 16


class Proc(dw.TestCase):
    def each(self, check, **kwargs):
        for user in dw.users():
            for stdio in ("pipe", "socket"):
                with self.subTest(user=user, stdio=stdio):
                    w = self.session(user=user, stdio=stdio, **kwargs)
                    w.handshake()
                    w.round_trip(1)
                    check(w, w.processes(), user)

    def test_confined(self):
        def check(w, p, user):
            uid = os.geteuid() if user is None else pwd.getpwnam(user).pw_uid
            for name, pid in (("monitor", w.pid), ("client", p["client"].pid), ("server", p["server"].pid)):
                s = dw.status(pid)
                self.assertEqual((s["Seccomp"], s["NoNewPrivs"]), ("2", "1"), name)
                for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                    self.assertEqual(s[key], NO_CAPS, (name, key))
                self.assertEqual(s["Uid"].split(), [str(uid)] * 4, name)
                self.assertEqual(s["TracerPid"], "0")
                # Not dumpable: others of the same user cannot look inside.
                self.assertEqual(os.stat("/proc/%d/environ" % pid).st_uid, 0, name)
            self.assertEqual(dw.status(w.server_pid)["Seccomp"], "0")
        self.each(check)

    @dw.need_root
    def test_bounding_set_of_the_relays(self):
        """As root, who may empty it."""
        w = self.session()
        w.round_trip(1)
        for side in ("client", "server"):
            self.assertEqual(dw.status(w.processes()[side].pid)["CapBnd"], NO_CAPS)

    @dw.need_root
    def test_family(self):
        """Monitor is the direct parent of both relays and of the server; the
        relays run their own program, in sessions of their own."""
        def check(w, p, user):
            for side in ("client", "server"):
                self.assertEqual(p[side].ppid, w.pid)
                self.assertEqual(os.path.basename(os.readlink("/proc/%d/exe" % p[side].pid)),
                                 "doorward-relay" + dw.SUFFIX)
                self.assertEqual(os.getsid(p[side].pid), p[side].pid)
            self.assertEqual([x.pid for x in p["tree"]], [w.server_pid])
            self.assertEqual(dw.read_process(w.server_pid).ppid, w.pid)
            self.assertEqual(w.proc.pid, w.pid)
        self.each(check)

    @dw.need_root
    def test_descriptors_of_the_relays(self):
        """0 the stream, 1 and 2 /dev/null, 3 the monitor; nothing else."""
        def check(w, p, user):
            monitor = dw.descriptors(w.pid)
            for side in ("client", "server"):
                fds = dw.descriptors(p[side].pid)
                self.assertEqual(sorted(fds), [0, 1, 2, 3], fds)
                self.assertEqual((fds[1], fds[2]), ("/dev/null", "/dev/null"))
                self.assertTrue(fds[3].startswith("socket:"), fds)
                self.assertNotIn(fds[3], monitor.values())     # the pair's other end
            own = {p[s].pid: dw.descriptors(p[s].pid)[3] for s in ("client", "server")}
            self.assertEqual(len(set(own.values())), 2)
            self.assertEqual(dw.descriptors(p["server"].pid)[0], dw.descriptors(w.server_pid)[1])
            if w.ends.kind == "pipe":
                self.assertEqual(dw.descriptors(p["client"].pid)[0],
                                 dw.descriptors(os.getpid())[w.client_in.fd])
        self.each(check)

    def holders(self, w, what):
        """[(pid, can read, can write)] of a pipe among the session."""
        out = []
        for p in [dw.read_process(w.pid)] + dw.descendants(w.pid):
            for fd, name in dw.descriptors(p.pid).items():
                if name == what:
                    mode = dw.fd_flags(p.pid, fd) & os.O_ACCMODE
                    out.append((p.pid, mode != os.O_WRONLY, mode != os.O_RDONLY))
        return sorted(out)

    @dw.need_root
    def test_who_holds_the_streams(self):
        """Read ends: relays only.  Write ends: the monitor only."""
        for user in dw.users():
            with self.subTest(user):
                w = self.session(user=user)
                w.round_trip(1)
                p = w.processes()
                mine = dw.descriptors(os.getpid())
                to_server = dw.descriptors(w.server_pid)[0]
                from_server = dw.descriptors(w.server_pid)[1]
                self.assertEqual(self.holders(w, mine[w.client_in.fd]), [(p["client"].pid, True, False)])
                self.assertEqual(self.holders(w, from_server), sorted(
                    [(p["server"].pid, True, False), (w.server_pid, False, True)]))
                writers = self.holders(w, mine[w.client_out.fd])
                self.assertTrue(writers)
                self.assertEqual({x for x in writers}, {(w.pid, False, True)})
                into = set(self.holders(w, to_server))
                self.assertEqual(into, {(w.pid, False, True), (w.server_pid, True, False)})

    @dw.need_root
    def test_files_of_the_state_are_the_monitors(self):
        w = self.session()
        w.round_trip(1)
        for p in dw.descendants(w.pid):
            for name in dw.descriptors(p.pid).values():
                self.assertFalse(name.startswith(w.dir) and p.pid != w.server_pid, (p, name))
                self.assertFalse(name.startswith(w.state), (p, name))

    @dw.need_root
    def test_every_open_is_close_on_exec(self):
        w = self.session()
        w.round_trip(1)
        for fd in dw.descriptors(w.pid):
            if fd > 2:
                self.assertTrue(dw.fd_flags(w.pid, fd) & os.O_CLOEXEC, (fd, dw.descriptors(w.pid)[fd]))

    @dw.need_root
    def test_nothing_of_the_caller_leaks_to_the_relays(self):
        """Descriptors, and environment with its secrets."""
        r, other = os.pipe()

        def preexec():
            for fd in (7, 50, 900):
                os.dup2(r, fd)
        env = {**dw.clean_env(), "GITHUB_TOKEN": "ghp_secret_of_the_test"}
        try:
            w = self.session(preexec=preexec, env=env)
            w.round_trip(1)
            p = w.processes()
            for side in ("client", "server"):
                self.assertEqual(sorted(dw.descriptors(p[side].pid)), [0, 1, 2, 3])
                with open("/proc/%d/environ" % p[side].pid, "rb") as f:
                    self.assertNotIn(b"ghp_secret", f.read())
        finally:
            os.close(r)
            os.close(other)

    def test_limits_of_the_relays(self):
        w = self.session()
        w.round_trip(1)
        p = w.processes()
        for side in ("client", "server"):
            with open("/proc/%d/limits" % p[side].pid) as f:
                limits = {line[:25].strip(): line[26:].split()[:2] for line in f}
            self.assertEqual(limits["Max file size"], ["0", "0"])
            self.assertEqual(limits["Max core file size"], ["0", "0"])
            self.assertLessEqual(int(limits["Max open files"][1]), 8)
            if not dw.SAN:
                self.assertNotEqual(limits["Max address space"][1], "unlimited")

    @dw.need_root
    def test_namespaces_where_there_are_any(self):
        """What session_start says about the relays is so."""
        w = self.session()
        w.round_trip(1)
        start = w.event("session_start")
        for side in ("client", "server"):
            pid = w.processes()[side].pid
            said = start["layers"]["relay_" + side]
            for layer, ns in (("user_ns", "user"), ("net_ns", "net"), ("mount_ns", "mnt"), ("ipc_ns", "ipc")):
                differs = (os.readlink("/proc/%d/ns/%s" % (pid, ns)) !=
                           os.readlink("/proc/self/ns/%s" % ns))
                if layer == "mount_ns" and differs and not dw.can_pivot():
                    self.assertNotIn(layer, said)   # not emptied, so not claimed
                    continue
                self.assertEqual(layer in said, differs, (said, layer))

    def test_older_kernels(self):
        """A whole session where Landlock is missing or of any older kind; the
        kernel knows nothing of the cap, so that this needs no other kernel."""
        layer = [x for x in self.layers({})["monitor"] if x.startswith("landlock")]
        newest = int(layer[0].split(":")[1]) if layer else 0
        for abi in range(newest + 1):
            with self.subTest(abi=abi):
                layers = self.layers({"DOORWARD_TEST_LANDLOCK_ABI": str(abi)})
                for who, said in layers.items():
                    self.assertEqual([x for x in said if x.startswith("landlock")],
                                     ["landlock:%d" % abi] if abi else [], who)
                    self.assertLessEqual({"seccomp", "no_new_privs"}, set(said), who)

    def test_no_namespaces(self):
        """A whole session where the kernel gives none, with Landlock and without."""
        for abi in ({}, {"DOORWARD_TEST_LANDLOCK_ABI": "0"}):
            with self.subTest(abi):
                layers = self.layers({"DOORWARD_TEST_NO_NAMESPACES": "1", **abi})
                for who, said in layers.items():
                    self.assertEqual([x for x in said if x.endswith("_ns")], [], who)
                    self.assertLessEqual({"seccomp", "no_new_privs"}, set(said), who)

    def layers(self, env):
        """What session_start says in a session that does its work."""
        w = self.session("version: 1\nrules:\n  - {id: no, tool: bad, action: block}\n",
                         env={**dw.clean_env(), **env}, binary=dw.program("test/doorward"))
        w.handshake()
        w.round_trip(1)
        w.call(2, "bad")
        self.assertDenied(w.recv_client(), 2, "no")
        self.assertEqual(w.finish(), 0)
        w.event("session_end", audit_lost=0)
        return w.event("session_start")["layers"]

    def test_state_is_private(self):
        w = self.session()
        w.round_trip(1)
        self.assertEqual(stat.S_IMODE(os.stat(w.state).st_mode), 0o700)

    @dw.need_root
    def test_memory_when_idle(self):
        """At most 8 MiB together, of what is theirs alone (PSS)."""
        if dw.SAN:
            self.skipTest("a sanitizer's shadow memory")
        w = self.session()
        w.handshake()
        w.round_trip(1)
        total = 0
        for pid in [w.pid] + [w.processes()[s].pid for s in ("client", "server")]:
            with open("/proc/%d/smaps_rollup" % pid) as f:
                total += sum(int(line.split()[1]) for line in f if line.startswith("Pss:"))
        self.assertLessEqual(total, 8192, "KiB")
