/*
 * The self contract: no argument leads into Doorward's own files, and no
 * ordinary argument is kept out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "guard.h"
#include "path.h"
#include "self.h"
#include "judge_help.h"
#include "policy_help.h"

#define STATE "/data/me/.local/state/doorward"

static const char *const tree[] = {
    "/home -> /data",
    "/data",
    "/data/me",
    "/data/me/.local",
    "/data/me/.local/state",
    STATE,
    STATE "/audit.jsonl",
    "/data/me/.config",
    "/data/me/.config/doorward",
    "/data/me/.config/autostart",
    "/data/me/.bashrc -> dotfiles/bashrc",
    "/data/me/dotfiles",
    "/data/me/dotfiles/bashrc",
    "/data/me/.profile",
    "/data/me/.ssh",
    "/data/me/.cursor",
    "/data/me/proj",
    "/data/me/proj/notes -> " STATE,
    "/data/me/proj/far -> /tmp/hop",
    "/data/me/proj/up -> ../..",
    "/data/me/proj/ring -> ring",
    "/data/me/proj/shut !13",
    "/tmp",
    "/tmp/hop -> /home/me/.local/state/doorward/audit.jsonl",
    "/proc",
    "/proc/self -> 42",
    "/proc/thread-self -> 42/task/42",
    "/proc/42",
    "/proc/42/status",
    "/dev",
    "/dev/fd -> /proc/self/fd",
    "/dev/null",
    "/etc",
    NULL};

static const char *const own[] = {STATE, "/data/me/.config/doorward"};

static struct fake fake = {tree, 0};

static struct policy_places
places(void)
{
	struct policy_places p;

	memset(&p, 0, sizeof(p));
	p.cwd = "/data/me/proj";
	p.home = "/home/me";
	p.own = own;
	p.own_count = 2;
	p.readlink = fake_readlink;
	p.arg = &fake;
	fake.calls = 0;
	return p;
}

enum said { NOTHING, ASKS, DENIES };

static enum said
outcome(struct findings *f)
{
	const struct finding *worst = findings_worst(f);
	enum said said = NOTHING;

	if (worst != NULL) {
		assert_int_equal(worst->contract, CONTRACT_SELF);
		assert_string_equal(worst->rule, "self");
		said = worst->action == ACTION_BLOCK ? DENIES : ASKS;
		/* A deny holds in observe mode, too; an ask does not. */
		assert_int_equal(worst->always, said == DENIES);
	}
	findings_clear(f);
	return said;
}

static enum said
value(const cJSON *v, enum self_use use)
{
	struct policy_places p = places();
	struct findings f = {NULL, 0, 0};

	self_judge_value(&p, v, use, &f);
	return outcome(&f);
}

static void
expect(const char *text, enum self_use use, enum said said)
{
	cJSON *v = cJSON_CreateString(text);
	enum said got = value(v, use);

	cJSON_Delete(v);
	if (got == said)
		return;
	print_error("\"%s\": %d, not %d\n", text, got, said);
	fail();
}

static void
test_own(void **state)
{
	static const char *const bad[] = {
	    STATE, STATE "/", STATE "/audit.jsonl", STATE "/new/file",
	    "/home/me/.local/state/doorward",
	    "/data/me/.config/doorward/policy.yaml",
	    "/data//me/./.local/state/doorward/x",
	    "/data/me/proj/../.local/state/doorward",
	    "/nowhere/../data/me/.local/state/doorward",
	    "/data/me/nowhere/../.local/state/doorward/audit.jsonl",
	    "~/.local/state/doorward", "~/.local/state/doorward/",
	    "$HOME/.config/doorward/x", "${HOME}/.config/doorward/x", "notes",
	    "notes/audit.jsonl", "./notes", "far", "../.local/state/doorward",
	    "up/me/.config/doorward",
	    "nowhere/../../.config/doorward/policy.yaml",
	    "up/../data/me/.config/doorward",
	    /* "up" is a link to /data: only who takes ".." out first gets there
	     */
	    "up/../notes", "/tmp/hop", "/tmp/hop/", " " STATE, STATE "\n",
	    "\"" STATE "\"", "'~/.config/doorward'", "file://" STATE,
	    "FILE://localhost" STATE "/x", "file:" STATE,
	    "file://anything" STATE,
	    "file:///data/me/.local/state/%64oorward/x",
	    "file:///data/me/%2elocal/state/doorward?x",
	    "file:///data/me/.local%2Fstate/doorward#x",
	    "file:///data/me/.local/state/doorward%00.txt", "ring",
	    "/data/me/proj/ring/x",
	    "/data/me/proj/shut/../../.local/state/doorward"};
	static const char *const good[] = {"",
					   " ",
					   "hello",
					   "a/b/c",
					   "/",
					   "/tmp/x",
					   "/data/me",
					   "/data/me/.local/state",
					   "/data/me/.local/state/doorward2",
					   "doorward",
					   "~",
					   "~/x",
					   "~bob/x",
					   "~5 minutes",
					   "~ ~",
					   "/data/me/proj/shut/x",
					   "See /data/me/.local/state/doorward",
					   "https://example.com" STATE,
					   "file:",
					   "file://",
					   "file:///",
					   "file:///tmp/x%",
					   "..",
					   "../..",
					   "select '/etc' from x",
					   "Two\nlines/with a slash",
					   "/dev/null",
					   "nobody@example.com"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect(bad[i], SELF_READS, DENIES);
		expect(bad[i], SELF_WRITES, DENIES);
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		expect(good[i], SELF_READS, NOTHING);
		expect(good[i], SELF_WRITES, NOTHING);
	}
	/* Somebody's home, ours or not. */
	expect("~me/.config/doorward", SELF_READS, ASKS);
}

