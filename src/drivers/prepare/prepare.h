/*
 * prepare - NodePrepareResources and NodeUnprepareResources: prepares and unprepares claims.
 *
 * Operations on one claim run one at a time; different claims run in parallel. A call gets its
 * reply when all its claims are done. The vendor is not called for a call that has ended, since the
 * kubelet may have sent the opposite request meanwhile.
 *
 * For a claim that is already prepared, the reply comes from memory, without the vendor and the API
 * server. There are two exceptions: its CDI file is missing, or DP_FLAG_PREPARE_AGAIN is set. If
 * the vendor then fails, the claim stays prepared as before.
 *
 * The checkpoint, plugins/DRIVER/prepared.json, lists claims that are prepared or being prepared.
 * It is written before the vendor is called, so a crash loses no claim, and a claim whose unprepare
 * was cut short is prepared anew. A file that cannot be parsed is renamed and logged.
 *
 * With rolling updates all instances share that file, and serialize.lock lets only one work at a
 * time.
 * Threads: the loop's, except for dp_claim_done().
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
	const char *driver, *dir, *cdi_dir; /* dir: plugins/DRIVER; all must outlive it */
	bool shared; /* other instances may be running */
	bool again; /* DP_FLAG_PREPARE_AGAIN */
	/* The vendor's callbacks. */
	int (*prepare)(void *arg, struct dp_claim *c);
	int (*unprepare)(void *arg, struct dp_claim *c);
	void *arg;
	/* Whether the driver has the device. */
	bool (*has_device)(void *arg, const char *pool, const char *device);
	void *has_arg;
	/* Called after a claim was read; `object` is borrowed until it returns. May be NULL. */
	void (*seen)(void *arg, const struct dp_claim *c, struct str object);
	void *seen_arg;
	const struct driver_log *log;
	struct metrics *metrics; /* or NULL */
};

/* Loads the checkpoint. Returns -ERR_IO if the folder cannot be used. */
int prepare_new(const struct prepare_opts *opts, struct prepare **ret_prepare, struct error *err);
void prepare_free(struct prepare *p); /* NULL allowed */

/* Replies to the call, later. Requests are messages of dra.proto. */
void prepare_call(struct prepare *p, struct grpc_call *call, const void *request);
void unprepare_call(struct prepare *p, struct grpc_call *call, const void *request);

/* Whether no claim is being worked on. */
bool prepare_idle(const struct prepare *p);

/* Whether the vendor still owes a dp_claim_done(); if so, it must not be freed. */
bool prepare_owed(const struct prepare *p);

/* The number of prepared claims, and a loop over them. */
size_t prepare_count(const struct prepare *p);
/* Whether it has the claim, prepared or not. */
bool prepare_knows(const struct prepare *p, struct str claim_uid);
void prepare_each(const struct prepare *p, void (*fn)(void *arg, const struct dp_claim *c),
		  void *arg);

#endif
