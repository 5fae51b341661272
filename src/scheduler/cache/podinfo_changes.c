/*
 * Classifies the change of a pod into the events that plugins register for. As upstream, only the
 * number of tolerations is compared (they can only be added), and gates count when the last one is
 * removed.
 */
#include "base/json/json.h"
#include "client/informer/cached.h"
#include "scheduler/cache/cluster_event.h"
#include "scheduler/cache/podinfo.h"

static bool labels_equal(const struct json *a, const struct json *b)
{
	size_t n = a ? json_count(a) : 0, m = b ? json_count(b) : 0;

	return n == m && (!n || json_equal(a, b));
}

static bool scaled_down(const struct amounts *old, const struct amounts *now)
{
	if (old->cpu_milli > now->cpu_milli || old->memory > now->memory ||
	    old->ephemeral > now->ephemeral)
		return true;
	for (size_t i = 0; i < old->scalars.n; i++)
		if (old->scalars.v[i].value > amounts_scalar(now, old->scalars.v[i].name))
			return true;
	return false;
}

static bool claims_equal(const struct podinfo *a, const struct podinfo *b)
{
	if (a->nclaims != b->nclaims)
		return false;
	for (size_t i = 0; i < a->nclaims; i++)
		if (!str_eq(a->claims[i].claim, b->claims[i].claim) ||
		    a->claims[i].none_needed != b->claims[i].none_needed)
			return false;
	return true;
}

/*
 * Whether the claim for extended resources is unchanged. Only pods that request such resources have
 * one.
 */
static bool extended_claim_equal(const struct podinfo *a, const struct podinfo *b)
{
	static const char path[] = "status.extendedResourceClaimStatus";

	if (!a->requests.scalars.n && !b->requests.scalars.n)
		return true;
	if (!a->object || !b->object)
		return true;
	return str_eq(cached_field(a->object, path, NULL), cached_field(b->object, path, NULL));
}

unsigned podinfo_changes(const struct podinfo *old, const struct podinfo *p)
{
	unsigned actions = 0;

	if (!labels_equal(old->labels, p->labels))
		actions |= EVENT_UPDATE_POD_LABEL;
	if (scaled_down(&old->requests, &p->requests))
		actions |= EVENT_UPDATE_POD_SCALE_DOWN;
	if (old->ngates && !p->ngates)
		actions |= EVENT_UPDATE_POD_GATES;
	if (old->ntolerations != p->ntolerations)
		actions |= EVENT_UPDATE_POD_TOLERATION;
	if (!claims_equal(old, p) || !extended_claim_equal(old, p))
		actions |= EVENT_UPDATE_POD_GENERATED_CLAIM;
	return actions ? actions : EVENT_UPDATE_OTHER;
}
