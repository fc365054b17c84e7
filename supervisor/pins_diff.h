/*
 * What differs between two definitions, by their flattened lines
 * (canon_flatten()), and what of it lets a tool take or do more than before.
 */
#ifndef DW_PINS_DIFF_H
#define DW_PINS_DIFF_H

#include <stddef.h>

struct buf;
struct pin_def;

/* One line of a definition; all borrowed. */
struct diff_line {
	const char *p; /* JSON pointer */
	size_t plen;
	const char *v; /* the value */
	size_t vlen;
};

/* A definition's lines, by pointer. */
struct diff_side {
	struct diff_line *all; /* owned */
	const void **v;        /* owned; struct diff_line */
	size_t n;
};

#define DIFF_NOTES_MAX 500u

/* Sentences, each once. */
struct diff_notes {
	char **v;
	size_t n;
	size_t more; /* that there was no room for */
};

struct diff {
	struct diff_side was, now;
	struct diff_notes widened, plain;
	const char *done; /* where the keyword last looked at stands */
	size_t done_len;
};

/* lines may be NULL for none.  diff_free() frees; the text is borrowed. */
void diff_init(struct diff *d, const char *was, size_t was_len, const char *now,
	       size_t now_len);
void diff_free(struct diff *d);

/* The line at a pointer, or NULL. */
const struct diff_line *diff_at(const struct diff_side *s, const char *p,
				size_t len);
/* The first line at or after a pointer; s->n if there is none. */
size_t diff_from(const struct diff_side *s, const char *p, size_t len);
/* 1 if something stands at a pointer or below it. */
int diff_has(const struct diff_side *s, const char *p, size_t len);

/* A sentence; text is taken over. */
void diff_note(struct diff *d, int widened, char *text);
/* len bytes, cut to what fits into a sentence; caller frees. */
char *diff_clip(const char *p, size_t len);

/* ---- pins_widen.c ---- */

/*
 * Notes what a line means that only one side has (the other is NULL), or
 * that has another value.
 */
void diff_judge(struct diff *d, const struct diff_line *was,
		const struct diff_line *now);

/* ---- for the command ---- */

/*
 * Appends the whole difference, each line after indent blanks: what was
 * widened, then every line that differs.  was is NULL for what is new.
 */
void diff_print(struct buf *b, const struct pin_def *was,
		const struct pin_def *now, int indent);

#endif
