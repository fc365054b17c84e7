/*
 * The path contract: where names lead, by a file system of a few lines and by
 * a real one.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"
#include "judge_help.h"

/* Case 056. */
static const char *const tree[] = {"/srv",
				   "/etc",
				   "/etc/passwd",
				   "/srv/work",
				   "/srv/work_evil",
				   "/srv/work/l -> /etc",
				   "/srv/work/dang -> /srv/work_evil/new",
				   "/srv/alias -> /srv/work",
				   "/srv/work/sub",
				   "/srv/work/file",
				   "/srv/work/rel -> sub/../file",
				   "/srv/work/up -> ../work_evil",
				   "/srv/work/ring -> ring2",
				   "/srv/work/ring2 -> ring",
				   "/srv/work/shut !13",
				   "/srv/work/file/x !20",
				   "/srv/work/odd !5",
				   "/srv/work/inside -> /srv/work/sub",
				   "/srv/work/self -> /proc/self",
				   "/srv/door -> /srv/work/sub",
				   "/proc",
				   "/proc/self -> 77",
				   "/proc/77",
				   "/proc/77/cwd -> /srv/work",
				   "/broken !13",
				   NULL};

struct setup {
	struct entry e;
	struct fake fake;
	struct policy_places places;
};

static void
set_up(struct setup *s, const char *prefixes)
{
	memset(s, 0, sizeof(*s));
	test_entry(&s->e, "write_file");
	test_strings(&s->e, KEY_WRITE_PARAMS, &s->e.write_params,
		     "path files items.path");
	if (prefixes != NULL)
		test_strings(&s->e, KEY_ALLOWED_PATH_PREFIXES, &s->e.prefixes,
			     prefixes);
	s->fake.lines = tree;
	s->places.readlink = fake_readlink;
	s->places.arg = &s->fake;
}

/* Judges; 1 if it is allowed.  *why (may be NULL) gets the first reason. */
static int
judged(struct setup *s, const cJSON *args, char *why, size_t size)
{
	struct policy_call c = {"write_file", 10, args, 1, &s->places};
	struct findings f = {NULL, 0, 0};
	const struct finding *worst;
	int allowed;

	path_judge(&s->e, &c, &f);
	worst = findings_worst(&f);
	allowed = worst == NULL;
	if (worst != NULL) {
		assert_int_equal(worst->action, ACTION_BLOCK);
		assert_int_equal(worst->contract, CONTRACT_PATH);
		assert_string_equal(worst->rule,
				    "tools.write_file.allowed_path_prefixes");
		assert_string_equal(worst->file, "p.yaml");
		if (why != NULL)
			snprintf(why, size, "%s [%s]", worst->reason,
				 worst->param);
	}
	findings_clear(&f);
	return allowed;
}

static int
allows(struct setup *s, const char *text)
{
	cJSON *args = json(text);
	int allowed = judged(s, args, NULL, 0);

	cJSON_Delete(args);
	return allowed;
}

/* The path itself, whatever is in it. */
static int
allows_path(struct setup *s, const char *path)
{
	cJSON *args = cJSON_CreateObject();
	int allowed;

	cJSON_AddStringToObject(args, "path", path);
	allowed = judged(s, args, NULL, 0);
	cJSON_Delete(args);
	return allowed;
}

static void
expect(struct setup *s, const char *path, int allowed)
{
	if (allows_path(s, path) == allowed)
		return;
	print_error("\"%s\" has to be %s\n", path,
		    allowed ? "allowed" : "denied");
	fail();
}

static void
case_056(struct setup *s, const char *root)
{
	static const struct {
		const char *path;
		int allowed;
	} steps[] = {
	    {"/work_evil/a", 0},   {"/work/../work_evil/a", 0},
	    {"/work/l/passwd", 0}, {"/work/dang", 0},
	    {"/work/l/../x", 0},   {"/work", 0},
	    {"/alias/ok.txt", 1},  {"/work/new/dir/ok.txt", 1},
	};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, steps[i].path);
		expect(s, path, steps[i].allowed);
	}
}

