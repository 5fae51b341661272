/*
 * The ValidatingAdmissionPolicies that restrict what a part's account may write, where RBAC cannot.
 * A role without its policy works, and may write too much, so nobody else notices.
 */
#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/doctor/arguments.h"
#include "cli/doctor/doctor.h"

static const struct policy {
	const char *part, *folder, *name, *without;
	struct doctor_flag flag; /* its rights are only there with this flag */
} policies[] = {
	{ "nvidia", "nvidia", "devplane-nvidia", "slices of every node", { NULL, NULL } },
	{ "sim", "sim", "devplane-sim", "slices of every node", { NULL, NULL } },
	{ "attach",
	  "attach-status",
	  "devplane-attach-pods",
	  "the status of every pod",
	  { "--attach-pod-condition", NULL } },
	{ "attach",
	  "attach-status",
	  "devplane-attach-nodes",
	  "the status of every node",
	  { "--attach-node-annotation", NULL } },
	{ "availability",
	  "availability-taints",
	  "devplane-availability-taints",
	  "every DeviceTaintRule",
	  { "--controllers", "device-health-taints" } },
};

/* A policy does nothing without its binding, which has its name. */
static int read_policy(struct kube *k, const char *name, struct error *err)
{
	static const char *const kinds[] = { "validatingadmissionpolicies",
					     "validatingadmissionpolicybindings" };
	struct json *tree;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++) {
		struct resource what = resource_builtin("admissionregistration.k8s.io", "v1",
							kinds[i]);
		struct kube_query q = { .resource = &what, .name = str_from(name) };

		r = kube_read(k, &q, &tree, err);
	}
	return r;
}

/* Returns false if nothing was learned. */
static bool check_policy(struct doctor *d, struct kube *k, const char *subject,
			 const struct policy *p)
{
	struct error err;
	int r = read_policy(k, p->name, &err);

	if (r == -ERR_NOT_FOUND)
		doctor_say(d, DOCTOR_FAIL, subject,
			   arena_printf(d->arena, "apply deploy/%s again", p->folder),
			   "%s: its account may write %s", err.msg, p->without);
	else if (r < 0)
		doctor_say(d, DOCTOR_WARN, subject,
			   "run it as a user who may get validatingadmissionpolicies and "
			   "validatingadmissionpolicybindings",
			   "not checked: %s", err.msg);
	return r == 0 || r == -ERR_NOT_FOUND;
}

void doctor_check_policies(struct doctor *d, struct kube *k, struct str part,
			   const struct json *pod)
{
	const struct json *args = json_getz(json_first(json_getz(pod, "containers")), "args");
	const char *subject = arena_printf(d->arena, "%.*s policy", STR_ARG(part));
	size_t before = d->findings.n, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		if (!str_eqz(part, policies[i].part) || !doctor_has_flag(args, &policies[i].flag))
			continue;
		n++;
		if (!check_policy(d, k, subject, &policies[i]))
			return;
	}
	if (n > 0 && d->findings.n == before)
		doctor_say(d, DOCTOR_OK, subject, NULL, "%zu restrict what its account writes", n);
}
