/*
 * Every limit that both sides of the split agree on, and no other numbers.
 * doorward(7) lists them for the reader; a test compares the two.
 */
#ifndef DW_PROTO_LIMITS_H
#define DW_PROTO_LIMITS_H

#define DW_MESSAGE_MAX                                          \
	(64u * 1024 * 1024)   /* bytes of one line, newline out \
			       */
#define DW_DEPTH_MAX 128u     /* nested arrays and objects */
#define DW_NODES_MAX 1000000u /* values in one message */
#define DW_ID_MAX 1024u       /* bytes of an id or progress token */
#define DW_METHOD_MAX 1024u   /* bytes of a method's or tool's name */
#define DW_INFLIGHT_MAX 4096u /* open requests, each direction */
#define DW_ASKS_MAX 64u       /* questions waiting for a person */
#define DW_TOOLS_MAX 10000u   /* tools of one server */

#define DW_BODY_MAX (1024u * 1024) /* bytes in the body of one frame */
#define DW_PART_MAX (256u * 1024)  /* of a message in one frame */
#define DW_NOTE_MAX 512u           /* bytes of a relay's log line */
#define DW_SAMPLE_MAX 80u          /* bytes shown of a line that was dropped */

/* A tree never needs more: five bytes a node on top of what was sent. */
#define DW_TREE_MAX (DW_MESSAGE_MAX + 8u * DW_NODES_MAX)

#define DW_HELLO_TIMEOUT_MS 10000  /* a relay's first frame */
#define DW_FRAME_TIMEOUT_MS 10000  /* the rest of a frame or message */
#define DW_SHUTDOWN_STEP_MS 2000   /* end of input, SIGTERM, SIGKILL */
#define DW_DRAIN_MS 500            /* output of a server that has exited */
#define DW_AUDIT_LOCK_WAIT_MS 2000 /* for the audit's lock, then deny */

/*
 * Above this much unwritten output the monitor stops reading the side that
 * makes it, so that memory stays bounded when a peer does not read.
 */
#define DW_OUT_HIGH (512u * 1024)

/*
 * The client is read on while the server's answers wait for it, since it may
 * well write all its calls before it reads; but not for ever, since Doorward
 * answers, too.
 */
#define DW_ANSWERS_HIGH (4u * 1024 * 1024)

#endif
