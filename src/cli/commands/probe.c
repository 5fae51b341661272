/*
 * `devplane probe`: tests the path between two machines, with the protocols that the parts of a
 * cluster use.
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
	.about = "`probe serve` answers on one machine; `probe get`, `probe call`, curl, or any "
		 "gRPC client ask it from another. Both speak what a cluster's own parts speak: "
		 "HTTP/1.1, HTTP/2 and gRPC, in the clear, over TLS and over unix sockets.",
	.group = COMMAND_TOOL,
	.subcommands = rows,
};
