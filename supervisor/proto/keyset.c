/*
 * Duplicate keys and case variants of protocol keys.  Pure; both sides.
 */
#include <string.h>

#include "keyset.h"

static int
cmp(const struct key_span *a, const struct key_span *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->len > 0 ? memcmp(a->p, b->p, a->len) : 0;
}

static void
sift(struct key_span *k, size_t root, size_t n)
{
	struct key_span v = k[root];
	size_t child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && cmp(&k[child], &k[child + 1]) < 0)
			child++;
		if (cmp(&v, &k[child]) >= 0)
			break;
		k[root] = k[child];
		root = child;
	}
	k[root] = v;
}

/* Heapsort: its worst case is its usual case, whatever keys were chosen. */
static void
sort(struct key_span *k, size_t n)
{
	struct key_span t;
	size_t i;

	for (i = n / 2; i-- > 0;)
		sift(k, i, n);
	for (i = n; i-- > 1;) {
		t = k[0];
		k[0] = k[i];
		k[i] = t;
		sift(k, 0, i);
	}
}

int
keys_have_duplicate(struct key_span *keys, size_t n)
{
	size_t i, j;

	if (n <= 8) {
		for (i = 1; i < n; i++)
			for (j = 0; j < i; j++)
				if (cmp(&keys[i], &keys[j]) == 0)
					return 1;
		return 0;
	}
	sort(keys, n);
	for (i = 1; i < n; i++)
		if (cmp(&keys[i - 1], &keys[i]) == 0)
			return 1;
	return 0;
}

/*
 * Letters that some case-insensitive decoder takes for ASCII ones: Go and
 * JSON libraries fold U+017F and U+212A, Java's String U+0130 and U+0131,
 * Python's casefold the ligatures U+FB05 and U+FB06.
 */
static const struct letter {
	const char *utf8, *ascii;
} folds[] = {
    {"\xc5\xbf", "s"}, {"\xe2\x84\xaa", "k"},  {"\xc4\xb0", "i"},
    {"\xc4\xb1", "i"}, {"\xef\xac\x85", "st"}, {"\xef\xac\x86", "st"},
};

/* The row for the letter at p, or NULL. */
static const struct letter *
find_letter(const char *p, size_t len)
{
	size_t i, k;

	for (i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
		k = strlen(folds[i].utf8);
		if (len >= k && memcmp(p, folds[i].utf8, k) == 0)
			return &folds[i];
	}
	return NULL;
}

/*
 * Folds to lower ASCII as a case-insensitive decoder would.  Returns the
 * folded length, or 0 if it cannot be one of our short ASCII names.
 */
static size_t
fold(const char *p, size_t len, char *out, size_t size)
{
	size_t i = 0, o = 0;
	const struct letter *l;
	const char *a;

	while (i < len && o < size) {
		if ((p[i] & 0x80) == 0) {
			out[o++] = p[i] >= 'A' && p[i] <= 'Z'
				       ? (char)(p[i] - 'A' + 'a')
				       : p[i];
			i++;
			continue;
		}
		l = find_letter(p + i, len - i);
		if (l == NULL)
			return 0;
		for (a = l->ascii; *a != '\0' && o < size; a++)
			out[o++] = *a;
		if (*a != '\0')
			return 0;
		i += strlen(l->utf8);
	}
	return i == len ? o : 0;
}

int
key_is_variant(const char *p, size_t len, enum key_place place)
{
	static const char *const keys[][9] = {
	    [KEYS_ENVELOPE] = {"jsonrpc", "id", "method", "params", "result",
			       "error", NULL},
	    [KEYS_PARAMS] = {"name", "arguments", "uri", "cursor", "task",
			     "inputResponses", "requestState", "_meta", NULL},
	    [KEYS_RESULT] = {"tools", "nextCursor", "serverInfo",
			     "instructions", NULL},
	};
	const char *const *names = keys[place];
	char folded[32], want[32];
	size_t n = fold(p, len, folded, sizeof(folded)), w;

	if (n == 0)
		return 0;
	for (; *names != NULL; names++) {
		w = fold(*names, strlen(*names), want, sizeof(want));
		if (n == w && memcmp(folded, want, n) == 0)
			return len != strlen(*names) ||
			       memcmp(p, *names, len) != 0;
	}
	return 0;
}
