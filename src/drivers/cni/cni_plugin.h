/*
 * cni_plugin - the protocol between CNI plugins and the programs that run them. No I/O.
 *
 * A plugin gets its command from its environment (CNI_COMMAND, with CNI_CONTAINERID, CNI_NETNS,
 * CNI_IFNAME, CNI_ARGS, CNI_PATH) and the configuration from its standard input. It prints a result
 * or an error object and exits with 0 or 1. Versions 0.3.0 to 1.1.0 are supported. CHECK needs
 * 0.4.0; STATUS and GC need 1.1.0. CNI_ARGS names the pod with K8S_POD_NAMESPACE, K8S_POD_NAME and
 * K8S_POD_UID; other arguments are ignored.
 *
 * GC requires the list "cni.dev/valid-attachments" ("cni.dev/attachments" in early drafts of the
 * specification), because without it everything would be removed. null counts as an empty list, as
 * Go writes it.
 */
#ifndef DRIVERS_CNI_CNI_PLUGIN_H
#define DRIVERS_CNI_CNI_PLUGIN_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/json/json.h"

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_STATUS, CNI_GC, CNI_VERSION, CNI_COMMANDS };

/* Error codes of CNI's specification. */
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
	CNI_OTHER = 100, /* our own: the driver rejected it, or the kernel failed */
};

/* "ADD" .. */
const char *cni_command_name(enum cni_command command);

/* The net driver, if the configuration does not name it. */
#define CNI_DRIVER_DEFAULT "net.devplane.dev"
#define CNI_ROOT_DEFAULT   "/var/lib/kubelet"

/* Text is borrowed from the environment and the input, and is valid UTF-8. */
struct cni_request {
	enum cni_command command;
	struct str version; /* cniVersion of the configuration: "1.0.0" */
	struct str container_id, netns, ifname, path; /* empty: not set */
	struct str pod_uid, pod_name, pod_namespace; /* empty: not set; UID: safe as a file name */
	struct str network; /* name of the configuration; safe as a file name */
	const struct json *config; /* the whole configuration; NULL for VERSION */
	const struct json *prev_result; /* an object, or NULL */
	struct str prev_text; /* the same as the exact text of the input */
	const struct json *valid; /* GC: the list of attachments to keep; else NULL */
	struct str driver; /* config "driver": name of the net driver; safe as a folder name */
	struct str root_dir; /* config "rootDir": the kubelet's folder; an absolute path */
};

/*
 * Reads the request to a plugin. `env` returns a variable or NULL. On failure returns -ERR_INVALID,
 * with CNI's code in *ret_code; the request is filled in as far as it was read, so that the error
 * can be printed in its version.
 */
int cni_request_read(struct arena *a, const char *(*env)(void *arg, const char *name), void *arg,
		     struct str input, struct cni_request *ret_request, int *ret_code,
		     struct error *err);

/*
 * The output of a plugin, each with a newline. The result of ADD is prevResult, byte for byte, or
 * an empty result without one. Other commands print nothing. `version` may be empty: the newest. An
 * error's message may have any bytes; `details` may be NULL.
 */
void cni_print_result(struct buf *out, const struct cni_request *r);
void cni_print_versions(struct buf *out, struct str version);
void cni_print_error(struct buf *out, struct str version, int code, const char *message,
		     const char *details);

/*
 * Parses the output of a plugin that failed. Fills in the error and returns CNI's code. The message
 * is msg and details of the error object, or any other output in one line, or `else_` without
 * output.
 */
int cni_error_read(struct arena *a, struct str output, const char *else_, struct error *err);

/* Parses the output of a successful ADD: an object, else -ERR_PROTOCOL. */
int cni_result_read(struct arena *a, struct str output, struct json **ret_result,
		    struct error *err);

/*
 * The name of the first interface in the sandbox, according to a result (0.2.0 to 1.1.0). Empty if
 * it has none. It is only a hint for finding the interface; ask the kernel about its state.
 */
struct str cni_result_interface(const struct json *result);

#endif
