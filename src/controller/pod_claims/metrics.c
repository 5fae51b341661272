/*
 * The sort of a claim is a number from 0 to 11; a series is created with its first claim.
 */
#include "controller/pod_claims/metrics.h"

#include "base/json/json.h"
#include "base/report/metrics.h"
#include "client/informer/cached.h"
#include "controller/pod_claims/decide.h"

static const char *const sources[] = { "", "resource_claim_template", "extended_resource" };

static struct str word(bool yes)
{
	return yes ? STR("true") : STR("false");
}

static struct metrics_family *pod_claims_metrics_family(struct metrics *m,
							const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(m, spec, &f, NULL);
	return f;
}

void pod_claims_metrics_init(struct pod_claims_metrics *m, struct metrics *metrics)
{
	static const char *const of_there[] = { "allocated", "admin_access", "source" };
	static const char *const of_created[] = { "status", "admin_access", "owner_api_group",
						  "owner_api_kind" };

	*m = (struct pod_claims_metrics){ NULL };
	if (!metrics)
		return;
	m->there = pod_claims_metrics_family(
		metrics, &(struct metrics_spec){
				 .name = "dynamic_resource_allocation_resource_claims",
				 .help = "Number of ResourceClaims, categorized by allocation "
					 "status, admin access, and source. Source can be "
					 "'resource_claim_template' (created from a template), "
					 "'extended_resource' (extended resources), or empty "
					 "(manually created by a user).",
				 .type = METRICS_GAUGE,
				 .labels = of_there,
				 .labels_n = ARRAY_SIZE(of_there) });
	m->created = pod_claims_metrics_family(
		metrics, &(struct metrics_spec){
				 .name = "dynamic_resource_allocation_resourceclaim_creates_total",
				 .help = "Number of ResourceClaims creation requests, categorized "
					 "by creation status, admin access, and owning API group "
					 "and kind (either Pod or scheduling.k8s.io/PodGroup)",
				 .type = METRICS_COUNTER,
				 .labels = of_created,
				 .labels_n = ARRAY_SIZE(of_created) });
}

void pod_claims_metrics_release(struct pod_claims_metrics *m)
{
	for (size_t i = 0; i < POD_CLAIMS_SORTS; i++) {
		if (m->gauges[i])
			metrics_gauge_set(m->gauges[i], 0);
	}
}

static bool has_admin_access(const struct json *claim)
{
	const struct json *devices = json_getz(json_getz(claim, "spec"), "devices");

	JSON_FOREACH (it, json_getz(devices, "requests")) {
		if (json_true_at(json_getz(it, "exactly"), "adminAccess"))
			return true;
	}
	return false;
}

/* Searches the text first: hardly any claim has the word, so hardly any is parsed. */
static bool cached_admin_access(const struct cached *claim, struct arena *a)
{
	struct json *tree;

	return str_find(claim->json, STR("\"adminAccess\"")) >= 0 &&
	       cached_tree(claim, a, &tree, NULL) == 0 && has_admin_access(tree);
}

static size_t source_of(const struct cached *claim, struct arena *a)
{
	if (str_eqz(cached_annotation(claim, STR(POD_CLAIMS_EXTENDED_ANNOTATION), a), "true"))
		return 2;
	return cached_annotation(claim, STR(POD_CLAIMS_ANNOTATION), a).n > 0 ? 1 : 0;
}

void pod_claims_metrics_count(struct pod_claims_metrics *m, const struct cached *claim, int delta,
			      struct arena *scratch)
{
	bool allocated, admin;
	size_t source, sort;

	if (!m->there)
		return;
	allocated = str_starts(cached_field(claim, "status.allocation", NULL), STR("{"));
	admin = cached_admin_access(claim, scratch);
	source = source_of(claim, scratch);
	sort = (allocated ? 6 : 0) + (admin ? 3 : 0) + source;
	if (!m->gauges[sort])
		m->gauges[sort] = metrics_gauge(m->there, word(allocated), word(admin),
						str_from(sources[source]));
	metrics_gauge_add(m->gauges[sort], delta);
	arena_clear(scratch);
}

void pod_claims_metrics_created(struct pod_claims_metrics *m, const struct json *claim,
				bool success)
{
	if (!m->created)
		return;
	metrics_counter_add(metrics_counter(m->created, success ? STR("success") : STR("failure"),
					    word(has_admin_access(claim)), STR(""), STR("Pod")),
			    1);
}
