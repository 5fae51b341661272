/*
 * Any bytes into the YAML parser. What it accepts must print to text that
 * reads back as the same value and prints the same again.
 */
#include "base/limits.h"
#include "base/yaml.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(yaml_reader_free) struct yaml_reader *r = NULL;
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct json *v;

	arena_init(&a, 256 * MIB);
	r = yaml_reader_new(str_of(data, size), &(struct yaml_options){ .report = &report });
	while (yaml_reader_next(r, &a, &v, NULL) > 0) {
		check_round_trip(&a, v, false);
		check_round_trip(&a, v, true);
	}
	return 0;
}
