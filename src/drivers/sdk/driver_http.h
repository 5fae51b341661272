/*
 * driver_http - the HTTP endpoint of a driver: /metrics, /healthz, /livez and /readyz.
 *
 * /metrics has the SDK's metrics and then the driver's own samples. /healthz and /livez succeed
 * while the driver runs, so that a probe does not restart a driver whose API server is away.
 * /readyz fails with the reason until the driver is registered and its slices are published.
 * Threads: the loop's.
 */
#ifndef DRIVERS_SDK_DRIVER_HTTP_H
#define DRIVERS_SDK_DRIVER_HTTP_H

#include "base/core/error.h"

struct dp_driver;
struct driver_http;

/* Listens at the configuration's metrics_address, and logs it. The driver must outlive it. */
int driver_http_start(struct dp_driver *d, struct driver_http **ret_http, struct error *err);

/* Closes the socket. Calls `done` later; free it then. NULL: calls it now. */
void driver_http_stop(struct driver_http *h, void (*done)(void *arg), void *arg);
void driver_http_free(struct driver_http *h); /* NULL allowed */

#endif
