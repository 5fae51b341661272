/*
 * The book against a slow model: random slices, rules, claims and pods are added and removed, and
 * after each step every pod's eviction equals what all objects together imply.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/time/timestamp.h"
#include "controller/taint_eviction/book.h"
#include "dra/inventory/inventory.h"

enum { SLICES = 8, RULES = 5, CLAIMS = 6, PODS = 6, STEPS = 8000 };

struct world {
	struct prng prng;
	struct inventory *inventory;
	struct taint_book *book;
	char *slices[SLICES], *rules[RULES], *claims[CLAIMS], *pods[PODS]; /* JSON, or NULL */
	int64_t told[PODS]; /* when the pod must go, as reported; -1: it may stay */
	int64_t generation; /* of slices' metadata */
	uint64_t told_due, told_spared, told_left;
};

static unsigned roll(struct world *w, unsigned n)
{
	return (unsigned)prng_below(&w->prng, n);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v = NULL;

	if (text && json_parse(a, str_from(text), NULL, &v, NULL) < 0)
		fail_msg("not JSON: %s", text);
	return v;
}

/* --- objects --------------------------------------------------------------------------------- */

static const char *const effects[] = { "NoExecute", "NoExecute", "NoSchedule", "None" };

static void add_taint(struct world *w, struct buf *b)
{
	char time[TIMESTAMP_SIZE];

	(void)timestamp_print((100 + roll(w, 10)) * CLOCK_SEC, TIMESTAMP_SECONDS, time);
	(void)buf_printf(b, "{\"key\":\"k%u\",\"value\":\"v\",\"effect\":\"%s\"", roll(w, 2),
			 effects[roll(w, 4)]);
	if (roll(w, 20) > 0)
		(void)buf_printf(b, ",\"timeAdded\":\"%s\"", time);
	(void)buf_addz(b, "}");
}

/* Slice s belongs to driver d(s / 4), pool p(s / 2 % 2), with devices x0 and x1, or x2 and x3. */
static char *make_slice(struct world *w, unsigned s)
{
	struct buf b = BUF_INIT(SIZE_MAX);

	(void)buf_printf(&b,
			 "{\"metadata\":{\"name\":\"s%u\",\"uid\":\"s%u\",\"generation\":%lld},"
			 "\"spec\":{\"driver\":\"d%u\",\"nodeName\":\"n\",\"pool\":{\"name\":"
			 "\"p%u\",\"generation\":%u,\"resourceSliceCount\":2},\"devices\":[",
			 s, s, (long long)++w->generation, s / 4, s / 2 % 2, 1 + roll(w, 2));
	for (unsigned i = 0; i < 2; i++) {
		unsigned taints = roll(w, 3);

		(void)buf_printf(&b, "%s{\"name\":\"x%u\",\"taints\":[", i ? "," : "",
				 s % 2 * 2 + i);
		for (unsigned k = 0; k < taints; k++) {
			if (k)
				(void)buf_addz(&b, ",");
			add_taint(w, &b);
		}
		(void)buf_addz(&b, "]}");
	}
	(void)buf_addz(&b, "]}}");
	return buf_take(&b);
}

static char *make_rule(struct world *w, unsigned r)
{
	struct buf b = BUF_INIT(SIZE_MAX);
	const char *comma = "";

	(void)buf_printf(&b, "{\"metadata\":{\"name\":\"r%u\"},\"spec\":{", r);
	if (roll(w, 10) > 0) {
		(void)buf_addz(&b, "\"deviceSelector\":{");
		if (roll(w, 3) > 0) {
			(void)buf_printf(&b, "\"driver\":\"d%u\"", roll(w, 2));
			comma = ",";
		}
		if (roll(w, 3) > 0) {
			(void)buf_printf(&b, "%s\"pool\":\"p%u\"", comma, roll(w, 2));
			comma = ",";
		}
		if (roll(w, 2) > 0)
			(void)buf_printf(&b, "%s\"device\":\"x%u\"", comma, roll(w, 5));
		(void)buf_addz(&b, "},");
	}
	(void)buf_addz(&b, "\"taint\":");
	add_taint(w, &b);
	(void)buf_addz(&b, "}}");
	return buf_take(&b);
}

