/*
 * etcd_client_world - for tests: a store in etcd_world, with a record of its feed and its writes.
 */
#ifndef STORE_ETCD_CLIENT_WORLD_H
#define STORE_ETCD_CLIENT_WORLD_H

#include "base/core/buf.h"
#include "store/etcd/etcd_world.h"

struct etcd_client_world {
	struct etcd_world *world;
	struct store *store;
	struct buf events; /* "name=value@revision ", "name-@revision "; '*' marks our own */
	int64_t delivered;
	unsigned batches;
	bool lost;
	struct error lost_why;
};

/* A write of "core/pods" in namespace "ns". */
struct etcd_world_write {
	struct store_write write;
	struct etcd_client_world *client;
	char name[32];
	bool deletes;
	bool done;
	int result;
	struct error err;
	int64_t delivered_then; /* revision that the feed had delivered when it was done */
	size_t events_then; /* length of the client's text then */
};

/* Opens the store and follows it from its current revision. */
void etcd_client_world_init(struct etcd_client_world *c, struct etcd_world *w);

/* Opens the store without following it; follows it. */
void etcd_client_world_open(struct etcd_client_world *c, struct etcd_world *w);
void etcd_client_world_follow(struct etcd_client_world *c, int64_t revision);
void etcd_client_world_release(struct etcd_client_world *c);

/* Returns the revision of store_current(), or -ERR_*. */
int64_t etcd_client_world_current(struct etcd_client_world *c);

/* Value NULL: deletion. */
void etcd_client_world_put(struct etcd_client_world *c, struct etcd_world_write *z,
			   const char *name, const char *value, int64_t expected);
/* Creates the key, with the key `basis` at that revision as its basis. */
void etcd_client_world_based(struct etcd_client_world *c, struct etcd_world_write *z,
			     const char *name, const char *basis, int64_t at);

/* Creates the key with one guard, which must live until the write is done. */
void etcd_client_world_guarded(struct etcd_client_world *c, struct etcd_world_write *z,
			       const char *name, const struct str *guards, size_t n, int64_t view);
void etcd_client_world_after(struct etcd_world_write *z, struct etcd_world_write *after,
			     const char *value);

/* Waits for the write and returns its result. */
int etcd_world_write_wait(struct etcd_world_write *z);

#endif
