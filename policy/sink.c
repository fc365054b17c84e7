/*
 * The sink contract without a ledger: a destination is trusted, or it is
 * asked about.  Runs in the monitor for every call of a sending tool, on
 * values that an attacker may have chosen: what can be read in two ways is
 * trusted by nobody.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "args.h"
#include "findings.h"
#include "sink.h"

struct url {
	int https;
	const char *host;
	size_t host_len;
	const char *port; /* digits */
	size_t port_len;
	const char *rest; /* from the path on */
	size_t rest_len;
};

static int
same_folded(const char *a, size_t alen, const char *b, size_t blen)
{
	return alen == blen && strncasecmp(a, b, alen) == 0;
}

/* No byte that a terminal, a parser or an eye could take for another. */
static int
is_clean(const char *p, size_t n)
{
	uint32_t cp = 0;
	size_t i, k;

	for (i = 0; i < n; i += k) {
		k = text_utf8_next(p + i, n - i, &cp);
		if (k == 0 || text_unsafe(cp) || cp == '\\')
			return 0;
	}
	return n > 0;
}

static int
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

/* A host of plain labels; no dot at either end. */
static int
is_host(const char *p, size_t n)
{
	size_t i;

	if (n == 0 || n > 253 || p[0] == '.' || p[n - 1] == '.')
		return 0;
	for (i = 0; i < n; i++) {
		if (p[i] == '.' && p[i - 1] == '.')
			return 0;
		if (!is_alnum(p[i]) && p[i] != '-' && p[i] != '.' &&
		    p[i] != '_')
			return 0;
	}
	return 1;
}

/* local@host without anything that mail systems read differently. */
static int
is_mail(const char *p, size_t n)
{
	static const char also[] = "#$&'*+-/=?^_`{|}~.";
	const char *at = memchr(p, '@', n);
	size_t i, local;

	if (at == NULL || at == p)
		return 0;
	local = (size_t)(at - p);
	for (i = 0; i < local; i++)
		if (!is_alnum(p[i]) &&
		    memchr(also, p[i], sizeof(also) - 1) == NULL)
			return 0;
	return p[0] != '.' && at[-1] != '.' && is_host(at + 1, n - local - 1);
}

static int
ambiguous_path(const char *p, size_t n)
{
	const char *query = memchr(p, '?', n);
	size_t i, begin = 1;

	if (memchr(p, '#', n) != NULL)
		return 1;
	if (query != NULL)
		n = (size_t)(query - p);
	for (i = 0; i + 2 < n; i++)
		if (p[i] == '%' && (strncasecmp(p + i + 1, "2e", 2) == 0 ||
				    strncasecmp(p + i + 1, "2f", 2) == 0 ||
				    strncasecmp(p + i + 1, "5c", 2) == 0 ||
				    strncasecmp(p + i + 1, "00", 2) == 0))
			return 1;
	for (i = 1; i <= n; i++) {
		if (i < n && p[i] != '/')
			continue;
		if ((i - begin == 1 && p[begin] == '.') ||
		    (i - begin == 2 && memcmp(p + begin, "..", 2) == 0))
			return 1;
		begin = i + 1;
	}
	return 0;
}

/* Takes an http or https URL of the plainest form apart. */
static int
parse_url(const char *p, size_t n, struct url *u)
{
	const char *colon;
	size_t i;

	memset(u, 0, sizeof(*u));
	for (i = 0; i < n; i++)
		if (p[i] <= ' ' || (unsigned char)p[i] >= 0x7f || p[i] == '\\')
			return 0;
	if (n > 8 && strncasecmp(p, "https://", 8) == 0)
		u->https = 1;
	else if (n <= 7 || strncasecmp(p, "http://", 7) != 0)
		return 0;
	p += u->https ? 8 : 7;
	n -= u->https ? 8 : 7;
	for (i = 0; i < n && p[i] != '/' && p[i] != '?' && p[i] != '#'; i++)
		if (p[i] == '@')
			return 0;
	u->host = p;
	u->host_len = i;
	u->rest = p + i;
	u->rest_len = n - i;
	colon = memchr(p, ':', i);
	if (colon != NULL) {
		u->host_len = (size_t)(colon - p);
		u->port = colon + 1;
		u->port_len = i - u->host_len - 1;
		if (u->port_len == 0 || u->port_len > 5)
			return 0;
		for (i = 0; i < u->port_len; i++)
			if (u->port[i] < '0' || u->port[i] > '9')
				return 0;
	}
	return is_host(u->host, u->host_len) &&
	       !ambiguous_path(u->rest, u->rest_len);
}

