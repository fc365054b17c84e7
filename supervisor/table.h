/*
 * The frame table: relay x state x frame.  doorward(7) prints it.
 */
#ifndef DW_TABLE_H
#define DW_TABLE_H

#include "monitor.h"

/*
 * A handler gets a body whose length its cell has allowed.  It returns 0, or
 * breach().
 */
typedef int on_frame(struct monitor *m, struct channel *c,
		     const struct frame_header *h, const char *body);

struct frame_rule {
	on_frame *handler; /* NULL: a breach */
	uint8_t once;      /* at most one of the type in a relay's life */
	uint32_t least, most;
};

/* The cell; never NULL for values in range. */
const struct frame_rule *
table_rule(enum relay_side side, enum relay_state state, enum frame_type type);

const char *state_name(enum relay_state state);
const char *side_name(enum relay_side side);
const char *frame_name(enum frame_type type);

on_frame on_hello, on_note, on_eoi, on_client_refuse, on_tree_part, on_tree_end,
    on_server_refuse, on_envelope, on_line_part, on_result_part, on_result_end;

#endif
