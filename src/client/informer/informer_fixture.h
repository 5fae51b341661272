/*
 * informer_fixture - for tests: an informer of a simulated server's collection, and a handler that
 * keeps its own copy and checks every call. Failures are cmocka's.
 */
#ifndef CLIENT_INFORMER_INFORMER_FIXTURE_H
#define CLIENT_INFORMER_INFORMER_FIXTURE_H

#include "base/core/map.h"
#include "client/informer/informer.h"
#include "client/testing/api_world.h"

struct account {
	struct informer_handler handler;
	struct map objects; /* key to struct cached: the copy built from the calls */
	unsigned adds, initial, updates, resyncs, deletes, unknown, synced;
};

void account_init(struct account *a);
void account_release(struct account *a);

struct informer_fixture {
	struct api_world w;
	struct metrics *metrics;
	struct informers *set;
	struct informer *informer;
	struct account account;
};

/* Creates it with the account as its handler, but does not start it. */
void informer_fixture_init(struct informer_fixture *t, const struct sim_opts *opts);
void informer_fixture_release(struct informer_fixture *t);

/* Whether the informer's copy and this account equal the server's objects. */
bool informer_fixture_matches(const struct informer_fixture *t, const struct account *a);

/* Runs until they match; fails the test if they never do. */
void informer_fixture_wait(struct informer_fixture *t);

#endif
