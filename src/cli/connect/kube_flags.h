/*
 * kube_flags - the flags that select the API server and the user.
 *
 * Names and meanings are kubectl's. Flags win over the kubeconfig. If --server is given, the
 * tls-server-name of the kubeconfig's cluster is not used.
 */
#ifndef CLI_CONNECT_KUBE_FLAGS_H
#define CLI_CONNECT_KUBE_FLAGS_H

#include "base/core/clock.h"
#include "cli/program/cli.h"

struct kubeconfig;

/* Embed it in the options of a command. */
struct kube_options {
	const char *kubeconfig, *context, *cluster, *user, *ns, *server;
	const char *token, *username, *password, *cert_file, *key_file;
	const char *ca_file, *tls_server_name;
	const char *as, *as_uid;
	struct flag_list as_groups, as_extra;
	bool insecure;
	int64_t request_timeout; /* ns; 0: none */
};

/* The rows for it; `member` is its name in the options struct. */
#define KUBE_FLAGS(type, member)                                                                   \
	{ "kubeconfig", 0, FLAG_STRING(type, member.kubeconfig), .arg = "FILE",                    \
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the "      \
		  "pod's service account" },                                                       \
		{ "context", 0, FLAG_STRING(type, member.context), .arg = "NAME",                  \
		  .help = "kubeconfig context to use instead of the current one" },                \
		{ "cluster", 0, FLAG_STRING(type, member.cluster), .arg = "NAME",                  \
		  .help = "kubeconfig cluster to use instead of the context's" },                  \
		{ "user", 0, FLAG_STRING(type, member.user), .arg = "NAME",                        \
		  .help = "kubeconfig user to use instead of the context's" },                     \
		{ "namespace", 'n', FLAG_STRING(type, member.ns), .arg = "NAME",                   \
		  .help = "namespace to use instead of the context's" },                           \
		{ "server", 's', FLAG_STRING(type, member.server), .arg = "URL",                   \
		  .help = "address of the API server instead of the kubeconfig's" },               \
		{ "token", 0, FLAG_STRING(type, member.token), .arg = "TOKEN",                     \
		  .help = "bearer token to use instead of the kubeconfig's" },                     \
		{ "username", 0, FLAG_STRING(type, member.username), .arg = "NAME",                \
		  .help = "user name for password authentication" },                               \
		{ "password", 0, FLAG_STRING(type, member.password), .arg = "PASSWORD",            \
		  .help = "password for --username" },                                             \
		{ "client-certificate", 0, FLAG_STRING(type, member.cert_file), .arg = "FILE",     \
		  .help = "client certificate to use instead of the kubeconfig's" },               \
		{ "client-key", 0, FLAG_STRING(type, member.key_file), .arg = "FILE",              \
		  .help = "key of the client certificate" },                                       \
		{ "certificate-authority", 0, FLAG_STRING(type, member.ca_file), .arg = "FILE",    \
		  .help = "CA to verify the server with instead of the kubeconfig's" },            \
		{ "insecure-skip-tls-verify", 0, FLAG_BOOL(type, member.insecure),                 \
		  .help = "do not verify the server's certificate" },                              \
		{ "tls-server-name", 0, FLAG_STRING(type, member.tls_server_name), .arg = "NAME",  \
		  .help = "name to expect in the server's certificate instead of its address" },   \
		{ "as", 0, FLAG_STRING(type, member.as), .arg = "USER",                            \
		  .help = "impersonate this user (needs permission)" },                            \
		{ "as-group", 0, FLAG_REPEAT(type, member.as_groups), .arg = "GROUP",              \
		  .help = "group of the impersonated user; may be repeated" },                     \
		{ "as-uid", 0, FLAG_STRING(type, member.as_uid), .arg = "UID",                     \
		  .help = "UID of the impersonated user" },                                        \
		{ "as-user-extra", 0, FLAG_REPEAT(type, member.as_extra), .arg = "KEY=VALUE",      \
		  .help = "extra field of the impersonated user; may be repeated" },               \
	{                                                                                          \
		"request-timeout", 0, FLAG_DURATION(type, member.request_timeout),                 \
			.arg = "TIME", .max = 86400 * CLOCK_SEC, .initial = "1m", .seconds = true, \
			.help = "timeout for one request; a plain number means seconds, 0 means "  \
				"no timeout"                                                       \
	}

/* The kubeconfig with the flags applied. Release it with kubeconfig_release(). */
int kube_flags_load(const struct kube_options *o, struct kubeconfig *ret_config, struct error *err);

#endif
