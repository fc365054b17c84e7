/*
 * A YAML file as a tree that remembers where everything stood.  Only doc.c
 * knows libyaml.
 */
#ifndef DW_POLICY_DOC_H
#define DW_POLICY_DOC_H

#include <stddef.h>

struct policy_error;

#define DOC_BYTES_MAX ((size_t)1024 * 1024) /* of one file */
#define DOC_DEPTH_MAX 32u                   /* nested lists and mappings */
#define DOC_NODES_MAX 65536u                /* keys and values of one file */

enum node_kind { NODE_SCALAR, NODE_MAPPING, NODE_SEQUENCE };

struct node {
	enum node_kind kind;
	int plain;           /* a scalar without quotes, whose look decides */
	size_t line, column; /* from 1; columns count characters */
	char *text;          /* of a scalar: len bytes, none of them NUL */
	size_t len;
	struct node *child; /* of a list its first item, of a mapping a key */
	struct node *next;  /* the next item, or the next key */
	struct node *value; /* of a key; never NULL in a whole tree */
	size_t count;       /* of items or keys */
	struct node *last;  /* the builder's */
	struct node *chain; /* the tree's list of all nodes */
};

struct doc {
	struct node *root; /* NULL: no document in the file */
	struct node *chain;
};

/*
 * Reads len bytes.  0, or -1 with *err filled but for its file: not UTF-8,
 * no YAML (1.1 or 1.2), a second document, anchors, aliases, tags, merge
 * keys, keys that are no strings, duplicate keys, a limit.  The caller calls
 * doc_free() in both cases.
 */
int doc_parse(struct doc *d, const char *bytes, size_t len,
	      struct policy_error *err);

void doc_free(struct doc *d);

/* What a plain scalar is by YAML 1.2's core schema (section 10.3.2): yes, no,
 * on and off are strings.  All 0 for anything quoted. */
int node_is_null(const struct node *n);
int node_is_bool(const struct node *n);
int node_is_number(const struct node *n);

/* A scalar that is a string: quoted, or plain and none of the above. */
int node_is_string(const struct node *n);

/* 1 if the scalar's bytes are the word. */
int node_equals(const struct node *n, const char *word);

/* The value under a key of a mapping; NULL if there is none. */
struct node *node_get(const struct node *mapping, const char *key);

/* How a message names a node: "a list", or its text, made safe to show. */
struct shown {
	char text[96];
};
const char *node_show(const struct node *n, struct shown *s);

/* Fills *err with a place and a text that is taken over; -1, always. */
int mistake_at(struct policy_error *err, size_t line, size_t column,
	       char *text);
int mistake(struct policy_error *err, const struct node *n, char *text);

#endif