static void add_toleration(struct world *w, struct buf *b)
{
	static const char *const for_effects[] = { "NoExecute", "NoExecute", "NoSchedule" };

	(void)buf_addz(b, "{");
	if (roll(w, 5) > 0)
		(void)buf_printf(b, "\"effect\":\"%s\",", for_effects[roll(w, 3)]);
	if (roll(w, 3) > 0)
		(void)buf_printf(b, "\"tolerationSeconds\":%d,", (int)roll(w, 12) - 2);
	if (roll(w, 3) > 0)
		(void)buf_printf(b, "\"key\":\"k%u\",\"operator\":\"%s\"", roll(w, 2),
				 roll(w, 2) ? "Exists" : "Equal");
	else
		(void)buf_addz(b, "\"operator\":\"Exists\"");
	if (roll(w, 2))
		(void)buf_addz(b, ",\"value\":\"v\"");
	(void)buf_addz(b, "}");
}

static void add_result(struct world *w, struct buf *b)
{
	unsigned tolerations = roll(w, 6) / 3 * (1 + roll(w, 2));

	/* No slice has x4: only rules can name it. */
	(void)buf_printf(
		b,
		"{\"request\":\"r\",\"driver\":\"d%u\",\"pool\":\"p%u\",\"device\":\"x%u\","
		"\"tolerations\":[",
		roll(w, 2), roll(w, 2), roll(w, 5));
	for (unsigned i = 0; i < tolerations; i++) {
		if (i)
			(void)buf_addz(b, ",");
		add_toleration(w, b);
	}
	(void)buf_addz(b, "]}");
}

/* Claims and pods with an even number are in namespace a, the others in b. */
static char *make_claim(struct world *w, unsigned c)
{
	struct buf b = BUF_INIT(SIZE_MAX);
	unsigned results = roll(w, 4), users = roll(w, 5);

	(void)buf_printf(&b,
			 "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"c%u\",\"uid\":\"c%u\","
			 "\"ownerReferences\":[{\"controller\":true,\"uid\":\"q%u-%u\"}]},"
			 "\"status\":{",
			 c % 2 ? "b" : "a", c, c, roll(w, PODS / 2) * 2 + c % 2, roll(w, 6) == 0);
	if (results > 0) {
		(void)buf_addz(&b, "\"allocation\":{\"devices\":{\"results\":[");
		for (unsigned i = 0; i < results; i++) {
			if (i)
				(void)buf_addz(&b, ",");
			add_result(w, &b);
		}
		(void)buf_addz(&b, "]}},");
	}
	(void)buf_addz(&b, "\"reservedFor\":[");
	for (unsigned i = 0; i < users; i++) {
		unsigned q = roll(w, PODS / 2) * 2 + c % 2;

		(void)buf_printf(&b,
				 "%s{\"resource\":\"pods\",\"name\":\"q%u\",\"uid\":\"q%u-%u\"}",
				 i ? "," : "", q, q, roll(w, 6) == 0);
	}
	(void)buf_addz(&b, "]}}");
	return buf_take(&b);
}

static char *make_pod(struct world *w, unsigned q)
{
	struct buf b = BUF_INIT(SIZE_MAX);
	unsigned claims[] = { roll(w, CLAIMS / 2) * 2 + q % 2, roll(w, CLAIMS / 2) * 2 + q % 2,
			      roll(w, CLAIMS / 2) * 2 + q % 2 };

	(void)buf_printf(&b,
			 "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"q%u\",\"uid\":\"q%u-%u\"",
			 q % 2 ? "b" : "a", q, q, roll(w, 6) == 0);
	if (roll(w, 8) == 0)
		(void)buf_addz(&b, ",\"deletionTimestamp\":\"2030-01-01T00:00:00Z\"");
	(void)buf_printf(&b, "},\"spec\":{%s\"resourceClaims\":[",
			 roll(w, 5) ? "\"nodeName\":\"n\"," : "");
	(void)buf_printf(&b, "{\"name\":\"one\",\"resourceClaimName\":\"c%u\"},", claims[0]);
	(void)buf_addz(&b, "{\"name\":\"two\",\"resourceClaimTemplateName\":\"t\"}]},\"status\":{");
	if (roll(w, 2))
		(void)buf_printf(&b,
				 "\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"c%u\"},",
				 claims[1]);
	(void)buf_printf(&b,
			 "\"resourceClaimStatuses\":[{\"name\":\"two\",\"resourceClaimName\":"
			 "\"c%u\"}]}}",
			 claims[2]);
	return buf_take(&b);
}

