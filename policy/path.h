/*
 * Paths: where a name leads, and the contract that keeps written paths inside
 * allowed_path_prefixes (design.md section 4, item 4).  Include policy.h,
 * entry.h and call.h first.
 *
 * What the check promises: at the moment of judgement the name, followed link
 * by link as the kernel would (path_resolution(7)), led into an allowed
 * prefix, or to a place there that did not exist yet; and so did the name
 * with its ".." taken out first, as many servers do.  What it cannot promise:
 * the server opens the path later, and who can make or swap a link in a
 * directory on the way in between leads it elsewhere; only a cage of the
 * server's own stops that.  Hard links, mounts and directories that ignore
 * case are not seen by readlink(2); nor is a link whose name has a decomposed
 * letter, where a server takes the composed one for it.  A tool that removes or
 * renames acts on a link itself, not on where it leads.
 */
#ifndef DW_POLICY_PATH_H
#define DW_POLICY_PATH_H

#include <stddef.h>

struct entry;
struct findings;
struct policy_call;
struct policy_places;

#define PATH_BYTES_MAX 4095u    /* PATH_MAX of Linux without its NUL */
#define PATH_COMPONENT_MAX 255u /* NAME_MAX */
#define PATH_LINKS_MAX 40u      /* as the kernel follows */
#define PATH_TARGETS_MAX 10000u /* paths of one call */
#define PATH_PENDING_MAX 16384u /* bytes still to be walked */

/*
 * Called with every place that a walk comes to, before it is known what is
 * there and before a link there is followed; path has a NUL after its len
 * bytes.  Not 0 ends the walk with PATH_STOPPED.
 */
typedef int path_visit_fn(void *arg, const char *path, size_t len);

enum path_status {
	PATH_RESOLVED,
	PATH_REFUSED, /* why says so */
	PATH_STOPPED
};

struct path_walk {
	/* to be set */
	const struct policy_places *places;
	int loose; /* what cannot be read or is not there is taken by its
		      text, ".." included: for asking where a name could
		      lead, never for allowing */
	path_visit_fn *visit; /* or NULL */
	void *arg;
	size_t *steps; /* counts calls of readlink, or NULL */

	/* the result: absolute, with a NUL */
	char path[PATH_BYTES_MAX + 1];
	size_t len;
	size_t missing;  /* of its components, at the end: not there */
	unsigned links;  /* that were followed */
	const char *why; /* what is wrong, a constant */

	/* what is still to be walked stands at the end of the room */
	char pending[PATH_PENDING_MAX];
	size_t at;
};

/*
 * Follows len bytes from start, an absolute path without links (or "/", or
 * "" for the same).  An absolute text starts at the root.
 */
enum path_status path_walk(struct path_walk *w, const char *start,
			   const char *text, size_t len);

/* 1 if path is inside prefix or is it, component by component; both
 * absolute and resolved. */
int path_is_below(const char *path, size_t len, const char *prefix,
		  size_t prefix_len);

/*
 * The text with ".", ".." and double slashes taken out by looking at it
 * alone, put into out (size bytes of room), as a path below the root.  Its
 * length, or 0 if it does not fit.
 */
size_t path_lexical(const char *text, size_t len, char *out, size_t size);

/*
 * A relative text of any length as what it comes to, looked at alone, from
 * wherever it begins: ".." as often as it leads out of there (no path has
 * more than PATH_UPS_MAX components), and what follows.  Its length, or 0 if
 * that is too long for a path.
 */
#define PATH_UPS_MAX 2048u
#define PATH_SHORT_MAX (3 * PATH_UPS_MAX + PATH_BYTES_MAX + 1)
size_t path_shorten(const char *text, size_t len, char out[PATH_SHORT_MAX]);

/* 1 if one of the components is "..". */
int path_has_dotdot(const char *text, size_t len);

/*
 * What makes the text ambiguous as a path, or NULL: see the list in
 * doorward.yaml(5).  What a relative path needs is not looked at.
 */
const char *path_ambiguity(const char *text, size_t len);

/* 1 if one component may have another spelling, as far as that can be told
 * by its letters: some servers take either for the other. */
int path_other_spelling(const char *name, size_t len);

/*
 * The three letters that Unicode's form C replaces by ASCII, so replaced: in
 * a copy that the caller frees; NULL if the text has none of them.
 */
char *path_in_ascii(const char *text);

/*
 * If the text is a file: URL (RFC 8089), 1 and the decoded path in out (size
 * bytes of room) with its length in *n; -1 and *why if it is one that may
 * be read in two ways; 0 if it is none.
 */
int path_from_url(const char *text, size_t len, char *out, size_t size,
		  size_t *n, const char **why);

/* The contract. */
void path_judge(const struct entry *e, const struct policy_call *c,
		struct findings *f);

/*
 * What follows "file:" in the text as the URL parser of browsers and Node
 * takes it (WHATWG URL): controls and blanks before it, and tabs and line
 * ends in it, do not count, and a backslash is a slash.  NULL if it does not
 * start so; the caller frees.
 */
char *path_tidy_url(const char *text, size_t len);

/*
 * The path of what path_tidy_url() returned, whatever its host: absolute, as
 * that parser makes it, decoded, and up to a NUL in it, since C programs read
 * no further.  It has its query and fragment; up to *end it is without them,
 * if there are some, else *end is 0.  The caller frees.
 */
char *path_of_url(const char *text, size_t *end);

/*
 * As path_is_below(), where parts that both have letters beyond ASCII count
 * as one: a server may take one spelling for another (UAX #15).
 */
int path_maybe_below(const char *path, size_t len, const char *prefix);

/* The text without outer blanks, controls and quotes, as the trim functions
 * of several languages together take them off. */
const char *path_trim(const char *text, size_t *len);

#endif
