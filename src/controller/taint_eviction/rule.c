/*
 * The status of a rule. It is written by server-side apply, so that no fields of others are
 * touched, with the uid, so that a second rule of the same name does not get the first one's
 * status. The time of the last change decides when the next may follow, even for a restarted
 * controller. While our copy does not show our last write yet, the time of that write decides.
 */
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "controller/taint_eviction/condition.h"
#include "controller/taint_eviction/taint_eviction_impl.h"

static struct taint_rule *rule_of(const struct taint_job *j)
{
	return map_get(&j->owner->rule_states, j->name);
}

/* How long the rule's current status must stay, in ms; 0: it may be replaced. */
static int64_t must_wait(const struct taint_job *j, const struct taint_rule *rule,
			 const struct json *had)
{
	int64_t now = clock_wall(loop_clock(j->owner->ctx.loop)), since, rest;

	if (rule->written_generation == rule->generation && rule->next_write_at > 0) {
		rest = rule->next_write_at - loop_now(j->owner->ctx.loop);
		if (rest > 0)
			return rest;
	}
	if (!had || json_i64_at(had, "observedGeneration", 0) != rule->generation ||
	    timestamp_parse(json_text_at(had, "lastTransitionTime"), &since, NULL) < 0)
		return 0;
	rest = TAINT_STATUS_MS - (now - since) / CLOCK_MS;
	return rest > TAINT_STATUS_MS ? TAINT_STATUS_MS : rest > 0 ? rest : 0;
}

static void rule_on_written(struct client_request *r, const struct client_answer *a UNUSED,
			    const struct error *err)
{
	struct taint_job *j = r->arg;
	struct taint_rule *rule = rule_of(j);

	if (err && err->code != ERR_NOT_FOUND) {
		work_fail(&j->work, "cannot write the status of a DeviceTaintRule", err);
		return;
	}
	if (!err && rule) {
		rule->written_generation = j->generation;
		rule->next_write_at = loop_now(j->owner->ctx.loop) + TAINT_STATUS_MS;
	}
	work_end(&j->work, false);
}

static void rule_write_status(struct taint_job *j, const struct json *rule, struct json *condition)
{
	struct taint_eviction *t = j->owner;
	struct resource_name name = { .name = j->name, .subresource = STR("status") };
	int64_t now = clock_wall(loop_clock(t->ctx.loop));

	j->work.request.on_done = rule_on_written;
	j->work.request.query = STR("fieldManager=" TAINT_CONTROLLER "&force=true");
	client_patch(t->ctx.client, &j->work.request, informer_resource(t->rules), name,
		     CLIENT_PATCH_APPLY,
		     taint_condition_patch(&j->work.arena, rule, condition, now));
}

void taint_rule_begin(struct taint_job *j)
{
	struct taint_eviction *t = j->owner;
	struct taint_rule *rule = rule_of(j);
	struct cached *o = t->rules ? cache_get(informer_cache(t->rules), j->name) : NULL;
	struct taint_counts counts = { 0 };
	struct json *tree, *condition;
	int64_t wait;

	if (!rule || !o || !str_eq(o->uid, rule->uid) ||
	    cached_tree_held(o, &j->work.arena, &tree, NULL) < 0) {
		work_end(&j->work, false);
		return;
	}
	wait = must_wait(j, rule, taint_condition_of(tree));
	if (wait > 0) {
		taint_job_wait(j, wait);
		return;
	}
	j->generation = rule->generation;
	if (taint_effect_of(tree) == TAINT_EFFECT_NONE)
		taint_book_foresee(t->book, j->name, &counts);
	else
		taint_book_pending(t->book, j->name, &counts);
	condition = taint_condition_make(&j->work.arena, tree, &counts, rule->evicted);
	if (taint_condition_same(condition, taint_condition_of(tree)))
		work_end(&j->work, false);
	else
		rule_write_status(j, tree, condition);
}
