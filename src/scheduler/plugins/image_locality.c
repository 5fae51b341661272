/*
 * ImageLocality: nodes that have the pod's images already are better.
 *
 * An image counts by its size, less the fewer nodes have it, so that pods are not drawn to the few
 * nodes that happened to run them first. Images that no node has count nothing and are
 * forgotten before nodes are scored.
 */
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const int64_t least = 23 * (1 << 20); /* bytes; smaller images do not count */
static const int64_t most_each = 1000 * (1 << 20); /* per image */

struct image {
	struct str name;
	int64_t worth;
};

struct images {
	size_t asked; /* of the pod, with repetitions */
	size_t n; /* that some node has */
	struct image v[];
};

/* Appends ":latest" if the name has neither tag nor digest, as nodes report it. */
static struct str full_name(struct arena *a, struct str name)
{
	for (size_t i = name.n; i > 0; i--) {
		if (name.p[i - 1] == ':')
			return name;
		if (name.p[i - 1] == '/')
			break;
	}
	return str_from(arena_printf(a, "%.*s:latest", STR_ARG(name)));
}

static void add_image(struct cycle *c, struct images *s, struct str name)
{
	struct image image = { .name = full_name(&c->arena, name) };
	int64_t size = 0;
	uint32_t nodes = snapshot_image(c->snapshot, image.name, &size);
	double spread = (double)nodes / (double)c->snapshot->n;

	s->asked++;
	image.worth = (int64_t)((double)size * spread);
	if (nodes > 0)
		s->v[s->n++] = image;
}

/* Of its containers, and of volumes that are images. */
static struct verdict image_locality_pre_score(struct plugin *p, struct cycle *c)
{
	size_t most = c->pod->nimages + c->pod->nvolumes;
	struct images *s = arena_alloc(&c->arena, sizeof(*s) + most * sizeof(struct image));

	s->asked = s->n = 0;
	for (size_t i = 0; i < c->pod->nimages; i++)
		add_image(c, s, c->pod->images[i]);
	for (size_t i = 0; i < c->pod->nvolumes; i++) {
		const struct json *image = json_getz(c->pod->volumes[i].source, "image");

		if (json_is(image, JSON_OBJECT))
			add_image(c, s, json_text_at(image, "reference"));
	}
	*cycle_state(c, p) = s;
	return (struct verdict){ .code = s->n ? VERDICT_SUCCESS : VERDICT_SKIP };
}

static bool has_image(const struct nodeobject *n, struct str name)
{
	for (size_t i = 0; i < n->nimages; i++)
		if (str_eq(n->images[i].name, name))
			return true;
	return false;
}

static struct verdict image_locality_score(struct plugin *p, struct cycle *c, size_t at,
					   int64_t *ret_score)
{
	const struct images *s = *cycle_state(c, p);
	const struct nodeobject *n = c->feasible[at]->node;
	int64_t most, sum = 0;

	*ret_score = 0;
	if (!s || n->nimages == 0)
		return VERDICT_OK;
	most = most_each * (int64_t)s->asked;
	for (size_t i = 0; i < s->n; i++)
		if (has_image(n, s->v[i].name))
			sum += s->v[i].worth;
	sum = sum < least ? least : MIN(sum, most);
	*ret_score = SCORE_MAX * (sum - least) / (most - least);
	return VERDICT_OK;
}

const struct plugin_kind plugin_image_locality = {
	.name = "ImageLocality",
	.pre_score = image_locality_pre_score,
	.score = image_locality_score,
};
