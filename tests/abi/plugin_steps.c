/*
 * A plugin from reserve to post_bind that does as the test says. It is built twice, with two names,
 * so that there is an order. Pods that it rejected wait until another leaves its node.
 */
#include "steps.h"

extern struct steps steps;
struct steps steps;

static uint32_t ask(void *state, const char *point, const struct dp_object *pod, const char *node,
		    struct step step)
{
	step.plugin = STEPS_NAME;
	step.point = point;
	step.host = state;
	step.pod = pod;
	step.node = node;
	return steps.ask(steps.arg, &step);
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	(void)args;
	(void)why;
	*ret_state = (void *)host;
	return 0;
}

static uint32_t reserve(void *state, struct dp_cycle *c, const struct dp_object *pod,
			const char *node, struct dp_reason *why)
{
	(void)c;
	return ask(state, "reserve", pod, node, (struct step){ .why = why });
}

static void unreserve(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const char *node)
{
	(void)c;
	ask(state, "unreserve", pod, node, (struct step){ 0 });
}

static uint32_t permit(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const char *node, int64_t *ret_timeout_ms, struct dp_reason *why)
{
	(void)c;
	return ask(state, "permit", pod, node,
		   (struct step){ .timeout_ms = ret_timeout_ms, .why = why });
}

static uint32_t pre_bind(void *state, struct dp_binding *b, struct dp_cycle *c,
			 const struct dp_object *pod, const char *node, struct dp_reason *why)
{
	(void)c;
	return ask(state, "pre_bind", pod, node, (struct step){ .binding = b, .why = why });
}

static uint32_t bind_pod(void *state, struct dp_binding *b, struct dp_cycle *c,
			 const struct dp_object *pod, const char *node, struct dp_reason *why)
{
	(void)c;
	return ask(state, "bind", pod, node, (struct step){ .binding = b, .why = why });
}

static void post_bind(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const char *node)
{
	(void)c;
	ask(state, "post_bind", pod, node, (struct step){ 0 });
}

static const struct dp_event_interest interest = { sizeof(interest), DP_EVENT_DELETE, "Pod", NULL };

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = STEPS_NAME,
	.init = init,
	.interests = &interest,
	.ninterests = 1,
	.interest_size = sizeof(interest),
	.reserve = reserve,
	.unreserve = unreserve,
	.permit = permit,
	.pre_bind = pre_bind,
	.bind = bind_pod,
	.post_bind = post_bind,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
