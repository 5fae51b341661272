/*
 * admit_service_impl - what the files of admit_service share.
 */
#ifndef SERVER_SERVICES_ADMIT_IMPL_H
#define SERVER_SERVICES_ADMIT_IMPL_H

#include "server/services/admit.h"
#include "server/admission/request.h"
#include "server/services/services.h"
#include "server/services/write_ports.h"

enum { SERVICE_IPS_MAX = 2 };

/* An address that this write chose. */
struct held_ip {
	struct address ip;
	bool chosen, fixed; /* fixed: the client asked for it */
	bool held; /* its IPAddress is there, and is ours */
	bool used; /* the service of the last try has it */
	bool lost; /* somebody else was first */
};

/* What a write has, over all of its tries. */
struct held {
	struct admission_request *req;
	struct services *services;
	struct held_ip ips[SERVICE_IPS_MAX]; /* by family: IPv4, IPv6 */
	struct str name; /* of the service that the IPAddresses name */
	struct write_ports ports;
	struct port_lock *port_lock; /* NULL until there are any to lock */
	size_t open; /* IPAddresses that are being made, and ports that are being locked */
	bool locking_ports;
	bool parked, waited, waited_for_port;
	struct error err;
};

/* One of those that are open is over: when all are, a write that waits for them goes on. */
void held_close(struct held *h);

/* What returns this has said why in the write's errs. */
int held_refuse(struct error *err);

/* Chooses the node ports that the service needs. */
int held_choose_ports(struct held *h, const struct json *old, struct json *service,
		      struct error *err);

/* Begins to lock them, if they must be. 0 also when that is under way. */
int held_lock_ports(struct held *h, struct json *service, struct error *err);

#endif
