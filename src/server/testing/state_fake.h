/*
 * state_fake - for tests: a store in memory that does what the test says.
 *
 * The data stands apart from the stores on it, so that several servers can share
 * one, as they share an etcd. Each store sees the others' writes in its own feed, at its
 * own pace; commits, answers and feeds take times drawn from a seed. Guards and bases are
 * checked as etcd's are, unless the store is local. Writes can fail, or succeed without an
 * answer; a feed can be lost.
 */
#ifndef SERVER_TESTING_STATE_FAKE_H
#define SERVER_TESTING_STATE_FAKE_H

#include "base/core/error.h"
#include "store/store.h"

struct fake_data;
struct loop;

struct fake_opts {
	bool local; /* store_is_local(): only for data with one store */
	int64_t delay_ms; /* most that anything takes; 0: nothing takes time */
	double fail; /* chance of a write to fail, certainly */
	double unknown; /* chance of a write to be called a time-out although it happens */
	uint64_t seed;
};

struct fake_data *fake_data_new(void);
void fake_data_free(struct fake_data *d); /* after its stores are closed */

struct store *fake_store_open(struct loop *l, struct fake_data *d, const struct fake_opts *opts);

/* Somebody else writes; value "" deletes. Returns the revision. */
int64_t fake_data_put(struct fake_data *d, struct str resource, struct str ns, struct str name,
		      struct str value);

/* The same by a write that touches a guard. */
int64_t fake_data_put_guarded(struct fake_data *d, const struct store_key *key, struct str value,
			      struct str guard);

int64_t fake_data_revision(const struct fake_data *d);

/* What is before this revision cannot be read any more. */
void fake_data_compact(struct fake_data *d, int64_t revision);

/* The feed ends with on_lost; whatever happens until the next store_follow() is missed. */
void fake_store_lose(struct store *s);

/* The next n reads fail with this code, questions for the current revision included. */
void fake_store_fail_reads(struct store *s, unsigned n, enum error_code code);

/* The next n writes fail with this code; 0 holds all writes back until called with n 0. */
void fake_store_fail(struct store *s, unsigned n, enum error_code code);
void fake_store_hold(struct store *s, bool hold);

/* Holds back the writes of objects of this name, which must live as long; NULL: of none. */
void fake_store_hold_name(struct store *s, const char *name);

/* store_current() calls so far. */
unsigned fake_store_asked(const struct store *s);

#endif
