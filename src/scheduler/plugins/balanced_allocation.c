/*
 * NodeResourcesBalancedAllocation: prefers nodes where the pod makes the used fractions of the
 * resources more equal. Pods that request none of these resources are not scored.
 */
#include "base/core/mem.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/framework/resource_score.h"
#include "scheduler/plugins/plugins.h"

enum { ARGS_MEMORY_MAX = 1 << 20 };

struct balanced {
	struct arena arena;
	struct resource_scores scores;
};

static void check_resources(const struct json *list, struct field_errors *faults)
{
	struct field_path path = field_path_name(NULL, "resources");
	size_t i = 0;

	JSON_FOREACH (v, list) {
		struct field_path item = field_path_index(&path, i++);
		struct field_path name = field_path_name(&item, "name");
		struct field_path weight = field_path_name(&item, "weight");

		if (json_find(list, "name", json_text_at(v, "name")) != v)
			field_errors_duplicate(faults, &name, FIELD_STR(json_text_at(v, "name")));
		if (resource_scores_weight(v) != 1)
			field_errors_invalid(faults, &weight, FIELD_I64(resource_scores_weight(v)),
					     "must be 1");
	}
}

static int balanced_allocation_read_args(struct plugin *p, struct balanced *s,
					 const struct json *args, struct error *err)
{
	static const char *const fields[] = { "resources", NULL };
	static const char *const members[] = { "name", "weight", NULL };
	const struct json *list = json_getz(args, "resources");
	struct field_errors faults;
	int r = plugin_args_check(args, "NodeResourcesBalancedAllocationArgs", fields, err);

	JSON_FOREACH (v, list)
		if (r == 0)
			r = plugin_args_fields(v, "resources", members, err);
	if (r < 0)
		return r;
	field_errors_init(&faults, &s->arena);
	check_resources(list, &faults);
	resource_scores_read(&s->scores, &s->arena, p->services->names, list);
	s->scores.exact = true;
	s->scores.score = resource_score_balanced;
	return plugin_args_verdict(&faults, err);
}

static void balanced_allocation_release(struct plugin *p)
{
	struct balanced *s = p->state;

	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
	p->state = NULL;
}

static int balanced_allocation_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct balanced *s = XNEW(struct balanced);
	int r;

	arena_init(&s->arena, ARGS_MEMORY_MAX);
	p->state = s;
	r = balanced_allocation_read_args(p, s, args, err);
	if (r < 0)
		balanced_allocation_release(p);
	return r;
}

static struct verdict balanced_allocation_pre_score(struct plugin *p, struct cycle *c)
{
	const struct balanced *s = p->state;
	int64_t *requests = resource_scores_requests(&s->scores, &c->arena, p->services->names,
						     c->pod);

	*cycle_state(c, p) = requests;
	for (size_t i = 0; i < s->scores.n; i++)
		if (requests[i] != 0)
			return VERDICT_OK;
	return (struct verdict){ .code = VERDICT_SKIP };
}

static struct verdict balanced_allocation_score(struct plugin *p, struct cycle *c, size_t at,
						int64_t *ret_score)
{
	const struct balanced *s = p->state;

	*ret_score = 0;
	if (!*cycle_state(c, p) && balanced_allocation_pre_score(p, c).code == VERDICT_SKIP)
		return VERDICT_OK;
	*ret_score = resource_scores_of(&s->scores, *cycle_state(c, p), c->feasible[at]);
	return VERDICT_OK;
}

const struct plugin_kind plugin_node_resources_balanced_allocation = {
	.name = "NodeResourcesBalancedAllocation",
	.init = balanced_allocation_init,
	.release = balanced_allocation_release,
	.pre_score = balanced_allocation_pre_score,
	.score = balanced_allocation_score,
};
