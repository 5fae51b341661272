/*
 * Rules about profiles of the kernel's security modules. They were annotations before they were
 * fields: AppArmor still reads both, seccomp's annotations count before version 1.19.
 */
#include "api/security/checks.h"
#include "base/core/limits.h"
#include "base/text/print.h"

#define APP_ARMOR         "container.apparmor.security.beta.kubernetes.io/"
#define SECCOMP           "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP_CONTAINER "container.seccomp.security.alpha.kubernetes.io/"

/* `key="value"`. */
static struct str show_annotation(struct security_check *c, const struct json *it)
{
	struct buf text = BUF_INIT(MIB);
	struct str shown;

	(void)buf_add_str(&text, json_key(it));
	(void)buf_addc(&text, '=');
	(void)print_quoted(&text, json_str(it));
	shown = arena_str(c->a, buf_str(&text));
	buf_release(&text);
	return shown;
}

static bool profile_is_wrong(struct security_check *c, const struct json *profile,
			     struct security_names *values)
{
	static const char *const allowed[] = { "RuntimeDefault", "Localhost" };
	struct str type = json_text_at(profile, "type");

	if (!json_is(profile, JSON_OBJECT) ||
	    security_is_one_of(type, allowed, ARRAY_SIZE(allowed)))
		return false;
	security_names_add(c, values, type);
	return true;
}

/* --- AppArmor --------------------------------------------------------------------- */

static bool app_armor_is_wrong(struct security_check *c, const struct json *holder,
			       struct security_names *values)
{
	return profile_is_wrong(c, security_at(holder, "appArmorProfile"), values);
}

static struct security_names app_armor_annotations(struct security_check *c)
{
	struct security_names bad = { 0 };

	JSON_FOREACH (it, json_getz(c->metadata, "annotations")) {
		struct str value = json_str(it);

		if (str_starts(json_key(it), STR(APP_ARMOR)) && value.n &&
		    !str_eqz(value, "runtime/default") && !str_starts(value, STR("localhost/")))
			security_names_add(c, &bad, show_annotation(c, it));
	}
	security_names_sort(&bad);
	return bad;
}

void security_check_app_armor(struct security_check *c)
{
	struct security_names values = { 0 }, notes = app_armor_annotations(c), bad;
	bool pod = app_armor_is_wrong(c, c->spec, &values);
	const char *setters;

	bad = security_bad_containers(c, app_armor_is_wrong, &values);
	if (!pod && !bad.n && !notes.n)
		return;
	security_names_sort(&values);
	for (size_t i = 0; i < notes.n; i++)
		security_names_add(c, &values, notes.v[i]);
	setters = security_setters(c, pod, &bad);
	security_violate(c,
			 security_plural(values.n, "forbidden AppArmor profile",
					 "forbidden AppArmor profiles"),
			 "%s%s%s must not set AppArmor profile type to %s", setters,
			 *setters && notes.n ? " and " : "",
			 !notes.n ? "" : security_plural(notes.n, "annotation", "annotations"),
			 security_quote(c, &values));
}

/* --- SELinux ---------------------------------------------------------------------- */

static bool selinux_is_wrong(struct security_check *c, const struct json *holder,
			     struct security_names *values)
{
	static const char *const allowed[] = { "", "container_t", "container_init_t",
					       "container_kvm_t", "container_engine_t" };
	const struct json *options = security_at(holder, "seLinuxOptions");
	struct str type = json_text_at(options, "type");
	bool wrong = !security_is_one_of(type, allowed, ARRAY_SIZE(allowed) - (c->minor < 31));

	if (wrong)
		security_names_add(c, values, type);
	return wrong || json_text_at(options, "user").n || json_text_at(options, "role").n;
}

static bool selinux_sets(struct security_check *c, const char *option)
{
	bool any = json_text_at(security_at(c->spec, "seLinuxOptions"), option).n;

	for (size_t i = 0; i < c->ncontainers && !any; i++)
		any = json_text_at(security_at(c->containers[i], "seLinuxOptions"), option).n;
	return any;
}

