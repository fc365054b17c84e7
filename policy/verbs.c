/*
 * The table of verbs.  Runs in the monitor on names that a server chose: no
 * allocation, one pass.
 */
#include <string.h>

#include "verbs.h"

enum {
	READS = 1,
	SENDS = 2,
	MAKES = 4,
	WRITES = 8,
	MOVES = 16,
	DELETES = 32,
	FETCHES = 64,
	/* How the word counts. */
	WEAK = 128,   /* also a noun: only where no other verb is */
	OBJECT = 256, /* deletes only with one of the objects below */
};

static const struct {
	const char *word;
	unsigned what;
} verbs[] = {
    {"get", READS},
    {"list", READS},
    {"read", READS},
    {"search", READS},
    {"find", READS},
    {"show", READS},
    {"view", READS},
    {"describe", READS},
    {"lookup", READS},
    {"look", READS},
    {"check", READS},
    {"inspect", READS},
    {"retrieve", READS},
    {"load", READS},
    {"explain", READS},
    {"analyze", READS},
    {"analyse", READS},
    {"summarize", READS},
    {"summarise", READS},
    {"compare", READS},
    {"diff", READS},
    {"validate", READS},
    {"verify", READS},
    {"count", READS},
    {"calculate", READS},
    {"ls", READS},
    {"stat", READS},
    {"cat", READS},
    {"grep", READS},
    {"glob", READS},
    {"peek", READS},
    {"fetch", READS | FETCHES},
    {"browse", READS | FETCHES},
    {"navigate", READS | FETCHES},
    {"goto", READS | FETCHES},
    {"visit", READS | FETCHES},
    {"crawl", READS | FETCHES},
    {"scrape", READS | FETCHES},
    {"curl", FETCHES},
    {"wget", FETCHES | WRITES},
    {"download", FETCHES | WRITES},
    {"open", READS | FETCHES | WEAK},
    {"query", READS | WEAK},
    {"tree", READS | WEAK},
    {"info", READS | WEAK},
    {"status", READS | WEAK},
    {"history", READS | WEAK},
    {"preview", READS | WEAK},
    {"scan", READS | WEAK},
    {"request", FETCHES | WEAK},
    {"http", FETCHES | WEAK},

    {"send", SENDS},
    {"post", SENDS},
    {"reply", SENDS},
    {"respond", SENDS},
    {"answer", SENDS},
    {"publish", SENDS},
    {"forward", SENDS},
    {"notify", SENDS},
    {"broadcast", SENDS},
    {"announce", SENDS},
    {"share", SENDS},
    {"invite", SENDS},
    {"tweet", SENDS},
    {"dispatch", SENDS},
    {"deliver", SENDS},
    {"submit", SENDS},
    {"transfer", SENDS},
    {"pay", SENDS},
    {"wire", SENDS},
    {"remit", SENDS},
    {"withdraw", SENDS},
    {"donate", SENDS},
    {"dm", SENDS},
    {"sms", SENDS | WEAK},
    {"email", SENDS | WEAK},
    {"mail", SENDS | WEAK},
    {"message", SENDS | WEAK},
    {"comment", SENDS | WEAK},
    {"upload", SENDS | MAKES},
    {"push", SENDS | MAKES},

    {"create", MAKES | WRITES},
    {"update", MAKES | WRITES},
    {"add", MAKES},
    {"edit", MAKES | WRITES},
    {"insert", MAKES},
    {"append", MAKES | WRITES},
    {"set", MAKES},
    {"put", MAKES | WRITES},
    {"patch", MAKES | WRITES},
    {"modify", MAKES | WRITES},
    {"write", MAKES | WRITES},
    {"commit", MAKES},
    {"draft", MAKES},
    {"schedule", MAKES},
    {"import", MAKES},
    {"make", MAKES | WRITES},
    {"save", MAKES | WRITES},
    {"store", MAKES | WRITES},
    {"replace", MAKES | WRITES},
    {"overwrite", MAKES | WRITES},
    {"export", WRITES},
    {"dump", WRITES},
    {"backup", WRITES},
    {"mkdir", WRITES},
    {"touch", WRITES},
    {"copy", WRITES},
    {"cp", WRITES},
    {"extract", WRITES},
    {"unzip", WRITES},
    {"screenshot", WRITES | WEAK},
    {"move", WRITES | MOVES},
    {"mv", WRITES | MOVES},
    {"rename", WRITES | MOVES},

    {"delete", WRITES | MOVES | DELETES},
    {"remove", WRITES | MOVES | DELETES},
    {"rm", WRITES | MOVES | DELETES},
    {"rmdir", WRITES | MOVES | DELETES},
    {"del", WRITES | MOVES | DELETES},
    {"unlink", WRITES | MOVES | DELETES},
    {"destroy", WRITES | MOVES | DELETES},
    {"purge", WRITES | MOVES | DELETES},
    {"erase", WRITES | MOVES | DELETES},
    {"wipe", WRITES | MOVES | DELETES},
    {"trash", WRITES | MOVES | DELETES},
    {"truncate", WRITES | DELETES},
    {"expunge", DELETES},
    {"drop", DELETES | OBJECT},
    {"clear", DELETES | OBJECT},
    {"empty", DELETES | OBJECT},

    /* known, and nothing that is looked for here */
    {"run", 0},
    {"execute", 0},
    {"exec", 0},
    {"invoke", 0},
    {"call", 0},
    {"start", 0},
    {"stop", 0},
    {"trigger", 0},
    {"toggle", 0},
    {"enable", 0},
    {"disable", 0},
    {"manage", 0},
    {"convert", 0},
    {"translate", 0},
    {"merge", 0},
    {"fork", 0},
    {"lock", 0},
    {"unlock", 0},
    {"restore", 0},
    {"take", 0},
    {"test", 0},
    {"simulate", 0},
    {"generate", 0},
};

