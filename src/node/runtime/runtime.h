/*
 * runtime - the interface to a container runtime: a CRI runtime, or a simulated one.
 *
 * runtime/cri.h talks to a CRI v1 runtime on its socket; runtime/hollow.h only keeps a table. Both
 * run the same pod life cycle (lifecycle.h).
 *
 * The agent polls the state: runtime_ops.list returns all pods that the runtime knows, with
 * sandboxes and containers, including ended ones. A runtime that detects changes itself calls
 * `on_change` with the pod's uid (or an empty one if it does not know which); the agent then lists
 * again. Everything that identifies a container (pod uid, names, attempt) is stored in labels and
 * annotations with kubelet's keys (io.kubernetes.pod.uid, io.kubernetes.container.name, ..), so a
 * restarted agent finds its pods, and crictl shows them.
 *
 * Calls are asynchronous: `done` is called exactly once, never from within the call, and never
 * after the runtime is freed. Specs are borrowed for the call.
 * Threads: the loop's.
 */
#ifndef NODE_RUNTIME_RUNTIME_H
#define NODE_RUNTIME_RUNTIME_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

/* --- state -------------------------------------------------------------------------- */

enum runtime_state { RUNTIME_CREATED, RUNTIME_RUNNING, RUNTIME_EXITED, RUNTIME_UNKNOWN };

struct runtime_container {
	struct str id; /* without the runtime's prefix */
	struct str name, sandbox_id;
	struct str image, image_id; /* as in statuses: name; digest or id */
	struct str reason, message; /* "OOMKilled", "Error", "Completed", ..; termination message */
	struct str log_path;
	struct str hash; /* the annotation io.kubernetes.container.hash; or empty */
	struct str devices; /* the annotation RUNTIME_PLUGIN_DEVICES; or empty */
	int64_t created_ns, started_ns, finished_ns; /* wall; 0: not yet */
	unsigned attempt; /* 0, 1, ..: its restart count */
	int exit_code;
	enum runtime_state state;
};

struct runtime_sandbox {
	struct str id;
	const struct str *ips; /* the first is the pod's; none on the host's network */
	size_t nips;
	int64_t created_ns;
	unsigned attempt;
	bool ready;
};

/* Both lists are sorted newest first. */
struct runtime_pod {
	struct str uid, ns, name;
	const struct runtime_sandbox *sandboxes;
	size_t nsandboxes;
	const struct runtime_container *containers;
	size_t ncontainers;
};

struct runtime_pods {
	const struct runtime_pod *v;
	size_t n;
};

/* Copies everything into `a`. */
struct runtime_pod *runtime_pod_copy(struct arena *a, const struct runtime_pod *p);

/* Whether both are the same; either may be NULL. */
bool runtime_pod_equal(const struct runtime_pod *a, const struct runtime_pod *b);

/* --- specs -------------------------------------------------------------------------- */

struct runtime_pair {
	struct str key, value;
};

struct runtime_pairs {
	struct runtime_pair *v;
	size_t n;
};

struct runtime_strs {
	struct str *v;
	size_t n;
};

enum runtime_propagation { RUNTIME_PRIVATE, RUNTIME_HOST_TO_CONTAINER, RUNTIME_BIDIRECTIONAL };

struct runtime_mount {
	struct str container_path, host_path;
	bool readonly;
	enum runtime_propagation propagation;
};

struct runtime_device {
	struct str container_path, host_path, permissions; /* "rwm" */
};

/* Namespaces, as CRI's NamespaceMode. */
enum runtime_namespace { RUNTIME_NS_POD, RUNTIME_NS_CONTAINER, RUNTIME_NS_NODE };

/* The combined securityContext of pod and container. -1: not set. */
struct runtime_security {
	bool privileged, readonly_rootfs, no_new_privs;
	int64_t run_as_user, run_as_group;
	struct str run_as_username;
	const int64_t *groups; /* supplemental */
	size_t ngroups;
	struct runtime_strs cap_add, cap_drop;
	struct runtime_strs masked_paths, readonly_paths;
	struct str seccomp; /* "RuntimeDefault", "Unconfined", or the path of a profile; or empty */
	struct str apparmor; /* the same, with a profile's name */
	enum runtime_namespace network, pid, ipc;
};

