/*
 * cel_devices - lists the devices of a cluster that a selector selects.
 *
 * It evaluates every device of each pool's newest generation, as the scheduler would, and prints
 * the selected ones. If the expression fails on a device (usually because it lacks an attribute),
 * a warning is printed and the device is not selected.
 */
#ifndef CLI_CEL_DEVICES_H
#define CLI_CEL_DEVICES_H

#include "cel/core/value.h"
#include "cli/connect/kube_flags.h"

struct cel_devices_options {
	const char *expression;
	const char *driver; /* only its devices; NULL: all */
	const char *node; /* only devices that this node can reach; NULL: all */
	const char *output; /* "text", "wide", "name", "json", "yaml" */
	const struct kube_options *kube;
};

/* Rejects an invalid expression before it contacts the cluster. */
int cel_devices_show(struct cli *cli, const struct cel_devices_options *o, struct cel_eval *ev,
		     struct error *err);

#endif
