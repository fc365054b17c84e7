/*
 * The strict scan.  Runs in a relay, confined, on a line that a stranger
 * wrote.  No recursion: nesting lives in a stack of DW_DEPTH_MAX levels.
 * Memory beyond the struct is sixteen bytes a key of the objects that are
 * open, and room for those keys that are written with escapes.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/keyset.h"

#include "jsonstr.h"
#include "scan.h"

/* Memory that is kept from one line to the next. */
#define KEEP_BYTES (64u * 1024)

enum place {
	PLACE_OTHER,
	PLACE_TOP,
	PLACE_PARAMS,
	PLACE_META,
	PLACE_RESULT,
	PLACE_TOOLS
};

#define MEMBER(place, slot, name)                   \
	{                                           \
		place, slot, sizeof(name) - 1, name \
	}
static const struct {
	uint8_t place, slot;
	uint32_t len;
	const char *name;
} members[] = {
    MEMBER(PLACE_TOP, SLOT_JSONRPC, "jsonrpc"),
    MEMBER(PLACE_TOP, SLOT_ID, "id"),
    MEMBER(PLACE_TOP, SLOT_METHOD, "method"),
    MEMBER(PLACE_TOP, SLOT_PARAMS, "params"),
    MEMBER(PLACE_TOP, SLOT_RESULT, "result"),
    MEMBER(PLACE_TOP, SLOT_ERROR, "error"),
    MEMBER(PLACE_PARAMS, SLOT_REQUEST_ID, "requestId"),
    MEMBER(PLACE_PARAMS, SLOT_PROGRESS_TOKEN, "progressToken"),
    MEMBER(PLACE_PARAMS, SLOT_META, "_meta"),
    MEMBER(PLACE_META, SLOT_META_TOKEN, "progressToken"),
    MEMBER(PLACE_RESULT, SLOT_IS_ERROR, "isError"),
    MEMBER(PLACE_RESULT, SLOT_TASK, "task"),
    MEMBER(PLACE_RESULT, SLOT_RESULT_TYPE, "resultType"),
    MEMBER(PLACE_RESULT, SLOT_TOOLS, "tools"),
    MEMBER(PLACE_RESULT, SLOT_VERSION, "protocolVersion"),
    MEMBER(PLACE_RESULT, SLOT_INSTRUCTIONS, "instructions"),
    MEMBER(PLACE_RESULT, SLOT_SERVER_INFO, "serverInfo"),
};

/* What the inside of a container in a slot is called. */
static enum place
place_inside(uint8_t slot, int object)
{
	switch (slot) {
	case SLOT_ROOT:
		return object ? PLACE_TOP : PLACE_OTHER;
	case SLOT_PARAMS:
		return object ? PLACE_PARAMS : PLACE_OTHER;
	case SLOT_META:
		return object ? PLACE_META : PLACE_OTHER;
	case SLOT_RESULT:
		return object ? PLACE_RESULT : PLACE_OTHER;
	case SLOT_TOOLS:
		return object ? PLACE_OTHER : PLACE_TOOLS;
	default:
		return PLACE_OTHER;
	}
}

static size_t
offset(const struct scan *s, const char *p)
{
	return (size_t)(p - s->line);
}

static void
note(size_t *first, size_t off)
{
	if (*first == 0 || off + 1 < *first)
		*first = off + 1;
}

/* The element of result.tools that the scan is in, or NULL. */
static struct scan_tool *
this_tool(struct scan *s)
{
	if (s->rules != SCAN_WHOLE || s->tool_depth == 0 ||
	    s->depth < s->tool_depth || s->tools == 0 ||
	    s->tools > DW_TOOLS_MAX)
		return NULL;
	return &s->tool[s->tools - 1];
}

/* What a tree cannot hold, or two readers would read in two ways. */
static void
blame(struct scan *s, size_t *first, size_t off)
{
	struct scan_tool *t = this_tool(s);

	note(first, off);
	if (t != NULL && off >= t->off)
		t->bad = 1;
	else
		s->outer_fault = 1;
}

