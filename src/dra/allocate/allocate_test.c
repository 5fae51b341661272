/*
 * Runs the allocator on readable inputs: cases/NAME.cases.
 *
 * A case is a block of lines, ended by an empty one; "# .." is its name (or a comment on it).
 *
 *	slice gpu/p0 on=n1            a slice of driver gpu.example.com, pool p0. on=NODE, on=* (all
 *	                              nodes), on=zone:a,b (nodes with that label), on=devices (each
 *	                              its own). Also name=X, of=SLICES, gen=GENERATION.
 *	  d0 model=a numa=1 mem:8Gi   its devices: attributes (text, true, 12, v1.0.0; a name with a
 *	                              slash is in that domain), capacities (mem:8Gi/default=2Gi
 *	                              /values=1Gi,2Gi/min=1Gi/max=4Gi/step=1Gi); shared, binds,
 *	                              bind=CONDITION, fail=CONDITION, !KEY=VALUE:EFFECT (a taint),
 *	                              uses=SET.COUNTER=AMOUNT, on=.. as above
 *	  counters cs0 mem=8 cores=4  a counter set of the slice
 *	class gpu [config=TEXT ..] [where EXPR]
 *	held a d0 [as=gpu/p0] [admin] [share mem:2Gi ..]      claim default/a has the device
 *	node n1 zone=a                default: n1 without labels
 *	off FEATURE / on FEATURE      taints, fractional, lists, ..; others are as by default
 *	claim c0                      in default
 *	  r0 2 gpu [admin] [mem:2Gi ..] [~KEY=VALUE:EFFECT ..] [where EXPR]    "all" for a number
 *	  r1 first                    a list; its alternatives follow:
 *	  - s0 1 gpu ..
 *	  match gpu.example.com/numa [r0 r1/s0]      constraints
 *	  distinct gpu.example.com/numa [..]
 *	  config TEXT [r0 ..]
 *	=> r0=d0 r0=d1                what each result is, claims separated by |. Behind a device
 *	                              its share, d0[mem=2Gi], and !admin. Devices are printed as
 *	                              pool/device when the case has several pools.
 *	=> no | invalid | error TEXT  (invalid: no, and some pool was not usable)
 *	at /0/nodeSelector JSON       a part of the results, by JSON pointer; "none": not there
 *	why TEXT                      explain_print() has that text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/system/file.h"
#include "dra/allocate/explain.h"
#include "dra/allocate/outcome_fixture.h"

enum { CLAIMS_MAX = 8, CHECKS_MAX = 8 };

struct scene {
	struct arena arena;
	struct inventory_features features;
	struct json *slices, *classes, *held, *claims;
	struct json *slice, *claim; /* those being filled */
	struct str driver, pool;
	struct json *list; /* of alternatives, or NULL */
	bool several_pools;
	struct str node;
	struct json *labels;
	struct str name, expected;
	struct str at[CHECKS_MAX], why[CHECKS_MAX];
	size_t nat, nwhy;
	size_t failures;
};

/* Reports all failures, not only the first. */
#define COMPLAIN(s, ...) ((s)->failures++, print_error(__VA_ARGS__))

/* --- words -------------------------------------------------------------------------- */

static struct str next_word(struct str *rest)
{
	struct str s = str_trim(*rest);
	ptrdiff_t n = str_chr(s, ' ');
	struct str word = n < 0 ? s : str_of(s.p, (size_t)n);

	*rest = n < 0 ? STR_NULL : str_trim(str_skip(s, (size_t)n));
	return word;
}

/* "a=b": a, and b in *ret_value; p NULL when there is no such sign. */
static struct str split_at(struct str word, char sign, struct str *ret_value)
{
	ptrdiff_t n = str_chr(word, sign);

	*ret_value = n < 0 ? STR_NULL : str_skip(word, (size_t)n + 1);
	if (n >= 0 && !ret_value->p)
		*ret_value = STR("");
	return n < 0 ? word : str_of(word.p, (size_t)n);
}

static struct json *texts(struct arena *a, struct str list, char sign)
{
	struct json *v = json_make_array(a);
	struct str piece;

	while (str_split(&list, sign, &piece))
		json_append(v, json_make_str(a, piece));
	return v;
}

