/*
 * Packs: which are in force, what they may say, mistakes in them with their
 * places, reading them from a directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "policy_help.h"

#define V1 "version: 1\n"
#define GUARD "default_action: allow\nrules: []\n"
#define A "pack: a\ntools: {x: {max_calls: 1}}\n"
#define B "pack: b\ntools: {y: {max_calls: 1}, z: {}}\n"

/* Hashes computed by another program: see policy_hash(). */
#define HASH_A_ONLY \
	"94edc3cd8784b8cab8d31fe458a9f7e8208eaa72b8509a99caa84176a88f4ba7"

static char dir[] = "/tmp/doorward-packs-XXXXXX";

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL;
}

static int
tear_down(void **state)
{
	char *command = xasprintf("rm -rf %s", dir);
	int result = system(command);

	(void)state;
	free(command);
	return result != 0;
}

/* The packs in force, by a comma. */
static void
names_are(struct policy *p, const char *names)
{
	char got[256] = "";
	size_t i;

	for (i = 0; i < policy_pack_count(p); i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
			 i ? "," : "", policy_pack(p, i)->name);
	assert_string_equal(got, names);
	policy_free(p);
}

static void
in_force(const char *below, const char *above, const char *names)
{
	struct layers l = {{"d/b.yaml", B, "d/a.yaml", A}, {below, above}};

	names_are(good_layers(&l), names);
}

static void
test_which(void **state)
{
	(void)state;
	in_force(NULL, NULL, "a,b");
	in_force(V1, NULL, "a,b");
	in_force(V1 "packs: auto\n", NULL, "a,b");
	in_force(V1 "packs: none\n", NULL, "");
	in_force(V1 "packs: []\n", NULL, "");
	in_force(V1 "packs: [b]\n", NULL, "b");
	in_force(V1 "packs: [b, a]\n", NULL, "a,b");
	in_force("t: {max_calls: 1}\n", NULL, "a,b");
	in_force(GUARD, NULL, "");
	in_force(GUARD "packs: auto\n", NULL, "a,b");
	in_force(GUARD "packs: [a]\n", NULL, "a");
	in_force(GUARD, V1, "a,b");
	in_force(V1, GUARD, "a,b");
	in_force(GUARD, GUARD, "");
	/* The uppermost file that says it. */
	in_force(V1 "packs: none\n", V1 "packs: [a]\n", "a");
	in_force(V1 "packs: [a]\n", V1 "packs: [b]\n", "b");
	in_force(V1 "packs: [a]\n", V1 "packs: auto\n", "a,b");
	in_force(V1 "packs: [a]\n", V1, "a");
	in_force(V1 "packs: none\n", GUARD, "");
	in_force(V1, GUARD "packs: none\n", "");
}

static void
wanted(const char *text, const char *message)
{
	struct layers l = {
	    {"gmail.yaml", "pack: gmail\ntools: {}\n", "d/a.yaml", A}, {text}};

	bad_layers(&l, message);
}

static void
test_unknown(void **state)
{
	(void)state;
	wanted(V1 "packs: [a, gmial]\n",
	       "a.yaml:2:12: packs: there is no pack \"gmial\"; did you mean "
	       "\"gmail\"?");
	wanted(V1 "packs: [zebra]\n",
	       "a.yaml:2:9: packs: there is no pack \"zebra\"; there are a and "
	       "gmail");
	wanted(GUARD "packs:\n- gmai\n",
	       "a.yaml:4:3: packs: there is no pack \"gmai\"; did you mean "
	       "\"gmail\"?");
	wanted(V1 "packs: [\"\\e[2J\"]\n",
	       "a.yaml:2:9: packs: there is no pack \"\\x1b[2J\"; there are a "
	       "and gmail");
	bad(V1 "packs: [a]\n",
	    "p.yaml:2:9: packs: there is no pack \"a\"; there are none here");
	bad(V1 "packs: [a, a]\n",
	    "p.yaml:2:12: packs: \"a\" is in the list twice");
	bad(V1 "packs: [1]\n", "p.yaml:2:9: packs: a text expected, not the "
			       "number 1; put it in quotes: \"1\"");
	bad(V1 "packs: all\n",
	    "p.yaml:2:8: packs: auto, none or a list of names "
	    "([gmail, slack]) expected, not \"all\"");
	bad(V1 "packs: off\n", "p.yaml:2:8: packs: auto or none expected, not "
			       "\"off\"; did you mean \"none\"?");
	bad(V1 "packs:\n",
	    "p.yaml:2:7: packs: auto or none expected, not nothing");
	/* An upper file's choice makes a lower one's moot. */
	in_force(V1 "packs: [zebra]\n", V1 "packs: [a]\n", "a");
}

