/*
 * From texts to a policy: telling the format, laying one file over another
 * and all of them over the packs.  Runs in the monitor, also when that is
 * confined, and in the commands; asks the kernel for nothing but memory.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "doc.h"
#include "model.h"

static enum policy_format
tell_format(const struct node *root)
{
	static const char *const guard[] = {"default_action", "mode", "rules"};
	size_t i;

	if (node_get(root, "version") != NULL)
		return FORMAT_OWN;
	for (i = 0; i < 3; i++)
		if (node_get(root, guard[i]) != NULL)
			return FORMAT_GUARD;
	return FORMAT_BOUNCER;
}

static int
load_root(struct load *l, const struct node *root)
{
	struct shown s;

	if (l->format == FORMAT_PACK &&
	    (root == NULL || root->kind != NODE_MAPPING))
		return mistake_at(l->err, 1, 1,
				  xstrdup("a pack is a mapping with \"pack\" "
					  "and \"tools\""));
	if (l->format == FORMAT_PACK)
		return load_pack(l, root);
	if (root == NULL || node_is_null(root) ||
	    (root->kind == NODE_MAPPING && root->child == NULL))
		return mistake_at(l->err, 1, 1,
				  xstrdup("an empty policy; the least is "
					  "\"version: 1\""));
	if (root->kind != NODE_MAPPING)
		return mistake(l->err, root,
			       xasprintf("a policy is a mapping, not %s; it "
					 "starts with \"version: 1\"",
					 node_show(root, &s)));
	l->format = tell_format(root);
	l->p->files[l->file].format = l->format;
	switch (l->format) {
	case FORMAT_OWN:
		return load_own(l, root);
	case FORMAT_GUARD:
		return load_guard(l, root);
	case FORMAT_BOUNCER:
	case FORMAT_PACK:
		break;
	}
	return load_bouncer(l, root);
}

static int
read_text(struct load *l, const struct policy_text *t)
{
	struct doc doc;
	int result;

	if (t->len > DOC_BYTES_MAX)
		return mistake_at(l->err, 0, 0,
				  xasprintf("a policy of more than %zu bytes; "
					    "split it",
					    DOC_BYTES_MAX));
	result = doc_parse(&doc, t->bytes, t->len, l->err);
	if (result == 0)
		result = load_root(l, doc.root);
	doc_free(&doc);
	return result;
}

static int
load_text(struct load *l, const struct policy_text *t)
{
	int result = read_text(l, t);

	rule_clear(&l->rule);
	entry_clear(&l->said.entry);
	if (result == 0 && l->unbuilt.text != NULL) {
		result = mistake_at(l->err, l->unbuilt.line, l->unbuilt.column,
				    l->unbuilt.text);
		l->unbuilt.text = NULL;
	}
	policy_error_clear(&l->unbuilt);
	if (result < 0) {
		l->err->file = xstrdup(l->name);
		l->err->layered = l->pack != NO_PACK;
	}
	return result;
}

/* Rules of the file named last come first; each file's keep their order. */
static void
order_rules(struct policy *p)
{
	struct rule *sorted = xcalloc(p->nrules, sizeof(*sorted));
	size_t file, i, n = 0;

	for (file = p->nfiles; file-- > 0;)
		for (i = 0; i < p->nrules; i++)
			if (p->rules[i].file == file)
				sorted[n++] = p->rules[i];
	free(p->rules);
	p->rules = sorted;
}

static void
hash_part(crypto_hash_sha256_state *state, const struct policy_text *t)
{
	unsigned char len[8];
	size_t i;

	for (i = 0; i < sizeof(len); i++)
		len[i] = (unsigned char)((uint64_t)t->len >> (8 * i));
	crypto_hash_sha256_update(state, len, sizeof(len));
	crypto_hash_sha256_update(state, (const unsigned char *)t->bytes,
				  t->len);
}

