/*
 * podres_caller - the connection to a PodResources socket of devplane node, or of a kubelet.
 *
 * Errors are explained to the user: the path, the probable cause, and what to do.
 */
#ifndef CLI_PODRESOURCES_CALLER_H
#define CLI_PODRESOURCES_CALLER_H

#include "cli/program/cli.h"
#include "grpc/channel.h"

struct loop;

/* Embed it in a command's options. */
struct podres_options {
	const char *root_dir, *socket;
};

#define PODRES_FLAGS(type, member)                                                                 \
	{ "root-dir",                                                                              \
	  0,                                                                                       \
	  FLAG_STRING(type, member.root_dir),                                                      \
	  .arg = "DIR",                                                                            \
	  .initial = "/var/lib/kubelet",                                                           \
	  .help = "root folder of devplane node or of the kubelet, which has the socket" },        \
	{                                                                                          \
		"socket", 0, FLAG_STRING(type, member.socket),                                     \
			.arg = "PATH", .help = "path of the socket, if it is not below --root-dir" \
	}

struct podres_caller {
	struct cli *cli;
	const char *path; /* of the socket; in the cli's arena */
	struct loop *loop;
	struct grpc_channel *channel;
	bool ready; /* has been connected at least once */
	struct error why; /* the last connection error; code ERR_OK: connected */
	void (*on_ready)(void *arg); /* connected or reconnected; or NULL */
	void *arg;

	struct grpc_call *call; /* of podres_caller_ask() */
	const void *reply;
	struct error err;
};

/* Connects later, on demand. `watch`: prefer the socket of attach mode, if there is one. */
int podres_caller_open(struct podres_caller *c, struct cli *cli, const struct podres_options *o,
		       bool watch, struct error *err);
void podres_caller_close(struct podres_caller *c);

/* Makes one call and waits. The reply lives as long as the caller; one such call at a time. */
int podres_caller_ask(struct podres_caller *c, const struct grpc_method *method,
		      const ProtobufCMessage *request, const void **ret_reply, struct error *err);

/* Explains a status other than OK in *err; returns its code: ERR_NOT_FOUND if Get found no pod. */
int podres_caller_explain(const struct podres_caller *c, const struct grpc_method *method,
			  const struct grpc_status *st, struct error *err);

#endif
