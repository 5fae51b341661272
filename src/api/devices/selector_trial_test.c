/*
 * Trials: the decision is the same with and without one, and the work is split into parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/devices/known_selectors.h"
#include "api/devices/selector_trial.h"
#include "api/schema/gates.h"
#include "api/schema/schema.h"
#include "api/validate/validate.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"

struct bench {
	struct arena arena;
	struct gates gates;
	const struct schema_kind *kind;
	struct json *class;
};

static void set_up(struct bench *b)
{
	arena_init(&b->arena, 64 * MIB);
	gates_init(&b->gates);
	b->kind = schema_find_resource(STR("resource.k8s.io"), STR("v1"), STR("deviceclasses"));
}

/* Adds `times` patterns of some 16,000 steps each. */
static void add_heavy(struct buf *out, int number, int times)
{
	for (int i = 0; i < times; i++)
		(void)buf_printf(out,
				 "%s'a'.matches('(ab|cd|ef|gh|ij|kl|mn|op|qr|st|uv|wx|y%d){999}')",
				 i ? "||" : "", number);
}

/* A class with these selectors, ended by NULL. */
static void make_class(struct bench *b, const char *const *expressions)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(8 * MIB);

	(void)buf_addz(&text, "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
			      "\"metadata\":{\"name\":\"c\"},\"spec\":{\"selectors\":[");
	for (int i = 0; expressions[i]; i++)
		(void)buf_printf(&text, "%s{\"cel\":{\"expression\":\"%s\"}}", i ? "," : "",
				 expressions[i]);
	(void)buf_addz(&text, "]}}");
	assert_int_equal(
		json_parse(&b->arena, arena_str(&b->arena, buf_str(&text)), NULL, &b->class, NULL),
		0);
}

/* The faults of the class, one per line. */
static char *faults(struct bench *b, const struct selector_trial *trial, struct cel_budget *budget)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct field_errors errs;
	struct text_list *warnings = NULL;
	struct validation v = { .errs = &errs,
				.arena = &b->arena,
				.gates = &b->gates,
				.kind = b->kind,
				.object = b->class,
				.warnings = &warnings,
				.trial = trial,
				.budget = budget };

	field_errors_init(&errs, &b->arena);
	validate_create(&v);
	for (const struct field_error *e = errs.first; e; e = e->next)
		(void)buf_printf(&out, "%d %.*s %.*s %.*s\n", (int)e->type, STR_ARG(e->path),
				 STR_ARG(e->value), STR_ARG(e->detail));
	return arena_strdup(&b->arena, buf_str(&out));
}

static int go_on_to_the_end(struct selector_trial *t, uint64_t steps)
{
	int parts = 1;

	while (selector_trial_go_on(t, steps))
		parts++;
	return parts;
}

static struct selector_trial *try_class(struct bench *b, const struct known_selectors *known)
{
	return selector_trial_new(&b->arena, b->kind, b->class, &b->gates, known);
}

static void a_trial_changes_no_decision(void **state)
{
	CLEANUP(buf_release) struct buf heavy = BUF_INIT(MIB);
	const char *costly = "device.attributes.all(a,device.attributes.all(b,"
			     "device.attributes.all(c,device.attributes.all(d,a!=b||c!=d))))";
	struct cel_budget without = { .left = CEL_COMPILE_MAX }, with = without;
	struct selector_trial *trial;
	struct bench b;
	char *expected;

	(void)state;
	set_up(&b);
	add_heavy(&heavy, 1, 100);
	make_class(&b, (const char *[]){ "device.driver == 'a'", "device.driver", "1 +", costly,
					 heavy.p, "int('x') == 1", "device.driver == 'a'",
					 "unknown", NULL });
	expected = faults(&b, NULL, &without);
	assert_non_null(strstr(expected, "spec.selectors[4].cel.expression  too complex, compiling "
					 "the CEL expression exceeds cost limit"));
	assert_null(strstr(expected, "selectors[0]"));
	trial = try_class(&b, NULL);
	assert_true(go_on_to_the_end(trial, 1) >= 5);
	assert_string_equal(faults(&b, trial, &with), expected);
	assert_int_equal(with.left, without.left);
	arena_release(&b.arena);
}

