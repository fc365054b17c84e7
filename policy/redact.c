/*
 * Which keys hold something that the audit must not show.  Runs in the
 * monitor; keys come from the client and may be of any length.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "model.h"

/* Folded already.  doorward.yaml(5) lists them. */
static const char *const always[] = {
    "password",   "passwd",        "token",  "secret",     "apikey",
    "credential", "authorization", "cookie", "privatekey",
};

/* apiKey, API_KEY and api-key are one word.  Returns the length of out, which
 * has room for len bytes. */
static size_t
fold(const char *in, size_t len, char *out)
{
	size_t i, n = 0;
	char c;

	for (i = 0; i < len; i++) {
		c = in[i];
		if (c == '-' || c == '_')
			continue;
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		out[n++] = c;
	}
	return n;
}

size_t
redact_add(struct policy *p, const char *word, size_t len)
{
	char *folded = xcalloc(len + 1, 1);
	size_t i;

	if (fold(word, len, folded) == 0) {
		free(folded);
		return 0;
	}
	for (i = 0; i < p->nredact; i++) {
		if (strcmp(p->redact[i], folded) == 0) {
			free(folded);
			return p->nredact;
		}
	}
	p->redact =
	    xreallocarray(p->redact, p->nredact + 1, sizeof(*p->redact));
	p->redact[p->nredact++] = folded;
	return p->nredact;
}

void
redact_add_defaults(struct policy *p)
{
	size_t i;

	for (i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		redact_add(p, always[i], strlen(always[i]));
}

int
policy_redacts(const struct policy *p, const char *key, size_t len)
{
	char small[256], *folded = small;
	size_t i, n;
	int found = 0;

	if (len > sizeof(small))
		folded = xreallocarray(NULL, len, 1);
	n = fold(key, len, folded);
	for (i = 0; i < p->nredact && !found; i++)
		found = memmem(folded, n, p->redact[i], strlen(p->redact[i])) !=
			NULL;
	if (folded != small)
		free(folded);
	return found;
}
