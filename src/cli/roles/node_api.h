/*
 * node_api - flags of `devplane node` for the kubelet's API, with kubelet's names.
 */
#ifndef CLI_ROLES_NODE_API_H
#define CLI_ROLES_NODE_API_H

#include "base/system/flags.h"
#include "node/agent/agents.h"

struct cli;

/* Embed it in the options of a command. */
struct node_api_options {
	const char *address, *port, *cert_file, *key_file, *client_ca_file;
	bool anonymous;
};

/* The rows for it; `member` is its name in the options struct. */
#define NODE_API_FLAGS(type, member)                                                               \
	{ "address",                                                                               \
	  0,                                                                                       \
	  FLAG_STRING(type, member.address),                                                       \
	  .arg = "ADDRESS",                                                                        \
	  .initial = "0.0.0.0",                                                                    \
	  .help = "address of the kubelet's API: logs, exec, attach, port-forward" },              \
		{ "port", 0, FLAG_STRING(type, member.port), .arg = "PORT",                        \
		  .help = "port of the kubelet's API; 0 picks a free one; default 10250, 0 for a " \
			  "hollow node" },                                                         \
		{ "tls-cert-file", 0, FLAG_STRING(type, member.cert_file), .arg = "FILE",          \
		  .help = "certificate of the kubelet's API; default a self-signed one in pki/ "   \
			  "below --root-dir" },                                                    \
		{ "tls-private-key-file", 0, FLAG_STRING(type, member.key_file), .arg = "FILE",    \
		  .help = "private key of that certificate" },                                     \
		{ "client-ca-file", 0, FLAG_STRING(type, member.client_ca_file), .arg = "FILE",    \
		  .help = "CA of client certificates; without it, callers need a bearer token" },  \
	{                                                                                          \
		"anonymous-auth", 0, FLAG_BOOL(type, member.anonymous),                            \
			.help = "accept requests without credentials, as system:anonymous"         \
	}

/* A usage error names the wrong flag. With several nodes in a process, the API is not served. */
int node_api_read(struct cli *cli, const struct node_api_options *o, bool hollow, bool several,
		  struct agent_api_opts *ret_opts, struct error *err);

#endif
