/*
 * Any bytes into the YAML parser. An accepted value must print to text that reads back as the same
 * value and prints the same again. Duplicate keys are found only where the parser reported some, or
 * merges.
 */
#include "base/core/limits.h"
#include "base/yaml/yaml.h"
#include "target.h"

static void check_round_trip(struct arena *a, const struct json *v, bool sort)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(64 * MIB), second = BUF_INIT(64 * MIB);
	const struct yaml_style style = { .sort = sort };
	struct json *back;

	require(yaml_print(&first, v, &style, NULL) == 0);
	require(yaml_parse(a, buf_str(&first), NULL, &back, NULL) == 0);
	require(json_equal(v, back));
	require(yaml_print(&second, back, &style, NULL) == 0);
	require(str_eq(buf_str(&first), buf_str(&second)));
}

static void check_repeats(struct arena *a, struct str text)
{
	struct yaml_repeat *found = NULL;
	struct json_report report = { 0 };
	struct json *v;
	bool single;

	single = yaml_parse(a, text, &(struct yaml_options){ .report = &report }, &v, NULL) == 0;
	if (yaml_repeats(a, text, 10, &found, NULL) < 0 || !single)
		return;
	require(!found || report.duplicate_count || report.merges || v->type == JSON_NULL);
	for (size_t n = 0; found; found = found->next, n++)
		require(n < 10 && found->line > 0 && found->key.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(yaml_reader_free) struct yaml_reader *r = NULL;
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct json *v;

	arena_init(&a, 256 * MIB);
	check_repeats(&a, str_of(data, size));
	r = yaml_reader_new(str_of(data, size), &(struct yaml_options){ .report = &report });
	while (yaml_reader_next(r, &a, &v, NULL) > 0) {
		check_round_trip(&a, v, false);
		check_round_trip(&a, v, true);
	}
	return 0;
}