struct runtime_port {
	int32_t container_port, host_port;
	int protocol; /* CRI's: 0 TCP, 1 UDP, 2 SCTP */
	struct str host_ip;
};

struct sandbox_spec {
	struct str uid, ns, name;
	unsigned attempt;
	struct str hostname, log_dir, cgroup_parent;
	struct runtime_strs dns_servers, dns_searches, dns_options;
	const struct runtime_port *ports;
	size_t nports;
	struct runtime_pairs labels, annotations, sysctls;
	struct runtime_security security;
	struct str runtime_handler; /* from its RuntimeClass; or empty */
};

struct runtime_huge_pages {
	struct str page_size; /* as the kernel names it: "2MB" */
	int64_t bytes;
};

/* Zero: not set. */
struct runtime_limits {
	int64_t cpu_shares, cpu_quota, cpu_period, memory_bytes, oom_score_adj;
	struct str cpus, mems; /* "0-3,8"; pinned, or empty */
	const struct runtime_huge_pages *huge_pages;
	size_t nhuge_pages;
};

struct container_spec {
	struct str name;
	unsigned attempt;
	struct str image; /* as returned by runtime_ops.image or pull */
	struct str user_image; /* as the pod names it */
	struct runtime_strs command, args;
	struct str working_dir;
	struct runtime_pairs env;
	struct runtime_mount *mounts;
	size_t nmounts;
	struct runtime_device *devices;
	size_t ndevices;
	struct runtime_strs cdi_devices; /* for runtimes that support CDI */
	struct runtime_pairs labels, annotations;
	struct str log_path; /* below the sandbox's log_dir */
	bool is_stdin, stdin_once, tty;
	struct runtime_limits limits;
	struct runtime_security security;
};

/* Credentials of one registry. */
struct runtime_auth {
	struct str username, password, auth, identity_token, registry_token, server_address;
};

/* --- the interface ------------------------------------------------------------------ */

struct runtime;

typedef void runtime_done(void *arg, const struct error *err);
/* `id` is borrowed, and empty when `err` is set. */
typedef void runtime_id_done(void *arg, struct str id, const struct error *err);
/* Borrowed until return. */
typedef void runtime_pods_done(void *arg, const struct runtime_pods *pods, const struct error *err);

struct runtime_exec {
	int exit_code;
	struct str out, err;
};
/* ERR_TIMEOUT if it took too long. */
typedef void runtime_exec_done(void *arg, const struct runtime_exec *result,
			       const struct error *err);

/* Properties of an image; borrowed until return. `ref` is empty if the runtime does not have it. */
struct runtime_image {
	struct str ref; /* to create containers with */
	int64_t user; /* from its config; -1: not a number */
	struct str username;
};
typedef void runtime_image_done(void *arg, const struct runtime_image *image,
				const struct error *err);

/* One image that the runtime has; borrowed until return. */
struct runtime_image_info {
	struct str id;
	const struct str *names; /* tags and digests */
	size_t nnames;
	int64_t size; /* bytes */
	bool pinned; /* the runtime needs it itself: the image of sandboxes */
};
typedef void runtime_images_done(void *arg, const struct runtime_image_info *v, size_t n,
				 const struct error *err);

/* What one container uses now. -1: unknown. Borrowed until return. */
struct runtime_usage {
	struct str pod_uid, container;
	int64_t memory; /* working set, bytes */
	int64_t disk, inodes; /* of its writable layer */
};
typedef void runtime_stats_done(void *arg, const struct runtime_usage *v, size_t n,
				const struct error *err);

struct runtime_condition {
	bool runtime_ready, network_ready;
	struct str message; /* why not */
	struct str name, version; /* "containerd", "1.6.20" */
	const char *cgroup_driver; /* "systemd", "cgroupfs"; NULL: the runtime does not say */
	bool does_cdi;
};
typedef void runtime_condition_done(void *arg, const struct runtime_condition *c,
				    const struct error *err);

