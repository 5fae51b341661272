/*
 * prepare - claims are made usable and released: NodePrepareResources and its opposite.
 *
 * Of one claim one thing happens at a time; different claims go side by side, and a call is
 * answered when all its claims are done. The vendor is not asked for a call that has ended: the
 * kubelet may have sent the opposite since. A claim that is prepared is answered from memory,
 * without the vendor and the API server, unless its CDI file is gone, or the vendor wants to be
 * asked again; what he then refuses stays prepared as it was. What is prepared, and what has been
 * begun, is in a file before the vendor is told, so that no claim is forgotten by a crash:
 * plugins/DRIVER/prepared.json. A file that cannot be read is set aside and told.
 *
 * With rolling updates all instances share that file, and serialize.lock keeps them one after the
 * other.
 * Threads: the loop's, but for dp_claim_done().
 */
#ifndef DRIVERS_PREPARE_PREPARE_H
#define DRIVERS_PREPARE_PREPARE_H

#include "client/api/client.h"
#include "devplane/driver.h"
#include "drivers/prepare/device_table.h"
#include "drivers/prepare/driver_log.h"

struct grpc_call;
struct metrics;
struct prepare;

struct prepare_opts {
	struct loop *loop;
	struct client *client;
	const char *driver, *dir, *cdi_dir; /* dir: plugins/DRIVER; all outlive it */
	bool shared; /* other instances may run */
	bool again; /* the vendor is asked for claims that are prepared, too */
	/* The vendor. */
	int (*prepare)(void *arg, struct dp_claim *c);
	int (*unprepare)(void *arg, struct dp_claim *c);
	void *arg;
	/* Whether the driver has the device. */
	bool (*has_device)(void *arg, const char *pool, const char *device);
	void *has_arg;
	/* A claim was read; the text is borrowed until return. Or NULL. */
	void (*seen)(void *arg, const struct dp_claim *c, struct str object);
	void *seen_arg;
	const struct driver_log *log;
	struct metrics *metrics; /* or NULL */
};

/* Reads what was prepared before. -ERR_IO when the folder cannot be used. */
int prepare_new(const struct prepare_opts *opts, struct prepare **ret_prepare, struct error *err);
void prepare_free(struct prepare *p); /* NULL allowed */

/* Answers the call, later. Messages are dra.proto's. */
void prepare_call(struct prepare *p, struct grpc_call *call, const void *request);
void unprepare_call(struct prepare *p, struct grpc_call *call, const void *request);

/* No claim is being worked on. */
bool prepare_idle(const struct prepare *p);

/* The vendor has claims in his hands: it may not be freed. */
bool prepare_owed(const struct prepare *p);

/* Claims that are prepared. */
size_t prepare_count(const struct prepare *p);
void prepare_each(const struct prepare *p, void (*fn)(void *arg, const struct dp_claim *c),
		  void *arg);

#endif
