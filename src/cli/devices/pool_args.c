/*
 * Names are compared with existing pools, because names of drivers and pools cannot be split
 * reliably.
 */
#include "cli/devices/pool_args.h"

#include "base/text/nearest.h"

static bool is_word(struct str word)
{
	static const char *const words[] = { "resourcepool", "resourcepools", "pool", "pools" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (str_ieq(word, str_from(words[i])))
			return true;
	}
	return false;
}

static bool is_device_word(struct str word)
{
	return str_ieq(word, STR("devices")) || str_ieq(word, STR("device"));
}

/* Whether the server has no type of that name. */
static int is_free(struct kube *k, struct str word, struct error *err)
{
	const struct discovery_resource *type;
	int r = kube_resource(k, word, &type, err);

	return r == -ERR_NOT_FOUND ? 1 : r;
}

/* "pool/a pool/b": each has its type. */
static int parse_pairs(struct kube *k, const struct flag_list *operands, struct pool_args *args,
		       struct error *err)
{
	struct str rest, word;

	for (size_t i = 0; i < operands->n; i++) {
		rest = str_from(operands->v[i]);
		(void)str_split(&rest, '/', &word);
		if ((args->devices ? !is_device_word(word) : !is_word(word)) || rest.n == 0)
			return cli_bad_usage(k->cli, err,
					     "\"%s\" is not TYPE/POOL, as the others are: pools "
					     "and devices are shown alone",
					     operands->v[i]);
		args->names[args->n++] = rest;
	}
	return 1;
}

int pool_args_parse(struct kube *k, const struct flag_list *operands, struct pool_args *ret_args,
		    struct error *err)
{
	struct pool_args args = { .names = ARENA_ARRAY(&k->cli->arena, struct str,
						       operands->n + 1) };
	struct str rest = operands->n > 0 ? str_from(operands->v[0]) : STR_NULL, word = STR_NULL;
	int r;

	(void)str_split(&rest, '/', &word);
	args.devices = is_device_word(word);
	if (!is_word(word) && !args.devices)
		return 0;
	r = is_free(k, word, err);
	if (r <= 0)
		return r;
	if (rest.p)
		r = parse_pairs(k, operands, &args, err);
	for (size_t i = 1; !rest.p && i < operands->n; i++)
		args.names[args.n++] = str_from(operands->v[i]);
	*ret_args = args;
	return r;
}

/* --- pools that exist ------------------------------------------------------------------------ */

/* Names of pools may have slashes themselves, so the end of the word is looked at. */
static bool is_device_of(const struct device_pool *p, struct str device, struct str word)
{
	struct str pool = str_of(word.p, word.n - MIN(device.n, word.n));

	if (str_eq(word, device))
		return true;
	if (!str_ends(word, device) || pool.n < 2 || pool.p[pool.n - 1] != '/')
		return false;
	return device_pools_is_called(p, str_of(pool.p, pool.n - 1));
}

static bool has_device(const struct device_pool *p, struct str word)
{
	for (size_t i = 0; i < p->n; i++) {
		JSON_FOREACH (it, json_getz(p->slices[i].spec, "devices")) {
			if (!p->slices[i].older && is_device_of(p, json_text_at(it, "name"), word))
				return true;
		}
	}
	return false;
}

bool pool_args_has_device(const struct pool_args *args, const struct device_pool *p,
			  struct str device)
{
	for (size_t i = 0; i < args->n; i++) {
		if (device_pools_is_called(p, args->names[i]) ||
		    is_device_of(p, device, args->names[i]))
			return true;
	}
	return args->n == 0;
}

static void offer_devices(const struct device_pool *p, struct nearest *near)
{
	for (size_t i = 0; i < p->n; i++) {
		JSON_FOREACH (it, json_getz(p->slices[i].spec, "devices"))
			nearest_offer(near, json_text_at(it, "name"));
	}
}

static int not_found(const struct pool_args_found *f, bool devices, struct str name,
		     struct error *err)
{
	const char *what = devices ? "a device or a pool" : "a pool";
	struct nearest near;

	nearest_init(&near, name);
	for (size_t i = 0; i < f->n; i++) {
		nearest_offer(&near, f->pools[i].name);
		if (devices)
			offer_devices(&f->pools[i], &near);
	}
	if (nearest_get(&near).n > 0)
		return error_set(err, ERR_NOT_FOUND,
				 "no slice has %s \"%.*s\"; did you mean \"%.*s\"?", what,
				 STR_ARG(name), STR_ARG(nearest_get(&near)));
	return error_set(err, ERR_NOT_FOUND, "no slice has %s \"%.*s\"", what, STR_ARG(name));
}

static int pool_args_pick(struct kube *k, const struct pool_args *args, struct pool_args_found *f,
			  struct error *err)
{
	bool *wanted = ARENA_ARRAY(&k->cli->arena, bool, f->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < args->n; i++) {
		bool any = false;

		for (size_t p = 0; p < f->n; p++) {
			bool is = device_pools_is_called(&f->pools[p], args->names[i]) ||
				  (args->devices && has_device(&f->pools[p], args->names[i]));

			wanted[p] |= is;
			any |= is;
		}
		if (!any)
			return not_found(f, args->devices, args->names[i], err);
	}
	for (size_t p = 0; p < f->n; p++) {
		if (wanted[p] || args->n == 0)
			f->pools[n++] = f->pools[p];
	}
	f->n = n;
	return 0;
}

int pool_args_load(struct kube *k, const struct pool_args *args, bool hidden,
		   struct pool_args_found *ret_found, struct error *err)
{
	struct device_view_query q = { .hidden = hidden };
	struct pool_args_found f = { .n = 0 };
	int r = device_view_load(k, &q, &f.view, err);

	if (r < 0)
		return r;
	f.n = device_pools_make(&k->cli->arena, &f.view, &f.pools);
	r = pool_args_pick(k, args, &f, err);
	*ret_found = f;
	return r;
}
