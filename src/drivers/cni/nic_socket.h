/*
 * nic_socket - where the CNI plugin (`devplane cni`) asks the net driver: HTTP on a unix socket.
 *
 * ROOT/plugins/DRIVER/cni.sock, root's alone. POST /add, /del, /check and /gc, GET /status; the
 * body is {"containerID", "netns", "ifname", "network", "podUID", "podName", "podNamespace",
 * "path"}, all strings, each may be left out; "network" is the name of the configuration. gc:
 * {"network": .., "valid": [{"containerID", "ifname"}, ..]}, both wanted: what was added for that
 * network and is not in the list goes. 200 with {"interfaces": [{"name", "mac", "ips": [..]}, ..]};
 * else {"code": CNI's, "message": ".."} with an HTTP status that is not 200. GET /devices lists
 * what the driver has.
 *
 * Whether a pod has claims of this driver can also be told without the driver: ROOT/plugins/
 * DRIVER/pods/POD-UID is there from before a claim of the pod is prepared until after it is
 * unprepared, and so is namespaces/NAMESPACE while any claim of the namespace is: a second pod may
 * want that one, which only the driver can find out. So pods of other namespaces, which want
 * nothing of it, start while the driver is away, and the others wait.
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

/* Folders of marks, in the driver's. */
#define NIC_MARKS_PODS       "pods"
#define NIC_MARKS_NAMESPACES "namespaces"

/* The socket's path. -ERR_INVALID: too long for the kernel. */
int nic_socket_path(const char *root, const char *driver, struct buf *path, struct error *err);
/* A folder of marks. */
int nic_marks_path(const char *root, const char *driver, const char *marks, struct buf *path,
		   struct error *err);

/* One question; text lives until it is answered. No text is NULL. */
struct nic_question {
	enum cni_command command; /* ADD, DEL, CHECK, STATUS, GC */
	const char *container_id, *netns, *ifname, *path; /* "" when not told; DEL: netns may be */
	const char *pod_uid, *pod_name, *pod_namespace; /* "" when not told */
	const char *network; /* the configuration's name; "" when not told; GC: it is */
	const struct json *valid; /* GC: a list of objects; else NULL */
};

struct nic_socket_opts {
	struct loop *loop;
	const char *path; /* its folder is made where missing */
	/* To be answered with nic_ask_answer() or nic_ask_refuse(), at once or later. */
	void (*on_question)(void *arg, struct nic_ask *ask, const struct nic_question *q);
	/* Who asked has gone; the answer is still due, and not heard. Or NULL. */
	void (*on_gone)(void *arg, struct nic_ask *ask);
	/* GET /devices: writes one value. Or NULL. */
	void (*on_list)(void *arg, struct json_writer *out);
	void *arg;
};

/*
 * Listens. A socket that a dead driver left is replaced; -ERR_ALREADY_EXISTS when somebody
 * answers there.
 */
int nic_socket_new(const struct nic_socket_opts *opts, struct nic_socket **ret_socket,
		   struct error *err);
/*
 * The file goes at once; `done` comes, later, when all questions are answered, or after a grace of
 * two seconds, when who still waits is cut off (on_gone).
 */
void nic_socket_stop(struct nic_socket *s, void (*done)(void *arg), void *arg);
/*
 * After `done`, or before the loop has run. Questions that are not answered by then outlive it:
 * the answer is still due. NULL allowed.
 */
void nic_socket_free(struct nic_socket *s);

/* One of these, once; the ask is gone then. `interfaces`: JSON text of the list; or NULL: []. */
void nic_ask_answer(struct nic_ask *a, const char *interfaces);
void nic_ask_refuse(struct nic_ask *a, int cni_code, const char *message);

#endif