static void
test_case_056_fake(void **state)
{
	struct setup s;

	(void)state;
	set_up(&s, "/srv/work");
	case_056(&s, "/srv");
	entry_clear(&s.e);
	/* The same by a prefix that is a link. */
	set_up(&s, "/srv/alias");
	case_056(&s, "/srv");
	entry_clear(&s.e);
}

static ssize_t
real_readlink(void *arg, const char *path, char *buf, size_t n)
{
	(void)arg;
	return readlink(path, buf, n);
}

static void
make_link(const char *root, const char *to, const char *name)
{
	char target[PATH_MAX], path[PATH_MAX];

	snprintf(target, sizeof(target), "%s%s", to[1] == 'e' ? "" : root, to);
	snprintf(path, sizeof(path), "%s%s", root, name);
	assert_int_equal(symlink(target, path), 0);
}

static void
test_case_056_real(void **state)
{
	char root[] = "/tmp/doorward-path-XXXXXX", path[PATH_MAX],
	     prefix[PATH_MAX], command[PATH_MAX];
	struct setup s;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(prefix, sizeof(prefix), "%s/work", root);
	assert_int_equal(mkdir(prefix, 0700), 0);
	snprintf(path, sizeof(path), "%s/work_evil", root);
	assert_int_equal(mkdir(path, 0700), 0);
	make_link(root, "/etc", "/work/l");
	make_link(root, "/work_evil/new", "/work/dang");
	make_link(root, "/work", "/alias");
	set_up(&s, prefix);
	s.places.readlink = real_readlink;
	case_056(&s, root);
	entry_clear(&s.e);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	assert_int_equal(system(command), 0);
}

static void
test_links(void **state)
{
	struct setup s;

	(void)state;
	set_up(&s, "/srv/work");
	expect(&s, "/srv/work/file", 1);
	expect(&s, "/srv/work/file/", 1);
	expect(&s, "/srv//work/./file", 1);
	expect(&s, "/srv/work/rel", 1);
	expect(&s, "/srv/work/sub/../new", 1);
	expect(&s, "/srv/work/inside/new", 1);
	expect(&s, "/srv/work/up/new", 0);
	expect(&s, "/srv/work/ring", 0);
	expect(&s, "/srv/work/shut/x", 0);
	expect(&s, "/srv/work/shut", 0);
	expect(&s, "/srv/work/file/x", 0);
	expect(&s, "/srv/work/odd", 0);
	expect(&s, "/srv/work/sub/..", 0); /* the folder itself */
	expect(&s, "/srv/work/", 0);
	expect(&s, "/srv/work/.", 0);
	expect(&s, "/srv", 0);
	expect(&s, "/", 0);
	/* ".." behind what is not there: a link may be there later. */
	expect(&s, "/srv/work/new/../file", 0);
	/* Followed it is inside, but a server that takes ".." out first
	 * writes to /srv/x. */
	expect(&s, "/srv/door/../x", 0);
	expect(&s, "/srv/door/x", 1);
	/* What one process sees is not what another does. */
	expect(&s, "/srv/work/self/cwd/x", 0);
	expect(&s, "/proc/self/cwd/file", 0);
	entry_clear(&s.e);
}

static void
test_link_limit(void **state)
{
	static char lines[45][64];
	const char *list[46];
	struct setup s;
	char path[64];
	size_t i;

	(void)state;
	/* n0 is plain, each next one a link to the one before. */
	for (i = 0; i < 45; i++) {
		if (i == 0)
			snprintf(lines[i], sizeof(lines[i]), "/w/n0");
		else
			snprintf(lines[i], sizeof(lines[i]), "/w/n%zu -> n%zu",
				 i, i - 1);
		list[i] = lines[i];
	}
	list[44] = "/w";
	list[45] = NULL;
	set_up(&s, "/w");
	s.fake.lines = list;
	snprintf(path, sizeof(path), "/w/n%u", PATH_LINKS_MAX);
	expect(&s, path, 1);
	snprintf(path, sizeof(path), "/w/n%u", PATH_LINKS_MAX + 1);
	expect(&s, path, 0);
	entry_clear(&s.e);
}

