/*
 * What in a definition is not what it looks like.  Runs in the monitor on
 * trees that a server made up; recursion goes as deep as the tree does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/limits.h"
#include "proto/log.h"
#include "proto/text.h"

#include "pins.h"
#include "pins_model.h"

#define NAME_MAX_MCP 128u
#define PLACE_MAX 200u /* bytes of a place that are said */

struct finding {
	struct buf place; /* keys down to here, visible, "/" between them */
	char *what;       /* the first finding */
	size_t count;
};

static void
found(struct finding *f, const char *where, size_t at, uint32_t cp)
{
	const char *place = buf_used(&f->place) > 0 ? f->place.data : "";

	if (f->count++ > 0)
		return;
	f->what = xasprintf("%s%.*s at byte %zu: U+%04X", where,
			    (int)buf_used(&f->place), place, at, (unsigned)cp);
}

/* What U+FE0F and U+200D may stand behind, as Unicode's emoji have it. */
static int
is_pictorial(uint32_t cp)
{
	return (cp >= 0x2190 && cp <= 0x2bff) || cp == 0x3030 || cp == 0x303d ||
	       cp == 0x3297 || cp == 0x3299 || cp == 0xa9 || cp == 0xae ||
	       (cp >= 0x1f000 && cp <= 0x1faff);
}

/* 1 if cp only makes an emoji of what is before it. */
static int
is_emoji_part(uint32_t before, uint32_t cp, const char *next, size_t n)
{
	uint32_t after = 0;

	if (cp == 0xfe0f)
		return is_pictorial(before);
	if (cp != 0x200d || (before != 0xfe0f && !is_pictorial(before)))
		return 0;
	return text_utf8_next(next, n, &after) > 0 && is_pictorial(after);
}

static void
scan(struct finding *f, const char *where, const char *p, int prose)
{
	const size_t len = strlen(p);
	uint32_t cp = 0, before = 0;
	size_t i, k;

	for (i = 0; i < len; i += k, before = cp) {
		k = text_utf8_next(p + i, len - i, &cp);
		if (k == 0) {
			found(f, where, i, 0xfffd);
			return;
		}
		if (!text_unsafe(cp) || (prose && (cp == '\n' || cp == '\t')) ||
		    is_emoji_part(before, cp, p + i + k, len - i - k))
			continue;
		found(f, where, i, cp);
	}
}

static void
walk(struct finding *f, const cJSON *item, unsigned depth)
{
	const size_t here = f->place.len;
	const int object = cJSON_IsObject(item);
	char key[80];
	const cJSON *c;
	size_t i = 0, len;

	if (depth > DW_DEPTH_MAX)
		fatal("a tree deeper than any that was let in");
	for (c = item->child; c != NULL; c = c->next, i++) {
		if (object)
			scan(f, here > 0 ? "a key in " : "a key", c->string, 0);
		/* A long place is cut: it only has to help. */
		if (here < PLACE_MAX) {
			if (object)
				len = text_visible(c->string, strlen(c->string),
						   key, sizeof(key));
			else
				len = (size_t)snprintf(key, sizeof(key), "%zu",
						       i);
			if (here > 0)
				buf_putc(&f->place, '/');
			buf_put(&f->place, key, len);
		}
		if (cJSON_IsString(c))
			scan(f, "", c->valuestring,
			     object && strcmp(c->string, "description") == 0);
		else
			walk(f, c, depth + 1);
		f->place.len = here;
	}
}

/* MCP 2025-11-25, server/tools: names. */
static void
check_name(struct finding *f, const cJSON *name)
{
	static const char allowed[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t len;

	if (!cJSON_IsString(name))
		return;
	len = strlen(name->valuestring);
	if (len > 0 && len <= NAME_MAX_MCP &&
	    strspn(name->valuestring, allowed) == len)
		return;
	if (f->count++ > 0)
		return;
	if (len == 0 || len > NAME_MAX_MCP)
		f->what = xasprintf("the name has %zu bytes", len);
	else
		f->what = xasprintf("the name has more than A-Z a-z 0-9 _ . -");
}

int
pins_suspicious(const struct cJSON *definition, char **what)
{
	struct finding f = {.what = NULL};

	*what = NULL;
	walk(&f, definition, 0);
	check_name(&f, cJSON_GetObjectItemCaseSensitive(definition, "name"));
	buf_free(&f.place);
	if (f.count > 1) {
		*what = xasprintf("%s, and %zu more", f.what, f.count - 1);
		free(f.what);
	} else {
		*what = f.what;
	}
	return f.count > 0;
}
