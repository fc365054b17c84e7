/*
 * Trees for the tests, written without any check, so that they can be what
 * no honest relay sends.  Include after cmocka.h and proto/buf.h.
 */
#ifndef DW_TEST_TREE_HELP_H
#define DW_TEST_TREE_HELP_H

static inline void
put_text(struct buf *b, char tag, const char *p, size_t n)
{
	buf_putc(b, tag);
	buf_put_u32(b, (uint32_t)n);
	buf_put(b, p, n);
}

/*
 * Translates JSON text: no escapes (a string's bytes are its bytes), blanks
 * are left out, nothing is checked.  A word but true, false and null is a
 * number, whatever it looks like.
 */
static inline void
put_json(struct buf *b, const char *s)
{
	const char *end;
	int key = 0;

	for (; *s != '\0'; s = end) {
		end = s + 1;
		if (strchr(" \n,:", *s) != NULL)
			continue;
		if (*s == '{' || *s == '[') {
			buf_putc(b, *s);
		} else if (*s == '}' || *s == ']') {
			buf_putc(b, '.');
		} else if (*s == '"') {
			end = strchr(s + 1, '"') + 1;
			key = *end == ':';
			put_text(b, key ? ':' : '"', s + 1,
				 (size_t)(end - s) - 2);
		} else {
			end = s + strcspn(s, ",]} ");
			if (strncmp(s, "null", 4) == 0 ||
			    strncmp(s, "true", 4) == 0 ||
			    strncmp(s, "false", 5) == 0)
				buf_putc(b, *s);
			else
				put_text(b, '0', s, (size_t)(end - s));
		}
	}
}

#endif