static void
test_ambiguous(void **state)
{
	static const char *const bad[] = {"",
					  " ",
					  " /srv/work/a",
					  "/srv/work/a ",
					  "/srv/work/a\t",
					  "\"/srv/work/a\"",
					  "'/srv/work/a",
					  "/srv/work/a`",
					  "/srv/work/a\xc2\xa0",
					  "\xe2\x80\x9c/srv/work/a",
					  "~/a",
					  "~root/a",
					  "~",
					  "a",
					  "./a",
					  "../a",
					  "work/a",
					  "/srv/work/a\\b",
					  "\\srv\\work",
					  "/srv/work/a\nb",
					  "/srv/work/\x01",
					  "/srv/work/\x7f",
					  "/srv/work/a\xe2\x80\x8b",
					  "/srv/work/\xe2\x80\xae"
					  "txt",
					  "/srv/work/\xff",
					  "$HOME/a",
					  "http://x/y",
					  "ftp:///srv/work/a"};
	static const char *const good[] = {
	    "/srv/work/a b",      "/srv/work/~a",  "/srv/work/a'b",
	    "/srv/work/\xc3\xa9", "/srv/work/...", "/srv/work/..a"};
	struct setup s;
	size_t i;

	(void)state;
	set_up(&s, "/srv/work");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(&s, bad[i], 0);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(&s, good[i], 1);
	entry_clear(&s.e);
}

static void
test_lengths(void **state)
{
	char path[PATH_BYTES_MAX + 10];
	struct setup s;
	size_t i, n = 10;

	(void)state;
	set_up(&s, "/srv/work");
	memcpy(path, "/srv/work/", 11);
	memset(path + 10, 'a', 256);
	path[10 + 255] = '\0';
	expect(&s, path, 1);
	path[10 + 255] = 'a';
	path[10 + 256] = '\0';
	expect(&s, path, 0);
	for (i = n; i < sizeof(path) - 1; i++)
		path[i] = i % 100 == 0 ? '/' : 'a';
	path[PATH_BYTES_MAX] = '\0';
	expect(&s, path, 1);
	path[PATH_BYTES_MAX] = 'a';
	path[PATH_BYTES_MAX + 1] = '\0';
	expect(&s, path, 0);
	entry_clear(&s.e);
}

static void
test_urls(void **state)
{
	static const struct {
		const char *url;
		int allowed;
	} urls[] = {
	    {"file:///srv/work/a", 1},
	    {"FILE:///srv/work/a", 1},
	    {"file://localhost/srv/work/a", 1},
	    {"file://LOCALHOST/srv/work/a", 1},
	    {"file:///srv/work/a%20b", 1},
	    {"file:///srv/work/%61", 1},
	    {"file:///srv/%77ork/a", 1},
	    {"file:///srv/work_evil/a", 0},
	    {"file:///srv/work/%2e%2e/work_evil/a", 0},
	    {"file:///srv/work/l/passwd", 0},
	    {"file:///srv/work/a%2Fb", 0},
	    {"file:///srv/work/a%00", 0},
	    {"file:///srv/work/a%5Cb", 0},
	    {"file:///srv/work/a%0a", 0},
	    {"file:///srv/work/a%20", 0},
	    {"file:///srv/work/a%", 0},
	    {"file:///srv/work/a%2", 0},
	    {"file:///srv/work/a%zz", 0},
	    {"file:///srv/work/%ff", 0},
	    {"file:///srv/work/a?b", 0},
	    {"file:///srv/work/a#b", 0},
	    {"file://host/srv/work/a", 0},
	    {"file://localhost.evil/srv/work/a", 0},
	    {"file:/srv/work/a", 0},
	    {"file:srv/work/a", 0},
	    {"file:", 0},
	    {"file://", 0},
	    {"file:///", 0},
	    {" file:///srv/work/a", 0},
	};
	struct setup s;
	size_t i;

	(void)state;
	set_up(&s, "/srv/work");
	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		expect(&s, urls[i].url, urls[i].allowed);
	entry_clear(&s.e);
}

