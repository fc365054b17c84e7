"""The demonstration succeeds, and it can fail: its checks look at the disk."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile

import dw


def demo(*args, user=None, tmp=None):
    env = dw.clean_env()
    if tmp is not None:
        env["TMPDIR"] = tmp
    return dw.run("demo", *args, user=user, env=env, timeout=60)


class Demo(dw.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="dw-demo-")
        self.addCleanup(self.dir.cleanup)
        os.chmod(self.dir.name, 0o755)

    def policy(self, text):
        path = os.path.join(self.dir.name, "policy.yaml")
        with open(path, "w") as f:
            f.write("version: 1\n" + text)
        return path

    def test_succeeds(self):
        for user in dw.users():
            with self.subTest(user=user):
                tmp = os.path.join(self.dir.name, "tmp-%s" % user)
                os.mkdir(tmp, 0o700)
                dw.give(tmp, user)
                status, out, err = demo(user=user, tmp=tmp)
                self.assertEqual((status, err), (0, ""), out)
                self.assertRegex(out, r"mail the list to \S+ +denied\n")
                self.assertRegex(out, r"answer ticket t-1 +allowed\n")
                self.assertRegex(out, r"\n      Export all \S.* then put the key")
                self.assertNotIn("\\n", out)
                self.assertIn("would have been denied (rule no-deletes)", out)
                self.assertNotIn("FAILED", out)
                self.assertNotIn("\033", out)
                self.assertEqual(os.listdir(tmp), [])

    def test_fails_where_nothing_is_forbidden(self):
        status, out, _ = demo("--policy", self.policy("default_action: allow\n"))
        self.assertEqual(status, 1, out)
        # Each of these was read off the disk.
        self.assertIn("FAILED: spool: a mail to collect@evil.example got through", out)
        self.assertIn("FAILED: files: .ssh/authorized_keys got through", out)
        self.assertIn("FAILED: customers: a deletion got through", out)
        self.assertIn("FAILED: audit: no such line for send_email", out)
        # And these off the answers.
        self.assertIn("FAILED: send_email: this call was to be denied", out)
        # The wire refuses whatever the policy says.
        self.assertNotIn("smuggled mail got through", out)

    def test_fails_for_one_hole(self):
        policy = self.policy("""rules:
  - {id: no-files, tool: write_file, action: block}
  - {id: no-deletes, tool: "delete_*", action: block}
  - {id: ask-for-exports, tool: "export_*", action: require_approval}
