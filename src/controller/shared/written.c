/*
 * One entry for each key that waits for the copy.
 */
#include "controller/shared/written.h"

#include "base/core/mem.h"
#include "base/json/json.h"

struct written_version {
	uint64_t revision;
	char key[];
};

void written_init(struct written *w)
{
	map_init(&w->by_key);
}

void written_release(struct written *w)
{
	map_free_values(&w->by_key);
}

void written_note(struct written *w, struct str key, const struct json *object)
{
	struct written_version *v = map_get(&w->by_key, key);
	uint64_t revision;

	if (!str_to_u64(json_text_at(json_getz(object, "metadata"), "resourceVersion"), &revision))
		return;
	if (!v) {
		v = xcalloc(1, sizeof(*v) + key.n);
		(void)str_put(v->key, key);
		(void)map_put(&w->by_key, str_of(v->key, key.n), v);
	}
	v->revision = MAX(v->revision, revision);
}

bool written_is_ahead(struct written *w, struct str key, uint64_t seen)
{
	const struct written_version *v = map_get(&w->by_key, key);

	if (v && seen < v->revision)
		return true;
	written_forget(w, key);
	return false;
}

void written_forget(struct written *w, struct str key)
{
	free(map_remove(&w->by_key, key));
}
