/*
 * resource.k8s.io/v1beta1, which is older than two wrappers and one that went:
 * a request's own fields lie in `exactly` since, beside which there may be
 * `firstAvailable`; a device's fields lay in `basic`, for which there was to be
 * an alternative.
 */
#include "api/convert.h"

#include "base/json.h"

static const struct str class_name = { "deviceClassName", 15 };

/* What v1 keeps in `exactly`. */
static const struct str exact[] = {
	{ "deviceClassName", 15 }, { "selectors", 9 },
	{ "allocationMode", 14 },  { "count", 5 },
	{ "adminAccess", 11 },     { "tolerations", 11 },
	{ "capacity", 8 },         { "derivedAttributes", 17 },
};

static bool is_empty_text(const struct json *v)
{
	return json_is(v, JSON_STRING) && v->n == 0;
}

static void add_class_name(struct arena *a, struct json *object)
{
	if (!json_get(object, class_name))
		json_add(object, class_name, json_make_str(a, STR("")));
}

static void wrap_request(struct arena *a, struct json *request)
{
	struct json *exactly = json_make_object(a), *v;

	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		v = json_remove(request, exact[i]);
		if (v && !is_empty_text(v))
			json_add(exactly, exact[i], v);
	}
	if (exactly->n == 0)
		return;
	add_class_name(a, exactly);
	json_set(request, STR("exactly"), exactly);
}

static void unwrap_request(struct arena *a, struct json *request)
{
	struct json *exactly = json_remove(request, STR("exactly"));

	JSON_FOREACH_SAFE (v, exactly)
		json_set(request, json_key(v), json_unlink(exactly, v));
	add_class_name(a, request);
}

static void each_request(struct arena *a, const struct json *spec,
			 void (*convert)(struct arena *, struct json *))
{
	JSON_FOREACH (request, json_getz(json_getz(spec, "devices"), "requests"))
		if (request->type == JSON_OBJECT)
			convert(a, request);
}

void convert_resource_v1beta1_resource_claim_to_storage(struct arena *a, struct json *object)
{
	each_request(a, json_getz(object, "spec"), wrap_request);
}

void convert_resource_v1beta1_resource_claim_from_storage(struct arena *a, struct json *object)
{
	each_request(a, json_getz(object, "spec"), unwrap_request);
}

void convert_resource_v1beta1_resource_claim_template_to_storage(struct arena *a,
								 struct json *object)
{
	each_request(a, json_getz(json_getz(object, "spec"), "spec"), wrap_request);
}

void convert_resource_v1beta1_resource_claim_template_from_storage(struct arena *a,
								   struct json *object)
{
	each_request(a, json_getz(json_getz(object, "spec"), "spec"), unwrap_request);
}

static void unwrap_device(struct json *device)
{
	struct json *basic = json_remove(device, STR("basic"));

	JSON_FOREACH_SAFE (v, basic)
		json_set(device, json_key(v), json_unlink(basic, v));
}

static void wrap_device(struct arena *a, struct json *device)
{
	struct json *basic = json_make_object(a);

	JSON_FOREACH_SAFE (v, device)
		if (!str_eqz(json_key(v), "name"))
			json_add(basic, json_key(v), json_unlink(device, v));
	json_add(device, STR("basic"), basic);
}

static struct json *devices_of(const struct json *slice)
{
	return json_getz(json_getz(slice, "spec"), "devices");
}

void convert_resource_v1beta1_resource_slice_to_storage(struct arena *a, struct json *object)
{
	JSON_FOREACH (device, devices_of(object))
		if (device->type == JSON_OBJECT)
			unwrap_device(device);
}

void convert_resource_v1beta1_resource_slice_from_storage(struct arena *a, struct json *object)
{
	JSON_FOREACH (device, devices_of(object))
		if (device->type == JSON_OBJECT)
			wrap_device(a, device);
}