/* --- the model ------------------------------------------------------------------------------- */

struct verdict {
	bool must;
	int64_t when;
	unsigned rules, slices; /* bits */
};

static int64_t at_of(const struct json *taint)
{
	int64_t when;

	return timestamp_parse(json_text_at(taint, "timeAdded"), &when, NULL) == 0 ? when : -1;
}

static bool model_tolerates(const struct json *t, const struct json *taint, const char *effect)
{
	struct str of = json_text_at(t, "effect"), key = json_text_at(t, "key");

	if (of.n > 0 && !str_eqz(of, effect))
		return false;
	if (key.n > 0 && !str_eq(key, json_text_at(taint, "key")))
		return false;
	return str_eqz(json_text_at(t, "operator"), "Exists") ||
	       str_eq(json_text_at(t, "value"), json_text_at(taint, "value"));
}

/* Sets the bit in *bits if the taint ends the stay at some time. */
static void model_taint(struct verdict *v, const struct json *result, const struct json *taint,
			unsigned *bits, unsigned bit)
{
	int64_t when = at_of(taint), least = INT64_MAX, s;

	if (when < 0)
		return;
	JSON_FOREACH (it, json_getz(result, "tolerations")) {
		if (!model_tolerates(it, taint, "NoExecute"))
			continue;
		if (json_text_at(it, "effect").n == 0 ||
		    !json_i64(json_getz(it, "tolerationSeconds"), &s))
			return;
		if (s < 0)
			s = 0;
		if (s < least)
			least = s;
	}
	if (least < INT64_MAX)
		when += least * CLOCK_SEC;
	if (!v->must || when < v->when)
		v->when = when;
	v->must = true;
	*bits |= 1u << bit;
}

static bool said(const struct json *selector, const char *name, struct str value)
{
	const struct json *want = json_getz(selector, name);

	return !want || str_eq(json_str(want), value);
}

static bool model_selects(const struct json *rule, struct str driver, struct str pool,
			  struct str device)
{
	const struct json *selector = json_getz(json_getz(rule, "spec"), "deviceSelector");

	return selector && said(selector, "driver", driver) && said(selector, "pool", pool) &&
	       said(selector, "device", device);
}

static int64_t newest(struct world *w, struct arena *a, unsigned slice)
{
	int64_t generation = 0;

	for (unsigned s = slice / 2 * 2; s < slice / 2 * 2 + 2; s++) {
		const struct json *pool = json_getz(json_getz(parse(a, w->slices[s]), "spec"),
						    "pool");
		int64_t g = json_i64_at(pool, "generation", 0);

		generation = g > generation ? g : generation;
	}
	return generation;
}

static void model_slice(struct world *w, struct arena *a, unsigned s, const struct json *result,
			struct verdict *v)
{
	const struct json *spec = json_getz(parse(a, w->slices[s]), "spec");
	const struct json *pool = json_getz(spec, "pool"), *device;

	if (!str_eq(json_text_at(spec, "driver"), json_text_at(result, "driver")) ||
	    !str_eq(json_text_at(pool, "name"), json_text_at(result, "pool")) ||
	    json_i64_at(pool, "generation", 0) != newest(w, a, s))
		return;
	device = json_find(json_getz(spec, "devices"), "name", json_text_at(result, "device"));
	JSON_FOREACH (taint, json_getz(device, "taints"))
		if (str_eqz(json_text_at(taint, "effect"), "NoExecute"))
			model_taint(v, result, taint, &v->slices, s);
}