static void
test_whole(void **state)
{
	static const char text[] =
	    "pack: x\nabout: What it is\nmatch: [\"@o/x\", x-server]\n"
	    "checked: {\"@o/x\": \"1.2.3\", y: \"4\"}\n"
	    "tools:\n"
	    "  t:\n"
	    "    exfiltrating: true\n"
	    "    sink_params: [a, {b: link}]\n"
	    "    sinks_optional: true\n"
	    "    content_params: [c]\n"
	    "    scan_text: [c]\n"
	    "    trusted_destinations: [me@x.example]\n"
	    "    on_tainted: ask\n"
	    "    on_named: deny\n"
	    "    on_unproven: deny\n"
	    "    max_calls: 3\n"
	    "    write_params: [d]\n"
	    "    allowed_path_prefixes: [/srv]\n"
	    "    base: /srv\n"
	    "    arg_patterns: {d: 'x.*'}\n"
	    "    identity_fields: []\n"
	    "    text_form: headers\n"
	    "    reads: private\n"
	    "    vouches: [\"$.a\"]\n"
	    "    read_params: [e]\n"
	    "    deletes: [f]\n"
	    "    changes: [g]\n"
	    "    plain: [h, i]\n";
	struct policy *p =
	    good_layers(&(struct layers){{"d/x.yaml", text}, {0}});
	const struct policy_pack_info *k = policy_pack(p, 0);
	const struct entry *e = policy_pack_entry(p, 0, 0);
	int i;

	(void)state;
	assert_string_equal(k->name, "x");
	assert_string_equal(k->file, "d/x.yaml");
	assert_string_equal(k->about, "What it is");
	assert_int_equal(k->match_count, 2);
	assert_string_equal(k->match[1], "x-server");
	assert_int_equal(k->checked_count, 2);
	assert_string_equal(k->checked[0].package, "@o/x");
	assert_string_equal(k->checked[0].version, "1.2.3");
	assert_int_equal(k->entries, 1);
	for (i = 0; i < ENTRY_KEY_MAX; i++) {
		assert_int_equal(e->place[i].given, 1);
		assert_int_equal(e->place[i].line, 7 + i);
		assert_string_equal(e->place[i].pack, "x");
		assert_string_equal(e->place[i].file, "d/x.yaml");
	}
	assert_int_equal(e->sinks[1].kind, SINK_LINK);
	assert_int_equal(e->on_tainted, ACTION_ASK);
	assert_int_equal(e->on_named, ACTION_BLOCK);
	assert_int_equal(e->on_unproven, ACTION_BLOCK);
	assert_int_equal(e->reads, READS_PRIVATE);
	assert_string_equal(e->text_form, "headers");
	assert_string_equal(e->base, "/srv");
	assert_int_equal(e->identity_fields.n, 0);
	assert_string_equal(e->plain.v[1], "i");
	assert_int_equal(policy_entry_count(p), 0);
	policy_free(p);
}

static void
bad_pack(const char *text, const char *message)
{
	struct layers l = {{"d/x.yaml", text}, {0}};

	bad_layers(&l, message);
}

#define X "pack: x\n"