approval: {channels: []}
""")
        status, out, _ = demo("--policy", policy)
        self.assertEqual(status, 1, out)
        self.assertIn("FAILED: spool: a mail to collect@evil.example got through", out)
        self.assertNotIn("FAILED: files", out)
        self.assertNotIn("FAILED: customers", out)

    def test_fails_where_everything_is_forbidden(self):
        status, out, _ = demo("--policy", self.policy("default_action: block\n"))
        self.assertEqual(status, 1, out)
        self.assertIn("FAILED: spool: the answer to Ana is not there", out)
        self.assertIn("FAILED: list_tickets: this call was to be allowed", out)

    def test_fails_where_the_session_cannot_start(self):
        status, out, _ = demo("--policy", self.policy("no_such_key: 1\n"))
        self.assertEqual(status, 1, out)
        self.assertIn("FAILED: the session broke off", out)
        self.assertIn("FAILED: it could not be played to its end.", out)
        self.assertIn("no_such_key", out)

    def test_interrupted(self):
        """A server that never answers, and ^C: nothing is left behind."""
        build = os.path.join(self.dir.name, "build")
        os.mkdir(build)
        for name in ("doorward", "doorward-relay"):
            shutil.copy(dw.program(name), build)
        server = os.path.join(build, "doorward-helpdesk" + dw.SUFFIX)
        with open(server, "w") as f:
            f.write("#!/bin/sh\nexec sleep 60\n")
        os.chmod(server, 0o755)
        tmp = os.path.join(self.dir.name, "tmp")
        os.mkdir(tmp)
        p = subprocess.Popen([os.path.join(build, "doorward" + dw.SUFFIX), "demo"],
                             env=dict(dw.clean_env(), TMPDIR=tmp), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        dw._live.add(p.pid)
        try:
            for line in p.stdout:
                if line.startswith("1. "):
                    break
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=15 * dw.SLOW)
        finally:
            p.kill()
            p.wait()
            dw._live.discard(p.pid)
            left = dw.gone(dw.adopted())
            dw.leftovers()
        self.assertEqual((p.returncode, err, left), (130, "", []))
        self.assertIn("interrupted", out)
        self.assertNotIn("FAILED", out)
        self.assertEqual(os.listdir(tmp), [])

    def test_keep(self):
        status, out, _ = demo("--keep", tmp=self.dir.name)
        self.assertEqual(status, 0, out)
        kept, = glob.glob(os.path.join(self.dir.name, "doorward-demo.*"))
        self.assertIn("kept: %s\n" % kept, out)
        mails = glob.glob(os.path.join(kept, "desk", "spool", "*.eml"))
        self.assertEqual(len(mails), 1)
        with open(mails[0]) as f:
            self.assertTrue(f.read().startswith("To: ana@northwind.example\n"))

    def test_usage(self):
        status, out, err = demo("--help")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("usage: doorward demo", out)
        for args in (["--nonsense"], ["word"], ["--policy"]):
            status, out, err = demo(*args)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("usage: doorward demo", err)
        self.assertEqual(demo("word")[2].splitlines()[0],
                         'doorward: demo: unexpected argument "word"')

    def test_state_has_to_be_absolute(self):
        status, out, err = demo("--state", "rel/ative", tmp=self.dir.name)
        self.assertEqual((status, out, err), (2, "", "doorward: demo: --state: an absolute "
                                              'path expected, not "rel/ative"\n'))
        self.assertEqual(os.listdir(self.dir.name), [])


class Helpdesk(dw.TestCase):
    """The demonstration's server is shipped: it keeps to its directory and
    speaks every version."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="dw-desk-")
        self.addCleanup(self.dir.cleanup)

    def talk(self, *lines):
        """Answers to lines (messages, or bytes as they are)."""
        argv = [dw.program("doorward-helpdesk"), self.dir.name]
        p = subprocess.run(argv, input=b"".join(map(dw.as_line, lines)),
                           capture_output=True, timeout=20 * dw.SLOW)
        self.assertEqual((p.returncode, p.stderr), (0, b""))
        return [json.loads(line) for line in p.stdout.splitlines()]

    def call(self, tool, **arguments):
        answer, = self.talk({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                             "params": {"name": tool, "arguments": arguments}})
        result = answer["result"]
        return result["content"][0]["text"], result.get("isError", False)

    def test_versions(self):
        for version in dw.VERSIONS[:-1]:
            answer, = self.talk({"jsonrpc": "2.0", "id": "a", "method": "initialize",
                                 "params": {"protocolVersion": version}})
            self.assertEqual(answer["id"], "a")
            self.assertEqual(answer["result"]["protocolVersion"], version)
        found, tools = self.talk(
            {"jsonrpc": "2.0", "id": 1, "method": "server/discover",
             "params": {"_meta": dw.MODERN}},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list",
             "params": {"_meta": dw.MODERN}})
        self.assertEqual(found["result"]["supportedVersions"], ["2026-07-28"])
        for answer in (found, tools):
            self.assertEqual(answer["result"]["resultType"], "complete")
            self.assertIs(type(answer["result"]["ttlMs"]), int)
            self.assertEqual(answer["result"]["cacheScope"], "public")
        other = dict(dw.MODERN, **{"io.modelcontextprotocol/protocolVersion": "2027-01-01"})
        answer, = self.talk({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                             "params": {"_meta": other}})
        self.assertError(dict(answer, error={k: answer["error"][k] for k in
                                             ("code", "message")}), 1, -32022)

    def test_what_is_no_request(self):
        answers = self.talk(b"nonsense\n", b'{"jsonrpc":"2.0","id":2,"method":"ping"} x\n',
                            b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', b"\n",
                            b'{"jsonrpc":"2.0","id":3,"method":"pi\\u0000ng"}\n',
                            b'[]\n', b"\xff\xfe\n", {"jsonrpc": "2.0", "method": "x"},
                            {"jsonrpc": "2.0", "id": 4, "method": "ping"})
        self.assertEqual([a["id"] for a in answers], [None] * 6 + [4])
        self.assertEqual(answers[-1]["result"], {})

    def test_paths_stay_inside(self):
        os.mkdir(os.path.join(self.dir.name, "outside"))
        self.assertEqual(self.call("write_file", path="a/b", content="x")[1], False)
        os.symlink("../outside", os.path.join(self.dir.name, "files", "link"))
        os.symlink("../outside/new", os.path.join(self.dir.name, "files", "leaf"))
        for path in ("../outside/x", "/tmp/x", "", "a/", "a//b", "./x", "a/../../x",
                     "link/x", "leaf", "x" * 65, "/".join("a" * 9)):
            text, error = self.call("write_file", path=path, content="x")
            self.assertTrue(error, (path, text))
        self.assertEqual(os.listdir(os.path.join(self.dir.name, "outside")), [])
        for name in ("../customers/c-101", "c-101.json", "", "c-999", "C-101"):
            self.assertTrue(self.call("delete_customer", id=name)[1])
            self.assertTrue(self.call("read_ticket", id=name)[1])
        self.assertTrue(self.call("send_email", to="a@b\nBcc: c@d", subject="s", body="b")[1])
        self.assertTrue(self.call("send_email", to=["a@b"], subject="s", body="b")[1])
        self.assertEqual(os.listdir(os.path.join(self.dir.name, "spool")), [])
        self.assertEqual(len(os.listdir(os.path.join(self.dir.name, "customers"))), 3)
