/*
 * admit_service_impl - shared by the files of admit_service.
 */
#ifndef SERVER_SERVICES_ADMIT_IMPL_H
#define SERVER_SERVICES_ADMIT_IMPL_H

#include "server/admission/request.h"
#include "server/services/admit.h"
#include "server/services/services.h"
#include "server/services/write_ports.h"

enum { SERVICE_IPS_MAX = 2 };

/* An address that this write has chosen. */
struct held_ip {
	struct address ip;
	bool chosen, fixed; /* fixed: the client requested it */
	bool held; /* its IPAddress exists and belongs to this service */
	bool used; /* the service of the last try uses it */
	bool lost; /* another writer took it first */
};

/* The addresses and ports of a write, over all of its tries. */
struct held {
	struct admission_request *req;
	struct services *services;
	struct held_ip ips[SERVICE_IPS_MAX]; /* by family: IPv4, IPv6 */
	struct str name; /* of the service, as in the IPAddresses */
	struct write_ports ports;
	struct port_lock *port_lock; /* NULL until ports must be locked */
	size_t open; /* IPAddresses that are being created, and ports that are being locked */
	bool locking_ports;
	bool parked, waited, waited_for_port;
	struct error err;
};

/* One of the `open` operations has ended. After the last one, resumes the write if it waits. */
void held_close(struct held *h);

/* Returns the error for a rejection whose reasons are already in the write's errs. */
int held_refuse(struct error *err);

/* Chooses the node ports that the service needs. */
int held_choose_ports(struct held *h, const struct json *old, struct json *service,
		      struct error *err);

/* Begins to lock them if needed. Returns 0 also if that is still under way. */
int held_lock_ports(struct held *h, struct json *service, struct error *err);

#endif
