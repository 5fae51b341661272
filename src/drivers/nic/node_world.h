/*
 * nic_node_world - for tests: a net driver on a node of its own, with an API server in memory.
 *
 * Everything runs on one real loop in the calling process: the driver, a server of
 * fakeapi_world.h's objects, a kubelet that prepares and unprepares over gRPC, a runtime that asks
 * as the CNI plugin does, and pods, which are network namespaces. The process must be root.
 * Failures are cmocka's.
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
	struct sim *sim; /* of fakeapi; stands still */
	struct fakeapi *api;
	struct loop *loop;
	struct http_server *server;
	struct nic_spec spec;
	const char *patterns[1];
	const char *claim_cni; /* of the driver; NULL: all */
	struct nic_create creates[1];
	struct nic_driver *driver;
	struct grpc_channel *channel;
	struct rtnl *host; /* the driver's namespace */
	struct rtnl *pods[NIC_NODE_PODS];
	struct loop_timer tick;
	bool (*ready)(struct nic_node *w);
	const char *want; /* of `ready` */
	char want_claim[32];
	bool done, stopping;
	int client; /* the runtime's socket; -1: none */
	char error[512]; /* of the last prepare or unprepare; "": it went well */
	char answer[8192]; /* of the last question; its body */
	size_t nanswer;
	int status; /* HTTP */
	struct arena arena; /* of the last claim that was read */
};

/*
 * The namespace of the process becomes a new one, with a pair of veth host0 and host0x, the first
 * of which is offered as hardware is; devices veth-0 to veth-2 are offered, too. False: this
 * cannot be done here, and why was printed.
 */
bool nic_node_enter(void);

void nic_node_init(struct nic_node *w);
void nic_node_release(struct nic_node *w);
/* The same as cmocka wants it: *state is a node. */
int nic_node_set_up(void **state);
int nic_node_tear_down(void **state);

/* The driver alone; its files stay. */
void nic_node_start(struct nic_node *w);
void nic_node_stop(struct nic_node *w);

void nic_node_wait(struct nic_node *w, bool (*ready)(struct nic_node *w));

/*
 * A claim "claim-N" (uid "claim-uid-N"), allocated to the device with these parameters (JSON; NULL:
 * none), and reserved for the pods named by digits: "12" are pod-1 (uid "pod-uid-1") and pod-2.
 */
void nic_node_claim(struct nic_node *w, int n, const char *device, const char *parameters,
		    const char *pods);
void nic_node_delete_claim(struct nic_node *w, int n);
void nic_node_reserve(struct nic_node *w, int n, const char *pods);
/* A pod's object that names a claim. */
void nic_node_pod(struct nic_node *w, int n, int claim);

/* Of claim n; w->error. */
void nic_node_prepare(struct nic_node *w, int n);
void nic_node_unprepare(struct nic_node *w, int n);
/* The same in two parts: w->done tells whether it was answered. */
void nic_node_begin(struct nic_node *w, bool unprepare, int n);
void nic_node_end(struct nic_node *w);

/* "/add" for pod n, whose container is "c<n><suffix>"; w->status and w->answer. */
void nic_node_ask(struct nic_node *w, const char *target, int n, const char *suffix);
/* The same without waiting for the answer, which nobody reads after nic_node_hang_up(). */
void nic_node_say(struct nic_node *w, const char *target, int n, const char *suffix);
void nic_node_say_text(struct nic_node *w, const char *target, const char *body);
void nic_node_hear(struct nic_node *w);
void nic_node_hang_up(struct nic_node *w);
/* A pod's namespace ends, and with it the path that leads there. */
void nic_node_end_pod(struct nic_node *w, int n);

/* Waits until the Ready condition of the claim's only device has this reason; its entry. */
const struct json *nic_node_reason(struct nic_node *w, int n, const char *reason);
/* Waits until the claim has no entry. */
void nic_node_no_entry(struct nic_node *w, int n);

/* A link's index; 0: there is none of that name. And switches one on or off. */
int nic_node_index(struct rtnl *r, const char *name);
void nic_node_set_link(struct rtnl *r, const char *name, bool up);
/* Claim n of pod n is prepared and its interface is put into the pod. */
void nic_node_attach(struct nic_node *w, int n, const char *device, const char *parameters);
/* Fails unless that is in the entry. */
void nic_node_text(const struct json *entry, const char *pointer, const char *want);

#endif
