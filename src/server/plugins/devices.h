/*
 * admit_devices - a device is held by one claim at a time (DeviceAllocationFence).
 *
 * A write of a claim's status may add a device to its allocation only if no other claim holds the
 * device; shares of a device (shareID) exclude each other only through capacity, which is not
 * checked here, and results with admin access hold nothing. Whoever released a device did so at a
 * revision: every write decided after it may take the device.
 *
 * A refusal is 409 Conflict and rests on committed claims alone. Its cause has the reason
 * DeviceHeld, the field of the result and, as its message, the "namespace/name" of the holder. For
 * callers that may not get that claim, neither the cause nor the text names it.
 *
 * An acceptance rests on committed claims, too: the write takes a guard for each device that it
 * adds, so it fails with a conflict, and is decided again, when another server was first; and it
 * waits for a write under way here that has one of these guards.
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_DEVICES_H
#define SERVER_PLUGINS_DEVICES_H

#include "server/admission/request.h"

/* Writes of a status, if the gate is on. */
bool admit_devices_concerns(const struct admission_request *req);
/* Sets req->allocates; refuses nothing. */
int admit_devices_note(struct admission_request *req, const struct json *old, struct json *claim,
		       struct error *err);

/* Those of them that change the devices; what is stored is not looked at. */
bool admit_devices_allocates(const struct admission_request *req);
int admit_devices(struct admission_request *req, const struct json *old, struct json *claim,
		  struct error *err);

#endif
