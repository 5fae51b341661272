/*
 * Tables of instances. Freeing an instance's channel ends its calls, and their callbacks may do
 * anything, even free everything here. So an instance is first removed from the tables, and only
 * the instance itself is used afterwards.
 */
#include "node/plugins/dra_driver.h"

#include "api/schema/names.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/text/print.h"
#include "node/node_limits.h"
#include "node/plugins/dra_driver_impl.h"
#include "node/plugins/health_stream.h"
#include "node/plugins/plugins_impl.h"

/* --- services of a driver ------------------------------------------------------------ */

/* The first version in the driver's own list that we know. */
static const struct plugin_wire_dra *choose_service(const struct dra_info *info)
{
	for (size_t i = 0; i < info->nversions; i++)
		for (size_t k = 0; k < PLUGIN_WIRE_DRA; k++)
			if (strcmp(info->versions[i], plugin_wire_dra[k].name) == 0)
				return &plugin_wire_dra[k];
	return NULL;
}

static int refuse_services(const struct dra_info *info, struct error *err)
{
	struct buf list = BUF_INIT(200);

	for (size_t i = 0; i < info->nversions; i++) {
		(void)buf_addz(&list, i ? " " : "");
		(void)print_quoted(&list, str_from(info->versions[i]));
	}
	(void)error_set(
		err, ERR_INVALID,
		"none of services supported by the plugin ([%s]) are supported by the kubelet "
		"([\"v1.DRAPlugin\" \"v1beta1.DRAPlugin\"])",
		list.p ? list.p : "");
	buf_release(&list);
	return -ERR_INVALID;
}

static int check_services(const struct dra_info *info, struct error *err)
{
	int r = 0;

	if (info->nversions == 0)
		r = error_set(err, ERR_INVALID,
			      "empty list of supported gRPC services (aka supported versions)");
	else if (!choose_service(info))
		r = refuse_services(info, err);
	if (r < 0)
		return error_wrap(err, r,
				  "invalid supported gRPC versions of DRA driver plugin %.63s at "
				  "endpoint %.128s",
				  info->name, info->endpoint);
	return 0;
}

int dra_drivers_check(const struct dra_info *info, struct error *err)
{
	struct str name = str_from(info->name);
	const char *fault = names_dns_subdomain(name);

	if (name.n > NAMES_DRIVER_MAX)
		fault = "must be no more than 63 characters";
	if (fault)
		return error_set(err, ERR_INVALID, "invalid DRA driver name \"%.100s\": %s",
				 info->name, fault);
	return check_services(info, err);
}

static void note_health_services(struct dra_instance *i, const struct dra_info *info)
{
	for (size_t k = 0; k < PLUGIN_WIRE_HEALTH; k++)
		for (size_t v = 0; v < info->nversions; v++)
			if (strcmp(info->versions[v], plugin_wire_health[k].name) == 0)
				i->health_services[k] = true;
}

/* --- instances ----------------------------------------------------------------------- */

static struct dra_instance *find_instance(const struct dra_driver *d, struct str endpoint)
{
	LIST_FOREACH (it, &d->instances) {
		struct dra_instance *i = LIST_ENTRY(it, struct dra_instance, link);

		if (str_eqz(endpoint, i->endpoint))
			return i;
	}
	return NULL;
}

/* Only the newest instance is watched. */
static void watch_newest(struct plugins *p, struct dra_driver *d)
{
	struct dra_instance *newest = dra_driver_newest(d);

	LIST_FOREACH (it, &d->instances) {
		struct dra_instance *i = LIST_ENTRY(it, struct dra_instance, link);

		if (i != newest)
			health_stream_free(TAKE(i->health));
	}
	if (!newest->health && p->watch_health)
		newest->health = health_stream_new(p, str_from(d->name), newest->channel,
						   newest->health_services);
}

/* The instance must not be in a table. */
static void instance_free(struct dra_instance *i)
{
	health_stream_free(i->health);
	grpc_channel_free(i->channel);
	free(i->endpoint);
	free(i);
}

static struct dra_driver *driver_of(struct dra_drivers *d, const char *name, bool *ret_new)
{
	struct dra_driver *driver = omap_get(&d->drivers, str_from(name));

	*ret_new = !driver;
	if (driver)
		return driver;
	driver = XNEW(struct dra_driver);
	driver->name = xstrdup(name);
	list_init(&driver->instances);
	(void)omap_put(&d->drivers, str_from(driver->name), driver);
	return driver;
}

static void tell_driver(struct plugins *p, const char *name, bool registered)
{
	if (!p->freed && p->events.on_driver)
		p->events.on_driver(p->arg, str_from(name), registered);
}

int dra_drivers_add(struct dra_drivers *d, const struct dra_info *info, struct error *err)
{
	struct dra_driver *driver = omap_get(&d->drivers, str_from(info->name));
	struct plugins *p = d->p;
	struct grpc_channel *ch;
	struct dra_instance *i;
	bool first;
	int r = check_services(info, err);

	if (r < 0)
		return r;
	if (driver && find_instance(driver, str_from(info->endpoint)))
		return error_set(err, ERR_ALREADY_EXISTS,
				 "endpoint %.200s already registered for DRA driver plugin %s",
				 info->endpoint, info->name);
	if (d->n >= PLUGIN_ENDPOINTS_MAX)
		return error_set(err, ERR_TOO_MANY_REQUESTS, "too many DRA drivers: %d",
				 PLUGIN_ENDPOINTS_MAX);
	r = plugins_channel(p, info->endpoint, NULL, NULL, &ch, err);
	if (r < 0)
		return error_wrap(
			err, r, "create gRPC connection to DRA driver %s plugin at endpoint %.128s",
			info->name, info->endpoint);
	i = XNEW(struct dra_instance);
	i->driver = driver_of(d, info->name, &first);
	i->endpoint = xstrdup(info->endpoint);
	i->service = choose_service(info);
	i->channel = ch;
	note_health_services(i, info);
	list_push_back(&i->driver->instances, &i->link);
	d->n++;
	watch_newest(p, i->driver);
	if (first)
		tell_driver(p, info->name, true);
	return 0;
}

void dra_drivers_remove(struct dra_drivers *d, struct str name, struct str endpoint)
{
	struct dra_driver *driver = omap_get(&d->drivers, name);
	struct dra_instance *i = driver ? find_instance(driver, endpoint) : NULL;
	struct plugins *p = d->p;

	if (!i)
		return;
	list_remove(&i->link);
	d->n--;
	if (!list_empty(&driver->instances)) {
		watch_newest(p, driver);
		instance_free(i);
		return;
	}
	(void)omap_remove(&d->drivers, str_from(driver->name));
	instance_free(i);
	tell_driver(p, driver->name, false);
	free(driver->name);
	free(driver);
}

/* --- the table ----------------------------------------------------------------------- */

struct dra_drivers *dra_drivers_new(struct plugins *p)
{
	struct dra_drivers *d = XNEW(struct dra_drivers);

	d->p = p;
	omap_init(&d->drivers);
	return d;
}

void dra_drivers_free(struct dra_drivers *d)
{
	struct omap_cursor c;

	if (!d)
		return;
	while (omap_first(&d->drivers, &c)) {
		struct dra_instance *i = dra_driver_newest(omap_value(&c));

		dra_drivers_remove(d, str_from(i->driver->name), str_from(i->endpoint));
	}
	omap_release(&d->drivers);
	free(d);
}
