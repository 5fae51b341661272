/*
 * admit_devices - ensures that a device is held by one claim at a time (DeviceAllocationFence).
 *
 * A write of a claim's status may add a device to its allocation only if no other claim holds the
 * device. Shares of a device (shareID) compete only for capacity, which is not checked here.
 * Results with admin access hold nothing. As soon as the release of a device is committed, the
 * next write may take the device.
 *
 * A rejection is 409 Conflict and depends only on committed claims. Its cause has the reason
 * DeviceHeld, the field of the result and, as its message, the "namespace/name" of the holder. If
 * the caller may not get that claim, neither the cause nor the error text names it.
 *
 * An acceptance depends only on committed claims, too. The write takes a guard for each device
 * that it adds. If another server was first, it fails with a conflict and is decided again. If a
 * pending write of this server holds one of these guards, it waits for that write.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_DEVICES_H
#define SERVER_PLUGINS_DEVICES_H

#include "server/admission/request.h"

/* True for writes of a claim's status if the gate is on. */
bool admit_devices_concerns(const struct admission_request *req);
/* Sets req->allocates; never rejects. */
int admit_devices_note(struct admission_request *req, const struct json *old, struct json *claim,
		       struct error *err);

/*
 * True for those of them that change the devices (req->allocates). admit_devices() does not use
 * the stored claim `old`.
 */
bool admit_devices_allocates(const struct admission_request *req);
int admit_devices(struct admission_request *req, const struct json *old, struct json *claim,
		  struct error *err);

#endif
