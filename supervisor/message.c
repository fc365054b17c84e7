/*
 * From a relay's tree to a message.  Runs in the monitor, on bytes that a
 * fallen relay may have made up, so every check of the relay that protects
 * the server or the audit is made here again.  No recursion.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/keyset.h"
#include "proto/limits.h"
#include "proto/log.h"
#include "proto/tree.h"

#include "message.h"

static cJSON *
new_item(int type)
{
	cJSON *item = cJSON_CreateNull();

	if (item != NULL)
		item->type = type;
	else
		fatal("out of memory");
	return item;
}

static cJSON *
item_of(const struct tree_token *t)
{
	cJSON *item;

	switch (t->tag) {
	case TREE_NULL:
		return new_item(cJSON_NULL);
	case TREE_TRUE:
		return new_item(cJSON_True);
	case TREE_FALSE:
		return new_item(cJSON_False);
	case TREE_ARRAY:
		return new_item(cJSON_Array);
	case TREE_OBJECT:
		return new_item(cJSON_Object);
	default:
		item =
		    new_item(t->tag == TREE_NUMBER ? cJSON_Raw : cJSON_String);
		item->valuestring = xmemdupz(t->p, t->len);
		return item;
	}
}

static int
object_has_duplicate(const cJSON *object)
{
	struct key_span few[16], *keys = few;
	const cJSON *c;
	size_t n = 0;
	int dup;

	for (c = object->child; c != NULL; c = c->next)
		n++;
	if (n < 2)
		return 0;
	if (n > 16)
		keys = xcalloc(n, sizeof(*keys));
	n = 0;
	for (c = object->child; c != NULL; c = c->next, n++) {
		keys[n].p = c->string;
		keys[n].len = (uint32_t)strlen(c->string);
	}
	dup = keys_have_duplicate(keys, n);
	if (keys != few)
		free(keys);
	return dup;
}

struct building {
	cJSON *stack[DW_DEPTH_MAX]; /* open containers, borrowed from root */
	size_t depth;
	cJSON *root;
	char *key; /* owned until it gets its value */
};

static void
attach(struct building *g, cJSON *item)
{
	item->string = g->key;
	g->key = NULL;
	if (g->depth > 0)
		cJSON_AddItemToArray(g->stack[g->depth - 1], item);
	else
		g->root = item;
	if (cJSON_IsArray(item) || cJSON_IsObject(item))
		g->stack[g->depth++] = item;
}

cJSON *
message_tree(const char *p, size_t n, int dup)
{
	struct building g = {.root = NULL};
	const cJSON *top;
	struct tree_reader r;
	struct tree_token t;
	enum tree_status st;

	tree_reader_init(&r, p, n);
	while ((st = tree_next(&r, &t)) == TREE_OK) {
		if (t.tag == TREE_KEY) {
			g.key = xmemdupz(t.p, t.len);
		} else if (t.tag == TREE_END) {
			top = g.stack[--g.depth];
			if (dup && top != NULL && cJSON_IsObject(top) &&
			    object_has_duplicate(top))
				break;
		} else {
			attach(&g, item_of(&t));
		}
	}
	free(g.key);
	if (st == TREE_DONE)
		return g.root;
	cJSON_Delete(g.root);
	return NULL;
}

cJSON *
message_member(const cJSON *object, const char *name)
{
	return cJSON_IsObject(object)
		   ? cJSON_GetObjectItemCaseSensitive(object, name)
		   : NULL;
}

/* 0 and *s filled, or -1 if there is an item that is no fit scalar. */
static int
scalar_of(const cJSON *item, struct scalar *s)
{
	size_t len;

	*s = (struct scalar){SCALAR_NONE, 0, ""};
	if (item == NULL)
		return 0;
	if (!cJSON_IsString(item) && !cJSON_IsRaw(item))
		return -1;
	len = strlen(item->valuestring);
	if (len > DW_ID_MAX)
		return -1;
	s->type = cJSON_IsString(item) ? SCALAR_STRING : SCALAR_NUMBER;
	s->len = (uint16_t)len;
	s->p = item->valuestring;
	return scalar_valid(s) ? 0 : -1;
}

