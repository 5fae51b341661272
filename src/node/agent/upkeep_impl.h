/*
 * upkeep_impl - the upkeep of the machine from inside; for agent/upkeep*.c only.
 */
#ifndef NODE_AGENT_UPKEEP_IMPL_H
#define NODE_AGENT_UPKEEP_IMPL_H

#include "net/loop/loop.h"
#include "node/agent/upkeep.h"
#include "node/eviction/eviction.h"
#include "node/eviction/figures.h"
#include "node/images/image_book.h"

struct metrics_family;

enum {
	UPKEEP_LOOK_MS = 10 * 1000,
	UPKEEP_IMAGES_MS = 5 * 60 * 1000,
	UPKEEP_SOON_MS = 5 * 1000, /* the first look at images; and while another chain runs */
	UPKEEP_EVICTED_MS = 30 * 1000,
	UPKEEP_MESSAGE_MAX = 8192,
	/* Files that are counted for one pod, and for all. */
	UPKEEP_POD_FILES = 20000,
	UPKEEP_FILES = 100000,
};

/* One removal of images. */
struct upkeep_removal {
	struct arena arena;
	struct runtime_image_info *images;
	size_t nimages;
	struct image_choice *v;
	size_t n, next;
	bool all;
	int64_t wanted, freed; /* bytes; wanted -1: the disk's size is unknown */
	int percent; /* usage of the disk */
	size_t failed;
	struct error failure; /* the last one */
};

struct agent_upkeep {
	struct agent *agent;
	struct image_book *book;
	struct eviction_machine machine;
	struct eviction_state state;
	struct eviction_figure figures[EVICTION_SIGNALS];
	struct eviction_threshold acting; /* what the chain in flight is about */
	struct upkeep_removal removal;
	char *imagefs; /* folder of the images; NULL: not known yet */
	char *evicted; /* uid of the pod that was evicted last; or NULL */
	int64_t evicted_ms, began_ms;
	bool busy; /* a chain of calls is in flight */
	bool removing; /* it removes images */
	bool images_failed; /* the last removal had failures */
	struct loop_timer look_timer, images_timer;
	struct metrics_family *removed, *evictions; /* or NULL */
};

/* --- agent/upkeep.c --------------------------------------------------------------------- */

/* All unused images were removed, because the disk is short. */
void upkeep_images_removed(struct agent_upkeep *u);

/* --- agent/upkeep_pods.c ---------------------------------------------------------------- */

/* Reads the machine's figures again. */
void upkeep_figures(struct agent_upkeep *u);
/* Events about a removal of images that has ended. */
void upkeep_report_images(struct agent_upkeep *u);
/* The pods that may be evicted, with their usage; in the arena. */
size_t upkeep_pods(struct agent_upkeep *u, const struct runtime_usage *v, size_t n, struct arena *a,
		   struct eviction_pod **ret_pods);
/* Whether the pod tolerates the taint of memory pressure. */
bool upkeep_tolerates(const struct pod *pod);

#endif
