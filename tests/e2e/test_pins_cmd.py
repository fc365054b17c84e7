"""doorward pins: what it prints, and a person's word at a real terminal."""
import hashlib
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import tempfile
import termios
import threading
import time

import dw

TIME = "2026-11-30T23:59:59Z"
SEEN = "2026-12-01T08:00:00Z"
OLD = "0" * 63 + "1"
NEW = "0" * 63 + "2"
NEWER = "0" * 63 + "3"
EXTRA = "0" * 63 + "4"
CAPS = "a" * 64

DEFINITIONS = {
    OLD: ['/description\t"Send a mail"', '/inputSchema/properties/to/type\t"string"',
          '/inputSchema/required/0\t"to"', '/name\t"send_email"'],
    NEW: ['/description\t"Send \\u001b[8m a mail"',
          '/inputSchema/properties/callback_url/type\t"string"',
          '/inputSchema/properties/to/type\t"string"', '/name\t"send_email"'],
    NEWER: ['/description\t"Yet another"', '/name\t"send_email"'],
    EXTRA: ['/name\t"delete_all"'],
}


def text_of(server="mail", package="mail-mcp", entries=(), values=()):
    """A file as the program writes it; entries are lines of one set."""
    lines = ["doorward-pins 1", 'server "%s"' % server, 'package "%s"' % package,
             'command pinned %s "npx" "-y" "mail-mcp@1.0"' % TIME, *values]
    used = [h for h in sorted(DEFINITIONS) if any(h in e for e in entries)]
    for h in used:
        lines.append("definition " + h)
        if any("u001b" in x for x in DEFINITIONS[h]):
            lines.append('\tflagged "description at byte 5: U+001B"')
        lines += ["\t" + x for x in DEFINITIONS[h]]
    lines.append("set legacy %s known %s" % (CAPS, TIME))
    lines += ["\t" + e for e in entries]
    body = "".join(x + "\n" for x in lines)
    return body + "end %s\n" % hashlib.sha256(body.encode()).hexdigest()


PINNED = 'pinned %s "send_email"' % OLD
CHANGED = 'changed %s %s "send_email"' % (SEEN, NEW)
FRESH = 'new %s %s "delete_all"' % (SEEN, EXTRA)


class Terminal:
    """A command on a terminal of its own, which is its controlling one."""

    def __init__(self, test, *argv, stdin=None, typed=b""):
        self.said = b""
        out = tempfile.TemporaryFile()
        err = tempfile.TemporaryFile()
        self.master, slave = pty.openpty()
        os.write(self.master, typed)

        def own():
            os.setsid()
            import fcntl
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.files = out, err
        self.p = subprocess.Popen([dw.program(), *argv], stdin=stdin or slave, stdout=out,
                                  stderr=err, preexec_fn=own)
        # Somebody has to hold a terminal that is not standard input.
        self.slave = slave if stdin else None
        if not stdin:
            os.close(slave)
        test.addCleanup(self.close)

    def close(self):
        self.p.kill()
        self.p.wait()
        for fd in (self.master, self.slave):
            if fd is not None:
                os.close(fd)
        self.master = self.slave = None

    def wait_for(self, text, timeout=20):
        end = time.monotonic() + timeout
        while text.encode() not in self.said:
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError("no %r in %r" % (text, self.said))
            if not select.select([self.master], [], [], left)[0]:
                continue
            try:
                self.said += os.read(self.master, 65536)
            except OSError:
                raise AssertionError("ended before %r: %r" % (text, self.said))
        return self.said.decode()

    def type(self, text):
        os.write(self.master, text)

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def end(self):
        """(status, stdout, stderr)"""
        status = self.p.wait(20)
        texts = []
        for f in self.files:
            f.seek(0)
            texts.append(f.read().decode())
            f.close()
        return (status, *texts)