/* A stream to a container, or to a pod's ports. */
enum runtime_stream_kind { RUNTIME_STREAM_EXEC, RUNTIME_STREAM_ATTACH, RUNTIME_STREAM_PORTS };
struct runtime_stream {
	enum runtime_stream_kind kind;
	struct str id; /* of the container; of the sandbox for ports */
	struct runtime_strs command; /* for exec */
	bool tty, with_in, with_out, with_err;
	const int32_t *ports;
	size_t nports;
};

struct runtime_ops {
	const char *id_prefix; /* "containerd" of "containerd://<id>"; "hollow"; NULL: by version */
	void (*free)(struct runtime *r);
	void (*condition)(struct runtime *r, runtime_condition_done *done, void *arg);
	void (*list)(struct runtime *r, runtime_pods_done *done, void *arg);
	void (*run_sandbox)(struct runtime *r, const struct sandbox_spec *spec,
			    runtime_id_done *done, void *arg);
	void (*stop_sandbox)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	void (*remove_sandbox)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	/* Looks the image up locally. */
	void (*image)(struct runtime *r, struct str image, runtime_image_done *done, void *arg);
	void (*pull)(struct runtime *r, struct str image, const struct runtime_auth *auth,
		     const struct sandbox_spec *sandbox, runtime_id_done *done, void *arg);
	/* All images; a hollow runtime has none. */
	void (*images)(struct runtime *r, runtime_images_done *done, void *arg);
	void (*remove_image)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	/* A folder of the file system that has the images; empty: unknown. */
	void (*image_fs)(struct runtime *r, runtime_id_done *done, void *arg);
	/* The running containers of pods. */
	void (*stats)(struct runtime *r, runtime_stats_done *done, void *arg);
	void (*create)(struct runtime *r, struct str sandbox_id, const struct sandbox_spec *sandbox,
		       const struct container_spec *spec, runtime_id_done *done, void *arg);
	void (*start)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	/* SIGTERM, then SIGKILL after the grace period. `done` comes when it has stopped. */
	void (*stop)(struct runtime *r, struct str id, int64_t grace_s, runtime_done *done,
		     void *arg);
	void (*remove)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	void (*exec)(struct runtime *r, struct str id, const struct runtime_strs *command,
		     int64_t timeout_ms, runtime_exec_done *done, void *arg);
	/* `done` gets the URL at which the runtime serves the stream; it can be used once. */
	void (*stream)(struct runtime *r, const struct runtime_stream *stream,
		       runtime_id_done *done, void *arg);
	void (*reopen_log)(struct runtime *r, struct str id, runtime_done *done, void *arg);
	/* Changes limits of a running container; limits that are not set stay. */
	void (*update)(struct runtime *r, struct str id, const struct runtime_limits *limits,
		       runtime_done *done, void *arg);
};

/* Embed it as the first member. */
struct runtime {
	const struct runtime_ops *ops;
	/* The state has changed; set by the agent. NULL allowed. */
	void (*on_change)(void *arg, struct str pod_uid);
	void *arg;
};

static inline void runtime_free(struct runtime *r)
{
	if (r)
		r->ops->free(r);
}

/*
 * An annotation that the agent sets on a container: the devices of device plugins that it gets, by
 * resource, as JSON: {"vendor.com/gpu":["g0","g1"]}. If the log of assignments is lost, it is read
 * back.
 */
#define RUNTIME_PLUGIN_DEVICES "devplane.dev/plugin-devices"

/* Keys of labels and annotations that kubelet sets on sandboxes and containers. */
#define RUNTIME_LABEL_POD_NAME       "io.kubernetes.pod.name"
#define RUNTIME_LABEL_POD_NAMESPACE  "io.kubernetes.pod.namespace"
#define RUNTIME_LABEL_POD_UID        "io.kubernetes.pod.uid"
#define RUNTIME_LABEL_CONTAINER_NAME "io.kubernetes.container.name"

#endif
