/*
 * dra_mode - the two sockets of a DRA driver: for registration, and for the DRA and health
 * services.
 */
#ifndef DRIVERS_SDK_DRA_MODE_H
#define DRIVERS_SDK_DRA_MODE_H

#include "base/core/error.h"

struct dp_driver;
struct dra_mode;

/* Listens on the DRA socket first, then on the registration socket. */
int dra_mode_start(struct dp_driver *d, struct dra_mode **ret_mode, struct error *err);

/* Removes the sockets at once. Calls `done` when all calls have ended, or some seconds later. */
void dra_mode_stop(struct dra_mode *m, void (*done)(void *arg), void *arg);
void dra_mode_free(struct dra_mode *m); /* after `done`; NULL allowed */

#endif