static struct str domain_of(struct arena *a, struct str driver)
{
	return str_from(arena_printf(a, "%.*s.example.com", STR_ARG(driver)));
}

static struct json *named(struct arena *a, struct json *list, struct str name)
{
	struct json *v = json_make_object(a), *meta = json_make_object(a);

	json_put_str(a, meta, "name", name);
	json_setz(v, "metadata", meta);
	json_append(list, v);
	return v;
}

/* --- slices ------------------------------------------------------------------------- */

static void put_nodes(struct arena *a, struct json *at, struct str where)
{
	struct str values, key = split_at(where, ':', &values);
	struct json *selector, *term, *requirement;

	if (str_eqz(where, "*")) {
		json_put_bool(a, at, "allNodes", true);
	} else if (str_eqz(where, "devices")) {
		json_put_bool(a, at, "perDeviceNodeSelection", true);
	} else if (!values.p) {
		json_put_str(a, at, "nodeName", where);
	} else {
		selector = json_need_object(a, at, "nodeSelector");
		term = json_make_object(a);
		json_append(json_need_array(a, selector, "nodeSelectorTerms"), term);
		requirement = json_make_object(a);
		json_append(json_need_array(a, term, "matchExpressions"), requirement);
		json_put_str(a, requirement, "key", key);
		json_put_str(a, requirement, "operator", STR("In"));
		json_setz(requirement, "values", texts(a, values, ','));
	}
}

static void begin_slice(struct scene *s, struct str rest)
{
	struct str place = next_word(&rest), word, value;
	int64_t of = 1, generation = 1;
	struct str name = str_from(arena_printf(&s->arena, "slice-%02u", s->slices->n));
	struct json *spec = json_make_object(&s->arena), *pool = json_make_object(&s->arena);

	s->driver = domain_of(&s->arena, split_at(place, '/', &s->pool));
	JSON_FOREACH (it, s->slices) {
		const struct json *other = json_getz(it, "spec");

		s->several_pools |= !str_eq(json_text_at(other, "driver"), s->driver) ||
				    !str_eq(json_text_at(json_getz(other, "pool"), "name"),
					    s->pool);
	}
	while ((word = next_word(&rest)).n) {
		struct str key = split_at(word, '=', &value);

		if (str_eqz(key, "on"))
			put_nodes(&s->arena, spec, value);
		else if (str_eqz(key, "of"))
			assert_true(str_to_i64(value, &of));
		else if (str_eqz(key, "gen"))
			assert_true(str_to_i64(value, &generation));
		else if (str_eqz(key, "name"))
			name = value;
		else
			fail_msg("%.*s: slice: %.*s", STR_ARG(s->name), STR_ARG(word));
	}
	s->slice = named(&s->arena, s->slices, name);
	json_put_str(&s->arena, spec, "driver", s->driver);
	json_put_str(&s->arena, pool, "name", s->pool);
	json_put_i64(&s->arena, pool, "generation", generation);
	json_put_i64(&s->arena, pool, "resourceSliceCount", of);
	json_setz(spec, "pool", pool);
	json_setz(s->slice, "spec", spec);
}

static struct json *counter_values(struct arena *a, struct str rest)
{
	struct json *v = json_make_object(a);
	struct str word, value;

	while ((word = next_word(&rest)).n) {
		struct str key = split_at(word, '=', &value);
		struct json *counter = json_make_object(a);

		json_put_str(a, counter, "value", value);
		json_set(v, key, counter);
	}
	return v;
}

static void add_counters(struct scene *s, struct str rest)
{
	struct json *set = json_make_object(&s->arena);

	json_put_str(&s->arena, set, "name", next_word(&rest));
	json_setz(set, "counters", counter_values(&s->arena, rest));
	json_append(json_need_array(&s->arena, json_getz(s->slice, "spec"), "sharedCounters"), set);
}

