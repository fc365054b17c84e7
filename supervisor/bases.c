/*
 * What a server's relative names may be relative to.  Runs in the monitor:
 * for the command before it is confined, for roots whenever the client
 * answers.  What is kept is only ever a further place to look for Doorward's
 * own files, so that a lie in it makes the judgement stricter.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"

#include "bases.h"
#include "message.h"

/* path is owned from here on. */
static void
add(struct bases *b, char *path)
{
	size_t i;

	for (i = 0; i < b->n && strcmp(b->v[i], path) != 0; i++)
		;
	if (i < b->n || b->n == BASES_MAX)
		free(path);
	else
		b->v[b->n++] = path;
}

/* One piece of an argument, if it names a directory. */
static void
take_piece(struct bases *b, const char *piece, size_t len, const char *home)
{
	char *path, *real;
	struct stat st;

	if (len == 0 || len > PATH_BYTES_MAX)
		return;
	if (piece[0] == '~' && home != NULL && (len == 1 || piece[1] == '/'))
		path = xasprintf("%s%.*s", home, (int)len - 1, piece + 1);
	else
		path = xmemdupz(piece, len);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		real = realpath(path, NULL);
		if (real != NULL)
			add(b, real);
	}
	free(path);
}

void
bases_command(struct bases *b, char *const *argv, const char *home)
{
	const char *p;
	size_t n;

	for (; *argv != NULL; argv++) {
		take_piece(b, *argv, strlen(*argv), home);
		for (p = *argv;; p += n + 1) {
			n = strcspn(p, "=,:");
			take_piece(b, p, n, home);
			if (p[n] == '\0')
				break;
		}
	}
}

void
bases_roots(struct bases *b, const struct cJSON *result)
{
	const cJSON *roots = message_member(result, "roots"), *root, *uri;
	char path[PATH_BYTES_MAX + 1];
	const char *why, *text;
	size_t len, n;
	int url;

	if (!cJSON_IsArray(roots))
		return;
	cJSON_ArrayForEach(root, roots)
	{
		uri = message_member(root, "uri");
		if (!cJSON_IsString(uri))
			continue;
		text = uri->valuestring;
		len = strlen(text);
		url = path_from_url(text, len, path, PATH_BYTES_MAX, &n, &why);
		if (url > 0) {
			text = path;
			len = n;
		}
		if (url >= 0 && len > 0 && len <= PATH_BYTES_MAX &&
		    text[0] == '/')
			add(b, xmemdupz(text, len));
	}
}

void
bases_clear(struct bases *b)
{
	while (b->n > 0)
		free(b->v[--b->n]);
}