static void
test_values(void **state)
{
	struct setup s;

	(void)state;
	set_up(&s, "/srv/work");
	assert_true(allows(&s, "{}"));
	assert_true(allows(&s, "{\"path\":null}"));
	assert_true(allows(&s, "{\"other\":\"/etc/passwd\"}"));
	assert_true(allows(&s, "{\"files\":[]}"));
	assert_true(allows(&s, "{\"files\":[\"/srv/work/a\",null]}"));
	assert_true(allows(&s, "{\"files\":{\"a\":[\"/srv/work/a\"]}}"));
	assert_true(allows(&s, "{\"items\":[{\"path\":\"/srv/work/a\"},"
			       "{\"other\":\"x\"}]}"));
	assert_false(allows(&s, "{\"path\":1}"));
	assert_false(allows(&s, "{\"path\":true}"));
	assert_false(allows(&s, "{\"files\":[\"/srv/work/a\",2]}"));
	assert_false(allows(&s, "{\"files\":[\"/srv/work/a\",\"/etc/x\"]}"));
	assert_false(allows(&s, "{\"files\":{\"a\":[[\"/etc/x\"]]}}"));
	assert_false(allows(&s, "{\"items\":[{\"path\":\"/srv/work/a\"},"
				"{\"path\":\"/etc/x\"}]}"));
	/* A key with a dot does not hide what it looks like. */
	assert_false(allows(&s, "{\"items.path\":\"/srv/work/a\","
				"\"items\":{\"path\":\"/etc/x\"}}"));
	assert_false(allows(&s, "{\"items.path\":\"/etc/x\","
				"\"items\":{\"path\":\"/srv/work/a\"}}"));
	/* A plain value where an object was expected. */
	assert_false(allows(&s, "{\"items\":\"/etc/x\"}"));
	/* Keys that are paths themselves. */
	assert_false(allows(&s, "{\"files\":{\"/etc/x\":null}}"));
	assert_true(allows(&s, "{\"files\":{\"/srv/work/x\":null}}"));
	entry_clear(&s.e);
}

static void
test_places_are_named(void **state)
{
	char why[512];
	struct setup s;
	cJSON *args = json("{\"items\":[{},{\"path\":{\"a\":[\"/etc/x\"]}}]}");

	(void)state;
	set_up(&s, "/srv/work");
	assert_false(judged(&s, args, why, sizeof(why)));
	assert_string_equal(why, "\"/etc/x\" is outside "
				 "the allowed folders [items[1].path.a[0]]");
	cJSON_Delete(args);
	args = json("{\"path\":\"/srv/work/l/p\\u202ess\"}");
	assert_false(judged(&s, args, why, sizeof(why)));
	assert_string_equal(why, "the path \"/srv/work/l/p\\u{202e}ss\" is "
				 "ambiguous: has control or invisible "
				 "characters [path]");
	cJSON_Delete(args);
	entry_clear(&s.e);
}

static void
test_base(void **state)
{
	struct setup s;

	(void)state;
	set_up(&s, "/srv/work");
	expect(&s, "sub/a", 0);
	s.e.base = strdup("/srv/work");
	test_given(&s.e, KEY_BASE);
	expect(&s, "sub/a", 1);
	expect(&s, "a", 1);
	expect(&s, "../work_evil/a", 0);
	expect(&s, "l/passwd", 0);
	expect(&s, ".", 0);
	expect(&s, "", 0);
	expect(&s, "~/a", 0);
	expect(&s, "http://h/a", 0);
	expect(&s, "/srv/work/a", 1);
	expect(&s, "/etc/a", 0);
	free(s.e.base);
	s.e.base = strdup("/srv");
	expect(&s, "work/a", 1);
	expect(&s, "a", 0);
	entry_clear(&s.e);
}