/* No text is so long that a mark could be taken for its length. */
static void
hash_texts(struct policy *p, const struct policy_text *texts, size_t n,
	   const struct policy_text *packs, size_t npacks)
{
	static const unsigned char mark[8] = {255, 255, 255, 255,
					      255, 255, 255, 255};
	crypto_hash_sha256_state state;
	unsigned char digest[crypto_hash_sha256_BYTES];
	size_t i;

	crypto_hash_sha256_init(&state);
	for (i = 0; i < n; i++)
		hash_part(&state, &texts[i]);
	if (npacks > 0)
		crypto_hash_sha256_update(&state, mark, sizeof(mark));
	for (i = 0; i < npacks; i++)
		hash_part(&state, &packs[i]);
	crypto_hash_sha256_final(&state, digest);
	sodium_bin2hex(p->hash, sizeof(p->hash), digest, sizeof(digest));
}

static struct policy *
defaults(void)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	p->mode.value = POLICY_ENFORCE;
	p->default_action.value = ACTION_ALLOW;
	p->methods_default.value = ACTION_ALLOW;
	p->args.value = ARGS_REDACTED;
	p->sync.value = SYNC_INTERVAL;
	p->pins[PINS_ON_NEW].value = ACTION_BLOCK;
	p->pins[PINS_ON_CHANGED].value = ACTION_BLOCK;
	p->pins[PINS_HIDE].value = 1;
	redact_add_defaults(p);
	return p;
}

struct policy *
policy_begin(const struct policy_text *texts, size_t n,
	     struct policy_error *err)
{
	struct policy *p = defaults();
	struct load l;
	size_t i;

	p->files = xcalloc(n, sizeof(*p->files));
	for (i = 0; i < n; i++) {
		memset(&l, 0, sizeof(l));
		l.p = p;
		l.err = err;
		l.file = i;
		l.pack = NO_PACK;
		l.methods_below = p->nmethods;
		p->files[i].name = xstrdup(texts[i].name);
		p->nfiles = i + 1;
		l.name = p->files[i].name;
		if (load_text(&l, &texts[i]) < 0) {
			policy_free(p);
			return NULL;
		}
	}
	order_rules(p);
	return p;
}

static int
add_pack(struct policy *p, const struct policy_text *t,
	 struct policy_error *err)
{
	struct policy_pack_info *k;
	struct load l;

	p->packs = xreallocarray(p->packs, p->npacks + 1, sizeof(*p->packs));
	k = &p->packs[p->npacks++];
	memset(k, 0, sizeof(*k));
	k->name = pack_name(t->name);
	k->file = xstrdup(t->name);
	k->about = xstrdup("");
	k->first = p->nsaid;
	memset(&l, 0, sizeof(l));
	l.p = p;
	l.err = err;
	l.name = k->file;
	l.format = FORMAT_PACK;
	l.pack = p->npacks - 1;
	return load_text(&l, t);
}

int
policy_finish(struct policy *p, const struct policy_text *texts, size_t n,
	      const struct policy_text *packs, size_t npacks,
	      struct policy_error *err)
{
	size_t i;

	for (i = 0; i < npacks; i++)
		if (add_pack(p, &packs[i], err) < 0)
			return -1;
	policy_arrange(p);
	if (entries_check(p, err) < 0)
		return -1;
	hash_texts(p, texts, n, packs, npacks);
	return 0;
}

struct policy *
policy_load_text(const struct policy_text *texts, size_t n,
		 const struct policy_text *packs, size_t npacks,
		 struct policy_error *err)
{
	struct policy_text *chosen;
	struct policy *p;
	size_t count = 0;
	int result;

	memset(err, 0, sizeof(*err));
	p = policy_begin(texts, n, err);
	if (p == NULL)
		return NULL;
	chosen = xcalloc(npacks, sizeof(*chosen));
	result = packs_choose(p, packs, npacks, chosen, &count, err);
	if (result == 0)
		result = policy_finish(p, texts, n, chosen, count, err);
	free(chosen);
	if (result == 0)
		return p;
	policy_free(p);
	return NULL;
}
