/*
 * node_podres - flags of `devplane node` for the PodResources socket, for agents and attach mode.
 */
#ifndef CLI_ROLES_NODE_PODRES_H
#define CLI_ROLES_NODE_PODRES_H

#include "base/system/flags.h"
#include "node/agent/agents.h"

struct cli;

/* Embed it in the options of a command. */
struct node_podres_options {
	const char *socket, *mode, *group;
	int64_t qps, burst, client_streams, streams;
};

/* The rows for it; `member` is its name in the options struct. */
#define NODE_PODRES_FLAGS(type, member)                                                        \
	{ "pod-resources-socket", 0, FLAG_STRING(type, member.socket), .arg = "PATH",          \
	  .help = "path of the PodResources socket; default pod-resources/kubelet.sock below " \
		  "--root-dir, with --attach pod-resources/devplane.sock" },                   \
		{ "pod-resources-socket-mode",                                                 \
		  0,                                                                           \
		  FLAG_STRING(type, member.mode),                                              \
		  .arg = "OCTAL",                                                              \
		  .initial = "0600",                                                           \
		  .help = "permissions of that socket" },                                      \
		{ "pod-resources-socket-group", 0, FLAG_STRING(type, member.group),            \
		  .arg = "GROUP",                                                              \
		  .help = "name or number of the group that owns the socket; default the "     \
			  "agent's" },                                                         \
		{ "pod-resources-qps",                                                         \
		  0,                                                                           \
		  FLAG_INT(type, member.qps),                                                  \
		  .arg = "COUNT",                                                              \
		  .initial = "500",                                                            \
		  .min = 0,                                                                    \
		  .max = 1000000,                                                              \
		  .help = "maximum calls per second of one client process; 0: no limit" },     \
		{ "pod-resources-burst",                                                       \
		  0,                                                                           \
		  FLAG_INT(type, member.burst),                                                \
		  .arg = "COUNT",                                                              \
		  .initial = "100",                                                            \
		  .min = 1,                                                                    \
		  .max = 1000000,                                                              \
		  .help = "calls that one client process can make in a burst" },               \
		{ "pod-resources-client-streams",                                              \
		  0,                                                                           \
		  FLAG_INT(type, member.client_streams),                                       \
		  .arg = "COUNT",                                                              \
		  .initial = "2048",                                                           \
		  .min = 0,                                                                    \
		  .max = 1000000,                                                              \
		  .help = "maximum number of open watches per client process; 0: no limit" },  \
	{                                                                                      \
		"pod-resources-streams", 0, FLAG_INT(type, member.streams),                    \
			.arg = "COUNT", .initial = "8192", .min = 0, .max = 1000000,           \
			.help = "maximum number of open watches of all clients; 0: no limit"   \
	}

/* Fills path, mode, group and limits. A usage error names the wrong flag. */
int node_podres_read(struct cli *cli, const struct node_podres_options *o,
		     struct podres_server_opts *ret_opts, struct error *err);

#endif
