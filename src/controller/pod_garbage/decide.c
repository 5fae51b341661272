/*
 * The taint counts with any effect and value, as upstream reads it.
 */
#include "controller/pod_garbage/decide.h"

enum pod_garbage_reason pod_garbage_decide(const struct json *pod, enum pod_garbage_node node)
{
	bool deleted = json_text_at(json_getz(pod, "metadata"), "deletionTimestamp").n > 0;
	bool bound = json_text_at(json_getz(pod, "spec"), "nodeName").n > 0;

	if (!bound)
		return deleted ? POD_GARBAGE_UNSCHEDULED : POD_GARBAGE_NOT;
	if (node == POD_GARBAGE_NODE_GONE)
		return POD_GARBAGE_ORPHAN;
	if (deleted && node == POD_GARBAGE_NODE_OUT_OF_SERVICE)
		return POD_GARBAGE_OUT_OF_SERVICE;
	return POD_GARBAGE_NOT;
}

bool pod_garbage_out_of_service(const struct json *node)
{
	const struct json *ready = json_find(json_getz(json_getz(node, "status"), "conditions"),
					     "type", STR("Ready"));

	return !str_eqz(json_text_at(ready, "status"), "True") &&
	       json_find(json_getz(json_getz(node, "spec"), "taints"), "key",
			 STR("node.kubernetes.io/out-of-service"));
}
