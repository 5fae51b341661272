/*
 * up_remains - everything that `devplane up` leaves behind when it is down: pods in the container
 * runtime, mounts and files.
 *
 * Only what is its own: pods whose folder is below the data directory, mounts below it, and the
 * files and folders that devplane makes in it. Nothing else in the directory is touched.
 */
#ifndef CLI_UP_REMAINS_H
#define CLI_UP_REMAINS_H

#include "base/core/vec.h"
#include "cli/program/cli.h"
#include "cli/up/layout.h"

struct up_remains_pod {
	const char *name; /* "default/train" */
	const char **sandboxes; /* ids */
	size_t nsandboxes;
};

/* All text lives in the run's arena. */
struct up_remains {
	struct cli *cli;
	const struct up_layout *layout;
	const char *endpoint; /* of the runtime that was asked; NULL: none */
	VEC(struct up_remains_pod) pods;
	VEC(const char *) mounts; /* in the order in which they can be unmounted */
	VEC(const char *) files; /* files and folders */
	VEC(const char *) foreign; /* names in the directory that are not devplane's */
	bool exists; /* the directory */
};

/*
 * Looks for everything. `endpoint` is a runtime's socket; NULL: the usual places. Release it
 * whatever is returned.
 */
int up_remains_find(struct up_remains *r, struct cli *cli, const struct up_layout *l,
		    const char *endpoint, struct error *err);

/* Removes what was found: pods first, then mounts, then files; stops at the first failure. */
int up_remains_remove(struct up_remains *r, struct error *err);

void up_remains_release(struct up_remains *r);

#endif
