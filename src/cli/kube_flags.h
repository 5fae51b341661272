/*
 * kube_flags - the flags with which a command says which API server it means, and as whom.
 * Names are kubectl's.
 */
#ifndef CLI_KUBE_FLAGS_H
#define CLI_KUBE_FLAGS_H

#include "base/clock.h"
#include "cli/cli.h"

struct kubeconfig;

/* Embed it in the options of a command. */
struct kube_options {
	const char *kubeconfig, *context, *ns, *server;
	int64_t request_timeout; /* ns; 0: the client's own */
};

/* The rows for it; `member` is its name in the options struct. */
#define KUBE_FLAGS(type, member)                                                                \
	{ "kubeconfig", 0, FLAG_STRING(type, member.kubeconfig), .arg = "FILE",                 \
	  .help = "how to reach the API server; else $KUBECONFIG, ~/.kube/config or the pod's " \
		  "account" },                                                                  \
		{ "context", 0, FLAG_STRING(type, member.context), .arg = "NAME",               \
		  .help = "context of the kubeconfig instead of its current one" },             \
		{ "namespace", 'n', FLAG_STRING(type, member.ns), .arg = "NAME",                \
		  .help = "namespace instead of the context's" },                               \
		{ "server", 's', FLAG_STRING(type, member.server), .arg = "URL",                \
		  .help = "address of the API server instead of the kubeconfig's" },            \
	{                                                                                       \
		"request-timeout", 0, FLAG_DURATION(type, member.request_timeout),              \
			.arg = "TIME", .max = 86400 * CLOCK_SEC,                                \
			.help = "give a single request up after this time; 1m by default"       \
	}

/* What the flags amount to. Release it by kubeconfig_release(). */
int kube_flags_load(const struct kube_options *o, struct kubeconfig *ret_config, struct error *err);

#endif
