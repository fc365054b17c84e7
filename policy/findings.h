/*
 * Adding findings, for the files of policy/ alone.  Include policy.h, entry.h
 * and call.h first.
 */
#ifndef DW_POLICY_FINDINGS_H
#define DW_POLICY_FINDINGS_H

#include <stddef.h>

struct finding;
struct findings;
struct entry;

/* One contract says the same thing of a call at most so often: what follows
 * could only say it again. */
#define FINDINGS_PER_CONTRACT 16u

/* Bytes of an argument, a path or a name shown in a reason. */
#define SHOWN_MAX 160u

struct shown_text {
	char text[SHOWN_MAX];
};

/* len bytes, safe to show, cut with "..." where they are too long. */
const char *shown(struct shown_text *s, const char *p, size_t len);

/*
 * Adds a finding of an entry's key: its rule id, file and line are made from
 * where the key was given.  Takes reason and param (may be NULL) over.
 * Nothing is added if the contract has said enough, or the same before.
 */
void findings_of_entry(struct findings *f, enum contract contract,
		       enum policy_action action, const struct entry *e,
		       enum entry_key key, char *param, char *reason);

/* The same without an entry: rule is copied. */
void findings_say(struct findings *f, enum contract contract,
		  enum policy_action action, const char *rule, char *param,
		  char *reason);

/* "tools.NAME", "NAME", "pack.PACK.NAME", "fallback.NAME", and the key's name
 * after a dot unless key is ENTRY_KEY_MAX.  Caller frees. */
char *entry_rule_id(const struct entry *e, const struct entry_place *place,
		    enum entry_key key);

/* 1 if the contract has said so much, as strict as action or stricter, that it
 * need not go on. */
int findings_full(const struct findings *f, enum contract contract,
		  enum policy_action action);

#endif
