/*
 * vendor_status - what the simulated vendor says of his devices in the status of claims.
 *
 * Each device of a prepared claim has an entry with the condition Ready (True Prepared; False
 * Unhealthy with the device's message, or Unplugged; Unknown Silent) and data of a chosen size. A
 * NIC also has an interface's name, addresses of the networks that are set aside for tests
 * (198.18.0.0/15, 2001:db8::/32) and its MAC, the same in every run.
 *
 * Nothing is remembered: which claims there are the SDK knows, also after a restart.
 */
#ifndef DRIVERS_SIM_STATUS_H
#define DRIVERS_SIM_STATUS_H

#include "base/core/str.h"
#include "drivers/sim/kind.h"

struct log;

/* Exact sizes of data begin here: below it there is no room for the uuid. */
enum { VENDOR_STATUS_DATA_MIN = 128 };

struct vendor_status {
	struct dp_driver *driver;
	const struct vendor_kind *kind;
	const struct vendor_device *devices;
	size_t ndevices;
	size_t data_size; /* bytes of data's JSON text; 0: as many as the uuid needs */
	bool off; /* nothing is said */
	const struct log *log;
};

/* The claim is prepared, or is no more. */
void vendor_status_tell(const struct vendor_status *s, const struct dp_claim *c);
void vendor_status_clear(const struct vendor_status *s, const struct dp_claim *c);

/* Something has happened to the device; empty: perhaps to any. Tells the claims that have it. */
void vendor_status_changed(const struct vendor_status *s, struct str device);

#endif
