"""Paths and Doorward's own files, against the reference file server from npm.

The server may write everywhere in a tree of the test's; the policy confines
it to one folder of the tree.  So what Doorward lets through wrongly lands on
the disk, and is found there: each test compares the tree before and after.
"""
import ctypes
import json
import os
import pwd
import shutil
import stat
import tempfile
import threading
import time

import dw
import test_npm

LONG_WAIT = 30
AT_FDCWD, RENAME_EXCHANGE = -100, 2
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"

CONFINED = """version: 1
mode: %(mode)s
tools:
  write_file: {write_params: [path], allowed_path_prefixes: [%(work)s]}
  edit_file: {write_params: [path], allowed_path_prefixes: [%(work)s]}
  create_directory: {write_params: [path], allowed_path_prefixes: [%(work)s]}
  move_file: {write_params: [source, destination], allowed_path_prefixes: [%(work)s]}
  # Reads can be confined in the same way; this one takes a list.
  read_multiple_files: {write_params: [paths], allowed_path_prefixes: [%(work)s]}
"""
# self is all that is left.
BARE = "version: 1\npacks: none\nmode: %s\n"


def command(*roots):
    return [test_npm.node(), os.path.join(
        test_npm.place(), "node_modules", "@modelcontextprotocol", "server-filesystem",
        "dist", "index.js"), *roots]


def snapshot(top):
    """{path: what is there} of a tree; nothing of it is followed."""
    found = {}
    for where, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[path] = "-> " + os.readlink(path)
            elif stat.S_ISDIR(mode):
                found[path] = "directory"
            else:
                with open(path, "rb") as f:
                    found[path] = f.read()
    return found


