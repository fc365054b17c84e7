/*
 * What a node of a YAML tree is, and how a message speaks of it.  Runs in the
 * monitor and in the commands while a policy is loaded; owns nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"

static int
is_one_of(const struct node *n, const char *const *words)
{
	if (n->kind != NODE_SCALAR || !n->plain)
		return 0;
	for (; *words != NULL; words++)
		if (node_equals(n, *words))
			return 1;
	return 0;
}

int
node_is_null(const struct node *n)
{
	static const char *const words[] = {"",     "~",    "null",
					    "Null", "NULL", NULL};

	return is_one_of(n, words);
}

int
node_is_bool(const struct node *n)
{
	static const char *const words[] = {"true",  "True",  "TRUE", "false",
					    "False", "FALSE", NULL};

	return is_one_of(n, words);
}

static size_t
span(const struct node *n, size_t from, const char *set)
{
	size_t i = from;

	while (i < n->len && strchr(set, n->text[i]) != NULL)
		i++;
	return i - from;
}

/* Octal and hexadecimal, infinity and not-a-number. */
static int
is_odd_number(const struct node *n)
{
	static const char *const words[] = {
	    ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
	    "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL};

	if (is_one_of(n, words))
		return 1;
	if (n->len < 3 || n->text[0] != '0')
		return 0;
	if (n->text[1] == 'o')
		return span(n, 2, "01234567") == n->len - 2;
	return n->text[1] == 'x' &&
	       span(n, 2, "0123456789abcdefABCDEF") == n->len - 2;
}

int
node_is_number(const struct node *n)
{
	static const char digit[] = "0123456789";
	size_t i, whole, part = 0, exponent;

	if (n->kind != NODE_SCALAR || !n->plain || n->len == 0)
		return 0;
	if (is_odd_number(n))
		return 1;
	i = n->text[0] == '-' || n->text[0] == '+';
	whole = span(n, i, digit);
	i += whole;
	if (i < n->len && n->text[i] == '.') {
		part = span(n, i + 1, digit);
		i += 1 + part;
	}
	if (whole + part == 0)
		return 0;
	if (i < n->len && (n->text[i] == 'e' || n->text[i] == 'E')) {
		i++;
		if (i < n->len && (n->text[i] == '-' || n->text[i] == '+'))
			i++;
		exponent = span(n, i, digit);
		if (exponent == 0)
			return 0;
		i += exponent;
	}
	return i == n->len;
}

int
node_is_string(const struct node *n)
{
	return n->kind == NODE_SCALAR && !node_is_null(n) && !node_is_bool(n) &&
	       !node_is_number(n);
}

int
node_equals(const struct node *n, const char *word)
{
	return n->kind == NODE_SCALAR && n->len == strlen(word) &&
	       memcmp(n->text, word, n->len) == 0;
}

struct node *
node_get(const struct node *mapping, const char *key)
{
	struct node *k;

	if (mapping->kind != NODE_MAPPING)
		return NULL;
	for (k = mapping->child; k != NULL; k = k->next)
		if (node_equals(k, key))
			return k->value;
	return NULL;
}

const char *
node_show(const struct node *n, struct shown *s)
{
	char visible[sizeof(s->text) - 16];
	const char *what = NULL;

	if (n->kind == NODE_MAPPING)
		what = "a mapping";
	else if (n->kind == NODE_SEQUENCE)
		what = "a list";
	else if (node_is_null(n))
		what = n->len == 0 ? "nothing" : "null";
	if (what != NULL) {
		snprintf(s->text, sizeof(s->text), "%s", what);
		return s->text;
	}
	text_visible(n->text, n->len, visible, sizeof(visible));
	if (node_is_number(n))
		snprintf(s->text, sizeof(s->text), "the number %s", visible);
	else
		snprintf(s->text, sizeof(s->text), "\"%s\"", visible);
	return s->text;
}

int
mistake_at(struct policy_error *err, size_t line, size_t column, char *text)
{
	free(err->text);
	err->line = line;
	err->column = column;
	err->text = text;
	return -1;
}

int
mistake(struct policy_error *err, const struct node *n, char *text)
{
	return mistake_at(err, n->line, n->column, text);
}

void
policy_error_clear(struct policy_error *e)
{
	free(e->file);
	free(e->text);
	memset(e, 0, sizeof(*e));
}

char *
policy_error_format(const struct policy_error *e)
{
	char file[512];

	text_visible(e->file, strlen(e->file), file, sizeof(file));
	if (e->line == 0)
		return xasprintf("%s: %s", file, e->text);
	if (e->column == 0)
		return xasprintf("%s:%zu: %s", file, e->line, e->text);
	return xasprintf("%s:%zu:%zu: %s", file, e->line, e->column, e->text);
}
