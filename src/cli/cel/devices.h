/*
 * cel_devices - which devices of a cluster a selector selects.
 *
 * Judges every device of every pool's newest generation, as the scheduler would, and prints those
 * that are selected. A device on which the expression fails (most often because it lacks an
 * attribute) is told as a warning and is not selected.
 */
#ifndef CLI_CEL_DEVICES_H
#define CLI_CEL_DEVICES_H

#include "cel/core/value.h"
#include "cli/connect/kube_flags.h"

struct cel_devices_options {
	const char *expression;
	const char *driver; /* only its devices; NULL: of all */
	const char *node; /* only what this node can reach; NULL: all */
	const char *output; /* "text", "wide", "name", "json", "yaml" */
	const struct kube_options *kube;
};

/* A wrong expression is refused before the cluster is asked. */
int cel_devices_show(struct cli *cli, const struct cel_devices_options *o, struct cel_eval *ev,
		     struct error *err);

#endif
