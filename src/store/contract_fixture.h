/*
 * store_contract_fixture - what every backend of store.h must do, as tests.
 *
 * A backend's test describes how to get at an empty store of its kind and calls
 * store_contract_run(): each case then runs on a store of its own.
 *
 *	static const struct store_contract_backend backend = {
 *		.name = "store/lmdb", .past = true,
 *		.make = make_folder, .destroy = remove_folder, .open = open_folder,
 *	};
 *	return store_contract_run(&backend);
 *
 * The rest of this header is for the cases, and for further tests of a backend
 * that want the same helpers: they begin with store_contract_begin().
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
	bool past; /* store_history() gives changes of before store_follow() */
	bool unordered; /* writes of different keys may overtake each other */
	/*
	 * A place for data that no other case sees: a folder, a prefix. NULL makes
	 * the case be skipped, as when there is no etcd to talk to.
	 */
	void *(*make)(void);
	void (*destroy)(void *place);
	/* Opens what is in the place: nothing at first, later what was written. */
	int (*open)(void *place, struct loop *l, struct store **ret_store, struct error *err);
	const struct store_contract_case *extra; /* the backend's own, ended by no name; or NULL */
};

/* One event of the feed, copied. */
struct store_contract_event {
	struct str resource, ns, name, value;
	bool deleted;
	int64_t revision;
	const struct store_write *write;
};

/* A case that runs. */
struct store_contract {
	const struct store_contract_backend *backend;
	void *place;
	struct loop *loop;
	struct store *store; /* open and, at the start of a case, empty */
	struct arena arena; /* of all below; cleared at the end */
	VEC(struct store_contract_event) events;
	int64_t delivered; /* what on_events said last */
	size_t batches; /* calls of on_events */
	bool lost; /* on_lost came */
};

/* A write and what became of it; in the arena. */
struct store_contract_write {
	struct store_write write;
	struct store_contract *contract;
	bool done;
	size_t events_before; /* events that had been delivered when it was done */
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

/* The same on several, ended by NULL, one after the other. */
int store_contract_run_all(const char *name, const struct store_contract_backend *const *backends);

/* Makes a place, a loop and the open store. False: no place, skip. */
bool store_contract_begin(struct store_contract *c, const struct store_contract_backend *b);
void store_contract_end(struct store_contract *c);

/* Closes the store and waits for it; opens it again. */
void store_contract_close(struct store_contract *c);
void store_contract_open(struct store_contract *c);

/* Runs the loop until `holds`; fails the test when that takes more than 20 s. */
void store_contract_until(struct store_contract *c, bool (*holds)(void *arg), void *arg);

/* Starts the feed after `revision`; events are gathered in c->events. */
void store_contract_follow(struct store_contract *c, int64_t revision);

/*
 * Hands a write over: "core/pods", "ns", "name". Value NULL deletes. With
 * `after` the expected revision does not matter.
 */
struct store_contract_write *store_contract_put(struct store_contract *c, const char *resource,
						const char *ns, const char *name, struct str value,
						int64_t expected);
struct store_contract_write *store_contract_after(struct store_contract_write *after,
						  const char *value);
struct store_contract_write *store_contract_delete(struct store_contract *c, const char *resource,
						   const char *ns, const char *name,
						   int64_t expected);

/* Waits for one write, or for all that are under way, and returns its result. */
int store_contract_wait(struct store_contract_write *w);
void store_contract_settle(struct store_contract *c);

/* Write, wait, and insist that it worked; gives the revision. */
int64_t store_contract_must_put(struct store_contract *c, const char *resource, const char *ns,
				const char *name, const char *value, int64_t expected);
int64_t store_contract_must_delete(struct store_contract *c, const char *resource, const char *ns,
				   const char *name, int64_t expected);

/* Reads and waits. */
struct store_contract_read *store_contract_range(struct store_contract *c,
						 const struct store_range *range);
int64_t store_contract_current(struct store_contract *c);
void store_contract_compact(struct store_contract *c, int64_t revision);

/* "ns/name=value@revision ..." of a range's items, for one comparison; in the arena. */
const char *store_contract_items(struct store_contract *c, const struct store_range_result *got);
/* The same without revisions. */
const char *store_contract_values(struct store_contract *c, const struct store_range_result *got);

/* The cases, each in its topic's file. */
struct store_contract_case {
	const char *name;
	void (*run)(struct store_contract *c);
};
extern const struct store_contract_case store_contract_write_cases[]; /* end with no name */
extern const struct store_contract_case store_contract_read_cases[];

#endif