class Files(dw.TestCase):
    """A tree as case 056 has it, and a session over it."""

    def setUp(self):
        self.user = dw.users()[-1]      # whom modes stop
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="dw-paths-"))
        self.addCleanup(shutil.rmtree, self.top, True)
        os.chmod(self.top, 0o755)
        dw.give(self.top, self.user)
        self.last = 0
        for name in ("srv", "srv/work", "srv/work/sub", "srv/work_evil", "srv/other", "etc"):
            self.make(name)
        self.work = self.at("srv/work")
        for name in ("etc/passwd", "srv/work/file", "srv/work/sub/deep", "srv/other/secret"):
            self.make(name, "old\n")
        for name, to in (("srv/work/l", self.at("etc")), ("srv/work/rel", "../other"),
                         ("srv/work/dang", self.at("srv/work_evil/new")),
                         ("srv/work/dangin", "not-there-yet"),
                         ("srv/work/inside", "sub"), ("srv/alias", self.work),
                         ("srv/work/ring", "ring2"), ("srv/work/ring2", "ring"),
                         ("srv/work/toring", "ring/x"), ("srv/work/hop", "hop2"),
                         ("srv/work/hop2", "l"), ("srv/work/filelink", self.at("etc/passwd")),
                         ("srv/work/self", "/proc/self"),
                         ("srv/work/" + COMPOSED, self.at("srv/other")),
                         ("srv/work/Kit", self.at("srv/other"))):
            os.symlink(to, self.at(name))

    def at(self, name):
        return os.path.join(self.top, name)

    def make(self, name, text=None):
        path = self.at(name)
        if text is None:
            os.mkdir(path, 0o755)
        else:
            with open(path, "w") as f:
                f.write(text)
        dw.give(path, self.user)
        return path

    def start(self, policy, *roots, mode="enforce", greet=True, capabilities=None, **kwargs):
        if "%(work)s" in policy:
            policy %= {"work": self.work, "mode": mode}
        w = self.session(policy, command=command(*(roots or (self.top,))), server=False,
                         user=self.user, **kwargs)
        w.send_client({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities or {},
            "clientInfo": {"name": "tester", "version": "1"}}})
        answer = json.loads(w.client_line(LONG_WAIT))
        self.assertIn("result", answer)
        if greet:
            w.send_client({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return w

    def call(self, w, name, **arguments):
        """(the rule that denied or None, the answer's text)."""
        self.last += 1
        w.call(self.last, name, arguments)
        return self.outcome(w.client_line(LONG_WAIT), self.last)

    def outcome(self, line, ident):
        answer = json.loads(line)
        self.assertEqual(answer["id"], ident, answer)
        if "error" in answer:
            return "wire", answer["error"]["message"]
        text = answer["result"]["content"][0]["text"]
        if text.startswith("[doorward denied] "):
            return text.rpartition("(rule ")[2].rstrip(")"), text
        return None, text

    def denied(self, w, name, rule=None, why=None, **arguments):
        """Denied by this rule, and nothing has changed on the disk."""
        before = snapshot(self.top)
        got, text = self.call(w, name, **arguments)
        with self.subTest(tool=name, arguments=str(arguments)[:200]):
            self.assertEqual(snapshot(self.top), before, text)
            self.assertEqual(got, rule or "tools.%s.allowed_path_prefixes" % name, text)
            if why is not None:
                self.assertIn(why, text)

    def passed(self, w, name, **arguments):
        """Doorward has nothing against it; what the server says."""
        got, text = self.call(w, name, **arguments)
        self.assertIsNone(got, "%s %r: %s" % (name, arguments, text))
        return text

    def written(self, w, path, where, text="new\n"):
        self.passed(w, "write_file", path=path, content=text)
        with open(where) as f:
            self.assertEqual(f.read(), text, path)

    def finish(self, w):
        """The session was whole all the time, and the audit knows each call."""
        self.assertEqual(w.finish(), 0)
        self.assertEqual(w.events("session_end")[0].get("breach"), None)
        verdicts = [e for e in w.audit() if e["event"] == "verdict"]
        return {e["id"]: e for e in verdicts}


class Ambiguities(Files):
    """design.md section 4, item 4, each through the real server."""

    def wrong(self):
        """(path, a word of the reason) of all that has to be denied."""
        work = self.work
        outside = "outside the allowed folders"
        return [
            ("a", "relative"), ("./a", "relative"), ("../work_evil/a", "relative"),
            (work[1:] + "/a", "relative"), (".", "relative"), ("sub", "relative"),
            ("", "empty"), (" ", "blank"), ("\u3000", "blank"),
            (" " + work + "/a", "blank"), (work + "/a ", "blank"), (work + "/a\u00a0", "blank"),
            ("\u2009" + work + "/a", "blank"),
            ('"' + work + '/a"', "quote"), ("'" + work + "/a'", "quote"), (work + '/a"', "quote"),
            ("`" + work + "/a`", "quote"), ("\u201c" + work + "/a\u201d", "quote"),
            ("~", "~"), ("~/a", "~"), ("~root/a", "~"), ("~" + work + "/a", "~"),
            (work + "\\a", "backslash"), (work + "\\..\\..\\other\\a", "backslash"),
            (work + "/a\\", "backslash"), ("C:\\a", "backslash"),
            (work + "/a\nb", "control"), (work + "/a\tb", "control"), (work + "/\x1b[2J", "control"),
            (work + "/a\x7f", "control"), (work + "/a\u0085b", "control"),
            (work + "/a\u202eb", "invisible"), (work + "/a\u200bb", "invisible"),
            (work + "/a\ufeff", "invisible"),
            (work + "/" + "a/" * 2100 + "a", "4095"), (work + "/" + "a" * 256, "255"),
            (work + "/" + "\u00e9" * 128, "255"), ("a" * 300000, ""),
            # dot segments
            (work + "/..", outside), (work + "/../a", outside), (work + "/../work_evil/a", outside),
            (work + "/./../other/a", outside), (work + "/sub/../../other/a", outside),
            (work + "//..//other//a", outside), (work + "/new/../../other/a", "does not exist"),
            (work + "/new/../a", "does not exist"),
            (work + "/file/a", "no directory"),
            # the folder itself, and its neighbours
            (work, "allowed folder itself"), (work + "/", "allowed folder itself"),
            (work + "/.", "allowed folder itself"), (work + "/sub/..", "allowed folder itself"),
            (self.at("srv/alias"), "allowed folder itself"),
            (work + "_evil/a", outside), (work + "_evil", outside), (work[:-1], outside),
            (self.at("srv"), outside), ("/", outside), (self.at("srv/other/a"), outside),
            (self.at("srv/WORK/a"), outside),
            # links
            (work + "/l/passwd", outside), (work + "/l/new", outside), (work + "/l", outside),
            (work + "/l/../x", ""), (work + "/rel/a", outside), (work + "/rel/../a", ""),
            (work + "/hop/passwd", outside), (work + "/filelink", outside),
            (work + "/dang", outside), (work + "/dang/a", outside),
            (work + "/sub/../l/passwd", outside), (self.at("srv/alias/l/passwd"), outside),
            # URLs and escapes
            ("file://" + self.at("srv/other/a"), outside),
            ("file://" + work + "/%2e%2e/other/a", outside),
            ("FILE://localhost" + self.at("srv/other/a"), outside),
            ("file://" + work + "/..%2fother/a", "%2F"), ("file://" + work + "/a%00", "%00"),
            ("file://" + work + "/a%zz", "escape"), ("file://" + work + "/a?b", "query"),
            ("file://" + work + "/a#b", "fragment"), ("file:" + work + "/a", "file:"),
            ("file:a", "file:"), ("file://other.example" + work + "/a", "file:"),
            ("https://example.com" + work + "/a", "URL"),
            ("file://" + work + "/%5ca", "backslash"), ("file://" + work + "/a%0ab", "control"),
            # what this server takes for another spelling of a name that is there
            (work + "/" + DECOMPOSED + "/a", "another way"),
            (work + "/\u212ait/a", "another way"), (work + "/" + COMPOSED + "/a", outside),
            (work + "/Kit/a", outside),
        ]

    def wrong_by_self(self):
        """The same, of what no policy has to speak of."""
        work = self.work
        process, ring = "leads into a process", "without an end"
        return [
            ("/proc/self/root" + work + "/a", process), ("/proc/self/cwd/a", process),
            ("/proc/1/root" + work + "/a", process), (work + "/self/cwd/a", process),
            ("/proc/thread-self/root" + work + "/a", process), ("/dev/stdout", process),
            (work + "/self/root" + work + "/a", process), ("/dev/fd/1", process),
            (work + "/ring", ring), (work + "/ring/a", ring),
            (work + "/toring", ring), (work + "/toring/a", ring)]

    def test_denied_and_without_effect(self):
        w = self.start(CONFINED)
        for path, why in self.wrong():
            self.denied(w, "write_file", path=path, content="x", why=why)
            self.denied(w, "create_directory", path=path, why=why)
        for path, why in self.wrong_by_self():
            self.denied(w, "write_file", "self", path=path, content="x", why=why)
            self.denied(w, "create_directory", "self", path=path, why=why)
        verdicts = self.finish(w)
        self.assertEqual({(v["verdict"], v["contract"]) for v in verdicts.values()},
                         {("deny", "path"), ("deny", "self")})
        self.assertEqual(len(verdicts), self.last)

    def test_nul_never_gets_that_far(self):
        w = self.start(CONFINED)
        for path in (self.work + "/a\0", self.work + "/a\0/../../other/a", "\0"):
            self.denied(w, "write_file", "wire", path=path, content="x")
        self.assertEqual([e["reason"] for e in w.events("refusal", 3)], ["nul_in_string"] * 3)
        self.finish(w)

    def test_unreadable(self):
        """A part that may not be looked at: it could be a link."""
        if os.geteuid() == 0 and self.user is None:
            self.skipTest("modes stop everybody but root")
        shut = self.make("srv/work/shut")
        os.chmod(shut, 0)
        self.addCleanup(os.chmod, shut, 0o755)
        w = self.start(CONFINED)
        self.denied(w, "write_file", path=self.work + "/shut/a", content="x",
                    why="may not be looked at")
        self.written(w, self.work + "/file", self.work + "/file")
        self.finish(w)

    def test_both_ends_of_a_move_and_edits(self):
        w = self.start(CONFINED)
        inside, outside = self.work + "/file", self.at("srv/other/secret")
        for source, destination in (
                (outside, self.work + "/got"), (inside, self.at("srv/other/lost")),
                (inside, self.work + "/l/lost"), (self.work + "/l/passwd", self.work + "/got"),
                (self.work + "/l", self.work + "/m"), (self.work, self.work + "_gone"),
                (self.work, self.work + "/sub/x"), (inside, self.work + "/../lost"),
                (self.at("srv"), self.work + "/srv"), (inside, "lost"), ("srv/other", inside)):
            self.denied(w, "move_file", source=source, destination=destination)
        for path in (outside, self.work + "/l/passwd", self.work + "/filelink", "srv/work/file"):
            self.denied(w, "edit_file", path=path, edits=[{"oldText": "old", "newText": "bad"}])
        self.finish(w)

    def test_lists_and_nested_values(self):
        """All of a list is looked at, however deep it hides."""
        w = self.start(CONFINED)
        inside, outside = self.work + "/file", self.at("srv/other/secret")
        for paths in ([outside], [inside, outside], [inside] * 200 + [outside],
                      [[inside], [[outside]]], {"a": [inside, {"b": outside}]}, [outside, 7],
                      [{outside: inside}], [inside, ""], [inside, "~"], [inside, 7], [True],
                      outside):
            self.denied(w, "read_multiple_files", paths=paths)
        for path in ([inside, outside], {"path": outside}, [[outside]], 7, True, {outside: ""}):
            self.denied(w, "write_file", path=path, content="x")
        # Nothing but what is inside: the server's turn.
        self.assertIn("old", self.passed(w, "read_multiple_files", paths=[inside, inside]))
        before = snapshot(self.top)
        for path in ([inside], None, {}, []):
            self.passed(w, "write_file", path=path, content="x")     # it says: invalid
        self.assertEqual(snapshot(self.top), before)
        self.finish(w)

    def test_allowed_with_effect(self):
        w = self.start(CONFINED)
        for path, name in (
                ("/new", "new"), ("/file", "file"), ("/./a", "a"), ("//b", "b"), ("/sub/c", "sub/c"),
                ("/sub/../d", "d"), ("/file/../g", "g"), ("/inside/e", "sub/e"),
                ("/.hidden", ".hidden"), ("/...", "..."),
                ("/a b", "a b"), ("/it's", "it's"), ("/~", "~"), ("/100%25", "100%25"),
                ("/%2e%2e", "%2e%2e"), ("/r\u00e9sum\u00e9.md", "r\u00e9sum\u00e9.md"),
                ("/\u6587\u4ef6", "\u6587\u4ef6"), ("/" + "a" * 255, "a" * 255)):
            self.written(w, self.work + path, os.path.join(self.work, name))
        self.written(w, self.at("srv/alias/ok.txt"), self.work + "/ok.txt")
        self.passed(w, "create_directory", path=self.work + "/x/y/z")
        self.assertTrue(os.path.isdir(self.work + "/x/y/z"))
        self.passed(w, "move_file", source=self.work + "/new", destination=self.work + "/x/moved")
        self.assertTrue(os.path.exists(self.work + "/x/moved"))
        self.assertFalse(os.path.exists(self.work + "/new"))
        self.passed(w, "edit_file", path=self.work + "/sub/deep",
                    edits=[{"oldText": "old", "newText": "edited"}])
        with open(self.work + "/sub/deep") as f:
            self.assertEqual(f.read(), "edited\n")
        verdicts = self.finish(w)
        self.assertEqual({v["verdict"] for v in verdicts.values()}, {"allow"})
        # Only below the folder.
        changed = [p for p in snapshot(self.top) if "/srv/work/" not in p]
        self.assertEqual(sorted(os.path.relpath(p, self.top) for p in changed),
                         ["etc", "etc/passwd", "srv", "srv/alias", "srv/other",
                          "srv/other/secret", "srv/work", "srv/work_evil"])

    def test_file_urls(self):
        """A file: URL is read as the path it stands for.  This server knows no
        URLs and takes one as a name, which ends below its own root and never
        in anything that was there."""
        w = self.start(CONFINED)
        before = snapshot(self.top)
        self.passed(w, "create_directory", path="file://" + self.work + "/u")
        self.passed(w, "write_file", path="file://" + self.work + "/u/v", content="x")
        after = snapshot(self.top)
        self.assertEqual({p: v for p, v in after.items() if p in before}, before)
        odd = self.at("file:")
        self.assertEqual([p for p in after if p not in before and
                          not (p + "/").startswith(odd + "/")], [])
        self.finish(w)

    def test_the_attacks_are_real(self):
        """In observe mode the same calls are forwarded, and do harm: what
        the policy denies in the other tests is not what the server refuses."""
        w = self.start(CONFINED, mode="observe")
        before = snapshot(self.top)
        for path in (self.work + "_evil/a", self.work + "/../other/b", self.work + "/rel/c",
                     self.work + "/" + DECOMPOSED + "/d", self.work + "/\u212ait/e", "srv/other/f"):
            self.passed(w, "write_file", path=path, content="x")
        new = sorted(p for p in snapshot(self.top) if p not in before)
        self.assertEqual(new, [self.at("srv/other/" + n) for n in "bcdef"] + [self.at("srv/work_evil/a")])
        verdicts = self.finish(w)
        self.assertEqual({(v["verdict"], v["mode"], v["would"]) for v in verdicts.values()},
                         {("allow", "observe", "deny")})


class Races(Files):
    """Between the check and the server's open, things may change.  What is
    promised is each judgement; what is not is measured."""

    def setUp(self):
        super().setUp()
        self.make("srv/work/d")
        os.symlink(self.at("srv/other"), self.at("srv/spare"))
        dw.give(self.at("srv"), self.user)

    def swap(self):
        """d and the link change places, in one step."""
        a, b = os.fsencode(self.work + "/d"), os.fsencode(self.at("srv/spare"))
        if dw._libc.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")

    def landed(self, where):
        return {n for n in os.listdir(self.at(where)) if n.startswith("f")}

    def real_dir(self):
        return "srv/spare" if os.path.islink(self.work + "/d") else "srv/work/d"

    def test_each_call_is_judged_anew(self):
        """The link stays in place while calls are judged: all are denied, and
        all pass when it is gone again.  Nothing is remembered of a path."""
        w = self.start(CONFINED)
        allowed = set()
        for i in range(400):
            out = os.path.islink(self.work + "/d")
            rule, text = self.call(w, "write_file", path="%s/d/f%d" % (self.work, i), content="x")
            self.assertEqual(rule is not None, out, text)
            if not out:
                allowed.add("f%d" % i)
            if i % 3 == 2:
                self.swap()
        self.assertEqual(self.landed("srv/other"), set())
        self.assertEqual(self.landed(self.real_dir()), allowed)
        self.assertGreater(len(allowed), 100)
        self.assertLess(len(allowed), 300)
        self.finish(w)

    def test_parents_that_appear_later(self):
        w = self.start(CONFINED)
        target = self.work + "/later/x"
        before = snapshot(self.top)
        self.passed(w, "write_file", path=target, content="x")  # the server: no such directory
        self.assertEqual(snapshot(self.top), before)
        os.symlink(self.at("srv/other"), self.work + "/later")
        self.denied(w, "write_file", path=target, content="x")
        os.unlink(self.work + "/later")
        os.symlink("not-there", self.work + "/later")           # dangling, but inside
        self.passed(w, "write_file", path=target, content="x")
        os.symlink(self.at("srv/other"), self.work + "/not-there")
        self.denied(w, "write_file", path=target, content="x")
        os.unlink(self.work + "/later")
        self.make("srv/work/later")
        self.written(w, target, target)
        # The allowed folder itself may move, too.
        os.rename(self.work, self.at("srv/was"))
        os.symlink(self.at("srv/other"), self.work)
        self.written(w, self.work + "/y", self.at("srv/other/y"))   # as the policy now says
        os.unlink(self.work)
        self.denied(w, "write_file", path=self.at("srv/was/z"), content="x")
        self.finish(w)

    def test_swapped_all_the_time(self):
        """Thousands of calls, 32 in flight, while a thread swaps.  Promised:
        nothing that was denied lands anywhere.  Not promised: that what was
        allowed lands inside, since the server opens it later."""
        calls = 20000 if dw.LONG else 3000
        w = self.start(CONFINED)
        stop, swaps = threading.Event(), [0]

        def swapper():
            while not stop.is_set():
                self.swap()
                swaps[0] += 1
                time.sleep(0.0002)

        thread = threading.Thread(target=swapper)
        thread.start()
        allowed, denied, refused, sent = set(), set(), set(), 0
        try:
            while len(allowed) + len(denied) + len(refused) < calls:
                while sent < calls and sent - len(allowed) - len(denied) - len(refused) < 32:
                    w.send_client({"jsonrpc": "2.0", "id": sent, "method": "tools/call", "params": {
                        "name": "write_file", "arguments": {
                            "path": "%s/d/f%d" % (self.work, sent), "content": "x"}}}, wait=False)
                    sent += 1
                answer = json.loads(w.client_line(LONG_WAIT))
                rule, text = self.outcome(json.dumps(answer).encode(), answer["id"])
                name = "f%d" % answer["id"]
                if rule is not None:
                    self.assertEqual(rule, "tools.write_file.allowed_path_prefixes", text)
                    denied.add(name)
                elif text.startswith("Successfully"):
                    allowed.add(name)
                else:
                    refused.add(name)   # by the server, in between
        finally:
            stop.set()
            thread.join()
        inside, outside = self.landed(self.real_dir()), self.landed("srv/other")
        self.assertEqual((inside | outside) & denied, set())
        self.assertEqual(inside & outside, set())
        self.assertLessEqual(allowed, inside | outside)
        self.assertGreater(len(denied), calls // 50)
        self.assertGreater(len(allowed), calls // 50)
        verdicts = self.finish(w)
        self.assertEqual({"f%d" % i for i, v in verdicts.items() if v["verdict"] == "deny"}, denied)
        print("race: %d calls, %d swaps: %d denied, %d allowed, of which %d landed outside "
              "and %d failed" % (calls, swaps[0], len(denied), len(allowed) + len(refused),
                                 len(outside), len(refused)), flush=True)


class Self(Files):
    """Doorward's own files, under a policy that has nothing against it, with
    a server that may go everywhere."""

    def setUp(self):
        super().setUp()
        self.make("desk")
        self.make("desk/note", "note\n")
        self.state = self.make("state")
        os.chmod(self.state, 0o700)
        for name, to in (("desk/in", self.state), ("desk/far", "../state/audit.jsonl"),
                         ("desk/proc", "/proc/self")):
            os.symlink(to, self.at(name))

    def snap(self):
        """All but what Doorward itself goes on writing."""
        return {p: v for p, v in snapshot(self.top).items()
                if not p.startswith(self.state + "/audit.") and not p.startswith(self.state + "/run")}

    def verdicts(self, w):
        """How many there are, all lines being as lines have to be."""
        return sum(e["event"] == "verdict" for e in w.audit())

    def untouched(self, w, name, **arguments):
        before = self.snap()
        lines = self.verdicts(w)
        rule, text = self.call(w, name, **arguments)
        with self.subTest(tool=name, arguments=str(arguments)):
            self.assertEqual(rule, "self", text)
            self.assertNotIn("session_start", text)
            self.assertEqual(self.snap(), before)
            self.assertEqual(self.verdicts(w), lines + 1)   # nobody else wrote

    def attacks(self, w):
        state, policy = self.state, w.policy_files[0]
        pid = w.pid
        return [state, state + "/audit.jsonl", state + "/pins/new", state + "/audit.key", policy,
                 os.path.dirname(policy) + "/./" + os.path.basename(policy),
                 self.at("desk/../state/audit.jsonl"), self.at("desk/in/audit.jsonl"),
                 self.at("desk/far"), "~/.config/doorward/policy.yaml",
                 "file://" + state + "/audit.jsonl", "file://" + state.replace("s", "%73") + "/x",
                 " " + state + "/audit.jsonl", '"' + state + '/audit.jsonl"',
                 "/proc/self/root" + state + "/audit.jsonl", "/proc/%d/root%s/x" % (pid, state),
                 "/proc/%d/root/etc/hostname" % pid, "/proc/1/root" + self.at("desk/note"),
                 "/proc/self/cwd/note", "/proc/%d/cwd/policy0.yaml" % pid,
                 "/proc/self/fd/1", "/proc/%d/fd/5" % pid, "/dev/fd/1", "/dev/stdin",
                 "/proc/self/mem", "/proc/%d/mem" % pid, "/proc/self/task/1/root/x",
                 "/proc/thread-self/fd/1", self.at("desk/proc/root") + state + "/x",
                 self.at("desk/proc/fd/1"),
                 # This server takes relative names below each of its roots.
                 "state/audit.jsonl", "./state/pins", "desk/../state/audit.jsonl",
                 "desk/in/audit.jsonl", "desk/far"]

    def all_of_it(self, mode):
        w = self.start(BARE % mode, self.top, "/", state=self.state)
        # First, that the session can do things at all.
        self.assertIn("note", self.passed(w, "read_text_file", path=self.at("desk/note")))
        self.passed(w, "write_file", path=self.at("desk/state"), content="mine")
        for path in self.attacks(w):
            self.untouched(w, "write_file", path=path, content='{"v":1}\n')
            self.untouched(w, "read_text_file", path=path)
            self.untouched(w, "create_directory", path=path)
            self.untouched(w, "edit_file", path=path, edits=[{"oldText": "deny", "newText": "allow"}])
            self.untouched(w, "move_file", source=path, destination=self.at("desk/got"))
            self.untouched(w, "move_file", source=self.at("desk/note"), destination=path)
        for path in (self.state, self.at("desk/in"), "state"):
            self.untouched(w, "list_directory", path=path)
            self.untouched(w, "search_files", path=path, pattern="*")
            self.untouched(w, "read_multiple_files", paths=[self.at("desk/note"), path + "/audit.jsonl"])
        # What has them in it: gone with it.
        self.untouched(w, "move_file", source=self.top, destination=self.top + "-gone")
        verdicts = self.finish(w)
        for e in verdicts.values():
            if e["verdict"] == "deny":
                self.assertEqual(e["contract"], "self", e)

    def test_enforce(self):
        self.all_of_it("enforce")

    def test_observe(self):
        """What only observes still does not hand out its own files."""
        self.all_of_it("observe")

    def test_other_spellings(self):
        """This server takes a name for any that Unicode calls the same."""
        for name, given in (("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9"),
                            ("Kept", "\u212aept")):
            self.state = self.make(name)
            os.chmod(self.state, 0o700)
            w = self.start(BARE % "enforce", self.top, state=self.state)
            for path in (self.at(given + "/audit.jsonl"), given + "/audit.jsonl", self.at(given)):
                self.untouched(w, "read_text_file", path=path)
                self.untouched(w, "write_file", path=path + "/new", content="x")
                self.untouched(w, "edit_file", path=path, edits=[{"oldText": "v", "newText": "w"}])
            self.passed(w, "write_file", path=self.at("desk/" + given), content="x")
            self.finish(w)
            shutil.rmtree(self.state)
            os.unlink(self.at("desk/" + given))

    def test_client_files(self):
        """Where clients keep which servers they start."""
        for mode in ("enforce", "observe"):
            w = self.start(BARE % mode, self.top, state=self.state)
            for name in (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".claude/settings.json",
                         ".claude/settings.local.json", "opencode.json"):
                path = self.at("desk/" + name)
                for given in (path, "desk/" + name):
                    self.untouched(w, "write_file", path=given, content='{"mcpServers": {}}')
                    self.untouched(w, "move_file", source=self.at("desk/note"), destination=given)
            self.finish(w)

    def test_start_files(self):
        """authorized_keys: a person is asked, and there is nobody to ask.
        The server may not go there, so that no test writes a real one."""
        home = pwd.getpwuid(os.geteuid() if self.user is None else
                            pwd.getpwnam(self.user).pw_uid).pw_dir
        for mode in ("enforce", "observe"):
            w = self.start(BARE % mode, self.top, state=self.state)
            for path in (home + "/.ssh/authorized_keys", "~/.ssh/authorized_keys", home + "/.bashrc",
                         "/etc/profile.d/x.sh"):
                rule, text = self.call(w, "write_file", path=path, content="ssh-ed25519 AAAA")
                self.assertEqual(rule, "self" if mode == "enforce" else None, text)
                e = w.event("verdict", id=self.last)
                self.assertEqual(e["contract"], "self", e)
                self.assertEqual(e["verdict"] if mode == "enforce" else e["would"], "ask", e)
                # To read them is not forbidden; the server has its own view.
                rule, text = self.call(w, "read_text_file", path=path)
                self.assertIsNone(rule, text)
            self.finish(w)

    def test_roots_of_the_client(self):
        """A client's roots take the place of the command's directories, and
        relative names lead below them from then on."""
        w = self.start(BARE % "enforce", self.at("desk"), state=self.state, greet=False,
                       capabilities={"roots": {"listChanged": True}})
        self.passed(w, "read_text_file", path="state/pins")     # below desk there is no such thing
        w.send_client({"jsonrpc": "2.0", "method": "notifications/initialized"})
        request = json.loads(w.client_line(LONG_WAIT))
        self.assertEqual(request["method"], "roots/list")
        w.send_client({"jsonrpc": "2.0", "id": request["id"], "result": {
            "roots": [{"uri": "file://" + self.top.replace("-", "%2D"), "name": "all"}]}})
        for _ in range(50):
            rule, text = self.call(w, "list_allowed_directories")
            if text.endswith("\n" + self.top):
                break
            time.sleep(0.1)
        self.assertIn("note", self.passed(w, "read_text_file", path="desk/note"))
        self.untouched(w, "read_text_file", path="state/audit.jsonl")
        self.untouched(w, "write_file", path="state/pins/new", content="x")
        self.finish(w)
