/*
 * The served form of an object differs from the stored form in three ways. Fields whose gate is off
 * are left out (decode.h). Network data of claims (KEP-4817) has the KEP's names next to
 * upstream's, which alone are stored, so that a client of either finds its own. A change of the
 * gates or of the names thus needs no migration. Finally, an object that an older release stored in
 * another version is converted to the current one; its next write stores it so.
 */
#include "api/crd/crd.h"
#include "api/write/write_impl.h"
#include "base/json/cursor.h"

/* Gates of fields with SCHEMA_GATE_SERVED; a test compares this with the schema. */
static const enum gate served_gates[] = {
	GATE_ResourceHealthStatus,
	GATE_ResourceHealthStatusMessage,
	GATE_DRAResourceClaimDeviceStatus,
	GATE_DRAResourceAvailabilityVisibility,
};

static const struct schema_type *stored_type(const struct schema_kind *kind)
{
	return kind->storage ? kind->storage->type : kind->type;
}

bool write_is_stale(struct str stored, const struct schema_kind *kind)
{
	const struct schema_kind *storage = kind->storage ? kind->storage : kind;
	struct json_cursor c = json_cursor_of(stored);
	enum json_cursor_type type;
	struct str version;

	/* Every text that we store begins with it. */
	return json_cursor_find(&c, STR("apiVersion")) && json_cursor_value(&c, &version, &type) &&
	       !str_eq(version, storage->api_version);
}

bool write_upgrade(struct arena *a, struct json *object)
{
	const struct schema_kind *kind = schema_find_kind(json_text_at(object, "apiVersion"),
							  json_text_at(object, "kind"));

	if (!kind || kind->storage == kind)
		return false;
	write_to_storage(a, object, kind);
	return true;
}

bool write_served_form(struct arena *a, struct json *object, const struct schema_kind *kind,
		       const struct gates *gates)
{
	bool changed;

	if (kind->custom)
		return crd_served_form(a, object, kind);
	changed = write_upgrade(a, object);
	changed |= decode_drop_served(object, stored_type(kind), gates);
	if (!(kind->flags & SCHEMA_NETWORK_NAMES))
		return changed;
	JSON_FOREACH (device, json_getz(json_getz(object, "status"), "devices"))
		changed |= write_show_names(a, json_getz(device, "networkData"));
	return changed;
}

/* Whether all of them are on, which is the default: then no object's type has to be checked. */
static bool all_served(const struct gates *gates)
{
	for (size_t i = 0; i < ARRAY_SIZE(served_gates); i++)
		if (!gates_on(gates, served_gates[i]))
			return false;
	return true;
}

bool write_has_served_form(struct str stored, const struct schema_kind *kind,
			   const struct gates *gates)
{
	/* The text does not say under which schema it was stored. */
	if (kind->custom || write_is_stale(stored, kind))
		return true;
	if ((kind->flags & SCHEMA_NETWORK_NAMES) && str_find(stored, STR("\"networkData\":")) >= 0)
		return true;
	return !all_served(gates) && decode_drops_served(stored_type(kind), gates);
}
