/*
 * cni_plugin - the protocol of CNI plugins, for the plugin and for who runs one. Pure.
 *
 * A plugin is told by its environment what to do (CNI_COMMAND, with CNI_CONTAINERID, CNI_NETNS,
 * CNI_IFNAME, CNI_ARGS, CNI_PATH) and by its standard input the configuration; it prints a result
 * or an error object and exits 0 or 1. Versions 0.3.0 to 1.1.0; CHECK came with 0.4.0, STATUS and
 * GC with 1.1.0, and are refused below. Pods are named by CNI_ARGS: K8S_POD_NAMESPACE,
 * K8S_POD_NAME, K8S_POD_UID; what else stands there is somebody else's.
 *
 * GC's list, "cni.dev/valid-attachments" ("cni.dev/attachments" in early texts of the
 * specification), must be there: without one nothing could be kept. null is Go's empty list.
 */
#ifndef DRIVERS_CNI_CNI_PLUGIN_H
#define DRIVERS_CNI_CNI_PLUGIN_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/json/json.h"

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_STATUS, CNI_GC, CNI_VERSION, CNI_COMMANDS };

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

/* "ADD" .. */
const char *cni_command_name(enum cni_command command);

/* Where the net driver is, when the configuration does not say. */
#define CNI_DRIVER_DEFAULT "net.devplane.dev"
#define CNI_ROOT_DEFAULT   "/var/lib/kubelet"

/* Text is borrowed from environment and input, and is UTF-8. */
struct cni_request {
	enum cni_command command;
	struct str version; /* "1.0.0"; of the configuration */
	struct str container_id, netns, ifname, path; /* empty: not told */
	struct str pod_uid, pod_name, pod_namespace; /* empty: not told; the uid can name a file */
	struct str network; /* the configuration's name; can name a file */
	const struct json *config; /* the whole; NULL: VERSION */
	const struct json *prev_result; /* an object, or NULL */
	struct str prev_text; /* the same as it came, to the byte */
	const struct json *valid; /* GC: what is still in this network, a list; else NULL */
	struct str driver; /* config "driver": name of the net driver; can name a folder */
	struct str root_dir; /* config "rootDir": the kubelet's; an absolute path */
};

/*
 * Reads what we were told as a plugin. `env` gives a variable or NULL. -ERR_INVALID and CNI's code
 * in *ret_code. As far as it got the request is filled in on failure, too, so that an error can be
 * printed in its version.
 */
int cni_request_read(struct arena *a, const char *(*env)(void *arg, const char *name), void *arg,
		     struct str input, struct cni_request *ret_request, int *ret_code,
		     struct error *err);

/*
 * What a plugin prints, each with a newline. The result of ADD is prevResult as it came, or where
 * there was none an empty one; of another command it is nothing. `version` may be empty: the
 * newest. An error's words may be any bytes; `details` may be NULL.
 */
void cni_print_result(struct buf *out, const struct cni_request *r);
void cni_print_versions(struct buf *out, struct str version);
void cni_print_error(struct buf *out, struct str version, int code, const char *message,
		     const char *details);

/*
 * What a plugin that we ran has printed when it failed: fills in the error and returns its code.
 * The words are its own: of the error object msg and details; any other text as it is, in one
 * line; `else_` when there is none.
 */
int cni_error_read(struct arena *a, struct str output, const char *else_, struct error *err);

/* What it has printed when ADD succeeded: an object; else -ERR_PROTOCOL. */
int cni_result_read(struct arena *a, struct str output, struct json **ret_result,
		    struct error *err);

/*
 * Of a result (0.2.0 to 1.1.0): the name of the first interface in the sandbox; empty when it does
 * not say. For finding it; what is true the kernel says.
 */
struct str cni_result_interface(const struct json *result);

#endif