/* mem:8Gi/default=2Gi/values=1Gi,2Gi/min=1Gi/max=4Gi/step=1Gi */
static void add_capacity(struct arena *a, struct json *device, struct str name, struct str text)
{
	struct json *capacity = json_make_object(a), *policy;
	struct str piece, value;

	json_set(json_need_object(a, device, "capacity"), name, capacity);
	assert_true(str_split(&text, '/', &piece));
	json_put_str(a, capacity, "value", piece);
	while (str_split(&text, '/', &piece)) {
		struct str key = split_at(piece, '=', &value);

		policy = json_need_object(a, capacity, "requestPolicy");
		if (str_eqz(key, "default"))
			json_put_str(a, policy, "default", value);
		else if (str_eqz(key, "values"))
			json_setz(policy, "validValues", texts(a, value, ','));
		else
			json_set(json_need_object(a, policy, "validRange"), key,
				 json_make_str(a, value));
	}
}

static void add_attribute(struct arena *a, struct json *device, struct str name, struct str value)
{
	struct json *v = json_make_object(a);
	int64_t number;

	if (str_eqz(value, "true") || str_eqz(value, "false"))
		json_put_bool(a, v, "bool", str_eqz(value, "true"));
	else if (str_to_i64(value, &number))
		json_put_i64(a, v, "int", number);
	else if (value.n > 1 && value.p[0] == 'v' && value.p[1] >= '0' && value.p[1] <= '9')
		json_put_str(a, v, "version", str_skip(value, 1));
	else if (str_chr(value, ',') >= 0)
		json_setz(v, "strings", texts(a, value, ','));
	else
		json_put_str(a, v, "string", value);
	json_set(json_need_object(a, device, "attributes"), name, v);
}

/* KEY=VALUE:EFFECT, for taints and tolerations. */
static struct json *taint(struct arena *a, struct str text, bool toleration)
{
	struct json *v = json_make_object(a);
	struct str effect, value, key = split_at(split_at(text, ':', &effect), '=', &value);

	if (key.n)
		json_put_str(a, v, "key", key);
	if (toleration)
		json_put_str(a, v, "operator", value.p ? STR("Equal") : STR("Exists"));
	if (value.n)
		json_put_str(a, v, "value", value);
	if (effect.n)
		json_put_str(a, v, "effect", effect);
	return v;
}

/* SET.COUNTER=AMOUNT */
static void add_use(struct arena *a, struct json *device, struct str text)
{
	struct json *list = json_need_array(a, device, "consumesCounters"), *use;
	struct str rest, set = split_at(text, '.', &rest), value, key = split_at(rest, '=', &value);
	struct json *counter = json_make_object(a);

	use = json_find(list, "counterSet", set);
	if (!use) {
		use = json_make_object(a);
		json_put_str(a, use, "counterSet", set);
		json_append(list, use);
	}
	json_put_str(a, counter, "value", value);
	json_set(json_need_object(a, use, "counters"), key, counter);
}

static void device_word(struct arena *a, struct json *d, struct str word)
{
	struct str value, key = split_at(word, '=', &value), size;

	if (word.p[0] == '!')
		json_append(json_need_array(a, d, "taints"), taint(a, str_skip(word, 1), false));
	else if (str_eqz(word, "shared"))
		json_put_bool(a, d, "allowMultipleAllocations", true);
	else if (str_eqz(word, "binds"))
		json_put_bool(a, d, "bindsToNode", true);
	else if (str_eqz(key, "bind"))
		json_setz(d, "bindingConditions", texts(a, value, ','));
	else if (str_eqz(key, "fail"))
		json_setz(d, "bindingFailureConditions", texts(a, value, ','));
	else if (str_eqz(key, "uses"))
		add_use(a, d, value);
	else if (str_eqz(key, "on"))
		put_nodes(a, d, value);
	else if (str_chr(key, ':') > 0)
		add_capacity(a, d, split_at(word, ':', &size),
			     str_skip(word, split_at(word, ':', &size).n + 1));
	else
		add_attribute(a, d, key, value);
}

static void add_device(struct scene *s, struct str name, struct str rest)
{
	struct json *d = json_make_object(&s->arena);
	struct str word;

	json_put_str(&s->arena, d, "name", name);
	while ((word = next_word(&rest)).n)
		device_word(&s->arena, d, word);
	json_append(json_need_array(&s->arena, json_getz(s->slice, "spec"), "devices"), d);
}

/* --- classes, holders ---------------------------------------------------------------- */

