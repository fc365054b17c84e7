/*
 * What is said of a tool that nobody speaks of: an entry made from its
 * name and inputSchema by one table of names (design.md section 4).  Include
 * policy.h and entry.h first.
 */
#ifndef DW_POLICY_FALLBACK_H
#define DW_POLICY_FALLBACK_H

#include <stddef.h>

struct cJSON;
struct entry;

/*
 * schema is a JSON Schema object, or NULL.  Returns an entry (also the struct
 * itself is the caller's: entry_clear() and free()), or NULL if there is
 * nothing to say.  Every key given has an entry_place without file and line.
 * The cost is bounded whatever the schema is; a schema that is too large or
 * nested too deep is read as far as the bounds go, and the tool then counts
 * as sending, with every argument a destination.
 */
struct entry *fallback_entry(const char *tool, size_t len,
			     const struct cJSON *schema);

#endif
