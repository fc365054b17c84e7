/*
 * Whether a pack's entry is about the tool that a server shows, for the files
 * of policy/ alone.  Include policy.h and entry.h first.
 */
#ifndef DW_POLICY_APPLIES_H
#define DW_POLICY_APPLIES_H

#include <stddef.h>

struct cJSON;
struct entry;

/*
 * 1 if the inputSchema (the server's: it may be anything) has one of the
 * parameters that the entry names, if the entry names none, or if the schema
 * does not tell: NULL, or without "properties" anywhere at its top.
 */
int applies_to_schema(const struct entry *e, const struct cJSON *schema);

/* 1 if the entry names this parameter of the tool's, or something within. */
int applies_names(const struct entry *e, const char *property);

/*
 * 1 if one of the n package names is in the command (argv, ended by NULL): as
 * a word, with or without a version after it; as a word's base name; or as
 * what follows node_modules/ or site-packages/ in a path.
 */
int applies_to_command(char *const *packages, size_t n,
		       const char *const *command);

#endif
