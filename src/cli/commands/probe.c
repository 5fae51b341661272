/*
 * `devplane probe`: tests the path between two machines, with the protocols that the parts of a
 * cluster use.
 *
 * Users need it to find out whether TLS, a proxy or a socket is at fault, since it uses the client
 * and the server of the roles. The end-to-end tests need it to run our HTTP and gRPC against curl
 * and @grpc/grpc-js (http_test, grpc_client_test, grpc_server_test), and bench/net_bench.sh too.
 */
#include "cli/commands/commands.h"
#include "cli/probe/commands.h"

static const struct command *const rows[] = {
	&cmd_probe_serve,
	&cmd_probe_get,
	&cmd_probe_call,
	NULL,
};

const struct command cmd_probe = {
	.name = "probe",
	.summary = "check TLS, proxies and sockets between machines",
	.about = "Run `probe serve` on one machine, and `probe get`, `probe call`, curl or any "
		 "gRPC client on another. Both use the protocols of a cluster's own parts: "
		 "HTTP/1.1, HTTP/2 and gRPC, in plain text, over TLS and over unix sockets.",
	.group = COMMAND_TOOL,
	.subcommands = rows,
};
