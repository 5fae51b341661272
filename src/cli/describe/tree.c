/*
 * The same layout as kubectl's for kinds without a description of their own: names as words, a
 * level for each object.
 */
#include "base/core/limits.h"
#include "cli/cli_limits.h"
#include "cli/describe/devices.h"
#include "cli/output/output.h"

enum { DEPTH_MAX = 24 }; /* no API type is that deep; deeper values are printed as JSON */

struct str describe_clean(struct describe *d, struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);

	output_clean_text(&out, text, "");
	return arena_str(d->arena, buf_str(&out));
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

struct str describe_label(struct describe *d, struct str field)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	for (size_t i = 0; i < field.n; i++) {
		if (i > 0 && is_upper(field.p[i]) && !is_upper(field.p[i - 1]))
			(void)buf_addc(&out, ' ');
		(void)buf_addc(&out, i == 0 ? upper(field.p[i]) : field.p[i]);
	}
	return describe_clean(d, buf_str(&out));
}

static struct str value_text(struct describe *d, const struct json *v)
{
	return describe_clean(d, describe_value(d, v));
}

/* --- maps by name ---------------------------------------------------------------------------- */

static struct str name_label(struct describe *d, const struct json *map, struct str name)
{
	struct str large = describe_clean(d, name);

	if (large.n == 0 || str_chr(name, '/') >= 0)
		return large;
	large = str_from(
		arena_printf(d->arena, "%c%.*s", upper(large.p[0]), STR_ARG(str_skip(large, 1))));
	return str_eq(large, name) || !json_get(map, large) ? large : describe_clean(d, name);
}

/* {"string":"x"} of an attribute, {"value":"1Gi"} of a capacity; an amount is its own value. */
static const struct json *plain_value(const struct json *v)
{
	const struct json *value = json_getz(v, "value");

	if (!value)
		value = json_is(v, JSON_OBJECT) ? json_first(v) : v;
	return value;
}

static void named(struct describe *d, int level, const struct json *map, bool deep)
{
	size_t n;
	const struct json **v = describe_sorted(d, map, &n);

	for (size_t i = 0; i < n; i++) {
		const struct json *value = plain_value(v[i]);

		describe_line(d, level, "%.*s:\t%.*s", STR_ARG(name_label(d, map, json_key(v[i]))),
			      STR_ARG(value_text(d, value)));
		if (!deep || !json_is(v[i], JSON_OBJECT))
			continue;
		JSON_FOREACH (it, v[i]) {
			if (it != value)
				describe_member(d, level + 1, it);
		}
	}
}

void describe_named(struct describe *d, int level, const struct json *map)
{
	named(d, level, map, true);
}

void describe_values(struct describe *d, int level, const struct json *map)
{
	named(d, level, map, false);
}

static bool has_names(const struct json *member)
{
	static const char *const keys[] = { "attributes", "capacity", "counters",
					    "availableCapacity", "largestShare" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (str_eqz(json_key(member), keys[i]))
			return json_is(member, JSON_OBJECT);
	}
	return false;
}

/* --- the rest -------------------------------------------------------------------------------- */

static void describe_members(struct describe *d, int level, const struct json *object)
{
	const struct json *name = json_getz(object, "name");

	/* The name comes first, in whatever order the server sends the members. */
	if (name)
		describe_member(d, level, name);
	JSON_FOREACH (it, object) {
		if (it != name)
			describe_member(d, level, it);
	}
}

static void describe_elements(struct describe *d, int level, const struct json *array)
{
	JSON_FOREACH (it, array) {
		if (json_is(it, JSON_OBJECT))
			describe_members(d, level, it);
		else
			describe_line(d, level, "%.*s", STR_ARG(value_text(d, it)));
	}
}

void describe_member(struct describe *d, int level, const struct json *member)
{
	struct str label = describe_label(d, json_key(member));

	if (json_is_container(member) && json_count(member) == 0)
		return;
	if (!json_is_container(member) || level > DEPTH_MAX) {
		describe_line(d, level, "%.*s:\t%.*s", STR_ARG(label),
			      STR_ARG(value_text(d, member)));
		return;
	}
	describe_line(d, level, "%.*s:", STR_ARG(label));
	if (has_names(member))
		describe_named(d, level + 1, member);
	else if (json_is(member, JSON_OBJECT))
		describe_members(d, level + 1, member);
	else
		describe_elements(d, level + 1, member);
}
