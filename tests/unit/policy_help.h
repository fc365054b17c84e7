/*
 * What the tests of the policy share.  Include after cmocka.h and policy.h.
 */
#ifndef DW_TEST_POLICY_HELP_H
#define DW_TEST_POLICY_HELP_H

/* Loads one text under the name "p.yaml"; prints the mistake if there is one
 * and fails the test. */
static inline struct policy *
good(const char *text)
{
	struct policy_text t = {"p.yaml", text, strlen(text)};
	struct policy_error err;
	struct policy *p = policy_load_text(&t, 1, NULL, 0, &err);
	char *s;

	if (p == NULL) {
		s = policy_error_format(&err);
		print_error("refused: %s\n--\n%s\n--\n", s, text);
		free(s);
		policy_error_clear(&err);
		fail();
	}
	return p;
}

/* Loads two texts, a.yaml below b.yaml. */
static inline struct policy *
two(const char *below, const char *above)
{
	struct policy_text t[2] = {{"a.yaml", below, strlen(below)},
				   {"b.yaml", above, strlen(above)}};
	struct policy_error err;
	struct policy *p = policy_load_text(t, 2, NULL, 0, &err);

	if (p == NULL) {
		print_error("refused: %s\n", err.text);
		policy_error_clear(&err);
		fail();
	}
	return p;
}

/* Loads len bytes, which have to be refused with exactly this message. */
static inline void
bad_bytes(const char *bytes, size_t len, const char *message)
{
	struct policy_text t = {"p.yaml", bytes, len};
	struct policy_error err;
	struct policy *p = policy_load_text(&t, 1, NULL, 0, &err);
	char *s;

	if (p != NULL) {
		print_error("taken:\n--\n%.*s\n--\n", (int)len, bytes);
		policy_free(p);
		fail();
	}
	s = policy_error_format(&err);
	policy_error_clear(&err);
	assert_string_equal(s, message);
	free(s);
}

static inline void
bad(const char *text, const char *message)
{
	bad_bytes(text, strlen(text), message);
}

/* Texts of policies, a.yaml lowest, over those of packs, each after its name;
 * both lists end with NULL. */
struct layers {
	const char *packs[9], *files[9];
};

static inline struct policy *
load_layers(const struct layers *l, struct policy_error *err)
{
	static const char *const names[] = {"a.yaml", "b.yaml", "c.yaml",
					    "d.yaml", "e.yaml", "f.yaml",
					    "g.yaml", "h.yaml"};
	struct policy_text files[8] = {{0}}, packs[4] = {{0}};
	size_t n = 0, k = 0;

	for (; l->files[n] != NULL; n++)
		files[n] = (struct policy_text){names[n], l->files[n],
						strlen(l->files[n])};
	for (; l->packs[2 * k] != NULL; k++)
		packs[k] =
		    (struct policy_text){l->packs[2 * k], l->packs[2 * k + 1],
					 strlen(l->packs[2 * k + 1])};
	return policy_load_text(files, n, packs, k, err);
}

static inline struct policy *
good_layers(const struct layers *l)
{
	struct policy_error err;
	struct policy *p = load_layers(l, &err);
	char *s;

	if (p == NULL) {
		s = policy_error_format(&err);
		print_error("refused: %s\n", s);
		free(s);
		policy_error_clear(&err);
		fail();
	}
	return p;
}

static inline void
bad_layers(const struct layers *l, const char *message)
{
	struct policy_error err;
	struct policy *p = load_layers(l, &err);
	char *s;

	if (p != NULL) {
		print_error("taken, in spite of: %s\n", message);
		policy_free(p);
		fail();
	}
	s = policy_error_format(&err);
	policy_error_clear(&err);
	assert_string_equal(s, message);
	free(s);
}

static inline struct policy_opinion
tool(const struct policy *p, const char *name)
{
	return policy_tool(p, name, strlen(name));
}

#endif