static enum refusal
stop(struct scan *s, enum refusal why)
{
	s->fault = offset(s, s->p);
	return why;
}

static void
skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' ||
				 *s->p == '\r' || *s->p == '\n'))
		s->p++;
}

/* Moves behind the string at p. */
static enum refusal
take_string(struct scan *s, unsigned *flags)
{
	size_t at = offset(s, s->p);

	switch (str_scan(&s->p, s->end, flags)) {
	case STR_OK:
		break;
	case STR_UTF8:
		return stop(s, REFUSAL_UTF8);
	case STR_GRAMMAR:
	default:
		return stop(s, REFUSAL_GRAMMAR);
	}
	if (*flags & STR_NUL)
		blame(s, &s->nul, at);
	if (*flags & STR_SURROGATE)
		blame(s, &s->surrogate, at);
	return REFUSAL_NONE;
}

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* RFC 8259 section 6. */
static enum refusal
take_number(struct scan *s)
{
	const char *p = s->p, *q, *end = s->end;

	if (p < end && *p == '-')
		p++;
	q = p < end && *p == '0' ? p + 1 : skip_digits(p, end);
	s->p = q;
	if (q == p)
		return stop(s, REFUSAL_GRAMMAR);
	p = q;
	if (p < end && *p == '.') {
		s->p = q = skip_digits(p + 1, end);
		if (q == p + 1)
			return stop(s, REFUSAL_GRAMMAR);
		p = q;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		s->p = q = skip_digits(p, end);
		if (q == p)
			return stop(s, REFUSAL_GRAMMAR);
	}
	return REFUSAL_NONE;
}

static enum refusal
take_word(struct scan *s, const char *word, size_t n)
{
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return stop(s, REFUSAL_GRAMMAR);
	s->p += n;
	return REFUSAL_NONE;
}

/*
 * The unescaped bytes of an escaped key.  They are never more than the
 * escaped ones, so what is left of the line is room for all that may come,
 * and the arena never has to move under a key that points into it.
 */
static const char *
unescape_key(struct scan *s, const char *p, size_t n, size_t *len)
{
	char *out;

	if (s->arena_used == 0 && s->arena_cap < offset(s, s->end)) {
		free(s->arena);
		s->arena_cap = offset(s, s->end);
		s->arena = xreallocarray(NULL, s->arena_cap, 1);
	}
	out = s->arena + s->arena_used;
	*len = str_unescape(p, n, out, s->arena_cap - s->arena_used);
	s->arena_used += *len;
	return out;
}

static void
grow_keys(struct scan *s)
{
	s->keys_cap = s->keys_cap > 0 ? s->keys_cap * 2 : 64;
	s->keys = xreallocarray(s->keys, s->keys_cap, sizeof(*s->keys));
}

static void
remember_key(struct scan *s, const char *p, size_t len)
{
	if (s->nkeys == s->keys_cap)
		grow_keys(s);
	s->keys[s->nkeys++] = (struct key_span){p, (uint32_t)len};
}

static uint8_t
find_slot(uint8_t place, const char *p, size_t len)
{
	size_t i;

	if (place == PLACE_OTHER)
		return SLOT_NONE;
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].place == place && members[i].len == len &&
		    memcmp(members[i].name, p, len) == 0)
			return members[i].slot;
	return SLOT_NONE;
}

/* A key that a reader who ignores case takes for another one. */
static void
check_spelling(struct scan *s, uint8_t place, const char *p, size_t len,
	       size_t off)
{
	if (place == PLACE_TOP && key_is_variant(p, len, KEYS_ENVELOPE))
		note(&s->variant, off);
	else if (place == PLACE_PARAMS && s->rules == SCAN_CLIENT &&
		 key_is_variant(p, len, KEYS_PARAMS))
		note(&s->variant, off);
	else if (place == PLACE_RESULT && s->rules != SCAN_CLIENT &&
		 key_is_variant(p, len, KEYS_RESULT))
		blame(s, &s->result_variant, off);
}

