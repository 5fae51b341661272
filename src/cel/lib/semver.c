/*
 * Functions of semantic versions. Kubernetes' library "semver".
 */
#include "cel/core/semver.h"
#include "cel/lib/libraries.h"

static struct cel_value lib_semver_make(struct cel_eval *ev, struct str text, bool normalize)
{
	struct cel_semver *v = cel_alloc(ev, sizeof(*v));
	struct error err;

	if (!v)
		return cel_too_large();
	if (cel_semver_parse(text, normalize, v, &err) < 0)
		return cel_errorf(ev, "%s", err.msg);
	return (struct cel_value){ .kind = CEL_SEMVER, .semver = v };
}

static struct cel_value semver_make(struct cel_eval *ev, const struct cel_value *args)
{
	return lib_semver_make(ev, args[0].s, false);
}

static struct cel_value semver_make_normal(struct cel_eval *ev, const struct cel_value *args)
{
	return lib_semver_make(ev, args[0].s, args[1].b);
}

static struct cel_value semver_is(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_semver v;

	(void)ev;
	return CEL_BOOL_V(cel_semver_parse(args[0].s, false, &v, NULL) == 0);
}

static struct cel_value semver_is_normal(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_semver v;

	(void)ev;
	return CEL_BOOL_V(cel_semver_parse(args[0].s, args[1].b, &v, NULL) == 0);
}

static struct cel_value semver_greater(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(cel_semver_cmp(args[0].semver, args[1].semver) > 0);
}

static struct cel_value semver_less(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(cel_semver_cmp(args[0].semver, args[1].semver) < 0);
}

static struct cel_value semver_compare(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(cel_semver_cmp(args[0].semver, args[1].semver));
}

static struct cel_value semver_major(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V((int64_t)args[0].semver->major);
}

static struct cel_value semver_minor(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V((int64_t)args[0].semver->minor);
}

static struct cel_value semver_patch(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V((int64_t)args[0].semver->patch);
}

static const struct cel_overload overloads[] = {
	{ "compareTo",
	  "semver_compare_to",
	  &cel_int,
	  { &cel_semver, &cel_semver },
	  2,
	  true,
	  semver_compare },
	{ "isGreaterThan",
	  "semver_is_greater_than",
	  &cel_bool,
	  { &cel_semver, &cel_semver },
	  2,
	  true,
	  semver_greater },
	{ "isLessThan",
	  "semver_is_less_than",
	  &cel_bool,
	  { &cel_semver, &cel_semver },
	  2,
	  true,
	  semver_less },
	{ "isSemver", "is_semver_string", &cel_bool, { &cel_string }, 1, false, semver_is },
	{ "isSemver",
	  "is_semver_string_bool",
	  &cel_bool,
	  { &cel_string, &cel_bool },
	  2,
	  false,
	  semver_is_normal },
	{ "major", "semver_major", &cel_int, { &cel_semver }, 1, true, semver_major },
	{ "minor", "semver_minor", &cel_int, { &cel_semver }, 1, true, semver_minor },
	{ "patch", "semver_patch", &cel_int, { &cel_semver }, 1, true, semver_patch },
	{ "semver", "string_to_semver", &cel_semver, { &cel_string }, 1, false, semver_make },
	{ "semver",
	  "string_bool_to_semver",
	  &cel_semver,
	  { &cel_string, &cel_bool },
	  2,
	  false,
	  semver_make_normal },
};

const struct cel_library cel_lib_semver = {
	.name = "kubernetes.Semver",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
