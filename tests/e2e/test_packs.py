"""The packs against what their servers list, and `doorward packs` itself.

What a server listed is in tests/data/tools; those that start without
credentials, or with made-up ones, are asked again.  Not asked again: gmail,
gdrive and google-drive, which want keys and would be 100 MB and more to
install.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import dw
import test_npm

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(dw.ROOT, "tests", "data", "tools")
# pack: the package that its match knows, the file of what that lists
RECORDED = {
    "browser": ("playwright-core", "playwright-core-mcp@1.65.1"),
    "everything": ("@modelcontextprotocol/server-everything", None),
    "filesystem": ("@modelcontextprotocol/server-filesystem", None),
    "gdrive": ("@modelcontextprotocol/server-gdrive", None),
    "github": ("@modelcontextprotocol/server-github", None),
    "gmail": ("@gongrzhe/server-gmail-autoauth-mcp", None),
    "google-drive": ("@piotr-agier/google-drive-mcp", None),
    "memory": ("@modelcontextprotocol/server-memory", None),
    "slack": ("@modelcontextprotocol/server-slack", None),
}


def recorded(pack):
    """The path of what the pack's server listed."""
    package, name = RECORDED[pack]
    name = name or package.lstrip("@").replace("/", "__") + "@*"
    found = glob.glob(os.path.join(TOOLS, name + ".json"))
    if len(found) != 1:
        raise AssertionError("%s: %r" % (pack, found))
    return found[0]


def listing(path, *args, package=None):
    return [sys.executable, os.path.join(HERE, "listing.py"), path, *args,
            *([package] if package else [])]


def verify(command, *name, timeout=60.0, **kwargs):
    return dw.run("packs", "verify", *name, "--", *command, timeout=timeout, **kwargs)


