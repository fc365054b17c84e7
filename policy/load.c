/*
 * From files to a policy: reading, telling the format, laying one file over
 * another.  Runs in the monitor and in the commands.  The monitor may be
 * confined already when it reads the policy again, so that nothing here asks
 * the kernel for more than openat, fstat, read, close and memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "suggest.h"

/* Looks as an entry of that format does: no slip to be put right. */
static int
is_bouncer_entry(const struct node *key)
{
	static const char *const keys[] = {
	    "exfiltrating", "sink_params", "trusted_destinations",
	    "write_params", "max_calls",   "allowed_path_prefixes",
	    "arg_patterns"};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (node_get(key->value, keys[i]) != NULL)
			return 1;
	return 0;
}

static int
load_bouncer(struct load *l, const struct node *root)
{
	static const char *const ours[] = {
	    "version",  "mode",     "default_action", "packs",
	    "rules",    "tools",    "methods",        "flows",
	    "approval", "pins",     "ledger",         "server",
	    "audit",    "receipts", "typed",          NULL};
	const struct node *key = root->child;
	const char *near;
	struct shown s;

	for (; key != NULL; key = key->next) {
		near = suggest(key->text, key->len, ours);
		if (near == NULL || is_bouncer_entry(key))
			continue;
		if (node_equals(key, near))
			return mistake(
			    l->err, key,
			    xasprintf("\"%s\" without \"version: 1\"; a "
				      "Doorward policy needs that line",
				      near));
		return mistake(l->err, key,
			       xasprintf("unknown key %s; did you mean "
					 "\"%s\"? (a Doorward policy starts "
					 "with \"version: 1\")",
					 node_show(key, &s), near));
	}
	return mistake(l->err, root->child,
		       xstrdup("by its keys this is a Bouncer policy, a "
			       "format that is not built yet; a Doorward "
			       "policy starts with \"version: 1\""));
}

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
	struct policy_file_info *f = &l->p->files[l->file];
	struct shown s;

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
	f->format = tell_format(root);
	switch (f->format) {
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
load_text(struct policy *p, size_t file, const struct policy_text *t,
	  struct policy_error *err)
{
	struct load l;
	struct doc doc;
	int result;

	memset(&l, 0, sizeof(l));
	l.p = p;
	l.err = err;
	l.file = file;
	l.methods_below = p->nmethods;
	if (t->len > DOC_BYTES_MAX)
		return mistake_at(err, 0, 0,
				  xasprintf("a policy of more than %zu bytes; "
					    "split it",
					    DOC_BYTES_MAX));
	result = doc_parse(&doc, t->bytes, t->len, err);
	if (result == 0)
		result = load_root(&l, doc.root);
	doc_free(&doc);
	rule_clear(&l.rule);
	if (result == 0 && l.unbuilt.text != NULL) {
		result = mistake_at(err, l.unbuilt.line, l.unbuilt.column,
				    l.unbuilt.text);
		l.unbuilt.text = NULL;
	}
	policy_error_clear(&l.unbuilt);
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
hash_texts(struct policy *p, const struct policy_text *texts, size_t n)
{
	crypto_hash_sha256_state state;
	unsigned char digest[crypto_hash_sha256_BYTES], len[8];
	size_t i, j;

	crypto_hash_sha256_init(&state);
	for (i = 0; i < n; i++) {
		for (j = 0; j < sizeof(len); j++)
			len[j] =
			    (unsigned char)((uint64_t)texts[i].len >> (8 * j));
		crypto_hash_sha256_update(&state, len, sizeof(len));
		crypto_hash_sha256_update(&state,
					  (const unsigned char *)texts[i].bytes,
					  texts[i].len);
	}
	crypto_hash_sha256_final(&state, digest);
	sodium_bin2hex(p->hash, sizeof(p->hash), digest, sizeof(digest));
}

struct policy *
policy_load_text(const struct policy_text *texts, size_t n,
		 const struct policy_text *packs, size_t npacks,
		 struct policy_error *err)
{
	struct policy *p = xcalloc(1, sizeof(*p));
	size_t i;

	(void)packs;
	(void)npacks;
	memset(err, 0, sizeof(*err));
	p->mode.value = POLICY_ENFORCE;
	p->default_action.value = ACTION_ALLOW;
	p->methods_default.value = ACTION_ALLOW;
	p->args.value = ARGS_REDACTED;
	p->sync.value = SYNC_INTERVAL;
	redact_add_defaults(p);
	p->files = xcalloc(n, sizeof(*p->files));
	for (i = 0; i < n; i++) {
		p->files[i].name = xstrdup(texts[i].name);
		p->nfiles = i + 1;
		if (load_text(p, i, &texts[i], err) < 0) {
			err->file = xstrdup(texts[i].name);
			policy_free(p);
			return NULL;
		}
	}
	order_rules(p);
	hash_texts(p, texts, n);
	return p;
}

static char *
cannot_read(int error)
{
	const char *why = strerrordesc_np(error);

	return xasprintf("the policy cannot be read: %s",
			 why != NULL ? why : "unknown error");
}

/* Reads to the end, or to one byte too many. */
static int
read_all(int fd, struct buf *b, struct policy_error *err)
{
	ssize_t n;

	while (buf_used(b) <= DOC_BYTES_MAX) {
		n = read(fd, buf_reserve(b, 65536), 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mistake_at(err, 0, 0, cannot_read(errno));
		if (n == 0)
			break;
		b->len += (size_t)n;
	}
	return 0;
}

/*
 * Who could have written this?  The kernel's note at the start of the program
 * tells our own uid without a system call.
 */
static char *
distrust(const char *file, const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != getauxval(AT_EUID))
		return xasprintf("%s: it belongs to another user (uid %lu), "
				 "who can change it at any time",
				 file, (unsigned long)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return xasprintf("%s: others than its owner can write to it "
				 "(mode %04o); chmod go-w",
				 file, (unsigned)(st->st_mode & 07777));
	return NULL;
}

static int
read_file(const char *file, struct buf *b, char **warning,
	  struct policy_error *err)
{
	struct stat st;
	int fd, result = -1;

	/* A FIFO must not hold us up, nor a terminal become ours. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return mistake_at(err, 0, 0, cannot_read(errno));
	if (fstat(fd, &st) < 0)
		mistake_at(err, 0, 0, cannot_read(errno));
	else if (!S_ISREG(st.st_mode))
		mistake_at(err, 0, 0,
			   xstrdup("not a regular file; a policy is one"));
	else
		result = read_all(fd, b, err);
	close(fd);
	if (result == 0)
		*warning = distrust(file, &st);
	return result;
}

struct policy *
policy_load(const char *const *files, size_t n, const char *packs_dir,
	    struct policy_error *err)
{
	struct policy_text *texts = xcalloc(n, sizeof(*texts));
	struct buf *bytes = xcalloc(n, sizeof(*bytes));
	char **warnings = xcalloc(n, sizeof(*warnings));
	struct policy *p = NULL;
	size_t i;

	(void)packs_dir;
	memset(err, 0, sizeof(*err));
	for (i = 0; i < n; i++) {
		if (read_file(files[i], &bytes[i], &warnings[i], err) < 0) {
			err->file = xstrdup(files[i]);
			break;
		}
		texts[i].name = files[i];
		texts[i].bytes = buf_used(&bytes[i]) ? buf_head(&bytes[i]) : "";
		texts[i].len = buf_used(&bytes[i]);
	}
	if (i == n)
		p = policy_load_text(texts, n, NULL, 0, err);
	for (i = 0; i < n; i++) {
		if (p != NULL && warnings[i] != NULL)
			policy_warn(p, warnings[i]);
		else
			free(warnings[i]);
		buf_free(&bytes[i]);
	}
	free(warnings);
	free(bytes);
	free(texts);
	return p;
}
