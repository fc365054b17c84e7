/*
 * The demonstration's MCP server: a small helpdesk over stdio, with real
 * side effects in one directory (tools.c).  Runs as the user who started it,
 * with no confinement of its own.
 *
 * It is on purpose a server that does what it is told, but it survives
 * whatever bytes it is given.  It speaks the versions with a handshake and
 * 2026-07-28 on one pipe.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "tools.h"

#define LINE_MAX_BYTES (1u << 20)
#define MODERN "2026-07-28"
#define META "io.modelcontextprotocol/"
#define ID_INTEGER_MAX 9007199254740991.0 /* what cJSON's double holds */

static void
put(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(1, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			exit(1);
		p += w;
		n -= (size_t)w;
	}
}

static cJSON *
add(cJSON *object, const char *key, cJSON *value)
{
	if (!cJSON_AddItemToObject(object, key, tools_need(value)))
		tools_die("memory");
	return value;
}

static void
add_string(cJSON *object, const char *key, const char *value)
{
	add(object, key, cJSON_CreateString(value));
}

static void
add_element(cJSON *array, cJSON *value)
{
	if (!cJSON_AddItemToArray(array, tools_need(value)))
		tools_die("memory");
}

/* Prints the answer to id; takes ownership of value. */
static void
answer(const cJSON *id, const char *key, cJSON *value)
{
	cJSON *message = tools_need(cJSON_CreateObject());
	char *text;

	add_string(message, "jsonrpc", "2.0");
	add(message, "id",
	    id != NULL ? cJSON_Duplicate(id, 1) : cJSON_CreateNull());
	add(message, key, value);
	text = tools_need(cJSON_PrintUnformatted(message));
	put(text, strlen(text));
	put("\n", 1);
	free(text);
	cJSON_Delete(message);
}

static cJSON *
make_error(int code, const char *message)
{
	cJSON *error = tools_need(cJSON_CreateObject());

	add(error, "code", cJSON_CreateNumber(code));
	add_string(error, "message", message);
	return error;
}

/* An empty result; in 2026-07-28 it has to name its type. */
static cJSON *
make_result(int modern)
{
	cJSON *result = tools_need(cJSON_CreateObject());

	if (modern)
		add_string(result, "resultType", "complete");
	return result;
}

/* MCP 2026-07-28, "Caching": required on lists and on server/discover. */
static void
add_cache_hints(cJSON *result, int modern)
{
	if (!modern)
		return;
	add(result, "ttlMs", cJSON_CreateNumber(60000));
	add_string(result, "cacheScope", "public");
}

static void
add_server_info(cJSON *object, const char *key)
{
	cJSON *info = add(object, key, cJSON_CreateObject());

	add_string(info, "name", "helpdesk");
	add_string(info, "version", DW_VERSION);
}

static cJSON *
describe(const struct tool *tool)
{
	cJSON *t = tools_need(cJSON_CreateObject()), *schema, *props, *required,
	      *p;
	size_t i;

	add_string(t, "name", tool->name);
	add_string(t, "description", tools_description(tool));
	schema = add(t, "inputSchema", cJSON_CreateObject());
	add_string(schema, "type", "object");
	props = add(schema, "properties", cJSON_CreateObject());
	required = add(schema, "required", cJSON_CreateArray());
	for (i = 0; tool->params[i] != NULL; i++) {
		p = add(props, tool->params[i], cJSON_CreateObject());
		add_string(p, "type", "string");
		add_element(required, cJSON_CreateString(tool->params[i]));
	}
	return t;
}

static void
on_tools_list(const cJSON *id, int modern)
{
	cJSON *result = make_result(modern);
	cJSON *list = add(result, "tools", cJSON_CreateArray());
	const struct tool *tool;
	size_t i;

	for (i = 0; (tool = tools_get(i)) != NULL; i++)
		add_element(list, describe(tool));
	add_cache_hints(result, modern);
	answer(id, "result", result);
}

static struct reply
run_tool(const struct tool *tool, const cJSON *args)
{
	size_t i;

	for (i = 0; tool->params[i] != NULL; i++)
		if (tools_string(args, tool->params[i]) == NULL)
			return tools_say(1, "%s: a string is needed",
					 tool->params[i]);
	return tool->run(args);
}

static void
on_tools_call(const cJSON *id, const cJSON *params, int modern)
{
	const char *name = tools_string(params, "name");
	const cJSON *args =
	    cJSON_GetObjectItemCaseSensitive(params, "arguments");
	const struct tool *tool = NULL;
	cJSON *result, *block;
	struct reply r;
	size_t i;

	for (i = 0; name != NULL && (tool = tools_get(i)) != NULL; i++)
		if (strcmp(tool->name, name) == 0)
			break;
	if (tool == NULL) {
		answer(id, "error", make_error(-32602, "unknown tool"));
		return;
	}
	r = run_tool(tool, args);
	result = make_result(modern);
	block = tools_need(cJSON_CreateObject());
	add_string(block, "type", "text");
	add_string(block, "text", r.text);
	add_element(add(result, "content", cJSON_CreateArray()), block);
	if (r.error)
		add(result, "isError", cJSON_CreateTrue());
	free(r.text);
	answer(id, "result", result);
}

