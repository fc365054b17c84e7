"""The demonstration succeeds, and it can fail: its checks look at the disk."""
import glob
import os
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
        self.assertIn("no_such_key", out)

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
