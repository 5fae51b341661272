/*
 * One row per method. Methods that list objects or return output have upstream's size limits.
 */
#include "node/runtime/cri_methods.h"

#include <assert.h>

#include "cri.pb-c.h"
#include "node/node_limits.h"

#define ROW(service, name, message, op)                               \
	{                                                             \
		{ .path = "/runtime.v1." service "/" name,            \
		  .kind = GRPC_UNARY,                                 \
		  .request = &cri__##message##_request__descriptor,   \
		  .response = &cri__##message##_response__descriptor, \
		  .max_request = CRI_MESSAGE_MAX,                     \
		  .max_response = CRI_MESSAGE_MAX },                  \
			op                                            \
	}
#define RUNTIME(name, message, op) ROW("RuntimeService", name, message, op)
#define IMAGE(name, message, op)   ROW("ImageService", name, message, op)

static const struct {
	struct grpc_method method;
	const char *operation;
} rows[CRI_METHODS] = {
	[CRI_VERSION] = RUNTIME("Version", version, "version"),
	[CRI_STATUS] = RUNTIME("Status", status, "status"),
	[CRI_RUN_SANDBOX] = RUNTIME("RunPodSandbox", run_pod_sandbox, "run_podsandbox"),
	[CRI_STOP_SANDBOX] = RUNTIME("StopPodSandbox", stop_pod_sandbox, "stop_podsandbox"),
	[CRI_REMOVE_SANDBOX] = RUNTIME("RemovePodSandbox", remove_pod_sandbox, "remove_podsandbox"),
	[CRI_SANDBOX_STATUS] = RUNTIME("PodSandboxStatus", pod_sandbox_status, "podsandbox_status"),
	[CRI_LIST_SANDBOXES] = RUNTIME("ListPodSandbox", list_pod_sandbox, "list_podsandbox"),
	[CRI_CREATE] = RUNTIME("CreateContainer", create_container, "create_container"),
	[CRI_START] = RUNTIME("StartContainer", start_container, "start_container"),
	[CRI_STOP] = RUNTIME("StopContainer", stop_container, "stop_container"),
	[CRI_REMOVE] = RUNTIME("RemoveContainer", remove_container, "remove_container"),
	[CRI_LIST_CONTAINERS] = RUNTIME("ListContainers", list_containers, "list_containers"),
	[CRI_CONTAINER_STATUS] = RUNTIME("ContainerStatus", container_status, "container_status"),
	[CRI_EXEC] = RUNTIME("ExecSync", exec_sync, "exec_sync"),
	[CRI_EXEC_STREAM] = RUNTIME("Exec", exec, "exec"),
	[CRI_ATTACH_STREAM] = RUNTIME("Attach", attach, "attach"),
	[CRI_PORT_FORWARD] = RUNTIME("PortForward", port_forward, "port_forward"),
	[CRI_REOPEN_LOG] = RUNTIME("ReopenContainerLog", reopen_container_log,
				   "reopen_container_log"),
	[CRI_UPDATE] = RUNTIME("UpdateContainerResources", update_container_resources,
			       "update_container"),
	[CRI_IMAGE_STATUS] = IMAGE("ImageStatus", image_status, "image_status"),
	[CRI_PULL] = IMAGE("PullImage", pull_image, "pull_image"),
	[CRI_LIST_IMAGES] = IMAGE("ListImages", list_images, "list_images"),
	[CRI_REMOVE_IMAGE] = IMAGE("RemoveImage", remove_image, "remove_image"),
	[CRI_IMAGE_FS] = IMAGE("ImageFsInfo", image_fs_info, "image_fs_info"),
	[CRI_STATS] = RUNTIME("ListContainerStats", list_container_stats, "list_container_stats"),
};

const struct grpc_method *cri_method(enum cri_method m)
{
	assert(m < CRI_METHODS);
	return &rows[m].method;
}

const char *cri_method_operation(enum cri_method m)
{
	assert(m < CRI_METHODS);
	return rows[m].operation;
}
