"""The documents say what the program does: tables, numbers, options, words.

What the pages repeat of the source stands between the comments
`.\\" begin NAME` and `.\\" end NAME`; each is compared with the headers and
sources as the compiler reads them, and with the programs' own --help.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import dw

MAN = os.path.join(dw.ROOT, "man")
PAGES = sorted(glob.glob(os.path.join(MAN, "*.[1-8]")))
COMMANDS = ("run", "policy", "packs", "pins", "reload", "demo", "doctor")
FOLDED = ("version",)           # described in doorward(1)
SUBCOMMANDS = {"policy": ("check", "explain", "test"),
               "packs": ("list", "show", "verify"), "pins": ("list", "diff", "accept", "forget")}

# Prints what the headers and the table say, in lines of words.
PROBE = r"""
#include <stdio.h>
#include "proto/fdmap.h"
#include "proto/limits.h"
#include "proto/tree.h"
#include "answer.h"
#include "cmds.h"
#include "table.h"
#define STUB(name) int name(struct monitor *m, struct channel *c, \
	const struct frame_header *h, const char *b) \
	{ (void)m, (void)c, (void)h, (void)b; return 0; }
STUB(on_hello) STUB(on_note) STUB(on_eoi) STUB(on_client_refuse)
STUB(on_tree_part) STUB(on_tree_end) STUB(on_server_refuse)
STUB(on_envelope) STUB(on_line_part) STUB(on_result_part) STUB(on_result_end)
#define SHOW(name) printf("number " #name " %ld\n", (long)(name));
int main(void)
{
	const struct frame_rule *r;
	int s, t, f;

	@SHOW@
	for (s = 0; s < SIDE_MAX; s++)
		for (t = 0; t < RELAY_STATE_MAX; t++)
			for (f = FRAME_NONE + 1; f < FRAME_TYPE_MAX; f++) {
				r = table_rule(s, t, f);
				if (r->handler != NULL)
					printf("cell %s %s %s %s %u %u\n",
					    side_name(s), state_name(t),
					    frame_name(f),
					    r->once ? "once" : "often",
					    r->least, r->most);
			}
	for (f = FRAME_NONE + 1; f < FRAME_TYPE_MAX; f++)
		printf("frame %s %d\n", frame_name(f), f);
	for (f = 0; layer_name(1u << f) != NULL; f++)
		printf("layer %s\n", layer_name(1u << f));
	for (f = REFUSAL_NONE + 1; f < REFUSAL_MAX; f++)
		printf("refusal %s %d %s\n", refusal_word(f), refusal_code(f),
		    refusal_text(f));
	return 0;
}
"""


def read(*path):
    with open(os.path.join(dw.ROOT, *path), encoding="utf-8") as f:
        return f.read()


def page(name):
    return read("man", name)


def section(text, name):
    """The lines between the markers; one place each."""
    parts = re.findall(r'^\.\\" begin %s\n(.*?)^\.\\" end' % re.escape(name),
                       text, re.M | re.S)
    if len(parts) != 1:
        raise AssertionError("%d sections named %s" % (len(parts), name))
    return parts[0]


def plain(text):
    """A line of mdoc without the escapes that the pages use."""
    for escape, char in (("\\(dq", '"'), ("\\-", "-"), ("\\&", ""),
                         ("\\e", "\\")):
        text = text.replace(escape, char)
    return text


def rows(text, macro=""):
    """Cells of a column list, the first without its macro."""
    out = []
    for line in text.splitlines():
        m = re.match(r"\.It (?:%s )?(.*)" % macro, line)
        if m:
            out.append([plain(c).strip() for c in re.split(r" Ta ?", m[1])])
    return out


def without_sanitizer(source):
    return re.sub(r"^#ifdef DOORWARD_SANITIZE\n.*?^#e(?:ndif|lse)\n", "",
                  source, flags=re.M | re.S)


def c_array(source, declaration):
    m = re.search(re.escape(declaration) + r"[^=]*= \{(.*?)\};", source, re.S)
    if m is None:
        raise AssertionError("no " + declaration)
    return m[1]


def options(text):
    """Long options; not those of another command that is quoted."""
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)",
                          re.sub(r'"[^"]*"', "", text)))


def help_of(*words):
    status, out, err = dw.run(*words, "--help")
    if status != 0 or err:
        raise AssertionError("%s --help: %d %s" % (words, status, err))
    return out


def sed_server(names):
    """A shell command that lists these tools, and repeats other lines."""
    tools = ",".join('{"name":"%s","inputSchema":{"type":"object"}}' % n
                     for n in names)
    return ("sed -u 's|.*\"id\":\\([^,]*\\),\"method\":\"tools/list\".*|"
            '{"jsonrpc":"2.0","id":\\1,"result":{"tools":[%s]}}|\'' % tools)


def commands_of_help():
    return re.findall(r"^  ([a-z]+) {2,}\S", help_of(), re.M)


class Headers(unittest.TestCase):
    """doorward(7) against what the compiler sees."""

    @classmethod
    def setUpClass(cls):
        cls.page = page("doorward.7")
        limits = re.findall(r"^#define (DW_[A-Z_]+)\s",
                            read("supervisor/proto/limits.h"), re.M)
        cls.limits = [n for n in limits if n != "DW_PROTO_LIMITS_H"]
        cls.fds = re.findall(r"^\s+(DW_FD_[A-Z0-9_]+) =",
                             read("supervisor/proto/fdmap.h"), re.M)
        cls.tags = re.findall(r"^\s+(TREE_[A-Z]+) = '",
                              read("supervisor/proto/tree.h"), re.M)
        cls.answers = re.findall(r"^\s+(ANSWER_[A-Z_]+) =",
                                 read("supervisor/answer.h"), re.M)
        cls.exits = re.findall(r"^\s+(EXIT_[A-Z_]+) =",
                               read("supervisor/cmds.h"), re.M)
        cls.found = {}
        for line in cls.probe():
            kind, rest = line.split(" ", 1)
            cls.found.setdefault(kind, []).append(rest)
        cls.number = {n: int(v) for n, v in
                      (line.split() for line in cls.found["number"])}

    @classmethod
    def probe(cls):
        names = cls.limits + cls.fds + cls.tags + cls.answers + cls.exits
        with tempfile.TemporaryDirectory() as d:
            source = os.path.join(d, "probe.c")
            with open(source, "w") as f:
                f.write(PROBE.replace(
                    "@SHOW@", "\n\t".join("SHOW(%s)" % n for n in names)))
            program = os.path.join(d, "probe")
            at = [os.path.join(dw.ROOT, "supervisor", n) for n in
                  ("table.c", "proto/frames.c", "proto/buf.c", "proto/text.c",
                   "proto/alloc.c", "proto/log.c")]
            cc = (os.environ.get("CC") or "cc").split()
            subprocess.run(
                cc + ["-std=c11", "-D_GNU_SOURCE", "-I" +
                      os.path.join(dw.ROOT, "supervisor"), "-I" +
                      os.path.join(dw.ROOT, "policy"), "-o", program, source,
                      *at], check=True)
            return subprocess.run([program], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout.splitlines()

    def test_frame_table(self):
        said = [" ".join(r) for r in rows(section(self.page, "frame-table"))
                if not r[0].startswith("Em ")]
        self.assertGreater(len(said), 10)
        self.assertEqual(said, self.found["cell"])

    def test_frame_types(self):
        said = re.findall(r"^\.It ([A-Z_]+) \((\d+)\)$",
                          section(self.page, "frame-types"), re.M)
        self.assertEqual([" ".join(s) for s in said], self.found["frame"])

    def test_refusals(self):
        said = [" ".join(r) for r in rows(section(self.page, "refusals"), "Li")]
        self.assertEqual(said, self.found["refusal"])

    def test_layers(self):
        said = re.findall(r"^\.It Li (\S+)$", section(self.page, "layers"), re.M)
        self.assertEqual(said, self.found["layer"])

    def test_limits(self):
        said = rows(section(self.page, "limits"), "Dv")
        self.assertEqual([(r[0], int(r[1])) for r in said],
                         [(n, self.number[n]) for n in self.limits])

    def test_descriptors(self):
        said = {r[0]: int(r[1]) for r in rows(section(self.page, "fdmap"), "Dv")}
        want = {n: self.number[n] for n in self.fds if n != "DW_FD_FIRST_FREE"}
        self.assertEqual(said, want)
        self.assertEqual(self.number["DW_FD_FIRST_FREE"], len(said))

    def test_tree_tags(self):
        said = {r[0].upper(): r[1] for r in rows(section(self.page, "tree-tags"))
                if not r[0].startswith("Em ")}
        self.assertEqual(said, {n.removeprefix("TREE_"): chr(self.number[n])
                                for n in self.tags})

    def test_answers(self):
        said = [int(r[0]) for r in rows(section(self.page, "answers"))
                if not r[0].startswith("Em ")]
        self.assertEqual(said, [self.number[n] for n in self.answers])

    def test_exit_status(self):
        said = re.findall(r"^\.It (\d+)$", section(self.page, "exit"), re.M)
        self.assertEqual([int(s) for s in said],
                         [self.number[n] for n in self.exits])

    def test_listing_limits(self):
        source = read("supervisor/toolset.h")
        want = []
        for name, factors in re.findall(r"^#define (\w+) \(?([\du* ]+)", source, re.M):
            n = 1
            for factor in factors.split("*"):
                n *= int(factor.strip().rstrip("u"))
            want.append([name, str(n)])
        said = [r[:2] for r in
                rows(section(self.page, "listing-limits"), "Dv")]
        self.assertGreater(len(want), 4)
        self.assertEqual(said, want)

    def test_contracts(self):
        """In the order of the enumeration, by the names that are written."""
        order = re.findall(r"CONTRACT_(\w+)", re.search(
            r"^enum contract \{(.*?)\};", read("policy/call.h"),
            re.M | re.S)[1])
        name = dict(re.findall(r'\[CONTRACT_(\w+)\] = "(\w+)"',
                               read("policy/findings.c")))
        said = re.findall(r"^\.It Li (\w+)$",
                          section(self.page, "contracts"), re.M)
        self.assertGreater(len(order), 9)
        self.assertEqual(said, [name[o] for o in order])

    def test_texts_that_hold_a_limit(self):
        """The refusals' own words name the limits as they are."""
        for word, limit in (("message_too_long", "DW_MESSAGE_MAX"),
                            ("too_deep", "DW_DEPTH_MAX"),
                            ("too_many_values", "DW_NODES_MAX"),
                            ("id_too_long", "DW_ID_MAX"),
                            ("method_too_long", "DW_METHOD_MAX"),
                            ("too_many_tools", "DW_TOOLS_MAX"),
                            ("too_many_in_flight", "DW_INFLIGHT_MAX")):
            text = next(t for t in self.found["refusal"]
                        if t.startswith(word + " "))
            n = self.number[limit]
            shown = "%d MiB" % (n >> 20) if limit == "DW_MESSAGE_MAX" else \
                "{:,}".format(n)
            self.assertIn(shown + " ", text + " ", word)

    def test_numbers_in_the_prose(self):
        """Numbers that live in one file and are said in words."""
        text = self.page + page("doorward-audit.5") + \
            page("doorward-run.1") + page("doorward-reload.1")
        for path, name, pattern in (
                ("supervisor/from_server.c", "NOTES_MAX",
                 r"^The first (\d+) dropped are noted"),
                ("supervisor/from_server.c", "DROP_LINES_MAX",
                 r"and the first (\d+) lines that"),
                ("supervisor/from_server.c", "DROP_LINES_MAX",
                 r"^Of the server's, the first (\d+) of a"),
                ("supervisor/cmds.h", "POLICIES_MAX",
                 r"given up to (\d+) times")):
            m = re.search(r"^#define %s (\d+)" % name, read(path), re.M)
            said = re.findall(pattern, text, re.M)
            self.assertEqual(said, [m[1]], (path, name))
        wait = re.search(r"^#define WAIT_MS (\d+)", read("supervisor/reload.c"),
                         re.M)
        self.assertIn("\n%d seconds, and prints" % (int(wait[1]) // 1000), text)


    def test_keys_of_the_protocol(self):
        source = read("supervisor/proto/keyset.c")
        want = re.findall(r'"(\w+)"', source[source.index("key_is_variant("):])
        said = re.findall(r"^\.Ql (\w+)", section(self.page, "keys"), re.M)
        at = want.index("error") + 1      # then those in params
        self.assertEqual(said, want[:at] + ["params"] + want[at:])


class Confinement(unittest.TestCase):
    """doorward(7) against the sources of the two filters."""

    def setUp(self):
        self.page = page("doorward.7")
        self.relay = without_sanitizer(read("relay/confine.c"))
        self.monitor = without_sanitizer(read("supervisor/confine.c"))

    def test_relay_filter(self):
        want = re.findall(r"(?:ANY|ONE|BOTH)\((\w+)", c_array(
            self.relay, "static const struct row allowed[]"))
        said = [r[0] for r in rows(section(self.page, "relay-filter"), "Fn")]
        self.assertGreater(len(want), 5)
        self.assertEqual(said, want)
        body = c_array(self.relay, "static const struct row allowed[]")
        self.assertEqual(set(re.findall(r"ONE\(read, IS\(0, (\w+)", body)),
                         {"DW_FD_STREAM"})
        self.assertEqual(set(re.findall(r"ONE\(writev?, IS\(0, (\w+)", body)),
                         {"DW_FD_MONITOR"})

    def listed(self, name):
        return re.findall(r"^\.Fn (\w+)", section(self.page, name), re.M)

    def test_monitor_filter(self):
        for array, name in (("allowed", "monitor-filter"),
                            ("soft", "monitor-soft")):
            want = re.findall(r"SCMP_SYS\((\w+)\)", c_array(
                self.monitor, "static const int %s[]" % array))
            self.assertGreater(len(want), 5)
            self.assertEqual(self.listed(name), want)

    def test_no_rule_is_added_elsewhere(self):
        """A filter is what its arrays say, and three calls more."""
        self.assertEqual(len(re.findall("seccomp_rule_add", self.relay)), 2)
        self.assertEqual(len(re.findall("seccomp_rule_add", self.monitor)), 4)
        cmds = re.search(r"cmds\[\] = \{(.*?)\}", self.monitor)[1].split(", ")
        for cmd in cmds:
            self.assertIn("\n.Dv %s" % cmd, self.page)

    def test_relay_limits(self):
        value = {"DW_FD_FIRST_FREE": 4, "0": 0}
        m = re.search(r"#define ADDRESS_SPACE_MAX \((.*?)\)", self.relay)
        n = 1
        for factor in m[1].split("*"):
            n *= int(factor.strip().rstrip("ul"))
        value["ADDRESS_SPACE_MAX"] = n
        body = re.search(r"\} limits\[\] = \{(.*?)^\s*\};",
                         read("relay/confine.c"), re.M | re.S)[1]
        want = [[name, str(value[v])] for name, v in
                re.findall(r"\{(RLIMIT_\w+), (\w+)\}", body)]
        self.assertGreater(len(want), 5)
        self.assertEqual(rows(section(self.page, "relay-rlimits"), "Dv"), want)


class Audit(dw.TestCase):
    """doorward-audit(5) against the code and a session."""

    def setUp(self):
        self.page = page("doorward-audit.5")
        self.events = {}
        for name in re.findall(r'^\.\\" begin event (\w+)', self.page, re.M):
            fields = []
            for tag in re.findall(r"^\.It Li (.*)$",
                                  section(self.page, "event " + name), re.M):
                fields += tag.split(" , ")
            self.events[name] = set(fields)
        self.common = self.events.pop("common")

    def test_events(self):
        made = set()
        for path in glob.glob(os.path.join(dw.ROOT, "supervisor", "*.c")):
            made |= set(re.findall(r'audit_begin\(m->audit, "(\w+)"\)',
                                   read(path)))
        self.assertGreater(len(made), 5)
        self.assertEqual(set(self.events), made)

    def test_fields(self):
        """Every key that is written is described, and no other."""
        source = read("supervisor/event.c") + read("supervisor/audit.c")
        keys = set(re.findall(r'jsonw_\w+\(\s*(?:b|&text), "(\w+)"', source))
        keys |= set(re.findall(r'put_layers\(b, "(\w+)"', source))
        keys |= set(re.findall(r'\\"(\w+)\\":', source))
        inner = {"file", "line", "files",
                 "monitor", "relay_client", "relay_server"}
        described = set.union(self.common, *self.events.values())
        self.assertEqual(described, keys - inner)
        for word in inner | {"hash"}:
            self.assertRegex(self.page, r"(?m)^\.Ql %s\b" % word)

    def examples(self):
        return [json.loads(plain(text.replace("\n", ""))) for text in
                re.findall(r'^\.\\" example\n\.Bd -literal\n(.*?)^\.Ed',
                           self.page, re.M | re.S)]

    def hold(self, line):
        name = line["event"]
        self.assertEqual(set(line) - self.common - self.events[name], set(), line)
        self.assertEqual(self.common - {"agent"} - set(line), set(), line)

    def test_examples(self):
        lines = self.examples()
        self.assertEqual({e["event"] for e in lines}, set(self.events))
        for line in lines:
            self.hold(line)

    def test_session(self):
        """A session with most of the events has the keys as described."""
        with tempfile.TemporaryDirectory() as d:
            policy = os.path.join(d, "p.yaml")
            with open(policy, "w") as f:
                f.write("version: 1\nrules:\n"
                        "  - {id: no, tool: a, action: block}\n"
                        "  - {id: ask, tool: b, action: require_approval}\n"
                        "tools: {d: {write_params: [path], "
                        "allowed_path_prefixes: [/nowhere], max_calls: 0}}\n")
            calls = b"".join(dw.as_line(
                {"jsonrpc": "2.0", "id": i, "method": "tools/call",
                 "params": {"name": name, "arguments": {"path": "/x"}}})
                for i, name in enumerate("abcd"))
            server = "echo noise; " + sed_server("abcd")
            done = subprocess.run(
                [dw.program(), "run", "--state", d, "--policy", policy,
                 "--agent-id", "x", "--", "sh", "-c", server],
                input=calls + b"{}\n", stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, timeout=30 * dw.SLOW)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(d, "audit.jsonl")) as f:
                lines = [json.loads(line) for line in f]
        seen = {}
        for line in lines:
            self.hold(line)
            seen.setdefault(line["event"], set()).update(line)
        for name in ("session_start", "verdict", "decision", "result",
                     "refusal", "pin", "session_end"):
            self.assertIn(name, seen)
            missing = self.events[name] - seen[name] - \
                {"would", "server_signal", "param", "tool", "hash", "detail"}
            self.assertEqual(missing, set(), name)

    def test_rule_ids(self):
        """Those that are no rule's are in the sources, and described."""
        said = set()
        for tag in re.findall(r"^\.It Li (\S*[A-Za-z/]\S*(?: , \S+)*)$",
                              self.page[self.page.index("\n.Ql id\nof a rule"):
                                        self.page.index("\n.Ss decision")],
                              re.M):
            said |= {w for w in tag.split(" , ") if not w.isupper()}
        for word in ("default_action", "methods", "pins.on_new",
                     "pins.on_changed", "tools/list", "pins", "self", "held"):
            self.assertIn(word, said)
        source = "".join(read(p) for p in (
            "supervisor/pinning.c", "supervisor/calls.c", "policy/self.c",
            "policy/findings.c"))
        for word in said:
            first = word.split(".")[0]
            if word in ("default_action", "methods", "TOOL.KEY"):
                continue
            self.assertIn('"%s' % first, source, word)

    def test_audited_methods(self):
        source = read("supervisor/judge.c")
        names = re.findall(r'"([\w/]+)"',
                           c_array(source, "static const char *const names[]"))
        said = re.findall(r"^\.Ql ([\w/]+)", section(self.page, "audited"), re.M)
        self.assertGreater(len(names), 3)
        self.assertEqual(said, names)


class Policy(dw.TestCase):
    """What doorward.yaml(5) shows, through the program."""

    def setUp(self):
        self.page = page("doorward.yaml.5")
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.notes = os.path.join(self.dir, "notes")
        os.mkdir(self.notes)

    def shown(self, name, text=None):
        """A display between its macros, with the directory put in."""
        text = section(text or self.page, name)
        text = text[text.index("\n", text.index(".Bd -literal")) + 1:
                    text.index("\n.Ed") + 1]
        return plain(text).replace("/home/ana", self.dir)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def check(self, text):
        path = self.write("p.yaml", text)
        status, out, err = dw.run("policy", "check", path)
        return status, out.replace(path, "p.yaml"), err.replace(path, "p.yaml")

    def test_example(self):
        status, out, err = self.check(self.shown("policy"))
        self.assertEqual((status, err), (0, ""))
        self.assertNotIn("warning", out)
        cases = self.write("cases.yaml", self.shown("cases"))
        status, out, err = dw.run("policy", "test", "--policy",
                                  os.path.join(self.dir, "p.yaml"), cases)
        self.assertEqual((status, out, err), (0, "12 passed, 0 failed\n", ""))

    def test_every_line_of_the_example_is_explained(self):
        text = self.page[self.page.index('.\\" end policy'):
                         self.page.index('.\\" begin cases')]
        policy = self.shown("policy")
        words = re.findall(r"^(\w+):", policy, re.M) + \
            re.findall(r"^  (\w+):", policy, re.M) + \
            re.findall(r"\bid: ([\w-]+)", policy)
        for word in set(words) - {"rules", "tools", "sampling", "searching",
                                  "listing", "drafting", "files",
                                  "move_file", "redact"}:
            self.assertRegex(text, r"(?m)^\.It (Ic|Li) %s\b" % word)

    def test_mistakes(self):
        lines = self.shown("mistakes").splitlines()
        told = []
        for line in lines:
            if line.startswith("{"):
                told.append([line, ""])
            else:
                told[-1][1] += " " + line.strip()
        self.assertGreater(len(told), 7)
        for text, want in told:
            with self.subTest(text=text):
                self.assertEqual(
                    self.check(text + "\n"),
                    (2, "", "doorward: p.yaml:%s\n" % want.strip()))

    def test_sql(self):
        """Case 050: the false alarm that the page names is one."""
        policy = self.write("p.yaml", "version: 1\n" + self.shown("sql"))
        alarm = re.search(r'^\.Li "(select .*)"$', self.page, re.M)[1]
        rows = ((alarm, "deny"), ("select * from tokens", "allow"),
                ("WITH x AS (SELECT 1)\nINSERT/**/INTO t SELECT 1", "deny"))
        cases = self.write("cases.yaml", json.dumps({"cases": [
            {"tool": "execute_sql", "arguments": {"sql": sql},
             "expect": expect} for sql, expect in rows]}))
        status, out, err = dw.run("policy", "test", "--policy", policy, cases)
        self.assertEqual((status, out, err), (0, "3 passed, 0 failed\n", ""))

    def test_layers(self):
        status, out, err = self.check("version: 1\n" + plain(
            "tools: {%s}\n" % re.search(
                r'^\.Li "(send_email: .*)"$', self.page, re.M)[1]))
        self.assertEqual((status, err), (0, ""))
        status, out, err = dw.run("policy", "explain", "--policy",
                                  os.path.join(self.dir, "p.yaml"), "send_email")
        self.assertRegex(out, r"(?m)^  sink_params +\[to: address")
        self.assertRegex(out, r"(?m)^budget: 5 calls")

    def replay(self, session):
        """Runs what stands after "$ "; the rest has to be what is printed."""
        for part in re.split(r"^\$ ", session, flags=re.M)[1:]:
            line, want = part.split("\n", 1)
            words = line.split()
            if words[0] == "cat":
                self.write(words[1], want)
                continue
            self.assertEqual(words[0], "doorward")
            done = subprocess.run([dw.program()] + words[1:], cwd=self.dir,
                                  text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            packs = re.search(r" (\S*/packs)/\w+\.yaml:", done.stdout)
            out = done.stdout.replace(packs[1], "packs") if packs else \
                done.stdout
            self.assertEqual(out, want, line)

    def test_sessions(self):
        """doorward-policy(1), on the example of doorward.yaml(5)."""
        self.write("policy.yaml", self.shown("policy"))
        self.write("watch.yaml", "version: 1\nmode: observe\n")
        self.write("slip.yaml", "version: 1\nmode: obsrve\n")
        text = page("doorward-policy.1")
        for name in ("check", "explain", "mistake", "test"):
            with self.subTest(name=name):
                self.replay(self.shown("example-" + name, text))

    def test_denial(self):
        """doorward-run(1): what the example prints, but for its folding."""
        text = self.shown("example-denial", page("doorward-run.1"))
        _, policy, session = re.split(r"^\$ ", text, flags=re.M)
        self.write("policy.yaml", policy.split("\n", 1)[1])
        at = session.index("\n{")
        script = session[:at].replace(
            "/tmp/dw-try", os.path.join(self.dir, "state")).replace(
            "    doorward run", "    %s run" % dw.program())
        done = subprocess.run(["sh", "-c", script], cwd=self.dir, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=30 * dw.SLOW)
        self.assertEqual(done.stdout, session[at:].replace("\n", "") + "\n")

    def test_bounds(self):
        """Numbers of the page that live in one file."""
        text = re.sub(r"\s+", " ", self.page)
        value = {}
        for path in ("policy/path.h", "policy/pattern.h", "policy/pattern.c",
                     "policy/judge.c", "policy/doc.h"):
            value.update(re.findall(r"^#define (\w+) \(?(\d+)u", read(path), re.M))
        for words, name, scale in (
                ("longer than %d bytes,", "PATH_BYTES_MAX", 1),
                ("a part longer than %d;", "PATH_COMPONENT_MAX", 1),
                ("more than %d links", "PATH_LINKS_MAX", 1),
                ("more than {:,} steps", "MATCH_STEPS", 1),
                ("steps, %d MiB or", "MATCH_HEAP_KIB", 1024),
                ("more than %d MiB is given up", "PATTERN_VALUE_MAX", 1 << 20),
                ("at most %d bytes. .El", "PATTERN_TEXT_MAX", 1),
                ("but %d for a tool that deletes", "DELETES_BUDGET", 1)):
            n = int(value[name]) // scale
            want = words.format(n) if "{" in words else words % n
            self.assertIn(want, text, name)


class Pages(dw.TestCase):
    """Form, and what each command's page has to have."""

    def test_mandoc(self):
        if shutil.which("mandoc") is None:
            self.fail("mandoc is missing: make test-deps")
        self.assertGreater(len(PAGES), 8)
        for path in PAGES:
            with self.subTest(page=os.path.basename(path)):
                done = subprocess.run(
                    ["mandoc", "-Tlint", "-Wwarning", path], text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_columns(self):
        """groff lets these macros take the rest of the row for their own."""
        for path in PAGES:
            text = page(os.path.basename(path))
            self.assertEqual(re.findall(r"^\.It .* Ta (?:Ql|Dq|Qq|Pq) .*$", text, re.M), [], path)

    def test_sections(self):
        want = {"1": ["EXIT STATUS", "EXAMPLES", "SEE ALSO", "CAVEATS"],
                "5": ["EXAMPLES", "SEE ALSO", "CAVEATS", "SECURITY"],
                "7": ["EXAMPLES", "SEE ALSO", "CAVEATS", "SECURITY"]}
        secure = ("doorward.1", "doorward-run.1", "doorward-doctor.1",
                  "doorward-reload.1")
        for path in PAGES:
            name = os.path.basename(path)
            has = re.findall(r"^\.Sh (.*)$", page(name), re.M)
            need = ["NAME", "DESCRIPTION"] + want[name[-1]] + \
                (["SECURITY"] if name in secure else [])
            with self.subTest(page=name):
                self.assertEqual([s for s in need if s not in has], [])

    def test_dates(self):
        for path in PAGES:
            self.assertRegex(page(os.path.basename(path)),
                             r"\A\.Dd November 30, 2026\n", path)

    def test_cross_references(self):
        """A page of Doorward's that is pointed to is there."""
        names = {os.path.basename(p) for p in PAGES}
        for path in PAGES:
            for ref in re.findall(r"^\.Xr (doorward\S*) (\d)",
                                  page(os.path.basename(path)), re.M):
                self.assertIn(".".join(ref), names, path)

    def test_every_command_has_a_page(self):
        commands = commands_of_help()
        self.assertEqual(sorted(commands), sorted(COMMANDS + FOLDED))
        main = page("doorward.1")
        for command in commands:
            self.assertRegex(main, r"(?m)^\.It Cm %s$" % command)
            if command not in FOLDED:
                self.assertIn(".Xr doorward-%s 1" % command, main)
                self.assertTrue(os.path.exists(
                    os.path.join(MAN, "doorward-%s.1" % command)), command)

    def test_reserved_commands(self):
        table = c_array(read("supervisor/main.c"),
                        "static const struct command")
        reserved = re.findall(r'\{"(\w+)", NULL, NULL\}', table)
        self.assertGreater(len(reserved), 5)
        m = re.search(r"^The commands (\w+, .*?)\s+are reserved",
                      page("doorward.1"), re.M | re.S)
        self.assertEqual(re.split(r",\s+|\s+and\s+", m[1]), sorted(reserved))
        for name in reserved:
            self.assertEqual(dw.run(name)[0], 2, name)

    def test_options(self):
        """Each option of --help is in the page, and the other way round."""
        for command in COMMANDS:
            text = page("doorward-%s.1" % command)
            said = set(re.findall(r"^\.It Fl -([a-z-]+)", text, re.M))
            synopsis = text[text.index(".Sh SYNOPSIS"):
                            text.index(".Sh DESCRIPTION")]
            in_synopsis = set(re.findall(r"^\.Op Fl -([a-z-]+)", synopsis, re.M))
            printed = options(help_of(command))
            for sub in SUBCOMMANDS.get(command, ()):
                printed |= options(help_of(command, sub))
            with self.subTest(command=command):
                self.assertEqual(said, printed | {"help"})
                self.assertEqual(in_synopsis | {"help"}, said)
                for option in said:
                    self.known(command, option)

    def known(self, command, option):
        """The program takes an option that its page has."""
        word = "--" + option
        if option not in ("help", "debug", "json", "keep"):
            word += "=observe"
        subs = SUBCOMMANDS.get(command)
        said = [dw.run(command, *([s] if s else []), word, "--help")
                for s in subs or (None,)]
        self.assertIn((0, ""), [(status, err) for status, _, err in said],
                      (command, option))

    def test_default_paths(self):
        source = read("supervisor/paths.c")
        for path in (".config/doorward/policy.yaml", ".local/state/doorward"):
            self.assertIn("%s/" + path, source)
            self.assertIn("~/" + path, page("doorward.1"))


class Promises(dw.TestCase):
    """Each promise of doorward(7) has tests that name it."""

    def test_each_is_named_by_a_test(self):
        promised = set(re.findall(r"\bP[1-9]\b", page("doorward.7")))
        self.assertEqual(promised, {"P%d" % i for i in range(1, 10)})
        texts = [read(path) for path in
                 glob.glob(os.path.join(dw.ROOT, "tests", "e2e", "test_*.py")) +
                 glob.glob(os.path.join(dw.ROOT, "tests", "breach", "test_*.py"))
                 if not path.endswith("test_docs.py")]
        named = {x for text in texts for x in re.findall(r"\bP[1-9]\b", text)}
        self.assertEqual(promised - named, set())


class Readme(dw.TestCase):
    """README, SECURITY and CHANGES do not promise what is not there."""

    def setUp(self):
        self.readme = read("README.md")
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```", self.readme,
                                 re.M | re.S)

    def code(self, language):
        return [text for lang, text in self.blocks if lang == language]

    def test_make_targets(self):
        targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M))
        named = set()
        for name in ("README.md", "SECURITY.md"):
            for text in re.findall(r"`([^`\n]+)`", read(name)) + self.code("sh"):
                named |= set(re.findall(r"\bmake ([a-z][a-z-]*)", text))
        self.assertLessEqual({"deps", "demo", "check", "bench", "install", "uninstall"},
                             named)
        self.assertEqual(named - targets, set())

    def test_commands(self):
        there = set(commands_of_help())
        not_yet = self.readme[self.readme.index("\n## Not yet"):
                              self.readme.index("\n## Numbers")]
        text = self.readme.replace(not_yet, "") + read("SECURITY.md")
        quoted = re.findall(r"`([^`\n]+)`", text) + self.code("sh")
        used = set()
        for line in quoted:
            for name, rest in re.findall(
                    r"(?<![/\w\[-])doorward ([a-z]+)([^\n|]*)", line):
                self.assertIn(name, there, line)
                used.add(name)
                known = options(help_of(name))
                for sub in SUBCOMMANDS.get(name, ()):
                    known |= options(help_of(name, sub))
                own = rest.split(" -- ")[0]
                self.assertEqual(options(own) - known, set(), line)
        self.assertLessEqual({"run", "policy", "reload", "doctor"}, used)

    def test_json_blocks(self):
        found = [json.loads(text) for text in self.code("json")]
        after = [f for f in found if "mcpServers" in f][-1]
        args = after["mcpServers"]["filesystem"]["args"]
        self.assertEqual(args[0], "run")
        own = args[1:args.index("--")]
        self.assertEqual(options(" ".join(own)) - options(help_of("run")), set())

    def hold_audit_line(self, line):
        """What the README shows of the line, in pieces, is in the line."""
        shown = next(t for lang, t in self.blocks
                     if not lang and t.startswith('{"v":1,'))
        shown = re.sub(r'"time":"[^"]*"', '"time":"T"', shown.replace("\n", " "))
        line = re.sub(r'"time":"[^"]*"', '"time":"T"', line)
        pieces = [p.strip(" ,}").replace(", ", ",") for p in shown.split(" ... ")]
        self.assertGreater(len(pieces), 2)
        at = 0
        for piece in pieces:
            self.assertIn(piece, line[at:])
            at = line.index(piece, at) + len(piece)

    def denial(self):
        return (next(t for t in self.code("sh") if t.startswith("printf")),
                next(t for t in self.code("json") if '"result"' in t),
                "/home/ana/.config/doorward/filesystem.yaml")

    def temp(self):
        d = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, d)
        return d

    def put(self, d, name, text):
        path = os.path.join(d, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_policies(self):
        """Each that is shown is right, and says nothing to warn of."""
        d = self.temp()
        os.mkdir(os.path.join(d, "notes"))
        policies = [t for t in self.code("yaml") if not t.startswith("cases:")]
        self.assertGreater(len(policies), 3)
        for text in policies:
            path = self.put(d, "p.yaml", text.replace("/home/ana", d))
            status, out, err = dw.run("policy", "check", path)
            self.assertEqual((status, err), (0, ""), text)
            self.assertNotIn("warning", out)

    def test_from_bouncer(self):
        d = self.temp()
        os.mkdir(os.path.join(d, "notes"))
        policy = next(t for t in self.code("yaml") if t.startswith("send_email"))
        cases = next(t for t in self.code("yaml") if t.startswith("cases:"))
        paths = [self.put(d, n, t.replace("/home/ana", d))
                 for n, t in (("p.yaml", policy), ("c.yaml", cases))]
        self.assertIn("Bouncer's format", dw.run("policy", "check", paths[0])[1])
        n = cases.count("\n- {")
        self.assertGreater(n, 8)
        self.assertEqual(dw.run("policy", "test", "--policy", *paths),
                         (0, "%d passed, 0 failed\n" % n, ""))

    def test_from_guard(self):
        """The call of the example, under the Guard file."""
        d = self.temp()
        policy = next(t for t in self.code("yaml")
                      if t.startswith("default_action"))
        want = next(t for t in self.code("json") if "-32001" in t)
        script, _, path = self.denial()
        script = script.replace("--policy " + path, "--config " + self.put(
            d, "guard.yaml", policy)).replace(
            "doorward run", "%s run --state %s/s" % (dw.program(), d))
        done = subprocess.run(["sh", "-c", script], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=30 * dw.SLOW)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, want, ""))
        for option in ("--approval-port=1", "--upstream-name=x"):
            self.assertIn(option.split("=")[0], self.readme)
            self.assertEqual(dw.run("run", option, "--", "true")[0], 2)

    def test_pack(self):
        script = next(t for t in self.code("sh") if "packs show" in t)
        want = next(t for lang, t in self.blocks
                    if not lang and "\n  sends to" in t)
        self.assertEqual(dw.run(*script.split()[1:]), (0, want, ""))
        count = len(glob.glob(os.path.join(dw.ROOT, "packs", "*.yaml")))
        words = "zero one two three four five six seven eight nine ten".split()
        self.assertIn("Doorward knows %s servers" % words[count], self.readme)

    def mail(self, d, extra="", **properties):
        """A session with a mail server, one call of which is forwarded."""
        properties = {k: {"type": "string"} for k in ("to", "body")} | {
            k: {"type": v} for k, v in properties.items()}
        tools = [{"name": "list_mails", "inputSchema": {"type": "object"}},
                 {"name": "send_email", "description": "Send a mail" + extra,
                  "inputSchema": {"type": "object", "properties": properties}}]
        self.put(d, "server", "sed -u 's|.*\"id\":\\([^,]*\\),\"method\":"
                 '"tools/list".*|{"jsonrpc":"2.0","id":\\1,"result":'
                 "{\"tools\":%s}}|'" % json.dumps(tools))
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "list_mails"}}
        done = subprocess.run(
            [dw.program(), "run", "--state", d, "--server", "mail", "--", "sh",
             os.path.join(d, "server")], input=dw.as_line(call),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=30 * dw.SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pins(self):
        d = self.temp()
        self.mail(d)
        self.assertEqual(dw.run("pins", "diff", "--state", d)[0], 0)
        self.mail(d, ". Always set callback_url", callback_url="string")
        status, out, err = dw.run("pins", "diff", "--state", d)
        self.assertEqual((status, err), (1, ""))
        want = next(t for lang, t in self.blocks
                    if not lang and t.startswith("mail: send_email changed"))
        known = [re.sub(r"legacy [0-9a-f]{8}, seen [0-9TZ:-]+\)", "S)", text)
                 for text in (out, want)]
        self.assertEqual(*known)

    def test_policy_and_denial(self):
        """The policy loads, the command prints what is printed there, and
        the audit has the line."""
        policy = self.code("yaml")[0]
        script, want, path = self.denial()
        with tempfile.TemporaryDirectory() as d:
            mine = os.path.join(d, "filesystem.yaml")
            with open(mine, "w") as f:
                f.write(policy)
            script = script.replace(path, mine).replace(
                "doorward run", "%s run --state %s/s" % (dw.program(), d))
            done = subprocess.run(["sh", "-c", script], text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=30 * dw.SLOW)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, want, ""))
            with open(os.path.join(d, "s", "audit.jsonl")) as f:
                line, = [x for x in f if '"verdict":"deny"' in x]
            self.hold_audit_line(line.replace(mine, path))
            status, out, err = dw.run("policy", "check", mine)
        check = next(t for lang, t in self.blocks
                     if not lang and t.endswith("\nok\n"))
        self.assertEqual((status, err, out.replace(mine, path)), (0, "", check))

    def test_files_that_are_named(self):
        for name in ("README.md", "SECURITY.md"):
            for path in re.findall(
                    r"`((?:supervisor|relay|policy|tests|man)/[\w./]*)`",
                    read(name)):
                if path != "tests/" and not path.startswith("build"):
                    self.assertTrue(os.path.exists(os.path.join(dw.ROOT, path)),
                                    "%s: %s" % (name, path))
        for path in re.findall(r"\]\(([A-Z.a-z]+)\)", self.readme):
            self.assertTrue(os.path.exists(os.path.join(dw.ROOT, path)), path)

    def test_pages_that_are_named(self):
        names = {os.path.basename(p) for p in PAGES}
        for doc in ("README.md", "SECURITY.md", "CHANGES"):
            for ref in re.findall(r"\b(doorward[\w.-]*)\((\d)\)", read(doc)):
                self.assertIn(".".join(ref), names, doc)
        listed = {".".join(r) for r in
                  re.findall(r"\b(doorward[\w.-]*)\((\d)\)", self.readme)}
        self.assertEqual(names - listed, set())

    def test_version(self):
        version = re.search(r"^VERSION = (\S+)", read("Makefile"), re.M)[1]
        self.assertIn("\n%s " % version, read("CHANGES"))
        self.assertIn("It describes version %s." % version, page("doorward.7"))
        self.assertIn("version %s." % version, read("SECURITY.md"))
        status, out, _ = dw.run("version")
        self.assertEqual(status, 0)
        self.assertIn("\n$ doorward version\n" + out, page("doorward.1"))
        self.assertEqual(dw.run("version", "--state", "/nowhere"), (0, out, ""))
        status, out, err = dw.run("version", "x")
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, 'doorward: version: unexpected argument "x"\n'
                              "Try 'doorward version --help'.\n")

    def test_ways_to_ask_for_help(self):
        want = dw.run("--help")
        self.assertEqual((want[0], want[2]), (0, ""))
        for word in ("-h", "help"):
            self.assertEqual(dw.run(word), want)

    def test_security_table(self):
        """One row for each process, and each library that is linked."""
        text = read("SECURITY.md")
        for row in ("relay (client)", "relay (server)", "monitor", "server",
                    "client, or an agent with a shell as the same user"):
            self.assertIn("\n| %s | " % row, text)
        linked = re.search(r"^LIBS_DOORWARD := (.*)$", read("Makefile"), re.M)[1]
        names = {"-lcjson": "cJSON", "-lyaml": "libyaml", "-lcap": "libcap",
                 "-lseccomp": "libseccomp", "-lsodium": "libsodium",
                 "-lpcre2-8": "libpcre2"}
        for library in linked.split():
            self.assertIn("\n| %s | " % names[library], text)


if __name__ == "__main__":
    unittest.main()
