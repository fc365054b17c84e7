/*
 * Salvage.  Runs in a relay, confined, on lines that the strict scan gave up
 * on or that are too long to keep.  A stranger can make it find whatever id
 * he likes; all that follows from it is an error under that id.
 */
#include <string.h>

#include "jsonstr.h"
#include "salvage.h"

enum state {
	ST_START,    /* before the outermost brace */
	ST_KEY,      /* in the outermost object: a key may begin */
	ST_IN_KEY,   /* inside such a key */
	ST_COLON,    /* behind a key "id" */
	ST_ID,       /* its value may begin */
	ST_STRING,   /* inside a string value of "id" */
	ST_NUMBER,   /* inside any other value of it */
	ST_ID_AFTER, /* behind its value */
	ST_OTHER,    /* anywhere else, up to the next comma on the outside */
	ST_OVER      /* behind the outermost object, or there never was one */
};

void
salvage_init(struct salvage *s)
{
	memset(s, 0, sizeof(*s));
	s->id.p = "";
}

static int
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void
capture(struct salvage *s, char c)
{
	if (s->len < sizeof(s->literal))
		s->literal[s->len] = c;
	s->len++;
}

static int
captured_id_key(const struct salvage *s)
{
	const char *at = s->literal;
	unsigned flags = 0;
	char key[2];

	if (s->len > sizeof(s->literal) ||
	    str_scan(&at, s->literal + s->len, &flags) != STR_OK)
		return 0;
	return str_unescape(s->literal + 1, s->len - 2, key, sizeof(key)) ==
		   2 &&
	       memcmp(key, "id", 2) == 0;
}

static void
take_id(struct salvage *s)
{
	struct scalar found;
	char store[DW_ID_MAX];

	if (s->len > sizeof(s->literal) ||
	    literal_scalar(s->literal, s->len, store, &found) != LITERAL_OK) {
		s->odd = 1;
		return;
	}
	if (s->id.type == SCALAR_NONE) {
		memcpy(s->store, found.p, found.len);
		s->id = (struct scalar){found.type, found.len, s->store};
	} else if (s->id.type != found.type || s->id.len != found.len ||
		   memcmp(s->store, found.p, found.len) != 0) {
		s->odd = 1;
	}
}

/* A byte of a string, and of its closing quote. */
static void
in_string(struct salvage *s, char c)
{
	if (s->state == ST_IN_KEY || s->state == ST_STRING)
		capture(s, c);
	if (s->escaped) {
		s->escaped = 0;
	} else if (c == '\\') {
		s->escaped = 1;
	} else if (c == '"') {
		s->in_string = 0;
		if (s->state == ST_IN_KEY) {
			s->state = captured_id_key(s) ? ST_COLON : ST_OTHER;
		} else if (s->state == ST_STRING) {
			take_id(s);
			s->state = ST_ID_AFTER;
		}
	}
}

static int
is_structure(char c)
{
	return c == '{' || c == '}' || c == '[' || c == ']' || c == ',';
}

/* Brackets and commas, wherever they stand outside a string. */
static void
structure(struct salvage *s, char c)
{
	if (s->state == ST_COLON || s->state == ST_ID)
		s->odd = 1;
	if (c == '{' || c == '[') {
		s->depth++;
		if (s->state != ST_OTHER)
			s->odd = 1;
		s->state = ST_OTHER;
	} else if (c == '}' || c == ']') {
		s->depth--;
		if (s->depth == 0)
			s->state = ST_OVER;
	} else if (s->depth == 1) {
		s->state = ST_KEY;
	}
}

/* A byte of the outermost object that is none of the above. */
static void
plain(struct salvage *s, char c)
{
	switch ((enum state)s->state) {
	case ST_COLON:
		s->state = c == ':' ? ST_ID : ST_OTHER;
		break;
	case ST_ID:
		s->len = 0;
		capture(s, c);
		s->state = c == '"' ? ST_STRING : ST_NUMBER;
		break;
	case ST_KEY:
		s->len = 0;
		capture(s, c);
		s->state = c == '"' ? ST_IN_KEY : ST_OTHER;
		break;
	case ST_NUMBER:
		capture(s, c);
		break;
	case ST_ID_AFTER:
		s->odd = 1; /* two values in a row: which one is it? */
		break;
	case ST_START:
	case ST_IN_KEY:
	case ST_STRING:
	case ST_OTHER:
	case ST_OVER:
		break;
	}
	s->in_string = c == '"';
}

static void
outside_string(struct salvage *s, char c)
{
	int space = is_space(c);

	if (s->state == ST_START) {
		if (c == '{') {
			s->depth = 1;
			s->state = ST_KEY;
		} else if (!space) {
			s->state = ST_OVER;
		}
		return;
	}
	if (s->state == ST_NUMBER &&
	    (space || c == ',' || c == '}' || c == ']')) {
		take_id(s);
		s->state = ST_ID_AFTER;
	}
	if (space)
		return;
	if (is_structure(c))
		structure(s, c);
	else
		plain(s, c);
}

void
salvage_feed(struct salvage *s, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && s->state != ST_OVER; i++)
		if (s->in_string)
			in_string(s, p[i]);
		else
			outside_string(s, p[i]);
}

struct scalar
salvage_id(const struct salvage *s)
{
	return s->odd ? (struct scalar){SCALAR_NONE, 0, ""} : s->id;
}
