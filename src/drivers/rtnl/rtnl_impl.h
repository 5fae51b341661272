/*
 * rtnl_impl - private to rtnl*.c: one exchange with the kernel.
 */
#ifndef DRIVERS_RTNL_RTNL_IMPL_H
#define DRIVERS_RTNL_RTNL_IMPL_H

#include "drivers/rtnl/request.h"

enum {
	/* The kernel fills what it is offered, up to this. On the stack: sockets are many. */
	RTNL_RECEIVE = 32 * 1024,
	/* A single link with all the names that somebody gave it may need more: so much is read. */
	RTNL_RECEIVE_MAX = 256 * 1024,
	RTNL_LABEL = RTNL_NAME_TEXT,
};

struct rtnl {
	int fd;
	uint32_t sequence; /* of the latest request; answers to earlier ones are dropped */
	bool hung; /* the latest request got no answer in time */
};

/* Where datagrams are received, aligned for messages. */
struct rtnl_buffer {
	char *large; /* heap; NULL: none was so large yet */
	size_t size; /* of it */
	_Alignas(8) char bytes[RTNL_RECEIVE];
};

void rtnl_buffer_init(struct rtnl_buffer *b);
void rtnl_buffer_release(struct rtnl_buffer *b);

/*
 * Receives one datagram of the kernel's; what others sent is dropped. `ret_text` lives until the
 * next one is received. Returns errno: 0, EAGAIN (nothing came in time), ENOBUFS (some were lost),
 * EMSGSIZE (it is larger than RTNL_RECEIVE_MAX, and lost), ...
 */
int rtnl_receive(int fd, struct rtnl_buffer *b, struct str *ret_text);

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

/*
 * A name for messages to people: "eth1", or "interface 7" when there is none such, or the kernel
 * has just failed to answer and would let the caller wait again.
 */
void rtnl_label(struct rtnl *r, int index, char out[static RTNL_LABEL]);

static inline void rtnl_buffer_release_cleanup(struct rtnl_buffer *b)
{
	rtnl_buffer_release(b);
}

#endif
