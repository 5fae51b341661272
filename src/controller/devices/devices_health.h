/*
 * devices_health - the book of devices' health (dra/availability/device_health.h), kept by
 * informers, and the set of nodes.
 *
 * It reads the health that KEP-4680 puts into Pods, and the annotation of Nodes. Its owner follows
 * claims and passes them on. An event that reports nothing new about devices costs a comparison of
 * texts; pods without claims cost nothing. If it lacks permission to list Pods or Nodes, it
 * reports that once and works without them. Threads: the client's loop.
 */
#ifndef CONTROLLER_DEVICES_DEVICES_HEALTH_H
#define CONTROLLER_DEVICES_DEVICES_HEALTH_H

#include <stdbool.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct cached;
struct device_health_book;
struct devices_health;
struct informer;
struct informers;
struct loop;

/* All borrowed. Functions are called from the loop, never within devices_health_new(). */
struct devices_health_opts {
	struct loop *loop;
	struct informers *informers;
	bool pods; /* follow Pods, too; otherwise health is unknown */
	/* A report about the device has changed. */
	void (*changed)(void *arg, struct str driver, struct str pool, struct str device);
	/*
	 * A node was created or deleted, or its labels or taints changed; also called for each node
	 * of the first list.
	 */
	void (*node)(void *arg, struct str name);
	/* The book holds the whole initial state. */
	void (*synced)(void *arg);
	/*
	 * A node's annotation is malformed (called once for each text), or listing a kind is
	 * forbidden.
	 */
	void (*refused)(void *arg, const char *what, struct str key, const struct error *err);
	void *arg;
};

struct devices_health *devices_health_new(const struct devices_health_opts *opts);
void devices_health_free(struct devices_health *h); /* NULL allowed */

/* A claim was created (`old` is NULL), changed, or deleted (`o` is NULL). */
void devices_health_claim(struct devices_health *h, const struct cached *old,
			  const struct cached *o);

/* Also true if listing is forbidden. */
bool devices_health_synced(const struct devices_health *h);
struct device_health_book *devices_health_book(struct devices_health *h);

/* False as long as it cannot list Nodes. */
bool devices_health_knows_nodes(const struct devices_health *h);
const struct cached *devices_health_node(const struct devices_health *h, struct str name);

#endif