/* `only`: that rule alone, whatever its effect; -1: all that evict, and slices. */
static void model_claim(struct world *w, struct arena *a, const struct json *claim, int only,
			struct verdict *v)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");

	JSON_FOREACH (result, json_getz(json_getz(allocation, "devices"), "results")) {
		for (unsigned s = 0; only < 0 && s < SLICES; s++)
			model_slice(w, a, s, result, v);
		for (unsigned r = 0; r < RULES; r++) {
			const struct json *rule = parse(a, w->rules[r]);
			const struct json *taint = json_getz(json_getz(rule, "spec"), "taint");
			bool counts = only < 0 ? str_eqz(json_text_at(taint, "effect"), "NoExecute")
					       : r == (unsigned)only;

			if (counts && model_selects(rule, json_text_at(result, "driver"),
						    json_text_at(result, "pool"),
						    json_text_at(result, "device")))
				model_taint(v, result, taint, &v->rules, r);
		}
	}
}

static void model_entry(struct world *w, struct arena *a, const struct json *pod, struct str name,
			bool owned, int only, struct verdict *v)
{
	struct str uid = json_text_at(json_getz(pod, "metadata"), "uid");

	for (unsigned c = 0; c < CLAIMS; c++) {
		const struct json *claim = parse(a, w->claims[c]);
		const struct json *meta = json_getz(claim, "metadata");
		const struct json *owner = json_first(json_getz(meta, "ownerReferences"));

		if (str_eq(json_text_at(meta, "name"), name) &&
		    str_eq(json_text_at(meta, "namespace"),
			   json_text_at(json_getz(pod, "metadata"), "namespace")) &&
		    (!owned || str_eq(json_text_at(owner, "uid"), uid)) &&
		    json_find(json_getz(json_getz(claim, "status"), "reservedFor"), "uid", uid))
			model_claim(w, a, claim, only, v);
	}
}

static struct verdict model_pod(struct world *w, struct arena *a, unsigned q, int only)
{
	const struct json *pod = parse(a, w->pods[q]), *status = json_getz(pod, "status");
	struct verdict v = { 0 };

	if (!json_getz(json_getz(pod, "spec"), "nodeName") ||
	    json_getz(json_getz(pod, "metadata"), "deletionTimestamp"))
		return v;
	model_entry(w, a, pod,
		    json_text_at(json_first(json_getz(json_getz(pod, "spec"), "resourceClaims")),
				 "resourceClaimName"),
		    false, only, &v);
	model_entry(w, a, pod,
		    json_text_at(json_first(json_getz(status, "resourceClaimStatuses")),
				 "resourceClaimName"),
		    true, only, &v);
	model_entry(
		w, a, pod,
		json_text_at(json_getz(status, "extendedResourceClaimStatus"), "resourceClaimName"),
		true, only, &v);
	return v;
}

/* --- comparing ------------------------------------------------------------------------------- */

static struct str pod_key(unsigned q, char out[static 16])
{
	int n = snprintf(out, 16, "%s/q%u", q % 2 ? "b" : "a", q);

	return str_of(out, (size_t)n);
}

static void assert_sources(const struct eviction *e, unsigned rules, unsigned slices)
{
	unsigned got_rules = 0, got_slices = 0;

	for (size_t i = 0; i < e->n; i++) {
		unsigned bit = 1u << (e->sources[i].p[3] - '0');

		if (str_starts(e->sources[i], STR("r/")))
			got_rules |= bit;
		else
			got_slices |= bit;
	}
	assert_int_equal(got_rules, rules);
	assert_int_equal(got_slices, slices);
}

static void check_pods(struct world *w)
{
	struct arena a;
	char key[16];

	arena_init(&a, SIZE_MAX);
	for (unsigned q = 0; q < PODS; q++) {
		struct verdict v = model_pod(w, &a, q, -1);
		const struct taint_pod *pod = taint_book_find(w->book, pod_key(q, key));

		assert_int_equal(pod != NULL, v.must);
		assert_int_equal(w->told[q], v.must ? v.when : -1);
		if (!pod)
			continue;
		assert_int_equal(pod->eviction->when, v.when);
		assert_sources(pod->eviction, v.rules, v.slices);
	}
	arena_release(&a);
}

