/*
 * A pack: what Doorward knows of one server's tools, doorward-packs(5).  And
 * packs:, by which a policy says which it wants.  Runs in the monitor and in
 * the commands while a policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "schema.h"
#include "suggest.h"

static key_fn read_pack, read_about, read_match, read_checked, read_tools;

static const struct spec pack_specs[] = {
    {.name = "pack", .read = read_pack},
    {.name = "about", .read = read_about},
    {.name = "match", .read = read_match},
    {.name = "checked", .read = read_checked},
    {.name = "tools", .read = read_tools},
    {.name = NULL},
};

static struct policy_pack_info *
this_pack(struct load *l)
{
	return &l->p->packs[l->pack];
}

static int
read_pack(struct load *l, const struct node *key)
{
	struct shown s;

	if (want_visible(l, key->value, key->text) < 0)
		return -1;
	if (node_equals(key->value, this_pack(l)->name))
		return 0;
	return mistake(l->err, key->value,
		       xasprintf("pack: %s is not the file's name without "
				 "\".yaml\"; \"%s\" expected",
				 node_show(key->value, &s),
				 this_pack(l)->name));
}

static int
read_about(struct load *l, const struct node *key)
{
	if (want_visible(l, key->value, key->text) < 0)
		return -1;
	free(this_pack(l)->about);
	this_pack(l)->about = xmemdupz(key->value->text, key->value->len);
	return 0;
}

static int
read_match(struct load *l, const struct node *key)
{
	struct policy_pack_info *k = this_pack(l);
	const struct node *n;

	if (want_strings(l, key) < 0)
		return -1;
	k->match = xcalloc(key->value->count, sizeof(*k->match));
	for (n = key->value->child; n != NULL; n = n->next)
		k->match[k->match_count++] = xmemdupz(n->text, n->len);
	return 0;
}

static int
read_checked(struct load *l, const struct node *key)
{
	struct policy_pack_info *k = this_pack(l);
	struct policy_checked *c;
	const struct node *n;

	if (want_mapping(l, key) < 0)
		return -1;
	k->checked = xcalloc(key->value->count, sizeof(*k->checked));
	for (n = key->value->child; n != NULL; n = n->next) {
		if (want_visible(l, n->value, n->text) < 0)
			return -1;
		c = &k->checked[k->checked_count++];
		c->package = xmemdupz(n->text, n->len);
		c->version = xmemdupz(n->value->text, n->value->len);
	}
	return 0;
}

static int
read_tools(struct load *l, const struct node *key)
{
	if (want_mapping(l, key) < 0)
		return -1;
	return load_entries(l, key->value);
}

int
load_pack(struct load *l, const struct node *root)
{
	static const char *const required[] = {"pack", "tools"};
	size_t i;

	if (check_section(l, root, pack_specs, "a pack", "") < 0)
		return -1;
	for (i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		if (node_get(root, required[i]) == NULL)
			return mistake(l->err, root,
				       xasprintf("a pack without \"%s\"; it "
						 "needs pack and tools",
						 required[i]));
	return 0;
}

/* A word that is neither: a pack's name without the list, most likely. */
static int
no_list(struct load *l, const struct node *n)
{
	struct shown s;

	return mistake(l->err, n,
		       xasprintf("packs: auto, none or a list of names "
				 "([gmail, slack]) expected, not %s",
				 node_show(n, &s)));
}

int
load_packs(struct load *l, const struct node *key)
{
	static const char *const words[] = {"auto", "none", NULL};
	struct policy *p = l->p;
	const struct node *n;
	int i = PACKS_NAMED;

	_Static_assert(PACKS_AUTO == 0 && PACKS_NONE == 1,
		       "words are in this order");
	if (node_is_string(key->value) && key->value->len > 0 &&
	    suggest(key->value->text, key->value->len, words) == NULL)
		return no_list(l, key->value);
	if (key->value->kind != NODE_SEQUENCE)
		i = read_word(l, key, words);
	else if (want_strings(l, key) < 0)
		return -1;
	if (i < 0)
		return -1;
	policy_forget_wanted(p);
	p->packs_setting = (struct setting){i, 1, l->file, key->line};
	if (i != PACKS_NAMED)
		return 0;
	p->wanted = xcalloc(key->value->count, sizeof(*p->wanted));
	for (n = key->value->child; n != NULL; n = n->next)
		p->wanted[p->nwanted++] = (struct wanted){
		    xmemdupz(n->text, n->len), n->line, n->column};
	return 0;
}
