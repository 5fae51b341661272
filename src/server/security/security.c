/*
 * The configuration is read once: upstream's server does not reload it either.
 */
#include "server/security/security.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "server/admission/config_file.h"

static int register_all(struct security *s, struct metrics *m, struct error *err)
{
	static const char *const decided[] = { "decision",   "policy_level",      "policy_version",
					       "mode",       "request_operation", "resource",
					       "subresource" };
	static const char *const exempted[] = { "request_operation", "resource", "subresource" };
	static const char *const failed[] = { "fatal", "request_operation", "resource",
					      "subresource" };
	const struct {
		struct metrics_spec spec;
		struct metrics_family **family;
	} all[] = {
		{ { "pod_security_evaluations_total",
		    "Comparisons of pods with a Pod Security Standard.", METRICS_COUNTER, decided,
		    ARRAY_SIZE(decided), NULL, 0 },
		  &s->evaluations },
		{ { "pod_security_exemptions_total",
		    "Writes that are exempt from Pod Security Standards.", METRICS_COUNTER,
		    exempted, ARRAY_SIZE(exempted), NULL, 0 },
		  &s->exemptions },
		{ { "pod_security_errors_total",
		    "Writes in namespaces whose labels for PodSecurity cannot be read.",
		    METRICS_COUNTER, failed, ARRAY_SIZE(failed), NULL, 0 },
		  &s->errors },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = metrics_register(m, &all[i].spec, all[i].family, err);
	return r;
}

static int read_config(struct security *s, const char *path, struct error *err)
{
	struct json *section = NULL;
	int r;

	security_config_init(&s->config);
	r = path ? admission_config_section(path, "PodSecurity", &s->arena, &section, err) : 0;
	if (r == 0 && section)
		r = security_config_read(section, &s->arena, &s->config, err);
	return r < 0 ? error_wrap(err, r, "--admission-control-config-file") : 0;
}

int security_new(const char *path, struct metrics *m, struct security **ret_security,
		 struct error *err)
{
	struct security *s = XNEW(struct security);
	int r;

	arena_init(&s->arena, MIB);
	r = read_config(s, path, err);
	if (r == 0)
		r = register_all(s, m, err);
	if (r < 0) {
		security_free(s);
		return r;
	}
	*ret_security = s;
	return 0;
}

void security_free(struct security *s)
{
	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
}