static void check_pending(struct world *w, unsigned r, struct arena *a)
{
	struct taint_counts counts;
	int64_t pods[2] = { 0 };
	char name[] = { 'r', (char)('0' + r), '\0' };

	for (unsigned q = 0; q < PODS; q++)
		pods[q % 2] += model_pod(w, a, q, -1).rules >> r & 1;
	taint_book_pending(w->book, str_from(name), &counts);
	assert_int_equal(counts.pods, pods[0] + pods[1]);
	assert_int_equal(counts.namespaces, (pods[0] > 0) + (pods[1] > 0));
}

static int64_t count_published(struct world *w, struct arena *a, const struct json *rule)
{
	int64_t n = 0;

	for (unsigned s = 0; s < SLICES; s++) {
		const struct json *spec = json_getz(parse(a, w->slices[s]), "spec");
		const struct json *pool = json_getz(spec, "pool");

		if (!spec || json_i64_at(pool, "generation", 0) != newest(w, a, s))
			continue;
		JSON_FOREACH (it, json_getz(spec, "devices"))
			n += model_selects(rule, json_text_at(spec, "driver"),
					   json_text_at(pool, "name"), json_text_at(it, "name"));
	}
	return n;
}

static int64_t count_allocated(struct world *w, struct arena *a, const struct json *rule)
{
	int64_t n = 0;

	for (unsigned c = 0; c < CLAIMS; c++) {
		const struct json *status = json_getz(parse(a, w->claims[c]), "status");
		const struct json *devices = json_getz(json_getz(status, "allocation"), "devices");

		JSON_FOREACH (it, json_getz(devices, "results"))
			n += model_selects(rule, json_text_at(it, "driver"),
					   json_text_at(it, "pool"), json_text_at(it, "device"));
	}
	return n;
}

static void check_foreseen(struct world *w, unsigned r, struct arena *a)
{
	const struct json *rule = parse(a, w->rules[r]);
	char name[] = { 'r', (char)('0' + r), '\0' };
	struct taint_counts counts;
	int64_t pods[2] = { 0 };

	taint_book_foresee(w->book, str_from(name), &counts);
	for (unsigned q = 0; rule && q < PODS; q++)
		pods[q % 2] += model_pod(w, a, q, (int)r).must;
	assert_int_equal(counts.pods, pods[0] + pods[1]);
	assert_int_equal(counts.namespaces, (pods[0] > 0) + (pods[1] > 0));
	assert_int_equal(counts.published, rule ? count_published(w, a, rule) : 0);
	assert_int_equal(counts.allocated, rule ? count_allocated(w, a, rule) : 0);
}

static void check_counts(struct world *w)
{
	unsigned r = roll(w, RULES);
	struct arena a;

	arena_init(&a, SIZE_MAX);
	check_pending(w, r, &a);
	check_foreseen(w, r, &a);
	arena_release(&a);
}

/* --- events ---------------------------------------------------------------------------------- */

static void change_slice(struct world *w, struct arena *a)
{
	unsigned s = roll(w, SLICES);
	char name[] = { 's', (char)('0' + s), '\0' };

	free(w->slices[s]);
	w->slices[s] = roll(w, 4) ? make_slice(w, s) : NULL;
	if (w->slices[s])
		assert_int_equal(inventory_put_slice(w->inventory, parse(a, w->slices[s]), NULL),
				 0);
	else
		inventory_remove_slice(w->inventory, str_from(name));
	/* Also reports the other slice of its pool: the newest generation may have changed. */
	taint_book_slice(w->book, str_from(name));
	name[1] = (char)('0' + (s ^ 1));
	taint_book_slice(w->book, str_from(name));
}

static void change_rule(struct world *w, struct arena *a)
{
	unsigned r = roll(w, RULES);
	char name[] = { 'r', (char)('0' + r), '\0' };

	free(w->rules[r]);
	w->rules[r] = roll(w, 3) ? make_rule(w, r) : NULL;
	if (w->rules[r])
		assert_int_equal(
			inventory_put_taint_rule(w->inventory, parse(a, w->rules[r]), NULL), 0);
	else
		inventory_remove_taint_rule(w->inventory, str_from(name));
	taint_book_rule(w->book, str_from(name));
}

