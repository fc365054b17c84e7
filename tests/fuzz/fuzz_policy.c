/*
 * The policy loader on any bytes.  What it takes has to answer every
 * question; what it refuses has to come with a place inside the text and with
 * words; the same bytes have to give the same result twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
need(int holds)
{
	if (!holds)
		abort();
}

static void
ask(struct policy *p, const char *data, size_t size)
{
	struct policy_opinion o;
	int named;
	size_t i;

	o = policy_tool(p, data, size);
	need(o.source.rule != NULL && o.action <= ACTION_BLOCK);
	o = policy_tool(p, "delete_all", 10);
	need(o.source.rule != NULL);
	o = policy_method(p, data, size, &named);
	need(o.by_default == !named);
	policy_redacts(p, data, size);
	need(policy_redacts(p, "api-key", 7));
	policy_lint(p);
	for (i = 0; i < policy_warning_count(p); i++)
		need(policy_warning(p, i)[0] != '\0');
	need(strlen(policy_hash(p)) == 64);
}

static void
check_error(const struct policy_error *e, const char *data, size_t size)
{
	size_t lines = 1, i;
	char *text = policy_error_format(e);

	for (i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r';
	/* The end of the last line counts as the line after it. */
	need(e->line <= lines + 1 && e->column <= size + 1);
	need(e->file != NULL && text[0] != '\0');
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = size > 0 ? (const char *)data : "";
	/* Over itself it has to be right exactly if it is right alone. */
	const struct policy_text texts[] = {{"a", bytes, size},
					    {"b", bytes, size}};
	struct policy_error err;
	struct policy *p;
	size_t n;
	int taken = 0;

	for (n = 1; n <= 2; n++) {
		p = policy_load_text(texts, n, NULL, 0, &err);
		need(n == 1 || taken == (p != NULL));
		taken = p != NULL;
		if (p != NULL)
			ask(p, bytes, size);
		else
			check_error(&err, bytes, size);
		policy_free(p);
		policy_error_clear(&err);
	}
	return 0;
}
