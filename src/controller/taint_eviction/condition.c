/*
 * One sentence per count; texts, reasons and their order are upstream's.
 */
#include "controller/taint_eviction/condition.h"

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "controller/taint_eviction/book.h"

enum taint_effect taint_effect_of(const struct json *rule)
{
	const struct json *taint = json_getz(json_getz(rule, "spec"), "taint");
	struct str effect = json_text_at(taint, "effect");

	if (str_eqz(effect, "NoExecute"))
		return TAINT_EFFECT_NO_EXECUTE;
	return str_eqz(effect, "None") ? TAINT_EFFECT_NONE : TAINT_EFFECT_OTHER;
}

const struct json *taint_condition_of(const struct json *rule)
{
	return json_find(json_getz(json_getz(rule, "status"), "conditions"), "type",
			 STR(TAINT_CONDITION));
}

/* --- words ----------------------------------------------------------------------------------- */

static void add_count(struct buf *b, int64_t n, const char *one, const char *many)
{
	(void)buf_printf(b, "%" PRId64 " %s", n, n == 1 ? one : many);
}

static void add_pods(struct buf *b, const struct taint_counts *c, const char *one, const char *many)
{
	add_count(b, c->pods, one, many);
	add_count(b, c->namespaces, "namespace", "different namespaces");
}

static const char *tell_pending(struct buf *b, const struct taint_counts *c, int64_t evicted)
{
	if (c->pods == 0)
		return evicted > 0 ? "Completed" : "NotStarted";
	add_pods(b, c, "pod needs to be evicted in ", "pods need to be evicted in ");
	(void)buf_addz(b, ".");
	return "PodsPendingEviction";
}

static const char *tell_foreseen(struct buf *b, const struct taint_counts *c)
{
	add_count(b, c->published, "published device selected. ", "published devices selected. ");
	add_count(b, c->allocated, "allocated device selected. ", "allocated devices selected. ");
	add_pods(b, c, "pod would be evicted in ", "pods would be evicted in ");
	(void)buf_addz(b, " if the effect was NoExecute. This information will not be updated "
			  "again. Recreate the DeviceTaintRule to trigger an update.");
	return "NoEffect";
}

static const char *tell_other(struct buf *b)
{
	(void)buf_addz(b, "Eviction only happens for the NoExecute effect.");
	return "OtherEffect";
}

/* --- the condition --------------------------------------------------------------------------- */

struct json *taint_condition_make(struct arena *a, const struct json *rule,
				  const struct taint_counts *counts, int64_t evicted)
{
	struct buf message = BUF_INIT(4 * KIB);
	struct json *c = json_make_object(a);
	enum taint_effect effect = taint_effect_of(rule);
	bool pending = effect == TAINT_EFFECT_NO_EXECUTE && counts->pods > 0;
	const char *reason;

	if (effect == TAINT_EFFECT_NO_EXECUTE)
		reason = tell_pending(&message, counts, evicted);
	else if (effect == TAINT_EFFECT_NONE)
		reason = tell_foreseen(&message, counts);
	else
		reason = tell_other(&message);
	if (evicted > 0) {
		if (message.n > 0)
			(void)buf_addz(&message, " ");
		add_count(&message, evicted, "pod evicted since starting the controller.",
			  "pods evicted since starting the controller.");
	}
	json_put_str(a, c, "type", STR(TAINT_CONDITION));
	json_put_str(a, c, "status", pending ? STR("True") : STR("False"));
	json_put_str(a, c, "reason", str_from(reason));
	json_put_str(a, c, "message", arena_str(a, buf_str(&message)));
	json_put_i64(a, c, "observedGeneration",
		     json_i64_at(json_getz(rule, "metadata"), "generation", 0));
	buf_release(&message);
	return c;
}

bool taint_condition_same(const struct json *a, const struct json *b)
{
	static const char *const texts[] = { "type", "status", "reason", "message" };

	if (!a || !b)
		return a == b;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!str_eq(json_text_at(a, texts[i]), json_text_at(b, texts[i])))
			return false;
	return json_i64_at(a, "observedGeneration", 0) == json_i64_at(b, "observedGeneration", 0);
}

struct json *taint_condition_patch(struct arena *a, const struct json *rule, struct json *condition,
				   int64_t now)
{
	const struct json *meta = json_getz(rule, "metadata");
	struct json *patch = json_make_object(a);
	struct json *to = json_need_object(a, patch, "metadata");
	char text[TIMESTAMP_SIZE];
	struct str since = timestamp_print(now, TIMESTAMP_SECONDS, text);

	json_put_str(a, patch, "apiVersion", json_text_at(rule, "apiVersion"));
	json_put_str(a, patch, "kind", STR("DeviceTaintRule"));
	json_put_str(a, to, "name", json_text_at(meta, "name"));
	json_put_str(a, to, "uid", json_text_at(meta, "uid"));
	json_put_str(a, condition, "lastTransitionTime", arena_str(a, since));
	json_append(json_need_array(a, json_need_object(a, patch, "status"), "conditions"),
		    condition);
	return patch;
}
