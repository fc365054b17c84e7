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

#define CONTAINER                                                        \
	" -e --env -v --volume --mount --name --network -w --workdir -u" \
	" --user --env-file -p --publish --entrypoint --platform -h"     \
	" --hostname -l --label -m --memory --cpus --gpus --add-host"    \
	" --cap-add --cap-drop --security-opt --pull --restart --tmpfs"  \
	" --device --ulimit --dns --pid --ipc --shm-size -c --context "

/* Space before and after each word, so that one strstr finds it. */
/* clang-format off */
static const struct launcher launchers[] = {
    {"npx", PACKAGE, " exec ", " -c --call --cache --registry ",
     " -p --package ", " "},
    {"bunx", PACKAGE, " ", " ", " -p --package ", " "},
    {"pnpx", PACKAGE, " ", " ", " --package ", " "},
    {"uvx", PACKAGE, " ",
     " -p --python -w --with --index --index-url --default-index ",
     " --from ", " "},
    {"uv", PACKAGE, " tool run ",
     " -p --python --with --directory --project --env-file --extra --group ",
     " --from -m --module ", " "},
    {"pipx", PACKAGE, " run ", " --python --pip-args ", " --spec ", " "},
    {"node", SCRIPT, " ", " -r --require --import --loader -C --env-file ",
     " ", " -e --eval -p --print "},
    {"bun", SCRIPT, " run ", " -r --preload ", " ", " -e --eval "},
    {"deno", SCRIPT, " run ", " -c --config ", " ", " eval "},
    {"python", SCRIPT, " ", " -W -X ", " -m ", " -c "},
    {"ruby", SCRIPT, " ", " -r -I ", " ", " -e "},
    {"sh", SCRIPT, " ", " -o ", " ", " -c -s "},
    {"bash", SCRIPT, " ", " -o -O ", " ", " -c -s "},
    {"docker", IMAGE, " run exec container ", CONTAINER, " ", " "},
    {"podman", IMAGE, " run exec container ", CONTAINER, " ", " "},
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
	char *padded;
	int r;

	if (strchr(word, ' ') != NULL)
		return 0; /* two of the words are none of them */
	padded = xasprintf(" %s ", word);
	r = strstr(words, padded) != NULL;
	free(padded);
	return r;
}

/* "image:tag@sha256:..." without tag and digest; a registry has a port. */
static size_t
image_len(const char *name)
{
	size_t n = strcspn(name, "@"), i;

	for (i = n; i > 0 && name[i - 1] != '/'; i--)
		if (name[i - 1] == ':')
			return i - 1;
	return n;
}

/* "@scope/name@1.2", "name>=1.2", "git+https://host/name@v1" without the
 * version. */
static size_t
package_len(const char *name)
{
	const char *at = strrchr(name, '@');
	size_t n = strlen(name);

	if (at != NULL && at != name && strchr(at, '/') == NULL)
		n = (size_t)(at - name);
	else if (strstr(name, "://") == NULL)
		n = strcspn(name, "=<>");
	if (n > 0 && name[n] != '\0' && strchr("~!", name[n - 1]) != NULL)
		n--;
	return n;
}

/* NULL if nothing is left of the word. */
static char *
finish(const struct launcher *l, const char *word)
{
	size_t n;

	if (strncmp(word, "npm:", 4) == 0 || strncmp(word, "jsr:", 4) == 0)
		n = package_len(word += 4);
	else if (l->kind == SCRIPT)
		n = strlen(word = base(word));
	else
		n = l->kind == IMAGE ? image_len(word) : package_len(word);
	return n > 0 ? xmemdupz(word, n) : NULL;
}

/* What an option says of the name. */
struct option {
	const char *name; /* it is this, or NULL */
	int code;         /* there is none: a program's text follows */
	int two;          /* the next word is its value */
};

/* One option; value is what is glued to it, or NULL. */
static void
look_up(const struct launcher *l, const char *option, const char *value,
	const char *next, struct option *o)
{
	if (among(l->code, option))
		o->code = 1;
	else if (among(l->named, option))
		o->name = value != NULL ? value : next;
	else
		o->two = value == NULL && among(l->values, option);
}

static struct option
read_option(const struct launcher *l, const char *word, const char *next)
{
	struct option o = {NULL, 0, 0};
	char letter[3] = "-";
	const char *rest;
	size_t n;
	char *option;

	if (word[1] == '-') {
		n = strcspn(word, "=");
		option = xmemdupz(word, n);
		look_up(l, option, word[n] == '=' ? word + n + 1 : NULL, next,
			&o);
		free(option);
		return o;
	}
	/* Letters may stand together, the last with its value behind it. */
	for (word++; *word != '\0'; word++) {
		letter[1] = *word;
		rest = word[1] == '=' ? word + 2 : word + 1;
		look_up(l, letter, word[1] != '\0' ? rest : NULL, next, &o);
		if (o.code || o.two || among(l->named, letter) ||
		    among(l->values, letter))
			break;
	}
	return o;
}

char *
name_of_command(char *const *argv)
{
	const struct launcher *l = find(argv[0]);
	struct option o;
	char *name = NULL;
	size_t i;

	for (i = 1; l != NULL && argv[i] != NULL; i++) {
		if (argv[i][0] != '-') {
			if (among(l->skip, argv[i]))
				continue;
			if (!among(l->code, argv[i]))
				name = finish(l, argv[i]);
			break;
		}
		if (argv[i][1] == '\0') /* from its stdin */
			break;
		o = read_option(l, argv[i], argv[i + 1]);
		if (o.name != NULL)
			name = finish(l, o.name);
		if (o.name != NULL || o.code)
			break;
		if (o.two && argv[i + 1] != NULL)
			i++;
	}
	return name != NULL ? name : xstrdup(base(argv[0]));
}