static void
test_processes(void **state)
{
	static const char *const bad[] = {"/proc/1/root",
					  "/proc/1/root/etc",
					  "/proc/self/cwd/x",
					  "/proc/42/fd/3",
					  "/proc/self/mem",
					  "/proc/self/environ",
					  "/proc/42/map_files/x",
					  "/proc/42/task/43/root/x",
					  "/proc/self/task/1/cwd",
					  "/proc/thread-self/fd/0",
					  "/dev/fd/3",
					  "/dev/fd",
					  "file:///proc/self/environ",
					  "../../../proc/self/environ",
					  "/proc/./42/../42/mem",
					  "/proc/99/root"};
	static const char *const good[] = {
	    "/proc",           "/proc/42",
	    "/proc/42/status", "/proc/self/status",
	    "/proc/cpuinfo",   "/proc/x/root",
	    "/proc/42/rootx",  "/proc/42x/root",
	    "/proc/42/task",   "/proc/selfish/root"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(bad[i], SELF_READS, DENIES);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(good[i], SELF_WRITES, NOTHING);
	assert_true(guard_is_process("/proc/self/root", 15));
	assert_false(guard_is_process("/proc/self/root/x", 17));
	assert_false(guard_is_process("/proc/task/1/root", 17));
	assert_false(guard_is_process("/procs/1/root", 13));
}

static void
test_clients(void **state)
{
	static const char *const bad[] = {
	    "~/.claude.json",
	    "~/.cursor/mcp.json",
	    ".mcp.json",
	    "sub/.mcp.json",
	    ".vscode/mcp.json",
	    "/srv/x/.vscode/mcp.json",
	    "~/.config/Claude/claude_desktop_config.json",
	    "~/.config/Code/User/mcp.json",
	    "~/.config/zed/settings.json",
	    "~/.codeium/windsurf/mcp_config.json",
	    "~/.codex/config.toml",
	    ".codex/config.toml",
	    "~/.gemini/settings.json",
	    "opencode.json",
	    "opencode.jsonc",
	    "~/.config/opencode/opencode.json",
	    ".roo/mcp.json",
	    ".kilocode/mcp.json",
	    "~/.continue/config.yaml",
	    ".continue/mcpServers/x.yaml",
	    "~/.config/goose/config.yaml",
	    "~/.config/amp/settings.json",
	    "librechat.yaml",
	    "~/.copilot/mcp-config.json",
	    ".zed/settings.json",
	    "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/"
	    "settings/cline_mcp_settings.json",
	    "file:///home/me/.claude.json",
	    "/home/me/proj/.mcp.json"};
	static const char *const good[] = {
	    "mcp.json",           ".vscode/launch.json",
	    "x.mcp.json",         ".vscode",
	    "/srv/.claude.json",  "my-opencode.json",
	    "~/.claude.json.bak", "claude_desktop_config.json"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(bad[i], SELF_READS, DENIES);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(good[i], SELF_WRITES, NOTHING);
}

static void
test_started_files(void **state)
{
	static const char *const asked[] = {
	    "~/.bashrc", "/home/me/.bashrc", "../.bashrc", "~/.profile",
	    /* where the link leads, by its own name */
	    "/data/me/dotfiles/bashrc", "~/.zshrc", "~/.config/fish/x",
	    "~/.ssh/authorized_keys", "~/.ssh/rc",
	    "~/.config/autostart/x.desktop", "~/.config/autostart",
	    "~/.config/systemd/user/x.service", "/etc/profile.d/x.sh",
	    "/etc/cron.d/x", "/var/spool/cron/crontabs/me", "/etc/crontab"};
	static const char *const good[] = {
	    "/data/me/dotfiles/other", "~/.bashrc2",   "~/bashrc", "/etc/x",
	    "~/.ssh/known_hosts",      "/srv/.bashrc", ".bashrc"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		expect(asked[i], SELF_WRITES, ASKS);
		expect(asked[i], SELF_READS, NOTHING);
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(good[i], SELF_WRITES, NOTHING);
}

static void
test_moves(void **state)
{
	static const char *const bad[] = {
	    "/",        "/data",           "/home/me",  "~",
	    "~/.local", "~/.local/state/", "~/.config", "~/.cursor",
	    "..",       "../..",           "up"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect(bad[i], SELF_MOVES, DENIES);
		expect(bad[i], SELF_READS, NOTHING);
	}
	expect("~/.ssh", SELF_MOVES, ASKS);
	expect("~/proj", SELF_MOVES, NOTHING);
	expect("/tmp", SELF_MOVES, NOTHING);
}

static void
test_long_strings(void **state)
{
	const size_t len = 200000;
	char *text = malloc(len + 64);
	size_t i;

	(void)state;
	assert_non_null(text);
	/* No path that long, but its rest without ".." is one. */
	for (i = 0; i < len; i += 5)
		memcpy(text + i, "/x/..", 5);
	strcpy(text + len, STATE);
	expect(text, SELF_READS, DENIES);
	memcpy(text, "file:", 5);
	expect(text, SELF_READS, DENIES);
	memset(text, 'a', len);
	strcpy(text + len, "/../notes");
	expect(text, SELF_READS, DENIES);
	strcpy(text + len, "/../other");
	expect(text, SELF_READS, NOTHING);
	for (i = 0; i + 2 < len; i += 3)
		memcpy(text + i, "../", 3);
	strcpy(text + i, &STATE[1]);
	expect(text, SELF_READS, DENIES);
	memset(text, 'a', len);
	strcpy(text + len, STATE);
	expect(text, SELF_READS, NOTHING);
	memset(text, '/', len);
	strcpy(text + len, STATE);
	expect(text, SELF_READS, DENIES);
	free(text);
}

static void
test_nested(void **state)
{
	cJSON *v;

	(void)state;
	v = json("{\"a\":[{\"b\":[1,true,null,\"" STATE "\"]}]}");
	assert_int_equal(value(v, SELF_READS), DENIES);
	cJSON_Delete(v);
	v = json("{\"a\":{\"" STATE "/x\":\"content\"}}");
	assert_int_equal(value(v, SELF_READS), DENIES);
	cJSON_Delete(v);
	/* The names of parameters are none, unless they look like one. */
	v = json("{\"notes\":1}");
	assert_int_equal(value(v, SELF_READS), NOTHING);
	cJSON_Delete(v);
	v = json("{\"x\":{\"notes\":1}}");
	assert_int_equal(value(v, SELF_READS), DENIES);
	cJSON_Delete(v);
	v = json("{\"./notes\":1}");
	assert_int_equal(value(v, SELF_READS), DENIES);
	cJSON_Delete(v);
	v = json("{\"a\":{\"b\":[\"x\"]}}");
	assert_int_equal(value(v, SELF_READS), NOTHING);
	cJSON_Delete(v);
}

static void
test_unknown_places(void **state)
{
	struct policy_places p = places();
	cJSON *v = json("[\"notes\",\"~/.config/doorward\",\"../x\"]");
	struct findings f = {NULL, 0, 0};

	(void)state;
	p.cwd = NULL;
	p.home = NULL;
	self_judge_value(&p, v, SELF_WRITES, &f);
	assert_int_equal(outcome(&f), NOTHING);
	cJSON_Delete(v);
	/* Absolute names are still known. */
	v = json("\"/home/me/.config/doorward\"");
	self_judge_value(&p, v, SELF_WRITES, &f);
	assert_int_equal(outcome(&f), DENIES);
	cJSON_Delete(v);
}

static void
test_cwd_in_guarded(void **state)
{
	struct policy_places p = places();
	cJSON *v = json("\"evil.desktop\"");
	struct findings f = {NULL, 0, 0};

	(void)state;
	p.cwd = "/data/me/.config/autostart";
	self_judge_value(&p, v, SELF_WRITES, &f);
	assert_int_equal(outcome(&f), ASKS);
	self_judge_value(&p, v, SELF_READS, &f);
	assert_int_equal(outcome(&f), NOTHING);
	p.cwd = STATE;
	self_judge_value(&p, v, SELF_READS, &f);
	assert_int_equal(outcome(&f), DENIES);
	cJSON_Delete(v);
}

/* What the server's command or the client names as its directories. */
static void
test_bases(void **state)
{
	static const char *const bases[] = {"/data/me", "/srv"};
	static const char *const bad[] = {
	    ".config/doorward/policy.yaml", "./.config/doorward",
	    "x/../.config/doorward/policy.yaml", "../me/.config/doorward"};
	struct policy_places p = places();
	struct findings f = {NULL, 0, 0};
	size_t i, n;
	cJSON *v;

	(void)state;
	for (n = 0; n < 2; n++) {
		p.bases = bases;
		p.base_count = n;
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			v = cJSON_CreateString(bad[i]);
			self_judge_value(&p, v, SELF_READS, &f);
			assert_int_equal(outcome(&f),
					 n == 0 ? NOTHING : DENIES);
			cJSON_Delete(v);
		}
		v = cJSON_CreateString("texts/todo.md");
		self_judge_value(&p, v, SELF_WRITES, &f);
		assert_int_equal(outcome(&f), NOTHING);
		cJSON_Delete(v);
	}
}

/* As Node's URL takes them, or a server that cuts off what they begin with. */
static void
test_urls(void **state)
{
	static const char *const bad[] = {
	    "file:" STATE, "file:data/me/.local/state/doorward",
	    "file:\\data\\me\\.local\\state\\doorward", "file:\\\\" STATE,
	    "fi\tle://" STATE, "file:\n//" STATE, "\x01 file://" STATE,
	    "file:///data/me/.lo\rcal/state/doorward", "file://notes/x",
	    "file:notes/x", "file://../.local/state/doorward",
	    "file://~/.local/state/doorward", "file://%6c/../x/.." STATE,
	    "file://x" STATE "?q", "file://" STATE "#f", "file://" STATE "%00x",
	    /* and what trim functions take off */
	    "\xc2\xa0" STATE, "\xef\xbb\xbf" STATE, STATE "\xe3\x80\x80",
	    "\xe2\x80\xa8\"" STATE "\"\x1f", NULL};
	static const char *const good[] = {
	    "file:",        "file://", "file:x",       "file:///tmp/x",
	    "file://tmp/x", "file",    "files:" STATE, "\xc2\xa0",
	    "\xff",         NULL};
	size_t i;

	(void)state;
	for (i = 0; bad[i] != NULL; i++)
		expect(bad[i], SELF_READS, DENIES);
	for (i = 0; good[i] != NULL; i++)
		expect(good[i], SELF_READS, NOTHING);
}

/* A directory that the person's keyboard and the agent spell differently. */
static void
test_composed(void **state)
{
	static const char *const kept[] = {"/data/jos\xc3\xa9/state"};
	static const struct {
		const char *text;
		enum said said;
	} table[] = {
	    {"\"/data/jos\xc3\xa9/state/x\"", DENIES},
	    {"\"/data/jose\xcc\x81/state/x\"", DENIES},
	    {"\"/data/jose\xcc\x81/state\"", DENIES},
	    {"\"/data/jose\xcc\x81/.claude.json\"", DENIES},
	    {"\"/data/jose\xcc\x81/x/.claude.json\"", NOTHING},
	    {"\"/data/jose\xcc\x81\"", NOTHING},
	    {"\"/data/jose\xcc\x81/other\"", NOTHING},
	    {"\"/data/jose/state\"", NOTHING},
	    {"\"/jose\xcc\x81/state\"", NOTHING},
	};
	struct policy_places p = places();
	struct findings f = {NULL, 0, 0};
	size_t i;
	cJSON *v;

	(void)state;
	p.home = "/data/jos\xc3\xa9";
	p.own = kept;
	p.own_count = 1;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		v = json(table[i].text);
		self_judge_value(&p, v, SELF_READS, &f);
		assert_int_equal(outcome(&f), table[i].said);
		cJSON_Delete(v);
	}
}

static void
test_other_spelling(void **state)
{
	static const char *const kept[] = {"/data/Karl/state"};
	struct policy_places p = places();
	struct findings f = {NULL, 0, 0};
	/* U+212A, which a server may take for a K */
	cJSON *v = json("\"/data/\xe2\x84\xaa"
			"arl/state/audit.jsonl\"");

	(void)state;
	self_judge_value(&p, v, SELF_READS, &f);
	assert_int_equal(outcome(&f), NOTHING);
	p.own = kept;
	p.own_count = 1;
	self_judge_value(&p, v, SELF_READS, &f);
	assert_int_equal(outcome(&f), DENIES);
	cJSON_Delete(v);
}

static void
test_cost(void **state)
{
	cJSON *v = json("\"hello\""), *list = cJSON_CreateArray();
	struct policy_places p;
	struct findings f = {NULL, 0, 0};
	size_t i;

	(void)state;
	assert_int_equal(value(v, SELF_WRITES), NOTHING);
	assert_int_equal(fake.calls, 1);
	for (i = 0; i < 1000; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString("some words"));
	assert_int_equal(value(list, SELF_WRITES), NOTHING);
	assert_int_equal(fake.calls, 1000);
	/* More than can be followed is denied, not skipped. */
	for (i = 0; i < SELF_STEPS_MAX; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString("w"));
	p = places();
	self_judge_value(&p, list, SELF_READS, &f);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.v[0].always, 1);
	assert_int_equal(outcome(&f), DENIES);
	assert_true(fake.calls <= SELF_STEPS_MAX + 1);
	cJSON_Delete(list);
	cJSON_Delete(v);
}

