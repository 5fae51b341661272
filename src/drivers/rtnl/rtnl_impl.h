/* rtnl_impl - one exchange with the kernel; shared by the files of rtnl. */
#ifndef DRIVERS_RTNL_RTNL_IMPL_H
#define DRIVERS_RTNL_RTNL_IMPL_H

#include "drivers/rtnl/request.h"

enum {
	/*
	 * Size of the receive buffer, which the kernel fills. On the stack: there are many sockets.
	 */
	RTNL_RECEIVE = 32 * 1024,
	/* A link with many alternative names may need more; this is the limit. */
	RTNL_RECEIVE_MAX = 256 * 1024,
	RTNL_LABEL = RTNL_NAME_TEXT,
};

struct rtnl {
	int fd;
	uint32_t sequence; /* of the last request; replies to earlier ones are dropped */
	bool hung; /* the last request got no reply in time */
};

/* A receive buffer, aligned for messages. */
struct rtnl_buffer {
	char *large; /* heap; NULL: not needed yet */
	size_t size; /* of it */
	_Alignas(8) char bytes[RTNL_RECEIVE];
};

void rtnl_buffer_init(struct rtnl_buffer *b);
void rtnl_buffer_release(struct rtnl_buffer *b);

/*
 * Receives one datagram from the kernel; drops those of other senders. `ret_text` is valid until
 * the next one. Returns errno: 0, EAGAIN (nothing came in time), ENOBUFS (messages were lost),
 * EMSGSIZE (a message larger than RTNL_RECEIVE_MAX was lost), ...
 */
int rtnl_receive(int fd, struct rtnl_buffer *b, struct str *ret_text);

/*
 * Sends the request, and reads until the kernel's verdict. Passes reply messages to `take`, which
 * may be NULL. The error is without context: "Device or resource busy".
 */
int rtnl_ask(struct rtnl *r, struct rtnl_request *q,
	     void (*take)(void *arg, const struct nlmsghdr *m), void *arg, struct error *err);

/*
 * The same for lists. `arg` is a VEC. If something changes meanwhile, so that entries may be
 * missing or duplicate, it is cleared and filled again.
 */
struct rtnl_list {
	void (*clear)(void *arg);
	/* Returns false if there is no room. */
	bool (*take)(void *arg, const struct nlmsghdr *m);
	void *arg;
};

int rtnl_ask_list(struct rtnl *r, struct rtnl_request *q, const struct rtnl_list *list,
		  struct error *err);

/*
 * A name for error messages: "eth1". It is "interface 7" if there is no such link, or if the kernel
 * has just failed to reply and the caller would have to wait again.
 */
void rtnl_label(struct rtnl *r, int index, char out[static RTNL_LABEL]);

static inline void rtnl_buffer_release_cleanup(struct rtnl_buffer *b)
{
	rtnl_buffer_release(b);
}

#endif