static void add_selector(struct arena *a, struct json *at, struct str text)
{
	struct json *selector = json_make_object(a);

	json_put_str(a, json_need_object(a, selector, "cel"), "expression", text);
	json_append(json_need_array(a, at, "selectors"), selector);
}

static struct json *opaque(struct arena *a, struct str text)
{
	struct json *v = json_make_object(a), *o = json_need_object(a, v, "opaque");

	json_put_str(a, o, "driver", STR("gpu.example.com"));
	json_put_str(a, json_need_object(a, o, "parameters"), "is", text);
	return v;
}

static void add_class(struct scene *s, struct str rest)
{
	struct json *v = named(&s->arena, s->classes, next_word(&rest));
	struct json *spec = json_need_object(&s->arena, v, "spec");
	struct str word, value;

	while ((word = next_word(&rest)).n) {
		if (str_eqz(word, "where")) {
			add_selector(&s->arena, spec, rest);
			return;
		}
		(void)split_at(word, '=', &value);
		json_append(json_need_array(&s->arena, spec, "config"), opaque(&s->arena, value));
	}
}

static void add_held(struct scene *s, struct str rest)
{
	struct json *v = named(&s->arena, s->held, next_word(&rest)), *result;
	struct json *status = json_need_object(&s->arena, v, "status");
	struct json *devices = json_need_object(
		&s->arena, json_need_object(&s->arena, status, "allocation"), "devices");
	struct str device = next_word(&rest), driver = s->driver, pool = s->pool, word, value;

	json_put_str(&s->arena, json_getz(v, "metadata"), "namespace", STR("default"));
	json_put_str(&s->arena, json_getz(v, "metadata"), "uid",
		     str_from(arena_printf(&s->arena, "uid-%u", s->held->n)));
	result = json_make_object(&s->arena);
	json_append(json_need_array(&s->arena, devices, "results"), result);
	json_put_str(&s->arena, result, "request", STR("r"));
	while ((word = next_word(&rest)).n) {
		struct str key = split_at(word, ':', &value), place;

		if (str_eqz(word, "admin"))
			json_put_bool(&s->arena, result, "adminAccess", true);
		else if (str_eqz(word, "share"))
			json_put_str(
				&s->arena, result, "shareID",
				str_from(arena_printf(&s->arena, "11111111-0000-0000-0000-%012u",
						      s->held->n)));
		else if (str_eqz(split_at(word, '=', &place), "as"))
			driver = domain_of(&s->arena, split_at(place, '/', &pool));
		else
			json_set(json_need_object(&s->arena, result, "consumedCapacity"), key,
				 json_make_str(&s->arena, value));
	}
	json_put_str(&s->arena, result, "driver", driver);
	json_put_str(&s->arena, result, "pool", pool);
	json_put_str(&s->arena, result, "device", device);
}

/* --- claims ------------------------------------------------------------------------- */

static void begin_claim(struct scene *s, struct str rest)
{
	s->claim = named(&s->arena, s->claims, next_word(&rest));
	s->slice = NULL;
	s->list = NULL;
	json_put_str(&s->arena, json_getz(s->claim, "metadata"), "namespace", STR("default"));
	json_need_object(&s->arena, json_need_object(&s->arena, s->claim, "spec"), "devices");
}

static void fill_request(struct scene *s, struct json *r, struct str count, struct str rest)
{
	struct arena *a = &s->arena;
	struct str word, value;
	int64_t n = 0;

	json_put_str(a, r, "deviceClassName", next_word(&rest));
	json_put_str(a, r, "allocationMode",
		     str_eqz(count, "all") ? STR("All") : STR("ExactCount"));
	if (!str_eqz(count, "all")) {
		assert_true(str_to_i64(count, &n));
		json_put_i64(a, r, "count", n);
	}
	while ((word = next_word(&rest)).n) {
		struct str key = split_at(word, ':', &value);

		if (str_eqz(word, "where")) {
			add_selector(a, r, rest);
			return;
		}
		if (str_eqz(word, "admin"))
			json_put_bool(a, r, "adminAccess", true);
		else if (word.p[0] == '~')
			json_append(json_need_array(a, r, "tolerations"),
				    taint(a, str_skip(word, 1), true));
		else
			json_set(
				json_need_object(a, json_need_object(a, r, "capacity"), "requests"),
				key, json_make_str(a, value));
	}
}

