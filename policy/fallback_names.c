/*
 * The table of parameter names.  Runs in the monitor on names that a server
 * chose; no allocation.
 */
#include <string.h>

#include "policy.h"
#include "entry.h"
#include "verbs.h"
#include "fallback_names.h"

enum when {
	ALWAYS,      /* unmistakable, whatever the tool does */
	NOT_BY_READ, /* unless the tool only reads */
	BY_SEND,     /* if the tool sends */
	BY_CONTENT,  /* if it sends, or makes something that has a text */
	BY_FETCH     /* if it sends, or opens what a URL names */
};

enum part {
	WHOLE, /* the name is just this */
	END    /* it ends so */
};

static const struct {
	const char *words;
	enum part part;
	enum when when;
	enum sink_kind kind;
} sinks[] = {
    {"to", WHOLE, ALWAYS, SINK_ADDRESS},
    {"cc", WHOLE, ALWAYS, SINK_ADDRESS},
    {"bcc", WHOLE, ALWAYS, SINK_ADDRESS},
    {"reply to", WHOLE, NOT_BY_READ, SINK_ADDRESS},
    {"to address", END, ALWAYS, SINK_ADDRESS},
    {"to addresses", END, ALWAYS, SINK_ADDRESS},
    {"to email", END, ALWAYS, SINK_ADDRESS},
    {"to emails", END, ALWAYS, SINK_ADDRESS},
    {"to number", END, ALWAYS, SINK_ADDRESS},
    {"to phone", END, ALWAYS, SINK_ADDRESS},
    {"to recipients", END, ALWAYS, SINK_ADDRESS},
    {"to account", END, NOT_BY_READ, SINK_ADDRESS},
    {"send to", END, ALWAYS, SINK_ADDRESS},
    {"email to", END, ALWAYS, SINK_ADDRESS},
    {"mail to", END, ALWAYS, SINK_ADDRESS},
    {"mailto", END, ALWAYS, SINK_ADDRESS},
    {"forward", WHOLE, NOT_BY_READ, SINK_ADDRESS},
    {"forward to", END, ALWAYS, SINK_ADDRESS},
    {"forwarding address", END, ALWAYS, SINK_ADDRESS},
    {"forwarding email", END, ALWAYS, SINK_ADDRESS},
    {"share with", END, ALWAYS, SINK_ADDRESS},
    {"recipient", END, ALWAYS, SINK_ADDRESS},
    {"recipients", END, ALWAYS, SINK_ADDRESS},
    {"recipient id", END, ALWAYS, SINK_ADDRESS},
    {"recipient ids", END, ALWAYS, SINK_ADDRESS},
    {"recipient email", END, ALWAYS, SINK_ADDRESS},
    {"recipient emails", END, ALWAYS, SINK_ADDRESS},
    {"recipient address", END, ALWAYS, SINK_ADDRESS},
    {"recipient number", END, ALWAYS, SINK_ADDRESS},
    {"recipient phone", END, ALWAYS, SINK_ADDRESS},
    {"iban", END, NOT_BY_READ, SINK_ADDRESS},
    {"webhook", END, ALWAYS, SINK_ADDRESS},
    {"webhooks", END, ALWAYS, SINK_ADDRESS},
    {"webhook url", END, ALWAYS, SINK_ADDRESS},
    {"webhook urls", END, ALWAYS, SINK_ADDRESS},
    {"webhook uri", END, ALWAYS, SINK_ADDRESS},
    {"webhookurl", END, ALWAYS, SINK_ADDRESS},
    {"callback", END, ALWAYS, SINK_ADDRESS},
    {"callback url", END, ALWAYS, SINK_ADDRESS},
    {"callback uri", END, ALWAYS, SINK_ADDRESS},
    {"callbackurl", END, ALWAYS, SINK_ADDRESS},
    {"hook url", END, ALWAYS, SINK_ADDRESS},
    {"notify url", END, ALWAYS, SINK_ADDRESS},
    {"notification url", END, ALWAYS, SINK_ADDRESS},

    {"email", END, NOT_BY_READ, SINK_ADDRESS},
    {"emails", END, NOT_BY_READ, SINK_ADDRESS},
    {"email address", END, NOT_BY_READ, SINK_ADDRESS},
    {"email addresses", END, NOT_BY_READ, SINK_ADDRESS},
    {"emailaddress", END, NOT_BY_READ, SINK_ADDRESS},
    {"mail address", END, NOT_BY_READ, SINK_ADDRESS},
    {"attendee", END, NOT_BY_READ, SINK_ADDRESS},
    {"attendees", END, NOT_BY_READ, SINK_ADDRESS},
    {"invitee", END, NOT_BY_READ, SINK_ADDRESS},
    {"invitees", END, NOT_BY_READ, SINK_ADDRESS},
    {"guests", END, NOT_BY_READ, SINK_ADDRESS},
    {"participants", END, NOT_BY_READ, SINK_ADDRESS},
    {"phone", END, NOT_BY_READ, SINK_ADDRESS},
    {"phone number", END, NOT_BY_READ, SINK_ADDRESS},
    {"phone numbers", END, NOT_BY_READ, SINK_ADDRESS},
    {"msisdn", END, NOT_BY_READ, SINK_ADDRESS},
    {"fax number", END, NOT_BY_READ, SINK_ADDRESS},
    {"receiver", END, NOT_BY_READ, SINK_ADDRESS},
    {"receivers", END, NOT_BY_READ, SINK_ADDRESS},
    {"addressee", END, NOT_BY_READ, SINK_ADDRESS},
    {"payee", END, NOT_BY_READ, SINK_ADDRESS},
    {"beneficiary", END, NOT_BY_READ, SINK_ADDRESS},
    {"wallet address", END, NOT_BY_READ, SINK_ADDRESS},

    {"destination", END, BY_SEND, SINK_ADDRESS},
    {"destinations", END, BY_SEND, SINK_ADDRESS},
    {"destination account", END, BY_SEND, SINK_ADDRESS},
    {"account number", END, BY_SEND, SINK_ADDRESS},
    {"address", WHOLE, BY_SEND, SINK_ADDRESS},
    {"addresses", WHOLE, BY_SEND, SINK_ADDRESS},
    {"target", WHOLE, BY_SEND, SINK_ADDRESS},
    {"user", WHOLE, BY_SEND, SINK_ADDRESS},
    {"users", WHOLE, BY_SEND, SINK_ADDRESS},
    {"user id", WHOLE, BY_SEND, SINK_ADDRESS},
    {"user ids", WHOLE, BY_SEND, SINK_ADDRESS},
    {"username", WHOLE, BY_SEND, SINK_ADDRESS},
    {"contact", WHOLE, BY_SEND, SINK_ADDRESS},
    {"contacts", WHOLE, BY_SEND, SINK_ADDRESS},
    {"topic", WHOLE, BY_SEND, SINK_CONTAINER},
    {"group", WHOLE, BY_SEND, SINK_CONTAINER},
    {"group id", WHOLE, BY_SEND, SINK_CONTAINER},

    {"channel", END, BY_CONTENT, SINK_CONTAINER},
    {"channels", END, BY_CONTENT, SINK_CONTAINER},
    {"channel id", END, BY_CONTENT, SINK_CONTAINER},
    {"channel ids", END, BY_CONTENT, SINK_CONTAINER},
    {"channel name", END, BY_CONTENT, SINK_CONTAINER},
    {"chat", WHOLE, BY_CONTENT, SINK_CONTAINER},
    {"chat id", END, BY_CONTENT, SINK_CONTAINER},
    {"room", END, BY_CONTENT, SINK_CONTAINER},
    {"room id", END, BY_CONTENT, SINK_CONTAINER},
    {"conversation", END, BY_CONTENT, SINK_CONTAINER},
    {"conversation id", END, BY_CONTENT, SINK_CONTAINER},
    {"repo", END, BY_CONTENT, SINK_CONTAINER},
    {"repo id", END, BY_CONTENT, SINK_CONTAINER},
    {"repo name", END, BY_CONTENT, SINK_CONTAINER},
    {"repository", END, BY_CONTENT, SINK_CONTAINER},
    {"repository id", END, BY_CONTENT, SINK_CONTAINER},
    {"repository name", END, BY_CONTENT, SINK_CONTAINER},
    {"subreddit", END, BY_CONTENT, SINK_CONTAINER},

    {"url", WHOLE, ALWAYS, SINK_LINK},
    {"urls", WHOLE, ALWAYS, SINK_LINK},
    {"href", WHOLE, ALWAYS, SINK_LINK},
    {"endpoint", END, ALWAYS, SINK_LINK},
    {"endpoint url", END, ALWAYS, SINK_LINK},
    {"target url", END, ALWAYS, SINK_LINK},
    {"destination url", END, ALWAYS, SINK_LINK},
    {"page url", END, ALWAYS, SINK_LINK},
    {"site url", END, ALWAYS, SINK_LINK},
    {"website url", END, ALWAYS, SINK_LINK},
    {"feed url", END, ALWAYS, SINK_LINK},
    {"request url", END, ALWAYS, SINK_LINK},
    {"uri", WHOLE, BY_FETCH, SINK_LINK},
    {"uris", WHOLE, BY_FETCH, SINK_LINK},
    {"website", WHOLE, BY_FETCH, SINK_LINK},
    {"url", END, NOT_BY_READ, SINK_LINK},
    {"urls", END, NOT_BY_READ, SINK_LINK},
};

