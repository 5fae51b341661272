/*
 * nic_node_world - for tests: a net driver on its own node, with an in-memory API server.
 *
 * Everything runs on one real loop in the calling process. It has the driver, a server with the
 * objects of fakeapi_world.h, a kubelet that prepares and unprepares over gRPC, and a runtime that
 * sends requests like the CNI plugin. Pods are network namespaces. Needs root. Failures are cmocka
 * assertions.
 */
#ifndef DRIVERS_NIC_NODE_WORLD_H
#define DRIVERS_NIC_NODE_WORLD_H

#include "base/json/json.h"
#include "client/testing/fakeapi_world.h"
#include "drivers/nic/driver.h"
#include "drivers/rtnl/rtnl.h"
#include "net/loop/loop.h"

struct grpc_channel;

enum { NIC_NODE_PODS = 4, NIC_NODE_POD_FD = 900 /* of the first pod's namespace */ };

struct nic_node {
	char root[64], kubeconfig[96], bin[96];
	struct sim *sim; /* of fakeapi; its time does not advance */
	struct fakeapi *api;
	struct loop *loop;
	struct http_server *server;
	struct nic_spec spec;
	const char *patterns[1];
	const char *claim_cni; /* option of the driver; NULL: all */
	struct nic_create creates[1];
	struct nic_driver *driver;
	struct grpc_channel *channel;
	struct rtnl *host; /* in the driver's namespace */
	struct rtnl *pods[NIC_NODE_PODS];
	struct loop_timer tick;
	bool (*ready)(struct nic_node *w);
	const char *want; /* expected by `ready` */
	char want_claim[32];
	bool done, stopping;
	int client; /* the runtime's socket, or -1 */
	char error[512]; /* of the last prepare or unprepare; "": success */
	char answer[8192]; /* body of the last reply */
	size_t nanswer;
	int status; /* HTTP */
	struct arena arena; /* of the last claim read */
};

/*
 * Moves the process to a new network namespace with the veth pair host0 and host0x. host0 is
 * offered as hardware, and veth-0 to veth-2 are offered, too. Returns false if this is not possible
 * here, and prints why.
 */
bool nic_node_enter(void);

void nic_node_init(struct nic_node *w);
void nic_node_release(struct nic_node *w);
/* cmocka fixtures: *state is a node. */
int nic_node_set_up(void **state);
int nic_node_tear_down(void **state);

/* Starts and stops only the driver; its files stay. */
void nic_node_start(struct nic_node *w);
void nic_node_stop(struct nic_node *w);

void nic_node_wait(struct nic_node *w, bool (*ready)(struct nic_node *w));

/*
 * Creates the claim "claim-N" (uid "claim-uid-N"), allocated to the device with these parameters
 * (JSON or NULL), and reserved for the pods given by digits: "12" means pod-1 (uid "pod-uid-1") and
 * pod-2.
 */
void nic_node_claim(struct nic_node *w, int n, const char *device, const char *parameters,
		    const char *pods);
void nic_node_delete_claim(struct nic_node *w, int n);
void nic_node_reserve(struct nic_node *w, int n, const char *pods);
/* Creates a Pod that uses the claim. */
void nic_node_pod(struct nic_node *w, int n, int claim);

/* Prepares or unprepares claim n; the result is in w->error. */
void nic_node_prepare(struct nic_node *w, int n);
void nic_node_unprepare(struct nic_node *w, int n);
/* The same in two parts: w->done says whether the reply has come. */
void nic_node_begin(struct nic_node *w, bool unprepare, int n);
void nic_node_end(struct nic_node *w);

/* Requests "/add" for pod n, with the container "c<n><suffix>". Sets w->status and w->answer. */
void nic_node_ask(struct nic_node *w, const char *target, int n, const char *suffix);
/* The same without waiting for the reply, which is lost after nic_node_hang_up(). */
void nic_node_say(struct nic_node *w, const char *target, int n, const char *suffix);
void nic_node_say_text(struct nic_node *w, const char *target, const char *body);
void nic_node_hear(struct nic_node *w);
void nic_node_hang_up(struct nic_node *w);
/* Ends a pod's namespace and removes its path. */
void nic_node_end_pod(struct nic_node *w, int n);

/* Waits until the Ready condition of the claim's only device has this reason; returns its entry. */
const struct json *nic_node_reason(struct nic_node *w, int n, const char *reason);
/* Waits until the claim has no entry. */
void nic_node_no_entry(struct nic_node *w, int n);

/* A link's index, or 0 if not found; and switching a link on or off. */
int nic_node_index(struct rtnl *r, const char *name);
void nic_node_set_link(struct rtnl *r, const char *name, bool up);
/* Prepares claim n for pod n, and moves its interface into the pod. */
void nic_node_attach(struct nic_node *w, int n, const char *device, const char *parameters);
/* Fails unless the entry has that text. */
void nic_node_text(const struct json *entry, const char *pointer, const char *want);

#endif
