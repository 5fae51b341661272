/*
 * Rules about the rights of the processes in a pod: users, capabilities, profiles.
 */
#include "api/security/checks.h"

/* --- privileges ------------------------------------------------------------------- */

static bool is_privileged(struct security_check *c UNUSED, const struct json *container,
			  struct security_names *values UNUSED)
{
	return json_true_at(json_getz(container, "securityContext"), "privileged");
}

void security_check_privileged(struct security_check *c)
{
	struct security_names bad = security_bad_containers(c, is_privileged, NULL);

	if (bad.n)
		security_violate(c, "privileged", "%s must not set securityContext.privileged=true",
				 security_containers(c, &bad));
}

static bool may_escalate(struct security_check *c UNUSED, const struct json *container,
			 struct security_names *values UNUSED)
{
	bool may;

	return !json_bool(security_at(container, "allowPrivilegeEscalation"), &may) || may;
}

void security_check_escalation(struct security_check *c)
{
	struct security_names bad = { 0 };

	if (!security_is_windows(c))
		bad = security_bad_containers(c, may_escalate, NULL);
	if (bad.n)
		security_violate(c, "allowPrivilegeEscalation != false",
				 "%s must set securityContext.allowPrivilegeEscalation=false",
				 security_containers(c, &bad));
}

/* --- capabilities ----------------------------------------------------------------- */

static bool adds_other_than(struct security_check *c, const struct json *container,
			    struct security_names *values, const char *const *allowed, size_t n)
{
	size_t before = values->n;

	JSON_FOREACH (it, json_getz(security_at(container, "capabilities"), "add"))
		if (!security_is_one_of(json_str(it), allowed, n))
			security_names_add(c, values, json_str(it));
	return values->n > before;
}

static bool adds_capability(struct security_check *c, const struct json *container,
			    struct security_names *values)
{
	static const char *const usual[] = {
		"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
		"KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
		"SETPCAP",     "SETUID", "SYS_CHROOT",
	};

	return adds_other_than(c, container, values, usual, ARRAY_SIZE(usual));
}

void security_check_added_capabilities(struct security_check *c)
{
	struct security_names values = { 0 };
	struct security_names bad = security_bad_containers(c, adds_capability, &values);

	security_names_sort(&values);
	if (bad.n)
		security_violate(c, "non-default capabilities",
				 "%s must not include %s in securityContext.capabilities.add",
				 security_containers(c, &bad), security_quote(c, &values));
}

static bool keeps_capabilities(struct security_check *c UNUSED, const struct json *container,
			       struct security_names *values UNUSED)
{
	return !json_has_text(json_getz(security_at(container, "capabilities"), "drop"),
			      STR("ALL"));
}

static bool adds_more_than_ports(struct security_check *c, const struct json *container,
				 struct security_names *values)
{
	static const char *const allowed[] = { "NET_BIND_SERVICE" };

	return adds_other_than(c, container, values, allowed, 1);
}

void security_check_dropped_capabilities(struct security_check *c)
{
	struct security_names values = { 0 }, keeping, adding;
	const char *keeps = "", *adds = "";

	if (security_is_windows(c))
		return;
	keeping = security_bad_containers(c, keeps_capabilities, NULL);
	adding = security_bad_containers(c, adds_more_than_ports, &values);
	security_names_sort(&values);
	if (keeping.n)
		keeps = arena_printf(c->a,
				     "%s must set securityContext.capabilities.drop=[\"ALL\"]",
				     security_containers(c, &keeping));
	if (adding.n)
		adds = arena_printf(c->a,
				    "%s must not include %s in securityContext.capabilities.add",
				    security_containers(c, &adding), security_quote(c, &values));
	if (*keeps || *adds)
		security_violate(c, "unrestricted capabilities", "%s%s%s", keeps,
				 *keeps && *adds ? "; " : "", adds);
}

/* --- /proc ------------------------------------------------------------------------ */

static bool unmasks_proc(struct security_check *c, const struct json *container,
			 struct security_names *values)
{
	struct str mount = json_str(security_at(container, "procMount"));

	if (!mount.p || str_eqz(mount, "Default"))
		return false;
	security_names_add(c, values, mount);
	return true;
}

void security_check_proc_mount_strictly(struct security_check *c)
{
	struct security_names values = { 0 };
	struct security_names bad = security_bad_containers(c, unmasks_proc, &values);

	security_names_sort(&values);
	if (bad.n)
		security_violate(c, "procMount", "%s must not set securityContext.procMount to %s",
				 security_containers(c, &bad), security_quote(c, &values));
}

void security_check_proc_mount(struct security_check *c)
{
	if (c->minor < 35 || !security_has_own_users(c))
		security_check_proc_mount_strictly(c);
}

/* --- users ------------------------------------------------------------------------ */

static bool may_be_root(struct security_check *c UNUSED, const struct json *holder,
			struct security_names *values UNUSED)
{
	bool refuses;

	return json_bool(security_at(holder, "runAsNonRoot"), &refuses) && !refuses;
}

static bool leaves_root_open(struct security_check *c UNUSED, const struct json *holder,
			     struct security_names *values UNUSED)
{
	return !json_is(security_at(holder, "runAsNonRoot"), JSON_BOOL);
}

void security_check_non_root(struct security_check *c)
{
	static const char reason[] = "runAsNonRoot != true";
	bool pod = may_be_root(c, c->spec, NULL);
	struct security_names bad, open = { 0 };

	if (c->minor >= 35 && security_has_own_users(c))
		return;
	bad = security_bad_containers(c, may_be_root, NULL);
	if (pod || leaves_root_open(c, c->spec, NULL))
		open = security_bad_containers(c, leaves_root_open, NULL);
	if (pod || bad.n)
		security_violate(c, reason, "%s must not set securityContext.runAsNonRoot=false",
				 security_setters(c, pod, &bad));
	else if (open.n)
		security_violate(c, reason, "pod or %s must set securityContext.runAsNonRoot=true",
				 security_containers(c, &open));
}

static bool is_root(struct security_check *c UNUSED, const struct json *holder,
		    struct security_names *values UNUSED)
{
	int64_t user;

	return json_i64(security_at(holder, "runAsUser"), &user) && user == 0;
}

void security_check_user(struct security_check *c)
{
	struct security_names bad;
	bool pod;

	if (c->minor >= 35 && security_has_own_users(c))
		return;
	bad = security_bad_containers(c, is_root, NULL);
	pod = is_root(c, c->spec, NULL);
	if (pod || bad.n)
		security_violate(c, "runAsUser=0", "%s must not set runAsUser=0",
				 security_setters(c, pod, &bad));
}
