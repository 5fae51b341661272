/*
 * podres_items - the resources of a container, a pod or a node as a sorted list of items.
 *
 * An item is a device of a plugin, a CPU, a block of memory or a device of a claim. Items of one
 * resource or claim form a group. PodResources lists a device once for each of its NUMA nodes;
 * here it is one item. Texts are cleaned (output_clean()), so they are safe for a terminal.
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
	struct str container; /* empty: containers are not distinguished */
	/* "example.com/gpu", "claim/gpu", a driver, "cpus", "memory", "hugepages-2Mi" */
	struct str group;
	/* "gpu-0", "DRIVER/POOL/DEVICE" ("POOL/DEVICE" in a driver's group), "7", "4Gi". */
	struct str id;
	struct str numa; /* "0-1"; empty: unknown */
	struct str cdi; /* names, separated by commas; empty: none */
	enum device_health health;
	struct str message; /* of its health; empty: none */
	uint64_t amount; /* bytes of memory, the number of a CPU, otherwise 1 */
};

/* Sorted by container, kind, group and id; numbers in names by value. */
struct podres_items {
	struct podres_item *v; /* in the arena of the call, like their texts */
	size_t n;
};

#define PODRES_WHOLE_POD "<pod>" /* the container of items that a pod has as a whole */

struct podres_items podres_items_of_container(struct arena *a,
					      const Podresources__ContainerResources *c);

/*
 * `containers`: list each container's items. Otherwise an item shared by two containers is listed
 * once.
 */
struct podres_items podres_items_of_pod(struct arena *a, const Podresources__PodResources *pod,
					bool containers);
/* Only the items that the pod has as a whole. */
struct podres_items podres_items_of_whole(struct arena *a, const Podresources__PodResources *pod);

/*
 * The items of a reply, or of an event. Devices of a DRA driver belong to no claim here, so the
 * driver is their group.
 */
struct podres_items podres_items_of_node(struct arena *a,
					 const Podresources__AllocatableResponse *r);
struct podres_items podres_items_of_change(struct arena *a,
					   const Podresources__AllocatableEvent *e);

struct podres_items_style {
	bool counts; /* print numbers instead of names */
	bool colour;
	bool messages; /* of devices that are not healthy */
};

/*
 * Appends "example.com/gpu: gpu-0,gpu-1; cpus: 0-3,8", or "<none>". If `before` is not NULL,
 * additions and removals are marked: "example.com/gpu: gpu-0 +gpu-2 -gpu-1". Devices that are
 * Unhealthy or Unknown are marked, too: "gpu-0(Unhealthy)", with messages "gpu-0(Unhealthy: fan
 * stopped)".
 */
void podres_items_print(struct buf *out, const struct podres_items *before,
			const struct podres_items *now, const struct podres_items_style *style);

/*
 * The ids of v, which are in one group, marked as above. CPUs are printed as ranges. After `most`
 * ids (0: no limit), only the number of the rest is printed.
 */
void podres_items_ids(struct buf *out, const struct podres_item *v, size_t n, size_t most,
		      bool messages);

/* Their number; for memory, the amount. */
void podres_items_sum(struct buf *out, const struct podres_item *v, size_t n);

/* The worst health reported for a device of v; "<none>" if v has no devices. */
void podres_items_health(struct buf *out, const struct podres_item *v, size_t n);

/* The NUMA nodes of all items, and the CDI names; "<none>" if empty. */
void podres_items_numa(struct buf *out, const struct podres_items *items);
void podres_items_cdi(struct buf *out, const struct podres_items *items);

/* Natural order: "gpu-2" before "gpu-10". */
int podres_items_cmp_names(struct str a, struct str b);

#endif
