/*
 * node_attach - flags of `devplane node --attach` for the health of devices.
 */
#ifndef CLI_ROLES_NODE_ATTACH_H
#define CLI_ROLES_NODE_ATTACH_H

#include "base/core/arena.h"
#include "base/system/flags.h"
#include "node/agent/attached.h"

struct cli;

/* Embed it in the options of a command. */
struct node_attach_options {
	struct flag_list plugins;
	bool pod_condition, node_annotation;
	int64_t grace; /* ns */
};

/* The rows for it; `member` is its name in the options struct. */
#define NODE_ATTACH_FLAGS(type, member)                                                           \
	{ "follow-device-plugin", 0, FLAG_REPEAT(type, member.plugins), .arg = "RESOURCE=SOCKET", \
	  .help = "with --attach: also read this device plugin's list, for the health of its "    \
		  "devices; only for plugins that send every update to all readers" },            \
		{ "attach-pod-condition", 0, FLAG_BOOL(type, member.pod_condition),               \
		  .help = "with --attach: write the pods' condition "                             \
			  "devplane.dev/DevicesHealthy" },                                        \
		{ "attach-node-annotation", 0, FLAG_BOOL(type, member.node_annotation),           \
		  .help = "with --attach: write the health of all devices into the Node's "       \
			  "annotation devplane.dev/device-health" },                              \
	{                                                                                         \
		"attach-health-grace", 0, FLAG_DURATION(type, member.grace),                      \
			.arg = "TIME", .initial = "15s",                                          \
			.help = "with --attach: how long the kubelet's health of a device may "   \
				"differ from the driver's before that is counted"                 \
	}

/* Fills flags and plugins of `ret_opts`, which borrows from `a`. A usage error names the flag. */
int node_attach_read(struct cli *cli, const struct node_attach_options *o, bool attach,
		     struct arena *a, struct beside_opts *ret_opts, struct error *err);

#endif
