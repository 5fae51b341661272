/*
 * store_sealed - a store whose values are encrypted, around another store.
 *
 * Values of the resources that an EncryptionConfiguration names are sealed when they are written
 * and opened when they are read, by range, feed and history. The store around which it stands sees
 * only sealed values: so do its files, its journal and its backups. Names, namespaces, revisions
 * and times stay readable. Everything else is as store.h says, with these additions:
 *
 *  - A write whose KMS plugin does not answer fails with -ERR_UNAVAILABLE.
 *  - A range with a value that cannot be opened fails: -ERR_INVALID if the configuration does not
 *    have its key, -ERR_UNAVAILABLE if a KMS plugin does not answer, -ERR_INTERNAL if it is
 *    damaged. The error names the object.
 *  - The feed waits for a key that it does not have. Until the configuration names it, or the
 *    plugin answers, the store is not healthy. If too much waits, the feed is lost. A damaged value
 *    is delivered as it is stored, which no reader takes for an object.
 *  - History begins after the last change that cannot be opened. Its limit counts sealed bytes.
 */
#ifndef STORE_SEALED_STORE_H
#define STORE_SEALED_STORE_H

#include "store/store.h"

struct metrics;

struct store_sealed_opts {
	const char *file; /* the EncryptionConfiguration */
	bool reload; /* read it again when it changes */
	struct metrics *metrics; /* or NULL */
	/* For people: what has happened, and why (or NULL). `what` is constant. May be NULL. */
	void (*report)(void *arg, const char *what, const struct error *err);
	void *arg;
	int64_t look_ms; /* how often the file is looked at; 0: every second */
	int64_t kms_poll_ms, kms_grace_ms; /* see kms.h; 0: the defaults */
};

struct sealed_store;

/* Reads the configuration. -ERR_INVALID: it is wrong. */
int store_sealed_new(struct loop *l, const struct store_sealed_opts *opts,
		     struct sealed_store **ret_sealed, struct error *err);

/* Puts it around a store that nobody has used yet. They are one from now on: close the result. */
struct store *store_sealed_around(struct sealed_store *s, struct store *inner);

/* For one that was not put around a store. NULL allowed. */
void store_sealed_free(struct sealed_store *s);

#endif
