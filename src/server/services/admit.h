/*
 * admit_service - gives services their addresses and node ports.
 *
 * No plugin of upstream's, where the registry does it behind all that may change an object; so it
 * is the last that mutates.
 */
#ifndef SERVER_SERVICES_ADMIT_H
#define SERVER_SERVICES_ADMIT_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

bool admit_service_concerns(const struct admission_request *req);

/* Settles the families and chooses what is not there yet. */
int admit_service(struct admission_request *req, const struct json *old, struct json *service,
		  struct error *err);

/* Makes the IPAddresses of what was chosen, locks the ports where that must be, and waits. */
int admit_service_lock(struct admission_request *req, const struct json *old, struct json *service,
		       struct error *err);

#endif
