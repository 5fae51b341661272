/*
 * Volumes, their claims and classes, and CSI drivers.
 */
#include "api/table/column.h"

#include "base/core/limits.h"

/* Prints ReadWriteOnce as RWO, in upstream's order, each once. */
static void access_modes(const struct json *modes, struct buf *out)
{
	static const struct {
		const char *mode, *shown;
	} known[] = {
		{ "ReadWriteOnce", "RWO" },
		{ "ReadOnlyMany", "ROX" },
		{ "ReadWriteMany", "RWX" },
		{ "ReadWriteOncePod", "RWOP" },
	};
	struct buf text = BUF_INIT(KIB);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		bool has = false;

		JSON_FOREACH (m, modes)
			has |= str_eqz(json_str(m), known[i].mode);
		if (has)
			(void)buf_printf(&text, "%s%s", text.n ? "," : "", known[i].shown);
	}
	column_text(out, buf_str(&text), "");
	buf_release(&text);
}

void column_volume_phase(const struct json *object, int64_t now_ns, struct buf *out)
{
	if (column_find(object, "metadata.deletionTimestamp"))
		column_text(out, STR("Terminating"), "");
	else
		column_text(out, column_find_str(object, "status.phase"), "");
}

void column_volume_capacity(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.capacity.storage"), "0");
}

void column_volume_modes(const struct json *object, int64_t now_ns, struct buf *out)
{
	access_modes(column_find(object, "spec.accessModes"), out);
}

void column_volume_claim(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *claim = column_find(object, "spec.claimRef");

	if (claim)
		column_printf(out, "%.*s/%.*s", STR_ARG(column_find_str(claim, "namespace")),
			      STR_ARG(column_find_str(claim, "name")));
	else
		column_text(out, STR_NULL, "");
}

/* The annotation that preceded the field still counts. */
void column_volume_class(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *annotations = column_find(object, "metadata.annotations");
	struct str beta = json_str(
		json_getz(annotations, "volume.beta.kubernetes.io/storage-class"));

	column_text(out, beta.p ? beta : column_find_str(object, "spec.storageClassName"), "");
}

void column_volume_attributes(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.volumeAttributesClassName"), "<unset>");
}

void column_volume_mode(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.volumeMode"), "<unset>");
}

void column_volume_claim_capacity(const struct json *object, int64_t now_ns, struct buf *out)
{
	bool bound = column_find_str(object, "spec.volumeName").n > 0;

	column_text(out, bound ? column_find_str(object, "status.capacity.storage") : STR_NULL,
		    bound ? "0" : "");
}

void column_volume_claim_modes(const struct json *object, int64_t now_ns, struct buf *out)
{
	bool bound = column_find_str(object, "spec.volumeName").n > 0;

	access_modes(bound ? column_find(object, "status.accessModes") : NULL, out);
}

void column_class_reclaim(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "reclaimPolicy"), "Delete");
}

void column_class_binding(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "volumeBindingMode"), "Immediate");
}

void column_class_expansion(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_addz(out, column_find_bool(object, "allowVolumeExpansion") ? "true" : "false");
}

void column_csi_node_drivers(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_u64(out, json_count(column_find(object, "spec.drivers")));
}

void column_csi_driver_attach(const struct json *object, int64_t now_ns, struct buf *out)
{
	bool required = true;

	(void)json_bool(column_find(object, "spec.attachRequired"), &required);
	(void)buf_addz(out, required ? "true" : "false");
}

void column_csi_driver_tokens(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *requests = column_find(object, "spec.tokenRequests");

	column_join(out, requests, "audience", ",", requests ? "" : "<unset>");
}

void column_csi_driver_modes(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "spec.volumeLifecycleModes"), NULL, ",", "<none>");
}
