/*
 * Two ways in which what is served differs from what is stored. Fields whose
 * gate is off are left out (decode.h). And network data of claims carries the
 * KEP's names beside upstream's, which alone are stored: a client of either
 * finds its own. Neither is stored, so a change of the gates or of the names
 * needs no migration.
 */
#include "api/write.h"


static bool is_claim(const struct schema_kind *kind)
{
	return str_eq(kind->storage_name, STR("resource.k8s.io/resourceclaims"));
}

/* Each pair: the name that is stored, and the KEP's. */
static const struct {
	struct str stored, alias;
} aliases[] = {
	{ STR("ips"), STR("addresses") },
	{ STR("hardwareAddress"), STR("hwAddress") },
};

static bool add_aliases(struct arena *a, struct json *network)
{
	bool changed = false;

	if (!json_is(network, JSON_OBJECT))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		const struct json *value = json_get(network, aliases[i].stored);
		struct json *copy;

		if (!value || json_copy(a, value, &copy, NULL) < 0)
			continue;
		json_set(network, aliases[i].alias, copy);
		changed = true;
	}
	return changed;
}

bool write_served_form(struct arena *a, struct json *object, const struct schema_kind *kind,
		       const struct gates *gates)
{
	bool changed = decode_drop_served(object, kind->type, gates);

	if (!is_claim(kind))
		return changed;
	JSON_FOREACH(device, json_getz(json_getz(object, "status"), "devices"))
		changed |= add_aliases(a, json_getz(device, "networkData"));
	return changed;
}

bool write_has_served_form(struct str stored, const struct schema_kind *kind,
			   const struct gates *gates)
{
	if (is_claim(kind) && str_find(stored, STR("\"networkData\":")) >= 0)
		return true;
	return decode_drops_served(kind->type, gates);
}
