/*
 * Kubelets: their versions as nodes say them, and their feature gates. A gate of the API server
 * says nothing about a kubelet, so each is asked for its own metrics, through the API server's
 * node proxy. A kubelet that cannot be reached costs a time-out. After a few of them the others are
 * left out.
 */
#include "api/api_limits.h"
#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/gates.h"

#define SUBJECT "kubelet gates"

enum { ASKED_MAX = 20, UNREACHED_MAX = 3 };

static const struct {
	const char *name, *without;
} gates[] = {
	{ "DynamicResourceAllocation", "pods with claims do not start there" },
	{ "KubeletPodResourcesDynamicResources",
	  "PodResources has no claims there, so deploy/attach does not see their devices" },
	{ "ResourceHealthStatus", "the kubelet does not write the health of devices into pods" },
};

struct kubelets {
	struct doctor *doctor;
	struct kube *kube;
	size_t asked, left_out;
	size_t silent; /* of those that answered: their metrics have no gates */
	size_t unreached;
	struct str unreached_node;
	struct error why; /* of the first of these */
	bool forbidden;
	struct {
		size_t n;
		struct str node; /* the first */
	} off[ARRAY_SIZE(gates)];
};

/* --- versions --------------------------------------------------------------------------------- */

static bool is_old(const struct json *node)
{
	struct str minor, rest = json_text_at(json_getz(json_getz(node, "status"), "nodeInfo"),
					      "kubeletVersion");
	int64_t number;

	if (!str_starts(rest, STR("v1.")))
		return false;
	rest = str_skip(rest, 3);
	return str_split(&rest, '.', &minor) && str_to_i64(minor, &number) &&
	       number < DOCTOR_MINOR_MIN;
}

static void check_versions(struct doctor *d, const struct json *nodes)
{
	struct str first = STR_NULL;
	size_t n = 0;

	JSON_FOREACH (it, nodes) {
		if (is_old(it) && n++ == 0)
			first = json_text_at(json_getz(it, "metadata"), "name");
	}
	if (n > 0)
		doctor_say(d, DOCTOR_WARN, "kubelets", "upgrade them",
			   "%zu are older than v1.%d and may not know claims; %.*s is one", n,
			   DOCTOR_MINOR_MIN, STR_ARG(first));
}

/* --- gates ------------------------------------------------------------------------------------ */

static void note_no_metrics(struct kubelets *s, struct str node, const struct error *err)
{
	s->forbidden = err->code == ERR_FORBIDDEN;
	if (s->unreached++ == 0) {
		s->unreached_node = node;
		s->why = *err;
	}
}

static void ask(struct kubelets *s, struct str node)
{
	const char *path = arena_printf(s->kube->arena, "/api/v1/nodes/%.*s/proxy/metrics",
					STR_ARG(node));
	struct str text;
	struct error err;

	s->asked++;
	if (doctor_fetch_any(s->kube, path, "", &text, &err) < 0) {
		note_no_metrics(s, node, &err);
		return;
	}
	if (!doctor_gates_are_in(text))
		s->silent++;
	for (size_t i = 0; i < ARRAY_SIZE(gates); i++)
		if (doctor_gate_is_off(text, gates[i].name) && s->off[i].n++ == 0)
			s->off[i].node = node;
}

static void ask_all(struct kubelets *s, const struct json *nodes)
{
	JSON_FOREACH (it, nodes) {
		if (s->forbidden || s->asked == ASKED_MAX || s->unreached == UNREACHED_MAX)
			s->left_out++;
		else
			ask(s, json_text_at(json_getz(it, "metadata"), "name"));
		arena_clear(s->kube->arena);
	}
}

/* Metrics of a kubelet may be large, so each reply is freed before the next request. */
static void ask_in_turn(struct kubelets *s, const struct json *nodes)
{
	struct arena scratch, *was = s->kube->arena;

	arena_init(&scratch, REQUEST_WORK_MAX);
	s->kube->arena = &scratch;
	ask_all(s, nodes);
	s->kube->arena = was;
	arena_release(&scratch);
}

static size_t say_off(const struct kubelets *s)
{
	struct arena *a = s->doctor->arena;
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(gates); i++) {
		const char *more = s->off[i].n > 1
					   ? arena_printf(a, " and %zu more", s->off[i].n - 1)
					   : "";

		if (s->off[i].n == 0)
			continue;
		found++;
		doctor_say(s->doctor, DOCTOR_WARN, SUBJECT,
			   arena_printf(a,
					"set %s to true in the featureGates of the kubelet's "
					"configuration",
					gates[i].name),
			   "%s is off on %.*s%s: %s", gates[i].name, STR_ARG(s->off[i].node), more,
			   gates[i].without);
	}
	return found;
}

static const char *exceptions(const struct kubelets *s)
{
	struct arena *a = s->doctor->arena;
	const char *silent = s->silent == 0 ? ""
					    : arena_printf(a, "; %zu do not say theirs", s->silent);

	return s->left_out == 0 ? silent
				: arena_printf(a, "%s; %zu were not asked", silent, s->left_out);
}

static void say_gates(const struct kubelets *s)
{
	size_t known = s->asked - s->unreached - s->silent, found;

	if (s->forbidden) {
		doctor_say(s->doctor, DOCTOR_WARN, SUBJECT,
			   "run it as a user who may get nodes/proxy", "not checked: %s",
			   s->why.msg);
		return;
	}
	found = say_off(s);
	if (s->unreached > 0)
		doctor_say(s->doctor, DOCTOR_WARN, SUBJECT,
			   "check that the API server reaches the kubelets of these nodes",
			   "%zu of %zu kubelets did not answer, such as that of %.*s: %s",
			   s->unreached, s->asked, STR_ARG(s->unreached_node), s->why.msg);
	else if (found == 0 && s->asked > 0)
		doctor_say(s->doctor, DOCTOR_OK, SUBJECT, NULL,
			   "none that matters is off on %zu of %zu kubelets%s", known, s->asked,
			   exceptions(s));
}

void doctor_check_kubelets(struct doctor *d, struct kube *k)
{
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct kubelets s = { .doctor = d, .kube = k };
	struct json *list;

	if (kube_read(k, &(struct kube_query){ .resource = &nodes }, &list, NULL) < 0)
		return; /* check_nodes() said it */
	check_versions(d, json_getz(list, "items"));
	ask_in_turn(&s, json_getz(list, "items"));
	say_gates(&s);
}
