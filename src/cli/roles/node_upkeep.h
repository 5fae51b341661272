/*
 * node_upkeep - flags of `devplane node` for static pods and for the upkeep of the machine, with
 * kubelet's names.
 */
#ifndef CLI_ROLES_NODE_UPKEEP_H
#define CLI_ROLES_NODE_UPKEEP_H

#include "base/system/flags.h"
#include "node/agent/agents.h"

struct cli;

/* Embed it in the options of a command. */
struct node_upkeep_options {
	const char *manifest_path;
	int64_t manifest_period; /* ns */
	int64_t image_high, image_low; /* percent */
	int64_t image_min_age, image_max_age; /* ns */
	struct flag_list hard, soft, grace, reclaim;
	int64_t max_pod_grace, transition; /* s; ns */
	const char *system_logs;
	bool serve_system_logs;
};

/* The rows for it; `member` is its name in the options struct. */
#define NODE_UPKEEP_FLAGS(type, member)                                                            \
	{ "pod-manifest-path", 0, FLAG_STRING(type, member.manifest_path), .arg = "PATH",          \
	  .help = "folder of manifests of static pods, or one such file" },                        \
		{ "file-check-frequency",                                                          \
		  0,                                                                               \
		  FLAG_DURATION(type, member.manifest_period),                                     \
		  .arg = "TIME",                                                                   \
		  .initial = "20s",                                                                \
		  .help = "interval between checks of these manifests, besides notifications" },   \
		{ "image-gc-high-threshold",                                                       \
		  0,                                                                               \
		  FLAG_INT(type, member.image_high),                                               \
		  .arg = "PERCENT",                                                                \
		  .initial = "85",                                                                 \
		  .min = 0,                                                                        \
		  .max = 100,                                                                      \
		  .help = "remove unused images when their disk is this full; 100: never" },       \
		{ "image-gc-low-threshold",                                                        \
		  0,                                                                               \
		  FLAG_INT(type, member.image_low),                                                \
		  .arg = "PERCENT",                                                                \
		  .initial = "80",                                                                 \
		  .min = 0,                                                                        \
		  .max = 100,                                                                      \
		  .help = "then remove images until the disk is only this full" },                 \
		{ "minimum-image-ttl-duration",                                                    \
		  0,                                                                               \
		  FLAG_DURATION(type, member.image_min_age),                                       \
		  .arg = "TIME",                                                                   \
		  .initial = "2m",                                                                 \
		  .help = "keep images that are newer than this" },                                \
		{ "image-maximum-gc-age",                                                          \
		  0,                                                                               \
		  FLAG_DURATION(type, member.image_max_age),                                       \
		  .arg = "TIME",                                                                   \
		  .initial = "0s",                                                                 \
		  .help = "remove images that were unused for this long; 0: never" },              \
		{ "eviction-hard", 0, FLAG_LIST(type, member.hard), .arg = "SIGNAL<AMOUNT",        \
		  .help = "evict pods when less is available; default memory.available<100Mi, "    \
			  "nodefs.available<10%, imagefs.available<15%, nodefs.inodesFree<5%, "    \
			  "imagefs.inodesFree<5%; none: never" },                                  \
		{ "eviction-soft", 0, FLAG_LIST(type, member.soft), .arg = "SIGNAL<AMOUNT",        \
		  .help = "the same, but only after a grace period" },                             \
		{ "eviction-soft-grace-period", 0, FLAG_LIST(type, member.grace),                  \
		  .arg = "SIGNAL=TIME",                                                            \
		  .help = "that grace period, such as memory.available=1m30s" },                   \
		{ "eviction-minimum-reclaim", 0, FLAG_LIST(type, member.reclaim),                  \
		  .arg = "SIGNAL=AMOUNT",                                                          \
		  .help = "continue to evict until this much more than the threshold is "          \
			  "available" },                                                           \
		{ "eviction-max-pod-grace-period",                                                 \
		  0,                                                                               \
		  FLAG_INT(type, member.max_pod_grace),                                            \
		  .arg = "SECONDS",                                                                \
		  .initial = "0",                                                                  \
		  .min = 0,                                                                        \
		  .max = 86400,                                                                    \
		  .help = "maximum grace period of pods that soft thresholds evict" },             \
		{ "eviction-pressure-transition-period",                                           \
		  0,                                                                               \
		  FLAG_DURATION(type, member.transition),                                          \
		  .arg = "TIME",                                                                   \
		  .initial = "5m",                                                                 \
		  .help = "how long the node reports pressure after its end" },                    \
		{ "log-dir", 0, FLAG_STRING(type, member.system_logs), .arg = "DIR",               \
		  .help = "folder of the machine's logs, served as /logs/ of the kubelet's API" }, \
	{                                                                                          \
		"enable-system-log-handler", 0, FLAG_BOOL(type, member.serve_system_logs),         \
			.initial = "true", .help = "serve the machine's logs"                      \
	}

/* A usage error names the wrong flag. */
int node_upkeep_read(struct cli *cli, const struct node_upkeep_options *o, struct agent_opts *opts,
		     struct error *err);

#endif
