/*
 * What a file of pins says, in memory, and the text it is written as: for
 * the pins_*.c files and the command alone; others have pins.h.
 *
 * Everything that came from a server is kept as a token, the form in which
 * it stands in the file: quoted, with nothing in it that ends a line or that
 * a terminal must not see; or, where it is too long to be kept, its hash.  A
 * token tells two texts apart as well as the texts do, so tokens are
 * compared and shown.
 */
#ifndef DW_PINS_MODEL_H
#define DW_PINS_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct cJSON;

#define PINS_VERSION 1
#define PINS_FILE_MAX (64u * 1024 * 1024) /* bytes */
#define PINS_SETS_MAX 256u
#define PINS_VALUES_MAX 64u          /* accepted ones of a kind */
#define PINS_FLAT_MAX (1024u * 1024) /* bytes of a definition's lines */
#define PINS_TEXT_MAX (256u * 1024)  /* bytes of a text that is kept */
#define PINS_NAME_MAX 1024u          /* bytes of a name that is kept */
#define PINS_HEX 65u                 /* SHA-256 with its NUL */
#define PINS_TIME 21u                /* 2026-11-30T23:59:59Z, NUL */

/* A whole definition.  Many sets share one. */
struct pin_def {
	char hash[PINS_HEX];
	char *flagged; /* token of what is suspicious in it, or NULL */
	char *lines;   /* as canon_flatten() makes them; NULL: too long */
	size_t len;
	const struct cJSON *source; /* lines are still to be made of it */
	int used;
};

/* One name in one set.  pin and wait are borrowed of the data. */
struct pin_entry {
	char *name;           /* token */
	struct pin_def *pin;  /* NULL: none */
	struct pin_def *wait; /* what a person has to decide on, or NULL */
	char time[PINS_TIME]; /* when wait was first seen */
	int wait_new;         /* no other definition was known of it */
	int open;             /* without a pin: to be judged as if the set had
				 not been seen */
};

struct pin_set {
	char era[8];
	char caps[PINS_HEX];
	int known; /* seen at a time when what is first seen is trusted */
	char time[PINS_TIME];
	struct pin_entry *e; /* by name */
	size_t n;
};

struct pin_value {
	char *token; /* NULL: none */
	char time[PINS_TIME];
};

enum pin_kind { PIN_COMMAND, PIN_VERSION, PIN_INSTRUCTIONS, PIN_KINDS };

/* What is pinned of the server itself: any of v will do. */
struct pin_values {
	struct pin_value *v;
	size_t n;
	struct pin_value wait;
};

struct pins_data {
	char *server, *package; /* tokens */
	struct pin_values values[PIN_KINDS];
	struct pin_def **defs; /* by hash */
	size_t ndefs;
	struct pin_set *sets; /* in the order they were first seen */
	size_t nsets;
};

/* Which file it was: it is never changed in place. */
struct pins_stamp {
	uint64_t dev, ino, size;
	int64_t sec, nsec; /* when it was written */
};

enum pins_read { PINS_UNREAD, PINS_EMPTY, PINS_READ };

/* One server's pins.  Opaque in pins.h. */
struct pins {
	char *dir;  /* the directory of the files */
	char *file; /* name in it */
	char *path; /* both, for messages */
	char *server, *package;
	enum pins_read state;
	struct pins_data d;
	char digest[PINS_HEX];   /* of the file, as read or stored */
	struct pins_stamp stamp; /* of the file; zero: there was none */
};

/* ---- pins_text.c: tokens and the text of the file ---- */

/* Appends the token of len bytes, of which at most max are kept. */
void token_put(struct buf *b, const char *p, size_t len, size_t max);
char *token_new(const char *p, size_t len, size_t max); /* caller frees */
char *token_of_command(const char *const *argv);        /* caller frees */
char *token_of_name(const char *p, size_t len);         /* caller frees */

/* The text of a token, with its length; NULL if it was not kept.  Caller
 * frees. */
char *token_text(const char *token, size_t *len);

/* Bytes of the token at the start of n, which is written exactly as
 * token_put() does; 0 if there is none. */
size_t token_at(const char *p, size_t n);

/* 1 if the n bytes at p are one token, written as token_put() does. */
int token_valid(const char *p, size_t n);
int token_valid_command(const char *p, size_t n);

/* Now, in UTC. */
void pins_now(char time[PINS_TIME]);

/* Drops definitions that nothing refers to. */
void pins_drop_unused(struct pins_data *d);

/*
 * The file's text, its last line included.  Drops definitions that nothing
 * refers to.  -1 with *why if it would be too long.
 */
int pins_print(struct buf *b, struct pins_data *d, char **why);

/* ---- pins_read.c ---- */

/* Reads all n bytes of a file.  0, or -1 with *why, a phrase. */
int pins_parse(struct pins_data *d, const char *p, size_t n, char **why);

/* ---- pins_file.c: directory, lock, files ---- */

/* A descriptor, -1 with *why, or -2 if there is no such directory. */
int pins_open_dir(const char *path, char **why);
/* PINS_OK with *fd to be closed, PINS_BUSY, or PINS_FAILED. */
int pins_lock(const char *path, int dirfd, int *fd, char **why);
/* Waits for the lock, up to ms. */
int pins_lock_wait(const char *path, int dirfd, int *fd, int ms, char **why);
/* PINS_OK, PINS_NONE or PINS_FAILED. */
int pins_read_file(const char *path, int dirfd, const char *file, struct buf *b,
		   struct pins_stamp *stamp, char **why);
int pins_write_file(const char *path, int dirfd, const char *file,
		    const struct buf *b, struct pins_stamp *stamp, char **why);
/* The stamp of what is at the path now; zero if there is nothing. */
void pins_stamp(int dirfd, const char *file, struct pins_stamp *stamp);
/* Removes what writers that died have left; under the lock. */
void pins_sweep(int dirfd);

/* ---- pins.c ---- */

void pins_data_free(struct pins_data *d);
struct pin_set *pins_find_set(const struct pins_data *d, const char *era,
			      const char *caps);
struct pin_entry *pins_find_entry(const struct pin_set *s, const char *name);
struct pin_def *pins_find_def(const struct pins_data *d, const char *hash);
const char *pins_kind_name(enum pin_kind k);

int pins_value_known(const struct pin_values *v, const char *token);
/* pins_sight(): what d says of a definition shown in s, which may be NULL.
 * An enum pin_sight. */
int pins_judge(const struct pins_data *d, const struct pin_set *s,
	       const char *name, const char *hash);
/* The definition of s that one is to be compared with, else another set's. */
const struct pin_def *pins_pinned(const struct pins_data *d,
				  const struct pin_set *s, const char *name);
/* Whatever server the file is of; pins_free() frees. */
struct pins *pins_of_file(const char *dir, const char *file);
/* Reads through an open directory; as pins_load(). */
int pins_load_at(struct pins *p, int dirfd, char **why);
/* Prints p and puts the file in place; as pins_store().  If that fails p is
 * what the file says. */
int pins_save_at(struct pins *p, int dirfd, char **why);

#endif
