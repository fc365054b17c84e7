/*
 * Envelopes.  Runs in a relay, confined, on what scan.c took down of a
 * stranger's line.  Names and methods are compared unescaped and by their
 * whole length, so that there is one reading of a line and not two.
 */
#include <string.h>

#include "envelope.h"
#include "jsonstr.h"
#include "scan.h"

struct check {
	const struct scan *s;
	struct reading *r;
	int from_server;
};

static const struct scan_value *
slot(const struct check *c, enum scan_slot which)
{
	return &c->s->slot[which];
}

static int
present(const struct check *c, enum scan_slot which)
{
	return slot(c, which)->type != 0;
}

static const char *
literal(const struct check *c, enum scan_slot which)
{
	return c->s->line + slot(c, which)->off;
}

static enum refusal
refuse(const struct check *c, enum scan_slot which, enum refusal why)
{
	c->r->offset = slot(c, which)->off;
	return why;
}

/* The string in a slot, unescaped; STR_TOO_LONG if over room or no string. */
static size_t
get_string(const struct check *c, enum scan_slot which, char *out, size_t room)
{
	const struct scan_value *v = slot(c, which);

	if (v->type != '"')
		return STR_TOO_LONG;
	return str_unescape(literal(c, which) + 1, v->len - 2, out, room);
}

static int
string_is(const struct check *c, enum scan_slot which, const char *want)
{
	char text[32];
	size_t n = get_string(c, which, text, sizeof(text));

	return n == strlen(want) && memcmp(text, want, n) == 0;
}

static enum literal_status
get_scalar(const struct check *c, enum scan_slot which, char *store,
	   struct scalar *s)
{
	return literal_scalar(literal(c, which), slot(c, which)->len, store, s);
}

/* An array is refused before anything in it is looked at. */
static enum refusal
check_root(struct check *c)
{
	char type = slot(c, SLOT_ROOT)->type;

	if (type == '{')
		return REFUSAL_NONE;
	return refuse(c, SLOT_ROOT,
		      type == '[' ? REFUSAL_ARRAY : REFUSAL_NOT_OBJECT);
}

static enum refusal
fault(struct check *c, size_t where, enum refusal why)
{
	if (where == 0)
		return REFUSAL_NONE;
	c->r->offset = where - 1;
	return why;
}

/* A server's strings pass as they are written; only a client's are judged. */
static enum refusal
check_surrogate(struct check *c)
{
	return fault(c, c->from_server ? 0 : c->s->surrogate,
		     REFUSAL_SURROGATE);
}

static enum refusal
check_nul(struct check *c)
{
	return fault(c, c->from_server ? 0 : c->s->nul, REFUSAL_NUL);
}

/*
 * From a server two equal keys in params matter only where the monitor acts
 * on one of them: the token of a progress notification, the id of a
 * cancelled one.
 */
static enum refusal
check_duplicate(struct check *c)
{
	enum refusal why = fault(c, c->s->duplicate, REFUSAL_DUPLICATE);

	if (why != REFUSAL_NONE || !c->from_server)
		return why;
	if (string_is(c, SLOT_METHOD, "notifications/progress") ||
	    string_is(c, SLOT_METHOD, "notifications/cancelled"))
		return fault(c, c->s->params_duplicate, REFUSAL_DUPLICATE);
	return REFUSAL_NONE;
}

static enum refusal
check_spelling(struct check *c)
{
	return fault(c, c->s->variant, REFUSAL_KEY_CASE);
}

static enum refusal
check_jsonrpc(struct check *c)
{
	if (string_is(c, SLOT_JSONRPC, "2.0"))
		return REFUSAL_NONE;
	return refuse(c, SLOT_JSONRPC, REFUSAL_JSONRPC);
}

/* JSON-RPC answers a request whose id it could not read with a null id. */
static int
null_id_allowed(const struct check *c)
{
	return c->from_server && present(c, SLOT_ERROR) &&
	       !present(c, SLOT_METHOD);
}

static enum refusal
check_id(struct check *c)
{
	struct envelope *e = &c->r->e;

	if (!present(c, SLOT_ID))
		return REFUSAL_NONE;
	if (slot(c, SLOT_ID)->type == 'n')
		return null_id_allowed(c) ? REFUSAL_NONE
					  : refuse(c, SLOT_ID, REFUSAL_ID_NULL);
	switch (get_scalar(c, SLOT_ID, c->r->id, &e->id)) {
	case LITERAL_OK:
		return REFUSAL_NONE;
	case LITERAL_LONG:
		return refuse(c, SLOT_ID, REFUSAL_ID_LONG);
	case LITERAL_TYPE:
	default:
		return refuse(c, SLOT_ID, REFUSAL_ID_TYPE);
	}
}

static enum refusal
check_method(struct check *c)
{
	const struct scan_value *v = slot(c, SLOT_METHOD);
	size_t n;

	if (v->type == 0)
		return REFUSAL_NONE;
	if (v->type != '"' || (v->flags & (STR_NUL | STR_SURROGATE)) != 0)
		return refuse(c, SLOT_METHOD, REFUSAL_METHOD_TYPE);
	n = get_string(c, SLOT_METHOD, c->r->method, sizeof(c->r->method));
	if (n == STR_TOO_LONG)
		return refuse(c, SLOT_METHOD, REFUSAL_METHOD_LONG);
	c->r->e.method_len = (uint16_t)n;
	return REFUSAL_NONE;
}

