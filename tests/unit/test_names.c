/*
 * Names of servers from their commands, as configuration files have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"

struct named {
	const char *name;
	const char *argv[12];
};

static void
check(const struct named *cases, size_t n)
{
	char *argv[13], *name;
	size_t i, k;

	for (i = 0; i < n; i++) {
		memset(argv, 0, sizeof(argv));
		for (k = 0; cases[i].argv[k] != NULL; k++)
			argv[k] = strdup(cases[i].argv[k]);
		name = name_of_command(argv);
		if (strcmp(name, cases[i].name) != 0)
			fail_msg("case %zu: \"%s\" instead of \"%s\"", i, name,
				 cases[i].name);
		free(name);
		while (k-- > 0)
			free(argv[k]);
	}
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases[0]))

static void
npm(void **state)
{
	static const struct named cases[] = {
	    {"server-x", {"npx", "server-x"}},
	    {"server-x", {"/usr/local/bin/npx", "-y", "server-x"}},
	    {"server-x", {"npx", "--yes", "--", "server-x", "/data"}},
	    {"server-x", {"npx", "-y", "server-x@1.2.3"}},
	    {"server-x", {"npx", "server-x@latest", "other"}},
	    {"@scope/x", {"npx", "-y", "@scope/x"}},
	    {"@scope/x", {"npx", "-y", "@scope/x@0.6.2", "/home/me"}},
	    {"@scope/x", {"npx", "-y", "@scope/x@^1.0.0-beta.1"}},
	    {"@scope/x", {"npx", "-p", "@scope/x@2", "x-server"}},
	    {"@scope/x", {"npx", "--package=@scope/x@2", "x-server"}},
	    {"@scope/x", {"npx", "--package", "@scope/x", "x-server"}},
	    {"@scope/x", {"npx", "-yp", "@scope/x", "x-server"}},
	    {"a", {"npx", "-p", "a", "-p", "b", "run-b"}},
	    {"x", {"npx", "--registry", "https://npm.corp.example", "x"}},
	    {"x", {"npx", "--registry=https://npm.corp.example", "x"}},
	    {"x", {"npx", "--cache", "/tmp/c", "-y", "x"}},
	    {"github:me/repo", {"npx", "github:me/repo"}},
	    {"@scope/x", {"bunx", "@scope/x@1"}},
	    {"@scope/x", {"bunx", "--bun", "@scope/x"}},
	};

	(void)state;
	CHECK(cases);
}

static void
python_packages(void **state)
{
	static const struct named cases[] = {
	    {"mcp-server-git", {"uvx", "mcp-server-git"}},
	    {"mcp-server-git", {"uvx", "mcp-server-git@1.0", "--repository"}},
	    {"mcp-server-git", {"uvx", "mcp-server-git==2025.1.14"}},
	    {"mcp-server-git", {"uvx", "mcp-server-git>=2025,<2026"}},
	    {"mcp-server-git", {"uvx", "mcp-server-git~=2025.1"}},
	    {"mcp-server-git", {"uvx", "--python", "3.12", "mcp-server-git"}},
	    {"mcp-server-git", {"uvx", "-p3.12", "mcp-server-git"}},
	    {"git-pkg", {"uvx", "--from", "git-pkg==1", "mcp-server-git"}},
	    {"git-pkg", {"uvx", "--from=git-pkg", "mcp-server-git"}},
	    {"x[cli]", {"uvx", "--from", "x[cli]>=1", "x"}},
	    {"y", {"uvx", "--with", "x", "y"}},
	    {"git+https://h.example/a/b",
	     {"uvx", "--from", "git+https://h.example/a/b@v1.2", "b"}},
	    {"git+ssh://git@h.example/a/b",
	     {"uvx", "--from", "git+ssh://git@h.example/a/b", "b"}},
	    {"y", {"uv", "tool", "run", "y@3"}},
	    {"server.py", {"uv", "--directory", "/srv/x", "run", "server.py"}},
	    {"pkg.mod", {"uv", "run", "-m", "pkg.mod"}},
	    {"y", {"uv", "run", "--with", "x", "--project", "/p", "y"}},
	    {"y", {"pipx", "run", "y==1.0", "arg"}},
	    {"y", {"pipx", "run", "--spec", "y==2", "y-mcp"}},
	    {"y", {"pipx", "run", "--python", "python3.11", "y"}},
	};

	(void)state;
	CHECK(cases);
}

static void
scripts(void **state)
{
	static const struct named cases[] = {
	    {"server.js", {"node", "/opt/x/dist/server.js"}},
	    {"server.js", {"node20", "server.js", "--flag"}},
	    {"server.js", {"node", "--inspect", "server.js"}},
	    {"server.js", {"node", "-r", "ts-node/register", "server.js"}},
	    {"server.js", {"node", "--import=tsx", "server.js"}},
	    {"server.js", {"node", "--env-file", ".env", "server.js"}},
	    {"node", {"node", "-e", "require('./x')"}},
	    {"node", {"node", "-pe", "secret"}},
	    {"node", {"node", "--eval", "x"}},
	    {"server.py", {"python3", "server.py"}},
	    {"server.py", {"/usr/bin/python3.11", "-u", "/x/server.py"}},
	    {"pkg.server", {"python", "-m", "pkg.server", "--port", "1"}},
	    {"pkg.server", {"python3", "-mpkg.server", "8000"}},
	    {"pkg.server", {"python3", "-um", "pkg.server"}},
	    {"pkg.server", {"python3", "-I", "-m", "pkg.server"}},
	    {"x.py", {"python3", "-W", "ignore", "-X", "dev", "x.py"}},
	    {"x.py", {"python3", "-Xtracemalloc", "-Wignore", "x.py"}},
	    {"python3", {"python3", "-c", "key='secret'"}},
	    {"python3", {"python3", "-uc", "key='secret'"}},
	    {"python3", {"python3", "-cimport x", "secret"}},
	    {"python3", {"python3", "-"}},
	    {"x.rb", {"ruby", "-Ilib", "-rjson", "x.rb"}},
	    {"x.ts", {"bun", "run", "/a/x.ts"}},
	    {"x.ts", {"deno", "run", "-A", "--allow-net=h", "x.ts"}},
	    {"@scope/x", {"deno", "run", "-A", "npm:@scope/x@1.0.0"}},
	    {"x", {"deno", "run", "jsr:x@2"}},
	    {"deno", {"deno", "eval", "secret()"}},
	};

	(void)state;
	CHECK(cases);
}

static void
shells(void **state)
{
	static const struct named cases[] = {
	    {"start.sh", {"sh", "/opt/start.sh", "x"}},
	    {"start.sh", {"bash", "-e", "-o", "pipefail", "start.sh"}},
	    {"sh", {"sh", "-c", "TOKEN=secret exec server"}},
	    {"sh", {"/bin/sh", "-ec", "TOKEN=secret exec server"}},
	    {"bash", {"bash", "-lc", "TOKEN=secret exec server"}},
	    {"bash", {"bash", "-eo", "pipefail", "-c", "secret"}},
	    {"bash", {"bash", "--norc", "-xc", "secret"}},
	};

	(void)state;
	CHECK(cases);
}

static void
images(void **state)
{
	static const struct named cases[] = {
	    {"mcp/git", {"docker", "run", "-i", "--rm", "mcp/git"}},
	    {"mcp/git", {"docker", "run", "-i", "--rm", "mcp/git:1.2", "a"}},
	    {"mcp/git", {"podman", "run", "--rm", "-it", "mcp/git@sha256:ab"}},
	    {"mcp/git", {"docker", "run", "-i", "mcp/git:1.2@sha256:ab"}},
	    {"r.example:5000/a/b", {"docker", "run", "r.example:5000/a/b"}},
	    {"r.example:5000/a/b", {"docker", "run", "r.example:5000/a/b:7"}},
	    {"i", {"docker", "run", "-e", "TOKEN=secret", "i"}},
	    {"i", {"docker", "run", "-eTOKEN=secret", "i"}},
	    {"i", {"docker", "run", "-ie", "TOKEN=secret", "i"}},
	    {"i", {"docker", "run", "--env=TOKEN=secret", "-i", "i"}},
	    {"i", {"docker", "run", "-v", "/a:/b", "--network", "none", "i"}},
	    {"i", {"docker", "run", "-p8080:80", "--name", "n", "i:latest"}},
	    {"i", {"docker", "run", "--mount", "type=bind,src=/a", "i"}},
	    {"i",
	     {"docker", "run", "--security-opt", "no-new-privileges",
	      "--memory", "1g", "--add-host", "a:b", "i"}},
	    {"i", {"docker", "container", "run", "i"}},
	    {"box", {"docker", "exec", "-i", "box", "server"}},
	};

	(void)state;
	CHECK(cases);
}

static void
others(void **state)
{
	static const struct named cases[] = {
	    {"my-server", {"my-server"}},
	    {"my-server", {"/opt/bin/my-server", "--port", "1"}},
	    {"my-server", {"./my-server", "x"}},
	    {"server2", {"server2"}},
	    {"/", {"/"}},
	    {"dir/", {"dir/"}},
	    {"", {""}},
	    /* A launcher that starts nothing we can see. */
	    {"npx", {"npx"}},
	    {"npx", {"/usr/bin/npx", "-y"}},
	    {"npx", {"npx", "--"}},
	    {"npx", {"npx", "exec"}},
	    {"npx", {"npx", "-p"}},
	    {"npx", {"npx", "--package"}},
	    {"npx", {"npx", "--package="}},
	    {"npx", {"npx", ""}},
	    {"npx", {"npx", "--registry"}},
	    {"uvx", {"uvx", "--from"}},
	    {"uv", {"uv", "tool", "run"}},
	    {"python3.11", {"python3.11"}},
	    {"python3", {"python3", "-m"}},
	    {"python3", {"python3", "-m", ""}},
	    {"docker", {"docker", "run", "-e"}},
	    {"docker", {"docker", "run", "-i", "--rm"}},
	    /* Like a launcher, but another program. */
	    {"npxy", {"npxy", "x"}},
	    {"nodemon", {"nodemon", "x.js"}},
	    {"pythonic", {"pythonic", "x"}},
	    {"shell", {"shell", "x"}},
	    /* Words that are no options and no versions. */
	    {"@", {"npx", "@"}},
	    {"@scope", {"npx", "@scope"}},
	    {"a b", {"npx", "a b"}},
	    {"tool run", {"uv", "tool run"}},
	    {"run", {"npx", "run"}},
	};

	(void)state;
	CHECK(cases);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(npm),     cmocka_unit_test(python_packages),
	    cmocka_unit_test(scripts), cmocka_unit_test(shells),
	    cmocka_unit_test(images),  cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