class PacksTest(dw.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="dw-packs-")
        self.addCleanup(self.dir.cleanup)

    def changed(self, pack, change):
        """What the server would list if it had changed so."""
        with open(recorded(pack), encoding="utf-8") as f:
            data = json.load(f)
        change({t["name"]: t for t in data["tools"]}, data["tools"])
        path = os.path.join(self.dir.name, "changed.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(data, f)
        return path

    def differs(self, pack, change, *lines):
        """verify names these differences and no others."""
        status, out, err = verify(listing(self.changed(pack, change)), pack)
        self.assertEqual((status, err), (1, ""), out)
        self.assertEqual(sorted(out.splitlines()[1:-1]), sorted(lines))
        n = len(lines)
        self.assertEqual(out.splitlines()[-1],
                         "%d difference%s" % (n, "" if n == 1 else "s"))

    def clean(self, done, pack):
        status, out, err = done
        self.assertEqual(status, 0, out + err)
        first, last = out.splitlines()
        self.assertEqual(last, "no difference")
        counts = re.findall(r"(\d+) tools?\b", first)
        self.assertEqual(len(counts), 2, first)
        self.assertEqual(counts[0], counts[1], first)
        self.assertIn("; pack %s: " % pack, first)
        return int(counts[0])


class Recorded(PacksTest):
    def test_every_pack_has_a_recording(self):
        names = {os.path.basename(p)[:-5] for p in
                 glob.glob(os.path.join(dw.ROOT, "packs", "*.yaml"))}
        self.assertEqual(names, set(RECORDED))

    def test_each_by_its_package(self):
        """Nothing is left unsaid of what each server lists, and nothing said
        of what it does not."""
        for pack, (package, _) in RECORDED.items():
            with self.subTest(pack):
                path = recorded(pack)
                with open(path, encoding="utf-8") as f:
                    count = len(json.load(f)["tools"])
                done = verify(listing(path, package=package + "@1.2.3"))
                self.assertEqual(done[2], "")
                self.assertEqual(self.clean(done, pack), count)

    def test_checked_says_the_recorded_version(self):
        _, out, _ = dw.run("packs", "list")
        for pack, (package, _) in RECORDED.items():
            version = recorded(pack)[:-5].rpartition("@")[2]
            self.assertIn("checked with %s %s\n" % (package, version), out)

    def test_pages(self):
        path = recorded("google-drive")
        for size in (1, 7, 120, 1000):
            with self.subTest(size):
                done = verify(listing(path, "--page", str(size)), "google-drive")
                self.assertEqual(self.clean(done, "google-drive"), 120)


class Differences(PacksTest):
    """The closed side: each kind of difference, alone, is found."""

    def test_tool_added(self):
        def change(by_name, tools):
            tools.append({"name": "send_fax", "inputSchema": {"type": "object"}})
        self.differs("gmail", change, "send_fax: the pack does not speak of this tool")

    def test_tool_removed(self):
        def change(by_name, tools):
            tools.remove(by_name["delete_email"])
        self.differs("gmail", change, "delete_email: the server has no such tool")

    def test_tool_renamed(self):
        def change(by_name, tools):
            by_name["echo"]["name"] = "Echo"
        self.differs("everything", change,
                     "Echo: the pack does not speak of this tool",
                     "echo: the server has no such tool")

    def test_parameter_added(self):
        def change(by_name, tools):
            by_name["send_email"]["inputSchema"]["properties"]["replyTo"] = {"type": "string"}
        self.differs("gmail", change,
                     'send_email: the pack does not name the parameter "replyTo"')

    def test_parameter_added_to_a_tool_without(self):
        def change(by_name, tools):
            by_name["list_allowed_directories"]["inputSchema"]["properties"] = \
                {"path": {"type": "string"}}
        self.differs("filesystem", change, 'list_allowed_directories: the pack '
                     'does not name the parameter "path"')

    def test_parameter_removed(self):
        def change(by_name, tools):
            del by_name["slack_post_message"]["inputSchema"]["properties"]["channel_id"]
        self.differs("slack", change, 'slack_post_message: the pack names "channel_id" '
                     "(sink_params), which the server's schema does not have")

    def test_nested_parameter_added(self):
        """Beside a nested key that is named; a list is walked through."""
        def change(by_name, tools):
            action = by_name["create_filter"]["inputSchema"]["properties"]["action"]
            action["properties"]["redirect"] = {"type": "string"}
        self.differs("gmail", change,
                     'create_filter: the pack does not name the parameter "action.redirect"')

        def change_list(by_name, tools):
            files = by_name["push_files"]["inputSchema"]["properties"]["files"]
            files["items"]["properties"]["mode"] = {"type": "string"}
        self.differs("github", change_list,
                     'push_files: the pack does not name the parameter "files.mode"')

    def test_nested_parameter_removed(self):
        def change(by_name, tools):
            action = by_name["create_filter"]["inputSchema"]["properties"]["action"]
            del action["properties"]["forward"]
        self.differs("gmail", change, 'create_filter: the pack names "action.forward" '
                     "(sink_params), which the server's schema does not have")

    def test_alternative_added(self):
        """One more anyOf: its parameters are there, told once."""
        def change(by_name, tools):
            comments = by_name["create_pull_request_review"]["inputSchema"]["properties"]["comments"]
            comments["items"]["anyOf"] += [{"type": "object", "properties": {
                "cc": {"type": "string"}}}] * 2
        self.differs("github", change, 'create_pull_request_review: the pack does not '
                     'name the parameter "comments.cc"')

    def test_no_schema(self):
        def change(by_name, tools):
            by_name["echo"]["inputSchema"] = []
        self.differs("everything", change, "echo: the server gives no inputSchema")

    def test_names_are_made_visible(self):
        def change(by_name, tools):
            tools.append({"name": "a\x1b[2J\u202eb", "inputSchema": {"type": "object"}})
        status, out, _ = verify(listing(self.changed("memory", change)), "memory")
        self.assertEqual(status, 1)
        self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertIn("\\x1b[2J\\u{202e}b: the pack does not speak", out)

    def test_another_server(self):
        status, out, _ = verify(listing(recorded("slack")), "memory")
        self.assertEqual(status, 1)
        self.assertTrue(out.endswith("\n17 differences\n"), out)

    def test_unreadable_tool(self):
        status, out, _ = verify(listing(recorded("memory"), "--do", "null-byte"), "memory")
        self.assertEqual(status, 1)
        self.assertIn("1 tool of the server cannot be read", out)


class Servers(PacksTest):
    """What verify bears with, and what it ends."""

    def do(self, *what, **kwargs):
        args = [w for word in what for w in ("--do", word)]
        return verify(listing(recorded("memory"), *args), "memory", **kwargs)

    def fails(self, what, pattern):
        status, out, err = self.do(what)
        self.assertEqual((status, out), (1, ""), err)
        self.assertRegex(err, r"\Adoorward: %s\n\Z" % pattern)

    def test_noise(self):
        self.clean(self.do("noise"), "memory")

    def test_asking_server(self):
        self.clean(self.do("ask"), "memory")

    def test_same_cursor(self):
        self.fails("same-cursor", "the server's list has no end: a cursor came twice")

    def test_pages_without_end(self):
        self.fails("no-end", "the server's list has more than 1000 pages")

    def test_too_many(self):
        self.fails("many", "the server has more than 10000 tools")

    def test_dies(self):
        self.fails("die", "the server ended before it answered tools/list")

    def test_refuses(self):
        self.fails("refuse", r"the server answers initialize with an error: "
                   r"\{.*not in this \\u001b.*version.*")

    def test_no_json(self):
        self.fails("not-json", "the server's answer to tools/list is no valid message: "
                   "the line is not valid JSON")

    def test_same_name_twice(self):
        self.fails("twice", 'the server lists the tool "create_entities" twice')

    def test_nameless(self):
        self.fails("nameless", "the server lists a tool without a name")

    def test_cannot_be_run(self):
        for command in (["/nonexistent/server"], ["no-such-server-anywhere"], ["/"]):
            status, out, err = verify(command, "memory")
            self.assertEqual((status, out), (1, ""))
            self.assertRegex(err, r"\Adoorward: cannot run the server \"%s\": .+\n\Z"
                             % re.escape(command[0]))

    def test_nothing_is_left(self):
        """A server that stays, and what it left behind in a session of its
        own, are ended."""
        begun = time.monotonic()
        self.clean(self.do("stay"), "memory")
        self.assertLess(time.monotonic() - begun, 15 * dw.SLOW)
        self.assertEqual(dw.adopted(), [])

    def test_interrupted(self):
        """A signal ends all of it, and then the command as it should."""
        for sig in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen(
                [dw.program(), "packs", "verify", "memory", "--",
                 *listing(recorded("memory"), "--do", "silent", "--do", "stay")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dw.clean_env())
            dw._live.add(p.pid)
            try:
                end = time.monotonic() + 10 * dw.SLOW
                while time.monotonic() < end and not any(
                        "sleep" in d.argv for d in dw.descendants(p.pid)):
                    time.sleep(0.05)
                p.send_signal(sig)
                p.communicate(timeout=20 * dw.SLOW)
            finally:
                p.kill()
                p.wait()
                dw._live.discard(p.pid)
            self.assertEqual(p.returncode, -sig)
            self.assertEqual(dw.gone(dw.adopted()), [])

    @dw.long
    def test_silent(self):
        begun = time.monotonic()
        self.fails("silent", "the server did not answer tools/list within 20 seconds")
        self.assertGreater(time.monotonic() - begun, 19)


class Live(PacksTest):
    """The servers themselves, where they start without an account."""

    def package(self, *path):
        return os.path.join(test_npm.place(), "node_modules", *path)

    def live(self, pack, script, *args, **env):
        """verify finds the pack by the path alone."""
        done = verify([test_npm.node(), script, *args], env={**dw.clean_env(), **env},
                      cwd=self.dir.name)
        self.clean(done, pack)

    def reference(self, name, *args, **env):
        self.live(name, self.package("@modelcontextprotocol", "server-" + name, "dist",
                                     "index.js"), *args, **env)

    def test_filesystem(self):
        self.reference("filesystem", self.dir.name)

    def test_memory(self):
        self.reference("memory", MEMORY_FILE_PATH=os.path.join(self.dir.name, "m.jsonl"))

    def test_everything(self):
        self.reference("everything")

    def test_github(self):
        self.reference("github")

    def test_slack(self):
        self.reference("slack", SLACK_BOT_TOKEN="xoxb-made-up", SLACK_TEAM_ID="T0")

    def test_browser(self):
        self.live("browser", self.package("playwright-core", "cli.js"), "mcp",
                  HOME=self.dir.name)


class Session(PacksTest):
    """Packs hold in a session, without any policy."""

    def calls(self, pack, *calls):
        """What became of each: the rule that denied it, or "sent"."""
        policy = os.path.join(self.dir.name, "policy.yaml")
        with open(policy, "w") as f:
            f.write("version: 1\n")
        lines = [{"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        lines += [{"jsonrpc": "2.0", "id": i, "method": "tools/call",
                   "params": {"name": name, "arguments": args}}
                  for i, (name, args) in enumerate(calls)]
        status, out, err = dw.run(
            "run", "--state", os.path.join(self.dir.name, "state"), "--policy", policy,
            "--", *listing(recorded(pack)), stdin=b"".join(map(dw.as_line, lines)))
        self.assertEqual((status, err), (0, ""))
        fates = {}
        for message in map(json.loads, out.splitlines()):
            if "error" in message:      # the server's, which has no tools/call
                self.assertEqual(message["error"]["message"], "no such method")
                fates[message["id"]] = "sent"
            elif message["id"] != "init":
                text = message["result"]["content"][0]["text"]
                fates[message["id"]] = re.search(r"\(rule (\S+)\)\Z", text)[1]
        return [fates[i] for i in range(len(calls))]

    def test_gmail(self):
        self.assertEqual(
            self.calls("gmail",
                       ("read_email", {"messageId": "1"}),
                       ("send_email", {"to": ["a@b.example"], "subject": "", "body": ""}),
                       ("create_filter", {"criteria": {}, "action": {}}),
                       ("create_filter", {"criteria": {}, "action": {"forward": "a@b.example"}}),
                       ("delete_email", {"messageId": "1"}),
                       ("delete_email", {"messageId": "2"}),
                       ("delete_email", {"messageId": "3"}),
                       ("batch_delete_emails", {"messageIds": ["1"]})),
            ["sent", "pack.gmail.send_email.sink_params", "sent",
             "pack.gmail.create_filter.sink_params", "sent", "sent",
             "pack.gmail.delete_email.deletes",
             "pack.gmail.batch_delete_emails.max_calls"])

    def test_browser(self):
        self.assertEqual(
            self.calls("browser",
                       ("browser_click", {"target": "e1"}),
                       ("browser_press_key", {"key": "Enter"}),
                       ("browser_press_key", {"key": "x"}),
                       ("browser_navigate", {"url": "https://x.example/"}),
                       ("browser_run_code_unsafe", {"code": "1"})),
            ["sent", "sent", "pack.browser.browser_press_key.sink_params",
             "pack.browser.browser_navigate.sink_params",
             "pack.browser.browser_run_code_unsafe.sink_params"])


class Command(PacksTest):
    def usage(self, words, pattern):
        status, out, err = dw.run("packs", *words)
        self.assertEqual((status, out), (2, ""), err)
        self.assertRegex(err, pattern)
        return err

    def wrong(self, words, pattern):
        """Wrong usage, which is more than a name that is not there."""
        self.assertRegex(self.usage(words, pattern),
                         r"\Adoorward: packs.*\nTry 'doorward packs.* --help'\.\n\Z")

    def test_list(self):
        status, out, err = dw.run("packs", "list", "--state", "/nonexistent")
        self.assertEqual((status, err), (0, ""))
        heads = re.findall(r"^(\S+) +(\d+) tools?  +\S", out, re.M)
        self.assertEqual([h[0] for h in heads], sorted(RECORDED))
        for pack, count in heads:
            with open(recorded(pack), encoding="utf-8") as f:
                self.assertEqual(int(count), len(json.load(f)["tools"]), pack)

    def test_show(self):
        status, out, err = dw.run("packs", "show", "gmail")
        self.assertEqual((status, err), (0, ""))
        tools, unbuilt = out.split("\n\nNot built yet, and without effect on any verdict:\n")
        self.assertEqual(tools.count("\n\n"), 19)
        self.assertRegex(unbuilt, r"(?m)^  its output    private: ")
        self.assertRegex(unbuilt, r"(?m)^  identities    fields of the output")
        self.assertIn("\nsend_email\n  sends to      to (address), cc (address), "
                      "bcc (address)\n", out)
        status, one, err = dw.run("packs", "show", "gmail", "create_filter")
        self.assertEqual((status, err), (0, ""))
        one, unbuilt = one.split("\n\nNot built")
        self.assertIn(one, out)
        self.assertIn("\n  carries       arguments", unbuilt)
        self.assertNotIn("its output", unbuilt)
        self.assertIn("action.forward (address); may be absent", one)

    def test_show_no_parameters(self):
        status, out, err = dw.run("packs", "show", "memory", "read_graph")
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.startswith("\nread_graph\n  (no parameters)\n"), out)
        self.assertNotIn("(no parameters)", dw.run("packs", "show", "gmail", "send_email")[1])

    def test_help(self):
        for words in ([], ["list"], ["show"], ["verify"]):
            status, out, err = dw.run("packs", *words, "--state=x", "--help")
            self.assertEqual((status, err), (0, ""))
            self.assertTrue(out.startswith("usage: doorward packs"), out)
        self.assertEqual(dw.run("packs", "--state", "x", "list"), dw.run("packs", "list"))

    def test_wrong_words(self):
        self.wrong([], "packs: list, show or verify expected")
        self.wrong(["lsit"], r'unknown command "lsit"; did you mean "list"\?')
        self.wrong(["list", "x"], r'packs list: unexpected argument "x"')
        self.wrong(["list", "--all"], r'unknown option "--all"')
        self.wrong(["show"], "a pack's NAME expected")
        self.usage(["show", "gmial"], r'no pack "gmial"; did you mean "gmail"\?')
        self.usage(["show", "gmail", "send_emial"], r'did you mean "send_email"\?')
        self.wrong(["show", "gmail", "a", "b"], r'unexpected argument "b"')
        self.wrong(["verify"], "no command")
        self.wrong(["verify", "gmail"], "no command")
        self.wrong(["verify", "gmail", "--"], "no command")
        self.wrong(["verify", "gmail", "x", "--", "y"], r'not "x"')
        self.usage(["verify", "nope", "--", "true"], r'no pack "nope"')

    def test_no_pack_for_the_command(self):
        path = glob.glob(os.path.join(TOOLS, "*sequential*"))[0]
        status, out, err = verify(
            listing(path, package="@modelcontextprotocol/server-sequential-thinking"))
        self.assertEqual((status, out), (2, ""))
        self.assertIn("no pack knows a package in this command", err)

    def test_two_packs_for_the_command(self):
        status, out, err = verify(listing(recorded("slack"), package="mcp/slack") +
                                  ["mcp/gmail"])
        self.assertEqual((status, out), (2, ""))
        self.assertIn("packs gmail and slack both know a package", err)

    def test_a_broken_pack_is_named(self):
        """With its place; nothing is skipped."""
        place = os.path.join(self.dir.name, "bin")
        os.makedirs(os.path.join(place, "packs"))
        program = os.path.join(place, os.path.basename(dw.program()))
        shutil.copy(dw.program(), program)
        with open(os.path.join(place, "packs", "odd.yaml"), "w") as f:
            f.write("pack: odd\ntools:\n  x: {plane: [a]}\n")
        status, out, err = dw.run("packs", "list", binary=program)
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r'packs/odd\.yaml:3:\d+: .*"plane".*did you mean "plain"')


if __name__ == "__main__":
    unittest.main()
