/*
 * Destinations, as far as they can be judged by what the policy trusts alone
 * (design.md section 6, "Trust").  Include policy.h, entry.h and call.h first.
 */
#ifndef DW_POLICY_SINK_H
#define DW_POLICY_SINK_H

#include <stddef.h>

struct entry;
struct findings;
struct policy_call;
struct strings;

/*
 * 1 if one of the entries trusts the value.  ASCII case and outer blanks are
 * folded, a path in a URL by nothing.  A value that could be read in two ways
 * (userinfo, backslash, controls, an odd port, dot segments, encoded slashes,
 * a fragment, a comment or a quoted part in a mail address) is trusted by no
 * entry, nor is a list in one string.  Entries: a mail address, *@domain,
 * https://host/path (a * at its end takes what follows), host:NAME,
 * host:*.DOMAIN (what is below it, not itself), any other text as a whole.
 */
int sink_trusted(const struct strings *trusted, const char *value, size_t len);

/* The contract; nothing unless the entry is exfiltrating. */
void sink_judge(const struct entry *e, const struct policy_call *c,
		struct findings *f);

#endif
