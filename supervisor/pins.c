/*
 * One server's pins: what is the same, what is new, what has changed.  Runs
 * in the monitor, on definitions that a server made up, and in `doorward
 * pins`.  What cannot be read is never taken for "nothing is pinned".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "pins.h"
#include "pins_model.h"

/* The file's name: of the server's name and package, which are one key. */
static char *
file_name(const char *name, const char *pkg)
{
	unsigned char h[crypto_hash_sha256_BYTES];
	char hex[PINS_HEX];
	struct buf b = BUF_INIT;

	buf_put(&b, name, strlen(name) + 1);
	buf_puts(&b, pkg);
	crypto_hash_sha256(h, (const unsigned char *)buf_head(&b),
			   buf_used(&b));
	sodium_bin2hex(hex, sizeof(hex), h, sizeof(h));
	buf_free(&b);
	return xasprintf("%.32s.pins", hex);
}

struct pins *
pins_new(const char *dir, const char *name, const char *pkg)
{
	struct pins *p = xcalloc(1, sizeof(*p));

	p->dir = pins_dir(dir);
	p->file = file_name(name, pkg);
	p->path = xasprintf("%s/%s", p->dir, p->file);
	p->server = token_of_name(name, strlen(name));
	p->package = token_of_name(pkg, strlen(pkg));
	return p;
}

struct pins *
pins_of_file(const char *dir, const char *file)
{
	struct pins *p = xcalloc(1, sizeof(*p));

	p->dir = pins_dir(dir);
	p->file = xstrdup(file);
	p->path = xasprintf("%s/%s", p->dir, p->file);
	return p;
}

static void
free_sets(struct pins_data *d)
{
	size_t i, j;

	for (i = 0; i < d->nsets; i++) {
		for (j = 0; j < d->sets[i].n; j++)
			free(d->sets[i].e[j].name);
		free(d->sets[i].e);
	}
	free(d->sets);
}

void
pins_data_free(struct pins_data *d)
{
	size_t i, j;

	for (i = 0; i < d->ndefs; i++) {
		free(d->defs[i]->flagged);
		free(d->defs[i]->lines);
		free(d->defs[i]);
	}
	free(d->defs);
	free_sets(d);
	for (i = 0; i < PIN_KINDS; i++) {
		for (j = 0; j < d->values[i].n; j++)
			free(d->values[i].v[j].token);
		free(d->values[i].v);
		free(d->values[i].wait.token);
	}
	free(d->server);
	free(d->package);
	memset(d, 0, sizeof(*d));
}

void
pins_free(struct pins *p)
{
	if (p == NULL)
		return;
	pins_data_free(&p->d);
	free(p->dir);
	free(p->file);
	free(p->path);
	free(p->server);
	free(p->package);
	free(p);
}

const char *
pins_kind_name(enum pin_kind k)
{
	switch (k) {
	case PIN_COMMAND:
		return "command";
	case PIN_VERSION:
		return "version";
	case PIN_INSTRUCTIONS:
	case PIN_KINDS:
		break;
	}
	return "instructions";
}

struct pin_set *
pins_find_set(const struct pins_data *d, const char *era, const char *caps)
{
	size_t i;

	for (i = 0; i < d->nsets; i++)
		if (strcmp(d->sets[i].era, era) == 0 &&
		    strcmp(d->sets[i].caps, caps) == 0)
			return &d->sets[i];
	return NULL;
}

