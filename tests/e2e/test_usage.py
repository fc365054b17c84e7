"""How commands are asked for help, and what wrong usage gets; and what reload
says of sessions that it cannot see or that do not answer."""
import fcntl
import os
import struct
import tempfile
import unittest

import dw

SUBCOMMANDS = {"packs": ("list", "show", "verify"), "pins": ("list", "diff", "accept", "forget")}
PLAIN = ("version", "reload", "doctor", "demo")
OFD_SETLK = 37


class Usage(dw.TestCase):
    def asked(self, *words):
        status, out, err = dw.run(*words, "--help")
        self.assertEqual((status, err), (0, ""), words)
        self.assertTrue(out.startswith("usage: doorward " + " ".join(words)), out)
        return out

    def test_help(self):
        for words in [(c,) for c in (*PLAIN, *SUBCOMMANDS)] + \
                [(c, s) for c in SUBCOMMANDS for s in SUBCOMMANDS[c]]:
            want = self.asked(*words)
            self.assertEqual(dw.run(*words, "-h"), (0, want, ""), words)
            self.assertEqual(dw.run("help", *words), (0, want, ""), words)
        for command in ("run", "policy"):
            self.assertEqual(dw.run("help", command), (0, self.asked(command), ""))

    def wrong(self, words, text, where):
        self.assertEqual(dw.run(*words), (2, "", "doorward: %s\nTry 'doorward %s'.\n" %
                                          (text, where)))

    def test_wrong_words(self):
        self.wrong(["pin"], 'unknown command "pin"; did you mean "pins"?', "--help")
        self.wrong(["zzzzzz"], 'unknown command "zzzzzz"', "--help")
        self.wrong(["help", "pin"], 'unknown command "pin"; did you mean "pins"?', "--help")
        self.wrong(["help", "pins", "list", "x"], 'help: unexpected argument "x"', "--help")
        self.wrong(["undo"], "undo is not built yet", "--help")
        self.wrong(["help", "undo"], "undo is not built yet", "--help")
        for command in PLAIN:
            self.wrong([command, "x"], '%s: unexpected argument "x"' % command,
                       command + " --help")
            self.wrong([command, "--none"], "%s: unrecognized option '--none'" % command,
                       command + " --help")

    # ---- reload ----

    def state(self):
        d = tempfile.TemporaryDirectory(prefix="dw-usage-")
        self.addCleanup(d.cleanup)
        return d.name

    def test_reload_that_cannot_look(self):
        state = self.state()
        run = os.path.join(state, "run")
        self.assertEqual(dw.run("reload", "--state", state), (0, "no running session\n", ""))
        with open(run, "w"):
            pass
        self.assertEqual(dw.run("reload", "--state", state),
                         (1, "", "doorward: reload: %s: Not a directory; whether sessions run "
                                 "cannot be seen\n" % run))

    def test_sessions_that_do_not_answer(self):
        """They are named as far as they have named themselves."""
        state = self.state()
        run = os.path.join(state, "run")
        os.mkdir(run, 0o700)
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        held = []
        for name, text in (("aa", "0123 ok 4711: mail: reloaded\n"), ("bb", "")):
            f = open(os.path.join(run, "session." + name), "w")
            self.addCleanup(f.close)
            f.write(text)
            f.flush()
            fcntl.fcntl(f, OFD_SETLK, whole)
            held.append(f)
        status, out, err = dw.run("reload", "--state", state)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(sorted(err.splitlines()), [
            "doorward: reload: no answer from 4711: mail (session aa)",
            "doorward: reload: no answer from session bb of " + run])


if __name__ == "__main__":
    unittest.main()
