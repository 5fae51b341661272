/*
 * The only place that makes and parses keys.
 */
#include "store/etcd/key.h"

/* Between namespace and name; etcd/key.h says why. */
#define SEPARATOR ' '

static int check_resource(struct str resource, struct error *err)
{
	ptrdiff_t slash = str_chr(resource, '/');

	if (slash <= 0 || (size_t)slash + 1 == resource.n ||
	    str_chr(str_skip(resource, (size_t)slash + 1), '/') >= 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not the name of a resource",
				 STR_ARG(resource));
	return 0;
}

static int check_ns(struct str ns, struct error *err)
{
	for (size_t i = 0; i < ns.n; i++)
		if ((unsigned char)ns.p[i] <= SEPARATOR || ns.p[i] == '/')
			return error_set(err, ERR_INVALID, "\"%.*s\" cannot be a namespace",
					 STR_ARG(ns));
	return 0;
}

static int key_check_name(struct str name, struct error *err)
{
	if (str_chr(name, '/') >= 0 || str_chr(name, '\0') >= 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" cannot be a name", STR_ARG(name));
	return 0;
}

/* `<prefix>/<resource>/` */
static int add_resource(struct str prefix, struct str resource, struct buf *out, struct error *err)
{
	int r = check_resource(resource, err);

	if (r < 0)
		return r;
	(void)buf_add_str(out, prefix);
	(void)buf_addc(out, '/');
	(void)buf_add_str(out, resource);
	(void)buf_addc(out, '/');
	return 0;
}

static int check_size(const struct buf *out, struct error *err)
{
	if (out->overflow || out->n > ETCD_KEY_MAX)
		return error_set(err, ERR_INVALID, "a key of etcd's is longer than %d bytes",
				 ETCD_KEY_MAX);
	return 0;
}

int etcd_key_make(struct str prefix, const struct store_key *key, struct buf *out,
		  struct error *err)
{
	int r = check_ns(key->ns, err);

	if (r == 0)
		r = key_check_name(key->name, err);
	if (r == 0)
		r = add_resource(prefix, key->resource, out, err);
	if (r < 0)
		return r;
	(void)buf_add_str(out, key->ns);
	(void)buf_addc(out, SEPARATOR);
	(void)buf_add_str(out, key->name);
	return check_size(out, err);
}

bool etcd_key_parse(struct str prefix, struct str text, struct store_key *ret_key)
{
	struct str rest, group, plural, key;
	ptrdiff_t space;

	if (!str_starts(text, prefix))
		return false;
	rest = str_skip(text, prefix.n);
	if (rest.n == 0 || rest.p[0] != '/')
		return false;
	rest = str_skip(rest, 1);
	if (!str_split(&rest, '/', &group) || !str_split(&rest, '/', &plural) || !rest.p)
		return false;
	key = rest;
	space = str_chr(key, SEPARATOR);
	if (group.n == 0 || plural.n == 0 || space < 0 || str_chr(key, '/') >= 0)
		return false;
	*ret_key = (struct store_key){
		.resource = str_of(group.p, group.n + 1 + plural.n),
		.ns = str_of(key.p, (size_t)space),
		.name = str_skip(key, (size_t)space + 1),
	};
	return true;
}

int etcd_key_range(struct str prefix, const struct store_range *range, struct buf *from,
		   struct buf *end, struct error *err)
{
	struct store_key after = { range->resource, range->after_ns, range->after_name };
	int r = check_ns(range->ns, err);

	if (r == 0)
		r = add_resource(prefix, range->resource, end, err);
	if (r == 0 && range->ns.n) {
		(void)buf_add_str(end, range->ns);
		(void)buf_addc(end, SEPARATOR);
	}
	if (r == 0)
		r = check_size(end, err);
	if (r < 0)
		return r;
	if (range->after_ns.n == 0 && range->after_name.n == 0) {
		(void)buf_add_str(from, buf_str(end));
	} else {
		r = etcd_key_make(prefix, &after, from, err);
		/* The next possible key. */
		(void)buf_addc(from, '\0');
	}
	/* Incrementing the last byte gives the first key after all keys with this prefix. */
	end->p[end->n - 1]++;
	return r;
}
