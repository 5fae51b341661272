/*
 * The format is the CDI specification's up to version 1.1.0. A file is checked whole when it is
 * read, so code that applies its edits can rely on the types.
 */
#include "node/container/cdi_spec.h"

#include "base/core/map.h"
#include "base/yaml/yaml.h"
#include "node/node_limits.h"

/* Letters, digits and characters of `others`; the ends are letters or digits. */
static bool is_word(struct str s, const char *others)
{
	if (s.n == 0 || !str_is_alnum(s.p[0]) || !str_is_alnum(s.p[s.n - 1]))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!str_is_alnum(s.p[i]) && (s.p[i] == '\0' || !strchr(others, s.p[i])))
			return false;
	}
	return true;
}

bool cdi_spec_valid_kind(struct str kind)
{
	ptrdiff_t slash = str_chr(kind, '/');
	struct str vendor = str_of(kind.p, slash > 0 ? (size_t)slash : 0);
	struct str class = str_skip(kind, (size_t)slash + 1);

	return slash > 0 && is_word(vendor, "_-.") && str_is_letter(vendor.p[0]) &&
	       is_word(class, "_-.") && str_is_letter(class.p[0]);
}

bool cdi_spec_valid_device(struct str name)
{
	return is_word(name, "_-.:");
}

/* Versions that we know, as numbers: 0.1.0 to 0.8.0, 1.0.0, 1.1.0. */
static bool is_known_version(struct str v)
{
	struct str major, minor, patch;
	uint64_t a, b, c;

	if (str_starts(v, STR("v")))
		v = str_skip(v, 1);
	if (!str_split(&v, '.', &major) || !str_split(&v, '.', &minor) ||
	    !str_split(&v, '.', &patch) || v.p)
		return false;
	if (!str_to_u64(major, &a) || !str_to_u64(minor, &b) || !str_to_u64(patch, &c))
		return false;
	return (a == 0 && b >= 1 && b <= 8) || (a == 1 && b <= 1);
}

static int check_device(const struct json *device, struct map *names, struct error *err)
{
	struct str name = json_text_at(device, "name");
	int r;

	if (!json_is(device, JSON_OBJECT) || !cdi_spec_valid_device(name))
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a device name", STR_ARG(name));
	if (map_put(names, name, (void *)device))
		return error_set(err, ERR_INVALID, "two devices are named \"%.*s\"", STR_ARG(name));
	r = cdi_edits_check(json_getz(device, "containerEdits"), err);
	return r < 0 ? error_wrap(err, r, "device \"%.*s\"", STR_ARG(name)) : 0;
}

static int cdi_spec_check(const struct json *spec, struct error *err)
{
	struct str version = json_text_at(spec, "cdiVersion");
	const struct json *devices = json_getz(spec, "devices");
	CLEANUP(map_release) struct map names;
	int r;

	map_init(&names);
	if (!json_is(spec, JSON_OBJECT) || version.n == 0)
		return error_set(err, ERR_INVALID, "no cdiVersion: this is not a CDI file");
	if (!is_known_version(version))
		return error_set(err, ERR_UNIMPLEMENTED, "cdiVersion \"%.*s\" is not known",
				 STR_ARG(version));
	if (!cdi_spec_valid_kind(cdi_spec_kind(spec)))
		return error_set(err, ERR_INVALID, "kind \"%.*s\" is not VENDOR/CLASS",
				 STR_ARG(cdi_spec_kind(spec)));
	if (devices && !json_is(devices, JSON_ARRAY))
		return error_set(err, ERR_INVALID, "devices is not a list");
	if (json_count(devices) > CDI_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE, "more than %d devices", CDI_DEVICES_MAX);
	r = cdi_edits_check(json_getz(spec, "containerEdits"), err);
	if (r < 0)
		return r;
	JSON_FOREACH (it, devices) {
		r = check_device(it, &names, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int cdi_spec_parse(struct arena *a, struct str text, bool is_json, struct json **ret_spec,
		   struct error *err)
{
	struct json *spec = NULL;
	int r = is_json ? json_parse(a, text, NULL, &spec, err)
			: yaml_parse(a, text, NULL, &spec, err);

	if (r == 0)
		r = cdi_spec_check(spec, err);
	if (r < 0)
		return r;
	*ret_spec = spec;
	return 0;
}

struct str cdi_spec_kind(const struct json *spec)
{
	return json_text_at(spec, "kind");
}

struct json *cdi_spec_device(const struct json *spec, struct str name)
{
	return json_find(json_getz(spec, "devices"), "name", name);
}
