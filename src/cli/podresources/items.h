/*
 * podres_items - what a container, a pod or a node has, thing by thing, in an order for people.
 *
 * A thing is a device of a plugin, a CPU, a block of memory or a device of a claim. Things of one
 * resource or claim make a group. A device that PodResources lists once for each of its NUMA nodes
 * is one thing here. Texts are clean (output_clean()), so that they can go to a terminal.
 */
#ifndef CLI_PODRESOURCES_ITEMS_H
#define CLI_PODRESOURCES_ITEMS_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "dra/availability/device_health.h"
#include "podresources.pb-c.h"

enum podres_item_kind { PODRES_DEVICE, PODRES_CLAIM, PODRES_CPU, PODRES_MEMORY };

struct podres_item {
	enum podres_item_kind kind;
	struct str container; /* empty: not told apart */
	/* "example.com/gpu", "claim/gpu", a driver, "cpus", "memory", "hugepages-2Mi" */
	struct str group;
	struct str id; /* "gpu-0", "DRIVER/POOL/DEVICE", of a driver "POOL/DEVICE", "7", "4Gi" */
	struct str numa; /* "0-1"; empty: not known */
	struct str cdi; /* names, with commas; empty: none */
	enum device_health health;
	struct str message; /* of its health; empty: none */
	uint64_t amount; /* bytes of memory, the number of a CPU, else 1 */
};

/* Sorted by container, kind, group and id, numbers in names by value. */
struct podres_items {
	struct podres_item *v; /* in the arena that they were made in, as their texts */
	size_t n;
};

#define PODRES_WHOLE_POD "<pod>" /* the container of what a pod has as a whole */

struct podres_items podres_items_of_container(struct arena *a,
					      const Podresources__ContainerResources *c);

/* `containers`: told apart; else a thing that two of them have is one. */
struct podres_items podres_items_of_pod(struct arena *a, const Podresources__PodResources *pod,
					bool containers);
/* Only what it has as a whole. */
struct podres_items podres_items_of_whole(struct arena *a, const Podresources__PodResources *pod);

/* Of an answer, or of an event. A DRA driver's devices, which no claim names, are its group. */
struct podres_items podres_items_of_node(struct arena *a,
					 const Podresources__AllocatableResponse *r);
struct podres_items podres_items_of_change(struct arena *a,
					   const Podresources__AllocatableEvent *e);

struct podres_items_style {
	bool counts; /* how many there are, rather than which */
	bool colour;
	bool messages; /* of devices that are not well */
};

/*
 * Appends "example.com/gpu: gpu-0,gpu-1; cpus: 0-3,8", or "<none>". With `before` (not NULL) what
 * has come and gone since is marked: "example.com/gpu: gpu-0 +gpu-2 -gpu-1". So are devices that
 * are Unhealthy or Unknown: "gpu-0(Unhealthy)", with messages "gpu-0(Unhealthy: fan stopped)".
 */
void podres_items_print(struct buf *out, const struct podres_items *before,
			const struct podres_items *now, const struct podres_items_style *style);

/*
 * The ids of v, which are of one group, marked as above: CPUs as ranges; after `most` (0: no
 * limit) only how many more.
 */
void podres_items_ids(struct buf *out, const struct podres_item *v, size_t n, size_t most,
		      bool messages);

/* How many they are; of memory, how much. */
void podres_items_sum(struct buf *out, const struct podres_item *v, size_t n);

/* The worst health that is reported for a device of v; "<none>" when v has no devices. */
void podres_items_health(struct buf *out, const struct podres_item *v, size_t n);

/* The NUMA nodes of all of them together, and the CDI names; "<none>" when there are none. */
void podres_items_numa(struct buf *out, const struct podres_items *items);
void podres_items_cdi(struct buf *out, const struct podres_items *items);

/* As people order names: "gpu-2" before "gpu-10". */
int podres_items_cmp_names(struct str a, struct str b);

#endif