/* Reads a key and its colon; the level is an object's. */
static enum refusal
take_key(struct scan *s)
{
	const struct scan_level *l = &s->level[s->depth - 1];
	const char *p, *at = s->p;
	unsigned flags = 0;
	enum refusal why;
	size_t len;

	if (at == s->end || *at != '"')
		return stop(s, REFUSAL_GRAMMAR);
	why = take_string(s, &flags);
	if (why != REFUSAL_NONE)
		return why;
	p = at + 1;
	len = (size_t)(s->p - at) - 2;
	if (l->tracked || l->place != PLACE_OTHER) {
		if (flags & STR_ESCAPED)
			p = unescape_key(s, p, len, &len);
		if (l->tracked)
			remember_key(s, p, len);
		s->pending = find_slot(l->place, p, len);
		check_spelling(s, l->place, p, len, offset(s, at));
	}
	skip_space(s);
	if (s->p == s->end || *s->p != ':')
		return stop(s, REFUSAL_GRAMMAR);
	s->p++;
	return REFUSAL_NONE;
}

static enum refusal
open_level(struct scan *s, uint8_t slot, int object)
{
	enum place place = place_inside(slot, object);
	struct scan_level *l;

	if (s->depth == DW_DEPTH_MAX)
		return stop(s, REFUSAL_DEPTH);
	l = &s->level[s->depth++];
	l->open = (uint32_t)offset(s, s->p);
	l->keys = (uint32_t)s->nkeys;
	l->object = (uint8_t)object;
	l->place = (uint8_t)place;
	l->tracked = object && (s->rules != SCAN_SERVER || place == PLACE_TOP ||
				place == PLACE_PARAMS);
	if (place == PLACE_TOOLS) {
		s->tools = 0;
		s->tool_depth = s->depth;
		if (s->rules == SCAN_WHOLE && s->tool == NULL)
			s->tool = xcalloc(DW_TOOLS_MAX, sizeof(*s->tool));
	}
	s->p++;
	return REFUSAL_NONE;
}

static void
close_level(struct scan *s)
{
	struct scan_level *l = &s->level[--s->depth];

	s->p++;
	if (l->tracked &&
	    keys_have_duplicate(s->keys + l->keys, s->nkeys - l->keys)) {
		if (l->place == PLACE_PARAMS)
			note(&s->params_duplicate, l->open);
		if (l->place != PLACE_PARAMS || s->rules != SCAN_SERVER)
			blame(s, &s->duplicate, l->open);
	}
	s->nkeys = l->keys;
	if (l->place == PLACE_TOOLS)
		s->tool_depth = 0;
}

/* Where the scan is when a part of the text has been taken. */
enum step {
	STEP_STOP,  /* a fault: *why says which */
	STEP_VALUE, /* a value comes next */
	STEP_AFTER, /* a value has ended */
	STEP_END    /* the root has ended */
};

/* Opens an array or object, up to its first value or its end. */
static enum step
take_open(struct scan *s, uint8_t slot, enum refusal *why)
{
	int object = *s->p == '{';

	*why = open_level(s, slot, object);
	if (*why != REFUSAL_NONE)
		return STEP_STOP;
	skip_space(s);
	if (s->p < s->end && *s->p == (object ? '}' : ']')) {
		close_level(s);
		return STEP_AFTER;
	}
	if (object)
		*why = take_key(s);
	return *why == REFUSAL_NONE ? STEP_VALUE : STEP_STOP;
}

static enum refusal
take_scalar(struct scan *s, char type, unsigned *flags)
{
	switch (type) {
	case '"':
		return take_string(s, flags);
	case 't':
		return take_word(s, "true", 4);
	case 'f':
		return take_word(s, "false", 5);
	case 'n':
		return take_word(s, "null", 4);
	default:
		return take_number(s);
	}
}

static enum refusal
count_value(struct scan *s)
{
	struct scan_tool *t;

	if (s->depth > 0 && s->level[s->depth - 1].place == PLACE_TOOLS) {
		s->tools++;
		t = this_tool(s);
		if (t != NULL)
			*t =
			    (struct scan_tool){(uint32_t)offset(s, s->p), 0, 0};
	}
	return ++s->nodes > DW_NODES_MAX ? REFUSAL_NODES : REFUSAL_NONE;
}

