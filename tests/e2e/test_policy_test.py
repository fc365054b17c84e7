"""doorward policy test: the cases of 056 in a real tree, what a failing case
prints, and the exit status."""
import os
import shutil
import tempfile

import dw

POLICY = """version: 1
tools:
  write_file: {write_params: [path], allowed_path_prefixes: [%(dir)s/work]}
  send_email: {trusted_destinations: ["*@corp.example"]}
"""

CASES = """cases:
- {tool: write_file, arguments: {path: %(dir)s/work_evil/a}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/work/../work_evil/a}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/work/l/passwd}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/work/dang}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/work/l/../x}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/work}, expect: deny, contract: path}
- {tool: write_file, arguments: {path: %(dir)s/alias/ok.txt}, expect: allow}
- {tool: write_file, arguments: {path: %(dir)s/work/new/dir/ok.txt}, expect: allow}
- {tool: send_email, arguments: {to: [ana@corp.example], body: x}, expect: allow}
- {tool: send_email, arguments: {to: [ana@evil.example], body: x}, expect: ask, contract: sink}
- {tool: delete_email, arguments: {messageId: '1'}, attempt: 3, expect: deny,
   rule: pack.gmail.delete_email.deletes}
- tool: remove_row
  schema: {type: object, properties: {row: {type: string}}}
  arguments: {row: 7}
  attempt: 3
  expect: deny
  rule: fallback.remove_row.max_calls
- {tool: anything, arguments: {file: %(state)s/audit.jsonl}, expect: deny, contract: self}
- {tool: anything, arguments: {file: audit.jsonl}, cwd: %(state)s, expect: deny, rule: self}
- {tool: anything, arguments: {file: p.yaml}, cwd: %(dir)s, expect: deny, rule: self}
"""


class PolicyTest(dw.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="dw-ptest-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.names = {"dir": self.dir, "state": os.path.join(self.dir, "state")}
        for name in ("work", "work_evil", "state"):
            os.mkdir(os.path.join(self.dir, name), 0o700)
        os.symlink("/etc", os.path.join(self.dir, "work/l"))
        os.symlink(self.dir + "/work_evil/new", os.path.join(self.dir, "work/dang"))
        os.symlink(self.dir + "/work", os.path.join(self.dir, "alias"))
        self.policy = self.put("p.yaml", POLICY % self.names)

    def put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def judge(self, *files):
        return dw.run("policy", "test", "--policy", self.policy, "--state", self.names["state"],
                      *files)

    def test_all_pass(self):
        cases = self.put("c.yaml", CASES % self.names)
        self.assertEqual(self.judge(cases), (0, "15 passed, 0 failed\n", ""))
        # Files add up.
        self.assertEqual(self.judge(cases, cases), (0, "30 passed, 0 failed\n", ""))

    def test_each_case_can_fail(self):
        """Turned round, every case is found wrong, at its own line."""
        text = CASES % self.names
        for a, b in (("expect: deny", "expect: @"), ("expect: ask", "expect: @"),
                     ("expect: allow", "expect: deny"), ("expect: @", "expect: allow")):
            text = text.replace(a, b)
        status, out, err = self.judge(self.put("c.yaml", text))
        self.assertEqual((status, err), (1, ""), out)
        self.assertTrue(out.endswith("\n0 passed, 15 failed\n"), out)
        lines = [n + 1 for n, line in enumerate(text.split("\n")) if line.startswith("- ")]
        for line in lines:
            self.assertIn("%s/c.yaml:%d: " % (self.dir, line), out)

    def test_what_a_failing_case_prints(self):
        case = "cases:\n- {tool: write_file, arguments: {path: /etc/x}, expect: allow}\n"
        status, out, err = self.judge(self.put("c.yaml", case))
        self.assertEqual((status, err), (1, ""))
        self.assertIn("/c.yaml:2: write_file: expected allow, found deny\n", out)
        self.assertIn("\tdeny by path (rule tools.write_file.allowed_path_prefixes) at path: "
                      "\"/etc/x\" is outside the allowed folders\n", out)

    def test_right_verdict_by_another_rule_fails(self):
        case = ("cases:\n- {tool: write_file, arguments: {path: /etc/x}, expect: deny, "
                "contract: %s}\n")
        self.assertEqual(self.judge(self.put("c.yaml", case % "path"))[0], 0)
        status, out, _ = self.judge(self.put("c.yaml", case % "budget"))
        self.assertEqual(status, 1)
        self.assertIn("expected deny by budget, found deny\n", out)

    def test_mistakes(self):
        good = self.put("c.yaml", CASES % self.names)
        bad = self.put("b.yaml", "cases:\n- {tool: t, expect: maybe}\n")
        status, out, err = self.judge(bad, good)
        self.assertEqual(status, 2)
        self.assertIn("b.yaml:2:21: expect: allow, ask or deny expected", err)
        status, _, err = dw.run("policy", "test", "--policy", bad, good)
        self.assertEqual(status, 2)
        self.assertIn("b.yaml:1:1: ", err)
        self.assertEqual(dw.run("policy", "test")[0], 2)
        self.assertEqual(dw.run("policy", "test", "--policy")[0], 2)
        self.assertEqual(dw.run("policy", "test", "--no", good)[0], 2)
        self.assertEqual(dw.run("policy", "test", "--help")[0], 0)

    def test_options_behind_files(self):
        """They would be read as files, and the cases judged by another policy."""
        status, out, err = dw.run("policy", "test", "/nonexistent.yaml", "--policy", "/p.yaml")
        self.assertEqual((status, out), (2, ""))
        self.assertIn('options come before the files: "--policy"', err)
