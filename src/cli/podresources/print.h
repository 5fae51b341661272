/*
 * podres_print - answers of PodResources as tables, and its events as lines.
 *
 * Pure: a message goes in, text with tabs between the cells comes out, for tabs.h to align.
 */
#ifndef CLI_PODRESOURCES_PRINT_H
#define CLI_PODRESOURCES_PRINT_H

#include "base/core/buf.h"
#include "base/core/map.h"
#include "podresources.pb-c.h"

struct podres_print_style {
	bool wide; /* also NUMA nodes, CDI names and messages; every device; containers in events */
	bool empty; /* also containers that hold nothing */
	bool colour;
};

/* The text of a table has no limit but this. */
#define PODRES_TEXT_MAX (256UL << 20)

/* A row for each container, pods by namespace and name; how many rows there were. */
size_t podres_print_pods(struct buf *out, Podresources__PodResources *const *v, size_t n,
			 const struct podres_print_style *style);

/* A row for each resource and place; how many rows there were. */
size_t podres_print_allocatable(struct buf *out, const Podresources__AllocatableResponse *r,
				const struct podres_print_style *style);

/* --- events ------------------------------------------------------------------------------- */

/*
 * What events of one stream have said so far, so that a line can tell what an event changed.
 * Memory: what the pods hold that there are.
 */
struct podres_print_state {
	struct podres_print_style style;
	bool initial; /* what comes was there before: it is not marked */
	struct map pods; /* by uid; struct known */
	struct known *node; /* of the allocatable stream; NULL: nothing said yet */
};

void podres_print_init(struct podres_print_state *s, const struct podres_print_style *style,
		       bool initial);
void podres_print_release(struct podres_print_state *s);

/* The head of the lines, without a newline: "ACTION\tREVISION\tPOD\tRESOURCES". */
extern const char podres_print_pod_head[], podres_print_allocatable_head[];

/* One line without a newline. False when it says nothing to people: the initial state's end. */
bool podres_print_pod_event(struct podres_print_state *s, struct buf *out,
			    const Podresources__PodEvent *e);
bool podres_print_allocatable_event(struct podres_print_state *s, struct buf *out,
				    const Podresources__AllocatableEvent *e);

/* DELETED without a uid: forget everything, the full state follows. */
bool podres_print_is_reset(const Podresources__PodEvent *e);

#endif