/* What is lost when it is dropped, cleared or emptied; a mouse drops files
 * and a form is cleared. */
static const char *const objects[] = {
    "all",    "bucket",     "calendar", "cells",  "collection", "column",
    "data",   "database",   "db",       "folder", "history",    "inbox",
    "index",  "keyspace",   "memory",   "queue",  "range",      "role",
    "schema", "sheet",      "table",    "tables", "topic",      "trash",
    "user",   "collections"};

static int
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static int
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static int
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
is_word_char(char c)
{
	return is_upper(c) || is_lower(c) || is_digit(c) ||
	       ((unsigned char)c & 0x80) != 0;
}

/* 1 if a word starts at p[i]; i > 0 and p[i - 1] is in a word. */
static int
new_word(const char *p, size_t i, size_t len)
{
	if (is_digit(p[i]) != is_digit(p[i - 1]))
		return 1;
	if (!is_upper(p[i]))
		return 0;
	/* "getURL", and the last capital of "URLList" */
	return !is_upper(p[i - 1]) || (len - i > 1 && is_lower(p[i + 1]));
}

void
words_split(struct words *w, const char *name, size_t len)
{
	size_t i, at = 0;
	char c;

	w->n = 0;
	for (i = 0; i < len; i++) {
		if (!is_word_char(name[i]))
			continue;
		if (i == 0 || !is_word_char(name[i - 1]) ||
		    new_word(name, i, len)) {
			if (w->n == WORDS_MAX)
				return;
			memset(w->word[w->n++], 0, WORD_BYTES);
			at = 0;
		}
		c = name[i];
		if (is_upper(c))
			c = (char)(c - 'A' + 'a');
		if (at < WORD_BYTES - 1)
			w->word[w->n - 1][at++] = c;
	}
}

int
words_have(const struct words *w, const char *word)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (strcmp(w->word[i], word) == 0)
			return 1;
	return 0;
}

static int
find_verb(const char *word, unsigned *what)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].word, word) == 0) {
			*what = verbs[i].what;
			return 1;
		}
	}
	return 0;
}

static int
has_object(const struct words *w)
{
	size_t i;

	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (words_have(w, objects[i]))
			return 1;
	return 0;
}

static int
joins(const char *word)
{
	return strcmp(word, "and") == 0 || strcmp(word, "or") == 0 ||
	       strcmp(word, "then") == 0;
}

/*
 * The first verb counts, and each one after an "and" or "or": a "get" before
 * a "delete" speaks of deletes, and does none.
 */
static unsigned
collect(const struct words *w, int weak, int *known)
{
	unsigned all = 0, what = 0;
	int wanted = 1;
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (joins(w->word[i])) {
			wanted = 1;
			continue;
		}
		if (!wanted || !find_verb(w->word[i], &what))
			continue;
		if (!weak && (what & WEAK) != 0)
			continue;
		if ((what & OBJECT) != 0 && !has_object(w))
			continue;
		wanted = 0;
		*known = 1;
		all |= what;
	}
	return all;
}

void
verbs_of(struct verbs *v, const char *tool, size_t len)
{
	const unsigned harmless = READS | FETCHES | WEAK;
	struct words w;
	unsigned what;

	memset(v, 0, sizeof(*v));
	words_split(&w, tool, len);
	what = collect(&w, 0, &v->known);
	if (!v->known)
		what = collect(&w, 1, &v->known);
	if (words_have(&w, "screenshot"))
		what |= WRITES;
	/* To open an issue is to make one. */
	if ((what & WEAK) != 0 && words_have(&w, "open") &&
	    (words_have(&w, "issue") || words_have(&w, "pull") ||
	     words_have(&w, "ticket")))
		what = MAKES;
	v->reads = (what & READS) != 0 && (what & ~harmless) == 0;
	v->sends = (what & SENDS) != 0;
	v->makes = (what & MAKES) != 0;
	v->writes = (what & WRITES) != 0;
	v->moves = (what & MOVES) != 0;
	v->deletes = (what & DELETES) != 0;
	v->fetches = (what & FETCHES) != 0;
}
