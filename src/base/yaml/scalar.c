/*
 * A tag either demands a kind of value, which the text must then have, or says
 * nothing to us and makes a string. Only !!binary transforms its text.
 */
#include "base/yaml/scalar.h"

#include <math.h>
#include <yaml.h>

#include "base/text/base64.h"
#include "base/text/number.h"
#include "base/yaml/resolve.h"

#define BINARY_TAG "tag:yaml.org,2002:binary"

static const struct {
	const char *tag;
	enum yaml_kind kind;
} tags[] = {
	{ YAML_NULL_TAG, YAML_KIND_NULL },
	{ YAML_BOOL_TAG, YAML_KIND_BOOL },
	{ YAML_INT_TAG, YAML_KIND_INT },
	{ YAML_FLOAT_TAG, YAML_KIND_FLOAT },
	{ YAML_TIMESTAMP_TAG, YAML_KIND_TIMESTAMP },
};

/* The kind that a tag demands. */
static enum yaml_kind kind_of_tag(const char *tag)
{
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (strcmp(tags[i].tag, tag) == 0)
			return tags[i].kind;
	return YAML_KIND_STR;
}

static bool set_str(struct arena *a, struct str text, struct json *v)
{
	char *copy = arena_try_alloc(a, text.n);

	if (!copy)
		return false;
	str_put(copy, text);
	v->type = JSON_STRING;
	v->text = copy;
	v->n = (uint32_t)text.n;
	return true;
}

static bool read_binary(struct arena *a, struct str text, struct json *v, const char **ret_why)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(text.n), bytes = BUF_INIT(text.n);

	/* Go leaves line breaks out. */
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\n' && text.p[i] != '\r')
			(void)buf_addc(&plain, text.p[i]);
	if (base64_decode(&bytes, buf_str(&plain), BASE64_STD, NULL) < 0) {
		*ret_why = "a !!binary value is not base64";
		return false;
	}
	if (!str_is_utf8(buf_str(&bytes))) {
		*ret_why = "a !!binary value is not UTF-8, which JSON cannot hold";
		return false;
	}
	return set_str(a, buf_str(&bytes), v);
}

static bool scalar_fits(enum yaml_kind found, enum yaml_kind wanted, struct json *v)
{
	double number;

	if (wanted == YAML_KIND_FLOAT && found == YAML_KIND_INT && json_f64(v, &number)) {
		v->type = JSON_DOUBLE;
		v->f64 = number;
		return true;
	}
	return found == wanted;
}

bool yaml_scalar_read(struct arena *a, struct str text, const char *tag, bool plain, struct json *v,
		      const char **ret_why)
{
	enum yaml_kind wanted = tag ? kind_of_tag(tag) : YAML_KIND_STR, found;

	if (tag && strcmp(tag, BINARY_TAG) == 0)
		return read_binary(a, text, v, ret_why);
	if (tag ? wanted == YAML_KIND_STR : !plain)
		return set_str(a, text, v);
	found = yaml_resolve(text, v);
	if (tag && !scalar_fits(found, wanted, v)) {
		*ret_why = "a value does not fit its tag";
		return false;
	}
	return v->type == JSON_STRING ? set_str(a, text, v) : true;
}

bool yaml_scalar_is_merge(struct str text, const char *tag, bool plain)
{
	if (!str_eq(text, STR("<<")))
		return false;
	return tag ? strcmp(tag, "tag:yaml.org,2002:merge") == 0 : plain;
}

/* As sigs.k8s.io/yaml writes it: with the digits of a 32-bit float. */
static size_t print_float(double v, char out[static JSON_NUMBER_MAX])
{
	struct json_digits digits;
	float narrow = (float)v;

	if (isnan(narrow))
		return (size_t)snprintf(out, JSON_NUMBER_MAX, ".nan");
	if (isinf(narrow))
		return (size_t)snprintf(out, JSON_NUMBER_MAX, narrow < 0 ? "-.inf" : ".inf");
	json_digits_f32(narrow, &digits);
	return json_digits_print_general(&digits, out);
}

bool yaml_scalar_key(struct arena *a, const struct json *key, struct str *ret_text,
		     const char **ret_why)
{
	char text[JSON_NUMBER_MAX];
	struct json copy;
	int n = 0;

	switch (key->type) {
	case JSON_STRING:
		*ret_text = json_str(key);
		return true;
	case JSON_BOOL:
		*ret_text = key->boolean ? STR("true") : STR("false");
		return true;
	case JSON_INT:
		n = snprintf(text, sizeof(text), "%lld", (long long)key->i64);
		break;
	case JSON_UINT:
		n = snprintf(text, sizeof(text), "%llu", (unsigned long long)key->u64);
		break;
	case JSON_DOUBLE:
		n = (int)print_float(key->f64, text);
		break;
	default:
		*ret_why = "a key must be a string, a number or a boolean";
		return false;
	}
	if (!set_str(a, str_of(text, (size_t)n), &copy))
		return false;
	*ret_text = json_str(&copy);
	return true;
}
