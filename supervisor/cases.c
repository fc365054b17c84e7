/*
 * Reading cases.  Runs as the user in `doorward policy test`, on a file that
 * the user named.  YAML values become JSON values here, one by one; no JSON
 * text is parsed.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "policy.h"
#include "call.h"
#include "doc.h"
#include "suggest.h"

#include "cases.h"

static const char *const keys[] = {"tool", "arguments", "schema",
				   "cwd",  "attempt",   "expect",
				   "rule", "contract",  NULL};

/* Mappings and lists nest as deep as doc.c lets them. */
static cJSON *to_json(const struct node *n, struct policy_error *err);

static cJSON *
scalar(const struct node *n, struct policy_error *err)
{
	if (node_is_null(n))
		return cJSON_CreateNull();
	if (node_is_bool(n))
		return cJSON_CreateBool(n->text[0] == 't' || n->text[0] == 'T');
	if (!node_is_number(n))
		return cJSON_CreateString(n->text);
	if (text_json_number(n->text, n->len))
		return cJSON_CreateRaw(n->text);
	mistake(err, n,
		xasprintf("%s is no number in JSON; write it in decimal, or "
			  "in quotes if it is a text",
			  n->text));
	return NULL;
}

static cJSON *
container(const struct node *n, struct policy_error *err)
{
	int list = n->kind == NODE_SEQUENCE;
	cJSON *item = list ? cJSON_CreateArray() : cJSON_CreateObject();
	const struct node *c;
	cJSON *one;

	for (c = n->child; c != NULL; c = c->next) {
		one = to_json(list ? c : c->value, err);
		if (one == NULL) {
			cJSON_Delete(item);
			return NULL;
		}
		if (list)
			cJSON_AddItemToArray(item, one);
		else
			cJSON_AddItemToObject(item, c->text, one);
	}
	return item;
}

static cJSON *
to_json(const struct node *n, struct policy_error *err)
{
	return n->kind == NODE_SCALAR ? scalar(n, err) : container(n, err);
}

static int
read_object(const struct node *n, const char *name, cJSON **out,
	    struct policy_error *err)
{
	struct shown s;

	if (n->kind != NODE_MAPPING)
		return mistake(err, n,
			       xasprintf("%s: a mapping expected, not %s", name,
					 node_show(n, &s)));
	*out = to_json(n, err);
	return *out == NULL ? -1 : 0;
}

static int
read_text(const struct node *n, const char *name, char **out,
	  struct policy_error *err)
{
	struct shown s;

	if (!node_is_string(n) || n->len == 0)
		return mistake(err, n,
			       xasprintf("%s: a text expected, not %s", name,
					 node_show(n, &s)));
	*out = xmemdupz(n->text, n->len);
	return 0;
}

static int
read_attempt(const struct node *n, uint64_t *out, struct policy_error *err)
{
	struct shown s;
	size_t i;

	*out = 0;
	for (i = 0; node_is_number(n) && i < n->len; i++) {
		if (n->text[i] < '0' || n->text[i] > '9' || i > 17) {
			*out = 0;
			break;
		}
		*out = *out * 10 + (uint64_t)(n->text[i] - '0');
	}
	if (*out > 0)
		return 0;
	return mistake(err, n,
		       xasprintf("attempt: a whole number from 1 expected, "
				 "not %s",
				 node_show(n, &s)));
}

static int
read_expect(const struct node *n, int *out, struct policy_error *err)
{
	struct shown s;

	if (node_equals(n, "allow"))
		*out = ACTION_ALLOW;
	else if (node_equals(n, "ask"))
		*out = ACTION_ASK;
	else if (node_equals(n, "deny"))
		*out = ACTION_BLOCK;
	else
		return mistake(err, n,
			       xasprintf("expect: allow, ask or deny "
					 "expected, not %s",
					 node_show(n, &s)));
	return 0;
}

static int
read_contract(const struct node *n, int *out, struct policy_error *err)
{
	struct shown s;
	int c;

	for (c = CONTRACT_SELF; c <= CONTRACT_DEFAULT; c++) {
		/* What no case can ever find would fail for a wrong reason. */
		if (c == CONTRACT_PIN || c == CONTRACT_FLOW ||
		    c == CONTRACT_METHOD)
			continue;
		if (node_equals(n, contract_name((enum contract)c))) {
			*out = c;
			return 0;
		}
	}
	return mistake(err, n,
		       xasprintf("contract: self, rule, budget, path, "
				 "pattern, sink or default expected, not %s",
				 node_show(n, &s)));
}

/* list: the keys that there are. */
static int
unknown_key(const struct node *k, const char *what, const char *const *list,
	    struct policy_error *err)
{
	const char *near = suggest(k->text, k->len, list);
	struct shown s;

