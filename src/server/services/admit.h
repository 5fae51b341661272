/*
 * admit_service - allocates addresses and node ports for services.
 *
 * Not a plugin of upstream, where the registry allocates after all mutating admission. So this is
 * the last plugin that mutates.
 */
#ifndef SERVER_SERVICES_ADMIT_H
#define SERVER_SERVICES_ADMIT_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

bool admit_service_concerns(const struct admission_request *req);

/* Sets the IP families and chooses missing addresses and ports. */
int admit_service(struct admission_request *req, const struct json *old, struct json *service,
		  struct error *err);

/* Creates the IPAddresses for the chosen addresses, locks the ports if needed, and waits. */
int admit_service_lock(struct admission_request *req, const struct json *old, struct json *service,
		       struct error *err);

#endif