/* MCP lifecycle: the client's version if it is one of ours, else our
 * newest that still shakes hands. */
static void
on_initialize(const cJSON *id, const cJSON *params)
{
	static const char *const known[] = {"2025-11-25", "2025-06-18",
					    "2025-03-26", "2024-11-05"};
	const char *wanted = tools_string(params, "protocolVersion");
	cJSON *result = make_result(0);
	size_t i, pick = 0;

	for (i = 0; wanted != NULL && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i], wanted) == 0)
			pick = i;
	add_string(result, "protocolVersion", known[pick]);
	add(add(result, "capabilities", cJSON_CreateObject()), "tools",
	    cJSON_CreateObject());
	add_server_info(result, "serverInfo");
	answer(id, "result", result);
}

static void
on_discover(const cJSON *id)
{
	cJSON *result = make_result(1);

	add_element(add(result, "supportedVersions", cJSON_CreateArray()),
		    cJSON_CreateString(MODERN));
	add(add(result, "capabilities", cJSON_CreateObject()), "tools",
	    cJSON_CreateObject());
	add_server_info(add(result, "_meta", cJSON_CreateObject()),
			META "serverInfo");
	add_cache_hints(result, 1);
	answer(id, "result", result);
}

/*
 * 1 for a request of 2026-07-28, 0 for an older one, -1 if it was answered
 * with an error (MCP 2026-07-28, "Versioning": each request stands alone).
 */
static int
era(const cJSON *id, const cJSON *params)
{
	const cJSON *meta = cJSON_GetObjectItemCaseSensitive(params, "_meta");
	const char *version = tools_string(meta, META "protocolVersion");
	cJSON *error, *data;

	if (version == NULL)
		return 0;
	if (strcmp(version, MODERN) != 0) {
		error = make_error(-32022, "unsupported protocol version");
		data = add(error, "data", cJSON_CreateObject());
		add_element(add(data, "supported", cJSON_CreateArray()),
			    cJSON_CreateString(MODERN));
		add_string(data, "requested", version);
		answer(id, "error", error);
		return -1;
	}
	if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(
		meta, META "clientCapabilities"))) {
		answer(id, "error",
		       make_error(-32602, "clientCapabilities are missing"));
		return -1;
	}
	return 1;
}

static void
on_request(const cJSON *id, const char *method, const cJSON *params)
{
	int modern = era(id, params);

	if (modern < 0)
		return;
	if (strcmp(method, "tools/call") == 0)
		on_tools_call(id, params, modern);
	else if (strcmp(method, "tools/list") == 0)
		on_tools_list(id, modern);
	else if (modern && strcmp(method, "server/discover") == 0)
		on_discover(id);
	else if (!modern && strcmp(method, "initialize") == 0)
		on_initialize(id, params);
	else if (!modern && strcmp(method, "ping") == 0)
		answer(id, "result", make_result(0));
	else
		answer(id, "error", make_error(-32601, "no such method"));
}

static int
is_id_value(const cJSON *id)
{
	double v;

	if (cJSON_IsString(id))
		return 1;
	if (!cJSON_IsNumber(id))
		return 0;
	v = id->valuedouble;
	return v >= -ID_INTEGER_MAX && v <= ID_INTEGER_MAX &&
	       v == (double)(long long)v;
}

/*
 * cJSON ends a string at an escaped NUL, so that a text would be read short;
 * such a line is refused whole, as is one with bytes after its object.
 */
static void
on_line(const char *line, size_t len)
{
	const char *end = NULL;
	cJSON *message, *id, *params;
	const char *method;

	if (len == 0)
		return;
	message = memmem(line, len, "\\u0000", 6) == NULL
		      ? cJSON_ParseWithLengthOpts(line, len + 1, &end, 1)
		      : NULL;
	if (message == NULL || end != line + len || !cJSON_IsObject(message)) {
		answer(NULL, "error", make_error(-32700, "not JSON"));
		cJSON_Delete(message);
		return;
	}
	id = cJSON_GetObjectItemCaseSensitive(message, "id");
	method = tools_string(message, "method");
	params = cJSON_GetObjectItemCaseSensitive(message, "params");
	if (method == NULL || (id != NULL && !is_id_value(id)) ||
	    (params != NULL && !cJSON_IsObject(params)))
		answer(NULL, "error", make_error(-32600, "not a request"));
	else if (id != NULL)
		on_request(id, method, params);
	cJSON_Delete(message);
}

int
main(int argc, char **argv)
{
	char *line;
	size_t len = 0, off;
	ssize_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: doorward-helpdesk directory\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	tools_open(argv[1]);
	line = tools_need(malloc(LINE_MAX_BYTES + 1));
	while ((n = read(0, line + len, LINE_MAX_BYTES - len)) != 0) {
		char *nl, *p = line;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			tools_die("stdin");
		len += (size_t)n;
		while ((nl = memchr(p, '\n', len - (size_t)(p - line)))) {
			*nl = '\0';
			on_line(p, (size_t)(nl - p));
			p = nl + 1;
		}
		off = (size_t)(p - line);
		len -= off;
		memmove(line, p, len);
		if (len == LINE_MAX_BYTES) {
			errno = EMSGSIZE;
			tools_die("stdin");
		}
	}
	free(line);
	return 0;
}
