/*
 * A rule is a row of the table. A rule of the restricted level may replace one of the baseline
 * level from some version on. What else changes with the version, the rule itself looks up.
 */
#include "api/security/pod_checks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/security/checks.h"
#include "api/security/standard.h"

enum { NEVER = INT_MAX, TEXT_MAX = 2 * 1024 * 1024 };

/* By level, then by upstream's names of the rules: messages list violations in this order. */
static const struct rule {
	void (*check)(struct security_check *c);
	enum security_level level;
	int from; /* the first version that has it */
	int replaced; /* the first version that has a stricter rule at the restricted level */
} rules[] = {
	{ security_check_app_armor, SECURITY_BASELINE, 0, NEVER },
	{ security_check_added_capabilities, SECURITY_BASELINE, 0, 22 },
	{ security_check_host_namespaces, SECURITY_BASELINE, 0, NEVER },
	{ security_check_host_path, SECURITY_BASELINE, 0, 0 },
	{ security_check_host_ports, SECURITY_BASELINE, 0, NEVER },
	{ security_check_host_probes, SECURITY_BASELINE, 34, NEVER },
	{ security_check_privileged, SECURITY_BASELINE, 0, NEVER },
	{ security_check_proc_mount, SECURITY_BASELINE, 0, 35 },
	{ security_check_selinux, SECURITY_BASELINE, 0, NEVER },
	{ security_check_seccomp, SECURITY_BASELINE, 0, 19 },
	{ security_check_sysctls, SECURITY_BASELINE, 0, NEVER },
	{ security_check_host_process, SECURITY_BASELINE, 0, NEVER },
	{ security_check_escalation, SECURITY_RESTRICTED, 8, NEVER },
	{ security_check_dropped_capabilities, SECURITY_RESTRICTED, 22, NEVER },
	{ security_check_proc_mount_strictly, SECURITY_RESTRICTED, 35, NEVER },
	{ security_check_volumes, SECURITY_RESTRICTED, 0, NEVER },
	{ security_check_non_root, SECURITY_RESTRICTED, 0, NEVER },
	{ security_check_user, SECURITY_RESTRICTED, 23, NEVER },
	{ security_check_seccomp_strictly, SECURITY_RESTRICTED, 19, NEVER },
};

/* --- what the rules share --------------------------------------------------------- */

void security_violate(struct security_check *c, const char *reason, const char *fmt, ...)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	c->reason = reason;
	c->detail = arena_strdup(c->a, buf_str(&text));
	buf_release(&text);
}

void security_names_add(struct security_check *c, struct security_names *l, struct str name)
{
	if (l->n == l->cap) {
		struct str *v = ARENA_ARRAY(c->a, struct str, l->cap * 2 + 4);

		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->cap = l->cap * 2 + 4;
	}
	l->v[l->n++] = name;
}

void security_names_sort(struct security_names *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), str_order);
	for (size_t i = 0; i < l->n; i++)
		if (i == 0 || !str_eq(l->v[i], l->v[i - 1]))
			l->v[n++] = l->v[i];
	l->n = n;
}

static const char *join(struct security_check *c, const struct security_names *l,
			const char *separator, const char *quote)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	const char *joined;

	for (size_t i = 0; i < l->n; i++) {
		(void)buf_printf(&text, "%s%s", i ? separator : "", quote);
		(void)buf_add_str(&text, l->v[i]);
		(void)buf_addz(&text, quote);
	}
	joined = arena_strdup(c->a, buf_str(&text));
	buf_release(&text);
	return joined;
}

const char *security_join(struct security_check *c, const struct security_names *l,
			  const char *separator)
{
	return join(c, l, separator, "");
}

const char *security_quote(struct security_check *c, const struct security_names *l)
{
	return join(c, l, ", ", "\"");
}

const char *security_containers(struct security_check *c, const struct security_names *l)
{
	return security_setters(c, false, l);
}

const char *security_setters(struct security_check *c, bool pod, const struct security_names *l)
{
	if (!l->n)
		return pod ? "pod" : "";
	return arena_printf(c->a, "%s%s %s", pod ? "pod and " : "",
			    security_plural(l->n, "container", "containers"), security_quote(c, l));
}

struct security_names security_bad_containers(struct security_check *c, security_is_bad is_bad,
					      struct security_names *values)
{
	struct security_names bad = { 0 };

	for (size_t i = 0; i < c->ncontainers; i++)
		if (is_bad(c, c->containers[i], values))
			security_names_add(c, &bad, json_text_at(c->containers[i], "name"));
	return bad;
}

bool security_has_own_users(const struct security_check *c)
{
	bool host;

	return json_bool(json_getz(c->spec, "hostUsers"), &host) && !host;
}

bool security_is_windows(const struct security_check *c)
{
	return c->minor >= 25 && str_eqz(json_text_at(json_getz(c->spec, "os"), "name"), "windows");
}

bool security_is_one_of(struct str text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(text, list[i]))
			return true;
	return false;
}

/* --- all of them ------------------------------------------------------------------ */

static void find_containers(struct security_check *c)
{
	static const char *const lists[] = { "initContainers", "containers",
					     "ephemeralContainers" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		n += json_count(json_getz(c->spec, lists[i]));
	c->containers = ARENA_ARRAY(c->a, const struct json *, n);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		JSON_FOREACH (it, json_getz(c->spec, lists[i]))
			c->containers[c->ncontainers++] = it;
}

static bool applies(const struct rule *r, const struct security_standard *s, int minor)
{
	return r->level <= s->level && minor >= r->from &&
	       !(s->level > r->level && minor >= r->replaced);
}

static void add_finding(const struct security_check *c, struct buf *reasons, struct buf *details)
{
	(void)buf_printf(reasons, "%s%s", reasons->n ? ", " : "", c->reason);
	(void)buf_printf(details, "%s%s", details->n ? ", " : "", c->reason);
	if (*c->detail)
		(void)buf_printf(details, " (%s)", c->detail);
}

bool security_check_pod(const struct json *metadata, const struct json *spec,
			const struct security_standard *s, struct arena *a,
			struct security_findings *ret_findings)
{
	struct security_check c = {
		.metadata = metadata, .spec = spec, .minor = MIN(s->minor, SECURITY_NEWEST), .a = a
	};
	CLEANUP(buf_release) struct buf reasons = BUF_INIT(TEXT_MAX), details = BUF_INIT(TEXT_MAX);

	if (s->level == SECURITY_PRIVILEGED)
		return true;
	find_containers(&c);
	for (const struct rule *r = rules; r < rules + ARRAY_SIZE(rules); r++) {
		if (!applies(r, s, c.minor))
			continue;
		c.reason = NULL;
		r->check(&c);
		if (c.reason)
			add_finding(&c, &reasons, &details);
	}
	if (!reasons.n)
		return true;
	ret_findings->reasons = arena_str(a, buf_str(&reasons));
	ret_findings->details = arena_str(a, buf_str(&details));
	return false;
}
