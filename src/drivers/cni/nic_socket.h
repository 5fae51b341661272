/*
 * nic_socket - the net driver's HTTP server on a unix socket, for the CNI plugin (`devplane cni`).
 *
 * The socket is ROOT/plugins/DRIVER/cni.sock, for root only. Requests are POST /add, /del, /check
 * and /gc, and GET /status. The body is {"containerID", "netns", "ifname", "network", "podUID",
 * "podName", "podNamespace", "path"}. All are strings and optional; "network" is the name of the
 * configuration. The body of gc is {"network": .., "valid": [{"containerID", "ifname"}, ..]}, both
 * required. It removes everything that was added for that network and is not in the list.
 *
 * The reply is 200 with {"interfaces": [{"name", "mac", "ips": [..]}, ..]}, or another status with
 * {"code": CNI's code, "message": ".."}. GET /devices lists the driver's devices.
 *
 * The plugin can check without the driver whether a pod may have claims of this driver, by files.
 * ROOT/plugins/DRIVER/pods/POD-UID exists from before a claim of the pod is prepared until after it
 * is unprepared. namespaces/NAMESPACE exists while any claim of that namespace does, because a
 * second pod may use the same claim, which only the driver can find out. So while the driver is
 * down, pods in other namespaces can start, and the rest wait.
 * Threads: the loop's.
 */
#ifndef DRIVERS_CNI_NIC_SOCKET_H
#define DRIVERS_CNI_NIC_SOCKET_H

#include "base/core/buf.h"
#include "base/json/writer.h"
#include "drivers/cni/cni_plugin.h"

struct loop;
struct nic_ask;
struct nic_socket;

/* The folders of those files, in the driver's folder. */
#define NIC_MARKS_PODS       "pods"
#define NIC_MARKS_NAMESPACES "namespaces"

/* The socket's path. Returns -ERR_INVALID if it is too long for the kernel. */
int nic_socket_path(const char *root, const char *driver, struct buf *path, struct error *err);
/* The path of the folder `marks`, which is one of NIC_MARKS_*. */
int nic_marks_path(const char *root, const char *driver, const char *marks, struct buf *path,
		   struct error *err);
/*
 * Whether there is a mark of this name, or any mark if the name is empty or not a file's name. Also
 * true if that cannot be found out.
 */
bool nic_marks_has(const char *root, const char *driver, const char *marks, struct str name);

/* One request. Text is valid until the request is completed, and never NULL. */
struct nic_question {
	enum cni_command command; /* ADD, DEL, CHECK, STATUS, GC */
	const char *container_id, *netns, *ifname, *path; /* "" if not set; DEL: netns may be "" */
	const char *pod_uid, *pod_name, *pod_namespace; /* "" if not set */
	const char *network; /* name of the configuration; "" if not set; always set for GC */
	const struct json *valid; /* GC: a list of objects; else NULL */
};

struct nic_socket_opts {
	struct loop *loop;
	const char *path; /* its folder is created if missing */
	/* Must be completed with nic_ask_answer() or nic_ask_refuse(), at once or later. */
	void (*on_question)(void *arg, struct nic_ask *ask, const struct nic_question *q);
	/* The client has disconnected. The request must still be completed. May be NULL. */
	void (*on_gone)(void *arg, struct nic_ask *ask);
	/* GET /devices: writes one JSON value. May be NULL. */
	void (*on_list)(void *arg, struct json_writer *out);
	void *arg;
};

/*
 * Listens. Replaces a socket left by a dead driver. Returns -ERR_ALREADY_EXISTS if a live process
 * answers there.
 */
int nic_socket_new(const struct nic_socket_opts *opts, struct nic_socket **ret_socket,
		   struct error *err);
/*
 * Removes the socket at once. Calls `done` later, when all requests are completed. After two
 * seconds it disconnects the remaining clients (on_gone) and calls `done`.
 */
void nic_socket_stop(struct nic_socket *s, void (*done)(void *arg), void *arg);
/*
 * Call it after `done`, or before the loop has run. Requests that are not completed outlive it, and
 * must still be completed. NULL allowed.
 */
void nic_socket_free(struct nic_socket *s);

/* Call one of these, once; it frees the ask. `interfaces` is a JSON list; NULL: []. */
void nic_ask_answer(struct nic_ask *a, const char *interfaces);
void nic_ask_refuse(struct nic_ask *a, int cni_code, const char *message);

#endif
