/*
 * The sessions of the demonstration: starts this very program as `doorward
 * run`, plays the client, and holds each answer against the script.  Runs in
 * `doorward demo` as the user, unconfined.  What comes back may be anything:
 * it is searched, not parsed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "cmds.h"
#include "demo.h"
#include "demo_agent.h"
#include "demo_desk.h"

#define ARGV_MAX 20
#define LIST_ID 1000 /* of tools/list; the calls count from 1 */
#define LOG_BYTES 2000u

/* What an answer says happened to a call. */
enum outcome { CALL_UNCLEAR, CALL_DONE, CALL_DENIED, CALL_REFUSED };

static enum outcome
read_outcome(const char *answer, size_t len)
{
	if (demo_has(answer, len, "\"error\":{\"code\":-326"))
		return CALL_REFUSED;
	if (demo_has(answer, len, "[doorward denied]"))
		return demo_has(answer, len, "\"isError\":true") ? CALL_DENIED
								 : CALL_UNCLEAR;
	return demo_has(answer, len, "\"result\":{") ? CALL_DONE : CALL_UNCLEAR;
}

static enum outcome
wanted(const struct demo_step *s, int observe)
{
	if (s->fate == FATE_ALLOWED || (observe && s->fate != FATE_FORBIDDEN))
		return CALL_DONE;
	return s->contract == NULL ? CALL_REFUSED : CALL_DENIED;
}

static void
check_answer(struct demo *d, const struct demo_step *s, const char *answer,
	     size_t len, int observe)
{
	static const char *const words[] = {"no answer that makes sense",
					    "allowed", "denied",
					    "denied (refused)"};
	enum outcome want = wanted(s, observe), got = read_outcome(answer, len);
	char rule[80];

	demo_tell(d, s->title, words[got]);
	if (got == CALL_DENIED && !observe)
		demo_show_after(answer, len, "[doorward denied] ");
	else if (got == CALL_DONE && s->show != NULL && !observe)
		demo_show_after(answer, len, s->show);
	snprintf(rule, sizeof(rule), "(rule %s)", s->rule ? s->rule : "");
	if (got != want)
		demo_failed(d, "%s: this call was to be %s", s->tool,
			    words[want]);
	else if (got == CALL_DONE && !demo_has(answer, len, s->proof))
		demo_failed(d, "%s: the server's answer lacks \"%s\"", s->tool,
			    s->proof);
	else if (got == CALL_DENIED && !demo_has(answer, len, rule))
		demo_failed(d, "%s: the reason does not name %s", s->tool,
			    rule);
}

/* Each tool of the server is listed, but for the one that is hidden. */
static void
check_list(struct demo *d, const struct demo_round *r, const char *answer,
	   size_t len)
{
	char name[64], word[80];
	size_t i, listed = 0;
	int before = d->failures, there, hide;

	for (i = 0; demo_tools[i] != NULL; i++) {
		snprintf(name, sizeof(name), "\"name\":\"%s\"", demo_tools[i]);
		there = demo_has(answer, len, name);
		hide =
		    r->hidden != NULL && strcmp(r->hidden, demo_tools[i]) == 0;
		listed += there != 0;
		if (there && hide)
			demo_failed(d, "tools/list: %s is not hidden",
				    demo_tools[i]);
		else if (!there && !hide)
			demo_failed(d, "tools/list: %s is not there",
				    demo_tools[i]);
	}
	if (r->hidden != NULL && demo_has(answer, len, DEMO_EVIL))
		demo_failed(d, "tools/list: the new description is there");
	if (d->failures != before)
		return;
	snprintf(word, sizeof(word), "%zu of %zu%s%s", listed, i,
		 r->hidden != NULL ? ", without " : "",
		 r->hidden != NULL ? r->hidden : "");
	demo_tell(d, "list the tools", word);
}

