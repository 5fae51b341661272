/*
 * Conditions are a table: the type, and the texts for the normal case. Problems are composed and
 * sorted when they are applied, so that equal passes give equal texts and cause no write.
 */
#include "controller/namespace/status.h"

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

enum {
	CONTENT_FAILURES_MAX = 1000, /* one per resource */
	REMAINING_MAX = 10000, /* resources, finalizers: more are not reported */
};

struct condition {
	const char *type, *ok_reason, *ok_message;
	const char *reason; /* if there is a problem */
	/* Appends the problem; false: none. */
	bool (*describe)(const struct namespace_status *s, struct buf *out);
};

void namespace_status_init(struct namespace_status *s, struct arena *a)
{
	*s = (struct namespace_status){ .arena = a };
	vec_init(&s->content_failures, CONTENT_FAILURES_MAX);
	vec_init(&s->remaining, REMAINING_MAX);
	vec_init(&s->finalizers, REMAINING_MAX);
}

void namespace_status_release(struct namespace_status *s)
{
	vec_release(&s->content_failures);
	vec_release(&s->remaining);
	vec_release(&s->finalizers);
}

/* --- collecting ------------------------------------------------------------------------------ */

void namespace_status_discovery_failed(struct namespace_status *s, const char *why)
{
	s->discovery_failure = arena_str(s->arena, str_from(why));
}

void namespace_status_content_failed(struct namespace_status *s, const char *why)
{
	(void)vec_push(&s->content_failures, arena_str(s->arena, str_from(why)));
}

void namespace_status_remain(struct namespace_status *s, const struct resource *r, int64_t n)
{
	const char *what = arena_printf(s->arena, "%.*s.%.*s", STR_ARG(r->resource),
					STR_ARG(r->group));

	if (n > 0)
		(void)vec_push(&s->remaining, (struct namespace_count){ str_from(what), n });
}

void namespace_status_finalizer(struct namespace_status *s, struct str finalizer)
{
	for (size_t i = 0; i < s->finalizers.n; i++) {
		if (str_eq(s->finalizers.v[i].what, finalizer)) {
			s->finalizers.v[i].n++;
			return;
		}
	}
	(void)vec_push(&s->finalizers,
		       (struct namespace_count){ arena_str(s->arena, finalizer), 1 });
}

/* --- describing ------------------------------------------------------------------------------ */

static void add_sorted(struct arena *a, struct buf *out, const struct str *texts, size_t n)
{
	struct str *sorted = ARENA_ARRAY(a, struct str, n);

	memcpy(sorted, texts, n * sizeof(*texts));
	qsort(sorted, n, sizeof(*sorted), str_order);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(sorted[i]));
}

static void add_counts(struct arena *a, struct buf *out, const char *fmt,
		       const struct namespace_count *counts, size_t n)
{
	struct str *texts = ARENA_ARRAY(a, struct str, n);

	for (size_t i = 0; i < n; i++)
		texts[i] = str_from(arena_printf(a, "%.*s %s %lld %s", STR_ARG(counts[i].what), fmt,
						 (long long)counts[i].n, "resource instances"));
	add_sorted(a, out, texts, n);
}

static bool describe_discovery(const struct namespace_status *s, struct buf *out)
{
	(void)buf_add_str(out, s->discovery_failure);
	return s->discovery_failure.p != NULL;
}

/* We never have names of malformed group versions: discovery rejects those. */
static bool describe_parsing(const struct namespace_status *s UNUSED, struct buf *out UNUSED)
{
	return false;
}

static bool describe_content(const struct namespace_status *s, struct buf *out)
{
	if (s->content_failures.n == 0)
		return false;
	(void)buf_printf(
		out, "Failed to delete all resource types, %zu remaining: ", s->content_failures.n);
	add_sorted(s->arena, out, s->content_failures.v, s->content_failures.n);
	return true;
}

static bool describe_remaining(const struct namespace_status *s, struct buf *out)
{
	if (s->remaining.n == 0)
		return false;
	(void)buf_addz(out, "Some resources are remaining: ");
	add_counts(s->arena, out, "has", s->remaining.v, s->remaining.n);
	return true;
}

static bool describe_finalizers(const struct namespace_status *s, struct buf *out)
{
	if (s->finalizers.n == 0)
		return false;
	(void)buf_addz(out, "Some content in the namespace has finalizers remaining: ");
	add_counts(s->arena, out, "in", s->finalizers.v, s->finalizers.n);
	return true;
}

static const struct condition conditions[] = {
	{ "NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
	  "All resources successfully discovered", "DiscoveryFailed", describe_discovery },
	{ "NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
	  "All legacy kube types successfully parsed", "GroupVersionParsingFailed",
	  describe_parsing },
	{ "NamespaceDeletionContentFailure", "ContentDeleted",
	  "All content successfully deleted, may be waiting on finalization",
	  "ContentDeletionFailed", describe_content },
	{ "NamespaceContentRemaining", "ContentRemoved", "All content successfully removed",
	  "SomeResourcesRemain", describe_remaining },
	{ "NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
	  "All content-preserving finalizers finished", "SomeFinalizersRemain",
	  describe_finalizers },
};

/* --- applying -------------------------------------------------------------------------------- */

static struct json *status_find(const struct json *list, const char *type)
{
	JSON_FOREACH (c, list) {
		if (str_eqz(json_text_at(c, "type"), type))
			return c;
	}
	return NULL;
}

static bool set(struct arena *a, struct json *object, const char *name, struct str text)
{
	if (str_eq(json_text_at(object, name), text))
		return false;
	json_put_str(a, object, name, text);
	return true;
}

static bool apply_one(const struct namespace_status *s, const struct condition *c,
		      struct json *list, struct str now)
{
	struct arena *a = s->arena;
	struct buf text = BUF_INIT(CONDITION_MESSAGE_MAX);
	bool wrong = c->describe(s, &text);
	struct str message = wrong ? arena_str(a, buf_str(&text)) : str_from(c->ok_message);
	struct json *condition = status_find(list, c->type);
	bool changed = false;

	buf_release(&text);
	if (!condition) {
		condition = json_make_object(a);
		json_append(list, condition);
		(void)set(a, condition, "type", str_from(c->type));
	}
	if (set(a, condition, "status", wrong ? STR("True") : STR("False"))) {
		(void)set(a, condition, "lastTransitionTime", now);
		changed = true;
	}
	changed |= set(a, condition, "reason", str_from(wrong ? c->reason : c->ok_reason));
	changed |= set(a, condition, "message", message);
	return changed;
}

bool namespace_status_apply(const struct namespace_status *s, struct json *ns, int64_t now_ns)
{
	struct json *status = json_need_object(s->arena, ns, "status");
	struct json *list = json_need_array(s->arena, status, "conditions");
	char text[TIMESTAMP_SIZE];
	struct str now = arena_str(s->arena, timestamp_print(now_ns, TIMESTAMP_SECONDS, text));
	bool changed = false;

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		changed |= apply_one(s, &conditions[i], list, now);
	return changed;
}
