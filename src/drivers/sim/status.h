/*
 * vendor_status - the device status that the simulated driver writes into claims (KEP-4817).
 *
 * Each device of a prepared claim has an entry with the condition Ready and data of a chosen size.
 * Ready is True (Prepared), False (Unhealthy, with the device's message, or Unplugged) or Unknown
 * (Silent). A NIC also has an interface name, addresses from the networks reserved for tests
 * (198.18.0.0/15, 2001:db8::/32) and a MAC address, the same in every run.
 *
 * It keeps no state: the SDK knows the prepared claims, also after a restart.
 */
#ifndef DRIVERS_SIM_STATUS_H
#define DRIVERS_SIM_STATUS_H

#include "base/core/str.h"
#include "drivers/sim/kind.h"

struct log;

/* The smallest exact size of data; the UUID needs this much room. */
enum { VENDOR_STATUS_DATA_MIN = 128 };

struct vendor_status {
	struct dp_driver *driver;
	const struct vendor_kind *kind;
	const struct vendor_device *devices;
	size_t ndevices;
	size_t data_size; /* size of the JSON text of `data`, in bytes; 0: just the UUID */
	bool off; /* writes no status */
	const struct log *log;
};

/* Call these after a claim was prepared or unprepared. */
void vendor_status_tell(const struct vendor_status *s, const struct dp_claim *c);
void vendor_status_clear(const struct vendor_status *s, const struct dp_claim *c);

/* Updates the claims that have the device, after it changed. Empty: all claims. */
void vendor_status_changed(const struct vendor_status *s, struct str device);

#endif