static void claim_line(struct scene *s, struct str name, struct str rest)
{
	struct arena *a = &s->arena;
	struct json *devices = json_getz(json_getz(s->claim, "spec"), "devices");
	struct json *v = json_make_object(a);

	if (str_eqz(name, "match") || str_eqz(name, "distinct")) {
		if (rest.n)
			json_put_str(a, v,
				     name.p[0] == 'm' ? "matchAttribute" : "distinctAttribute",
				     next_word(&rest));
		if (rest.n)
			json_setz(v, "requests", texts(a, rest, ' '));
		json_append(json_need_array(a, devices, "constraints"), v);
	} else if (str_eqz(name, "config")) {
		v = opaque(a, next_word(&rest));
		if (rest.n)
			json_setz(v, "requests", texts(a, rest, ' '));
		json_append(json_need_array(a, devices, "config"), v);
	} else if (str_eqz(name, "-")) {
		json_put_str(a, v, "name", next_word(&rest));
		fill_request(s, v, next_word(&rest), rest);
		json_append(s->list, v);
	} else {
		struct str count = next_word(&rest);

		json_put_str(a, v, "name", name);
		json_append(json_need_array(a, devices, "requests"), v);
		if (str_eqz(count, "first"))
			s->list = json_need_array(a, v, "firstAvailable");
		else if (!str_eqz(count, "nothing"))
			fill_request(s, json_need_object(a, v, "exactly"), count, rest);
	}
}

/* --- cases -------------------------------------------------------------------------- */

static void set_feature(struct scene *s, struct str name, bool on)
{
	const struct {
		const char *name;
		bool *at;
	} table[] = {
		{ "admin", &s->features.admin_access },
		{ "alternatives", &s->features.prioritized_list },
		{ "counters", &s->features.partitionable },
		{ "taints", &s->features.taints },
		{ "binding", &s->features.binding_conditions },
		{ "capacity", &s->features.consumable_capacity },
		{ "fractional", &s->features.fractional_range },
		{ "lists", &s->features.list_attributes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (str_eqz(name, table[i].name)) {
			*table[i].at = on;
			return;
		}
	fail_msg("%.*s: no feature %.*s", STR_ARG(s->name), STR_ARG(name));
}

static void set_node(struct scene *s, struct str rest)
{
	struct str word, value;

	s->node = next_word(&rest);
	while ((word = next_word(&rest)).n) {
		struct str key = split_at(word, '=', &value);

		json_set(s->labels, key, json_make_str(&s->arena, value));
	}
}

static void read_line(struct scene *s, struct str line)
{
	struct str rest = line, word = next_word(&rest);

	if (str_eqz(word, "slice"))
		begin_slice(s, rest);
	else if (str_eqz(word, "class"))
		add_class(s, rest);
	else if (str_eqz(word, "held"))
		add_held(s, rest);
	else if (str_eqz(word, "node"))
		set_node(s, rest);
	else if (str_eqz(word, "off") || str_eqz(word, "on"))
		set_feature(s, rest, str_eqz(word, "on"));
	else if (str_eqz(word, "claim"))
		begin_claim(s, rest);
	else if (str_eqz(word, "=>"))
		s->expected = rest;
	else if (str_eqz(word, "at"))
		s->at[s->nat++] = rest;
	else if (str_eqz(word, "why"))
		s->why[s->nwhy++] = rest;
	else if (s->slice && str_eqz(word, "counters"))
		add_counters(s, rest);
	else if (s->slice)
		add_device(s, word, rest);
	else if (s->claim)
		claim_line(s, word, rest);
	else
		fail_msg("%.*s: what is %.*s", STR_ARG(s->name), STR_ARG(line));
}

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .features = inventory_defaults, .node = STR("n1") };
	arena_init(&s->arena, REQUEST_WORK_MAX);
	s->slices = json_make_array(&s->arena);
	s->classes = json_make_array(&s->arena);
	s->held = json_make_array(&s->arena);
	s->claims = json_make_array(&s->arena);
	s->labels = json_make_object(&s->arena);
}

