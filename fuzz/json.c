/*
 * Any bytes into the JSON parser. An accepted value must print, compactly and indented, to text
 * that reads back as the same value and prints the same again. json_fits() must know how long the
 * compact text is.
 */
#include "base/core/limits.h"
#include "base/json/json.h"
#include "target.h"

static void check_round_trip(struct arena *a, const struct json *v, const struct json_style *style)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(64 * MIB), second = BUF_INIT(64 * MIB);
	struct json *back;

	require(json_print(&first, v, style) == 0);
	require(json_parse(a, buf_str(&first), NULL, &back, NULL) == 0);
	require(json_equal(v, back));
	require(json_print(&second, back, style) == 0);
	require(str_eq(buf_str(&first), buf_str(&second)));
	if (style->indent || style->html)
		return;
	require(json_fits(v, first.n));
	require(!json_fits(v, first.n - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_style styles[] = { { 0 }, { .indent = 2 }, { .html = true } };
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct json *v, *copy;

	arena_init(&a, 256 * MIB);
	if (json_parse(&a, str_of(data, size), &(struct json_options){ .report = &report }, &v,
		       NULL) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		check_round_trip(&a, v, &styles[i]);
	require(json_copy(&a, v, &copy, NULL) == 0);
	require(json_equal(v, copy));
	return 0;
}