/* Whose address or which link it is, where that is no destination. */
static const char *const not_sinks[] = {
    "author", "avatar", "base",     "canonical", "clone", "creator", "default",
    "filter", "from",   "homepage", "html",      "icon",  "link",    "logo",
    "my",     "owner",  "person",   "profile",   "query", "return",  "search",
    "self",   "sender", "source",   "upstream"};

/* Of these an address is kept, unless something is sent to them. */
static const char *const kept[] = {"account", "contact", "customer",
				   "lead",    "profile", "contacts",
				   "user",    "users",   "person"};

static const char *const paths[] = {
    "path",        "paths",       "filepath",   "filepaths",   "filename",
    "filenames",   "file name",   "file names", "directory",   "dir",
    "dirname",     "folder path", "outfile",    "output file", "out file",
    "output path", "savepath",    "localpath",  "output",      "dest file",
};

/* A place in the file system where something is moved or copied. */
static const char *const moved_paths[] = {"destination", "dest", "source",
					  "src", "target"};

static const char *const contents[] = {
    "attachment",  "attachments", "body",    "caption",  "code",
    "comment",     "comments",    "content", "data",     "contents",
    "description", "file",        "files",   "html",     "markdown",
    "message",     "messages",    "note",    "notes",    "payload",
    "snippet",     "subject",     "summary", "text",     "title",
    "value",       "values",      "blocks",  "html body"};

