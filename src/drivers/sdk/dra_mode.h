/*
 * dra_mode - a driver's two sockets: one by which it is found, one by which it is used.
 */
#ifndef DRIVERS_SDK_DRA_MODE_H
#define DRIVERS_SDK_DRA_MODE_H

#include "base/core/error.h"

struct dp_driver;
struct dra_mode;

/* Listens: first where it is used, then where it is found. */
int dra_mode_start(struct dp_driver *d, struct dra_mode **ret_mode, struct error *err);

/* The sockets go at once, `done` is called when the calls have ended, or some seconds later. */
void dra_mode_stop(struct dra_mode *m, void (*done)(void *arg), void *arg);
void dra_mode_free(struct dra_mode *m); /* after `done`; NULL allowed */

#endif