static void change_claim(struct world *w, struct arena *a)
{
	unsigned c = roll(w, CLAIMS);
	char key[16];
	int n = snprintf(key, sizeof(key), "%s/c%u", c % 2 ? "b" : "a", c);

	free(w->claims[c]);
	w->claims[c] = roll(w, 4) ? make_claim(w, c) : NULL;
	if (w->claims[c])
		assert_int_equal(inventory_put_claim(w->inventory, parse(a, w->claims[c]), NULL),
				 0);
	else
		inventory_remove_claim(w->inventory, str_of(key, 1),
				       str_of(key + 2, (size_t)n - 2));
	taint_book_claim(w->book, str_of(key, (size_t)n));
}

static void change_pod(struct world *w, struct arena *a UNUSED)
{
	unsigned q = roll(w, PODS);
	char key[16];

	free(w->pods[q]);
	w->pods[q] = roll(w, 5) ? make_pod(w, q) : NULL;
	taint_book_pod(w->book, pod_key(q, key));
}

/* --- the book's world ------------------------------------------------------------------------ */

static const struct json *find_claim(void *arg, struct str key, struct arena *a)
{
	struct world *w = arg;

	return parse(a, w->claims[key.p[3] - '0']);
}

static const struct json *find_pod(void *arg, struct str key, struct arena *a)
{
	struct world *w = arg;

	return parse(a, w->pods[key.p[3] - '0']);
}

static void on_told(void *arg, const struct taint_pod *pod, enum taint_change change)
{
	struct world *w = arg;
	unsigned q = (unsigned)(pod->key.p[3] - '0');

	if (change == TAINT_POD_DUE)
		w->told_due++;
	else if (change == TAINT_POD_SPARED)
		w->told_spared++;
	else
		w->told_left++;
	if (change != TAINT_POD_DUE)
		assert_int_not_equal(w->told[q], -1);
	w->told[q] = change == TAINT_POD_DUE ? pod->eviction->when : -1;
}

static void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){ 0 };
	prng_init(&w->prng, seed);
	w->inventory = inventory_new(inventory_everything);
	w->book = taint_book_new(&(struct taint_book_opts){ .inventory = w->inventory,
							    .claim = find_claim,
							    .pod = find_pod,
							    .told = on_told,
							    .arg = w });
	for (unsigned q = 0; q < PODS; q++)
		w->told[q] = -1;
}

static void world_release(struct world *w)
{
	taint_book_free(w->book);
	inventory_free(w->inventory);
	for (unsigned i = 0; i < SLICES; i++)
		free(w->slices[i]);
	for (unsigned i = 0; i < RULES; i++)
		free(w->rules[i]);
	for (unsigned i = 0; i < CLAIMS; i++)
		free(w->claims[i]);
	for (unsigned i = 0; i < PODS; i++)
		free(w->pods[i]);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void the_book_says_what_a_look_at_everything_says(void **state UNUSED)
{
	static void (*const changes[])(struct world *,
				       struct arena *) = { change_slice, change_rule, change_claim,
							   change_claim, change_pod };
	struct world w;
	struct arena a;

	world_init(&w, 13);
	arena_init(&a, SIZE_MAX);
	for (unsigned i = 0; i < STEPS; i++) {
		changes[roll(&w, ARRAY_SIZE(changes))](&w, &a);
		arena_clear(&a);
		/* Several changes may arrive in one turn. */
		if (roll(&w, 3) == 0)
			continue;
		taint_book_settle(w.book);
		check_pods(&w);
		if (i % 4 == 0)
			check_counts(&w);
	}
	/* The test was not trivial. */
	assert_true(w.told_due > 400);
	assert_true(w.told_spared > 200);
	assert_true(w.told_left > 50);
	world_release(&w);
	arena_release(&a);
}

static void put(struct world *w, char **place, const char *text,
		int (*fn)(struct inventory *, const struct json *, struct error *))
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	free(*place);
	*place = xstrdup(text);
	if (fn)
		assert_int_equal(fn(w->inventory, parse(&a, text), NULL), 0);
	arena_release(&a);
}

