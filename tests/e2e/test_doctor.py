"""doorward doctor: what it says of layers, paths and policy is so."""
import json
import os
import shutil
import tempfile

import dw


class Doctor(dw.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="dw-doctor-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.state = os.path.join(self.dir, "state")

    def examine(self, *words, **how):
        """{what: [lines]}, to which the exit status has to fit."""
        status, out, err = dw.run("doctor", "--json", "--state", self.state, *words, **how)
        self.assertEqual(err, "")
        found = {}
        for line in json.loads(out):
            found.setdefault(line["what"], []).append(line)
            self.assertEqual("remedy" in line, not line["ok"], line)
        bad = [x for lines in found.values() for x in lines if not x["ok"]]
        self.assertEqual(status, 1 if bad else 0, out)
        return found

    def one(self, found, what):
        line, = found[what]
        return line

    def policy(self, text):
        path = os.path.join(self.dir, "policy.yaml")
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def test_layers_are_those_of_a_session(self):
        w = self.session()
        w.round_trip(1)
        layers = w.event("session_start")["layers"]
        found = self.examine("--policy", w.policy_files[0])
        self.assertEqual(self.one(found, "relay")["how"].split(), layers["relay_client"])
        self.assertEqual(self.one(found, "monitor")["how"].split(), layers["monitor"])

    def test_without_landlock(self):
        found = self.examine("--policy", self.policy("version: 1\n"),
                             env={**dw.clean_env(), "DOORWARD_TEST_LANDLOCK_ABI": "0"},
                             binary=dw.program("test/doorward"))
        self.assertFalse(self.one(found, "landlock")["ok"])
        for what in ("relay", "monitor"):
            line = self.one(found, what)
            self.assertTrue(line["ok"], line)
            self.assertNotIn("landlock", line["how"])
            self.assertIn("seccomp", line["how"])

    def test_changes_nothing(self):
        found = self.examine("--policy", self.policy("version: 1\n"))
        for what in ("state", "runtime", "audit"):
            line = self.one(found, what)
            self.assertTrue(line["ok"], line)
            self.assertIn("not there yet", line["how"])
        self.assertEqual(os.listdir(self.dir), ["policy.yaml"])

    def test_directory_open_to_others(self):
        os.mkdir(self.state)
        os.chmod(self.state, 0o755)
        self.assertTrue(self.one(self.examine(), "state")["ok"])    # a run closes it
        with open(os.path.join(self.state, "foreign"), "w"):
            pass
        line = self.one(self.examine(), "state")
        self.assertFalse(line["ok"])
        self.assertIn("open to others", line["how"])
        self.assertNotIn("chmod", line["remedy"])

    def test_directory_that_cannot_be_made(self):
        with open(self.state, "w"):
            pass
        line = self.one(self.examine(), "state")
        self.assertFalse(line["ok"])
        self.state += "/below"
        self.assertFalse(self.one(self.examine(), "state")["ok"])

    def test_audit_that_would_be_refused(self):
        os.mkdir(self.state, 0o700)
        log = os.path.join(self.state, "audit.jsonl")
        os.symlink("elsewhere", log)
        self.assertFalse(self.one(self.examine(), "audit")["ok"])
        os.unlink(log)
        with open(log, "w"):
            os.chmod(log, 0o644)
        self.assertFalse(self.one(self.examine(), "audit")["ok"])
        os.chmod(log, 0o600)
        self.assertTrue(self.one(self.examine(), "audit")["ok"])

    def test_policy(self):
        path = self.policy("version: 1\nmode: observe\nrules:\n"
                           "  - {id: a, tool: '*', action: allow}\n")
        line = self.one(self.examine("--policy", path), "policy")
        self.assertTrue(line["ok"])
        self.assertIn("%s, 1 rule, mode observe, hash " % path, line["how"])
        self.policy("version: 1\nruls: []\n")
        line = self.one(self.examine("--policy", path), "policy")
        self.assertFalse(line["ok"])
        self.assertIn(path + ":2:1:", line["how"])
        self.policy("version: 1\nrules:\n  - {id: a, tool: '*', action: allow}\n"
                    "  - {id: b, tool: x, action: block}\n")
        fine, finding = self.examine("--policy", path)["policy"]
        self.assertTrue(fine["ok"])
        self.assertFalse(finding["ok"])
        self.assertIn("never reached", finding["how"])

    def test_plain_text(self):
        path = self.policy("version: 1\nruls: []\n")
        status, out, err = dw.run("doctor", "--state", self.state, "--policy", path)
        self.assertEqual((status, err), (1, ""))
        lines = out.splitlines()
        for line in lines[:-1]:
            self.assertRegex(line, r"\A(ok  |!!  |    ) ")
        self.assertRegex(lines[-1], r"\A\d+ findings?\Z")
        self.assertIn("!!   policy", out)
        self.assertIn("remedy: ", out)
