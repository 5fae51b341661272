/*
 * Tables list the fields of each object and their parsers. A parser gets the value with its path,
 * so that every error has its position. Rules over several fields come last, in config_check().
 */
#include "drivers/gpu_config/config.h"

#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/json/quantity.h"
#include "base/text/nearest.h"
#include "base/text/quote.h"
#include "drivers/drivers_limits.h"

static const char api_version[] = "resource.nvidia.com/v1beta1";

static const char *const kind_names[] = {
	[GPU_CONFIG_GPU] = "GpuConfig",
	[GPU_CONFIG_MIG] = "MigDeviceConfig",
	[GPU_CONFIG_VFIO] = "VfioDeviceConfig",
};

static const char *const device_names[] = {
	[GPU_CONFIG_GPU] = "a full GPU",
	[GPU_CONFIG_MIG] = "a MIG device",
	[GPU_CONFIG_VFIO] = "a VFIO device",
};

/* The config under construction, and members that only the checks need. */
struct config_draft {
	struct gpu_config c;
	bool has_time, has_mps; /* timeSlicingConfig, mpsConfig */
	bool has_sharing;
};

struct config_place {
	const char *path; /* "parameters.sharing" */
	const struct json *value;
	struct arena *arena;
};

/* A row; a table ends with a row without a name. */
struct config_field {
	const char *name;
	int (*read)(const struct config_place *at, struct config_draft *d, struct error *err);
};

/* --- pieces ------------------------------------------------------------------------------- */

static int config_fault(const struct config_place *at, const char *what, struct error *err)
{
	return error_set(err, ERR_INVALID, "%s: %s", at->path, what);
}

/* Long text would push the rest out of the message. */
static const char *config_shown(struct str text, char out[static QUOTE_SIZE])
{
	return quote_text(str_cut(text, NEAREST_WORD_MAX), out);
}

static int config_unknown(const struct config_place *at, const struct config_field *fields,
			  struct str key, struct error *err)
{
	char shown[QUOTE_SIZE];
	struct nearest n;
	struct str meant;

	nearest_init(&n, key);
	for (; fields->name; fields++)
		nearest_offer(&n, str_from(fields->name));
	meant = nearest_get(&n);
	return error_set(err, ERR_INVALID, "%s: unknown field %s%s%.*s%s", at->path,
			 config_shown(key, shown), meant.n > 0 ? ", did you mean " : "",
			 STR_ARG(meant), meant.n > 0 ? "?" : "");
}