static enum refusal
check_params(struct check *c)
{
	if (!present(c, SLOT_PARAMS) || slot(c, SLOT_PARAMS)->type == '{')
		return REFUSAL_NONE;
	if (c->from_server && !present(c, SLOT_METHOD))
		return REFUSAL_NONE;
	return refuse(c, SLOT_PARAMS, REFUSAL_PARAMS_TYPE);
}

/* Exactly one of method, result and error; a result answers some id. */
static enum refusal
check_kind(struct check *c)
{
	int method = present(c, SLOT_METHOD), result = present(c, SLOT_RESULT);
	int error = present(c, SLOT_ERROR), id = present(c, SLOT_ID);
	uint8_t *kind = &c->r->e.kind;

	if (!method && !result && !error)
		return refuse(c, SLOT_ROOT, REFUSAL_NO_METHOD);
	if (method + result + error > 1)
		return refuse(c, result ? SLOT_RESULT : SLOT_ERROR,
			      REFUSAL_MIXED);
	if (result && !id)
		return refuse(c, SLOT_RESULT, REFUSAL_ID_TYPE);
	if (method)
		*kind = id ? KIND_REQUEST : KIND_NOTIFICATION;
	else
		*kind = result ? KIND_RESULT : KIND_ERROR;
	return REFUSAL_NONE;
}

/* A token that is no string or integer is none; it was given to nobody. */
static enum refusal
check_token(struct check *c)
{
	static const uint8_t tokens[] = {SLOT_REQUEST_ID, SLOT_PROGRESS_TOKEN,
					 SLOT_META_TOKEN};
	enum scan_slot which, mine = SLOT_NONE;
	struct scalar s;
	size_t i;

	if (string_is(c, SLOT_METHOD, "notifications/progress"))
		mine = SLOT_PROGRESS_TOKEN;
	else if (string_is(c, SLOT_METHOD, "notifications/cancelled"))
		mine = SLOT_REQUEST_ID;
	for (i = 0; i < sizeof(tokens); i++) {
		which = tokens[i];
		if (!present(c, which) || (c->from_server && which != mine))
			continue;
		if (get_scalar(c, which,
			       which == mine ? c->r->token : c->r->spare,
			       &s) == LITERAL_LONG)
			return refuse(c, which, REFUSAL_ID_LONG);
		if (which == mine)
			c->r->e.token = s;
	}
	return REFUSAL_NONE;
}

static enum refusal
check_call(struct check *c)
{
	if (c->from_server || c->r->e.kind != KIND_NOTIFICATION ||
	    !string_is(c, SLOT_METHOD, "tools/call"))
		return REFUSAL_NONE;
	return refuse(c, SLOT_METHOD, REFUSAL_CALL_WITHOUT_ID);
}

static enum refusal
check_tools(struct check *c)
{
	c->r->tools =
	    c->r->e.kind == KIND_RESULT && slot(c, SLOT_TOOLS)->type == '[';
	if (c->from_server && c->r->tools && c->s->tools > DW_TOOLS_MAX)
		return refuse(c, SLOT_TOOLS, REFUSAL_TOOLS);
	return REFUSAL_NONE;
}

/* The order is the order of precedence. */
static enum refusal (*const checks[])(struct check *) = {
    check_root,     check_surrogate, check_nul,   check_duplicate,
    check_spelling, check_jsonrpc,   check_id,    check_method,
    check_params,   check_kind,      check_token, check_call,
    check_tools,
};

static void
read_result(struct check *c)
{
	const struct scan_value *v = slot(c, SLOT_VERSION);
	struct reading *r = c->r;
	size_t n;

	if (r->e.kind != KIND_RESULT)
		return;
	r->told = r->tools || present(c, SLOT_INSTRUCTIONS) ||
		  present(c, SLOT_SERVER_INFO) || c->s->result_variant != 0;
	if (slot(c, SLOT_IS_ERROR)->type == 't')
		r->e.flags |= ENVELOPE_IS_ERROR;
	if (slot(c, SLOT_TASK)->type == '{' ||
	    string_is(c, SLOT_RESULT_TYPE, "task"))
		r->e.flags |= ENVELOPE_TASK;
	if (string_is(c, SLOT_RESULT_TYPE, "input_required"))
		r->e.flags |= ENVELOPE_INPUT;
	n = get_string(c, SLOT_VERSION, r->version, sizeof(r->version));
	if (n != STR_TOO_LONG && !(v->flags & (STR_NUL | STR_SURROGATE)))
		r->e.version_len = (uint16_t)n;
}

enum refusal
envelope_read(const struct scan *s, int from_server, struct reading *r)
{
	struct check c = {s, r, from_server};
	enum refusal why;
	size_t i;

	memset(&r->e, 0, sizeof(r->e));
	r->e.id.p = r->e.token.p = "";
	r->e.method = r->method;
	r->e.version = r->version;
	r->offset = 0;
	r->tools = r->told = 0;
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		why = checks[i](&c);
		if (why != REFUSAL_NONE)
			return why;
	}
	read_result(&c);
	return REFUSAL_NONE;
}
