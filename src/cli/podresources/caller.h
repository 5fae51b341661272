/*
 * podres_caller - the way to a PodResources socket: of devplane node, or of a kubelet.
 *
 * Failures are explained for people: which path it was, what is probably the matter, what to do.
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

#define PODRES_FLAGS(type, member)                                                            \
	{ "root-dir",                                                                         \
	  0,                                                                                  \
	  FLAG_STRING(type, member.root_dir),                                                 \
	  .arg = "DIR",                                                                       \
	  .initial = "/var/lib/kubelet",                                                      \
	  .help = "folder of devplane node or of the kubelet; the socket is below it" },      \
	{                                                                                     \
		"socket", 0, FLAG_STRING(type, member.socket),                                \
			.arg = "PATH", .help = "the socket itself, when it is somewhere else" \
	}

struct podres_caller {
	struct cli *cli;
	const char *path; /* of the socket; in the cli's arena */
	struct loop *loop;
	struct grpc_channel *channel;
	bool ready; /* has been connected once at least */
	struct error why; /* why there was no connection last; code is ERR_OK: there was */
	void (*on_ready)(void *arg); /* connected, again perhaps; or NULL */
	void *arg;

	struct grpc_call *call; /* of podres_caller_ask() */
	const void *reply;
	struct error err;
};

/* Connects later, when asked. `watch`: the socket of attach mode, where there is one, is better. */
int podres_caller_open(struct podres_caller *c, struct cli *cli, const struct podres_options *o,
		       bool watch, struct error *err);
void podres_caller_close(struct podres_caller *c);

/* Makes one call. The reply lives as long as the caller; one such call at a time. */
int podres_caller_ask(struct podres_caller *c, const struct grpc_method *method,
		      const ProtobufCMessage *request, const void **ret_reply, struct error *err);

/* What a status other than OK means, in *err; returns its code. */
int podres_caller_explain(const struct podres_caller *c, const struct grpc_method *method,
			  const struct grpc_status *st, struct error *err);

#endif