static void
test_prefixes(void **state)
{
	struct setup s;

	(void)state;
	set_up(&s, NULL); /* unconfined */
	expect(&s, "/etc/passwd", 1);
	expect(&s, "~", 1);
	/* An empty list of one's own allows nothing; Bouncer's is none. */
	test_given(&s.e, KEY_ALLOWED_PATH_PREFIXES);
	expect(&s, "/srv/work/a", 0);
	s.e.place[KEY_ALLOWED_PATH_PREFIXES].format = FORMAT_BOUNCER;
	assert_true(allows(&s, "{\"path\":\"/etc/passwd\"}"));
	entry_clear(&s.e);

	set_up(&s, "/"); /* all but the root */
	expect(&s, "/etc/passwd", 1);
	expect(&s, "/", 0);
	expect(&s, "/srv/..", 0);
	entry_clear(&s.e);

	set_up(&s, "/srv/work/sub/ /later/on"); /* slash; not there yet */
	expect(&s, "/srv/work/sub/a", 1);
	expect(&s, "/srv/work/subway", 0);
	expect(&s, "/srv/work/file", 0);
	expect(&s, "/later/on/a", 1);
	expect(&s, "/later/on", 0);
	expect(&s, "/later/other", 0);
	entry_clear(&s.e);

	set_up(&s, "/broken/x /srv/work"); /* one cannot be followed */
	expect(&s, "/srv/work/a", 1);
	expect(&s, "/broken/x/a", 0);
	expect(&s, "/etc/a", 0);
	entry_clear(&s.e);

	/* A prefix inside another is no target either. */
	set_up(&s, "/srv /srv/work");
	expect(&s, "/srv/work", 0);
	expect(&s, "/srv/other", 1);
	entry_clear(&s.e);
}

static void
test_no_places(void **state)
{
	cJSON *args = json("{\"path\":\"/srv/work/a\"}");
	struct policy_call c = {"write_file", 10, args, 1, NULL};
	struct findings f = {NULL, 0, 0};
	struct setup s;

	(void)state;
	set_up(&s, "/srv/work");
	path_judge(&s.e, &c, &f);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.v[0].action, ACTION_BLOCK);
	findings_clear(&f);
	cJSON_Delete(args);
	entry_clear(&s.e);
}

static void
test_many(void **state)
{
	cJSON *args = cJSON_CreateObject(),
	      *list = cJSON_AddArrayToObject(args, "files");
	struct policy_call c = {"write_file", 10, args, 1, NULL};
	struct findings f = {NULL, 0, 0};
	struct setup s;
	size_t i;

	(void)state;
	set_up(&s, "/srv/work");
	c.places = &s.places;
	for (i = 0; i < PATH_TARGETS_MAX; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString("/srv/work/a"));
	path_judge(&s.e, &c, &f);
	assert_int_equal(f.n, 0);
	cJSON_AddItemToArray(list, cJSON_CreateString("/srv/work/a"));
	path_judge(&s.e, &c, &f);
	assert_int_equal(f.n, 1);
	findings_clear(&f);
	cJSON_Delete(args);
	entry_clear(&s.e);
}

static void
test_lexical(void **state)
{
	static const struct {
		const char *in, *out;
	} all[] = {
	    {"/a/b", "/a/b"},
	    {"a//b/", "/a/b"},
	    {"/", "/"},
	    {"", "/"},
	    {"/..", "/"},
	    {"/../../a", "/a"},
	    {"/a/../b", "/b"},
	    {"/a/b/../../c/.", "/c"},
	    {"/a/.../b", "/a/.../b"},
	    {"/a/b/..", "/a"},
	    {"/./a/./b/.", "/a/b"},
	    {"/.a/..b", "/.a/..b"},
	    {"/toolong/../x", "/x"},
	};
	char out[9];
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		n = path_lexical(all[i].in, strlen(all[i].in), out,
				 sizeof(out));
		assert_int_equal(n, strlen(all[i].out));
		assert_memory_equal(out, all[i].out, n);
	}
	assert_int_equal(path_lexical("/123456789", 10, out, sizeof(out)), 0);
	assert_int_equal(path_lexical("/12345678", 9, out, sizeof(out)), 9);
	assert_true(path_has_dotdot("..", 2));
	assert_true(path_has_dotdot("/..", 3));
	assert_true(path_has_dotdot("a/../b", 6));
	assert_false(path_has_dotdot("a/..b", 5));
	assert_false(path_has_dotdot("a../b", 5));
	assert_false(path_has_dotdot("...", 3));
	assert_true(path_has_dotdot(".../..", 6));
}