#define RULE_0                                                                                \
	"{\"metadata\":{\"name\":\"r0\"},\"spec\":{\"deviceSelector\":{\"driver\":\"d0\"},"   \
	"\"taint\":{\"key\":\"k\",\"effect\":\"NoExecute\",\"timeAdded\":\"1970-01-01T00:01:" \
	"40Z\"}}}"
#define CLAIM_0(tolerations)                                                              \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"c0\",\"uid\":\"c0\"},\"status\":{" \
	"\"allocation\":{\"devices\":{\"results\":[{\"driver\":\"d0\",\"pool\":\"p0\","   \
	"\"device\":\"x0\",\"tolerations\":[" tolerations "]}]}},\"reservedFor\":[{"      \
	"\"resource\":\"pods\",\"name\":\"q0\",\"uid\":\"q0-0\"}]}}"
#define POD_0                                                                                  \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"q0\",\"uid\":\"q0-0\"},\"spec\":{"      \
	"\"nodeName\":\"n\",\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"c0\"}" \
	"]}}"

/* When the pod must go, in seconds; -1: it may stay. */
static int64_t stay_of(const char *claim)
{
	struct world w;
	int64_t when;

	world_init(&w, 1);
	put(&w, &w.rules[0], RULE_0, inventory_put_taint_rule);
	put(&w, &w.claims[0], claim, inventory_put_claim);
	put(&w, &w.pods[0], POD_0, NULL);
	taint_book_rule(w.book, STR("r0"));
	taint_book_settle(w.book);
	when = w.told[0];
	world_release(&w);
	return when < 0 ? -1 : when / CLOCK_SEC;
}

static void the_least_of_the_tolerations_that_match_counts(void **state UNUSED)
{
	assert_int_equal(stay_of(CLAIM_0("")), 100);
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":30}")),
			 130);
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":30},{\"key\":\"k\",\"operator\":"
					 "\"Equal\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":20}")),
			 120);
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":-5}")),
			 100);
	assert_int_equal(stay_of(CLAIM_0("{\"key\":\"other\",\"operator\":\"Exists\"}")), 100);
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}")),
			 100);
	/* Longer than our clocks can represent means for ever. */
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":9223372036854775807}")),
			 -1);
}

static void one_toleration_without_seconds_is_for_ever(void **state UNUSED)
{
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
					 "\"tolerationSeconds\":30},{\"operator\":\"Exists\","
					 "\"effect\":\"NoExecute\"}")),
			 -1);
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\"}")), -1);
	/* As in the API, seconds count only with the effect NoExecute. */
	assert_int_equal(stay_of(CLAIM_0("{\"operator\":\"Exists\",\"tolerationSeconds\":30}")),
			 -1);
}

static void a_pod_that_was_evicted_is_not_told_of_again(void **state UNUSED)
{
	struct world w;
	struct taint_counts counts;

	world_init(&w, 1);
	put(&w, &w.rules[0], RULE_0, inventory_put_taint_rule);
	put(&w, &w.claims[0], CLAIM_0(""), inventory_put_claim);
	put(&w, &w.pods[0], POD_0, NULL);
	taint_book_rule(w.book, STR("r0"));
	taint_book_settle(w.book);
	taint_book_evicted(w.book, STR("a/q0"), STR("another"));
	taint_book_pending(w.book, STR("r0"), &counts);
	assert_int_equal(counts.pods, 1);
	taint_book_evicted(w.book, STR("a/q0"), STR("q0-0"));
	taint_book_pending(w.book, STR("r0"), &counts);
	assert_int_equal(counts.pods, 0);
	inventory_remove_taint_rule(w.inventory, STR("r0"));
	taint_book_rule(w.book, STR("r0"));
	taint_book_settle(w.book);
	assert_null(taint_book_find(w.book, STR("a/q0")));
	assert_int_equal(w.told_due, 1);
	assert_int_equal(w.told_spared + w.told_left, 0);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_book_says_what_a_look_at_everything_says),
		cmocka_unit_test(the_least_of_the_tolerations_that_match_counts),
		cmocka_unit_test(one_toleration_without_seconds_is_for_ever),
		cmocka_unit_test(a_pod_that_was_evicted_is_not_told_of_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
