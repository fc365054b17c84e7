/*
 * Following a path by readlink(2) alone, which works under Landlock.  Runs in
 * the monitor, on names that a stranger chose, in a file system that others
 * change meanwhile: so every walk is bounded in links, bytes and components,
 * and whatever is not plainly there, plainly a link or plainly missing is
 * refused.
 */
#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "proto/text.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"

enum found { FOUND_PLAIN, FOUND_LINK, FOUND_NOTHING, FOUND_TROUBLE };

static int
refuse(struct path_walk *w, const char *why)
{
	w->why = why;
	return -1;
}

/* Puts text before what is still to be walked. */
static int
put_before(struct path_walk *w, const char *text, size_t len)
{
	if (w->at < len + 1)
		return refuse(w, "too long once its links are followed");
	w->pending[--w->at] = '/';
	w->at -= len;
	memcpy(w->pending + w->at, text, len);
	return 0;
}

/* The next component; NULL at the end. */
static const char *
next_component(struct path_walk *w, size_t *len)
{
	const char *p, *end = w->pending + sizeof(w->pending);

	for (p = w->pending + w->at; p < end && *p == '/'; p++)
		;
	*len = 0;
	while (p + *len < end && p[*len] != '/')
		(*len)++;
	w->at = (size_t)(p + *len - w->pending);
	return *len > 0 ? p : NULL;
}

static void
to_root(struct path_walk *w)
{
	w->path[0] = '\0';
	w->len = 0;
	w->missing = 0;
}

static int
go_up(struct path_walk *w)
{
	if (w->missing > 0) {
		if (!w->loose)
			return refuse(w, "\"..\" behind a part that does "
					 "not exist");
		w->missing--;
	}
	while (w->len > 0 && w->path[w->len - 1] != '/')
		w->len--;
	if (w->len > 0)
		w->len--;
	w->path[w->len] = '\0';
	return 0;
}

static const char *
trouble(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "a part of it may not be looked at";
	case ENOTDIR:
		return "a part of it is no directory";
	case ENAMETOOLONG:
		return "too long";
	case ELOOP:
		return "too many links";
	default:
		return "a part of it cannot be looked at";
	}
}

/* What is at w->path; a link's target goes to target, its length to *n. */
static enum found
look(struct path_walk *w, char *target, size_t size, size_t *n)
{
	ssize_t got;

	errno = 0;
	if (w->steps != NULL)
		(*w->steps)++;
	got = w->places->readlink(w->places->arg, w->path, target, size);
	if (got > 0 && (size_t)got < size) {
		*n = (size_t)got;
		return FOUND_LINK;
	}
	if (got >= 0) {
		w->why = "a link on the way is too long, or empty";
		return FOUND_TROUBLE;
	}
	if (errno == EINVAL)
		return FOUND_PLAIN;
	if (errno == ENOENT)
		return FOUND_NOTHING;
	w->why = trouble(errno);
	return FOUND_TROUBLE;
}

static int
follow(struct path_walk *w, const char *target, size_t n)
{
	if (++w->links > PATH_LINKS_MAX)
		return refuse(w, "too many links");
	if (target[0] == '/')
		to_root(w);
	else if (go_up(w) < 0)
		return -1;
	return put_before(w, target, n);
}

static int
append(struct path_walk *w, const char *name, size_t len)
{
	if (len > PATH_COMPONENT_MAX && !w->loose)
		return refuse(w, "a part of it is longer than 255 bytes");
	if (PATH_BYTES_MAX - w->len < len + 1)
		return refuse(w, "too long");
	w->path[w->len++] = '/';
	memcpy(w->path + w->len, name, len);
	w->len += len;
	w->path[w->len] = '\0';
	return 0;
}

/* Nothing is there by this name, but perhaps by another spelling of it. */
static int
missing(struct path_walk *w, const char *name, size_t len)
{
	if (!w->loose && path_other_spelling(name, len))
		return refuse(w, "a part of it does not exist and has letters "
				 "that can be written in another way");
	w->missing++;
	return 0;
}

