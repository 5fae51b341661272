/*
 * vendor_control - the socket by which a running `driver sim` is told what happens to its devices.
 *
 * HTTP on ROOT/devplane-sim/NAME.sock: GET /devices lists, POST /fail?DEVICE with the message
 * as body (and heal, silence, remove, restore) changes. Answers are JSON, failures text.
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

/* The socket's folder below a root folder. */
#define VENDOR_CONTROL_DIR "devplane-sim"

/* Its path, for a driver and an instance or NULL. */
int vendor_control_path(const char *root, const char *name, const char *instance, struct buf *path,
			struct error *err);

int vendor_control_new(struct loop *l, struct vendor *v, struct str path,
		       struct vendor_control **ret_control, struct error *err);
/* The socket goes at once; `done` is called later, then free it. */
void vendor_control_stop(struct vendor_control *c, void (*done)(void *arg), void *arg);
void vendor_control_free(struct vendor_control *c); /* NULL allowed */

#endif
