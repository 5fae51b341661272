/*
 * controller_world - for tests: a fake API server, and a context for controllers on another host,
 * which can be restarted any number of times.
 */
#ifndef CONTROLLER_RUN_CONTROLLER_WORLD_H
#define CONTROLLER_RUN_CONTROLLER_WORLD_H

#include "client/testing/fakeapi_world.h"
#include "controller/shared/context.h"

struct devices;

struct controller_world {
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct context ctx;
};

struct controller_world *controller_world_new(uint64_t seed);

/* The controllers must have been freed, and controller_world_stop() called. */
void controller_world_free(struct controller_world *w);

/* Creates a context. Create controllers with it, then call informers_start(). */
void controller_world_start(struct controller_world *w);
void controller_world_stop(struct controller_world *w);

/* An inventory of all kinds of devices, for a context that was created. */
struct devices *controller_world_devices(struct controller_world *w, bool health);

void controller_world_run(struct controller_world *w, int64_t ms);

#endif
