/*
 * rtnl_impl - private to rtnl*.c: one exchange with the kernel.
 */
#ifndef DRIVERS_RTNL_IMPL_H
#define DRIVERS_RTNL_IMPL_H

#include "drivers/rtnl_request.h"

enum {
	RTNL_RECEIVE = 32 * 1024, /* the kernel fills what it is offered, up to this */
	RTNL_LABEL = 32,
};

struct rtnl {
	int fd;
	uint32_t sequence; /* of the latest request; answers to earlier ones are dropped */
	char *received; /* RTNL_RECEIVE bytes */
};

/*
 * Receives one datagram of the kernel's; what others sent is dropped. `ret_text` lives as long as
 * `buffer`. Returns errno: 0, EAGAIN (nothing came in time), ENOBUFS (some were lost), ...
 */
int rtnl_receive(int fd, char *buffer, struct str *ret_text);

/*
 * Sends and reads until the kernel's verdict. Messages of the answer go to `take`, which may be
 * NULL. The error has no context yet: "Device or resource busy".
 */
int rtnl_ask(struct rtnl *r, struct rtnl_request *q,
	     void (*take)(void *arg, const struct nlmsghdr *m), void *arg, struct error *err);

/*
 * The same for lists, whose `arg` is one of VEC: it is emptied, and filled again, when something
 * changed meanwhile and entries may be missing or twice.
 */
struct rtnl_list {
	void (*clear)(void *arg);
	/* False: there is no room. */
	bool (*take)(void *arg, const struct nlmsghdr *m);
	void *arg;
};

int rtnl_ask_list(struct rtnl *r, struct rtnl_request *q, const struct rtnl_list *list,
		  struct error *err);

/* A name for messages to people: "eth1", or "interface 7" when there is none such. */
void rtnl_label(struct rtnl *r, int index, char out[static RTNL_LABEL]);

#endif