struct pin_entry *
pins_find_entry(const struct pin_set *s, const char *name)
{
	size_t from = 0, to = s->n, mid;
	int order;

	while (from < to) {
		mid = from + (to - from) / 2;
		order = strcmp(s->e[mid].name, name);
		if (order == 0)
			return &s->e[mid];
		if (order < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

struct pin_def *
pins_find_def(const struct pins_data *d, const char *hash)
{
	size_t from = 0, to = d->ndefs, mid;
	int order;

	while (from < to) {
		mid = from + (to - from) / 2;
		order = strcmp(d->defs[mid]->hash, hash);
		if (order == 0)
			return d->defs[mid];
		if (order < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

static void
take_digest(struct pins *p, const struct buf *b)
{
	unsigned char h[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(h, (const unsigned char *)buf_head(b), buf_used(b));
	sodium_bin2hex(p->digest, sizeof(p->digest), h, sizeof(h));
}

/* 1 if the file's name was made of the names in it, as far as these were
 * kept. */
static int
names_fit(const struct pins *p)
{
	size_t len;
	char *name = token_text(p->d.server, &len);
	char *pkg = token_text(p->d.package, &len);
	char *file = name != NULL && pkg != NULL ? file_name(name, pkg) : NULL;
	int fit = file == NULL || strcmp(file, p->file) == 0;

	free(name);
	free(pkg);
	free(file);
	return fit;
}

/* The file has to speak of the server that its name was made of. */
static int
parse(struct pins *p, const struct buf *b, char **why)
{
	char *phrase = NULL;
	int r;

	r = pins_parse(&p->d, buf_used(b) > 0 ? buf_head(b) : "", buf_used(b),
		       &phrase);
	if (r == 0 && p->server == NULL && names_fit(p)) {
		p->server = xstrdup(p->d.server);
		p->package = xstrdup(p->d.package);
	}
	if (r == 0 &&
	    (p->server == NULL || strcmp(p->d.server, p->server) != 0 ||
	     strcmp(p->d.package, p->package) != 0)) {
		phrase = xstrdup("it is another server's");
		pins_data_free(&p->d);
		r = -1;
	}
	if (r == -1) {
		*why = xasprintf("the pins in %s cannot be used: %s", p->path,
				 phrase);
		free(phrase);
		return PINS_FAILED;
	}
	take_digest(p, b);
	p->state = PINS_READ;
	return PINS_OK;
}

int
pins_load_at(struct pins *p, int dirfd, char **why)
{
	struct buf b = BUF_INIT;
	int st;

	pins_data_free(&p->d);
	p->state = PINS_UNREAD;
	st = pins_read_file(p->dir, dirfd, p->file, &b, &p->stamp, why);
	if (st == PINS_OK)
		st = parse(p, &b, why);
	else if (st == PINS_NONE)
		p->state = PINS_EMPTY;
	free(b.data);
	return st;
}

enum pins_status
pins_load(struct pins *p, char **why)
{
	int fd, st;

	*why = NULL;
	fd = pins_open_dir(p->dir, why);
	if (fd == -2) {
		pins_data_free(&p->d);
		memset(&p->stamp, 0, sizeof(p->stamp));
		p->state = PINS_EMPTY;
		return PINS_NONE;
	}
	if (fd == -1) {
		pins_data_free(&p->d);
		p->state = PINS_UNREAD;
		return PINS_FAILED;
	}
	st = pins_load_at(p, fd, why);
	close(fd);
	return (enum pins_status)st;
}

int
pins_changed_on_disk(const struct pins *p)
{
	struct pins_stamp now = {.ino = 0};
	char *why;
	int fd = pins_open_dir(p->dir, &why);

	free(why);
	if (fd >= 0) {
		pins_stamp(fd, p->file, &now);
		close(fd);
	}
	return p->state == PINS_UNREAD || now.dev != p->stamp.dev ||
	       now.ino != p->stamp.ino || now.size != p->stamp.size ||
	       now.sec != p->stamp.sec || now.nsec != p->stamp.nsec;
}

int
pins_save_at(struct pins *p, int dirfd, char **why)
{
	struct buf b = BUF_INIT;
	int st = PINS_FAILED;
	char *ignored = NULL;

	if (p->d.server == NULL) {
		p->d.server = xstrdup(p->server);
		p->d.package = xstrdup(p->package);
	}
	if (pins_print(&b, &p->d, why) == 0)
		st =
		    pins_write_file(p->dir, dirfd, p->file, &b, &p->stamp, why);
	if (st == PINS_OK) {
		take_digest(p, &b);
		p->state = PINS_READ;
	}
	free(b.data);
	if (st == PINS_OK)
		return st;
	/* What was not written is not so: the file holds as it is. */
	pins_load_at(p, dirfd, &ignored);
	free(ignored);
	return st;
}

/* 1 some other set has just this definition, -1 others have others, 0 no
 * other set has the name. */
static int
elsewhere(const struct pins_data *d, const struct pin_set *own,
	  const char *name, const char *hash)
{
	const struct pin_entry *e;
	size_t i;
	int r = 0;

	for (i = 0; i < d->nsets; i++) {
		if (&d->sets[i] == own)
			continue;
		e = pins_find_entry(&d->sets[i], name);
		if (e == NULL || e->pin == NULL)
			continue;
		if (strcmp(e->pin->hash, hash) == 0)
			return 1;
		r = -1;
	}
	return r;
}

int
pins_judge(const struct pins_data *d, const struct pin_set *s, const char *name,
	   const char *hash)
{
	const struct pin_entry *e = s != NULL ? pins_find_entry(s, name) : NULL;

	if (e != NULL && e->pin != NULL)
		return strcmp(e->pin->hash, hash) == 0 ? PIN_SAME : PIN_CHANGED;
	if (elsewhere(d, s, name, hash) == -1)
		return PIN_CHANGED;
	if (s == NULL || !s->known || (e != NULL && e->open))
		return PIN_FIRST;
	return PIN_NEW;
}

enum pin_sight
pins_sight(const struct pins *p, const struct pin_key *k, const char *tool,
	   size_t len, const char hash[PIN_HASH_HEX])
{
	enum pin_sight sight;
	char *name;

	if (p->state == PINS_UNREAD)
		return PIN_CHANGED;
	name = token_of_name(tool, len);
	sight = (enum pin_sight)pins_judge(
	    &p->d, pins_find_set(&p->d, k->era, k->caps), name, hash);
	free(name);
	return sight;
}

int
pins_has_set(const struct pins *p, const struct pin_key *k)
{
	const struct pin_set *s = pins_find_set(&p->d, k->era, k->caps);

	return s != NULL && s->known;
}

int
pins_value_known(const struct pin_values *v, const char *token)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (strcmp(v->v[i].token, token) == 0)
			return 1;
	return 0;
}

static int
value_same(const struct pins *p, enum pin_kind kind, char *token)
{
	const struct pin_values *v = &p->d.values[kind];
	int same = p->state != PINS_UNREAD &&
		   (v->n == 0 || pins_value_known(v, token));

	free(token);
	return same;
}

int
pins_command_same(const struct pins *p, const char *const *command)
{
	return value_same(p, PIN_COMMAND, token_of_command(command));
}

int
pins_instructions_same(const struct pins *p, const char *text, size_t len)
{
	if (len == 0)
		return p->state != PINS_UNREAD;
	return value_same(p, PIN_INSTRUCTIONS,
			  token_new(text, len, PINS_TEXT_MAX));
}

int
pins_version_same(const struct pins *p, const char *text, size_t len)
{
	if (len == 0)
		return p->state != PINS_UNREAD;
	return value_same(p, PIN_VERSION, token_new(text, len, PINS_TEXT_MAX));
}