/* The port that is not the scheme's own; *n is 0 for that. */
static const char *
odd_port(const struct url *u, size_t *n)
{
	const char *own = u->https ? "443" : "80";

	*n = u->port_len;
	if (same_folded(u->port == NULL ? "" : u->port, *n, own, strlen(own)))
		*n = 0;
	return u->port;
}

static int
same_port(const struct url *a, const struct url *b)
{
	size_t an, bn;
	const char *ap = odd_port(a, &an), *bp = odd_port(b, &bn);

	return an == bn && (an == 0 || memcmp(ap, bp, an) == 0);
}

static int
url_trusted(const char *entry, size_t len, const char *value, size_t n)
{
	struct url want, have;
	int prefix = entry[len - 1] == '*';

	if (!parse_url(entry, len - (prefix ? 1 : 0), &want) ||
	    !parse_url(value, n, &have))
		return 0;
	if (want.https != have.https ||
	    !same_folded(want.host, want.host_len, have.host, have.host_len) ||
	    !same_port(&want, &have))
		return 0;
	/* "https://host*" would be any host that begins so. */
	if (prefix)
		return want.rest_len > 0 && want.rest[0] == '/' &&
		       have.rest_len >= want.rest_len &&
		       memcmp(have.rest, want.rest, want.rest_len) == 0;
	if (want.rest_len == 0 && have.rest_len == 1)
		return have.rest[0] == '/';
	if (have.rest_len == 0 && want.rest_len == 1)
		return want.rest[0] == '/';
	return have.rest_len == want.rest_len &&
	       (have.rest_len == 0 ||
		memcmp(have.rest, want.rest, want.rest_len) == 0);
}

/* host:NAME, host:NAME:PORT, host:*.DOMAIN, for a URL or a bare host. */
static int
host_trusted(const char *entry, size_t len, const char *value, size_t n)
{
	const char *colon = memchr(entry, ':', len), *port = NULL;
	struct url u;
	size_t port_len = 0, odd = 0;

	if (colon != NULL) {
		port = colon + 1;
		port_len = len - (size_t)(port - entry);
		len = (size_t)(colon - entry);
	}
	memset(&u, 0, sizeof(u));
	if (!parse_url(value, n, &u)) {
		if (!is_host(value, n) || port != NULL)
			return 0;
		u.host = value;
		u.host_len = n;
	} else {
		odd_port(&u, &odd);
		if (port != NULL ? !same_folded(u.port ? u.port : "",
						u.port_len, port, port_len)
				 : odd != 0)
			return 0;
	}
	if (len > 2 && entry[0] == '*' && entry[1] == '.') {
		entry++;
		len--;
		return is_host(entry + 1, len - 1) && u.host_len > len &&
		       strncasecmp(u.host + u.host_len - len, entry, len) == 0;
	}
	return is_host(entry, len) &&
	       same_folded(u.host, u.host_len, entry, len);
}

static int
mail_trusted(const char *entry, size_t len, const char *value, size_t n)
{
	const char *at;

	if (!is_mail(value, n))
		return 0;
	if (len < 2 || entry[0] != '*' || entry[1] != '@')
		return same_folded(entry, len, value, n);
	at = memchr(value, '@', n);
	n -= (size_t)(at - value);
	return same_folded(entry + 1, len - 1, at, n);
}

static int
trusts(const char *entry, size_t len, const char *value, size_t n)
{
	if (len > 5 && strncasecmp(entry, "host:", 5) == 0)
		return host_trusted(entry + 5, len - 5, value, n);
	if ((len > 8 && strncasecmp(entry, "https://", 8) == 0) ||
	    (len > 7 && strncasecmp(entry, "http://", 7) == 0))
		return url_trusted(entry, len, value, n);
	if (memchr(entry, '@', len) != NULL && entry[0] != '@')
		return mail_trusted(entry, len, value, n);
	return same_folded(entry, len, value, n);
}

