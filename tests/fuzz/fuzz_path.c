/*
 * The path resolver in a small file system of random links, against a second
 * implementation that shares nothing with it: that one walks over nodes of a
 * tree, not over text.  Both have to agree on where every name leads; what
 * the path contract allows has to be inside by the second one's word, in both
 * readings of ".."; what leads into an own directory has to be denied by
 * self.
 *
 * Input: lines.  "PATH" makes a directory, "PATH=TARGET" a link, "PATH!" one
 * that may not be looked into, "PATH." a file; after an empty line: a prefix,
 * a working directory, and the name.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"
#include "self.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 48
#define NAME 16
#define TEXT 256
#define DEEP 600
#define LONGEST 256 /* a name that is not there, with its NUL */

enum type { DIR_NODE, FILE_NODE, LINK_NODE, SHUT_NODE };

struct fnode {
	enum type type;
	int parent;
	char name[NAME];
	char target[TEXT];
};

static struct fnode nodes[NODES];
static int node_count;

/* Where the second implementation stands: a node, and names below it. */
struct place {
	int node;
	char missing[DEEP][LONGEST];
	int nmissing;
	int links;
	int refused;
};

static void
need(int holds)
{
	if (!holds)
		abort();
}

static int
child(int node, const char *name)
{
	int i;

	for (i = 1; i < node_count; i++)
		if (nodes[i].parent == node && strcmp(nodes[i].name, name) == 0)
			return i;
	return -1;
}

static void
naive(struct place *p, const char *text)
{
	char copy[4096], *save = NULL, *name;
	int c;

	snprintf(copy, sizeof(copy), "%s", text);
	if (copy[0] == '/') {
		p->node = 0;
		p->nmissing = 0;
	}
	for (name = strtok_r(copy, "/", &save); name != NULL && !p->refused;
	     name = strtok_r(NULL, "/", &save)) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			if (p->nmissing > 0)
				p->refused = 1;
			else
				p->node = nodes[p->node].parent;
			continue;
		}
		if (strlen(name) >= LONGEST) {
			p->refused = 1;
			return;
		}
		if (p->nmissing > 0) {
			need(p->nmissing < DEEP);
			snprintf(p->missing[p->nmissing++], LONGEST, "%s",
				 name);
			continue;
		}
		if (nodes[p->node].type != DIR_NODE) {
			p->refused = 1;
			return;
		}
		c = child(p->node, name);
		if (c < 0) {
			snprintf(p->missing[p->nmissing++], LONGEST, "%s",
				 name);
		} else if (nodes[c].type == LINK_NODE) {
			if (++p->links > 40)
				p->refused = 1;
			else
				naive(p, nodes[c].target);
		} else {
			p->node = c;
		}
	}
}

static void
put(char *out, size_t size, const struct place *p)
{
	int chain[NODES], n = 0, i;
	size_t at = 0;

	for (i = p->node; i != 0; i = nodes[i].parent)
		chain[n++] = i;
	out[0] = '\0';
	while (n > 0)
		at += (size_t)snprintf(out + at, size - at, "/%s",
				       nodes[chain[--n]].name);
	for (i = 0; i < p->nmissing; i++)
		at +=
		    (size_t)snprintf(out + at, size - at, "/%s", p->missing[i]);
	if (at == 0)
		snprintf(out, size, "/");
}

/* 1 with the text of where it leads. */
static int
leads_to(const char *text, char *out, size_t size)
{
	static struct place p;

	memset(&p, 0, sizeof(p));
	naive(&p, text);
	if (!p.refused)
		put(out, size, &p);
	return !p.refused;
}

/* As readlink(2), and it holds the walker to its promise: every part before
 * the last was followed already. */
