/*
 * The descriptor map.  Both ends of an execve use these numbers; nothing else
 * is open in a relay.
 */
#ifndef DW_PROTO_FDMAP_H
#define DW_PROTO_FDMAP_H

enum {
	DW_FD_STREAM = 0,  /* relay: the stream it reads, read only */
	DW_FD_NULL_1 = 1,  /* relay: /dev/null */
	DW_FD_NULL_2 = 2,  /* relay: /dev/null */
	DW_FD_MONITOR = 3, /* relay: its socketpair to the monitor */
	DW_FD_FIRST_FREE = 4
};

#endif
