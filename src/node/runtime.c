/* Copies of what a runtime said: its own lives until the next look only. */
#include "node/runtime.h"

static struct runtime_sandbox copy_sandbox(struct arena *a, const struct runtime_sandbox *from)
{
	struct runtime_sandbox to = *from;
	struct str *ips = arena_alloc(a, (from->nips + 1) * sizeof(*ips));

	to.id = arena_str(a, from->id);
	for (size_t i = 0; i < from->nips; i++)
		ips[i] = arena_str(a, from->ips[i]);
	to.ips = ips;
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
	to.hash = arena_str(a, from->hash);
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
