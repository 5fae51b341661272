/*
 * options - the options of the API server, for all its parts.
 */
#ifndef SERVER_CORE_OPTIONS_H
#define SERVER_CORE_OPTIONS_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "server/core/audit_options.h"

struct log;
struct loop;

/* The address range of services unless --service-cluster-ip-range is set. */
#define SERVER_SERVICE_CIDR "10.0.0.0/24"

struct server_opts {
	bool no_kubeconfig; /* do not write admin.kubeconfig */
	const char *data_dir; /* required: certificates, kubeconfig and, without etcd, the data */
	const char *bind_address; /* "127.0.0.1" */
	int secure_port; /* 6443; 0 picks one */
	const char *cert_file, *key_file; /* serving certificate; NULL: the server makes one */
	const char *client_ca_file; /* trusted in addition to our own CA; or NULL */
	const char *token_auth_file; /* or NULL */
	bool no_anonymous; /* requests without credentials are rejected */
	bool no_ui; /* do not serve the device page */
	bool no_explain; /* the page has no explanations */
	/* The socket of a program_host that runs them; 0: they are processes of the server. */
	int explain_fd;
	/* Service account tokens; see docs/authentication.md. */
	/* The first one issues tokens; empty: upstream's default. */
	const char *const *service_account_issuers;
	size_t nservice_account_issuers;
	/* PEM: additional keys to verify tokens with */
	const char *const *service_account_key_files;
	size_t nservice_account_key_files;
	const char *service_account_signing_key_file; /* NULL: a key made in data_dir */
	const char *service_account_jwks_uri; /* NULL: that of this server */
	const char *const *api_audiences; /* empty: the issuers */
	size_t napi_audiences;
	int64_t token_max_s; /* longest lifetime of a requested token; 0: no limit */
	bool no_token_extension; /* pods' tokens expire at their stated time, not after a year */
	/* Services; see docs/server.md. */
	const char *const *service_cluster_ip_ranges; /* empty: SERVER_SERVICE_CIDR */
	size_t nservice_cluster_ip_ranges;
	const char *service_node_port_range; /* NULL: 30000-32767 */
	const char *advertise_address; /* address at which others reach it; NULL: bind_address */
	const char *const *enable_admission_plugins; /* upstream's names */
	size_t nenable_admission_plugins;
	const char *const *disable_admission_plugins;
	size_t ndisable_admission_plugins;
	const char *admission_config_file; /* upstream's AdmissionConfiguration; or NULL */
	const char *encryption_config_file; /* upstream's EncryptionConfiguration; or NULL */
	bool encryption_reload; /* read it again when it changes */
	const char *const *etcd_servers; /* empty: LMDB in data_dir */
	size_t netcd_servers;
	const char *etcd_ca_file, *etcd_cert_file, *etcd_key_file, *etcd_prefix;
	/* Connections to kubelets (kubelets.h). */
	/* Our client certificate; NULL: the server makes one. */
	const char *kubelet_cert_file, *kubelet_key_file;
	const char *kubelet_ca_file; /* CA of the kubelets' certificates; NULL: not verified */
	bool kubelet_names; /* their certificates must name the node, not the address */
	/* In order of preference; empty: upstream's default. */
	const char *const *kubelet_address_types;
	size_t nkubelet_address_types;
	const char *const *node_address_ranges; /* allowed addresses of kubelets; empty: all */
	size_t nnode_address_ranges;
	const struct audit_opts *audit; /* NULL: no audit log */
	int64_t event_ttl_ms, history_ms;
	size_t history_bytes; /* limit for superseded versions; 0: no limit; not with etcd */
	int64_t store_quota_bytes; /* 0: no limit; -1: depends on free disk space; not with etcd */
	bool store_journal; /* see store/lmdb/store.h; not with etcd */
	size_t watch_cache_bytes;
	int64_t request_timeout_ms; /* 60 s */
	int64_t min_request_timeout_ms; /* for watches: 30 minutes */
	bool no_fairness; /* no fair queuing, only limits for requests under way */
	/* Limits for requests under way; 0: 400, 200; see flow.h. */
	int64_t max_reading, max_writing;
	int64_t max_user_watches; /* 0: MEMORY_USER_WATCHES_MAX; -1: no limit; see memory.h */
	int64_t max_conns, max_strangers; /* see net/http/server.h; 0: no limit */
	struct gates gates;
	/*
	 * In a simulated cluster: TLS only if cert_file is set, kubelets are reached without TLS,
	 * and the store commits in turns of the first loop.
	 */
	bool simulated;
	struct loop *const *loops; /* I/O loops; the state lives on the first */
	size_t nloops;
	/*
	 * The first loop serves no connections. It orders all writes and feeds all watches, so
	 * requests of its own would delay those of the others.
	 */
	bool spare_first;
	struct log *log;
	/* Called once: serving and ready (err NULL), or the reason why not. */
	void (*on_ready)(void *arg, const struct error *err);
	void *arg;
};

#endif
