/*
 * podinfo_impl - readers for the parts of a pod; for podinfo*.c only.
 *
 * A bound pod is parsed into a temporary tree. Values that are kept are copied, unless their text
 * belongs to the object.
 */
#ifndef SCHEDULER_CACHE_PODINFO_IMPL_H
#define SCHEDULER_CACHE_PODINFO_IMPL_H

#include "base/json/json.h"
#include "scheduler/cache/podinfo.h"

struct podinfo_reader {
	struct podinfo *pod;
	struct amount_names *names;
	const struct json *tree, *meta, *spec, *status;
	bool bound;
};

/* Returns the text with the lifetime of the pod. */
struct str podinfo_keep(struct podinfo *p, struct str text);
/* Keeps the texts of an array. */
const struct str *podinfo_keep_texts(struct podinfo *p, const struct json *list, size_t *ret_n);

/* podinfo_requests.c */
int podinfo_read_requests(struct podinfo_reader *r, struct error *err);

/* podinfo_affinity.c */
int podinfo_read_affinity(struct podinfo_reader *r, struct error *err);
int podinfo_read_spread(struct podinfo_reader *r, struct error *err);

/* podinfo_volumes.c */
int podinfo_read_volumes(struct podinfo_reader *r, struct error *err);

#endif
