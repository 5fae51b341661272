/*
 * admit_devices - ensures that no device is allocated beyond its means (DeviceAllocationFence).
 *
 * A write of a claim's status may add a device to its allocation only if no other claim holds the
 * device. Shares of a device (shareID) do not exclude each other, but their consumed capacity must
 * fit into the device's. Devices that consume counters must fit into the counters of their pool.
 * See dra/inventory/excess.h for what counts. Results with admin access hold nothing. As soon as
 * the release of a device is committed, the next write may take the device.
 *
 * A rejection is 409 Conflict and depends only on committed objects. Its cause has the field of the
 * result and one of these reasons:
 *	DeviceHeld               message: "namespace/name" of the holder. If the caller may not get
 *	                         that claim, neither the cause nor the error text names it.
 *	DeviceCapacityExceeded   message: "CAPACITY: AMOUNT left of AMOUNT"
 *	DeviceCountersExceeded   message: "SET/COUNTER: AMOUNT left of AMOUNT"
 *
 * An acceptance depends only on committed objects, too. The write takes a guard for each device
 * that it adds ("driver/pool/device"), and for each counter set that these devices consume
 * ("driver/pool//set"). If another server was first, it fails with a conflict and is decided again.
 * If a pending write of this server holds one of these guards, it waits for that write. A write
 * that needs more than STORE_GUARDS_MAX guards is rejected with 413.
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
