/*
 * podinfo_impl - how the parts of a pod are read; for podinfo*.c only.
 *
 * A pod that is bound is read into a tree that is thrown away: what is kept is copied unless it is
 * the object's own text.
 */
#ifndef SCHEDULER_CACHE_PODINFO_IMPL_H
#define SCHEDULER_CACHE_PODINFO_IMPL_H

#include "base/json/json.h"
#include "scheduler/cache/podinfo.h"

struct podinfo_reader {
	struct podinfo *pod;
	struct amount_names *names;
	const struct json *meta, *spec, *status;
	bool bound;
};

/* The same text, living as long as the pod. */
struct str podinfo_keep(struct podinfo *p, struct str text);
/* A flat object of texts, kept. NULL for none, or an empty one. */
const struct json *podinfo_keep_map(struct podinfo *p, const struct json *map);
/* Texts of an array. */
const struct str *podinfo_keep_texts(struct podinfo *p, const struct json *list, size_t *ret_n);

/* podinfo_requests.c */
int podinfo_read_requests(struct podinfo_reader *r, struct error *err);

/* podinfo_affinity.c */
int podinfo_read_affinity(struct podinfo_reader *r, struct error *err);
int podinfo_read_spread(struct podinfo_reader *r, struct error *err);

/* podinfo_volumes.c */
int podinfo_read_volumes(struct podinfo_reader *r, struct error *err);

#endif
