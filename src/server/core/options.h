/*
 * server_opts - the flags of the API server, as its parts read them.
 */
#ifndef SERVER_CORE_OPTIONS_H
#define SERVER_CORE_OPTIONS_H

#include "api/schema/gates.h"
#include "base/core/error.h"

struct log;
struct loop;

/* Where services get their addresses unless --service-cluster-ip-range says so. */
#define SERVER_SERVICE_CIDR "10.0.0.0/24"

struct server_opts {
	bool no_kubeconfig; /* do not write admin.kubeconfig */
	const char *data_dir; /* required: certificates, kubeconfig and, without etcd, the data */
	const char *bind_address; /* "127.0.0.1" */
	int secure_port; /* 6443; 0 picks one */
	const char *cert_file, *key_file; /* serving certificate; NULL: made here */
	const char *client_ca_file; /* beside our own CA; or NULL */
	const char *token_auth_file; /* or NULL */
	bool no_anonymous; /* who says nothing is refused */
	bool no_ui; /* the device page is not served */
	/* Tokens of service accounts; see docs/authentication.md. */
	const char *const *service_account_issuers; /* the first one issues; none: upstream's */
	size_t nservice_account_issuers;
	const char *const *service_account_key_files; /* PEM: keys that are believed, too */
	size_t nservice_account_key_files;
	const char *service_account_signing_key_file; /* NULL: made in data_dir */
	const char *service_account_jwks_uri; /* NULL: at this server */
	const char *const *api_audiences; /* none: the issuers */
	size_t napi_audiences;
	int64_t token_max_s; /* longest life of a token that is asked for; 0: none */
	bool no_token_extension; /* tokens of pods end when they say, not after a year */
	/* Services; see docs/server.md. */
	const char *const *service_cluster_ip_ranges; /* none: SERVER_SERVICE_CIDR */
	size_t nservice_cluster_ip_ranges;
	const char *service_node_port_range; /* NULL: 30000-32767 */
	const char *advertise_address; /* where others reach it; NULL: bind_address */
	const char *const *enable_admission_plugins; /* upstream's names */
	size_t nenable_admission_plugins;
	const char *const *disable_admission_plugins;
	size_t ndisable_admission_plugins;
	const char *const *etcd_servers; /* none: LMDB in data_dir */
	size_t netcd_servers;
	const char *etcd_ca_file, *etcd_cert_file, *etcd_key_file, *etcd_prefix;
	/* How kubelets are reached (kubelets.h). */
	const char *kubelet_cert_file, *kubelet_key_file; /* ours towards them; NULL: made here */
	const char *kubelet_ca_file; /* that signed theirs; NULL: it is not checked */
	bool kubelet_names; /* theirs must be for the node's name, not for the address */
	const char *const *kubelet_address_types; /* in order of preference; none: upstream's */
	size_t nkubelet_address_types;
	const char *const *node_address_ranges; /* kubelets must be in one; none: anywhere */
	size_t nnode_address_ranges;
	const char *audit_log_path; /* or NULL; "-" is stdout */
	bool audit_strict; /* requests whose line cannot be written are refused */
	int64_t event_ttl_ms, history_ms;
	size_t history_bytes; /* of superseded versions; 0: no limit; not on etcd */
	int64_t store_quota_bytes; /* 0: no limit; -1: by what is free on the disk; not on etcd */
	size_t watch_cache_bytes;
	int64_t request_timeout_ms; /* 60 s */
	int64_t min_request_timeout_ms; /* of watches: 30 minutes */
	bool no_fairness; /* only the limits of requests under way */
	int64_t max_reading, max_writing; /* requests under way; 0: 400, 200; see flow.h */
	int64_t max_user_watches; /* 0: MEMORY_USER_WATCHES_MAX; -1: no limit; see memory.h */
	int64_t max_conns, max_strangers; /* see http_server.h; 0: no limit */
	struct gates gates;
	/*
	 * In a simulated world: TLS only with a cert_file, kubelets are reached without TLS, and
	 * the store commits in the turns of the first loop.
	 */
	bool simulated;
	struct loop *const *loops; /* I/O loops; the state lives on the first */
	size_t nloops;
	struct log *log;
	/* Serving and ready, or why not (once). */
	void (*on_ready)(void *arg, const struct error *err);
	void *arg;
};

#endif
