/*
 * Versions of our own writes, one entry per Deployment that waits for the caches.
 */
#include "base/core/mem.h"
#include "base/json/json.h"
#include "controller/deployment/deployments_impl.h"

void deployments_note_written(struct deployments *c, struct str key, const struct json *reply,
			      bool own)
{
	struct deployment_written *w = map_get(&c->written, key);
	uint64_t revision;

	if (!str_to_u64(json_text_at(json_getz(reply, "metadata"), "resourceVersion"), &revision))
		return;
	if (!w) {
		w = xcalloc(1, sizeof(*w) + key.n);
		(void)str_put(w->key, key);
		(void)map_put(&c->written, str_of(w->key, key.n), w);
	}
	if (own)
		w->own = MAX(w->own, revision);
	else
		w->sets = MAX(w->sets, revision);
}

void deployments_forget_written(struct deployments *c, struct str key)
{
	free(map_remove(&c->written, key));
}

bool deployments_behind(struct deployments *c, const struct cached *deployment)
{
	const struct deployment_written *w = map_get(&c->written, deployment->key);
	uint64_t seen = 0;

	if (!w)
		return false;
	(void)str_to_u64(informer_resource_version(c->sets.informer), &seen);
	if (seen < w->sets || deployment->revision < w->own)
		return true;
	deployments_forget_written(c, deployment->key);
	return false;
}

void deployments_written_release(struct deployments *c)
{
	size_t at = 0;
	struct str key;
	void *w;

	while (map_next(&c->written, &at, &key, &w))
		free(w);
	map_release(&c->written);
}
