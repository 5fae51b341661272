/*
 * Copies of a runtime's pods, because the runtime's own data lives only until the next read, and
 * comparison of them.
 */
#include "node/runtime/runtime.h"

static struct runtime_sandbox copy_sandbox(struct arena *a, const struct runtime_sandbox *from)
{
	struct runtime_sandbox to = *from;

	to.id = arena_str(a, from->id);
	to.ips = arena_strs(a, from->ips, from->nips);
	return to;
}

static struct runtime_container copy_container(struct arena *a,
					       const struct runtime_container *from)
{
	struct runtime_container to = *from;

	to.id = arena_str(a, from->id);
	to.name = arena_str(a, from->name);
	to.sandbox_id = arena_str(a, from->sandbox_id);
	to.image = arena_str(a, from->image);
	to.image_id = arena_str(a, from->image_id);
	to.reason = arena_str(a, from->reason);
	to.message = arena_str(a, from->message);
	to.log_path = arena_str(a, from->log_path);
	to.hash = arena_str(a, from->hash);
	to.devices = arena_str(a, from->devices);
	return to;
}

struct runtime_pod *runtime_pod_copy(struct arena *a, const struct runtime_pod *p)
{
	struct runtime_pod *to = arena_alloc(a, sizeof(*to));
	struct runtime_sandbox *s = arena_alloc(a, (p->nsandboxes + 1) * sizeof(*s));
	struct runtime_container *c = arena_alloc(a, (p->ncontainers + 1) * sizeof(*c));

	for (size_t i = 0; i < p->nsandboxes; i++)
		s[i] = copy_sandbox(a, &p->sandboxes[i]);
	for (size_t i = 0; i < p->ncontainers; i++)
		c[i] = copy_container(a, &p->containers[i]);
	*to = (struct runtime_pod){ .uid = arena_str(a, p->uid),
				    .ns = arena_str(a, p->ns),
				    .name = arena_str(a, p->name),
				    .sandboxes = s,
				    .nsandboxes = p->nsandboxes,
				    .containers = c,
				    .ncontainers = p->ncontainers };
	return to;
}

static bool equal_sandboxes(const struct runtime_sandbox *a, const struct runtime_sandbox *b)
{
	if (!str_eq(a->id, b->id) || a->nips != b->nips || a->created_ns != b->created_ns ||
	    a->attempt != b->attempt || a->ready != b->ready)
		return false;
	for (size_t i = 0; i < a->nips; i++) {
		if (!str_eq(a->ips[i], b->ips[i]))
			return false;
	}
	return true;
}

static bool equal_texts(const struct runtime_container *a, const struct runtime_container *b)
{
	return str_eq(a->id, b->id) && str_eq(a->name, b->name) &&
	       str_eq(a->sandbox_id, b->sandbox_id) && str_eq(a->image, b->image) &&
	       str_eq(a->image_id, b->image_id) && str_eq(a->reason, b->reason) &&
	       str_eq(a->message, b->message) && str_eq(a->log_path, b->log_path) &&
	       str_eq(a->hash, b->hash) && str_eq(a->devices, b->devices);
}

static bool equal_containers(const struct runtime_container *a, const struct runtime_container *b)
{
	return a->state == b->state && a->exit_code == b->exit_code && a->attempt == b->attempt &&
	       a->created_ns == b->created_ns && a->started_ns == b->started_ns &&
	       a->finished_ns == b->finished_ns && equal_texts(a, b);
}

bool runtime_pod_equal(const struct runtime_pod *a, const struct runtime_pod *b)
{
	if (!a || !b)
		return a == b;
	if (a->nsandboxes != b->nsandboxes || a->ncontainers != b->ncontainers)
		return false;
	for (size_t i = 0; i < a->nsandboxes; i++) {
		if (!equal_sandboxes(&a->sandboxes[i], &b->sandboxes[i]))
			return false;
	}
	for (size_t i = 0; i < a->ncontainers; i++) {
		if (!equal_containers(&a->containers[i], &b->containers[i]))
			return false;
	}
	return true;
}
