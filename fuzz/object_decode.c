/*
 * Any text as a body of each of a few kinds. A body that fits its kind must print, read back, and
 * fit again without a change or a fault; versions convert to the stored one and back; ownership of
 * its fields can be recorded. A body with faults is read once more, to list them in order.
 */
#include "api/codec/decode.h"
#include "api/convert/convert.h"
#include "api/managed/managed.h"
#include "base/core/limits.h"
#include "target.h"

static struct json *reread(struct arena *a, const struct json *v, struct buf *out)
{
	struct json *back;

	buf_clear(out);
	require(json_print(out, v, NULL) == 0);
	require(json_parse(a, arena_str(a, buf_str(out)), NULL, &back, NULL) == 0);
	return back;
}

static void check_versions(struct arena *a, const struct schema_kind *kind, struct json *v)
{
	convert_to_storage(a, v, kind);
	convert_from_storage(a, v, kind);
}

static void check_ownership(struct arena *a, const struct schema_kind *kind, struct json *v)
{
	static const struct managed_writer writer = { .manager = { "fuzz", 4 },
						      .api_version = { "v1", 2 },
						      .now_ns = 1700000000000000000 };
	struct json *again, *meta;

	require(json_copy(a, v, &again, NULL) == 0);
	managed_update(a, kind, v, NULL, &writer);
	/* The same again, by somebody who knows of no managers, is no change. */
	meta = json_getz(again, "metadata");
	if (meta)
		(void)json_remove(meta, STR("managedFields"));
	managed_update(a, kind, again, v, &writer);
	require(json_equal(v, again));
}

static void check_faults(struct arena *a, const struct schema_kind *kind, struct str text,
			 enum decode_format format, const struct decode_report *found)
{
	struct decode_report report;
	struct json *v;
	int r;

	require(decode_reparse(a, text, format, &report, &v, NULL) == 0);
	if (format == DECODE_JSON)
		decode_tell_repeats(a, v, &report);
	r = decode_refit(a, v, kind->type, &report, NULL);
	/* Of JSON a value that counted for nothing may not fit. */
	require(r == 0 || format == DECODE_JSON);
	require(r < 0 || (found->n > 0) <= (report.n > 0));
	require(decode_strict_text(a, &report).n > 0);
}

static void check_kind(const struct schema_kind *kind, struct str text, enum decode_format format)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(256 * MIB);
	struct decode_report report = { 0 }, again = { 0 };
	struct json *v, *back;
	struct gates gates;
	struct error err;

	arena_init(&a, 256 * MIB);
	if (decode_parse(&a, text, format, &report, &v, &err) < 0 ||
	    decode_fit(&a, v, kind->type, &report, &err) < 0) {
		require(err.msg[0]);
		return;
	}
	if (decode_is_unordered(&report, format))
		check_faults(&a, kind, text, format, &report);
	back = reread(&a, v, &out);
	require(json_equal(v, back));
	require(decode_fit(&a, back, kind->type, &again, &err) == 0 && again.n == 0);
	require(json_equal(v, back));
	gates_init(&gates);
	decode_drop_gated(back, NULL, kind->type, &gates);
	(void)decode_drop_served(back, kind->type, &gates);
	check_versions(&a, kind, back);
	check_ownership(&a, kind, v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		struct str api_version, kind;
	} kinds[] = {
		{ { "v1", 2 }, { "Pod", 3 } },
		{ { "resource.k8s.io/v1", 18 }, { "ResourceClaim", 13 } },
		{ { "resource.k8s.io/v1beta1", 23 }, { "ResourceSlice", 13 } },
		{ { "resource.k8s.io/v1beta1", 23 }, { "ResourceClaim", 13 } },
		{ { "events.k8s.io/v1", 16 }, { "Event", 5 } },
	};
	struct str text = str_of(data, size);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct schema_kind *kind = schema_find_kind(kinds[i].api_version,
								  kinds[i].kind);

		require(kind);
		check_kind(kind, text, DECODE_JSON);
		check_kind(kind, text, DECODE_YAML);
	}
	return 0;
}
