/*
 * Any text as a CDI file, JSON or YAML by its first byte. An accepted file has a kind and devices
 * with names, and its edits are applied or rejected with a reason.
 */
#include "node/container/cdi.h"
#include "node/container/cdi_spec.h"
#include "target.h"

static void apply(const struct json *edits, struct arena *a)
{
	struct container_spec spec = { 0 };
	struct error err = { 0 };
	int r = cdi_edits_apply(edits, a, &spec, &err);

	require(r == 0 || (r == -ERR_UNIMPLEMENTED && err.msg[0]));
	for (size_t i = 0; i < spec.env.n; i++)
		require(spec.env.v[i].key.n > 0);
	for (size_t i = 0; i < spec.ndevices; i++)
		require(spec.devices[i].container_path.p[0] == '/' &&
			spec.devices[i].permissions.n);
	for (size_t i = 0; i < spec.nmounts; i++)
		require(spec.mounts[i].container_path.p[0] == '/' && spec.mounts[i].host_path.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size);
	struct json *spec = NULL;
	struct arena a;
	struct error err = { 0 };

	arena_init(&a, SIZE_MAX);
	if (cdi_spec_parse(&a, text, size > 0 && data[0] == '{', &spec, &err) < 0) {
		require(err.msg[0]);
	} else {
		require(cdi_spec_valid_kind(cdi_spec_kind(spec)));
		apply(json_getz(spec, "containerEdits"), &a);
		JSON_FOREACH (it, json_getz(spec, "devices")) {
			require(cdi_spec_device(spec, json_text_at(it, "name")) == it);
			apply(json_getz(it, "containerEdits"), &a);
		}
	}
	(void)cdi_valid_name(text);
	arena_release(&a);
	return 0;
}