	if (near != NULL)
		return mistake(err, k,
			       xasprintf("%s is no key of %s; did you mean "
					 "\"%s\"?",
					 node_show(k, &s), what, near));
	return mistake(err, k,
		       xasprintf("%s is no key of %s; see doorward-policy(1)",
				 node_show(k, &s), what));
}

static int
read_key(struct one_case *c, const struct node *k, struct policy_error *err)
{
	const struct node *v = k->value;
	size_t i;

	for (i = 0; keys[i] != NULL && !node_equals(k, keys[i]); i++)
		;
	switch (i) {
	case 0:
		c->tool_len = v->len;
		return read_text(v, "tool", &c->tool, err);
	case 1:
		return read_object(v, "arguments", &c->args, err);
	case 2:
		return read_object(v, "schema", &c->schema, err);
	case 3:
		if (read_text(v, "cwd", &c->cwd, err) < 0)
			return -1;
		if (c->cwd[0] == '/')
			return 0;
		return mistake(err, v,
			       xstrdup("cwd: an absolute path "
				       "expected"));
	case 4:
		return read_attempt(v, &c->attempt, err);
	case 5:
		return read_expect(v, &c->expect, err);
	case 6:
		return read_text(v, "rule", &c->rule, err);
	case 7:
		return read_contract(v, &c->contract, err);
	default:
		return unknown_key(k, "a case", keys, err);
	}
}

static int
read_case(struct one_case *c, const struct node *n, struct policy_error *err)
{
	const struct node *k;
	struct shown s;

	c->line = n->line;
	c->attempt = 1;
	c->contract = -1;
	if (n->kind != NODE_MAPPING)
		return mistake(err, n,
			       xasprintf("a case expected, with tool and "
					 "expect, not %s",
					 node_show(n, &s)));
	for (k = n->child; k != NULL; k = k->next)
		if (read_key(c, k, err) < 0)
			return -1;
	if (c->tool == NULL || node_get(n, "expect") == NULL)
		return mistake(err, n,
			       xasprintf("a case without %s",
					 c->tool == NULL
					     ? "tool"
					     : "expect; it says allow, ask or "
					       "deny"));
	return 0;
}

static int
read_root(struct cases *c, const struct node *root, struct policy_error *err)
{
	static const char *const roots[] = {"cases", NULL};
	const struct node *k, *list, *one;

	if (root == NULL || root->kind != NODE_MAPPING ||
	    node_get(root, "cases") == NULL)
		return mistake_at(err, root != NULL ? root->line : 0,
				  root != NULL ? root->column : 0,
				  xstrdup("no cases; a file of cases has the "
					  "one key cases: with a list"));
	for (k = root->child; k != NULL; k = k->next)
		if (!node_equals(k, "cases"))
			return unknown_key(k, "a file of cases", roots, err);
	list = node_get(root, "cases");
	if (list->kind != NODE_SEQUENCE)
		return mistake(err, list,
			       xstrdup("cases: a list of cases expected"));
	if (list->count == 0)
		return mistake(err, list,
			       xstrdup("cases: the list is empty; nothing "
				       "would be tested"));
	c->v = xcalloc(list->count, sizeof(*c->v));
	for (one = list->child; one != NULL; one = one->next)
		if (read_case(&c->v[c->n++], one, err) < 0)
			return -1;
	return 0;
}

static int
read_file(const char *file, struct buf *b, struct policy_error *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && buf_used(b) <= DOC_BYTES_MAX) {
		n = read(fd, buf_reserve(b, 65536), 65536);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			b->len += (size_t)n;
	}
	if (fd < 0 || n < 0) {
		mistake_at(
		    err, 0, 0,
		    xasprintf("cannot be read: %s", strerrordesc_np(errno)));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	if (buf_used(b) > DOC_BYTES_MAX)
		return mistake_at(err, 0, 0,
				  xstrdup("more than 1 MiB; split it"));
	return 0;
}

int
cases_read(struct cases *c, const char *file, struct policy_error *err)
{
	struct buf b = BUF_INIT;
	struct doc doc;
	int result;

	memset(c, 0, sizeof(*c));
	memset(err, 0, sizeof(*err));
	memset(&doc, 0, sizeof(doc));
	result = read_file(file, &b, err);
	if (result == 0)
		result = doc_parse(&doc, buf_used(&b) > 0 ? buf_head(&b) : "",
				   buf_used(&b), err);
	if (result == 0)
		result = read_root(c, doc.root, err);
	if (result < 0)
		err->file = xstrdup(file);
	doc_free(&doc);
	buf_free(&b);
	return result;
}

void
cases_free(struct cases *c)
{
	struct one_case *one;
	size_t i;

	for (i = 0; i < c->n; i++) {
		one = &c->v[i];
		free(one->tool);
		cJSON_Delete(one->args);
		cJSON_Delete(one->schema);
		free(one->cwd);
		free(one->rule);
	}
	free(c->v);
	memset(c, 0, sizeof(*c));
}
