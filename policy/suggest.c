/*
 * Edit distance, bounded.  Pure functions; runs in the monitor and in the
 * commands while a policy is loaded, owns nothing.
 */
#include <string.h>

#include "suggest.h"

#define SUGGEST_MAX 48u /* bytes; nothing that we know is longer */

/* Words of other programs, and of our own in another place. */
static const char *const synonyms[][2] = {
    {"deny", "block"},
    {"block", "deny"},
    {"ask", "require_approval"},
    {"approve", "require_approval"},
    {"require_approval", "ask"},
    {"pass", "allow"},
    {"monitor", "observe"},
    {"dry_run", "observe"},
    {"name", "id"},
    {"args", "arguments"},
    {"params", "arguments"},
    {"expected", "expect"},
    {"verdict", "expect"},
    {"all", "full"},
    {"off", "none"},
};

static char
fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (char)(c == '-' ? '_' : c);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment distance: insert, delete, replace, and swap two
 * neighbours.  ASCII case and '-' for '_' cost nothing.  Both at most
 * SUGGEST_MAX bytes.
 */
static size_t
distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t rows[3][SUGGEST_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2], *spare;
	size_t i, j;

	for (j = 0; j <= blen; j++)
		above[j] = j;
	memset(rows[0], 0, sizeof(rows[0]));
	for (i = 1; i <= alen; i++) {
		row[0] = i;
		for (j = 1; j <= blen; j++) {
			row[j] =
			    above[j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
			row[j] = least(row[j], above[j] + 1);
			row[j] = least(row[j], row[j - 1] + 1);
			if (i > 1 && j > 1 &&
			    fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[blen];
}

static const char *
synonym(const char *word, size_t len, const char *const *list)
{
	size_t i, j;

	for (i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
		if (strlen(synonyms[i][0]) != len ||
		    memcmp(synonyms[i][0], word, len) != 0)
			continue;
		for (j = 0; list[j] != NULL; j++)
			if (strcmp(list[j], synonyms[i][1]) == 0)
				return list[j];
	}
	return NULL;
}

const char *
suggest(const char *word, size_t len, const char *const *list)
{
	const char *best = synonym(word, len, list);
	size_t limit, d, i, n;

	if (best != NULL || len > SUGGEST_MAX)
		return best;
	/* A third of the word may be wrong, of a long one three letters. */
	limit = least((len + 1) / 3, 3);
	if (limit == 0)
		limit = 1;
	for (i = 0; list[i] != NULL; i++) {
		n = strlen(list[i]);
		/* Each byte more or less is one edit at least. */
		if (n > SUGGEST_MAX || n > len + limit || len > n + limit)
			continue;
		d = distance(word, len, list[i], n);
		/* Nothing of the word left is no resemblance. */
		if (d > limit || d >= least(len, n))
			continue;
		if (d < limit || best == NULL)
			best = list[i];
		limit = d;
	}
	return best;
}
