/*
 * state_fake - for tests: a store in memory with controllable behaviour.
 *
 * The data is separate from the stores on it, so that several servers can share it, as they share
 * an etcd. Each store sees the others' writes in its own feed, with its own delay. Commits,
 * replies and feeds take times drawn from a seed. Guards and bases are checked as etcd does,
 * unless the store is local. Writes can fail, or succeed without a reply; a feed can be lost.
 */
#ifndef SERVER_TESTING_STATE_FAKE_H
#define SERVER_TESTING_STATE_FAKE_H

#include "base/core/error.h"
#include "store/store.h"

struct fake_data;
struct loop;

struct fake_opts {
	bool local; /* store_is_local(): only for data with one store */
	int64_t delay_ms; /* longest delay of any operation; 0: no delays */
	double fail; /* probability that a write certainly fails */
	double unknown; /* probability that a write is reported as a timeout although it succeeds */
	uint64_t seed;
};

struct fake_data *fake_data_new(void);
void fake_data_free(struct fake_data *d); /* after its stores are closed */

struct store *fake_store_open(struct loop *l, struct fake_data *d, const struct fake_opts *opts);

/* A write by another client; value "" deletes. Returns the revision. */
int64_t fake_data_put(struct fake_data *d, struct str resource, struct str ns, struct str name,
		      struct str value);

/* The same with a guard. */
int64_t fake_data_put_guarded(struct fake_data *d, const struct store_key *key, struct str value,
			      struct str guard);

int64_t fake_data_revision(const struct fake_data *d);

/* Revisions before this one can no longer be read. */
void fake_data_compact(struct fake_data *d, int64_t revision);

/* Ends the feed with on_lost. Events until the next store_follow() are missed. */
void fake_store_lose(struct store *s);

/* The next n reads fail with this code, including requests for the current revision. */
void fake_store_fail_reads(struct store *s, unsigned n, enum error_code code);

/* The next n writes fail with this code; and holds back all writes, or releases them. */
void fake_store_fail(struct store *s, unsigned n, enum error_code code);
void fake_store_hold(struct store *s, bool hold);

/*
 * Holds back writes of objects with this name, which must outlive the store; NULL: releases them.
 */
void fake_store_hold_name(struct store *s, const char *name);

/* Number of store_current() calls so far. */
unsigned fake_store_asked(const struct store *s);

#endif
