/*
 * store_contract_fixture - tests that every backend of store.h must pass.
 *
 * A backend's test describes how to create an empty store and calls store_contract_run(). Each case
 * then runs on a store of its own.
 *
 *	static const struct store_contract_backend backend = {
 *		.name = "store/lmdb", .past = true,
 *		.make = make_folder, .destroy = remove_folder, .open = open_folder,
 *	};
 *	return store_contract_run(&backend);
 *
 * The rest of this header is for the cases, and for a backend's further tests that use the same
 * helpers: those begin with store_contract_begin().
 */
#ifndef STORE_CONTRACT_FIXTURE_H
#define STORE_CONTRACT_FIXTURE_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "net/loop/loop.h"
#include "store/store.h"

struct store_contract_case;

struct store_contract_backend {
	const char *name; /* of the group of tests */
	bool past; /* store_history() returns changes made before store_follow() */
	size_t more; /* bytes that a stored value is longer than the given one */
	bool unordered; /* writes of different keys may overtake each other */
	/*
	 * Creates a location for data that no other case sees: a folder, a prefix. If it returns
	 * NULL, the case is skipped, for example when no etcd is installed.
	 */
	void *(*make)(void);
	void (*destroy)(void *place);
	/*
	 * Opens the store at the location: empty the first time, with the data written so far
	 * later.
	 */
	int (*open)(void *place, struct loop *l, struct store **ret_store, struct error *err);
	/* The backend's own cases, ended by one without a name; or NULL. */
	const struct store_contract_case *extra;
};

/* One event of the feed, copied. */
struct store_contract_event {
	struct str resource, ns, name, value;
	bool deleted;
	int64_t revision;
	const struct store_write *write;
};

/* A running case. */
struct store_contract {
	const struct store_contract_backend *backend;
	void *place;
	struct loop *loop;
	struct store *store; /* open and, at the start of a case, empty */
	struct arena arena; /* holds everything below; cleared at the end */
	VEC(struct store_contract_event) events;
	int64_t delivered; /* the last revision passed to on_events */
	size_t batches; /* calls of on_events */
	bool lost; /* on_lost was called */
};

/* A write and its outcome; in the arena. */
struct store_contract_write {
	struct store_write write;
	struct store_contract *contract;
	bool done;
	size_t events_before; /* number of events delivered before done() was called */
	int result; /* 0 or -ERR_*, once done */
	struct error err;
};

/* A range read; in the arena. */
struct store_contract_read {
	struct store_contract *contract;
	bool done;
	int result;
	struct store_range_result got;
	struct error err;
};

/* Runs all cases as one cmocka group; returns the number of failures. */
int store_contract_run(const struct store_contract_backend *b);

/* Runs the cases on each backend in turn. `backends` ends with NULL. */
int store_contract_run_all(const char *name, const struct store_contract_backend *const *backends);

/*
 * Creates a location and a loop, and opens the store. Returns false if make() returned NULL: skip.
 */
bool store_contract_begin(struct store_contract *c, const struct store_contract_backend *b);
void store_contract_end(struct store_contract *c);

/* Closes the store and waits until it is closed; opens it again. */
void store_contract_close(struct store_contract *c);
void store_contract_open(struct store_contract *c);

/* Runs the loop until `holds` returns true. Fails the test after 20 s. */
void store_contract_until(struct store_contract *c, bool (*holds)(void *arg), void *arg);

/* Starts the feed after `revision`. Events are collected in c->events. */
void store_contract_follow(struct store_contract *c, int64_t revision);

/*
 * Submits a write of "core/pods", "ns", "name". A value with p NULL deletes the key. The write of
 * store_contract_after() follows `after`, so it has no expected revision.
 */
struct store_contract_write *store_contract_put(struct store_contract *c, const char *resource,
						const char *ns, const char *name, struct str value,
						int64_t expected);
struct store_contract_write *store_contract_after(struct store_contract_write *after,
						  const char *value);
struct store_contract_write *store_contract_delete(struct store_contract *c, const char *resource,
						   const char *ns, const char *name,
						   int64_t expected);

/* Waits for one write and returns its result; waits for all writes in flight. */
int store_contract_wait(struct store_contract_write *w);
void store_contract_settle(struct store_contract *c);

/* Writes, waits, fails the test on an error, and returns the revision. */
int64_t store_contract_must_put(struct store_contract *c, const char *resource, const char *ns,
				const char *name, const char *value, int64_t expected);
int64_t store_contract_must_delete(struct store_contract *c, const char *resource, const char *ns,
				   const char *name, int64_t expected);

/* Reads and waits. */
struct store_contract_read *store_contract_range(struct store_contract *c,
						 const struct store_range *range);
int64_t store_contract_current(struct store_contract *c);
void store_contract_compact(struct store_contract *c, int64_t revision);

/* Formats a range's items as "ns/name=value@revision ..." in the arena, to compare them at once. */
const char *store_contract_items(struct store_contract *c, const struct store_range_result *got);
/* The same without revisions. */
const char *store_contract_values(struct store_contract *c, const struct store_range_result *got);

/* The cases, each in its topic's file. */
struct store_contract_case {
	const char *name;
	void (*run)(struct store_contract *c);
};
/* ends with an entry without a name */
extern const struct store_contract_case store_contract_write_cases[];
extern const struct store_contract_case store_contract_read_cases[];

#endif
