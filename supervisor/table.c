/*
 * Which frame a relay may send in which state.  Runs in the monitor.  The
 * table is const, whole, and fits on a screen: what is not written here as
 * permitted is a breach.
 */
#include "proto/limits.h"

#include "table.h"

#define NO                 \
	{                  \
		0, 0, 0, 0 \
	}
#define ONCE(h, least, most)      \
	{                         \
		h, 1, least, most \
	}
#define MANY(h, least, most)      \
	{                         \
		h, 0, least, most \
	}

/* refuse: reason, offset, id, sample; envelope: fixed part and its strings */
#define REFUSE_LEAST 15u
#define REFUSE_MOST (REFUSE_LEAST + DW_ID_MAX + DW_SAMPLE_MAX)
#define ENVELOPE_LEAST 16u
#define ENVELOPE_MOST \
	(ENVELOPE_LEAST + 2 * DW_ID_MAX + DW_METHOD_MAX + ENVELOPE_VERSION_MAX)

/*
 * A part is full unless it is the last: a relay cannot spread a message over
 * hours while the client's other answers wait for its end.
 */
#define HELLO ONCE(on_hello, HELLO_LEN, HELLO_LEN)
#define NOTE MANY(on_note, 1, DW_NOTE_MAX)
#define EOI ONCE(on_eoi, 0, 0)
#define T_PART MANY(on_tree_part, DW_PART_MAX, DW_PART_MAX)
#define T_END MANY(on_tree_end, 1, DW_PART_MAX)
#define C_REFUSE MANY(on_client_refuse, REFUSE_LEAST, REFUSE_MOST)
#define S_REFUSE MANY(on_server_refuse, REFUSE_LEAST, REFUSE_MOST)
#define ENVELOPE MANY(on_envelope, ENVELOPE_LEAST, ENVELOPE_MOST)
#define L_PART MANY(on_line_part, 1, DW_PART_MAX)
#define R_PART MANY(on_result_part, DW_PART_MAX, DW_PART_MAX)
#define R_END MANY(on_result_end, 1, DW_PART_MAX)

/* clang-format off */
static const struct frame_rule
table[SIDE_MAX][RELAY_STATE_MAX][FRAME_TYPE_MAX] = {
  /*  none HELLO  NOTE  EOI  TREE..  TREE.  REFUSE    ENVELOPE  LINE..  RESULT.. RESULT.*/
  { /* the client's relay */
    { NO,  HELLO, NOTE, NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* start  */
    { NO,  NO,    NOTE, EOI, T_PART, T_END, C_REFUSE, NO,       NO,     NO,      NO     }, /* idle   */
    { NO,  NO,    NO,   NO,  T_PART, T_END, NO,       NO,       NO,     NO,      NO     }, /* tree   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* result */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* told   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* line   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* ended  */
  },
  { /* the server's relay */
    { NO,  HELLO, NOTE, NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* start  */
    { NO,  NO,    NOTE, EOI, NO,     NO,    S_REFUSE, ENVELOPE, NO,     R_PART, R_END }, /* idle   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* tree   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     R_PART, R_END }, /* result */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       ENVELOPE, NO,     NO,      NO     }, /* told   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       L_PART, NO,      NO     }, /* line   */
    { NO,  NO,    NO,   NO,  NO,     NO,    NO,       NO,       NO,     NO,      NO     }, /* ended  */
  },
};
/* clang-format on */

const struct frame_rule *
table_rule(enum relay_side side, enum relay_state state, enum frame_type type)
{
	return &table[side][state][type];
}

const char *
state_name(enum relay_state state)
{
	static const char *const names[RELAY_STATE_MAX] = {
	    "start", "idle", "tree", "result", "told", "line", "ended"};

	return names[state];
}

const char *
side_name(enum relay_side side)
{
	return side == SIDE_CLIENT ? "client" : "server";
}

const char *
frame_name(enum frame_type type)
{
	static const char *const names[FRAME_TYPE_MAX] = {
	    "NONE",      "HELLO",       "NOTE",      "EOI",
	    "TREE_PART", "TREE_END",    "REFUSE",    "ENVELOPE",
	    "LINE_PART", "RESULT_PART", "RESULT_END"};

	return names[type];
}