/* A request and its answer; NULL if there is none. */
static const char *
ask(struct agent *a, int id, const char *method, const char *params,
    size_t *len)
{
	char *message =
	    xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\","
		      "\"params\":%s}",
		      id, method, params);
	int sent = agent_send(a, message);

	free(message);
	return sent == 0 ? agent_answer(a, id, len) : NULL;
}

/* Returns 0, or -1 if the session broke off. */
static int
play_steps(struct demo *d, struct agent *a, const struct demo_round *r,
	   const char *desk)
{
	static const char hello[] =
	    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"fooled-agent\",\"version\":\"1\"}}";
	static const char then[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	const char *answer;
	char *params;
	size_t i, len;

	if (ask(a, 0, "initialize", hello, &len) == NULL ||
	    agent_send(a, then) != 0)
		return -1;
	answer = ask(a, LIST_ID, "tools/list", "{}", &len);
	if (answer == NULL)
		return -1;
	check_list(d, r, answer, len);
	for (i = 0; i < r->n; i++) {
		params = demo_fill(r->steps[i].params, desk);
		answer = ask(a, (int)i + 1, "tools/call", params, &len);
		free(params);
		if (answer == NULL)
			return -1;
		check_answer(d, &r->steps[i], answer, len, r->observe);
	}
	return 0;
}

/* The last bytes of what the program said on stderr, made visible. */
static void
show_log(const char *log)
{
	char shown[1024];
	size_t len, from;
	char *text = desk_read(log, &len), *line, *save = NULL;

	if (text == NULL)
		return;
	from = len > LOG_BYTES ? len - LOG_BYTES : 0;
	for (line = strtok_r(text + from, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		text_visible(line, strlen(line), shown, sizeof(shown));
		printf("    | %s\n", shown);
	}
	free(text);
}

int
demo_play(struct demo *d, const struct demo_round *r, const char *desk)
{
	char *state = xasprintf("%s/state", d->dir);
	char *policy = xasprintf("%s/%s.yaml", d->dir, r->desk);
	char *log = xasprintf("%s/stderr.log", d->dir);
	const char *argv[ARGV_MAX] = {
	    "doorward", "run",
	    "--state",  state,
	    "--policy", policy,
	    "--server", r->desk,
	    "--mode",   r->observe ? "observe" : "enforce",
	    "--",       d->helpdesk,
	    desk};
	struct agent a;
	int status, broke = -1;

	if (agent_start(&a, (char *const *)argv, log) != 0)
		demo_failed(d, "cannot start: %s", strerror(errno));
	else
		broke = play_steps(d, &a, r, desk);
	status = agent_end(&a);
	if (demo_interrupted) {
		broke = -1;
	} else if (broke != 0 || status != 0) {
		demo_failed(d,
			    "the session %s; doorward run ended with status"
			    " %d",
			    broke != 0 ? "broke off" : "was played", status);
		show_log(log);
	}
	free(log);
	free(policy);
	free(state);
	return broke;
}

void
demo_diff(struct demo *d, const struct demo_round *r)
{
	char *state = xasprintf("%s/state", d->dir);
	char *log = xasprintf("%s/stderr.log", d->dir);
	const char *argv[ARGV_MAX] = {"doorward", "pins",   "diff",
				      "--state",  state,    "--server",
				      r->desk,    r->hidden};
	const char *line;
	struct agent a;
	size_t len;
	int status, now = 0, told = 0;

	printf("  doorward pins diff:\n");
	if (agent_start(&a, (char *const *)argv, log) != 0)
		demo_failed(d, "cannot start: %s", strerror(errno));
	while (a.pid > 0 && (line = agent_line(&a, &len)) != NULL) {
		demo_show_line("      ", line, len);
		now |= demo_has(line, len, "now \"");
		told |= now && demo_has(line, len, DEMO_EVIL);
	}
	status = agent_end(&a);
	if (!demo_interrupted && (!told || status != EXIT_FINDING))
		demo_failed(d, "pins diff: the new description is not shown");
	free(log);
	free(state);
}