static int config_read_object(const struct config_place *at, const struct config_field *fields,
			      struct config_draft *d, struct error *err)
{
	if (!json_is(at->value, JSON_OBJECT))
		return config_fault(at, "must be an object", err);
	JSON_FOREACH (it, at->value) {
		const struct config_field *f = fields;
		struct config_place below = { .value = it, .arena = at->arena };
		int r;

		while (f->name && !str_eqz(json_key(it), f->name))
			f++;
		if (!f->name)
			return config_unknown(at, fields, json_key(it), err);
		if (it->type == JSON_NULL)
			continue;
		below.path = arena_printf(at->arena, "%s.%s", at->path, f->name);
		r = f->read(&below, d, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int config_read_bool(const struct config_place *at, bool *ret_value, struct error *err)
{
	return json_bool(at->value, ret_value) ? 0 : config_fault(at, "must be true or false", err);
}

/* The index of the text in `words`, which end with NULL. */
static int config_read_word(const struct config_place *at, const char *const *words,
			    const char *wanted, uint32_t *ret_index, struct error *err)
{
	for (uint32_t i = 0; words[i]; i++)
		if (json_is(at->value, JSON_STRING) && str_eqz(json_str(at->value), words[i])) {
			*ret_index = i;
			return 0;
		}
	return error_set(err, ERR_INVALID, "%s: must be %s", at->path, wanted);
}

/* Whole MiB, because MPS takes no less; the rest is cut, like NVIDIA's driver does. */
static int config_read_memory(const struct config_place *at, int64_t *ret_mib, struct error *err)
{
	struct quantity q;
	int64_t mib;

	if (!quantity_read(at->value, &q))
		return config_fault(at, "must be a quantity of bytes, such as 10Gi", err);
	mib = quantity_value(q) / (int64_t)MIB;
	if (mib < 1)
		return config_fault(at, "must be at least 1Mi", err);
	*ret_mib = mib;
	return 0;
}

/* --- mpsConfig ---------------------------------------------------------------------------- */

static int config_read_threads(const struct config_place *at, struct config_draft *d,
			       struct error *err)
{
	int64_t n;

	if (!json_i64(at->value, &n) || n < 0 || n > 100)
		return config_fault(at, "must be an integer from 0 to 100", err);
	d->c.threads = (int32_t)n;
	return 0;
}

static int config_read_limit(const struct config_place *at, struct config_draft *d,
			     struct error *err)
{
	return config_read_memory(at, &d->c.memory_mib, err);
}

static int config_read_limits(const struct config_place *at, struct config_draft *d,
			      struct error *err)
{
	char shown[QUOTE_SIZE];

	if (!json_is(at->value, JSON_OBJECT))
		return config_fault(at, "must map devices to quantities", err);
	if (json_count(at->value) > GPU_CONFIG_LIMITS_MAX)
		return config_fault(at, "has more devices than a claim can have", err);
	d->c.limits = ARENA_ARRAY(at->arena, struct gpu_memory_limit, json_count(at->value) + 1);
	JSON_FOREACH (it, at->value) {
		struct gpu_memory_limit *limit = &d->c.limits[d->c.nlimits++];
		struct config_place below = {
			.path = arena_printf(at->arena, "%s[%s]", at->path,
					     config_shown(json_key(it), shown)),
			.value = it,
			.arena = at->arena,
		};
		int r = config_read_memory(&below, &limit->mib, err);

		if (r < 0)
			return r;
		limit->device = arena_str(at->arena, json_key(it));
	}
	return 0;
}

static int config_read_users(const struct config_place *at, struct config_draft *d,
			     struct error *err)
{
	return config_read_bool(at, &d->c.multi_user, err);
}

static int config_read_mps(const struct config_place *at, struct config_draft *d, struct error *err)
{
	static const struct config_field fields[] = {
		{ "defaultActiveThreadPercentage", config_read_threads },
		{ "defaultPinnedDeviceMemoryLimit", config_read_limit },
		{ "defaultPerDevicePinnedMemoryLimit", config_read_limits },
		{ "multiUser", config_read_users },
		{ 0 },
	};

	d->has_mps = true;
	return config_read_object(at, fields, d, err);
}

/* --- sharing ------------------------------------------------------------------------------ */

static int config_read_interval(const struct config_place *at, struct config_draft *d,
				struct error *err)
{
	static const char *const words[] = { "Default", "Short", "Medium", "Long", NULL };

	return config_read_word(at, words, "Default, Short, Medium or Long", &d->c.interval, err);
}

static int config_read_time(const struct config_place *at, struct config_draft *d,
			    struct error *err)
{
	static const struct config_field fields[] = {
		{ "interval", config_read_interval },
		{ 0 },
	};

	d->has_time = true;
	return config_read_object(at, fields, d, err);
}

static int config_read_strategy(const struct config_place *at, struct config_draft *d,
				struct error *err)
{
	static const char *const words[] = { "TimeSlicing", "MPS", NULL };
	uint32_t i;
	int r = config_read_word(at, words, "TimeSlicing or MPS", &i, err);

	if (r == 0)
		d->c.sharing = i == 0 ? GPU_SHARING_TIME : GPU_SHARING_MPS;
	return r;
}

static int config_read_sharing(const struct config_place *at, struct config_draft *d,
			       struct error *err)
{
	static const struct config_field gpu[] = {
		{ "strategy", config_read_strategy },
		{ "timeSlicingConfig", config_read_time },
		{ "mpsConfig", config_read_mps },
		{ 0 },
	};
	static const struct config_field mig[] = {
		{ "strategy", config_read_strategy },
		{ "mpsConfig", config_read_mps },
		{ 0 },
	};

	d->has_sharing = true;
	return config_read_object(at, d->c.kind == GPU_CONFIG_MIG ? mig : gpu, d, err);
}

/* --- VfioDeviceConfig --------------------------------------------------------------------- */

static int config_read_policy(const struct config_place *at, struct config_draft *d UNUSED,
			      struct error *err)
{
	static const char *const words[] = { "PreferIommuFD", "LegacyOnly", NULL };
	uint32_t i;

	return config_read_word(at, words, "PreferIommuFD or LegacyOnly", &i, err);
}

static int config_read_device(const struct config_place *at, struct config_draft *d UNUSED,
			      struct error *err)
{
	bool yes;

	return config_read_bool(at, &yes, err);
}

static int config_read_iommu(const struct config_place *at, struct config_draft *d,
			     struct error *err)
{
	static const struct config_field fields[] = {
		{ "backendPolicy", config_read_policy },
		{ "enableAPIDevice", config_read_device },
		{ 0 },
	};

	return config_read_object(at, fields, d, err);
}

/* --- the whole ---------------------------------------------------------------------------- */

/* apiVersion and kind were read before the fields. */
static int config_read_known(const struct config_place *at UNUSED, struct config_draft *d UNUSED,
			     struct error *err UNUSED)
{
	return 0;
}

static int config_read_kind(const struct json *tree, enum gpu_config_kind *ret_kind,
			    struct error *err)
{
	struct str kind = json_text_at(tree, "kind");
	char shown[QUOTE_SIZE];

	if (!str_eqz(json_text_at(tree, "apiVersion"), api_version))
		return error_set(err, ERR_INVALID, "parameters.apiVersion: must be %s",
				 api_version);
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (str_eqz(kind, kind_names[i])) {
			*ret_kind = (enum gpu_config_kind)i;
			return 0;
		}
	return error_set(err, ERR_INVALID,
			 "parameters.kind: must be GpuConfig or MigDeviceConfig, not %s",
			 config_shown(kind, shown));
}

static int config_check(const struct config_draft *d, struct error *err)
{
	const struct gpu_config *c = &d->c;

	if (d->has_sharing && c->sharing == GPU_SHARING_NONE)
		return error_set(err, ERR_INVALID,
				 "parameters.sharing.strategy: is missing; write TimeSlicing or "
				 "MPS");
	if (d->has_time && c->sharing == GPU_SHARING_MPS)
		return error_set(err, ERR_INVALID,
				 "parameters.sharing.timeSlicingConfig: cannot be together with "
				 "strategy MPS; remove one");
	/* NVIDIA's driver accepts it for MIG devices, which have no time slices to set. */
	if (d->has_mps && c->sharing == GPU_SHARING_TIME && c->kind == GPU_CONFIG_GPU)
		return error_set(err, ERR_INVALID,
				 "parameters.sharing.mpsConfig: cannot be together with strategy "
				 "TimeSlicing; remove one");
	return 0;
}

static int config_parse(struct arena *a, struct str text, struct json **ret_tree, struct error *err)
{
	struct json_report report = { 0 };
	struct json_options o = { .depth_max = 64, .report = &report };
	char shown[QUOTE_SIZE];

	if (json_parse(a, text, &o, ret_tree, err) < 0) {
		(void)error_recode(err, ERR_INVALID);
		return error_wrap(err, -ERR_INVALID, "parameters");
	}
	if (report.duplicates)
		return error_set(err, ERR_INVALID, "parameters: the field %s is set twice",
				 config_shown(report.duplicates->path, shown));
	if (!json_is(*ret_tree, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "parameters: must be an object");
	return 0;
}

int gpu_config_read(struct arena *a, struct str parameters, struct gpu_config *ret_config,
		    struct error *err)
{
	static const struct config_field fields[] = {
		{ "apiVersion", config_read_known },
		{ "kind", config_read_known },
		{ "sharing", config_read_sharing },
		{ 0 },
	};
	static const struct config_field vfio[] = {
		{ "apiVersion", config_read_known },
		{ "kind", config_read_known },
		{ "iommu", config_read_iommu },
		{ 0 },
	};
	struct config_draft d = { .c = { .threads = GPU_THREADS_UNSET } };
	struct config_place at = { .path = "parameters", .arena = a };
	struct json *tree;
	int r = config_parse(a, parameters, &tree, err);

	if (r == 0)
		r = config_read_kind(tree, &d.c.kind, err);
	if (r < 0)
		return r;
	at.value = tree;
	r = config_read_object(&at, d.c.kind == GPU_CONFIG_VFIO ? vfio : fields, &d, err);
	if (r == 0)
		r = config_check(&d, err);
	if (r == 0)
		*ret_config = d.c;
	return r;
}

/* --- the config of a device --------------------------------------------------------------- */

static int config_wrong_kind(enum gpu_config_kind has, enum gpu_config_kind kind, struct error *err)
{
	if (has == GPU_CONFIG_VFIO)
		return error_set(err, ERR_INVALID,
				 "parameters.kind: VfioDeviceConfig is not supported, because this "
				 "driver does not pass GPUs through to virtual machines; use %s",
				 kind_names[kind]);
	return error_set(err, ERR_INVALID,
			 "parameters.kind: %s is for %s, but the request got %s; use %s",
			 kind_names[has], device_names[has], device_names[kind], kind_names[kind]);
}

int gpu_config_choose(struct arena *a, const struct gpu_config_source *v, size_t n,
		      enum gpu_config_kind kind, struct gpu_config *ret_config, struct error *err)
{
	struct gpu_config chosen = { .kind = kind, .threads = GPU_THREADS_UNSET }, c;
	bool found = false;

	for (size_t i = n; i-- > 0;) {
		int r = gpu_config_read(a, v[i].parameters, &c, err);

		if (r == 0 && !found && c.kind != kind && v[i].named)
			r = config_wrong_kind(c.kind, kind, err);
		if (r < 0)
			return v[i].from_class ? error_wrap(err, r, "device class") : r;
		if (!found && c.kind == kind) {
			found = true;
			chosen = c;
		}
	}
	*ret_config = chosen;
	return 0;
}

/* SIZE_MAX: no such device. */
static size_t limits_find(struct str device, const char *const *uuids, size_t n)
{
	uint64_t index;

	for (size_t i = 0; i < n; i++)
		if (str_eqz(device, uuids[i]))
			return i;
	return str_to_u64(device, &index) && index < n ? (size_t)index : SIZE_MAX;
}

int gpu_config_limits(const struct gpu_config *c, const char *const *uuids, size_t n,
		      int64_t *ret_mib, struct error *err)
{
	char shown[QUOTE_SIZE];

	for (size_t i = 0; i < n; i++)
		ret_mib[i] = c->memory_mib;
	for (size_t i = 0; i < c->nlimits; i++) {
		size_t at = limits_find(c->limits[i].device, uuids, n);

		if (at == SIZE_MAX)
			return error_set(err, ERR_INVALID,
					 "defaultPerDevicePinnedMemoryLimit: %s is neither the "
					 "UUID nor the index of a device of the claim, which has "
					 "%zu",
					 config_shown(c->limits[i].device, shown), n);
		for (size_t j = 0; j < i; j++)
			if (limits_find(c->limits[j].device, uuids, n) == at)
				return error_set(err, ERR_INVALID,
						 "defaultPerDevicePinnedMemoryLimit: %s names a "
						 "device that another entry names, too",
						 config_shown(c->limits[i].device, shown));
		ret_mib[at] = c->limits[i].mib;
	}
	return 0;
}
