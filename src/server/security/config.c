/*
 * The rules for this section are upstream's.
 */
#include "server/security/config.h"

#include "base/json/json.h"
#include "server/admission/config_file.h"

#define GROUP "pod-security.admission.config.k8s.io/"

void security_config_init(struct security_config *c)
{
	*c = (struct security_config){ 0 };
	for (int i = 0; i < SECURITY_MODES; i++)
		c->defaults.of[i].minor = SECURITY_LATEST;
}

bool security_is_exempt(const struct security_exempt *list, struct str text)
{
	for (size_t i = 0; i < list->n && text.n; i++)
		if (str_eq(list->v[i], text))
			return true;
	return false;
}

/* --- reading ---------------------------------------------------------------------- */

static void read_defaults(const struct json *defaults, struct field_errors *errs,
			  struct security_policy *p)
{
	static const char *const names[] = { "enforce", "enforce-version", "audit", "audit-version",
					     "warn",    "warn-version" };
	struct field_path parent = field_path_name(NULL, "defaults");

	admission_config_object(errs, &parent, defaults, names, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct field_path at = field_path_name(&parent, names[i]);
		struct str text = admission_config_text(errs, &at, json_getz(defaults, names[i]));
		struct security_standard *s = &p->of[i / 2];
		const char *wrong;

		if (!text.n)
			continue;
		wrong = i % 2 ? security_version_parse(text, &s->minor)
			      : security_level_parse(text, &s->level);
		if (wrong)
			field_errors_invalid(errs, &at, FIELD_STR(text), wrong);
	}
}

static void read_exempt(const struct json *list, const struct field_path *parent,
			struct field_errors *errs, struct arena *a, struct security_exempt *ret)
{
	list = admission_config_list(errs, parent, list);
	ret->v = ARENA_ARRAY(a, struct str, json_count(list));
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(parent, ret->n);
		struct str text = admission_config_text(errs, &at, it);

		if (!text.n)
			field_errors_invalid(errs, &at, FIELD_STR(text), "must not be empty");
		else if (security_is_exempt(ret, text))
			field_errors_duplicate(errs, &at, FIELD_STR(text));
		ret->v[ret->n++] = text;
	}
}

static void read_exemptions(const struct json *exemptions, struct field_errors *errs,
			    struct arena *a, struct security_config *c)
{
	static const char *const names[] = { "usernames", "namespaces", "runtimeClasses" };
	struct security_exempt *const lists[] = { &c->users, &c->namespaces, &c->runtime_classes };
	struct field_path parent = field_path_name(NULL, "exemptions");

	admission_config_object(errs, &parent, exemptions, names, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct field_path at = field_path_name(&parent, names[i]);

		read_exempt(json_getz(exemptions, names[i]), &at, errs, a, lists[i]);
	}
}

static bool is_ours(const struct json *tree)
{
	static const char *const versions[] = { GROUP "v1", GROUP "v1beta1", GROUP "v1alpha1" };

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (str_eqz(json_text_at(tree, "apiVersion"), versions[i]))
			return str_eqz(json_text_at(tree, "kind"), "PodSecurityConfiguration");
	return false;
}

int security_config_read(const struct json *tree, struct arena *a,
			 struct security_config *ret_config, struct error *err)
{
	static const char *const known[] = { "apiVersion", "kind", "defaults", "exemptions" };
	struct field_errors errs;

	if (!is_ours(tree))
		return error_set(err, ERR_INVALID,
				 "expected a PodSecurityConfiguration of " GROUP "v1");
	security_config_init(ret_config);
	field_errors_init(&errs, a);
	admission_config_object(&errs, NULL, tree, known, ARRAY_SIZE(known));
	read_defaults(json_getz(tree, "defaults"), &errs, &ret_config->defaults);
	read_exemptions(json_getz(tree, "exemptions"), &errs, a, ret_config);
	return admission_config_verdict(&errs, err);
}
