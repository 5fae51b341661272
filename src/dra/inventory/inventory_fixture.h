/*
 * inventory_fixture - builds an inventory from short lines of text, for tests.
 *
 *	slice NAME POOL GENERATION/COUNT NODES DEVICE ..
 *	counters NAME POOL GENERATION/COUNT NODES SET.COUNTER=QUANTITY ..
 *	claim NAMESPACE/NAME RESULT .. [for=UID ..]     stored; reserved for pods
 *	assume NAMESPACE/NAME RESULT ..
 *	forget NAMESPACE/NAME
 *	rule NAME POOL|* DEVICE|* EFFECT         without selector: rule NAME - - EFFECT
 *	node NAME [LABEL=VALUE ..]               it exists
 *	remove slice|claim|rule|node NAME
 *
 * POOL is in the driver d.example.com, or DRIVER:POOL. NODES is a node's name, `all`, `each` (per
 * device), `none` or LABEL=VALUE. DEVICE is NAME or NAME(OPTION,..):
 *
 *	multi  CAPACITY=QUANTITY  SET.COUNTER:QUANTITY  @ATTRIBUTE=TEXT  !KEY=EFFECT  bind  groups
 *	on=NODE  onall  in=LABEL=VALUE
 *
 * A capacity's request policy follows its quantity: ;default:Q ;min:Q ;max:Q ;step:Q ;value:Q (once
 * for each value).
 *
 * RESULT is POOL/DEVICE or POOL/DEVICE(OPTION,..): share=ID CAPACITY=QUANTITY admin request=NAME. A
 * slice's line may have `type=ATTRIBUTE` (partitionTypeAttribute) and `generation=N`
 * (metadata.generation) among its devices.
 */
#ifndef DRA_INVENTORY_INVENTORY_FIXTURE_H
#define DRA_INVENTORY_INVENTORY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "dra/inventory/content.h"

#define WORLD_DRIVER "d.example.com"

/* JSON text of a device's members, collected while its options are read. */
struct world_parts {
	struct buf attributes, capacity, counters, taints, other;
};

static inline void world_parts_init(struct world_parts *p)
{
	buf_init(&p->attributes, MIB);
	buf_init(&p->capacity, MIB);
	buf_init(&p->counters, MIB);
	buf_init(&p->taints, MIB);
	buf_init(&p->other, MIB);
}

static inline void world_parts_release(struct world_parts *p)
{
	buf_release(&p->attributes);
	buf_release(&p->capacity);
	buf_release(&p->counters);
	buf_release(&p->taints);
	buf_release(&p->other);
}

static inline const char *world_comma(const struct buf *b)
{
	return b->n ? "," : "";
}

/* Removes the next word from the line; empty at the end. */
static inline struct str world_word(struct str *line)
{
	struct str word = STR_NULL;

	while (line->p && (str_split(line, ' ', &word), word.n == 0 && line->p))
		;
	return word;
}

/* Splits "a=b" at the separator; false without one. */
static inline bool world_cut(struct str s, char sep, struct str *ret_a, struct str *ret_b)
{
	ptrdiff_t at = str_chr(s, sep);

	*ret_a = *ret_b = STR_NULL;
	if (at < 0)
		return false;
	*ret_a = str_of(s.p, (size_t)at);
	*ret_b = str_skip(s, (size_t)at + 1);
	return true;
}

/* NAME(OPTIONS): the name; options without the brackets. */
static inline struct str world_name(struct str word, struct str *ret_options)
{
	struct str name;

	if (!world_cut(word, '(', &name, ret_options))
		return word;
	ret_options->n--;
	return name;
}

static inline void world_nodes(struct buf *out, struct str nodes)
{
	struct str label, value;

	if (str_eqz(nodes, "all"))
		buf_addz(out, ",\"allNodes\":true");
	else if (str_eqz(nodes, "each"))
		buf_addz(out, ",\"perDeviceNodeSelection\":true");
	else if (world_cut(nodes, '=', &label, &value))
		buf_printf(out,
			   ",\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{"
			   "\"key\":\"%.*s\",\"operator\":\"In\",\"values\":[\"%.*s\"]}]}]}",
			   STR_ARG(label), STR_ARG(value));
	else if (!str_eqz(nodes, "none"))
		buf_printf(out, ",\"nodeName\":\"%.*s\"", STR_ARG(nodes));
}

