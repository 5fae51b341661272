/*
 * Volumes and resource claims of a pod.
 *
 * For a bound pod, only volumes are kept that can conflict with other pods or count against a limit
 * of the node: PersistentVolumeClaims, and disks of attachable kinds.
 */
#include "scheduler/cache/podinfo_impl.h"

#include <stdlib.h>

#include "dra/claims/pod_claims.h"

static bool matters_when_bound(const struct json *volume)
{
	static const char *const local[] = { "configMap", "secret",     "projected", "emptyDir",
					     "hostPath",  "gitRepo",    "nfs",       "image",
					     "glusterfs", "downwardAPI" };

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (json_getz(volume, local[i]))
			return false;
	return true;
}

static int keep_source(struct podinfo_reader *r, const struct json *v, struct pod_volume *volume,
		       struct error *err)
{
	struct json *copy;
	int result;

	volume->source = v;
	if (!r->bound)
		return 0;
	result = json_copy(&r->pod->arena, v, &copy, err);
	if (result == 0)
		volume->source = copy;
	return result;
}

static int read_volume(struct podinfo_reader *r, const struct json *v, struct pod_volume *volume,
		       struct error *err)
{
	struct podinfo *p = r->pod;

	volume->name = podinfo_keep(p, json_text_at(v, "name"));
	volume->pvc = podinfo_keep(
		p, json_text_at(json_getz(v, "persistentVolumeClaim"), "claimName"));
	if (json_getz(v, "ephemeral")) {
		volume->ephemeral = true;
		volume->pvc = str_from(arena_printf(&p->arena, "%.*s-%.*s", STR_ARG(p->name),
						    STR_ARG(volume->name)));
	}
	if (volume->pvc.n > 0)
		volume->pvc_key = str_from(
			arena_printf(&p->arena, "%.*s/%.*s", STR_ARG(p->ns), STR_ARG(volume->pvc)));
	return keep_source(r, v, volume, err);
}

static void podinfo_volumes_read_claim(struct podinfo_reader *r, const struct json *v,
				       struct pod_claim *c)
{
	struct pod_claims_ref ref = pod_claims_ref_of(r->tree, v);

	c->name = podinfo_keep(r->pod, ref.pod_claim);
	c->claim = podinfo_keep(r->pod, ref.claim);
	c->from_template = ref.template.n > 0;
	c->none_needed = ref.state == POD_CLAIMS_REF_UNNEEDED;
}

static void read_claims(struct podinfo_reader *r)
{
	const struct json *list = json_getz(r->spec, "resourceClaims");
	struct pod_claim *claims;

	if (json_count(list) == 0)
		return;
	claims = ARENA_ARRAY(&r->pod->arena, struct pod_claim, json_count(list));
	r->pod->claims = claims;
	JSON_FOREACH (v, list)
		podinfo_volumes_read_claim(r, v, &claims[r->pod->nclaims++]);
}

/* Sorts the keys of claims once, because a pod may have thousands of volumes. */
static void list_pvcs(struct podinfo *p)
{
	struct str *keys;
	size_t n = 0;

	for (size_t i = 0; i < p->nvolumes; i++)
		n += p->volumes[i].pvc.n > 0 && !p->volumes[i].ephemeral;
	if (n == 0)
		return;
	keys = ARENA_ARRAY(&p->arena, struct str, n);
	n = 0;
	for (size_t i = 0; i < p->nvolumes; i++)
		if (p->volumes[i].pvc.n > 0 && !p->volumes[i].ephemeral)
			keys[n++] = p->volumes[i].pvc_key;
	qsort(keys, n, sizeof(*keys), str_order);
	p->pvc_keys = keys;
	for (size_t i = 0; i < n; i++)
		if (p->npvc_keys == 0 || !str_eq(keys[p->npvc_keys - 1], keys[i]))
			keys[p->npvc_keys++] = keys[i];
}

int podinfo_read_volumes(struct podinfo_reader *r, struct error *err)
{
	const struct json *list = json_getz(r->spec, "volumes");
	struct pod_volume *volumes;
	size_t n = 0;

	read_claims(r);
	JSON_FOREACH (v, list)
		n += !r->bound || matters_when_bound(v);
	if (n == 0)
		return 0;
	volumes = ARENA_ARRAY(&r->pod->arena, struct pod_volume, n);
	r->pod->volumes = volumes;
	JSON_FOREACH (v, list) {
		int result;

		if (r->bound && !matters_when_bound(v))
			continue;
		result = read_volume(r, v, &volumes[r->pod->nvolumes++], err);
		if (result < 0)
			return error_wrap(err, result, "spec.volumes");
	}
	list_pvcs(r->pod);
	return 0;
}