static struct inventory *make_inventory(struct scene *s)
{
	struct inventory *inv = inventory_new(s->features);
	struct error err = { 0 };

	JSON_FOREACH (it, s->slices)
		if (inventory_put_slice(inv, it, &err) < 0)
			fail_msg("%.*s: slice: %s", STR_ARG(s->name), err.msg);
	JSON_FOREACH (it, s->classes)
		if (inventory_put_class(inv, it, &err) < 0)
			fail_msg("%.*s: class: %s", STR_ARG(s->name), err.msg);
	JSON_FOREACH (it, s->held)
		if (inventory_put_claim(inv, it, &err) < 0)
			fail_msg("%.*s: held: %s", STR_ARG(s->name), err.msg);
	return inv;
}

static void print_result(const struct scene *s, const struct json *r, struct buf *out)
{
	const char *sign = "[";

	(void)buf_printf(out, "%.*s=", STR_ARG(json_text_at(r, "request")));
	if (s->several_pools)
		(void)buf_printf(out, "%.*s/", STR_ARG(json_text_at(r, "pool")));
	(void)buf_add_str(out, json_text_at(r, "device"));
	JSON_FOREACH (it, json_getz(r, "consumedCapacity")) {
		(void)buf_printf(out, "%s%.*s=%.*s", sign, STR_ARG(json_key(it)),
				 STR_ARG(json_str(it)));
		sign = ",";
	}
	if (*sign == ',')
		(void)buf_addc(out, ']');
	else if (json_getz(r, "shareID"))
		(void)buf_addz(out, "[]");
	if (json_true_at(r, "adminAccess"))
		(void)buf_addz(out, "!admin");
}

static void print_outcome(const struct scene *s, int r, const struct allocate_report *report,
			  struct json *const *results, const struct error *err, struct buf *out)
{
	if (r < 0)
		(void)buf_printf(out, "error %s", err->msg);
	else if (r == 0)
		(void)buf_addz(out, report->invalid_pool ? "invalid" : "no");
	for (size_t i = 0; r > 0 && i < s->claims->n; i++) {
		if (i)
			(void)buf_addz(out, out->p[out->n - 1] == ' ' ? "| " : " | ");
		JSON_FOREACH (it, json_getz(json_getz(results[i], "devices"), "results")) {
			if (out->n && out->p[out->n - 1] != ' ')
				(void)buf_addc(out, ' ');
			print_result(s, it, out);
		}
	}
}

static void check_part(struct scene *s, struct json *results, struct str text)
{
	struct buf out = BUF_INIT(1UL << 20);
	struct str pointer = next_word(&text);
	const struct json *part = json_pointer(results, pointer);

	if (part)
		(void)json_print(&out, part, NULL);
	else
		(void)buf_addz(&out, "none");
	if (!str_eq(text, buf_str(&out)))
		COMPLAIN(s, "%.*s: at %.*s\n  expected %.*s\n  got      %s\n", STR_ARG(s->name),
			 STR_ARG(pointer), STR_ARG(text), out.p);
	buf_release(&out);
}

static void check_explanation(struct scene *s, struct inventory *inv,
			      const struct json *const *claims, int r)
{
	struct allocate_node node = { s->node, s->labels };
	struct buf out = BUF_INIT(1UL << 20);
	struct explain e;

	explain_fit(inv, &node, claims, s->claims->n, NULL, &s->arena, &e);
	if (e.fits != (r == 1))
		COMPLAIN(s, "%.*s: explain says %d\n", STR_ARG(s->name), e.fits);
	explain_print(&e, &node, 3, &out);
	for (size_t i = 0; i < s->nwhy; i++)
		if (str_find(buf_str(&out), s->why[i]) < 0)
			COMPLAIN(s, "%.*s: expected to read: %.*s\ngot:\n%s\n", STR_ARG(s->name),
				 STR_ARG(s->why[i]), out.p);
	buf_release(&out);
}

