/*
 * The reader of a file of pins.  The input is the file without its last line,
 * which is made here: with a wrong one nothing would be read.  What is taken
 * has to be written again just so, and to be shown without harm.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/buf.h"
#include "proto/text.h"

#include "../../supervisor/pins_decide.h"
#include "../../supervisor/pins_model.h"
#include "../../supervisor/pins_show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                             \
	do {                                                    \
		if (!(cond)) {                                  \
			fprintf(stderr, "failed: %s\n", #cond); \
			abort();                                \
		}                                               \
	} while (0)

static void
make_file(struct buf *b, const uint8_t *data, size_t size)
{
	unsigned char h[crypto_hash_sha256_BYTES];
	char hex[PINS_HEX];

	buf_put(b, data, size);
	crypto_hash_sha256(h, data, size);
	buf_printf(b, "end %s\n", sodium_bin2hex(hex, sizeof(hex), h, 32));
}

static void
check_shown(struct pins *p)
{
	struct pins *v[] = {p};
	struct pins_list l = {v, 1, NULL, 0};
	struct pins_choice all = {NULL, 0};
	struct buf b = BUF_INIT;
	uint32_t cp = 0;
	size_t i, k;

	p->server = p->d.server;
	p->package = p->d.package;
	p->path = (char *)"path";
	show_list(&b, &l);
	show_list_json(&b, &l);
	show_waiting(&b, p, &all);
	for (i = 0; i < b.len; i += k) {
		k = text_utf8_next(b.data + i, b.len - i, &cp);
		CHECK(k > 0 && (cp == '\n' || !text_unsafe(cp)));
	}
	buf_free(&b);
}

/* The input as it is, too: the whole file with whatever last line. */
static void
read_raw(const uint8_t *data, size_t size)
{
	struct pins_data d;
	char *why = NULL;

	if (pins_parse(&d, (const char *)data, size, &why) == 0)
		pins_data_free(&d);
	else
		CHECK(why != NULL && d.server == NULL && d.ndefs == 0);
	free(why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf file = BUF_INIT, again = BUF_INIT;
	struct pins p = {.state = PINS_READ};
	char *why = NULL;

	read_raw(data, size);
	make_file(&file, data, size);
	if (pins_parse(&p.d, file.data, file.len, &why) == 0) {
		CHECK(why == NULL);
		check_shown(&p);
		CHECK(pins_print(&again, &p.d, &why) == 0);
		CHECK(again.len == file.len &&
		      memcmp(again.data, file.data, file.len) == 0);
		pins_data_free(&p.d);
	} else {
		CHECK(why != NULL && p.d.server == NULL && p.d.ndefs == 0);
	}
	free(why);
	buf_free(&file);
	buf_free(&again);
	return 0;
}
