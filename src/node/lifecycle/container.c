/*
 * The status of one container, as upstream writes it: the state of the runtime's newest container
 * of that name or, if the runtime has none, the previous status. If the container should start and
 * does not, the status shows the reason instead.
 */
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "node/lifecycle/lifecycle_impl.h"

/* limit of the termination messages of all containers of a pod */
enum { MESSAGES_MAX = 12 * 1024 };

/* --- parts -------------------------------------------------------------------------- */

struct json *lifecycle_copy(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	if (!v || json_copy(a, v, &copy, NULL) < 0)
		return json_make_object(a);
	return copy;
}

void lifecycle_put_time(struct arena *a, struct json *object, const char *key, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	if (ns == 0)
		json_setz(object, key, json_make_null(a));
	else
		json_put_str(a, object, key,
			     arena_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text)));
}

static struct json *put_object(struct arena *a, struct json *parent, const char *key)
{
	struct json *o = json_make_object(a);

	json_setz(parent, key, o);
	return o;
}

/* Puts {"STATE": {}} into `field`, and returns the inner object. */
static struct json *put_state(struct arena *a, struct json *status, const char *field,
			      const char *state)
{
	return put_object(a, put_object(a, status, field), state);
}

static void put_waiting(struct arena *a, struct json *status, struct str reason, struct str message)
{
	struct json *waiting = put_state(a, status, "state", "waiting");

	if (reason.n > 0)
		json_put_str(a, waiting, "reason", reason);
	if (message.n > 0)
		json_put_str(a, waiting, "message", message);
}

static void put_lost(struct arena *a, struct json *status, const char *field, struct str reason,
		     struct str message)
{
	struct json *ended = put_state(a, status, field, "terminated");

	json_put_i64(a, ended, "exitCode", LIFECYCLE_LOST_CODE);
	json_put_str(a, ended, "reason", reason);
	json_put_str(a, ended, "message", message);
	lifecycle_put_time(a, ended, "startedAt", 0);
	lifecycle_put_time(a, ended, "finishedAt", 0);
}

static struct str container_id(const struct lifecycle_view *v, const struct runtime_container *c)
{
	return str_from(
		arena_printf(v->arena, "%.*s://%.*s", STR_ARG(v->in->id_prefix), STR_ARG(c->id)));
}

/* Cuts at a character boundary. */
static struct str cut_message(const struct lifecycle_view *v, struct str message)
{
	struct pod_containers c = pod_containers(v->in->pod);
	size_t n = 0, max;

	while (pod_containers_next(&c))
		n++;
	max = MESSAGES_MAX / MAX(n, 1);
	if (message.n <= max)
		return message;
	while (max > 0 && ((unsigned char)message.p[max] & 0xc0) == 0x80)
		max--;
	return str_of(message.p, max);
}

static void put_terminated(struct lifecycle_view *v, struct json *status, const char *field,
			   const struct runtime_container *c)
{
	struct json *ended = put_state(v->arena, status, field, "terminated");
	struct str reason = c->reason;

	if (reason.n == 0)
		reason = c->exit_code == 0 ? STR("Completed") : STR("Error");
	json_put_i64(v->arena, ended, "exitCode", c->exit_code);
	json_put_str(v->arena, ended, "reason", arena_str(v->arena, reason));
	if (c->message.n > 0)
		json_put_str(v->arena, ended, "message",
			     arena_str(v->arena, cut_message(v, c->message)));
	lifecycle_put_time(v->arena, ended, "startedAt", c->started_ns);
	lifecycle_put_time(v->arena, ended, "finishedAt", c->finished_ns);
	json_put_str(v->arena, ended, "containerID", container_id(v, c));
}

static void put_mounts(struct lifecycle_view *v, struct json *status, const struct json *container)
{
	struct arena *a = v->arena;
	struct json *list = json_make_array(a);

	JSON_FOREACH (mount, json_getz(container, "volumeMounts")) {
		struct json *m = json_make_object(a);

		json_append(list, m);
		json_put_str(a, m, "name", json_text_at(mount, "name"));
		json_put_str(a, m, "mountPath", json_text_at(mount, "mountPath"));
		if (!json_true_at(mount, "readOnly"))
			continue;
		json_put_bool(a, m, "readOnly", true);
		json_put_str(a, m, "recursiveReadOnly", STR("Disabled"));
	}
	if (json_count(list) > 0)
		json_setz(status, "volumeMounts", list);
}

static void put_resources(struct lifecycle_view *v, struct json *status,
			  const struct json *container)
{
	const struct json *resources = json_getz(container, "resources");

	if (json_count(json_getz(resources, "requests")) > 0)
		json_setz(status, "allocatedResources",
			  lifecycle_copy(v->arena, json_getz(resources, "requests")));
	json_setz(status, "resources", lifecycle_copy(v->arena, resources));
}

/* --- the runtime has the container -------------------------------------------------- */