/* A whole call, whose entry says what is written. */
static enum said
call(const char *policy_text, const char *tool_name, const char *args_text)
{
	struct policy *p = good(policy_text);
	struct policy_places pl = places();
	struct policy_view *v =
	    policy_view_new(p, tool_name, strlen(tool_name), NULL, NULL);
	cJSON *args = json(args_text);
	struct policy_call c = {tool_name, strlen(tool_name), args, 1, &pl};
	struct findings f = {NULL, 0, 0};
	enum said said;

	self_judge(v, &c, &f);
	said = outcome(&f);
	cJSON_Delete(args);
	policy_view_free(v);
	policy_free(p);
	return said;
}

static void
test_what_is_written(void **state)
{
	static const char none[] = "version: 1\n";
	static const char entry[] = "version: 1\ntools:\n"
				    "  put: {write_params: [where]}\n"
				    "  delete_it: {write_params: [where]}\n"
				    "  store: {max_calls: 3}\n"
				    "  get_it: {max_calls: 3}\n";

	(void)state;
	/* No entry: by the tool's verb. */
	assert_int_equal(call(none, "read_file", "{\"p\":\"~/.bashrc\"}"),
			 NOTHING);
	assert_int_equal(call(none, "write_file", "{\"p\":\"~/.bashrc\"}"),
			 ASKS);
	assert_int_equal(call(none, "frobnicate", "{\"p\":\"~/.bashrc\"}"),
			 ASKS);
	assert_int_equal(call(none, "read_file", "{\"p\":\"~\"}"), NOTHING);
	assert_int_equal(call(none, "write_file", "{\"p\":\"~\"}"), NOTHING);
	assert_int_equal(call(none, "move_file", "{\"p\":\"~\"}"), DENIES);
	/* An entry: what it names as written. */
	assert_int_equal(call(entry, "put", "{\"where\":\"~/.bashrc\"}"), ASKS);
	assert_int_equal(call(entry, "put", "{\"what\":\"~/.bashrc\"}"),
			 NOTHING);
	assert_int_equal(call(entry, "put", "{\"where\":\"~/.config\"}"), ASKS);
	assert_int_equal(call(entry, "delete_it", "{\"where\":\"~/.config\"}"),
			 DENIES);
	/* An entry that says nothing of paths: by the verb again. */
	assert_int_equal(call(entry, "store", "{\"where\":\"~/.bashrc\"}"),
			 ASKS);
	assert_int_equal(call(entry, "get_it", "{\"where\":\"~/.bashrc\"}"),
			 NOTHING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_own),
	    cmocka_unit_test(test_processes),
	    cmocka_unit_test(test_clients),
	    cmocka_unit_test(test_started_files),
	    cmocka_unit_test(test_moves),
	    cmocka_unit_test(test_long_strings),
	    cmocka_unit_test(test_nested),
	    cmocka_unit_test(test_unknown_places),
	    cmocka_unit_test(test_cwd_in_guarded),
	    cmocka_unit_test(test_bases),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_composed),
	    cmocka_unit_test(test_other_spelling),
	    cmocka_unit_test(test_cost),
	    cmocka_unit_test(test_what_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
