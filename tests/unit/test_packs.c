/*
 * What the built-in packs make of calls: for each kind of argument one that
 * passes and one that does not.  Runs from the top of the source.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "proto/alloc.h"

#include "policy.h"
#include "call.h"
#include "entry.h"

#define ALLOW ACTION_ALLOW
#define ASK ACTION_ASK
#define DENY ACTION_BLOCK

struct row {
	const char *package, *tool, *args;
	enum policy_action want;
	uint64_t attempt; /* 0: the first */
};

#define FILES "@modelcontextprotocol/server-filesystem"
#define GMAIL "@gongrzhe/server-gmail-autoauth-mcp"
#define SLACK "@modelcontextprotocol/server-slack"
#define GITHUB "@modelcontextprotocol/server-github"
#define GDRIVE "@modelcontextprotocol/server-gdrive"
#define DRIVE "@piotr-agier/google-drive-mcp"
#define MEMORY "@modelcontextprotocol/server-memory"
#define EVERY "@modelcontextprotocol/server-everything"
#define BROWSER "@playwright/mcp"

static const struct row rows[] = {
    /* sends: where to is judged, what is sent is not */
    {GMAIL, "send_email",
     "{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\"}", ASK, 0},
    {GMAIL, "send_email",
     "{\"to\":[],\"bcc\":[\"a@b.example\"],\"subject\":\"\",\"body\":\"\"}",
     ASK, 0},
    {GMAIL, "draft_email", "{\"to\":[],\"subject\":\"s\",\"body\":\"b\"}",
     ALLOW, 0},
    {GMAIL, "draft_email", "{\"to\":[\"a@b.example\"]}", ASK, 0},
    {GMAIL, "create_filter",
     "{\"criteria\":{\"from\":\"a@b.example\"},\"action\":{"
     "\"addLabelIds\":[\"X\"]}}",
     ALLOW, 0},
    {GMAIL, "create_filter",
     "{\"criteria\":{},\"action\":{\"forward\":\"a@b.example\"}}", ASK, 0},
    {GMAIL, "read_email", "{\"messageId\":\"1\"}", ALLOW, 0},
    {GMAIL, "modify_email", "{\"messageId\":\"1\",\"labelIds\":[\"X\"]}", ALLOW,
     0},
    {SLACK, "slack_post_message", "{\"channel_id\":\"C1\",\"text\":\"t\"}", ASK,
     0},
    {SLACK, "slack_reply_to_thread",
     "{\"channel_id\":\"C1\",\"thread_ts\":\"1.2\",\"text\":\"t\"}", ASK, 0},
    {SLACK, "slack_add_reaction",
     "{\"channel_id\":\"C1\",\"timestamp\":\"1.2\",\"reaction\":\"x\"}", ALLOW,
     0},
    {SLACK, "slack_get_users", "{}", ALLOW, 0},
    {GITHUB, "create_issue", "{\"owner\":\"o\",\"repo\":\"r\",\"title\":\"t\"}",
     ASK, 0},
    {GITHUB, "get_issue", "{\"owner\":\"o\",\"repo\":\"r\",\"issue_number\":1}",
     ALLOW, 0},
    {GITHUB, "push_files",
     "{\"owner\":\"o\",\"repo\":\"r\",\"branch\":\"b\",\"files\":[],"
     "\"message\":\"m\"}",
     ASK, 0},
    {GITHUB, "create_repository", "{\"name\":\"n\",\"private\":true}", ASK, 0},
    {GITHUB, "fork_repository", "{\"owner\":\"o\",\"repo\":\"r\"}", ALLOW, 0},
    {GITHUB, "fork_repository",
     "{\"owner\":\"o\",\"repo\":\"r\",\"organization\":\"x\"}", ASK, 0},
    {GITHUB, "merge_pull_request",
     "{\"owner\":\"o\",\"repo\":\"r\",\"pull_number\":1}", ASK, 0},
    {EVERY, "gzip-file-as-resource", "{\"name\":\"n\"}", ALLOW, 0},
    {EVERY, "gzip-file-as-resource", "{\"data\":\"https://x.example/\"}", ASK,
     0},
    {EVERY, "get-env", "{}", ALLOW, 0},
    {GDRIVE, "search", "{\"query\":\"q\"}", ALLOW, 0},
    {DRIVE, "search", "{\"query\":\"a@b.example\"}", ALLOW, 0},

    /* what is one's own until a place is named */
    {DRIVE, "createTextFile", "{\"name\":\"n\",\"content\":\"c\"}", ALLOW, 0},
    {DRIVE, "createTextFile",
     "{\"name\":\"n\",\"content\":\"c\",\"parentFolderId\":\"f\"}", ASK, 0},
    {DRIVE, "updateGoogleDoc", "{\"documentId\":\"d\",\"content\":\"c\"}", ASK,
     0},
    {DRIVE, "moveItem", "{\"itemId\":\"i\"}", ALLOW, 0},
    {DRIVE, "moveItem", "{\"itemId\":\"i\",\"destinationFolderId\":\"f\"}", ASK,
     0},
    {DRIVE, "uploadFile", "{\"localPath\":\"/tmp/x\"}", ALLOW, 0},
    {DRIVE, "uploadFile", "{\"localPath\":\"/tmp/x\",\"fileId\":\"f\"}", ASK,
     0},

    /* rights, and what makes public */
    {DRIVE, "shareFile", "{\"fileId\":\"f\",\"emailAddress\":\"a@b.example\"}",
     ASK, 0},
    {DRIVE, "addPermission", "{\"fileId\":\"f\",\"type\":\"anyone\"}", ASK, 0},
    {DRIVE, "addPermission",
     "{\"fileId\":\"f\",\"type\":\"domain\",\"domain\":\"b.example\"}", ASK, 0},
    {DRIVE, "updatePermission",
     "{\"fileId\":\"f\",\"permissionId\":\"1\",\"role\":\"writer\"}", ASK, 0},
    {DRIVE, "listPermissions", "{\"fileId\":\"f\"}", ALLOW, 0},

    /* formulas fetch */
    {DRIVE, "createGoogleSheet",
     "{\"name\":\"n\",\"data\":[[\"a\"]],\"valueInputOption\":\"RAW\"}", ALLOW,
     0},
    {DRIVE, "createGoogleSheet",
     "{\"name\":\"n\",\"data\":[[\"a\"]],"
     "\"valueInputOption\":\"USER_ENTERED\"}",
     ASK, 0},
    {DRIVE, "getGoogleSheetContent",
     "{\"spreadsheetId\":\"s\",\"range\":\"A1\"}", ALLOW, 0},

    /* calendars */
    {DRIVE, "createCalendarEvent",
     "{\"summary\":\"s\",\"start\":{},\"end\":{},\"calendarId\":\"primary\"}",
     ALLOW, 0},
    {DRIVE, "createCalendarEvent",
     "{\"summary\":\"s\",\"start\":{},\"end\":{},"
     "\"attendees\":[\"a@b.example\"]}",
     ASK, 0},
    {DRIVE, "createCalendarEvent",
     "{\"summary\":\"s\",\"start\":{},\"end\":{},\"calendarId\":\"team\"}", ASK,
     0},
    {DRIVE, "updateCalendarEvent", "{\"eventId\":\"e\",\"summary\":\"s\"}", ASK,
     0},

    /* deletes: two, unless the pack says otherwise */
    {GMAIL, "delete_email", "{\"messageId\":\"1\"}", ALLOW, 2},
    {GMAIL, "delete_email", "{\"messageId\":\"1\"}", DENY, 3},
    {GMAIL, "batch_delete_emails", "{\"messageIds\":[\"1\"]}", DENY, 1},
    {MEMORY, "delete_entities", "{\"entityNames\":[\"x\"]}", ALLOW, 2},
    {MEMORY, "delete_entities", "{\"entityNames\":[\"x\"]}", DENY, 3},
    {MEMORY, "create_entities", "{\"entities\":[]}", ALLOW, 100},
    {DRIVE, "deleteItem", "{\"itemId\":\"1\"}", DENY, 3},
    {DRIVE, "deleteRange", "{\"documentId\":\"1\"}", ALLOW, 20},
    {DRIVE, "deleteRange", "{\"documentId\":\"1\"}", DENY, 21},

    /* paths */
    {FILES, "write_file", "{\"path\":\"/tmp/x\",\"content\":\"c\"}", ALLOW, 0},
    {FILES, "read_text_file", "{\"path\":\"/tmp/x\"}", ALLOW, 0},
    {GMAIL, "download_attachment",
     "{\"messageId\":\"m\",\"attachmentId\":\"a\",\"filename\":\"r.pdf\"}",
     ALLOW, 0},
    {GMAIL, "download_attachment",
     "{\"messageId\":\"m\",\"attachmentId\":\"a\",\"filename\":\"..\"}", DENY,
     0},
    {GMAIL, "download_attachment",
     "{\"messageId\":\"m\",\"attachmentId\":\"a\",\"filename\":\"../x\"}", DENY,
     0},
    {GMAIL, "download_attachment",
     "{\"messageId\":\"m\",\"attachmentId\":\"a\",\"filename\":\"/etc/x\"}",
     DENY, 0},

    /* a browser */
    {BROWSER, "browser_navigate", "{\"url\":\"https://x.example/\"}", ASK, 0},
    {BROWSER, "browser_tabs", "{\"action\":\"list\"}", ALLOW, 0},
    {BROWSER, "browser_tabs",
     "{\"action\":\"new\",\"url\":\"https://x.example/\"}", ASK, 0},
    {BROWSER, "browser_click", "{\"target\":\"e1\"}", ALLOW, 0},
    {BROWSER, "browser_press_key", "{\"key\":\"Enter\"}", ALLOW, 0},
    {BROWSER, "browser_press_key", "{\"key\":\"a\"}", ASK, 0},
    {BROWSER, "browser_type", "{\"target\":\"e1\",\"text\":\"t\"}", ASK, 0},
    {BROWSER, "browser_fill_form",
     "{\"fields\":[{\"target\":\"e1\",\"value\":\"v\"}]}", ASK, 0},
    {BROWSER, "browser_file_upload", "{}", ALLOW, 0},
    {BROWSER, "browser_file_upload", "{\"paths\":[\"/tmp/x\"]}", ASK, 0},
    {BROWSER, "browser_evaluate", "{\"function\":\"() => 1\"}", ASK, 0},
    {BROWSER, "browser_run_code_unsafe", "{\"code\":\"1\"}", ASK, 0},
    {BROWSER, "browser_run_code_unsafe", "{\"filename\":\"/tmp/x\"}", ASK, 0},
    {BROWSER, "browser_snapshot", "{}", ALLOW, 0},
};

