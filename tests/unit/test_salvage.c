/*
 * The id of lines that are not messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frames.h"
#include "proto/limits.h"

#include "../../relay/salvage.h"

/* want: "" for none, a number's text, or a string behind a quote. */
static void
check_in_pieces(const char *line, size_t piece, const char *want)
{
	static struct salvage s;
	size_t n = strlen(line), i, k;
	struct scalar id;
	uint8_t type = want[0] == '\0'  ? SCALAR_NONE
		       : want[0] == '"' ? SCALAR_STRING
					: SCALAR_NUMBER;

	if (type == SCALAR_STRING)
		want++;
	salvage_init(&s);
	for (i = 0; i < n; i += k) {
		k = n - i < piece ? n - i : piece;
		salvage_feed(&s, line + i, k);
	}
	id = salvage_id(&s);
	if (id.type != type || id.len != strlen(want) ||
	    memcmp(id.p, want, id.len) != 0)
		fail_msg("%s: found %d %.*s", line, id.type, id.len, id.p);
}

static void
check(const char *line, const char *want)
{
	check_in_pieces(line, 1, want);
	check_in_pieces(line, 3, want);
	check_in_pieces(line, strlen(line) + 1, want);
}

static void
finds(void **state)
{
	(void)state;
	check("{\"id\":1}", "1");
	check("{\"id\":-12,", "-12");
	check("{ \"id\" : 1 , \"x\"", "1");
	check("{\"id\":\"a\",tru", "\"a");
	check("{\"id\":\"\"}", "\"");
	check("{\"a\":[1,2,{\"id\":3}],\"id\":\"z\"}}}}", "\"z");
	check("{\"a\":\"{\\\"id\\\":9,\",\"id\":5}", "5");
	check("{\"a\":\"\\\\\",\"id\":5}", "5");
	check("{\"a\":\"\\\"\",\"id\":5}", "5");
	check("{\"a\" 007 nonsense,\"id\":5", ""); /* cut: 5 or 50? */
	check("{\"a\" 007 nonsense,\"id\":5}", "5");
	check("{\"a\":\"\xff\",\"id\":5}", "5");
	check("{\"i\\u0064\":5}", "5");
	check("{\"id\":\"\\u00e9\\n\"}", "\"\xc3\xa9\n");
	check("{\"id\":5,\"id\":5}", "5");
	check("{\"id\":9007199254740993}", "9007199254740993");
}

static void
finds_none(void **state)
{
	(void)state;
	check("", "");
	check("banner", "");
	check("[{\"id\":1}]", "");
	check("\"id\":1", "");
	check("{\"id\":", "");
	check("{\"id\"", "");
	check("{\"id\":\"a", "");
	check("{\"id\":5", "");
	check("{\"id\":5,\"id\":6}", "");
	check("{\"id\":5,\"id\":\"5\"}", "");
	check("{\"id\":5,\"id\":null}", "");
	check("{\"id\":null}", "");
	check("{\"id\":1.5}", "");
	check("{\"id\":1e2}", "");
	check("{\"id\":007}", "");
	check("{\"id\":{\"id\":1}}", "");
	check("{\"id\":[1]}", "");
	check("{\"id\":1 2}", "");
	check("{\"id\":\"a\" \"b\"}", "");
	check("{\"id\":,\"id\":1}", "");
	check("{\"id\" 1}", "");
	check("{\"id\":\"\xff\"}", "");
	check("{\"id\":\"\\ud800\"}", "");
	check("{\"id\":\"\\u0000\"}", "");
	check("{\"id\":\"\\x\"}", "");
	check("{\"ID\":5}", "");
	check("{\"ids\":5}", "");
	check("{\"params\":{\"id\":5}}", "");
	check("{\"x\":\"id\":5}", "");
}

static char *
line_of(const char *unit, size_t n)
{
	size_t len = strlen(unit), i;
	char *line = malloc(n * len + 16), *p = line;

	p += sprintf(p, "{\"id\":\"");
	for (i = 0; i < n; i++, p += len)
		memcpy(p, unit, len);
	strcpy(p, "\"}");
	return line;
}

static void
found_length(const char *unit, size_t n, size_t want)
{
	static struct salvage s;
	char *line = line_of(unit, n);

	salvage_init(&s);
	salvage_feed(&s, line, strlen(line));
	assert_int_equal(salvage_id(&s).len, want);
	free(line);
}

static void
long_ids(void **state)
{
	(void)state;
	found_length("a", DW_ID_MAX, DW_ID_MAX);
	found_length("a", DW_ID_MAX + 1, 0);
	found_length("\\u0061", DW_ID_MAX, DW_ID_MAX);
	found_length("\\u0061", DW_ID_MAX + 1, 0);
	found_length("a", 10 * SALVAGE_LITERAL_MAX, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds),
	    cmocka_unit_test(finds_none),
	    cmocka_unit_test(long_ids),
	};

	return cmocka_run_group_tests_name("salvage", tests, NULL, NULL);
}
