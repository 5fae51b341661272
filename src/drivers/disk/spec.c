/* Capacities are quantities, like the requests of pods: "500Mi" means the same in both. */
#include "drivers/disk/spec.h"

#include <fnmatch.h>

#include "base/json/quantity.h"

static int parse_rate(struct str text, int64_t *ret_rate, struct error *err)
{
	struct quantity q;
	struct error why;

	if (quantity_parse(text, &q, &why) < 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a quantity such as 500Mi",
				 STR_ARG(text));
	if (quantity_sign(q) <= 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not more than 0", STR_ARG(text));
	*ret_rate = quantity_value(q);
	return 0;
}

static int parse_part(struct str part, struct disk_capacity *c, struct error *err)
{
	struct str key = part, value;
	ptrdiff_t at = str_chr(part, ':');
	int64_t *rate;

	if (at < 0)
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is neither read:QUANTITY nor write:QUANTITY",
				 STR_ARG(part));
	key.n = (size_t)at;
	value = str_skip(part, (size_t)at + 1);
	if (!str_eq(key, STR("read")) && !str_eq(key, STR("write")))
		return error_set(err, ERR_INVALID, "\"%.*s\" is neither read nor write",
				 STR_ARG(key));
	rate = str_eq(key, STR("read")) ? &c->read : &c->write;
	if (*rate)
		return error_set(err, ERR_INVALID, "%.*s is set twice", STR_ARG(key));
	return parse_rate(value, rate, err);
}

static int parse_name(struct str name, struct disk_capacity *c, struct error *err)
{
	if (!disk_name_is_fit(name))
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is not a device name from /sys/block, such as sda",
				 STR_ARG(name));
	str_put(c->device, name);
	c->device[name.n] = 0;
	return 0;
}

int disk_capacity_parse(struct str text, struct disk_capacity *ret_capacity, struct error *err)
{
	struct disk_capacity c = { 0 };
	ptrdiff_t at = str_chr(text, '=');
	struct str rest, part;
	int r;

	if (at < 0)
		return error_set(err, ERR_INVALID, "it is not DEVICE=read:QUANTITY,write:QUANTITY");
	r = parse_name(str_of(text.p, (size_t)at), &c, err);
	rest = str_skip(text, (size_t)at + 1);
	while (r == 0 && str_split(&rest, ',', &part))
		r = parse_part(part, &c, err);
	if (r == 0 && c.read == 0 && c.write == 0)
		r = error_set(err, ERR_INVALID, "it has neither read nor write");
	if (r == 0)
		*ret_capacity = c;
	return r;
}

static bool matches(const char *const *globs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(globs[i], name, 0) == 0)
			return true;
	return false;
}

bool disk_spec_wants(const struct disk_spec *s, const char *name, const struct disk_hardware *h)
{
	struct str text = str_from(name);

	if (!h->whole || matches(s->excluded, s->nexcluded, name))
		return false;
	if (s->npatterns > 0)
		return matches(s->patterns, s->npatterns, name);
	return h->device && !h->empty && !str_starts(text, STR("sr")) &&
	       !str_starts(text, STR("fd"));
}

const struct disk_capacity *disk_spec_capacity(const struct disk_spec *s, const char *name)
{
	for (size_t i = 0; i < s->ncapacities; i++)
		if (strcmp(s->capacities[i].device, name) == 0)
			return &s->capacities[i];
	return NULL;
}