static ssize_t
no_link(void *unused, const char *path, char *buf, size_t n)
{
	(void)unused;
	return readlink(path, buf, n);
}

static enum policy_action
judge(const struct policy *p, const struct row *r, const char *from)
{
	const char *command[] = {"npx", r->package, NULL};
	const struct policy_places places = {
	    .cwd = "/nonexistent", .home = "/nonexistent", .readlink = no_link};
	struct findings f = {NULL, 0, 0};
	struct policy_call c = {.tool = r->tool,
				.tool_len = strlen(r->tool),
				.args = cJSON_Parse(r->args),
				.attempt = r->attempt != 0 ? r->attempt : 1,
				.places = &places};
	struct policy_view *v =
	    policy_view_new(p, c.tool, c.tool_len, NULL, command);
	enum policy_action a;

	assert_non_null(c.args);
	assert_string_equal(policy_view_from(v), from);
	assert_int_equal(policy_view_count(v), 1);
	policy_judge(p, v, &c, &f);
	a = findings_worst(&f)->action;
	findings_clear(&f);
	policy_view_free(v);
	cJSON_Delete((cJSON *)(uintptr_t)c.args);
	return a;
}

static struct policy *
load(const char *file)
{
	struct policy_error err;
	struct policy *p =
	    policy_load(&file, file != NULL ? 1 : 0, "packs", &err);

	if (p == NULL) {
		print_error("%s\n", policy_error_format(&err));
		fail();
	}
	return p;
}