/* One component that is no dot.  0 to go on, or -1 with why. */
static int
enter(struct path_walk *w, const char *name, size_t len)
{
	char target[PATH_BYTES_MAX + 1];
	size_t n = 0;

	if (append(w, name, len) < 0)
		return -1;
	if (w->visit != NULL && w->visit(w->arg, w->path, w->len) != 0)
		return refuse(w, NULL);
	if (w->missing > 0 || len > PATH_COMPONENT_MAX)
		return missing(w, name, len);
	switch (look(w, target, sizeof(target), &n)) {
	case FOUND_PLAIN:
		return 0;
	case FOUND_LINK:
		return follow(w, target, n);
	case FOUND_NOTHING:
		break;
	case FOUND_TROUBLE:
		if (!w->loose)
			return -1;
		w->why = NULL;
		break;
	}
	return missing(w, name, len);
}

enum path_status
path_walk(struct path_walk *w, const char *start, const char *text, size_t len)
{
	const char *name;
	size_t n = 0;

	to_root(w);
	w->links = 0;
	w->why = NULL;
	w->at = sizeof(w->pending);
	if (len == 0 || text[0] != '/') {
		n = strcmp(start, "/") == 0 ? 0 : strlen(start);
		if (n > PATH_BYTES_MAX) {
			w->why = "too long";
			return PATH_REFUSED;
		}
		memcpy(w->path, start, n);
		w->path[n] = '\0';
		w->len = n;
	}
	if (put_before(w, text, len) < 0)
		return PATH_REFUSED;
	while ((name = next_component(w, &n)) != NULL) {
		if (n == 1 && name[0] == '.')
			continue;
		if (n == 2 && name[0] == '.' && name[1] == '.') {
			if (go_up(w) < 0)
				return PATH_REFUSED;
			continue;
		}
		if (enter(w, name, n) < 0)
			return w->why == NULL ? PATH_STOPPED : PATH_REFUSED;
	}
	if (w->len == 0) {
		w->path[w->len++] = '/';
		w->path[w->len] = '\0';
	}
	return PATH_RESOLVED;
}

int
path_is_below(const char *path, size_t len, const char *prefix,
	      size_t prefix_len)
{
	while (prefix_len > 0 && prefix[prefix_len - 1] == '/')
		prefix_len--;
	if (len < prefix_len || memcmp(path, prefix, prefix_len) != 0)
		return 0;
	return len == prefix_len || path[prefix_len] == '/';
}

/*
 * From the end to the start, so that what a ".." takes out is never kept,
 * however long it is.  *left is how many ".." lead out of the text.
 */
static size_t
lexical(const char *text, size_t len, char *out, size_t size, size_t *left)
{
	size_t end = len, begin, n, up = 0, at = size;

	while (end > 0) {
		for (begin = end; begin > 0 && text[begin - 1] != '/'; begin--)
			;
		n = end - begin;
		if (n == 2 && memcmp(text + begin, "..", 2) == 0) {
			up++;
		} else if (n > 1 || (n == 1 && text[begin] != '.')) {
			if (up > 0) {
				up--;
			} else {
				if (at < n + 1)
					return 0;
				at -= n;
				memcpy(out + at, text + begin, n);
				out[--at] = '/';
			}
		}
		end = begin > 0 ? begin - 1 : 0;
	}
	*left = up;
	if (at == size) {
		if (at == 0)
			return 0;
		out[--at] = '/';
	}
	memmove(out, out + at, size - at);
	return size - at;
}

size_t
path_lexical(const char *text, size_t len, char *out, size_t size)
{
	size_t left;

	return lexical(text, len, out, size, &left);
}

size_t
path_shorten(const char *text, size_t len, char out[PATH_SHORT_MAX])
{
	static const char up[3] = {'.', '.', '/'};
	size_t left, at = 0;
	char *rest = out + 3 * PATH_UPS_MAX;
	size_t n = lexical(text, len, rest, PATH_BYTES_MAX + 1, &left);

	if (n == 0)
		return 0;
	for (; left > 0 && at < 3 * PATH_UPS_MAX; left--, at += 3)
		memcpy(out + at, up, sizeof(up));
	/* without the slash that it begins with */
	memmove(out + at, rest + 1, n - 1);
	at += n - 1;
	if (at == 0)
		out[at++] = '.';
	return at;
}

int
path_has_dotdot(const char *text, size_t len)
{
	const char *p = text, *end = text + len, *dots;

	while ((dots = memmem(p, (size_t)(end - p), "..", 2)) != NULL) {
		if ((dots == text || dots[-1] == '/') &&
		    (end - dots == 2 || dots[2] == '/'))
			return 1;
		p = dots + 1;
	}
	return 0;
}
