/*
 * YAML to tree, by libyaml's events; the only file that knows libyaml.  Runs
 * in the monitor (also when it is confined already: no call here needs more
 * than memory) and in the commands, on files that the user named.  Nothing
 * recurses: nesting is a stack of bounded depth.
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "proto/alloc.h"
#include "proto/keyset.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"

struct builder {
	yaml_parser_t parser;
	struct doc *doc;
	struct policy_error *err;
	struct node *open[DOC_DEPTH_MAX]; /* lists and mappings not yet ended */
	struct node *key[DOC_DEPTH_MAX];  /* a key that waits for its value */
	size_t depth;
	size_t nodes;
	size_t documents;
};

/*
 * What YAML lets stand raw in a file, without what an editor shows otherwise
 * than it is read: line breaks of Unicode, and controls of direction.
 */
static int
may_stand_raw(uint32_t cp)
{
	if (cp < 0x20)
		return cp == '\t' || cp == '\n' || cp == '\r';
	if (cp >= 0x7f && cp < 0xa0)
		return 0;
	if (cp >= 0x2028 && cp <= 0x202e)
		return 0;
	if (cp >= 0x2066 && cp <= 0x2069)
		return 0;
	return cp != 0xfeff && cp != 0xfffe && cp != 0xffff;
}

static int
bad_character(struct policy_error *err, size_t line, size_t column, uint32_t cp)
{
	if (cp == 0)
		return mistake_at(err, line, column,
				  xstrdup("a NUL byte; a policy is a text "
					  "file in UTF-8"));
	return mistake_at(err, line, column,
			  xasprintf("the character U+%04X may not stand in a "
				    "policy; leave it out, or write it as an "
				    "escape in double quotes",
				    (unsigned)cp));
}

/* Finds what libyaml would refuse without a line number, and more. */
static int
check_bytes(const char *p, size_t n, struct policy_error *err)
{
	size_t line = 1, column = 1, i, k;
	uint32_t cp = 0;

	for (i = 0; i < n; i += k) {
		k = text_utf8_next(p + i, n - i, &cp);
		if (k == 0)
			return mistake_at(
			    err, line, column,
			    xasprintf("the byte 0x%02x is not UTF-8; save "
				      "the file as UTF-8",
				      (unsigned char)p[i]));
		if (!may_stand_raw(cp))
			return bad_character(err, line, column, cp);
		column++;
		if (cp == '\n' ||
		    (cp == '\r' && (n - i < 2 || p[i + 1] != '\n'))) {
			line++;
			column = 1;
		}
	}
	return 0;
}

static struct node *
new_node(struct builder *b, enum node_kind kind, const yaml_event_t *ev)
{
	struct node *n = xcalloc(1, sizeof(*n));

	n->kind = kind;
	n->line = ev->start_mark.line + 1;
	n->column = ev->start_mark.column + 1;
	n->chain = b->doc->chain;
	b->doc->chain = n;
	return n;
}

/* The character if the key starts with a blank that is none for YAML and
 * looks like one; 0 if not. */
static uint32_t
odd_blank(const struct node *n)
{
	static const uint32_t blanks[] = {0xa0,   0x1680, 0x202f,
					  0x205f, 0x3000, 0x200b};
	uint32_t cp = 0;
	size_t i;

	if (!n->plain || text_utf8_next(n->text, n->len, &cp) == 0)
		return 0;
	for (i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++)
		if (cp == blanks[i])
			return cp;
	return cp >= 0x2000 && cp <= 0x200a ? cp : 0;
}

static int
check_key(struct builder *b, const struct node *n)
{
	struct shown s;
	uint32_t cp;

	if (n->kind != NODE_SCALAR)
		return mistake(b->err, n,
			       xasprintf("%s as a key; a key is a word",
					 node_show(n, &s)));
	if (n->plain && node_equals(n, "<<"))
		return mistake(b->err, n,
			       xstrdup("merge keys (<<) are not taken; write "
				       "the keys out"));
	if (n->len == 0)
		return mistake(b->err, n,
			       xstrdup("an empty key; a key is a word"));
	cp = odd_blank(n);
	if (cp != 0)
		return mistake(b->err, n,
			       xasprintf("the character U+%04X before a key, "
					 "which is no ordinary blank; YAML "
					 "indents with those alone",
					 (unsigned)cp));
	if (!node_is_string(n))
		return mistake(b->err, n,
			       xasprintf("%s as a key; a name that looks like "
					 "something else has to be in quotes",
					 node_show(n, &s)));
	return 0;
}

