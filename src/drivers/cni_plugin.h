/*
 * cni_plugin - the protocol of CNI plugins, on the side of the plugin and of who runs one. Pure.
 *
 * A plugin is told by its environment what to do (CNI_COMMAND ADD, DEL, CHECK, STATUS, GC, VERSION; with
 * CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME, CNI_ARGS, CNI_PATH) and by its standard input the
 * configuration; it prints a result or an error object and exits 0 or 1. Versions 0.3.0 to 1.1.0.
 * Pods are named by CNI_ARGS: K8S_POD_NAMESPACE, K8S_POD_NAME, K8S_POD_INFRA_CONTAINER_ID, K8S_POD_UID.
 */
#ifndef DRIVERS_CNI_PLUGIN_H
#define DRIVERS_CNI_PLUGIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_STATUS, CNI_GC, CNI_VERSION };

/* Codes of CNI's specification. */
enum {
	CNI_INCOMPATIBLE = 1, /* version */
	CNI_UNSUPPORTED_FIELD = 2,
	CNI_UNKNOWN_CONTAINER = 3,
	CNI_INVALID_ENVIRONMENT = 4,
	CNI_IO = 5,
	CNI_DECODE = 6,
	CNI_INVALID_CONFIG = 7,
	CNI_TRY_AGAIN = 11,
	CNI_NOT_AVAILABLE = 50, /* STATUS */
	CNI_OTHER = 100, /* ours: the driver refused, the kernel failed */
};

struct cni_request {
	enum cni_command command;
	struct str version; /* "1.0.0"; of the configuration */
	struct str container_id, netns, ifname, path;
	struct str pod_uid, pod_name, pod_namespace; /* empty: not told */
	const struct json *config; /* the whole */
	const struct json *prev_result; /* or NULL */
	struct str driver; /* config "driver": name of the net driver; "net.devplane.dev" */
	struct str root_dir; /* config "rootDir": the kubelet's; "/var/lib/kubelet" */
};

/*
 * Reads what we were told as a plugin. `env` gives a variable or NULL. -ERR_INVALID and *ret_code.
 */
int cni_request_read(struct arena *a, const char *(*env)(const char *name), struct str input,
		     struct cni_request *ret_request, int *ret_code, struct error *err);

/* What a plugin prints. A result for ADD is prevResult as it came, or an empty one. */
void cni_print_result(struct buf *out, const struct cni_request *r);
void cni_print_versions(struct buf *out, struct str version);
void cni_print_error(struct buf *out, struct str version, int code, const char *message,
		     const char *details);

/* What a plugin that we ran has printed: its error object as an error with its words; any text. */
int cni_error_read(struct arena *a, struct str output, struct error *err);

/*
 * Of a result (0.2.0 to 1.1.0): interface names in the sandbox, addresses in CIDR form of one of them.
 * For showing; what is true the kernel says.
 */
struct str cni_result_interface(const struct json *result);

#endif
