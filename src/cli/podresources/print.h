/*
 * podres_print - prints replies of PodResources as tables, and its watch events (PodResources
 * watch KEP) as lines.
 *
 * Pure: a message goes in, text with tabs between the cells comes out, for tabs.h to align.
 */
#ifndef CLI_PODRESOURCES_PRINT_H
#define CLI_PODRESOURCES_PRINT_H

#include "base/core/buf.h"
#include "base/core/map.h"
#include "podresources.pb-c.h"

struct podres_print_style {
	bool wide; /* add NUMA nodes, CDI names and messages; every device; containers in events */
	bool empty; /* include containers that hold nothing */
	bool colour;
};

/* The limit of a table's text. */
#define PODRES_TEXT_MAX (256UL << 20)

/* A row for each container, pods sorted by namespace and name. Returns the number of rows. */
size_t podres_print_pods(struct buf *out, Podresources__PodResources *const *v, size_t n,
			 const struct podres_print_style *style);

/* A row for each resource and place. Returns the number of rows. */
size_t podres_print_allocatable(struct buf *out, const Podresources__AllocatableResponse *r,
				const struct podres_print_style *style);

/* --- events ------------------------------------------------------------------------------- */

/*
 * The state after the events of one stream so far, so that a line can show what an event changed.
 * Memory: the resources of the current pods.
 */
struct podres_print_state {
	struct podres_print_style style;
	bool initial; /* events belong to the initial state: do not mark them */
	struct map pods; /* by uid; struct known */
	struct known *node; /* of the allocatable stream; NULL: no event yet */
};

void podres_print_init(struct podres_print_state *s, const struct podres_print_style *style,
		       bool initial);
void podres_print_release(struct podres_print_state *s);

/* The head of the lines, without a newline: "ACTION\tREVISION\tPOD\tRESOURCES". */
extern const char podres_print_pod_head[], podres_print_allocatable_head[];

/*
 * Appends one line without a newline. Returns false for the end of the initial state, which is not
 * printed.
 */
bool podres_print_pod_event(struct podres_print_state *s, struct buf *out,
			    const Podresources__PodEvent *e);
bool podres_print_allocatable_event(struct podres_print_state *s, struct buf *out,
				    const Podresources__AllocatableEvent *e);

#endif
