/*
 * Trees for the tests of pins, as the monitor has them: numbers keep their
 * literal.  Include after cmocka.h and cjson/cJSON.h.
 */
#ifndef DW_TEST_PINS_HELP_H
#define DW_TEST_PINS_HELP_H

static inline cJSON *read_value(const char **p);

static inline void
skip_blanks(const char **p)
{
	*p += strspn(*p, " \t\r\n");
}

/* cJSON reads one string or word at a time; it does that well. */
static inline cJSON *
read_leaf(const char **p)
{
	const char *begin = *p;
	cJSON *item;
	char *word;

	if (*begin == '"') {
		for ((*p)++; **p != '"'; (*p)++)
			*p += **p == '\\';
		(*p)++;
	} else {
		*p += strcspn(begin, ",]} \t\r\n");
	}
	word = strndup(begin, (size_t)(*p - begin));
	assert_non_null(word);
	item = strchr("-0123456789", *begin) != NULL ? cJSON_CreateRaw(word)
						     : cJSON_Parse(word);
	free(word);
	assert_non_null(item);
	return item;
}

static inline cJSON *
read_container(const char **p, int object)
{
	cJSON *out = object ? cJSON_CreateObject() : cJSON_CreateArray();
	cJSON *key = NULL, *item;

	for ((*p)++; skip_blanks(p), **p != ']' && **p != '}';) {
		if (object) {
			key = read_leaf(p);
			skip_blanks(p);
			assert_true(*(*p)++ == ':');
		}
		item = read_value(p);
		if (object) {
			item->string = strdup(key->valuestring);
			cJSON_Delete(key);
		}
		cJSON_AddItemToArray(out, item);
		skip_blanks(p);
		*p += **p == ',';
	}
	(*p)++;
	return out;
}

static inline cJSON *
read_value(const char **p)
{
	skip_blanks(p);
	if (**p == '{' || **p == '[')
		return read_container(p, **p == '{');
	return read_leaf(p);
}

/* The caller deletes. */
static inline cJSON *
tree_of(const char *json)
{
	cJSON *tree = read_value(&json);

	skip_blanks(&json);
	assert_true(*json == '\0');
	return tree;
}

#endif