/* Puts a node where the parser stands. */
static int
place(struct builder *b, struct node *n)
{
	struct node *parent, **key;

	if (++b->nodes > DOC_NODES_MAX)
		return mistake(b->err, n,
			       xasprintf("more than %u keys and values in one "
					 "file; split it",
					 DOC_NODES_MAX));
	if (b->depth == 0) {
		b->doc->root = n;
		return 0;
	}
	parent = b->open[b->depth - 1];
	key = &b->key[b->depth - 1];
	if (*key != NULL) {
		(*key)->value = n;
		*key = NULL;
		return 0;
	}
	if (parent->kind == NODE_MAPPING) {
		if (check_key(b, n) < 0)
			return -1;
		*key = n;
	}
	if (parent->last != NULL)
		parent->last->next = n;
	else
		parent->child = n;
	parent->last = n;
	parent->count++;
	return 0;
}

/* The first key that has been there before; slow, but only once a file. */
static int
second_of_two(struct builder *b, const struct node *mapping,
	      const struct key_span *spans)
{
	const struct node *first, *k = mapping->child;
	struct shown s;
	size_t i, j;

	for (i = 0; k != NULL; i++, k = k->next) {
		for (j = 0; j < i; j++)
			if (spans[j].len == spans[i].len &&
			    memcmp(spans[j].p, spans[i].p, spans[i].len) == 0)
				break;
		if (j == i)
			continue;
		for (first = mapping->child; j > 0; j--)
			first = first->next;
		return mistake(b->err, k,
			       xasprintf("duplicate key %s; it is in line %zu "
					 "already, and only one can hold",
					 node_show(k, &s), first->line));
	}
	return mistake(b->err, mapping,
		       xstrdup("a duplicate key; only one can hold"));
}

static int
check_duplicates(struct builder *b, const struct node *mapping)
{
	struct key_span *spans, *sorted;
	const struct node *k;
	size_t n = 0;
	int result = 0;

	spans = xcalloc(mapping->count, sizeof(*spans));
	sorted = xcalloc(mapping->count, sizeof(*sorted));
	for (k = mapping->child; k != NULL; k = k->next) {
		spans[n].p = k->text;
		spans[n].len = (uint32_t)k->len;
		sorted[n] = spans[n];
		n++;
	}
	if (keys_have_duplicate(sorted, n))
		result = second_of_two(b, mapping, spans);
	free(spans);
	free(sorted);
	return result;
}

/* An anchor or a tag before any kind of value. */
static int
check_properties(struct builder *b, const struct node *n, const void *anchor,
		 const void *tag)
{
	if (anchor != NULL)
		return mistake(b->err, n,
			       xstrdup("YAML anchors (&name) are not taken; a "
				       "text that starts with & has to be in "
				       "quotes"));
	if (tag != NULL)
		return mistake(b->err, n,
			       xstrdup("YAML tags (!name) are not taken; a "
				       "text that starts with ! has to be in "
				       "quotes"));
	return 0;
}

static int
take_scalar(struct builder *b, const yaml_event_t *ev)
{
	struct node *n = new_node(b, NODE_SCALAR, ev);

	n->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->len = ev->data.scalar.length;
	n->text = xmemdupz(ev->data.scalar.value, n->len);
	if (check_properties(b, n, ev->data.scalar.anchor,
			     ev->data.scalar.tag) < 0)
		return -1;
	if (memchr(n->text, '\0', n->len) != NULL)
		return mistake(b->err, n,
			       xstrdup("a NUL character in a text; no name "
				       "has one, so leave it out"));
	return place(b, n);
}

static int
take_open(struct builder *b, enum node_kind kind, const yaml_event_t *ev)
{
	struct node *n = new_node(b, kind, ev);
	const void *anchor, *tag;

	if (kind == NODE_MAPPING) {
		anchor = ev->data.mapping_start.anchor;
		tag = ev->data.mapping_start.tag;
	} else {
		anchor = ev->data.sequence_start.anchor;
		tag = ev->data.sequence_start.tag;
	}
	if (check_properties(b, n, anchor, tag) < 0 || place(b, n) < 0)
		return -1;
	if (b->depth == DOC_DEPTH_MAX)
		return mistake(b->err, n,
			       xasprintf("more than %u levels of lists and "
					 "mappings; no policy needs so many",
					 DOC_DEPTH_MAX));
	b->open[b->depth] = n;
	b->key[b->depth++] = NULL;
	return 0;
}

static int
take_close(struct builder *b)
{
	const struct node *n = b->open[--b->depth];

	return n->kind == NODE_MAPPING ? check_duplicates(b, n) : 0;
}

