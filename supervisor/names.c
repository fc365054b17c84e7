/*
 * Server names from commands.  Pure; used before anything is started.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "names.h"

struct launcher {
	const char *name;
	enum { PACKAGE, SCRIPT, IMAGE } kind;
	const char *skip;   /* words before the name: "run", "tool run" */
	const char *values; /* options whose value is the next word */
	const char *named;  /* options whose value is the name itself */
	const char *code;   /* options whose value is a program, not a name */
};

#define CONTAINER                                                     \
	" -e --env -v --volume --mount --name --network -w --workdir" \
	" -u --user --env-file -p --publish --entrypoint --platform -h "

/* Space before and after each word, so that one strstr finds it. */
/* clang-format off */
static const struct launcher launchers[] = {
    {"npx", PACKAGE, " exec ", " -c --call --cache --registry ",
     " -p --package ", " "},
    {"bunx", PACKAGE, " ", " ", " -p --package ", " "},
    {"pnpx", PACKAGE, " ", " ", " --package ", " "},
    {"uvx", PACKAGE, " ",
     " -p --python --with --index --index-url --default-index ",
     " --from ", " "},
    {"uv", PACKAGE, " tool run ",
     " -p --python --with --directory --project ", " --from ", " "},
    {"pipx", PACKAGE, " run ", " --python --pip-args ", " --spec ", " "},
    {"node", SCRIPT, " ", " -r --require --import --loader -C --env-file ",
     " ", " -e --eval -p --print "},
    {"bun", SCRIPT, " run ", " -r --preload ", " ", " -e --eval "},
    {"deno", SCRIPT, " run ", " -c --config ", " ", " eval "},
    {"python", SCRIPT, " ", " -W -X ", " -m ", " -c "},
    {"ruby", SCRIPT, " ", " -r -I ", " ", " -e "},
    {"sh", SCRIPT, " ", " -o ", " ", " -c "},
    {"bash", SCRIPT, " ", " -o ", " ", " -c -lc "},
    {"docker", IMAGE, " run container ", CONTAINER, " ", " "},
    {"podman", IMAGE, " run container ", CONTAINER, " ", " "},
};
/* clang-format on */

static const char *
base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* "python3.11" is python, "node20" is node. */
static const struct launcher *
find(const char *program)
{
	const char *b = base(program);
	size_t i, n = strcspn(b, "0123456789.");

	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strlen(launchers[i].name) == n &&
		    strncmp(launchers[i].name, b, n) == 0)
			return &launchers[i];
	return NULL;
}

static int
among(const char *words, const char *word)
{
	char *padded = xasprintf(" %s ", word);
	int r = strstr(words, padded) != NULL;

	free(padded);
	return r;
}

/* "@scope/name@1.2" without the version, "image:tag" without the tag. */
static char *
without_version(const char *name)
{
	const char *at = strrchr(name, '@');
	const char *colon = strrchr(name, ':');
	const char *slash = strrchr(name, '/');
	size_t n = strlen(name);

	if (at != NULL && at != name)
		n = (size_t)(at - name);
	else if (colon != NULL && (slash == NULL || colon > slash))
		n = (size_t)(colon - name);
	else if (strstr(name, "==") != NULL)
		n = (size_t)(strstr(name, "==") - name);
	return xmemdupz(name, n);
}

static char *
finish(const struct launcher *l, const char *word)
{
	return l->kind == SCRIPT ? xstrdup(base(word)) : without_version(word);
}

char *
name_of_command(char *const *argv)
{
	const struct launcher *l = find(argv[0]);
	const char *equals;
	char *option;
	size_t i;
	int named;

	for (i = 1; l != NULL && argv[i] != NULL; i++) {
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (!among(l->skip, argv[i]))
				return finish(l, argv[i]);
			continue;
		}
		if (among(l->code, argv[i]))
			break;
		equals = strchr(argv[i], '=');
		option = xmemdupz(argv[i], equals != NULL
					       ? (size_t)(equals - argv[i])
					       : strlen(argv[i]));
		named = among(l->named, option);
		free(option);
		if (named && (equals != NULL || argv[i + 1] != NULL))
			return finish(l, equals != NULL ? equals + 1
							: argv[i + 1]);
		if (equals == NULL && argv[i + 1] != NULL &&
		    among(l->values, argv[i]))
			i++;
	}
	return xstrdup(base(argv[0]));
}
