/*
 * etcd_client_world - for tests: a store in etcd_world, its feed and its writes,
 * all written down.
 */
#ifndef STORE_ETCD_CLIENT_WORLD_H
#define STORE_ETCD_CLIENT_WORLD_H

#include "base/core/buf.h"
#include "store/etcd/etcd_world.h"

struct etcd_client_world {
	struct etcd_world *world;
	struct store *store;
	struct buf events; /* "name=value@revision ", "name-@revision "; '*' behind our own */
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
	int64_t delivered_then; /* how far the feed was when it was done */
	size_t events_then; /* length of the client's text then */
};

/* Opens the store, and follows it from its current revision on. */
void etcd_client_world_init(struct etcd_client_world *c, struct etcd_world *w);

/* The same without following. */
void etcd_client_world_open(struct etcd_client_world *c, struct etcd_world *w);
void etcd_client_world_follow(struct etcd_client_world *c, int64_t revision);
void etcd_client_world_release(struct etcd_client_world *c);

/* The revision that store_current() gives, or -ERR_*. */
int64_t etcd_client_world_current(struct etcd_client_world *c);

/* Value NULL: deletion. */
void etcd_client_world_put(struct etcd_client_world *c, struct etcd_world_write *z,
			   const char *name, const char *value, int64_t expected);
/* Creates the key, decided on the other one, `basis`, at that revision. */
void etcd_client_world_based(struct etcd_client_world *c, struct etcd_world_write *z,
			     const char *name, const char *basis, int64_t at);

/* Creates the key with one guard, which must live until the write is done. */
void etcd_client_world_guarded(struct etcd_client_world *c, struct etcd_world_write *z,
			       const char *name, const struct str *guard, int64_t view);
void etcd_client_world_after(struct etcd_world_write *z, struct etcd_world_write *after,
			     const char *value);

/* Waits for it; its result. */
int etcd_world_write_wait(struct etcd_world_write *z);

#endif
