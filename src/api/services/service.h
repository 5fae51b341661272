/*
 * service - the dependent fields of a Service: addresses, families, node ports.
 *
 * The steps of upstream's registry before anything is allocated, without I/O. Trees are Services of
 * core/v1 with their defaults.
 */
#ifndef API_SERVICES_SERVICE_H
#define API_SERVICES_SERVICE_H

#include "api/validate/validate.h"
#include "base/json/index.h"

/* The address families that the cluster has for services: one, or both. */
struct service_families {
	bool has4, has6;
	bool first6; /* IPv6 is the default family */
};

/* --- properties of a spec ------------------------------------------------------------ */

bool service_is_type(const struct json *spec, const char *type);
bool service_is_headless(const struct json *spec); /* clusterIPs begin with "None" */
/* Whether `ip` is among clusterIPs, whatever the spelling of either. */
bool service_has_ip(const struct json *spec, struct str ip);
bool service_has_ports(const struct json *spec); /* NodePort or LoadBalancer */
/* Whether each of its ports without a node port gets one. */
bool service_wants_ports(const struct json *spec);
bool service_wants_health_port(const struct json *spec);
bool service_is_external(const struct json *spec); /* reached from outside of the cluster */

/* --- steps of a write ---------------------------------------------------------------- */

/* If the type changed, removes the fields that only the old type has, unless they changed, too. */
void service_drop_fields(struct arena *a, struct json *service, const struct json *old);

/*
 * Makes clusterIP and clusterIPs agree, keeps allocated values that a client left out, and
 * completes ipFamilyPolicy and ipFamilies. `old` is NULL for a creation. Adds to v->errs.
 */
void service_settle(struct validation *v, struct json *service, const struct json *old,
		    const struct service_families *families);

/* Checks clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy; `old` may be NULL. */
void service_check_addresses(struct validation *v, const struct json *service,
			     const struct json *old);

#endif
