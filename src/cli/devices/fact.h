/*
 * device_fact - the facts about one device, and counts of many. All views of devices show these.
 *
 * Facts are read from an entry of status.devices of a slice (KEP-5677), published or computed
 * here; dra/availability/device_state.h and dra/availability/device_health.h define them. Each
 * device is in one state, so the counts by state add up to the number of devices. `unhealthy` is a
 * second count over the same devices. A taint does not make a device unhealthy.
 */
#ifndef CLI_DEVICES_FACT_H
#define CLI_DEVICES_FACT_H

#include "base/json/json.h"
#include "dra/availability/device_state.h"

/* The state is not reported. */
enum { DEVICE_FACT_UNKNOWN = DEVICE_STATES, DEVICE_FACT_STATES };

/* Text is borrowed from the entry. */
struct device_fact {
	int state; /* an enum device_state, or DEVICE_FACT_UNKNOWN */
	struct str reason; /* of the state: "Tainted: KEY"; or empty */
	struct str health; /* "Healthy", "Unhealthy", "Unknown"; empty: not reported */
	struct str message, since, source; /* of the health; each may be empty */
	bool unhealthy;
	bool unsure; /* health reports cannot be read: it may be unhealthy nevertheless */
	size_t omitted; /* the number of allocations that the entry leaves out */
};

/* NULL: everything is unknown. */
struct device_fact device_fact_read(const struct json *entry);

/* The same fact with text in the arena. */
struct device_fact device_fact_copy(struct arena *a, const struct device_fact *f);

/*
 * Adapts a fact that was computed here: pods' status has no time, so it is unknown since when a
 * pod reports the health.
 */
void device_fact_computed(struct device_fact *f);

/* The API's name, such as "Available"; or "Unknown". */
const char *device_fact_state_name(int state);

/* The state for users: a free device that is known to be broken is "Available, unhealthy". */
struct str device_fact_state_text(const struct device_fact *f);

/* "NotReported" if the health is empty; "?" if health reports cannot be read. */
struct str device_fact_health_name(const struct device_fact *f);

/* devices = the sum of by_state. */
struct device_counts {
	size_t devices;
	size_t by_state[DEVICE_FACT_STATES];
	size_t unhealthy;
	size_t free_unhealthy; /* the unhealthy ones that a claim can get */
	size_t unsure; /* devices that may be unhealthy, but whose health is unknown */
};

void device_counts_add(struct device_counts *c, const struct device_fact *f);
void device_counts_sum(struct device_counts *sum, const struct device_counts *more);

/*
 * Counts in the order of the columns of every table: DEVICES, FREE, PARTIAL, ALLOCATED,
 * UNAVAILABLE, UNHEALTHY.
 */
enum { DEVICE_COUNTS_COLUMNS = 6 };
size_t device_counts_at(const struct device_counts *c, size_t column);
/* By how much the count may be too low, because some facts are unknown. */
size_t device_counts_unknown_at(const struct device_counts *c, size_t column);

/*
 * Puts the counts as members: devices, free, partial, allocated, unavailable, unhealthy,
 * freeUnhealthy, unknown (states); healthUnknown if there are any.
 */
void device_counts_put(struct arena *a, struct json *object, const struct device_counts *c);

#endif