static void the_budget_of_the_object_ends_a_trial(void **state)
{
	const char *expressions[41] = { NULL };
	struct cel_budget without = { .left = CEL_COMPILE_MAX }, with = without;
	struct selector_trial *trial;
	struct bench b;
	char *expected;

	(void)state;
	set_up(&b);
	for (int i = 0; i < 32; i++) {
		struct buf heavy = BUF_INIT(MIB);

		add_heavy(&heavy, i, 9);
		expressions[i] = arena_strdup(&b.arena, buf_str(&heavy));
		buf_release(&heavy);
	}
	make_class(&b, expressions);
	expected = faults(&b, NULL, &without);
	assert_non_null(strstr(expected, CEL_COMPILE_EXCEEDED));
	trial = try_class(&b, NULL);
	/* Parts are small: no turn of the loop takes long. */
	assert_in_range(go_on_to_the_end(trial, SELECTOR_TRIAL_STEPS),
			CEL_COMPILE_MAX / (SELECTOR_TRIAL_STEPS + SELECTOR_COMPILE_MAX), 32);
	assert_string_equal(faults(&b, trial, &with), expected);
	arena_release(&b.arena);
}

static void a_long_plain_expression_is_not_too_complex(void **state)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(MIB);
	struct bench b;

	(void)state;
	set_up(&b);
	while (plain.n < CEL_EXPRESSION_MAX - 30)
		(void)buf_printf(&plain, "%sdevice.driver=='%zu'", plain.n ? "||" : "", plain.n);
	make_class(&b, (const char *[]){ plain.p, NULL });
	assert_string_equal(faults(&b, NULL, NULL), "");
	arena_release(&b.arena);
}

static void only_what_is_not_known_is_tried(void **state)
{
	struct known_selectors *known = known_selectors_new();
	struct selector_trial *trial;
	struct bench b;

	(void)state;
	set_up(&b);
	make_class(&b, (const char *[]){ "true", "false", "false", NULL });
	known_selectors_add(known, STR("true"));
	trial = try_class(&b, known);
	(void)go_on_to_the_end(trial, SELECTOR_TRIAL_STEPS);
	assert_null(selector_trial_find(trial, STR("true")));
	assert_non_null(selector_trial_find(trial, STR("false")));
	assert_null(selector_trial_find(NULL, STR("false")));
	known_selectors_add(known, STR("false"));
	assert_null(try_class(&b, known));
	b.kind = schema_find_resource(STR(""), STR("v1"), STR("configmaps"));
	assert_null(try_class(&b, NULL));
	known_selectors_free(known);
	arena_release(&b.arena);
}

/*
 * JSON patches and merge patches have them at other places, and other values may be nested deeply.
 */
static void expressions_are_found_at_any_depth(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct selector_trial *trial;
	struct bench b;

	(void)state;
	set_up(&b);
	for (int i = 0; i < 4999; i++)
		(void)buf_addz(&text, "[");
	(void)buf_addz(&text, "{\"op\":\"add\",\"value\":{\"expression\":\"1 == 1\"}}");
	for (int i = 0; i < 4999; i++)
		(void)buf_addz(&text, "]");
	assert_int_equal(json_parse(&b.arena, buf_str(&text), NULL, &b.class, NULL), 0);
	trial = try_class(&b, NULL);
	assert_false(selector_trial_go_on(trial, SELECTOR_TRIAL_STEPS));
	assert_non_null(selector_trial_find(trial, STR("1 == 1")));
	arena_release(&b.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trial_changes_no_decision),
		cmocka_unit_test(the_budget_of_the_object_ends_a_trial),
		cmocka_unit_test(a_long_plain_expression_is_not_too_complex),
		cmocka_unit_test(only_what_is_not_known_is_tried),
		cmocka_unit_test(expressions_are_found_at_any_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
