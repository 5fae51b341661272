/*
 * cri_methods - the CRI v1 methods that we call: paths, messages, limits.
 */
#ifndef NODE_RUNTIME_CRI_METHODS_H
#define NODE_RUNTIME_CRI_METHODS_H

#include "grpc/grpc.h"

enum cri_method {
	CRI_VERSION,
	CRI_STATUS,
	CRI_RUN_SANDBOX,
	CRI_STOP_SANDBOX,
	CRI_REMOVE_SANDBOX,
	CRI_SANDBOX_STATUS,
	CRI_LIST_SANDBOXES,
	CRI_CREATE,
	CRI_START,
	CRI_STOP,
	CRI_REMOVE,
	CRI_LIST_CONTAINERS,
	CRI_CONTAINER_STATUS,
	CRI_EXEC,
	CRI_EXEC_STREAM,
	CRI_ATTACH_STREAM,
	CRI_PORT_FORWARD,
	CRI_REOPEN_LOG,
	CRI_UPDATE,
	CRI_IMAGE_STATUS,
	CRI_PULL,
	CRI_LIST_IMAGES,
	CRI_REMOVE_IMAGE,
	CRI_IMAGE_FS,
	CRI_STATS,
	CRI_METHODS,
};

/* Used by both ends: the fake runtime of tests serves the same methods. */
const struct grpc_method *cri_method(enum cri_method m);

/* Its name in upstream's metrics: "run_podsandbox". */
const char *cri_method_operation(enum cri_method m);

#endif
