/*
 * How `doorward pins` shows a long value, and what of two long ones differs.
 */
#ifndef DW_PINS_PARTS_H
#define DW_PINS_PARTS_H

#include <stddef.h>

struct buf;

/* 1 if len bytes at v take more than the rest of a line. */
int parts_long(const char *v, size_t len);

/*
 * Appends lead and the value, and ends the line.  A value that is long is
 * broken after its line breaks, which stay visible as \n, and to the width of
 * a terminal; each further line begins with indent blanks and one for each
 * character of lead and the quote, so that no line of a server's text begins
 * where one of ours does.
 */
void parts_put(struct buf *b, int indent, const char *lead, const char *v,
	       size_t len);

/*
 * Appends the two values as "was" and "now"; of long texts only the parts
 * that differ, each with what stands around it and its place.  All that
 * differs is shown: where the parts would be too many, the whole values are.
 */
void parts_diff(struct buf *b, int indent, const char *was, size_t was_len,
		const char *now, size_t now_len);

/* Appends the value; of a text of more than max characters the first max, and
 * "..." outside the quotes. */
void parts_clip(struct buf *b, const char *v, size_t len, size_t max);

#endif