static ssize_t
small_readlink(void *unused, const char *path, char *buf, size_t n)
{
	char copy[8192], *save = NULL, *name;
	int node = 0, c;
	size_t len;

	(void)unused;
	need(path[0] == '/' && strstr(path, "//") == NULL &&
	     strlen(path) <= PATH_BYTES_MAX);
	snprintf(copy, sizeof(copy), "%s", path);
	for (name = strtok_r(copy, "/", &save); name != NULL;
	     name = strtok_r(NULL, "/", &save)) {
		need(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
		need(nodes[node].type != LINK_NODE);
		if (nodes[node].type != DIR_NODE) {
			errno =
			    nodes[node].type == FILE_NODE ? ENOTDIR : EACCES;
			return -1;
		}
		c = child(node, name);
		if (c < 0) {
			errno = ENOENT;
			return -1;
		}
		node = c;
	}
	if (nodes[node].type != LINK_NODE) {
		errno = EINVAL;
		return -1;
	}
	len = strlen(nodes[node].target);
	len = len < n ? len : n;
	memcpy(buf, nodes[node].target, len);
	return (ssize_t)len;
}

/* One line of the file system.  Parents that are missing are made. */
static void
make(char *line)
{
	char *target = strchr(line, '='), *save = NULL, *name;
	enum type type = DIR_NODE;
	size_t len;
	int node = 0, c;

	if (target != NULL) {
		*target++ = '\0';
		type = LINK_NODE;
	}
	len = strlen(line);
	if (type == DIR_NODE && len > 0 &&
	    (line[len - 1] == '!' || line[len - 1] == '.')) {
		type = line[len - 1] == '!' ? SHUT_NODE : FILE_NODE;
		line[len - 1] = '\0';
	}
	for (name = strtok_r(line, "/", &save); name != NULL;
	     name = strtok_r(NULL, "/", &save)) {
		if (strlen(name) >= NAME || strcmp(name, ".") == 0 ||
		    strcmp(name, "..") == 0 || nodes[node].type != DIR_NODE)
			return;
		c = child(node, name);
		if (c < 0) {
			if (node_count == NODES)
				return;
			c = node_count++;
			memset(&nodes[c], 0, sizeof(nodes[c]));
			nodes[c].parent = node;
			strcpy(nodes[c].name, name);
		}
		node = c;
	}
	/* What has something in it stays a directory. */
	for (c = 1; c < node_count; c++)
		if (nodes[c].parent == node)
			return;
	if (node == 0 ||
	    (target != NULL && (target[0] == '\0' || strlen(target) >= TEXT)))
		return;
	nodes[node].type = type;
	if (target != NULL)
		strcpy(nodes[node].target, target);
}

static const struct policy_places *
places(const char *cwd, const char *const *own, size_t n)
{
	static struct policy_places p;

	memset(&p, 0, sizeof(p));
	p.cwd = cwd;
	p.own = own;
	p.own_count = n;
	p.readlink = small_readlink;
	return &p;
}

static int
in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return 1;
	return strncmp(path, dir, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/');
}

/* The name with its ".." taken out, by a stack of words. */
static void
take_out(const char *text, char *out, size_t size)
{
	char copy[4096], *words[2048], *save = NULL, *w;
	size_t n = 0, i, at = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (w = strtok_r(copy, "/", &save); w != NULL;
	     w = strtok_r(NULL, "/", &save)) {
		if (strcmp(w, "..") == 0)
			n -= n > 0;
		else if (strcmp(w, ".") != 0)
			words[n++] = w;
	}
	out[0] = '\0';
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, size - at, "/%s", words[i]);
	if (n == 0)
		snprintf(out, size, "/");
}

static void
check_walk(const char *name)
{
	static struct path_walk w;
	char second[8192], plain[8192], again[8192];
	size_t n;
	int ok = leads_to(name, second, sizeof(second));

	memset(&w, 0, sizeof(w));
	w.places = places(NULL, NULL, 0);
	if (path_walk(&w, "/", name, strlen(name)) == PATH_RESOLVED) {
		need(ok);
		need(strcmp(w.path, second) == 0 && w.len == strlen(second));
	} else {
		need(w.why != NULL);
		/* What is not there may be there by another spelling. */
		need(!ok || strstr(w.why, "another way") != NULL);
	}
	n = path_lexical(name, strlen(name), plain, sizeof(plain) - 1);
	plain[n] = '\0';
	take_out(name, again, sizeof(again));
	need(strcmp(plain, again) == 0);
	need(!path_has_dotdot(plain, n));
	/* Loosely it always ends somewhere, and where nothing was in doubt,
	 * in the same place. */
	w.loose = 1;
	if (path_walk(&w, "/", name, strlen(name)) == PATH_RESOLVED && ok)
		need(strcmp(w.path, second) == 0);
}

