/*
 * Which packs a policy wants, of those that there are.  Runs in the monitor
 * and in the commands while a policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "suggest.h"

char *
pack_name(const char *file)
{
	const char *base = strrchr(file, '/');
	size_t len;

	base = base != NULL ? base + 1 : file;
	len = strlen(base);
	if (len > 5 && strcmp(base + len - 5, ".yaml") == 0)
		len -= 5;
	return xmemdupz(base, len);
}

int
packs_wanted(const struct policy *p)
{
	enum policy_packs packs = policy_get_packs(p);

	return packs == PACKS_AUTO || (packs == PACKS_NAMED && p->nwanted > 0);
}

static int
is_wanted(const struct policy *p, const char *name)
{
	size_t i;

	if (policy_get_packs(p) != PACKS_NAMED)
		return policy_get_packs(p) == PACKS_AUTO;
	for (i = 0; i < p->nwanted; i++)
		if (strcmp(p->wanted[i].name, name) == 0)
			return 1;
	return 0;
}

static int
no_such_pack(const struct policy *p, const struct wanted *w, char *const *names,
	     size_t n, struct policy_error *err)
{
	const char *near =
	    suggest(w->name, strlen(w->name), (const char *const *)names);
	struct buf b = BUF_INIT;
	char shown[64];
	size_t i;

	text_visible(w->name, strlen(w->name), shown, sizeof(shown));
	buf_printf(&b, "packs: there is no pack \"%s\"; ", shown);
	if (near != NULL)
		buf_printf(&b, "did you mean \"%s\"?", near);
	else if (n == 0)
		buf_puts(&b, "there are none here");
	else
		buf_puts(&b, "there are ");
	for (i = 0; near == NULL && i < n; i++) {
		if (i > 0)
			buf_puts(&b, i + 1 < n ? ", " : " and ");
		buf_puts(&b, names[i]);
	}
	buf_putc(&b, '\0');
	mistake_at(err, w->line, w->column, xstrdup(buf_head(&b)));
	buf_free(&b);
	err->file = xstrdup(p->files[p->packs_setting.file].name);
	err->layered = 1;
	return -1;
}

static int
check_wanted(const struct policy *p, char *const *names, size_t n,
	     struct policy_error *err)
{
	size_t i, j;

	for (i = 0; i < p->nwanted; i++) {
		for (j = 0; j < n; j++)
			if (strcmp(p->wanted[i].name, names[j]) == 0)
				break;
		if (j == n)
			return no_such_pack(p, &p->wanted[i], names, n, err);
	}
	return 0;
}

/* By the packs' names; there are few, and qsort(3) may ask the kernel. */
static void
sort_both(struct policy_text *texts, char **names, size_t n)
{
	struct policy_text text;
	char *name;
	size_t i, j;

	for (i = 1; i < n; i++) {
		text = texts[i];
		name = names[i];
		for (j = i; j > 0 && strcmp(names[j - 1], name) > 0; j--) {
			texts[j] = texts[j - 1];
			names[j] = names[j - 1];
		}
		texts[j] = text;
		names[j] = name;
	}
}

int
packs_choose(const struct policy *p, const struct policy_text *known, size_t n,
	     struct policy_text *chosen, size_t *count,
	     struct policy_error *err)
{
	struct policy_text *sorted = xcalloc(n, sizeof(*sorted));
	char **names = xcalloc(n + 1, sizeof(*names)); /* ends with NULL */
	size_t i;
	int result;

	for (i = 0; i < n; i++) {
		sorted[i] = known[i];
		names[i] = pack_name(known[i].name);
	}
	sort_both(sorted, names, n);
	result = check_wanted(p, names, n, err);
	*count = 0;
	for (i = 0; i < n; i++) {
		if (is_wanted(p, names[i]))
			chosen[(*count)++] = sorted[i];
		free(names[i]);
	}
	free(names);
	free(sorted);
	return result;
}