static void
test_verdicts(void **state)
{
	struct policy *p = load(NULL);
	enum policy_action a;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = judge(p, &rows[i], "pack");
		if (a != rows[i].want)
			print_error("%s %s: %s\n", rows[i].tool, rows[i].args,
				    policy_action_name(a));
		assert_int_equal(a, rows[i].want);
	}
	policy_free(p);
}

/* A policy of one's own lies on top, key by key. */
static void
test_policy_on_top(void **state)
{
	static const char text[] =
	    "version: 1\n"
	    "tools:\n"
	    "  add_issue_comment: {trusted_destinations: [acme, site]}\n"
	    "  batch_delete_emails: {max_calls: 1}\n";

	static const struct row mine[] = {
	    {GITHUB, "add_issue_comment",
	     "{\"owner\":\"acme\",\"repo\":\"site\",\"issue_number\":1,"
	     "\"body\":\"b\"}",
	     ALLOW, 0},
	    {GITHUB, "add_issue_comment",
	     "{\"owner\":\"acme\",\"repo\":\"other\",\"issue_number\":1,"
	     "\"body\":\"b\"}",
	     ASK, 0},
	    {GMAIL, "batch_delete_emails", "{\"messageIds\":[\"1\"]}", ALLOW,
	     1},
	    {GMAIL, "batch_delete_emails", "{\"messageIds\":[\"1\"]}", DENY, 2},
	};
	char name[] = "/tmp/doorward-packs.XXXXXX";
	int fd = mkstemp(name);
	struct policy *p;
	size_t i;

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	p = load(name);
	unlink(name);
	for (i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
		assert_int_equal(judge(p, &mine[i], "file"), mine[i].want);
	policy_free(p);
}

/* What sends says where to, and each pack says what it is for. */
static void
test_every_entry(void **state)
{
	struct policy *p = load(NULL);
	const struct entry *e;
	size_t i, j;

	(void)state;
	assert_int_equal(policy_pack_count(p), 9);
	for (i = 0; i < policy_pack_count(p); i++) {
		assert_true(policy_pack(p, i)->match_count > 0);
		assert_true(policy_pack(p, i)->checked_count > 0);
		assert_true(policy_pack(p, i)->about[0] != '\0');
		for (j = 0; j < policy_pack(p, i)->entries; j++) {
			e = policy_pack_entry(p, i, j);
			assert_int_equal(e->exfiltrating, e->nsinks > 0);
		}
	}
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_verdicts),
	    cmocka_unit_test(test_policy_on_top),
	    cmocka_unit_test(test_every_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