static void
check_contract(const char *prefix, const char *name)
{
	char whole[8192], plain[8192], inside[8192], dir[8192];
	char *params[] = {(char *)(uintptr_t) "path"};
	char *prefixes[] = {(char *)(uintptr_t)prefix};
	struct findings f = {NULL, 0, 0};
	struct policy_call c = {"t", 1, NULL, 1, NULL};
	struct entry e;
	cJSON *args = cJSON_CreateObject();
	const char *base = "/b";

	memset(&e, 0, sizeof(e));
	e.tool = (char *)(uintptr_t) "t";
	e.tool_len = 1;
	e.write_params.v = params;
	e.write_params.n = 1;
	e.prefixes.v = prefixes;
	e.prefixes.n = 1;
	e.base = (char *)(uintptr_t)base;
	cJSON_AddStringToObject(args, "path", name);
	c.args = args;
	c.places = places(NULL, NULL, 0);
	path_judge(&e, &c, &f);
	if (f.n == 0 && strncasecmp(name, "file:", 5) != 0) {
		snprintf(whole, sizeof(whole), "%s%s%s",
			 name[0] == '/' ? "" : base, name[0] == '/' ? "" : "/",
			 name);
		take_out(whole, plain, sizeof(plain));
		need(leads_to(prefix, dir, sizeof(dir)));
		need(leads_to(whole, inside, sizeof(inside)));
		need(in(inside, dir) && strcmp(inside, dir) != 0);
		need(leads_to(plain, inside, sizeof(inside)));
		need(in(inside, dir) && strcmp(inside, dir) != 0);
		need(path_ambiguity(name, strlen(name)) == NULL);
	}
	findings_clear(&f);
	cJSON_Delete(args);
}

static void
check_self(const char *own, const char *cwd, const char *name)
{
	char whole[8192], where[8192], plain[8192];
	const char *const dirs[] = {own};
	struct findings f = {NULL, 0, 0};
	cJSON *v = cJSON_CreateString(name);
	size_t i;
	int denied = 0;

	self_judge_value(places(cwd, dirs, 1), v, SELF_READS, &f);
	for (i = 0; i < f.n; i++)
		denied |= f.v[i].action == ACTION_BLOCK && f.v[i].always;
	snprintf(whole, sizeof(whole), "%s%s%s", name[0] == '/' ? "" : cwd,
		 name[0] == '/' ? "" : "/", name);
	take_out(whole, plain, sizeof(plain));
	if (leads_to(whole, where, sizeof(where)) && in(where, own))
		need(denied);
	if (leads_to(plain, where, sizeof(where)) && in(where, own))
		need(denied);
	/* Lexically alone, whatever is there. */
	if (strcmp(own, "/") != 0 && in(plain, own))
		need(denied);
	findings_clear(&f);
	cJSON_Delete(v);
}

/* What is after the empty line: prefix, working directory, name. */
static void
check(char *prefix, char *cwd, char *name)
{
	char real_prefix[8192], real_cwd[8192];

	if (name[0] == '\0' || strlen(name) > 600)
		return;
	check_walk(name);
	if (prefix[0] != '/' || strlen(prefix) > 600)
		return;
	check_contract(prefix, name);
	if (cwd[0] == '/' && strlen(cwd) <= 600 &&
	    leads_to(cwd, real_cwd, sizeof(real_cwd)) &&
	    leads_to(prefix, real_prefix, sizeof(real_prefix)) &&
	    strcmp(real_prefix, "/") != 0)
		check_self(real_prefix, real_cwd, name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *line, *next, *last[3];
	int n = -1, i;

	if (size > 4000 || memchr(data, '\0', size) != NULL)
		return 0;
	text = calloc(1, size + 2);
	need(text != NULL);
	memcpy(text, data, size);
	memset(nodes, 0, sizeof(nodes));
	node_count = 1;
	for (i = 0; i < 3; i++)
		last[i] = text + size;
	for (line = text; line != NULL && n < 3; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (n >= 0)
			last[n++] = line;
		else if (line[0] == '\0')
			n = 0;
		else
			make(line);
	}
	check(last[0], last[1], last[2]);
	free(text);
	return 0;
}
