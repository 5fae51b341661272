/*
 * device_offers - follows the committed ResourceSlices for device_holds.
 *
 * The inventory gets only what limits allocations: the counters of pools, and the devices that
 * consume them or can be allocated several times, with their capacities. Other devices take no
 * memory. A slice without any of these is kept with its pool's generation only, since the newest
 * generation counts. A change of a slice's status or metadata costs a look at its metadata.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_DEVICE_OFFERS_H
#define SERVER_PLUGINS_DEVICE_OFFERS_H

struct inventory;
struct state_observer;

/* The observer to pass to the state; the inventory must outlive the state. */
struct state_observer device_offers_observer(struct inventory *inv);

#endif