static void
test_mistakes(void **state)
{
	(void)state;
	bad_pack("", "d/x.yaml:1:1: a pack is a mapping with \"pack\" and "
		     "\"tools\"");
	bad_pack("[]", "d/x.yaml:1:1: a pack is a mapping with \"pack\" and "
		       "\"tools\"");
	bad_pack("{}", "d/x.yaml:1:1: a pack without \"pack\"; it needs pack "
		       "and tools");
	bad_pack(X, "d/x.yaml:1:1: a pack without \"tools\"; it needs pack and "
		    "tools");
	bad_pack("pack: y\ntools: {}\n",
		 "d/x.yaml:1:7: pack: \"y\" is not the file's name without "
		 "\".yaml\"; \"x\" expected");
	bad_pack(X "tols: {}\n",
		 "d/x.yaml:2:1: unknown key \"tols\" in a pack; "
		 "did you mean \"tools\"?");
	bad_pack(X "about: \"a\\nb\"\n",
		 "d/x.yaml:2:8: about: a control or invisible character (a "
		 "newline is one); it is one line of visible text");
	bad_pack(X "match: x\n",
		 "d/x.yaml:2:8: match: a list (lines of \"- item\", or []) "
		 "expected, not \"x\"");
	bad_pack(X "match: [x, x]\n",
		 "d/x.yaml:2:12: match: \"x\" is in the list twice");
	bad_pack(X "checked: {x: 1}\n",
		 "d/x.yaml:2:14: x: a text expected, not the number 1; put it "
		 "in quotes: \"1\"");
	bad_pack(X "tools: []\n",
		 "d/x.yaml:2:8: tools: a mapping (lines of \"key: value\", or "
		 "{}) expected, not a list");
	bad_pack(X "tools: {t: {replace: true}}\n",
		 "d/x.yaml:2:13: replace: a key of a policy; a pack lies below "
		 "all others and has nothing to replace");
	bad_pack(X "tools: {t: {plane: [a]}}\n",
		 "d/x.yaml:2:13: unknown key \"plane\" in an entry of a pack; "
		 "did you mean \"plain\"?");
	bad_pack(X "tools: {t: {plain: [a, a]}}\n",
		 "d/x.yaml:2:24: plain: \"a\" is in the list twice");
	bad_pack(X "tools: {t: {vouches: [a]}}\n",
		 "d/x.yaml:2:23: vouches: \"a\" is no JSONPath; one that "
		 "starts with $ expected");
	bad_pack(X "tools: {t: {sink_params: [a]}}\n",
		 "d/x.yaml:2:13: sink_params: has no effect on \"t\" without "
		 "\"exfiltrating: true\"; add that, or leave it out");
	bad_pack(X "tools: {\"t*\": {}}\n",
		 "d/x.yaml:2:9: \"t*\": an entry is for one tool, by its whole "
		 "name; patterns are for rules: {id: ..., tool: \"...*\", "
		 "action: block}");
}

static void
write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static void
remove_file(const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);

	assert_int_equal(unlink(path), 0);
	free(path);
}

/* Loads the file "policy" of the directory with its packs. */
static struct policy *
load_dir(const char *policy, const char *packs, char **message)
{
	char *path = xasprintf("%s/policy", dir);
	const char *files[] = {path};
	struct policy_error err;
	struct policy *p;

	write_file("policy", policy);
	p = policy_load(files, 1, packs, &err);
	*message = p == NULL ? policy_error_format(&err) : NULL;
	policy_error_clear(&err);
	free(path);
	return p;
}

static void
dir_good(const char *policy, const char *packs, const char *names)
{
	char *message;
	struct policy *p = load_dir(policy, packs, &message);

	if (p == NULL)
		print_error("%s\n", message);
	assert_non_null(p);
	names_are(p, names);
}

static void
dir_bad(const char *policy, const char *packs, const char *wanted_text)
{
	char *message;
	struct policy *p = load_dir(policy, packs, &message);

	assert_null(p);
	/* Without the directory, whose name is made up. */
	if (strncmp(message, dir, strlen(dir)) == 0)
		memmove(message, message + strlen(dir),
			strlen(message + strlen(dir)) + 1);
	assert_string_equal(message, wanted_text);
	free(message);
}