static void
test_below(void **state)
{
	(void)state;
	assert_true(path_is_below("/a/b", 4, "/a", 2));
	assert_true(path_is_below("/a", 2, "/a", 2));
	assert_true(path_is_below("/a", 2, "/a/", 3));
	assert_true(path_is_below("/a", 2, "/", 1));
	assert_false(path_is_below("/ab", 3, "/a", 2));
	assert_false(path_is_below("/", 1, "/a", 2));
}

/* A name that is not there by this spelling may be by another. */
static void
test_other_spelling(void **state)
{
	struct setup s;
	char *ascii;

	(void)state;
	set_up(&s, "/srv/work");
	expect(&s, "/srv/work/caf\xc3\xa9/x", 1);    /* composed */
	expect(&s, "/srv/work/cafe\xcc\x81/x", 0);   /* decomposed */
	expect(&s, "/srv/work/new/cafe\xcc\x81", 0); /* at any depth */
	expect(&s, "/srv/work/\xe2\x84\xaa", 0);     /* Kelvin, or K */
	expect(&s, "/srv/work/\xe0\xa4\x95\xe0\xa4\xbe", 1);
	expect(&s, "/srv/work/\xe6\x96\x87\xe4\xbb\xb6", 1);
	entry_clear(&s.e);
	ascii = path_in_ascii("\xe2\x84\xaa\xcd\xbe\xe1\xbf\xaf\xe2\x84\xaa");
	assert_string_equal(ascii, "K;`K");
	free(ascii);
	assert_null(path_in_ascii("/srv/K\xc3\xa9"));
}

static void
test_shorten(void **state)
{
	static const struct {
		const char *in, *out;
	} all[] = {{"a", "a"},
		   {"a/..", "."},
		   {"", "."},
		   {"./a//b/", "a/b"},
		   {"a/../../b/./c", "../b/c"},
		   {"../../a/..", "../../"}};
	const size_t ups = 3 * (PATH_UPS_MAX + 1);
	char out[PATH_SHORT_MAX], *long_text = malloc(ups + PATH_BYTES_MAX + 2);
	size_t i, n;

	(void)state;
	assert_non_null(long_text);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		n = path_shorten(all[i].in, strlen(all[i].in), out);
		assert_int_equal(n, strlen(all[i].out));
		assert_memory_equal(out, all[i].out, n);
	}
	for (i = 0; i < ups; i += 3)
		memcpy(long_text + i, "../", 3);
	memset(long_text + ups, 'a', PATH_BYTES_MAX + 1);
	n = path_shorten(long_text, ups + PATH_BYTES_MAX, out);
	assert_int_equal(n, PATH_SHORT_MAX - 1);
	assert_memory_equal(out, long_text + 3, n);
	assert_int_equal(path_shorten(long_text, ups + PATH_BYTES_MAX + 1, out),
			 0);
	free(long_text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shorten),
	    cmocka_unit_test(test_other_spelling),
	    cmocka_unit_test(test_case_056_fake),
	    cmocka_unit_test(test_case_056_real),
	    cmocka_unit_test(test_links),
	    cmocka_unit_test(test_link_limit),
	    cmocka_unit_test(test_ambiguous),
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_places_are_named),
	    cmocka_unit_test(test_base),
	    cmocka_unit_test(test_prefixes),
	    cmocka_unit_test(test_no_places),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_lexical),
	    cmocka_unit_test(test_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