/* The runtime does not know the state: as far as known, the container has ended. */
static void put_unknown(struct lifecycle_view *v, struct json *status, const struct json *old)
{
	const struct json *ended = lifecycle_state(old, "terminated");

	if (lifecycle_state(old, "running")) {
		put_lost(v->arena, status, "state",
			 v->l->restarting ? STR("RestartingAllContainers")
					  : STR("ContainerStatusUnknown"),
			 STR("The container could not be located when the pod was terminated"));
		json_put_i64(v->arena, status, "restartCount",
			     json_i64_at(old, "restartCount", 0) + 1);
	} else if (ended) {
		json_setz(status, "state", lifecycle_copy(v->arena, json_getz(old, "state")));
	} else {
		put_waiting(v->arena, status, STR_NULL, STR_NULL);
	}
}

static void put_seen_state(struct lifecycle_view *v, struct json *status,
			   const struct runtime_container *c, const struct json *old)
{
	if (c->state == RUNTIME_RUNNING)
		lifecycle_put_time(v->arena, put_state(v->arena, status, "state", "running"),
				   "startedAt", c->started_ns);
	else if (c->state == RUNTIME_EXITED)
		put_terminated(v, status, "state", c);
	else if (c->state == RUNTIME_CREATED)
		put_waiting(v->arena, status, STR_NULL, STR_NULL);
	else
		put_unknown(v, status, old);
}

/* The container before: from the runtime, else from the previous status. */
static void put_seen_last(struct lifecycle_view *v, struct json *status,
			  const struct runtime_container *c, const struct json *old)
{
	const struct runtime_container *before = lifecycle_seen(v->in, c->name, 1);
	const struct json *ended = lifecycle_state(old, "terminated");
	bool same = str_eq(json_text_at(old, "containerID"), json_text_at(status, "containerID"));

	if (before && before->state == RUNTIME_EXITED)
		put_terminated(v, status, "lastState", before);
	else if (ended && !same)
		json_setz(status, "lastState", lifecycle_copy(v->arena, json_getz(old, "state")));
	else if (lifecycle_last_ended(old))
		json_setz(status, "lastState",
			  lifecycle_copy(v->arena, json_getz(old, "lastState")));
	else
		json_setz(status, "lastState", json_make_object(v->arena));
}

static void from_seen(struct lifecycle_view *v, struct json *status,
		      const struct runtime_container *c, const struct json *container,
		      const struct json *old)
{
	int64_t before = json_i64_at(old, "restartCount", 0), count = c->attempt;
	struct str image = c->image.n > 0 ? c->image : json_text_at(container, "image");

	json_put_str(v->arena, status, "containerID", container_id(v, c));
	/* Containers that were removed for a restart continue the count. */
	if (c->state == RUNTIME_RUNNING && lifecycle_state(old, "terminated") && before >= count &&
	    !str_eq(json_text_at(old, "containerID"), json_text_at(status, "containerID")))
		count = before + 1;
	json_put_i64(v->arena, status, "restartCount", MAX(count, before));
	json_put_str(v->arena, status, "image", arena_str(v->arena, image));
	json_put_str(v->arena, status, "imageID", arena_str(v->arena, c->image_id));
	put_seen_state(v, status, c, old);
	put_seen_last(v, status, c, old);
	put_resources(v, status, container);
}

/* --- the runtime does not have it --------------------------------------------------- */

static void put_removed(struct lifecycle_view *v, struct json *status, const struct json *old)
{
	struct str reason = STR("RestartingAllContainers");
	struct str message = STR("The container is removed because RestartAllContainers in place");

	put_waiting(v->arena, status, reason, message);
	put_lost(v->arena, status, "lastState", reason, message);
	json_put_i64(v->arena, status, "restartCount", json_i64_at(old, "restartCount", 0) + 1);
}

/* The container ran, and its end is unknown. */
static void put_vanished(struct lifecycle_view *v, struct json *status, const struct json *old,
			 bool restarts)
{
	struct arena *a = v->arena;

	if (!restarts && !v->in->pod->deleting) {
		put_lost(a, status, "state", STR("ContainerStatusUnknown"),
			 STR("The container could not be located when the pod was terminated"));
		return;
	}
	if (!lifecycle_last_ended(old))
		put_lost(a, status, "lastState", STR("ContainerStatusUnknown"),
			 STR("The container could not be located when the pod was deleted.  The "
			     "container used to be Running"));
	if (!v->in->pod->deleting)
		json_put_i64(a, status, "restartCount", json_i64_at(old, "restartCount", 0) + 1);
}

/* Without the devices' health: device_status.h adds it. */
static struct json *as_it_was(struct lifecycle_view *v, const struct json *old)
{
	struct json *copy = lifecycle_copy(v->arena, old);

	(void)json_remove(copy, STR("allocatedResourcesStatus"));
	return copy;
}

static struct json *from_old(struct lifecycle_view *v, struct json *status,
			     const struct json *container, const struct json *old,
			     enum pod_container_kind kind)
{
	bool init = json_count(json_getz(v->in->pod->spec, "initContainers")) > 0;