static enum step
take_value(struct scan *s, enum refusal *why)
{
	uint8_t slot = s->pending;
	struct scan_value v = {0, 0, 0, 0};
	const char *at;
	unsigned flags = 0;

	s->pending = SLOT_NONE;
	skip_space(s);
	at = s->p;
	*why = at == s->end ? REFUSAL_GRAMMAR : count_value(s);
	if (*why != REFUSAL_NONE) {
		stop(s, *why);
		return STEP_STOP;
	}
	v.type = *at;
	v.off = (uint32_t)offset(s, at);
	if (v.type == '{' || v.type == '[') {
		s->slot[slot] = v;
		return take_open(s, slot, why);
	}
	*why = take_scalar(s, v.type, &flags);
	if (*why != REFUSAL_NONE)
		return STEP_STOP;
	if (slot != SLOT_NONE) {
		if (v.type == '-' || (v.type >= '0' && v.type <= '9'))
			v.type = '0';
		v.flags = (uint8_t)flags;
		v.len = (uint32_t)(s->p - at);
		s->slot[slot] = v;
	}
	return STEP_AFTER;
}

/* Its value has ended; behind the list's own end there is none. */
static void
end_tool(struct scan *s)
{
	struct scan_tool *t = this_tool(s);

	t->len = (uint32_t)(offset(s, s->p) - t->off);
}

/* What follows a value: a comma, an end, or nothing after the root. */
static enum step
take_after(struct scan *s, enum refusal *why)
{
	const struct scan_level *l;

	if (s->depth == s->tool_depth && this_tool(s) != NULL)
		end_tool(s);
	skip_space(s);
	*why = REFUSAL_NONE;
	if (s->depth == 0) {
		if (s->p == s->end)
			return STEP_END;
		*why = stop(s, REFUSAL_GRAMMAR);
		return STEP_STOP;
	}
	l = &s->level[s->depth - 1];
	if (s->p < s->end && *s->p == ',') {
		s->p++;
		if (!l->object)
			return STEP_VALUE;
		skip_space(s);
		*why = take_key(s);
		return *why == REFUSAL_NONE ? STEP_VALUE : STEP_STOP;
	}
	if (s->p < s->end && *s->p == (l->object ? '}' : ']')) {
		close_level(s);
		return STEP_AFTER;
	}
	*why = stop(s, REFUSAL_GRAMMAR);
	return STEP_STOP;
}

static void
start(struct scan *s, const char *line, size_t len, enum scan_rules rules)
{
	s->line = s->p = line;
	s->end = line + len;
	s->rules = rules;
	s->fault = 0;
	memset(s->slot, 0, sizeof(s->slot));
	s->tools = s->tool_depth = 0;
	s->outer_fault = 0;
	s->nul = s->surrogate = s->duplicate = 0;
	s->params_duplicate = s->variant = s->result_variant = 0;
	s->nodes = s->depth = 0;
	s->pending = SLOT_ROOT;
	s->nkeys = s->arena_used = 0;
	if (s->keys == NULL)
		grow_keys(s);
}

enum refusal
scan_line(struct scan *s, const char *line, size_t len, enum scan_rules rules)
{
	enum refusal why = REFUSAL_NONE;
	enum step step = STEP_VALUE;

	start(s, line, len, rules);
	while (step == STEP_VALUE || step == STEP_AFTER)
		step = step == STEP_VALUE ? take_value(s, &why)
					  : take_after(s, &why);
	return why;
}

void
scan_trim(struct scan *s)
{
	if (s->keys_cap * sizeof(*s->keys) > KEEP_BYTES) {
		free(s->keys);
		s->keys = NULL;
		s->keys_cap = 0;
	}
	if (s->arena_cap > KEEP_BYTES) {
		free(s->arena);
		s->arena = NULL;
		s->arena_cap = 0;
	}
	free(s->tool);
	s->tool = NULL;
}
