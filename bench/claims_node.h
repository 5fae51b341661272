/*
 * claims_node - the kubelet and the container runtime of a network driver, in a benchmark.
 *
 * Has claims prepared over the driver's DRA socket, and pods given their interfaces over the socket
 * of its CNI plugin, or by the plugin itself. One operation at a time. A failure ends the program.
 */
#ifndef BENCH_CLAIMS_NODE_H
#define BENCH_CLAIMS_NODE_H

#include <stdbool.h>

#include "base/core/str.h"

struct claims_node;
struct loop;

/* A pod of the namespace "default" with a claim of the same name; text is borrowed until return. */
struct claims_pod {
	const char *name;
	const char *uid, *claim_uid;
	const char *container; /* its sandbox, which must be another in another namespace */
	const char *netns; /* path */
	const char *ns; /* its Kubernetes namespace; NULL: "default" */
};

/* The caller measures the time of an operation: `done` is called at its end. */
struct claims_node *claims_node_new(struct loop *l, const char *root, void (*done)(void *arg),
				    void *arg);

void claims_node_prepare(struct claims_node *n, const struct claims_pod *p);

/* ADD, or DEL, by asking the driver as its plugin does. */
void claims_node_attach(struct claims_node *n, const struct claims_pod *p);
void claims_node_detach(struct claims_node *n, const struct claims_pod *p);

/* The same by a process, the plugin devplane-cni in this folder. */
void claims_node_run(struct claims_node *n, const struct claims_pod *p, bool detach,
		     const char *folder);

#endif
