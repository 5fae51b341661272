/*
 * The rules of upstream's PolicyToEvaluate(), down to the order and the wording of errors.
 */
#include "api/security/standard.h"

#include "base/json/json.h"

static const char *const level_names[] = {
	[SECURITY_PRIVILEGED] = "privileged",
	[SECURITY_BASELINE] = "baseline",
	[SECURITY_RESTRICTED] = "restricted",
};

static const char *const mode_names[] = {
	[SECURITY_ENFORCE] = "enforce",
	[SECURITY_AUDIT] = "audit",
	[SECURITY_WARN] = "warn",
};

/* --- one standard ----------------------------------------------------------------- */

const char *security_level_name(enum security_level level)
{
	return level_names[level];
}

const char *security_mode_name(enum security_mode mode)
{
	return mode_names[mode];
}

const char *security_level_parse(struct str text, enum security_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (str_eqz(text, level_names[i])) {
			*ret_level = (enum security_level)i;
			return NULL;
		}
	}
	return "must be one of privileged, baseline, restricted";
}

const char *security_version_parse(struct str text, int *ret_minor)
{
	static const char wrong[] = "must be \"latest\" or \"v1.x\"";
	struct str digits = str_skip(text, 3);
	int64_t minor;

	if (str_eqz(text, "latest")) {
		*ret_minor = SECURITY_LATEST;
		return NULL;
	}
	if (!str_starts(text, STR("v1.")) || !digits.n || !str_is_digit(*digits.p) ||
	    (*digits.p == '0' && digits.n > 1))
		return wrong;
	if (!str_to_i64(digits, &minor) || minor >= SECURITY_LATEST)
		return wrong;
	*ret_minor = (int)minor;
	return NULL;
}

bool security_standard_is(const struct security_standard *a, const struct security_standard *b)
{
	return a->level == b->level && a->minor == b->minor;
}

const char *security_version_print(int minor, struct arena *a)
{
	return minor == SECURITY_LATEST ? "latest" : arena_printf(a, "v1.%d", minor);
}

const char *security_standard_print(const struct security_standard *s, struct arena *a)
{
	return arena_printf(a, "%s:%s", level_names[s->level], security_version_print(s->minor, a));
}

/* --- the labels of a namespace ---------------------------------------------------- */

static void refuse_label(struct field_errors *errs, const char *label, struct str value,
			 const char *why)
{
	struct field_path metadata = field_path_name(NULL, "metadata");
	struct field_path labels = field_path_name(&metadata, "labels");
	struct field_path at = field_path_key(&labels, str_from(label));

	if (why)
		field_errors_invalid(errs, &at, FIELD_STR(value), why);
}

static bool read_level(const struct json *labels, const char *label, enum security_mode mode,
		       struct field_errors *errs, struct security_standard *s)
{
	const struct json *value = json_getz(labels, label);
	const char *wrong;

	if (!value)
		return false;
	wrong = security_level_parse(json_str(value), &s->level);
	if (wrong)
		s->level = mode == SECURITY_ENFORCE ? SECURITY_RESTRICTED : SECURITY_PRIVILEGED;
	refuse_label(errs, label, json_str(value), wrong);
	return true;
}

static bool read_version(const struct json *labels, const char *label, struct field_errors *errs,
			 struct security_standard *s)
{
	const struct json *value = json_getz(labels, label);
	const char *wrong;

	if (!value)
		return false;
	wrong = security_version_parse(json_str(value), &s->minor);
	if (wrong)
		s->minor = SECURITY_LATEST;
	refuse_label(errs, label, json_str(value), wrong);
	return true;
}

void security_policy_read(const struct json *labels, const struct security_policy *defaults,
			  struct field_errors *errs, struct security_policy *ret_policy)
{
	static const char *const names[SECURITY_MODES][2] = {
		[SECURITY_ENFORCE] = { SECURITY_LABELS "enforce",
				       SECURITY_LABELS "enforce-version" },
		[SECURITY_AUDIT] = { SECURITY_LABELS "audit", SECURITY_LABELS "audit-version" },
		[SECURITY_WARN] = { SECURITY_LABELS "warn", SECURITY_LABELS "warn-version" },
	};
	bool has_level[SECURITY_MODES], has_version[SECURITY_MODES];
	struct security_standard *of = ret_policy->of;

	*ret_policy = *defaults;
	for (int i = 0; i < SECURITY_MODES; i++) {
		has_level[i] = read_level(labels, names[i][0], i, errs, &of[i]);
		has_version[i] = read_version(labels, names[i][1], errs, &of[i]);
	}
	if (has_level[SECURITY_WARN] || !has_level[SECURITY_ENFORCE] ||
	    of[SECURITY_ENFORCE].level <= of[SECURITY_WARN].level)
		return;
	of[SECURITY_WARN].level = of[SECURITY_ENFORCE].level;
	if (!has_version[SECURITY_WARN])
		of[SECURITY_WARN].minor = of[SECURITY_ENFORCE].minor;
}

bool security_policy_is_privileged(const struct security_policy *p)
{
	for (int i = 0; i < SECURITY_MODES; i++)
		if (p->of[i].level != SECURITY_PRIVILEGED)
			return false;
	return true;
}