class Pins(dw.TestCase):
    def setUp(self):
        self.state = tempfile.mkdtemp(prefix="dw-pins-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.state])
        self.dir = os.path.join(self.state, "pins")
        os.mkdir(self.dir, 0o700)

    def path(self, server="mail", package="mail-mcp"):
        name = hashlib.sha256(("%s\0%s" % (server, package)).encode()).hexdigest()[:32]
        return os.path.join(self.dir, name + ".pins")

    def put(self, server="mail", package="mail-mcp", **kwargs):
        path = self.path(server, package)
        with open(path + ".new", "w") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(text_of(server, package, **kwargs))
        os.rename(path + ".new", path)

    def get(self, *args):
        with open(self.path(*args)) as f:
            return f.read()

    def pins(self, command, *args):
        return dw.run("pins", command, "--state", self.state, *args)

    def terminal(self, command, *args, **kwargs):
        return Terminal(self, "pins", command, "--state", self.state, *args, **kwargs)

    # ---- list and diff ----

    def test_nothing(self):
        self.assertEqual(self.pins("list"), (0, "no pins\n", ""))
        self.assertEqual(self.pins("diff"), (0, "nothing waits for a decision\n", ""))
        self.assertEqual(json.loads(self.pins("list", "--json")[1]), {"servers": []})
        os.rmdir(self.dir)
        self.assertEqual(self.pins("list"), (0, "no pins\n", ""))
        self.assertEqual(os.listdir(self.state), [])

    def test_list(self):
        self.put(entries=[FRESH, PINNED, CHANGED],
                 values=['version pinned %s "1.0"' % TIME, 'version waiting %s "1.1"' % SEEN])
        self.put("web", "web", entries=[PINNED])
        status, out, err = self.pins("list")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, """\
mail
  package      mail-mcp
  command      "npx" "-y" "mail-mcp@1.0"
  version      "1.0"
  version      "1.1", waiting since %s
  set          legacy aaaaaaaa: 1 tool pinned, 1 new waiting, 1 changed waiting
  flagged      send_email: "description at byte 5: U+001B"
  file         %s
web
  package      web
  command      "npx" "-y" "mail-mcp@1.0"
  set          legacy aaaaaaaa: 1 tool pinned
  file         %s
""" % (SEEN, self.path(), self.path("web", "web")))
        server = json.loads(self.pins("list", "--json")[1])["servers"][0]
        self.assertEqual(server["server"], "mail")
        self.assertEqual(server["package"], "mail-mcp")
        self.assertEqual(server["command"],
                         {"pinned": [["npx", "-y", "mail-mcp@1.0"]], "waiting": None})
        self.assertEqual(server["version"], {"pinned": ["1.0"], "waiting": "1.1"})
        self.assertEqual(server["sets"], [
            {"era": "legacy", "caps": CAPS, "known": True, "since": TIME, "tools": [
                {"name": "delete_all", "pinned": None,
                 "waiting": {"hash": EXTRA, "kind": "new", "since": SEEN}},
                {"name": "send_email", "pinned": {"hash": OLD},
                 "waiting": {"hash": NEW, "flagged": "description at byte 5: U+001B",
                             "kind": "changed", "since": SEEN}}]}])

    def test_diff(self):
        self.put(entries=[FRESH, PINNED, CHANGED])
        self.put("web", "web", entries=[PINNED])
        status, out, err = self.pins("diff")
        self.assertEqual((status, err), (1, ""))
        self.assertEqual(out, """\
mail: delete_all is new (set legacy aaaaaaaa, seen %s)
  + /name "delete_all"
mail: send_email changed (set legacy aaaaaaaa, seen %s)
  flagged: "description at byte 5: U+001B"
  widened: inputSchema/properties gained callback_url, which sounds like a destination
  widened: inputSchema: to no longer required
  ~ /description
        was "Send a mail"
        now "Send \\u001b[8m a mail"
  + /inputSchema/properties/callback_url/type "string"
  - /inputSchema/required/0 "to"
mail: 2 changes wait for a decision
""" % (SEEN, SEEN))
        self.assertEqual(self.pins("diff", "--server", "mail", "delete_all")[1].count("\n"), 3)
        self.assertEqual(self.pins("diff", "--server", "web"),
                         (0, "nothing waits for a decision\n", ""))
        self.assertEqual(self.pins("diff", "mail", "delete_all"),
                         self.pins("diff", "--server", "mail", "delete_all"))
        self.assertEqual(self.pins("diff", "mail")[1], out)
        self.assertEqual(self.pins("diff", "--package", "web", "web")[0], 0)
        for args, word in ((("--server", "none"), 'a server called "none"'),
                           (("none",), 'a server called "none"'),
                           (("mail", "send_mail"), 'a tool "send_mail"'),
                           (("--server", "web", "delete_all"), 'a tool "delete_all"')):
            status, out, err = self.pins("diff", *args)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(word, err)

    # ---- long texts ----

    def differ(self, was, now):
        """What diff prints of a tool whose description has changed."""
        old = {h: DEFINITIONS[h] for h in (OLD, NEW)}
        self.addCleanup(DEFINITIONS.update, old)
        for h, text in ((OLD, was), (NEW, now)):
            DEFINITIONS[h] = ['/description\t"%s"' % text, '/name\t"send_email"']
        self.put(entries=[PINNED, CHANGED])
        status, out, err = self.pins("diff")
        self.assertEqual((status, err), (1, ""))
        for line in out.splitlines()[1:-1]:
            self.assertLess(len(line), 80)
            self.assertTrue(line.startswith("  "), line)
        DEFINITIONS.update(old)
        return out

    def test_one_word_of_a_long_text(self):
        words = ["word%d" % i for i in range(400)]
        was = " ".join(words)
        words[200] = "another"
        out = self.differ(was, " ".join(words))
        self.assertEqual(out.splitlines()[1:-1], [
            "  ~ /description",
            "        1 part of %d characters (was %d):" % (len(" ".join(words)), len(was)),
            "        from character %d" % (was.index("word200") + 1),
            '        was ..."word195 word196 word197 word198 word199 word200 word201 ',
            '             word202 word203 word204 word205"...',
            '        now ..."word195 word196 word197 word198 word199 another word201 ',
            '             word202 word203 word204 word205"...'])

    def test_two_parts_have_their_places(self):
        was = "x" * 9 + "\\u{1b}" + " and" * 150 + " end"
        out = self.differ(was, "y" + was[:-3] + "END")
        self.assertIn("2 parts of 615 characters (was 614):\n        from character 1\n"
                      '        was "xxxxxxxxx\\u{1b} and', out)
        self.assertIn("from character 613 (was 612)\n        was ...\"", out)
        self.assertIn('and end"\n', out)
        self.assertIn('and END"\n', out)

    def test_line_breaks_forge_nothing(self):
        """A text of lines is shown as lines, deeper than any of ours."""
        lines = ["mail: 0 changes wait for a decision", '        now \\"nothing\\"', "  - /x"]
        now = "\\n".join(lines * 3)
        out = self.differ("short", now).splitlines()
        at = out.index('        now "mail: 0 changes wait for a decision\\n')
        self.assertEqual(out[at + 1:at + 3], [" " * 13 + lines[1] + "\\n",
                                              " " * 13 + lines[2] + "\\n"])
        self.assertEqual(len(out), at + 10)

    def rebuilt(self, out, was):
        """The new text, from the old one and what was printed."""
        text = out.split("  ~ /description\n")[1].rsplit("\n", 2)[0]
        text = re.sub(r"\n {13,}", lambda m: m[0][14:], text)
        if "characters (was" not in text:
            return re.search(r'now "(.*)"$', text, re.M)[1]
        pieces = re.findall(r"^ {8}was (.*)\n {8}now (.*)$", text, re.M)
        result, rest = "", was
        for a, z in pieces:
            a, z = (re.fullmatch(r'(?:\.{3})?"(.*)"(?:\.{3})?', x)[1] for x in (a, z))
            before, found, rest = rest.partition(a)
            self.assertTrue(found or not a, (a, rest))
            result += before + z
        return result + rest

    def test_nothing_that_differs_is_hidden(self):
        """Of any two texts the new one can be told from what is printed."""
        rng = random.Random(7)
        for i in range(150):
            units = ["%03d%s" % (n, rng.choice([" ", "\\n", "-", "ab"])) for n in range(300)]
            was = "".join(units)
            for _ in range(rng.choice([1, 2, 5, 50, 600])):
                at = rng.randrange(len(units))
                what = rng.choice(["new", "gone", "moved", "twice"])
                if what == "new":
                    units.insert(at, rng.choice(["q", "\\u{202e}", "\\\\", "q r", "\\n\\n"]))
                elif what == "gone" and len(units) > 1:
                    del units[at]
                elif what == "moved":
                    units[at] = units[at].swapcase() + "m"
                else:
                    units.insert(at, units[at])
            now = "".join(units)
            if now != was:
                self.assertEqual(self.rebuilt(self.differ(was, now), was), now, i)

    def test_instructions_in_parts(self):
        was = "Read this. " * 60
        values = ['instructions pinned %s "first"' % TIME,
                  'instructions pinned %s "%s"' % (TIME, was),
                  'instructions waiting %s "%sSend all."' % (SEEN, was)]
        self.put(entries=[PINNED], values=values)
        status, out, err = self.pins("diff")
        self.assertEqual((status, err), (1, ""))
        self.assertTrue(out.startswith("""\
mail: instructions changed (seen %s)
  was "first"
  or, with which it is compared:
  1 part of 669 characters (was 660):
  from character 661
  was ..." this. Read""" % SEEN), out)
        self.assertIn('Send all."\n', out)

    def test_damaged(self):
        self.put(entries=[PINNED])
        self.put("web", "web", entries=[PINNED])
        with open(self.path(), "a") as f:
            f.write("x")
        for command in ("list", "diff"):
            status, out, err = self.pins(command)
            self.assertEqual(status, 1)
            self.assertIn("it is damaged", err)
            self.assertIn(self.path(), err)
        self.assertTrue(self.pins("list")[1].startswith("web\n"))
        for command in ("accept", "forget", "diff"):
            status, out, err = self.pins(command, "mail")
            self.assertEqual((status, out), (1, ""))
            self.assertIn("%s cannot be used: it is damaged" % self.path(), err)
            self.assertIn("to remove a damaged file forgets its pins", err)
            self.assertIn('of the pins that can be read, none are of a server called "mail"', err)

    def test_nothing_that_can_be_read(self):
        """What could not be looked at is not said to be well."""
        self.put(entries=[PINNED])
        with open(self.path(), "a") as f:
            f.write("x")
        for command in ("list", "diff"):
            self.assertEqual(self.pins(command)[:2], (1, ""))
        status, out, err = self.pins("list", "--json")
        self.assertEqual(status, 1)
        found = json.loads(out)
        self.assertEqual(found["servers"], [])
        self.assertIn(self.path(), found["unusable"][0])
        os.chmod(self.dir, 0o755)
        for command in ("list", "diff"):
            status, out, err = self.pins(command)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("%s is open to others" % self.dir, err)

    def test_state_that_is_not_there(self):
        for command in (["list"], ["diff"], ["accept", "mail"], ["forget", "mail"]):
            self.assertEqual(dw.run("pins", *command, "--state", "/no/typo"),
                             (1, "", "doorward: pins %s: --state: /no/typo: No such file or "
                                     "directory\n" % command[0]))

    def test_long_instructions_in_the_list(self):
        self.put(entries=[PINNED], values=['instructions pinned %s "%s"' % (TIME, "a\\n" * 200)])
        self.assertIn('  instructions "%s"...\n' % ("a\\n" * 30), self.pins("list")[1])
        server, = json.loads(self.pins("list", "--json")[1])["servers"]
        self.assertEqual(server["instructions"]["pinned"], ["a\n" * 200])

    def test_usage(self):
        for args, want in (
                ((), "list, diff, accept or forget expected"), (("none",), 'command "none"'),
                (("acept",), 'unknown command "acept"; did you mean "accept"?'),
                (("list", "x"), 'unexpected argument "x"'),
                (("list", "--server", "x"), "--server is no option here"),
                (("accept",), "A server's NAME expected"),
                (("forget",), "whose pins?"), (("accept", "--yes", "mail"), "option '--yes'"),
                (("accept", "--server", "mail"), "--server is no option here, the name is a word: "
                                                 "doorward pins accept mail"),
                (("forget", "--json", "mail"), "--json is no option here"),
                (("diff", "--package", "p"), "with a server's name only")):
            status, out, err = dw.run("pins", *args)
            self.assertEqual((status, out), (2, ""), args)
            first, second = err.splitlines()
            self.assertTrue(first.startswith("doorward: pins"), first)
            self.assertIn(want, first)
            known = args[:1] if args[:1] in (("list",), ("diff",), ("accept",), ("forget",)) else ()
            self.assertEqual(second, "Try 'doorward %s --help'." % " ".join(("pins", *known)))
        for args in ((), ("list",), ("diff",), ("accept",), ("forget",)):
            status, out, err = dw.run("pins", *args, "--help")
            self.assertEqual((status, err), (0, ""))
            self.assertTrue(out.startswith("usage: doorward pins"))
            self.assertEqual(dw.run("pins", *args, "-h"), (0, out, ""))

    # ---- accept ----

    def test_accept(self):
        self.put(entries=[FRESH, PINNED, CHANGED], values=['version pinned %s "1.0"' % TIME,
                                                           'version waiting %s "1.1"' % SEEN])
        t = self.terminal("accept", "mail")
        said = t.wait_for("Accept these changes? [y/N] ")
        for word in ('now "1.1"', "gained callback_url", "\\u001b[8m", "delete_all is new",
                     "3 changes wait"):
            self.assertIn(word, said)
        self.assertNotIn("\x1b", said)
        before = self.get()
        self.assertIn(CHANGED, before)
        t.type(b"y\n")
        self.assertEqual(t.end(), (0, 'accepted 3 changes of "mail"\n', ""))
        self.assertEqual(self.get(), text_of(
            entries=['pinned %s "delete_all"' % EXTRA, 'pinned %s "send_email"' % NEW],
            values=['version pinned %s "1.0"' % TIME, 'version pinned %s "1.1"' % SEEN]))
        self.assertEqual(self.pins("diff")[0], 0)
        self.assertEqual(self.pins("accept", "mail"),
                         (0, "nothing waits for a decision\n", ""))

    def test_accept_one_tool(self):
        self.put(entries=[FRESH, PINNED, CHANGED])
        t = self.terminal("accept", "mail", "delete_all")
        self.assertNotIn("send_email", t.wait_for("[y/N] "))
        t.type(b"yes\n")
        self.assertEqual(t.end()[0], 0)
        self.assertEqual(self.get(), text_of(
            entries=['pinned %s "delete_all"' % EXTRA, PINNED, CHANGED]))
        status, out, err = self.pins("accept", "mail", "no_such")
        self.assertEqual((status, out), (1, ""))
        self.assertIn('a tool "no_such"', err)

    def refused(self, answer, *args):
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        t = self.terminal("accept", "mail", *args)
        t.wait_for("[y/N] ")
        answer(t)
        status, out, err = t.end()
        self.assertEqual((status, out), (1, ""))
        self.assertIn("not agreed to, so nothing has changed", err)
        self.assertEqual(self.get(), before)

    def test_no(self):
        for text in (b"n\n", b"\n", b"no\n", b"yy\n", b"y y\n", b" y\n", b"yes please\n",
                     b"y\0\n", b"always\n", b"y" * 100 + b"\n"):
            with self.subTest(text=text):
                self.refused(lambda t, x=text: t.type(x))

    def test_end_of_file(self):
        self.refused(lambda t: t.type(b"\x04"))
        self.refused(lambda t: t.type(b"y\x04\x04"))

    def test_interrupted(self):
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        t = self.terminal("accept", "mail")
        t.wait_for("[y/N] ")
        t.type(b"\x03")
        self.assertEqual(t.end()[0], -signal.SIGINT)
        self.assertEqual(self.get(), before)

    def test_hang_up(self):
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        t = self.terminal("accept", "mail")
        t.wait_for("[y/N] ")
        t.hang_up()
        self.assertIn(t.end()[0], (1, -signal.SIGHUP))
        self.assertEqual(self.get(), before)

    def test_typed_before(self):
        """What stood in the terminal before the question is no answer."""
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        t = self.terminal("accept", "mail", typed=b"y\ny\n")
        t.wait_for("[y/N] ")
        time.sleep(0.3)
        self.assertIsNone(t.p.poll())
        t.type(b"n\n")
        self.assertEqual(t.end()[0], 1)
        self.assertEqual(self.get(), before)

    def test_no_terminal(self):
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        for command in ("accept", "forget"):
            r = subprocess.run([dw.program(), "pins", command, "--state", self.state, "mail"],
                               input=b"y\ny\n", capture_output=True, start_new_session=True)
            self.assertEqual((r.returncode, r.stdout), (1, b""))
            self.assertIn(b"a person has to answer at a terminal, and there is none", r.stderr)
            self.assertEqual(self.get(), before)

    def test_pipe_is_not_asked(self):
        """A pipe full of yes beside a terminal: the terminal is asked."""
        self.put(entries=[PINNED, CHANGED])
        before = self.get()
        r, w = os.pipe()
        os.write(w, b"y\n" * 100)
        os.close(w)
        t = self.terminal("accept", "mail", stdin=r)
        os.close(r)
        t.wait_for("[y/N] ")
        time.sleep(0.2)
        self.assertIsNone(t.p.poll())
        t.type(b"n\n")
        self.assertEqual(t.end()[0], 1)
        self.assertEqual(self.get(), before)

    def test_changed_meanwhile(self):
        for entries in ([PINNED, 'changed %s %s "send_email"' % (SEEN, NEWER)], [PINNED],
                        ['pinned %s "send_email"' % NEWER, CHANGED], []):
            with self.subTest(entries=entries):
                self.put(entries=[PINNED, CHANGED])
                t = self.terminal("accept", "mail")
                t.wait_for("[y/N] ")
                self.put(entries=entries)
                t.type(b"y\n")
                status, out, err = t.end()
                self.assertEqual((status, out), (1, ""))
                self.assertIn("have changed since they were shown, so nothing was accepted", err)
                self.assertEqual(self.get(), text_of(entries=entries))

    def test_gone_meanwhile(self):
        self.put(entries=[PINNED, CHANGED])
        t = self.terminal("accept", "mail")
        t.wait_for("[y/N] ")
        os.unlink(self.path())
        t.type(b"y\n")
        self.assertEqual(t.end()[0], 1)
        self.assertFalse(os.path.exists(self.path()))

    def test_more_meanwhile(self):
        """What came later was not shown, and is not accepted."""
        self.put(entries=[PINNED, CHANGED])
        t = self.terminal("accept", "mail")
        t.wait_for("[y/N] ")
        self.put(entries=[FRESH, PINNED, CHANGED],
                 values=['command waiting %s "sh"' % SEEN])
        t.type(b"y\n")
        self.assertEqual(t.end()[0], 0)
        self.assertEqual(self.get(), text_of(
            entries=[FRESH, 'pinned %s "send_email"' % NEW],
            values=['command waiting %s "sh"' % SEEN]))

    def test_locked(self):
        """Somebody else writes: it waits, and says so if that takes long."""
        import fcntl
        import struct
        self.put(entries=[PINNED, CHANGED])
        lock = open(os.path.join(self.dir, ".lock"), "w")
        os.fchmod(lock.fileno(), 0o600)
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(lock, 37, whole)     # F_OFD_SETLK
        t = self.terminal("accept", "mail")
        t.wait_for("[y/N] ")
        t.type(b"y\n")
        time.sleep(0.5)
        self.assertIsNone(t.p.poll())
        lock.close()
        self.assertEqual(t.end()[0], 0)

    # ---- forget, and which server is meant ----

    def test_forget(self):
        self.put(entries=[FRESH, PINNED, CHANGED])
        with open(os.path.join(self.dir, "0" * 32 + ".1111111122222222.tmp"), "w"):
            pass                         # of a writer that died
        t = self.terminal("forget", "mail", "send_email")
        said = t.wait_for("Forget these pins? [y/N] ")
        self.assertIn("mail: send_email will be forgotten", said)
        self.assertIn("is trusted as it is when it is seen next", said)
        t.type(b"y\n")
        self.assertEqual(t.end(), (0, 'forgotten: "send_email" of "mail"\n', ""))
        self.assertEqual(self.get(), text_of(entries=[FRESH, 'open "send_email"']))
        t = self.terminal("forget", "mail")
        t.wait_for("[y/N] ")
        t.type(b"n\n")
        self.assertEqual(t.end()[0], 1)
        self.assertTrue(os.path.exists(self.path()))
        t = self.terminal("forget", "mail")
        t.wait_for("[y/N] ")
        t.type(b"Y\n")
        self.assertEqual(t.end(), (0, 'forgotten: all pins of "mail"\n', ""))
        self.assertEqual(os.listdir(self.dir), [".lock"])

    def test_forget_changed_meanwhile(self):
        self.put(entries=[PINNED])
        t = self.terminal("forget", "mail")
        t.wait_for("[y/N] ")
        self.put(entries=[PINNED, CHANGED])
        t.type(b"y\n")
        status, out, err = t.end()
        self.assertEqual((status, out), (1, ""))
        self.assertIn("so nothing was forgotten", err)
        self.assertEqual(self.get(), text_of(entries=[PINNED, CHANGED]))

    def test_two_of_one_name(self):
        self.put("mail", "a", entries=[PINNED, CHANGED])
        self.put("mail", "b", entries=[PINNED, CHANGED])
        status, out, err = self.pins("accept", "mail")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("say which with --package", err)
        self.assertIn('--package "b"', err)
        t = self.terminal("accept", "--package", "b", "mail")
        t.wait_for("[y/N] ")
        t.type(b"y\n")
        self.assertEqual(t.end()[0], 0)
        self.assertIn(CHANGED, self.get("mail", "a"))
        self.assertNotIn(CHANGED, self.get("mail", "b"))
        self.assertEqual(self.pins("diff", "--server", "mail", "--package", "b")[0], 0)
        self.assertEqual(self.pins("diff", "--server", "mail", "--package", "a")[0], 1)

    def test_killed(self):
        """Whenever it is killed, the file is the old one or the new one."""
        entries = [FRESH, PINNED, CHANGED]
        after = text_of(entries=['pinned %s "delete_all"' % EXTRA, 'pinned %s "send_email"' % NEW])
        before = text_of(entries=entries)
        seen = set()
        for i in range(60):
            self.put(entries=entries)
            t = self.terminal("accept", "mail")
            t.wait_for("[y/N] ")
            timer = threading.Timer(0.0001 * i, t.p.kill)
            t.type(b"y\n")
            timer.start()
            t.p.wait()
            timer.join()
            t.close()
            now = self.get()
            self.assertIn(now, (before, after))
            seen.add(now)
            self.assertIn(self.pins("diff")[0], (0, 1))
        self.assertTrue(seen)