void security_check_selinux(struct security_check *c)
{
	struct security_names types = { 0 }, faults = { 0 }, bad;
	bool pod = selinux_is_wrong(c, c->spec, &types);

	bad = security_bad_containers(c, selinux_is_wrong, &types);
	if (!pod && !bad.n)
		return;
	security_names_sort(&types);
	if (types.n)
		security_names_add(c, &faults,
				   str_from(arena_printf(c->a, "%s %s",
							 security_plural(types.n, "type", "types"),
							 security_quote(c, &types))));
	if (selinux_sets(c, "user"))
		security_names_add(c, &faults, STR("user may not be set"));
	if (selinux_sets(c, "role"))
		security_names_add(c, &faults, STR("role may not be set"));
	security_violate(c, "seLinuxOptions", "%s set forbidden securityContext.seLinuxOptions: %s",
			 security_setters(c, pod, &bad), security_join(c, &faults, "; "));
}

/* --- seccomp ---------------------------------------------------------------------- */

static bool seccomp_is_wrong(struct security_check *c, const struct json *holder,
			     struct security_names *values)
{
	return profile_is_wrong(c, security_at(holder, "seccompProfile"), values);
}

/* Returns whether the pod, or a container, sets a wrong profile. */
static bool check_set_profiles(struct security_check *c)
{
	struct security_names values = { 0 }, bad;
	bool pod = seccomp_is_wrong(c, c->spec, &values);

	bad = security_bad_containers(c, seccomp_is_wrong, &values);
	if (!pod && !bad.n)
		return false;
	security_names_sort(&values);
	security_violate(c, "seccompProfile",
			 "%s must not set securityContext.seccompProfile.type to %s",
			 security_setters(c, pod, &bad), security_quote(c, &values));
	return true;
}

static bool lacks_seccomp(struct security_check *c UNUSED, const struct json *holder,
			  struct security_names *values UNUSED)
{
	return !json_is(security_at(holder, "seccompProfile"), JSON_OBJECT);
}

void security_check_seccomp_strictly(struct security_check *c)
{
	struct security_names open = { 0 };

	if (security_is_windows(c) || check_set_profiles(c))
		return;
	if (lacks_seccomp(c, c->spec, NULL))
		open = security_bad_containers(c, lacks_seccomp, NULL);
	if (open.n)
		security_violate(c, "seccompProfile",
				 "pod or %s must set securityContext.seccompProfile.type to "
				 "\"RuntimeDefault\" or \"Localhost\"",
				 security_containers(c, &open));
}

static void add_wrong_annotation(struct security_check *c, struct str key,
				 struct security_names *bad)
{
	const struct json *it = json_get(json_getz(c->metadata, "annotations"), key);
	struct str value = json_str(it);

	if (it && !str_eqz(value, "runtime/default") && !str_eqz(value, "docker/default") &&
	    !str_starts(value, STR("localhost/")))
		security_names_add(c, bad, show_annotation(c, it));
}

static void check_seccomp_annotations(struct security_check *c)
{
	struct security_names bad = { 0 };

	add_wrong_annotation(c, STR(SECCOMP), &bad);
	for (size_t i = 0; i < c->ncontainers; i++) {
		struct str name = json_text_at(c->containers[i], "name");

		add_wrong_annotation(
			c, str_from(arena_printf(c->a, SECCOMP_CONTAINER "%.*s", STR_ARG(name))),
			&bad);
	}
	security_names_sort(&bad);
	if (bad.n)
		security_violate(c, "seccompProfile", "forbidden %s %s",
				 security_plural(bad.n, "annotation", "annotations"),
				 security_join(c, &bad, ", "));
}

void security_check_seccomp(struct security_check *c)
{
	if (c->minor < 19)
		check_seccomp_annotations(c);
	else
		(void)check_set_profiles(c);
}
