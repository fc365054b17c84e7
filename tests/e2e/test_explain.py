"""doorward policy explain with a running server: its schema decides which
packs apply, and what the fallback says."""
import os
import shutil
import sys
import tempfile

import dw

SERVER = r'''
import json, sys
TOOLS = [
    {"name": "send_email", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}},
    {"name": "write_file", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    {"name": "delete_row", "inputSchema": {"type": "object", "properties": {"row": {"type": "string"}}}},
    {"name": "plain", "inputSchema": {"type": "object", "properties": {}}},
]
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "s", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": TOOLS}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
'''


class Explain(dw.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="dw-explain-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.script = self.put("server-gmail-autoauth-mcp.py", SERVER)
        self.policy = self.put("p.yaml", "version: 1\ntools:\n"
                               "  write_file: {max_calls: 3}\n")

    def put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def explain(self, tool, *command):
        status, out, err = dw.run("policy", "explain", "--policy", self.policy, "--server", "mine",
                                  tool, "--", *(command or (sys.executable, self.script)))
        return status, out, err

    def said(self, tool):
        status, out, err = self.explain(tool)
        self.assertEqual((status, err), (0, ""), out)
        self.assertIn("tool: %s\nserver: mine\n" % tool, out)
        return out

    def test_pack_whose_parameter_is_there(self):
        out = self.said("send_email")
        self.assertIn("schema: as the server shows it\n", out)
        self.assertIn("(pack gmail): applies, by the tool's name\n", out)
        self.assertIn("to: address", out)

    def test_pack_whose_parameters_are_not_there(self):
        out = self.said("write_file")
        self.assertIn("(pack filesystem): does not apply: the tool's schema has no parameter "
                      "that it names\n", out)
        self.assertIn("budget: 3 calls in one run, by %s:3\n" % self.policy, out)
        self.assertNotIn("write_params", out)

    def test_fallback(self):
        out = self.said("delete_row")
        self.assertIn("fallback: speaks of the tool, by its schema\n", out)
        self.assertIn("budget: 2 calls in one run, ", out)
        self.assertIn("fallback: has nothing to say of the tool\n", self.said("plain"))

    def test_tool_that_is_not_there(self):
        for tool, near in (("nowhere", ""), ("sendemail", '; did you mean "send_email"?')):
            status, out, err = self.explain(tool, sys.executable, self.script)
            self.assertEqual((status, err), (1, ""))
            self.assertIn("schema: the server has no tool of this name, and every call of it "
                          "is denied%s\n" % near, out)
            self.assertTrue(out.endswith("otherwise: block (rule tools/list, since the server "
                                         "has no such tool)\n"), out)

    def test_otherwise(self):
        for tool, by in (("send_email", "allow (a pack knows the tool)"),
                         ("write_file", "allow (an entry knows the tool)"),
                         ("delete_row", "allow (the fallback knows the tool)"),
                         ("plain", "allow (default_action)")):
            out = self.said(tool)
            self.assertTrue(out.endswith("\notherwise: %s\n" % by), out)

    def test_server_that_does_not_start(self):
        status, out, err = self.explain("plain", "/nonexistent/server")
        self.assertEqual((status, out), (2, ""))
        self.assertTrue(err.startswith("doorward: policy explain: "), err)

    def test_pack_that_the_command_names(self):
        folder = os.path.join(self.dir, "node_modules", "@gongrzhe", "server-gmail-autoauth-mcp")
        os.makedirs(folder)
        script = os.path.join(folder, "index.py")
        shutil.copy(self.script, script)
        status, out, err = self.explain("send_email", sys.executable, script)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("(pack gmail): applies; the command names its package\n", out)