static inline void world_capacity(struct buf *out, struct str name, struct str words)
{
	struct buf range = BUF_INIT(KIB), values = BUF_INIT(KIB), other = BUF_INIT(KIB);
	struct str word = STR(""), key, q;

	str_split(&words, ';', &word);
	buf_printf(out, "%s\"%.*s\":{\"value\":\"%.*s\"", world_comma(out), STR_ARG(name),
		   STR_ARG(word));
	while (words.p && str_split(&words, ';', &word)) {
		assert_true(world_cut(word, ':', &key, &q));
		if (str_eqz(key, "value"))
			buf_printf(&values, "%s\"%.*s\"", world_comma(&values), STR_ARG(q));
		else if (str_eqz(key, "default"))
			buf_printf(&other, ",\"default\":\"%.*s\"", STR_ARG(q));
		else
			buf_printf(&range, "%s\"%.*s\":\"%.*s\"", world_comma(&range), STR_ARG(key),
				   STR_ARG(q));
	}
	if (values.n > 0)
		buf_printf(&other, ",\"validValues\":[%.*s]", STR_ARG(buf_str(&values)));
	if (range.n > 0)
		buf_printf(&other, ",\"validRange\":{%.*s}", STR_ARG(buf_str(&range)));
	if (other.n > 0)
		buf_printf(out, ",\"requestPolicy\":{%.*s}", STR_ARG(str_skip(buf_str(&other), 1)));
	buf_addc(out, '}');
	buf_release(&range);
	buf_release(&values);
	buf_release(&other);
}

static inline void world_device_option(struct world_parts *p, struct str o)
{
	struct str a, b, set;

	if (str_eqz(o, "multi"))
		buf_printf(&p->other, ",\"allowMultipleAllocations\":true");
	else if (str_eqz(o, "bind"))
		buf_printf(&p->other, ",\"bindingConditions\":[\"Bound\"],"
				      "\"bindingFailureConditions\":[\"Failed\"]");
	else if (str_eqz(o, "onall"))
		buf_printf(&p->other, ",\"allNodes\":true");
	else if (str_eqz(o, "groups"))
		buf_printf(&p->counters,
			   "%s{\"counterSet\":\"s\",\"counters\":{},"
			   "\"compatibilityGroups\":[\"g\"]}",
			   world_comma(&p->counters));
	else if (o.p[0] == '@' && world_cut(str_skip(o, 1), '=', &a, &b))
		buf_printf(&p->attributes, "%s\"%.*s\":{\"string\":\"%.*s\"}",
			   world_comma(&p->attributes), STR_ARG(a), STR_ARG(b));
	else if (o.p[0] == '!' && world_cut(str_skip(o, 1), '=', &a, &b))
		buf_printf(&p->taints, "%s{\"key\":\"%.*s\",\"effect\":\"%.*s\"}",
			   world_comma(&p->taints), STR_ARG(a), STR_ARG(b));
	else if (world_cut(o, ':', &a, &b) && world_cut(a, '.', &set, &a))
		buf_printf(
			&p->counters,
			"%s{\"counterSet\":\"%.*s\",\"counters\":{\"%.*s\":{\"value\":\"%.*s\"}}}",
			world_comma(&p->counters), STR_ARG(set), STR_ARG(a), STR_ARG(b));
	else if (str_starts(o, STR("in=")))
		world_nodes(&p->other, str_skip(o, 3));
	else if (world_cut(o, '=', &a, &b) && str_eqz(a, "on"))
		buf_printf(&p->other, ",\"nodeName\":\"%.*s\"", STR_ARG(b));
	else if (world_cut(o, '=', &a, &b))
		world_capacity(&p->capacity, a, b);
	else
		fail_msg("option %.*s", STR_ARG(o));
}

static inline void world_device(struct buf *out, struct str word)
{
	struct str options, o, name = world_name(word, &options);
	struct world_parts p;

	world_parts_init(&p);
	while (options.p && str_split(&options, ',', &o))
		world_device_option(&p, o);
	buf_printf(out,
		   "{\"name\":\"%.*s\",\"attributes\":{%.*s},\"capacity\":{%.*s},"
		   "\"consumesCounters\":[%.*s],\"taints\":[%.*s]%.*s}",
		   STR_ARG(name), STR_ARG(buf_str(&p.attributes)), STR_ARG(buf_str(&p.capacity)),
		   STR_ARG(buf_str(&p.counters)), STR_ARG(buf_str(&p.taints)),
		   STR_ARG(buf_str(&p.other)));
	world_parts_release(&p);
}

static inline struct str world_pool(struct str word, struct str *ret_driver)
{
	struct str pool;

	if (world_cut(word, ':', ret_driver, &pool))
		return pool;
	*ret_driver = STR(WORLD_DRIVER);
	return word;
}

