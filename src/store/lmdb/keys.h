/*
 * lmdb_keys - the layout of keys and values in the tables of the LMDB store.
 *
 *	table       key                                 value
 *	current     id, namespace, 0, name              revision, bytes
 *	superseded  id, namespace, 0, name, revision    until, bytes
 *	log         revision                            time, prev, kind, key of current
 *	meta        text                                see lmdb/env.h
 *
 * id is the resource's, 4 bytes. Revisions and times are 8 bytes. All are big-endian, so they sort
 * as numbers. `until` is the revision that superseded those bytes. `prev` is the revision whose
 * bytes a change replaced, 0 if it created the key. `time` is in milliseconds since 1970.
 *
 * Pieces of a key contain no NUL, and a revision's first byte is 0. So the versions of a key are
 * adjacent even if its name is a prefix of another key's name.
 */
#ifndef STORE_LMDB_KEYS_H
#define STORE_LMDB_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

enum {
	LMDB_KEY_MAX = 511, /* LMDB's own limit */
	LMDB_NUMBER = 8, /* bytes of a revision or time */
	LMDB_KEY_ID = 4, /* bytes of a resource's id */
};

/* The highest possible revision. */
#define LMDB_REVISION_MAX ((INT64_C(1) << 56) - 1)

struct lmdb_key {
	char p[LMDB_KEY_MAX];
	size_t n;
};

/* One entry of the log, decoded; `key` is borrowed from the entry. */
struct lmdb_change {
	int64_t revision;
	int64_t time_ms;
	int64_t prev;
	bool deleted;
	struct str key; /* of `current` */
};

/* Write and read a number at any alignment. */
void lmdb_number_put(char *p, int64_t v);
int64_t lmdb_number_get(const char *p);

/*
 * Makes a key of `current`. Returns false if a piece contains NUL, or if the key would be too long
 * with a revision appended.
 */
bool lmdb_key_make(struct lmdb_key *k, uint32_t id, struct str ns, struct str name);

/* Makes the prefix of all keys of a resource or, if `ns` is not empty, of one of its namespaces. */
bool lmdb_key_prefix(struct lmdb_key *k, uint32_t id, struct str ns);

/* Appends a revision: makes a key of `superseded`, or from an empty key one of `log`. */
void lmdb_key_add_revision(struct lmdb_key *k, int64_t revision);

static inline struct str lmdb_key_str(const struct lmdb_key *k)
{
	return str_of(k->p, k->n);
}

/*
 * Splits a key of `current` into pieces, which are borrowed from it. Returns false if it is
 * malformed.
 */
bool lmdb_key_parse(struct str key, uint32_t *ret_id, struct str *ret_ns, struct str *ret_name);

/* Splits a key of `superseded` into that of `current` and the revision. */
bool lmdb_key_split(struct str key, struct str *ret_key, int64_t *ret_revision);

/* Splits a value of `current` or `superseded` into its number and its bytes. */
bool lmdb_value_split(struct str value, int64_t *ret_number, struct str *ret_bytes);

/* The log's value: its size, writing it, and parsing an entry. */
size_t lmdb_change_size(const struct lmdb_change *c);
void lmdb_change_put(char *p, const struct lmdb_change *c);
bool lmdb_change_parse(struct str key, struct str value, struct lmdb_change *ret_change);

#endif
