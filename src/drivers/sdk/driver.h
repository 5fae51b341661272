/*
 * driver - the inside of devplane/driver.h, and running a driver on an existing loop.
 *
 * `devplane driver sim` runs its driver on its process's loop, beside its control socket and its
 * HTTP endpoint, while vendors let dp_driver_run() create one. The only other differences are
 * metrics and driver_check().
 */
#ifndef DRIVERS_SDK_DRIVER_H
#define DRIVERS_SDK_DRIVER_H

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
struct driver_http;
struct metrics;
struct plugin_mode;

struct dp_driver {
	struct dp_driver_config config; /* text in the arena, defaults filled in */
	struct arena arena;
	struct driver_log log;
	struct loop *loop;
	struct metrics *metrics; /* or NULL */
	struct metrics *own_metrics; /* the same, if nobody else keeps it; or NULL */
	struct driver_http *http; /* or NULL */
	struct device_table *table; /* NULL: dp_driver_set_devices() was not called yet */
	struct kubeconfig kubeconfig;
	struct client *client; /* NULL for device plugins */
	struct publisher *publisher; /* or NULL */
	struct prepare *prepare; /* or NULL */
	struct claim_status *status; /* or NULL */
	struct reporter *reporter;
	struct dra_mode *dra; /* either this or `plugin` */
	struct plugin_mode *plugin;
	struct loop_timer tick, last;
	struct loop_signal *signals[2];
	char started[TIMESTAMP_SIZE]; /* time of the start */
	bool own_loop, ending, silent, flushed, killed;
	bool registered; /* the kubelet has accepted us */
	bool had_kubelet; /* its folder for sockets was there when we started */
	struct loop_timer unregistered; /* warns if nobody registers us */
	void (*on_ended)(void *arg);
	void *ended_arg;
};

/* Like dp_driver_new(), on this loop. `metrics` may be NULL; it must outlive the driver. */
int driver_new_on(struct loop *l, struct metrics *metrics, const struct dp_driver_config *config,
		  struct dp_driver **ret_driver, struct error *err);

/* Opens the sockets. Call driver_end() even if it fails. */
int driver_start(struct dp_driver *d, struct error *err);

/* Shuts down in order. Calls `done` once, later; then call dp_driver_free(). */
void driver_end(struct dp_driver *d, void (*done)(void *arg), void *arg);

/*
 * For a simulated host that has crashed: like driver_end(), but does not wait for calls in
 * progress, and no time passes until `done`.
 */
void driver_kill(struct dp_driver *d, void (*done)(void *arg), void *arg);

/* Returns 0 if all slices are published, or none should be; else an error. */
int driver_check(const struct dp_driver *d, struct error *err);

/* Returns 0 if the kubelet has registered the driver; else the error says what to check. */
int driver_check_registered(const struct dp_driver *d, struct error *err);

/* --- shared by driver.c and driver_calls.c ------------------------------------------------ */

/* Writes the error's text to a vendor's `message`. Returns -1. */
int driver_say(const struct error *err, char *message, size_t size);

/* Ends a driver that has its own loop. */
void driver_end_own(struct dp_driver *d);

/* Calls d->on_ended after all messages that were posted before. */
void driver_post_ended(struct dp_driver *d);

#endif
