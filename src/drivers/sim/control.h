/*
 * vendor_control - the control socket of a running `driver sim`, to break and repair its devices.
 *
 * HTTP on ROOT/devplane-sim/NAME.sock. GET /devices lists the devices. POST /fail?DEVICE, with the
 * message as body, breaks one; heal, silence, remove and restore work the same way. Replies are
 * JSON, errors are text.
 * Threads: the loop's.
 */
#ifndef DRIVERS_SIM_CONTROL_H
#define DRIVERS_SIM_CONTROL_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"

struct loop;
struct vendor;
struct vendor_control;

int vendor_control_new(struct loop *l, struct vendor *v, struct str path,
		       struct vendor_control **ret_control, struct error *err);
/* Removes the socket at once. Calls `done` later; free it then. */
void vendor_control_stop(struct vendor_control *c, void (*done)(void *arg), void *arg);
void vendor_control_free(struct vendor_control *c); /* NULL allowed */

#endif
