/*
 * driver_impl - a driver of devplane/driver.h from the inside, and on a loop that is not its own.
 *
 * `devplane driver sim` runs its driver on the loop of its role, beside its control socket and its
 * endpoint; vendors let dp_driver_run() make one. That, the metrics and the check are all the
 * difference.
 */
#ifndef DRIVERS_SDK_DRIVER_IMPL_H
#define DRIVERS_SDK_DRIVER_IMPL_H

#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "devplane/driver.h"
#include "drivers/prepare/device_table.h"
#include "drivers/prepare/driver_log.h"
#include "drivers/prepare/prepare.h"
#include "drivers/sdk/publisher.h"
#include "drivers/sdk/reporter.h"
#include "net/loop/loop.h"

struct claim_status;
struct dra_mode;
struct metrics;
struct plugin_mode;

struct dp_driver {
	struct dp_driver_config config; /* text in the arena, defaults filled in */
	struct arena arena;
	struct driver_log log;
	struct loop *loop;
	struct metrics *metrics; /* or NULL */
	struct device_table *table; /* NULL: not told yet */
	struct kubeconfig kubeconfig;
	struct client *client; /* NULL: device plugin */
	struct publisher *publisher; /* or NULL */
	struct prepare *prepare; /* or NULL */
	struct claim_status *status; /* or NULL */
	struct reporter *reporter;
	struct dra_mode *dra; /* one of these two */
	struct plugin_mode *plugin;
	struct loop_timer tick, last;
	struct loop_signal *signals[2];
	char started[TIMESTAMP_SIZE]; /* when */
	bool own_loop, ending, silent, killed;
	void (*on_ended)(void *arg);
	void *ended_arg;
};

/* Like dp_driver_new(), on this loop. `metrics` may be NULL; it must outlive the driver. */
int driver_new_on(struct loop *l, struct metrics *metrics, const struct dp_driver_config *config,
		  struct dp_driver **ret_driver, struct error *err);

/* Opens the sockets. After a failure driver_end() is still due. */
int driver_start(struct dp_driver *d, struct error *err);

/* Ends all in order; `done` is called once, later. Then dp_driver_free(). */
void driver_end(struct dp_driver *d, void (*done)(void *arg), void *arg);

/*
 * The same on a simulated host that has crashed: what its clients are owed is not waited for, and
 * no time passes until `done`.
 */
void driver_kill(struct dp_driver *d, void (*done)(void *arg), void *arg);

/* Slices are published, as far as there should be any. */
int driver_check(const struct dp_driver *d, struct error *err);

#endif