	json_put_i64(v->arena, status, "restartCount", json_i64_at(old, "restartCount", 0));
	json_put_str(v->arena, status, "image", json_text_at(container, "image"));
	json_put_str(v->arena, status, "imageID", STR(""));
	put_waiting(v->arena, status, init ? STR("PodInitializing") : STR("ContainerCreating"),
		    STR_NULL);
	json_setz(status, "lastState",
		  lifecycle_last_ended(old) ? lifecycle_copy(v->arena, json_getz(old, "lastState"))
					    : json_make_object(v->arena));
	if (v->l->restarting && kind != POD_EPHEMERAL && old && !lifecycle_state(old, "waiting")) {
		put_removed(v, status, old);
	} else if (lifecycle_state(old, "terminated")) {
		return as_it_was(v, old);
	} else if (lifecycle_state(old, "running")) {
		put_vanished(v, status, old,
			     lifecycle_restarts(v->in->pod, container, LIFECYCLE_LOST_CODE));
	}
	return status;
}

/* --- both cases --------------------------------------------------------------------- */

/* Main containers were created, so init containers must have succeeded. */
static void put_taken_as_done(struct lifecycle_view *v, struct json *status)
{
	struct json *ended = put_state(v->arena, status, "state", "terminated");

	json_put_i64(v->arena, ended, "exitCode", 0);
	json_put_str(v->arena, ended, "reason", STR("Completed"));
	json_put_str(v->arena, ended, "message",
		     STR("Unable to get init container status from container runtime and pod has "
			 "been initialized, treat it as exited normally"));
	lifecycle_put_time(v->arena, ended, "startedAt", 0);
	lifecycle_put_time(v->arena, ended, "finishedAt", 0);
}

/* Puts the reason why it does not start, if known. */
static void put_reason(struct lifecycle_view *v, struct json *status, const struct json *container,
		       struct str name, enum pod_container_kind kind)
{
	const struct lifecycle_item *i = lifecycle_item_now(v, container, name);

	if (!i || !i->reason || !lifecycle_should_start(v, container, name, kind))
		return;
	if (lifecycle_state(status, "terminated"))
		json_setz(status, "lastState",
			  lifecycle_copy(v->arena, json_getz(status, "state")));
	put_waiting(v->arena, status, arena_str(v->arena, lifecycle_text(i->reason)),
		    arena_str(v->arena, lifecycle_text(i->message)));
}

static bool for_good(const struct lifecycle_view *v, const struct json *container,
		     const struct json *ended)
{
	return ended && !lifecycle_could_restart_all(v->in->pod) &&
	       !lifecycle_restarts(v->in->pod, container, json_i64_at(ended, "exitCode", 0));
}

/*
 * The server rejects a status in which a container that has ended for good runs again. An init
 * container that runs again in a new sandbox keeps its old status until it has ended again. A main
 * container that is stopped for another image is shown as running until the next one is. Returns
 * the status to report instead, or NULL if the present one is fine.
 */
static const struct json *told_instead(const struct lifecycle_view *v, const struct json *container,
				       const struct json *status, enum pod_container_kind kind)
{
	struct str name = json_text_at(status, "name");
	const struct json *ended = lifecycle_state(status, "terminated");
	const struct json *old = lifecycle_old_status(v, name, kind);
	const struct json *known = json_find(json_getz(v->in->pod->status, lifecycle_list_of(kind)),
					     "name", name);

	if (ended)
		return for_good(v, container, ended) && lifecycle_comes_back(v, name) &&
				       lifecycle_state(old, "running")
			       ? old
			       : NULL;
	if (for_good(v, container, lifecycle_state(old, "terminated")))
		return old;
	return for_good(v, container, lifecycle_state(known, "terminated")) ? known : NULL;
}

struct json *lifecycle_container_status(struct lifecycle_view *v, struct json *container,
					struct str name, enum pod_container_kind kind)
{
	const struct runtime_container *c = lifecycle_newest(v, name, kind);
	const struct json *old = lifecycle_old_status(v, name, kind), *instead = NULL;
	struct json *status = json_make_object(v->arena);

	json_put_str(v->arena, status, "name", name);
	if (c)
		from_seen(v, status, c, container, old);
	else
		status = from_old(v, status, container, old, kind);
	if (!json_getz(status, "volumeMounts"))
		put_mounts(v, status, container);
	if ((kind == POD_INIT || kind == POD_SIDECAR) && c && c->state == RUNTIME_EXITED &&
	    c->exit_code == 0)
		return status;
	if (kind == POD_INIT && !c && lifecycle_state(status, "waiting") &&
	    lifecycle_main_created(v->in) && !v->l->restarting) {
		put_taken_as_done(v, status);
		return status;
	}
	put_reason(v, status, container, name, kind);
	if (kind == POD_INIT || kind == POD_MAIN)
		instead = told_instead(v, container, status, kind);
	return instead ? as_it_was(v, instead) : status;
}