/* Checks the same with a prepared plan, after trying it on another node. */
static void check_prepared(struct scene *s, struct inventory *inv, const struct json *const *claims,
			   size_t n, const struct str *expected)
{
	struct allocate_report report = { 0 };
	struct allocate_options options = { .report = &report };
	struct allocate_plan *plan = allocate_prepare(inv, claims, n, &options, &s->arena);
	struct allocate_node node = { s->node, s->labels }, other = { STR("elsewhere"), NULL };
	struct json *results[CLAIMS_MAX] = { 0 };
	struct buf out = BUF_INIT(1UL << 20);
	struct error err = { 0 };
	int r;

	(void)allocate_on(plan, &other, NULL, NULL, NULL);
	r = allocate_on(plan, &node, &s->arena, results, &err);
	assert_int_equal(allocate_on(plan, &node, NULL, NULL, NULL), r);
	(void)allocate_on(plan, &node, &s->arena, results, NULL);
	print_outcome(s, r, &report, results, &err, &out);
	if (!str_eq(*expected, buf_str(&out)))
		COMPLAIN(s, "%.*s, prepared\n  expected %.*s\n  got      %.*s\n", STR_ARG(s->name),
			 STR_ARG(*expected), STR_ARG(buf_str(&out)));
	buf_release(&out);
}

static void run_scene(struct scene *s)
{
	struct allocate_node node = { s->node, s->labels };
	struct inventory *inv = make_inventory(s);
	const struct json *claims[CLAIMS_MAX] = { 0 };
	struct json *results[CLAIMS_MAX] = { 0 }, *all = json_make_array(&s->arena);
	struct buf out = BUF_INIT(1UL << 20);
	struct allocate_report report;
	struct error err = { 0 };
	size_t n = 0;
	int r;

	JSON_FOREACH (it, s->claims)
		claims[n++] = it;
	r = allocate(inv, &node, claims, n, &(struct allocate_options){ .report = &report },
		     &s->arena, results, &err);
	print_outcome(s, r, &report, results, &err, &out);
	if (!str_eq(s->expected, buf_str(&out)))
		COMPLAIN(s, "%.*s\n  expected %.*s\n  got      %.*s\n", STR_ARG(s->name),
			 STR_ARG(s->expected), STR_ARG(buf_str(&out)));
	check_prepared(s, inv, claims, n, &s->expected);
	if (r > 0)
		outcome_accepted(inv, claims, n, &s->arena, results);
	for (size_t i = 0; r > 0 && i < n; i++)
		json_append(all, results[i]);
	for (size_t i = 0; i < s->nat; i++)
		check_part(s, all, s->at[i]);
	check_explanation(s, inv, claims, r);
	buf_release(&out);
	inventory_free(inv);
}

/* Runs all cases of a file through `run`; returns how many. Adds to *failures. */
static size_t each_case(const char *file, void (*run)(struct scene *s), size_t *failures)
{
	char path[512];
	struct buf text = BUF_INIT(1UL << 20);
	struct error err = { 0 };
	struct str rest, line;
	struct scene s;
	size_t n = 0;

	(void)snprintf(path, sizeof(path), "%s/%s.cases", DRA_CASES, file);
	if (file_read(path, &text, &err) < 0)
		fail_msg("%s", err.msg);
	rest = buf_str(&text);
	scene_init(&s);
	while (str_split(&rest, '\n', &line)) {
		if (line.n && line.p[0] == '#') {
			if (!s.name.n)
				s.name = str_trim(str_skip(line, 1));
		} else if (str_trim(line).n) {
			read_line(&s, line);
		}
		if (str_trim(line).n && rest.p)
			continue;
		if (s.claims->n) {
			run(&s);
			*failures += s.failures;
			n++;
		}
		arena_release(&s.arena);
		scene_init(&s);
	}
	arena_release(&s.arena);
	buf_release(&text);
	return n;
}

static const char *const files[] = { "alternatives", "capacity", "constraints", "counters",
				     "modes",        "nodes",    "results",     "taints" };

static void allocations_are_as_the_cases_say(void **state)
{
	size_t n = 0, failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		n += each_case(files[i], run_scene, &failures);
	print_message("# %zu cases\n", n);
	assert_int_equal(failures, 0);
	assert_true(n >= 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_as_the_cases_say),
	};

	return cmocka_run_group_tests_name("dra/allocate", tests, NULL, NULL);
}