static int
has_variant(const cJSON *object, enum key_place place)
{
	const cJSON *c;

	for (c = object->child; c != NULL; c = c->next)
		if (key_is_variant(c->string, strlen(c->string), place))
			return 1;
	return 0;
}

static int
read_params(struct message *m)
{
	const cJSON *meta, *v;

	m->params = message_member(m->root, "params");
	if (m->params == NULL)
		return 0;
	if (!cJSON_IsObject(m->params) || has_variant(m->params, KEYS_PARAMS))
		return -1;
	meta = message_member(m->params, "_meta");
	/* A token that is no string or integer is none: it cannot match. */
	if (scalar_of(message_member(meta, "progressToken"), &m->token) == -1)
		m->token = (struct scalar){SCALAR_NONE, 0, ""};
	if (scalar_of(message_member(m->params, "requestId"), &m->cancels) ==
	    -1)
		m->cancels = (struct scalar){SCALAR_NONE, 0, ""};
	v = message_member(meta, "io.modelcontextprotocol/protocolVersion");
	m->modern = cJSON_IsString(v);
	m->task = !m->modern && message_member(m->params, "task") != NULL;
	return 0;
}

static int
classify(struct message *m)
{
	const cJSON *method = message_member(m->root, "method");
	int result = message_member(m->root, "result") != NULL;
	int error = message_member(m->root, "error") != NULL;
	int has_id = m->id.type != SCALAR_NONE;

	if ((method != NULL) + result + error != 1)
		return -1;
	if (method == NULL) {
		m->kind = result ? KIND_RESULT : KIND_ERROR;
		return has_id || error ? 0 : -1;
	}
	if (!cJSON_IsString(method) ||
	    strlen(method->valuestring) > DW_METHOD_MAX)
		return -1;
	m->method = method->valuestring;
	m->kind = has_id ? KIND_REQUEST : KIND_NOTIFICATION;
	if (!has_id && strcmp(m->method, "tools/call") == 0)
		return -1;
	return read_params(m);
}

static size_t
printed(const struct tree_token *t)
{
	size_t len = t->len, i;

	switch (t->tag) {
	case TREE_KEY:
	case TREE_STRING:
		for (i = 0; i < t->len; i++)
			if ((unsigned char)t->p[i] < 0x20)
				len += strchr("\b\f\n\r\t", t->p[i]) ? 1 : 5;
			else if (t->p[i] == '"' || t->p[i] == '\\')
				len++;
		return len + 3; /* quotes, and a colon or comma */
	case TREE_END:
		return 0;
	case TREE_ARRAY:
	case TREE_OBJECT:
		return 2;
	case TREE_FALSE:
		return 6;
	case TREE_NUMBER:
		return len + 1;
	default:
		return 5;
	}
}

/*
 * A line of the most bytes allowed prints to no more than these.  A tree can
 * hold what would print to six times as much, and no line can have said it.
 * The sum is one over for the root's last member, which has no comma.
 */
static int
fits_a_line(const char *p, size_t n)
{
	struct tree_reader r;
	struct tree_token t;
	size_t sum = 0;

	if (n <= DW_MESSAGE_MAX / 6)
		return 1;
	tree_reader_init(&r, p, n);
	while (tree_next(&r, &t) == TREE_OK)
		sum += printed(&t);
	return sum <= DW_MESSAGE_MAX + 1u;
}

int
message_decode(struct message *m, const char *p, size_t n)
{
	const cJSON *v;

	memset(m, 0, sizeof(*m));
	m->id.p = m->token.p = m->cancels.p = "";
	m->bytes = n;
	m->root = fits_a_line(p, n) ? message_tree(p, n, 1) : NULL;
	if (m->root == NULL)
		return -1;
	v = message_member(m->root, "jsonrpc");
	if (!cJSON_IsString(v) || strcmp(v->valuestring, "2.0") != 0 ||
	    has_variant(m->root, KEYS_ENVELOPE) ||
	    scalar_of(message_member(m->root, "id"), &m->id) == -1 ||
	    classify(m) == -1) {
		message_free(m);
		return -1;
	}
	return 0;
}

void
message_free(struct message *m)
{
	cJSON_Delete(m->root);
	memset(m, 0, sizeof(*m));
}
