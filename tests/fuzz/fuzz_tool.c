/*
 * Definitions of tools, as a server makes them up: two lines of JSON, read as
 * a relay and the monitor read them.  Each is hashed, flattened and looked
 * through, makes a view with the packs and the fallback, and the second is
 * also the arguments of a call of the first; then they are compared as a
 * pinned one and a changed one.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/buf.h"
#include "proto/text.h"

#include "policy.h"
#include "entry.h"
#include "call.h"

#include "../../relay/emit.h"
#include "../../relay/scan.h"
#include "../../supervisor/canon.h"
#include "../../supervisor/message.h"
#include "../../supervisor/pins.h"
#include "../../supervisor/pins_diff.h"
#include "../../supervisor/pins_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scan scan;
static struct policy *policy;

#define CHECK(cond)                                             \
	do {                                                    \
		if (!(cond)) {                                  \
			fprintf(stderr, "failed: %s\n", #cond); \
			abort();                                \
		}                                               \
	} while (0)

static void
put(void *arg, const void *p, size_t n)
{
	buf_put(arg, p, n);
}

/* NULL for what would never come so far. */
static cJSON *
decode(const char *p, size_t n)
{
	struct buf tree = BUF_INIT;
	cJSON *root = NULL;

	if (scan_line(&scan, p, n, SCAN_WHOLE) == REFUSAL_NONE &&
	    !scan.outer_fault && scan.slot[SLOT_ROOT].type == '{') {
		emit_tree(p, n, put, &tree);
		root = message_tree(buf_head(&tree), buf_used(&tree), 1);
		CHECK(root != NULL);
	}
	buf_free(&tree);
	return root;
}

/* One line, and nothing in it that a terminal would act on. */
static void
check_shown(const char *p, size_t n, int lines)
{
	uint32_t cp = 0;
	size_t i, k;

	for (i = 0; i < n; i += k) {
		k = text_utf8_next(p + i, n - i, &cp);
		CHECK(k > 0 && ((lines && cp == '\n') || !text_unsafe(cp)));
	}
}

static void
pin(struct pin_def *def, const cJSON *definition)
{
	struct buf lines = BUF_INIT;
	char *what;

	memset(def, 0, sizeof(*def));
	canon_hash(definition, def->hash);
	if (canon_flatten(&lines, definition, PINS_FLAT_MAX) == 0) {
		def->len = buf_used(&lines);
		def->lines = lines.data;
	} else {
		buf_free(&lines);
	}
	if (pins_suspicious(definition, &what))
		check_shown(what, strlen(what), 0);
	free(what);
}

static void
judge(const cJSON *definition, const cJSON *args)
{
	const cJSON *name = message_member(definition, "name");
	const char *tool = cJSON_IsString(name) ? name->valuestring : "x";
	struct policy_view *v;
	struct policy_call call = {tool, strlen(tool), args, 1, NULL};
	struct findings f = {NULL, 0, 0};
	size_t i;

	v = policy_view_new(policy, tool, strlen(tool),
			    message_member(definition, "inputSchema"), NULL);
	policy_judge(policy, v, &call, &f);
	CHECK(findings_worst(&f) != NULL);
	for (i = 0; i < f.n; i++) {
		check_shown(f.v[i].reason, strlen(f.v[i].reason), 0);
		check_shown(f.v[i].rule, strlen(f.v[i].rule), 0);
	}
	findings_clear(&f);
	policy_view_free(v);
}

static void
compare(const struct pin_def *was, const struct pin_def *now)
{
	struct buf b = BUF_INIT;

	diff_print(&b, was, now, 2);
	diff_print(&b, NULL, now, 0);
	check_shown(buf_head(&b), buf_used(&b), 1);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *nl = memchr(p, '\n', size);
	size_t n = nl != NULL ? (size_t)(nl - p) : size;
	struct policy_error err;
	struct pin_def was, now;
	cJSON *a, *b;

	if (policy == NULL)
		policy = policy_load(NULL, 0, "packs", &err);
	CHECK(policy != NULL);
	a = decode(p, n);
	b = decode(nl != NULL ? nl + 1 : p, nl != NULL ? size - n - 1 : n);
	if (a != NULL && b != NULL) {
		pin(&was, a);
		pin(&now, b);
		judge(a, b);
		judge(b, a);
		compare(&was, &now);
		compare(&now, &was);
		free(was.lines);
		free(now.lines);
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	return 0;
}