/* The object of a line `slice` or `counters`. */
static inline void world_slice(struct buf *out, struct str line, bool counters)
{
	struct str name = world_word(&line), driver, pool = world_pool(world_word(&line), &driver);
	struct str gc = world_word(&line), generation, count, nodes = world_word(&line), word, set,
		   c = STR_NULL;
	struct buf devices = BUF_INIT(MIB), shared = BUF_INIT(MIB), other = BUF_INIT(MIB);
	int64_t meta = 1;

	assert_true(world_cut(gc, '/', &generation, &count));
	world_nodes(&other, nodes);
	while ((word = world_word(&line)).n > 0) {
		if (str_starts(word, STR("type="))) {
			buf_printf(&other, ",\"partitionTypeAttribute\":\"%.*s\"",
				   STR_ARG(str_skip(word, 5)));
		} else if (str_starts(word, STR("generation="))) {
			assert_true(str_to_i64(str_skip(word, 11), &meta));
		} else if (counters) {
			assert_true(world_cut(word, '=', &set, &word) &&
				    world_cut(set, '.', &set, &c));
			buf_printf(&shared,
				   "%s{\"name\":\"%.*s\",\"counters\":{\"%.*s\":{\"value\":\"%.*"
				   "s\"}}}",
				   world_comma(&shared), STR_ARG(set), STR_ARG(c), STR_ARG(word));
		} else {
			buf_addz(&devices, world_comma(&devices));
			world_device(&devices, word);
		}
	}
	buf_printf(
		out,
		"{\"metadata\":{\"name\":\"%.*s\",\"generation\":%lld},\"spec\":{\"driver\":"
		"\"%.*s\",\"pool\":{\"name\":\"%.*s\",\"generation\":%.*s,"
		"\"resourceSliceCount\":%.*s}%.*s,\"devices\":[%.*s],\"sharedCounters\":[%.*s]}}",
		STR_ARG(name), (long long)meta, STR_ARG(driver), STR_ARG(pool), STR_ARG(generation),
		STR_ARG(count), STR_ARG(buf_str(&other)), STR_ARG(buf_str(&devices)),
		STR_ARG(buf_str(&shared)));
	buf_release(&devices);
	buf_release(&shared);
	buf_release(&other);
}

static inline void world_result_option(struct world_parts *p, struct str o)
{
	struct str a, b;

	if (str_eqz(o, "admin"))
		buf_addz(&p->other, ",\"adminAccess\":true");
	else if (!world_cut(o, '=', &a, &b))
		fail_msg("option %.*s", STR_ARG(o));
	else if (str_eqz(a, "share"))
		buf_printf(&p->other, ",\"shareID\":\"%.*s\"", STR_ARG(b));
	else if (str_eqz(a, "request"))
		buf_printf(&p->other, ",\"request\":\"%.*s\"", STR_ARG(b));
	else
		buf_printf(&p->capacity, "%s\"%.*s\":\"%.*s\"", world_comma(&p->capacity),
			   STR_ARG(a), STR_ARG(b));
}

static inline void world_result(struct buf *out, struct str word)
{
	struct str options, o, place = world_name(word, &options), driver, pool, device;
	struct world_parts p;

	world_parts_init(&p);
	assert_true(world_cut(place, '/', &pool, &device));
	pool = world_pool(pool, &driver);
	while (options.p && str_split(&options, ',', &o))
		world_result_option(&p, o);
	buf_printf(
		out,
		"{\"driver\":\"%.*s\",\"pool\":\"%.*s\",\"device\":\"%.*s\",\"consumedCapacity\":"
		"{%.*s}%.*s}",
		STR_ARG(driver), STR_ARG(pool), STR_ARG(device), STR_ARG(buf_str(&p.capacity)),
		STR_ARG(buf_str(&p.other)));
	world_parts_release(&p);
}

/* The object of a line `claim` or `assume`; the uid is "uid-" and the name. */
static inline void world_claim(struct buf *out, struct str line)
{
	struct str key = world_word(&line), namespace, name, word, uid;
	struct buf results = BUF_INIT(MIB), users = BUF_INIT(MIB);

	assert_true(world_cut(key, '/', &namespace, &name));
	uid = name;
	while ((word = world_word(&line)).n > 0) {
		if (str_starts(word, STR("for="))) {
			buf_printf(&users, "%s{\"resource\":\"pods\",\"uid\":\"%.*s\"}",
				   world_comma(&users), STR_ARG(str_skip(word, 4)));
			continue;
		}
		if (str_starts(word, STR("uid="))) {
			uid = str_skip(word, 4);
			continue;
		}
		buf_addz(&results, world_comma(&results));
		world_result(&results, word);
	}
	buf_printf(out,
		   "{\"metadata\":{\"namespace\":\"%.*s\",\"name\":\"%.*s\",\"uid\":\"uid-%.*s\"},"
		   "\"status\":{\"reservedFor\":[%.*s]",
		   STR_ARG(namespace), STR_ARG(name), STR_ARG(uid), STR_ARG(buf_str(&users)));
	if (results.n > 0)
		buf_printf(out, ",\"allocation\":{\"devices\":{\"results\":[%.*s]}}",
			   STR_ARG(buf_str(&results)));
	buf_addz(out, "}}");
	buf_release(&results);
	buf_release(&users);
}

