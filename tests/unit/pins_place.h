/*
 * A state directory for each test of pins, and short ways to store and look
 * up definitions.  Include after cmocka.h, cjson/cJSON.h, pins_help.h and
 * the headers of pins.
 */
#ifndef DW_TEST_PINS_PLACE_H
#define DW_TEST_PINS_PLACE_H

#define A "{\"name\":\"a\",\"description\":\"one\"}"
#define A2 "{\"name\":\"a\",\"description\":\"two\"}"
#define A3 "{\"name\":\"a\",\"description\":\"three\"}"
#define B "{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}"
#define C "{\"name\":\"c\"}"

static const char *const npx[] = {"npx", "-y", "mail", NULL};

struct place {
	char dir[64], pins[80];
};

static inline struct pin_key
set_of(char c)
{
	struct pin_key k = {c < 'a' ? "modern" : "legacy", ""};

	memset(k.caps, c < 'a' ? c - 'A' + 'a' : c, sizeof(k.caps) - 1);
	return k;
}

static inline int
place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char *why;

	if (p == NULL)
		return -1;
	snprintf(p->dir, sizeof(p->dir), "/tmp/doorward-pins.XXXXXX");
	if (mkdtemp(p->dir) == NULL || pins_make_dir(p->dir, &why) == -1)
		return -1;
	snprintf(p->pins, sizeof(p->pins), "%s/pins", p->dir);
	*state = p;
	return 0;
}

static inline int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline int
place_remove(void **state)
{
	struct place *p = *state;
	int r = nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);

	free(p);
	return r;
}

static inline struct pins *
mail(const struct place *pl)
{
	return pins_new(pl->dir, "mail", "mail-mcp");
}

static inline void
is_ok(enum pins_status st, char *why)
{
	if (st != PINS_OK)
		print_error("%s\n", why != NULL ? why : "no reason");
	assert_int_equal(st, PINS_OK);
	assert_null(why);
}

static inline void
load(struct pins *p)
{
	char *why = NULL;

	is_ok(pins_load(p, &why), why);
}

static inline void
load_fails(const struct place *pl, const char *reason)
{
	struct pins *p = mail(pl);
	struct pin_key k = set_of('a');
	char *why = NULL, hash[65];

	assert_int_equal(pins_load(p, &why), PINS_FAILED);
	assert_non_null(why);
	if (strstr(why, reason) == NULL)
		fail_msg("%s, not %s", why, reason);
	free(why);
	/* Nothing is taken for "no pins". */
	memset(hash, 'f', 64);
	hash[64] = '\0';
	assert_int_equal(pins_sight(p, &k, "a", 1, hash), PIN_CHANGED);
	assert_false(pins_command_same(p, npx));
	assert_false(pins_instructions_same(p, "", 0));
	assert_false(pins_version_same(p, "1", 1));
	assert_false(pins_has_set(p, &k));
	assert_true(pins_changed_on_disk(p));
	pins_free(p);
}

/* Stores up to three definitions. */
static inline enum pins_status
store_with(struct pins *p, char set, const char *const *json, size_t n,
	   const struct pin_facts *facts, int first, char **why)
{
	struct pin_key k = set_of(set);
	struct pin_tool tools[3] = {{NULL, 0, NULL}};
	cJSON *tree[3] = {NULL};
	enum pins_status st;
	size_t i;

	for (i = 0; i < n; i++) {
		tree[i] = tree_of(json[i]);
		tools[i].definition = tree[i];
		tools[i].name =
		    cJSON_GetObjectItem(tree[i], "name")->valuestring;
		tools[i].len = strlen(tools[i].name);
	}
	st = pins_store(p, &k, tools, n, facts, first, why);
	for (i = 0; i < n; i++)
		cJSON_Delete(tree[i]);
	return st;
}

static inline void
store(struct pins *p, char set, const char *one, const char *two, int first)
{
	static const struct pin_facts facts = {npx, "1.0", 3, "Hello", 5};
	const char *json[] = {one, two};
	char *why = NULL;

	is_ok(store_with(p, set, json, (one != NULL) + (two != NULL), &facts,
			 first, &why),
	      why);
}

static inline enum pin_sight
sight(const struct pins *p, char set, const char *json)
{
	struct pin_key k = set_of(set);
	cJSON *tree = tree_of(json);
	const char *name = cJSON_GetObjectItem(tree, "name")->valuestring;
	char hash[65];
	enum pin_sight s;

	canon_hash(tree, hash);
	s = pins_sight(p, &k, name, strlen(name), hash);
	cJSON_Delete(tree);
	return s;
}

static inline char *
the_file(const struct place *pl)
{
	struct pins *p = mail(pl);
	char *path = strdup(p->path);

	pins_free(p);
	return path;
}

static inline char *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char *p;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	p = calloc((size_t)st.st_size + 1, 1);
	assert_non_null(p);
	*len = fread(p, 1, (size_t)st.st_size, f);
	assert_int_equal(*len, st.st_size);
	fclose(f);
	return p;
}

static inline void
spill(const char *path, const char *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), (ssize_t)len);
	close(fd);
}

/* Puts a text in place with the last line that it needs. */
static inline void
spill_text(const char *path, const char *text)
{
	unsigned char h[crypto_hash_sha256_BYTES];
	char hex[65];
	struct buf b = BUF_INIT;

	crypto_hash_sha256(h, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(hex, sizeof(hex), h, sizeof(h));
	buf_printf(&b, "%send %s\n", text, hex);
	spill(path, b.data, b.len);
	buf_free(&b);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

#endif
