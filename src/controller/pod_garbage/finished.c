/*
 * The order is that of texts: a digit, the creation, the name, the key. A creation that is not in
 * the API's form sorts somewhere, which harms nobody but that pod.
 */
#include "controller/pod_garbage/finished.h"

#include "base/core/mem.h"
#include "controller/pods/pod_state.h"

struct finished_pod {
	struct str key, order;
	char text[];
};

void finished_pods_init(struct finished_pods *f)
{
	map_init(&f->by_key);
	omap_init(&f->in_order);
}

void finished_pods_release(struct finished_pods *f)
{
	map_free_values(&f->by_key);
	omap_release(&f->in_order);
}

void finished_pods_remove(struct finished_pods *f, struct str key)
{
	struct finished_pod *p = map_remove(&f->by_key, key);

	if (!p)
		return;
	(void)omap_remove(&f->in_order, p->order);
	free(p);
}

static bool was_evicted(const struct json *pod)
{
	const struct json *status = json_getz(pod, "status");

	return str_eqz(json_text_at(status, "phase"), "Failed") &&
	       str_eqz(json_text_at(status, "reason"), "Evicted");
}

void finished_pods_put(struct finished_pods *f, struct str key, const struct json *pod)
{
	const struct json *meta = json_getz(pod, "metadata");
	struct str created = json_text_at(meta, "creationTimestamp");
	struct str name = json_text_at(meta, "name");
	size_t order = 1 + created.n + 1 + name.n + 1 + key.n;
	struct finished_pod *p;
	char *at;

	finished_pods_remove(f, key);
	if (!pod_state_finished(pod))
		return;
	p = xcalloc(1, sizeof(*p) + order);
	at = p->text;
	*at++ = was_evicted(pod) ? '0' : '1';
	at = str_put(at, created);
	*at++ = ' ';
	at = str_put(at, name);
	*at++ = ' ';
	str_put(at, key);
	p->order = str_of(p->text, order);
	p->key = str_of(at, key.n);
	(void)map_put(&f->by_key, p->key, p);
	(void)omap_put(&f->in_order, p->order, p);
}

bool finished_pods_has(const struct finished_pods *f, struct str key)
{
	return map_get(&f->by_key, key) != NULL;
}

void finished_pods_first(const struct finished_pods *f, size_t n,
			 void (*fn)(void *arg, struct str key), void *arg)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&f->in_order, &c); ok && n > 0; ok = omap_next(&c), n--)
		fn(arg, ((const struct finished_pod *)omap_value(&c))->key);
}