static const char *const questions[] = {
    "condition", "conditions", "criteria", "criterion", "filter",
    "filters",   "match",      "query",    "search",    "where"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct joined {
	char text[WORDS_MAX * (WORD_BYTES + 1)];
	size_t len;
};

static void
join(struct joined *j, const struct words *w)
{
	size_t i, n;

	j->len = 0;
	for (i = 0; i < w->n; i++) {
		n = strlen(w->word[i]);
		if (i > 0)
			j->text[j->len++] = ' ';
		memcpy(j->text + j->len, w->word[i], n);
		j->len += n;
	}
	j->text[j->len] = '\0';
}

static int
ends_in(const struct joined *j, const char *words)
{
	size_t n = strlen(words);

	return j->len >= n && memcmp(j->text + j->len - n, words, n) == 0 &&
	       (j->len == n || j->text[j->len - n - 1] == ' ');
}

static int
ends_in_any(const struct joined *j, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ends_in(j, list[i]))
			return 1;
	return 0;
}

static int
has_any(const struct words *w, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (words_have(w, list[i]))
			return 1;
	return 0;
}

static int
holds(enum when when, const struct name_context *c)
{
	const struct verbs *v = c->verbs;

	switch (when) {
	case ALWAYS:
		return 1;
	case NOT_BY_READ:
		return !v->reads || v->fetches;
	case BY_SEND:
		return v->sends;
	case BY_CONTENT:
		return v->sends || ((v->makes || !v->known) && c->with_content);
	case BY_FETCH:
		break;
	}
	return v->sends || v->fetches;
}

/* "to" is a time, an amount, a language or one end of an edge as well. */
static int
is_other_to(const struct words *name, const struct name_context *c)
{
	if (name->n != 1 || strcmp(name->word[0], "to") != 0 || c->verbs->sends)
		return 0;
	return c->beside_from || words_have(c->tool, "convert") ||
	       words_have(c->tool, "translate");
}

/* An address that belongs to what is made or looked at. */
static int
is_kept(const struct words *name, const struct name_context *c)
{
	if (c->verbs->sends)
		return 0;
	return has_any(name, kept, COUNT(kept)) ||
	       has_any(c->tool, kept, COUNT(kept));
}

static int
is_of_another(const struct words *name, enum sink_kind kind)
{
	if (has_any(name, not_sinks, COUNT(not_sinks)))
		return 1;
	/* A link to a repository is none out of it. */
	return kind == SINK_LINK &&
	       (words_have(name, "repo") || words_have(name, "repository"));
}

int
name_is_sink(const struct words *name, const struct name_context *c,
	     enum sink_kind *kind)
{
	struct joined j;
	size_t i;

	join(&j, name);
	for (i = 0; i < COUNT(sinks); i++) {
		if (sinks[i].part == WHOLE ? strcmp(j.text, sinks[i].words) != 0
					   : !ends_in(&j, sinks[i].words))
			continue;
		if (!holds(sinks[i].when, c))
			continue;
		if (is_other_to(name, c))
			return 0;
		if (sinks[i].when != ALWAYS &&
		    is_of_another(name, sinks[i].kind))
			continue;
		if (sinks[i].when == NOT_BY_READ &&
		    sinks[i].kind == SINK_ADDRESS && is_kept(name, c))
			continue;
		*kind = sinks[i].kind;
		if (*kind == SINK_LINK && c->verbs->sends &&
		    !c->verbs->fetches && sinks[i].when == ALWAYS)
			*kind = SINK_ADDRESS;
		return 1;
	}
	return 0;
}

int
name_completes(const struct words *name)
{
	static const char *const names[] = {"owner", "org", "organization",
					    "namespace", "workspace"};

	return name->n == 1 && has_any(name, names, COUNT(names));
}

int
name_is_path(const struct words *name, const struct name_context *c)
{
	struct joined j;

	if (!c->verbs->writes)
		return 0;
	join(&j, name);
	if (ends_in_any(&j, paths, COUNT(paths)))
		return 1;
	return !c->verbs->sends &&
	       (c->verbs->moves || words_have(c->tool, "copy")) &&
	       ends_in_any(&j, moved_paths, COUNT(moved_paths));
}

int
name_is_content(const struct words *name)
{
	struct joined j;

	join(&j, name);
	return ends_in_any(&j, contents, COUNT(contents));
}

int
name_is_question(const struct words *name)
{
	struct joined j;

	join(&j, name);
	return ends_in_any(&j, questions, COUNT(questions));
}