static void
test_directory(void **state)
{
	char *missing = xasprintf("%s/missing", dir);
	char *folder = xasprintf("%s/d.yaml", dir);

	(void)state;
	write_file("b.yaml", B);
	write_file("a.yaml", A);
	/* An editor's, and what is no pack. */
	write_file(".c.yaml", "x");
	write_file("c.yaml~", "x");
	write_file("README", "x");
	write_file(".yaml", "x");
	dir_good(V1, dir, "a,b");
	dir_good(V1 "packs: [b]\n", dir, "b");
	dir_good(V1, NULL, "");
	dir_bad(V1, missing,
		"/missing: the packs cannot be read: No such file or "
		"directory; \"packs: none\" in the policy goes on without "
		"packs and fallback");
	dir_bad(V1 "packs: [a]\n", "/dev/null",
		"/dev/null: the packs cannot be read: Not a directory; "
		"\"packs: none\" in the policy goes on without packs and "
		"fallback");
	/* Not even opened if none is wanted. */
	dir_good(V1 "packs: none\n", missing, "");
	dir_good(V1 "packs: []\n", missing, "");
	dir_good(GUARD, missing, "");
	dir_bad(V1 "packs: [c]\n", dir,
		"/policy:2:9: packs: there is no pack \"c\"; there are a and "
		"b");
	assert_int_equal(mkdir(folder, 0700), 0);
	dir_bad(V1, dir, "/d.yaml: not a regular file; a pack is one");
	dir_good(V1 "packs: [a]\n", dir, "a");
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(symlink("nowhere", folder), 0);
	dir_bad(V1, dir,
		"/d.yaml: the pack cannot be read: No such file or directory; "
		"\"packs: none\" in the policy goes on without packs and "
		"fallback");
	remove_file("d.yaml");
	write_file("d.yaml", "pack: d\ntools: {x: {max_cals: 1}}\n");
	dir_bad(V1, dir,
		"/d.yaml:2:13: unknown key \"max_cals\" in an entry of a pack; "
		"did you mean \"max_calls\"?");
	remove_file("d.yaml");
	free(folder);
	free(missing);
}

static void
hash_of(const struct layers *l, char out[65])
{
	struct policy *p = good_layers(l);

	assert_int_equal(strlen(policy_hash(p)), 64);
	strcpy(out, policy_hash(p));
	policy_free(p);
}

static void
test_hash(void **state)
{
	char a[65], b[65];

	(void)state;
	hash_of(&(struct layers){{"a.yaml", A}, {0}}, a);
	assert_string_equal(a, HASH_A_ONLY);
	/* Only what is in force counts, in the order of names. */
	hash_of(&(struct layers){{"b.yaml", B, "a.yaml", A}, {V1}}, a);
	hash_of(&(struct layers){{"a.yaml", A, "b.yaml", B}, {V1}}, b);
	assert_string_equal(a, b);
	hash_of(&(struct layers){{"a.yaml", A}, {V1}}, b);
	assert_string_not_equal(a, b);
	hash_of(&(struct layers){{"a.yaml", A "\n"}, {V1}}, a);
	assert_string_not_equal(a, b);
	hash_of(&(struct layers){{"a.yaml", A}, {V1 "packs: none\n"}}, a);
	hash_of(&(struct layers){{0}, {V1 "packs: none\n"}}, b);
	assert_string_equal(a, b);
}

/* Those that come with Doorward, as they are in the source. */
static void
test_own_packs(void **state)
{
	struct policy_error err;
	struct policy *p = policy_load(NULL, 0, "packs", &err);

	(void)state;
	if (p == NULL)
		print_error("%s\n", policy_error_format(&err));
	assert_non_null(p);
	assert_true(policy_pack_count(p) >= 8);
	assert_int_equal(policy_warning_count(p), 0);
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_which),     cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_whole),     cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_directory), cmocka_unit_test(test_hash),
	    cmocka_unit_test(test_own_packs),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
