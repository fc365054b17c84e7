/*
 * From a line that the strict scan has accepted to the tree that the monitor
 * reads (proto/tree.h).
 */
#ifndef DW_RELAY_EMIT_H
#define DW_RELAY_EMIT_H

#include <stddef.h>

/* Takes n bytes of the tree; called many times, with few bytes each. */
typedef void emit_put_fn(void *arg, const void *p, size_t n);

/*
 * Writes the tree of the line, which scan_line() has found without fault and
 * without NUL or lone surrogate: neither can travel in a tree.
 */
void emit_tree(const char *line, size_t len, emit_put_fn *put, void *arg);

struct scan_tool;

/*
 * The same for a line whose only faults are inside elements of result.tools:
 * the n tools are these in order, and a bad one becomes null.
 */
void emit_tree_tools(const char *line, size_t len,
		     const struct scan_tool *tools, size_t n, emit_put_fn *put,
		     void *arg);

#endif
