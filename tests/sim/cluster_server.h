/*
 * cluster_server - the API server of a simulated cluster, and what it has committed.
 *
 * The real server, with the real LMDB store in a folder, which commits in the turns of its first
 * loop, or on etcd. Users come from a file of tokens and, with TLS, from client certificates,
 * rights from RBAC and the node authorizer.
 */
#ifndef SIM_CLUSTER_SERVER_H
#define SIM_CLUSTER_SERVER_H

#include "base/core/error.h"
#include "base/json/json.h"

struct arena;
struct cluster_role;
struct cluster_role_ops;

enum { CLUSTER_ETCD_URLS = 3 };

/* role->arg of a server. */
struct cluster_server_config {
	int port;
	size_t ring_bytes; /* of the watch cache, for each resource */
	int64_t history_ms; /* 0: the default */
	bool unfenced; /* DeviceAllocationFence is off */
	char etcd[CLUSTER_ETCD_URLS][32]; /* URLs; with LMDB empty */
	const char *urls[CLUSTER_ETCD_URLS];
	size_t nurls;
	/* Paths; empty: no TLS. */
	char cert_file[160], key_file[160], client_ca_file[160];
};

extern const struct cluster_role_ops cluster_server_ops;

/* It runs and has loaded its state. */
bool cluster_server_ready(const struct cluster_role *role);

/* 0, or why it takes no writes: the store has failed for good, the disk is full. */
int cluster_server_health(const struct cluster_role *role, struct error *err);

/*
 * Calls `fn` for every committed object of a resource ("resource.k8s.io", "resourceclaims"; "" is
 * core) with its tree in `a`. Between turns only. A custom resource that is not served has none.
 */
void cluster_server_each(const struct cluster_role *role, const char *group, const char *resource,
			 struct arena *a, void (*fn)(void *arg, const struct json *tree),
			 void *arg);

/* One of them; NULL: not there. */
struct json *cluster_server_get(const struct cluster_role *role, const char *group,
				const char *resource, const char *ns, const char *name,
				struct arena *a);

/* The same without the object: its name as etcd has it ("default web-0"), and its version. */
void cluster_server_each_version(const struct cluster_role *role, const char *group,
				 const char *resource,
				 void (*fn)(void *arg, struct str key, int64_t revision),
				 void *arg);

/* While it reads everything again: nobody is shown objects of custom kinds (state_read()). */
bool cluster_server_holds_customs_back(const struct cluster_role *role);

/* It has answered a request since it was started. */
bool cluster_server_has_answered(const struct cluster_role *role);

/* Its revision of what is committed. */
int64_t cluster_server_revision(const struct cluster_role *role);

#endif