static inline void world_rule(struct buf *out, struct str line)
{
	struct str name = world_word(&line), pool = world_word(&line), device = world_word(&line);
	struct str effect = world_word(&line);

	buf_printf(out,
		   "{\"metadata\":{\"name\":\"%.*s\"},\"spec\":{\"taint\":{\"key\":\"%.*s\","
		   "\"effect\":\"%.*s\"}",
		   STR_ARG(name), STR_ARG(name), STR_ARG(effect));
	if (!str_eqz(pool, "-")) {
		buf_printf(out, ",\"deviceSelector\":{\"driver\":\"" WORLD_DRIVER "\"");
		if (!str_eqz(pool, "*"))
			buf_printf(out, ",\"pool\":\"%.*s\"", STR_ARG(pool));
		if (!str_eqz(device, "*"))
			buf_printf(out, ",\"device\":\"%.*s\"", STR_ARG(device));
		buf_addz(out, "}");
	}
	buf_addz(out, "}}");
}

static inline void world_remove(struct inventory *inv, struct str line)
{
	struct str kind = world_word(&line), name = world_word(&line), namespace;

	if (str_eqz(kind, "slice"))
		inventory_remove_slice(inv, name);
	else if (str_eqz(kind, "rule"))
		inventory_remove_taint_rule(inv, name);
	else if (str_eqz(kind, "node"))
		inventory_remove_node(inv, name);
	else if (world_cut(name, '/', &namespace, &name))
		inventory_remove_claim(inv, namespace, name);
}

static inline struct json *world_parse(struct arena *a, const struct buf *text)
{
	struct error err = { 0 };
	struct json *v;

	if (json_parse(a, buf_str(text), NULL, &v, &err) < 0)
		fail_msg("%s: %.*s", err.msg, STR_ARG(buf_str(text)));
	return v;
}

static inline int world_put(struct inventory *inv, struct str kind, struct str line,
			    struct error *err)
{
	struct buf text = BUF_INIT(MIB);
	struct json *v;
	struct arena a;
	int r;

	arena_init(&a, 64 * MIB);
	if (str_eqz(kind, "slice") || str_eqz(kind, "counters"))
		world_slice(&text, line, str_eqz(kind, "counters"));
	else if (str_eqz(kind, "rule"))
		world_rule(&text, line);
	else
		world_claim(&text, line);
	v = world_parse(&a, &text);
	if (str_eqz(kind, "slice") || str_eqz(kind, "counters"))
		r = inventory_put_slice(inv, v, err);
	else if (str_eqz(kind, "rule"))
		r = inventory_put_taint_rule(inv, v, err);
	else if (str_eqz(kind, "claim"))
		r = inventory_put_claim(inv, v, err);
	else
		r = inventory_assume(inv, v, json_pointer(v, STR("/status/allocation")), err);
	arena_release(&a);
	buf_release(&text);
	return r;
}

static inline void world_node(struct inventory *inv, struct str line)
{
	struct str name = world_word(&line), word, label, value;
	struct json *labels;
	struct arena a;

	arena_init(&a, MIB);
	labels = json_make_object(&a);
	while ((word = world_word(&line)).n > 0) {
		assert_true(world_cut(word, '=', &label, &value));
		json_add(labels, label, json_make_str(&a, value));
	}
	inventory_put_node(inv, name, labels);
	arena_release(&a);
}

/* Applies one line to the inventory; returns the result of the put. */
static inline int world_tell(struct inventory *inv, struct str line)
{
	struct str rest = line, kind = world_word(&rest), namespace, name;

	if (str_eqz(kind, "remove")) {
		world_remove(inv, rest);
	} else if (str_eqz(kind, "node")) {
		world_node(inv, rest);
	} else if (str_eqz(kind, "lost")) {
		inventory_put_lost_node(inv, world_word(&rest), 1);
	} else if (str_eqz(kind, "forget")) {
		assert_true(world_cut(world_word(&rest), '/', &namespace, &name));
		inventory_forget(inv, namespace, name);
	} else {
		return world_put(inv, kind, rest, NULL);
	}
	return 0;
}

#endif