static int
take_document(struct builder *b, const yaml_event_t *ev)
{
	if (b->documents++ == 0)
		return 0;
	return mistake_at(b->err, ev->start_mark.line + 1,
			  ev->start_mark.column + 1,
			  xstrdup("a second document (---) in one file; give "
				  "each policy a file of its own"));
}

static int
take_alias(struct builder *b, const yaml_event_t *ev)
{
	return mistake_at(b->err, ev->start_mark.line + 1,
			  ev->start_mark.column + 1,
			  xstrdup("YAML aliases (*name) are not taken; a text "
				  "that starts with * has to be in quotes"));
}

static int
take_event(struct builder *b, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return take_document(b, ev);
	case YAML_ALIAS_EVENT:
		return take_alias(b, ev);
	case YAML_SCALAR_EVENT:
		return take_scalar(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		return take_open(b, NODE_SEQUENCE, ev);
	case YAML_MAPPING_START_EVENT:
		return take_open(b, NODE_MAPPING, ev);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return take_close(b);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

/* What usually is behind one of libyaml's complaints. */
static const struct {
	const char *problem; /* a part of its text */
	const char *context; /* likewise, or NULL */
	int at_context;      /* the context's place is the better one */
	const char *advice;
} advices[] = {
    {"alphabetic or numeric", "alias", 1,
     "a text that starts with * has to be in quotes"},
    {"alphabetic or numeric", "anchor", 1,
     "a text that starts with & has to be in quotes"},
    {"cannot start any token", NULL, 0,
     "a text that starts with this character has to be in quotes, and lines "
     "are indented with blanks, not tabs"},
    {"tab character", NULL, 0, "indent with blanks, not tabs"},
    {"mapping values are not allowed", NULL, 0,
     "a text with a colon and a blank in it has to be in quotes; else look at "
     "the indentation"},
    {"unknown escape", NULL, 0,
     "in double quotes a backslash is written twice; in single quotes it "
     "stands for itself"},
    {"unexpected end of stream", "quoted", 1, "a closing quote is missing"},
    {"expected ',' or ']'", NULL, 1,
     "a list that starts with [ ends with ], with commas between"},
    {"expected ',' or '}'", NULL, 1,
     "a mapping that starts with { ends with }, with commas between"},
    {"expected node content", NULL, 0,
     "a value or a closing bracket is missing"},
    {"expected key", NULL, 0,
     "keys of one mapping start in the same column: look at the indentation"},
    {"expected '-' indicator", NULL, 0,
     "items of one list start with - in the same column: look at the "
     "indentation"},
    {"could not find expected ':'", NULL, 1,
     "a key is followed by a colon and a blank"},
    {"tag", NULL, 0, "a text that starts with ! has to be in quotes"},
};

static int
not_yaml(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem != NULL ? p->problem : "out of memory";
	const char *context = p->context != NULL ? p->context : "";
	const char *advice = "compare with doorward.yaml(5)";
	const yaml_mark_t *mark = &p->problem_mark;
	size_t i;

	for (i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (strstr(problem, advices[i].problem) == NULL)
			continue;
		if (advices[i].context != NULL &&
		    strstr(context, advices[i].context) == NULL)
			continue;
		advice = advices[i].advice;
		if (advices[i].at_context)
			mark = &p->context_mark;
		break;
	}
	return mistake_at(b->err, mark->line + 1, mark->column + 1,
			  xasprintf("not YAML: %s; %s", problem, advice));
}

static int
build(struct builder *b)
{
	yaml_event_t ev;
	int done = 0, result = 0;

	while (!done && result == 0) {
		if (!yaml_parser_parse(&b->parser, &ev))
			return not_yaml(b);
		done = ev.type == YAML_STREAM_END_EVENT;
		result = take_event(b, &ev);
		yaml_event_delete(&ev);
	}
	return result;
}

int
doc_parse(struct doc *d, const char *bytes, size_t len,
	  struct policy_error *err)
{
	struct builder b;
	int result;

	memset(d, 0, sizeof(*d));
	/* A byte order mark says nothing in UTF-8; editors leave one. */
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		len -= 3;
	}
	if (check_bytes(bytes, len, err) < 0)
		return -1;
	memset(&b, 0, sizeof(b));
	b.doc = d;
	b.err = err;
	if (!yaml_parser_initialize(&b.parser))
		return mistake_at(err, 0, 0, xstrdup("out of memory"));
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)bytes,
				     len);
	result = build(&b);
	yaml_parser_delete(&b.parser);
	return result;
}

void
doc_free(struct doc *d)
{
	struct node *n, *chain;

	for (n = d->chain; n != NULL; n = chain) {
		chain = n->chain;
		free(n->text);
		free(n);
	}
	memset(d, 0, sizeof(*d));
}
