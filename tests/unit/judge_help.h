/*
 * What the tests of judging share: arguments from JSON text, a file system of
 * a few lines, entries without a file.  Include after cmocka.h, policy.h,
 * entry.h, call.h and cjson/cJSON.h.
 */
#ifndef DW_TEST_JUDGE_HELP_H
#define DW_TEST_JUDGE_HELP_H

#include <errno.h>

/* Numbers become their literal, as the monitor has them. */
static inline void
raw_numbers(cJSON *item)
{
	char *text;

	for (; item != NULL; item = item->next) {
		if (cJSON_IsNumber(item)) {
			text = cJSON_PrintUnformatted(item);
			item->type = cJSON_Raw;
			item->valuestring = text;
		}
		raw_numbers(item->child);
	}
}

static inline cJSON *
json(const char *text)
{
	cJSON *item = cJSON_Parse(text);

	if (item == NULL)
		print_error("no JSON: %s\n", text);
	assert_non_null(item);
	raw_numbers(item);
	return item;
}

/*
 * A file system: "/a" is there, "/a -> b" a link, "/a !13" an errno.  What is
 * not named is not there.
 */
struct fake {
	const char *const *lines; /* ended by NULL */
	size_t calls;
};

static inline ssize_t
fake_readlink(void *arg, const char *path, char *buf, size_t n)
{
	struct fake *f = arg;
	size_t i, len = strlen(path);
	const char *line;

	f->calls++;
	for (i = 0; f->lines[i] != NULL; i++) {
		line = f->lines[i];
		if (strncmp(line, path, len) != 0)
			continue;
		if (line[len] == '\0') {
			errno = EINVAL;
			return -1;
		}
		if (strncmp(line + len, " -> ", 4) == 0) {
			line += len + 4;
			len = strlen(line) < n ? strlen(line) : n;
			memcpy(buf, line, len);
			return (ssize_t)len;
		}
		if (strncmp(line + len, " !", 2) == 0) {
			errno = atoi(line + len + 2);
			return -1;
		}
	}
	errno = ENOENT;
	return -1;
}

/* An entry of a policy file p.yaml for a tool; keys are given one by one. */
static inline void
test_entry(struct entry *e, const char *tool)
{
	entry_init(e);
	e->tool = strdup(tool);
	e->tool_len = strlen(tool);
}

static inline void
test_given(struct entry *e, enum entry_key k)
{
	e->place[k].given = 1;
	e->place[k].file = "p.yaml";
	e->place[k].line = 3;
	e->place[k].format = FORMAT_OWN;
}

/* The words of a list, separated by blanks; added to what is there. */
static inline void
test_strings(struct entry *e, enum entry_key k, struct strings *s,
	     const char *words)
{
	char *copy = strdup(words), *save = NULL, *word;

	for (word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		s->v = realloc(s->v, (s->n + 1) * sizeof(*s->v));
		s->v[s->n++] = strdup(word);
	}
	free(copy);
	test_given(e, k);
}

static inline void
test_sink(struct entry *e, const char *param)
{
	e->sinks = realloc(e->sinks, (e->nsinks + 1) * sizeof(*e->sinks));
	e->sinks[e->nsinks].param = strdup(param);
	e->sinks[e->nsinks++].kind = SINK_ADDRESS;
	e->exfiltrating = 1;
	test_given(e, KEY_SINK_PARAMS);
	test_given(e, KEY_EXFILTRATING);
}

/* Prints what was found, for a test that failed. */
static inline void
print_findings(const struct findings *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		print_error("  %s %s %s [%s]: %s\n",
			    contract_name(f->v[i].contract),
			    policy_action_name(f->v[i].action), f->v[i].rule,
			    f->v[i].param ? f->v[i].param : "", f->v[i].reason);
}

#endif