/* Outer blanks of one text. */
static const char *
trim(const char *p, size_t *n)
{
	while (*n > 0 && (*p == ' ' || *p == '\t')) {
		p++;
		(*n)--;
	}
	while (*n > 0 && (p[*n - 1] == ' ' || p[*n - 1] == '\t'))
		(*n)--;
	return p;
}

int
sink_trusted(const struct strings *trusted, const char *value, size_t len)
{
	const char *entry;
	size_t i, n;

	value = trim(value, &len);
	if (!is_clean(value, len))
		return 0;
	for (i = 0; i < trusted->n; i++) {
		n = strlen(trusted->v[i]);
		entry = trim(trusted->v[i], &n);
		if (n > 0 && trusts(entry, n, value, len))
			return 1;
	}
	return 0;
}

struct sending {
	const struct entry *e;
	struct findings *f;
	size_t seen; /* destinations */
};

/* The key that says what happens to a destination that is not trusted. */
static enum entry_key
speaking_key(const struct entry *e)
{
	if (entry_has(e, KEY_ON_UNPROVEN))
		return KEY_ON_UNPROVEN;
	return entry_has(e, KEY_SINK_PARAMS) ? KEY_SINK_PARAMS
					     : KEY_EXFILTRATING;
}

static void
take(struct sending *s, const struct args_find *at, const struct args_walk *w,
     const char *value)
{
	struct shown_text t;
	size_t n = strlen(value);

	s->seen++;
	if (sink_trusted(&s->e->trusted, value, n))
		return;
	findings_of_entry(
	    s->f, CONTRACT_SINK, s->e->on_unproven, s->e, speaking_key(s->e),
	    args_place(at, w),
	    xasprintf("\"%s\" is no trusted destination; this version judges "
		      "destinations by what the policy trusts alone",
		      shown(&t, value, n)));
}

/* A key that is no plain name may be where the server looks. */
static int
odd_key(const struct args_walk *w)
{
	const struct args_step *s = &w->step[w->depth - 1];

	return w->depth > 1 && !s->in_list && s->at->string != NULL &&
	       strpbrk(s->at->string, "@.:/") != NULL;
}

/* True, false, a number without its literal: nothing trusts it. */
static int
is_no_text(const struct cJSON *item)
{
	return !cJSON_IsNull(item) && !cJSON_IsArray(item) &&
	       !cJSON_IsObject(item);
}

static void
take_value(struct sending *s, const struct args_find *at)
{
	struct args_walk w;

	args_walk_init(&w, at->value);
	while (args_next(&w) &&
	       !findings_full(s->f, CONTRACT_SINK, s->e->on_unproven)) {
		if (odd_key(&w))
			take(s, at, &w, w.item->string);
		if (cJSON_IsString(w.item) || cJSON_IsRaw(w.item))
			take(s, at, &w, w.item->valuestring);
		else if (is_no_text(w.item))
			take(s, at, &w, "");
	}
	if (w.too_deep)
		take(s, at, &w, "");
}

/* Where no declared sink is there, anything may be one. */
static void
take_all(struct sending *s, const struct cJSON *args)
{
	struct args_walk w;

	args_walk_init(&w, args);
	while (args_next(&w) &&
	       !findings_full(s->f, CONTRACT_SINK, s->e->on_unproven))
		if (cJSON_IsString(w.item) || cJSON_IsRaw(w.item))
			take(s, NULL, &w, w.item->valuestring);
	if (w.too_deep)
		take(s, NULL, &w, "");
}

void
sink_judge(const struct entry *e, const struct policy_call *c,
	   struct findings *f)
{
	struct sending s = {e, f, 0};
	struct args_find at;
	size_t i;

	if (!e->exfiltrating || c->args == NULL)
		return;
	for (i = 0; i < e->nsinks; i++) {
		args_find_init(&at, c->args, e->sinks[i].param);
		while (args_find_next(&at))
			take_value(&s, &at);
	}
	if (s.seen == 0 && !e->sinks_optional)
		take_all(&s, c->args);
}
