/*
 * One socket, one request at a time. Every request ends with a verdict: an acknowledgement, an
 * error or the end of a list. Each has a number that its reply repeats, so a late reply, after a
 * timeout, is not taken for that to the next request.
 *
 * A list is read in pieces, and the kernel marks it if something changed between two of them. It is
 * then requested again, so nothing is passed on before the list is complete.
 */
#include "drivers/rtnl/rtnl_impl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/rtnl/message.h"
#include "drivers/rtnl/netns.h"

enum {
	ANSWER_SECONDS = 5, /* the kernel replies immediately, unless it hangs */
	LIST_TRIES = 100, /* a list takes a millisecond */
};

/* Older kernels lack some options: then acknowledgements are shorter, and lists not filtered. */
static void set_options(int fd)
{
	static const int wanted[] = { NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK };
	struct timeval t = { .tv_sec = ANSWER_SECONDS };
	int on = 1;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		(void)setsockopt(fd, SOL_NETLINK, wanted[i], &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

int rtnl_open(int ns_fd, struct rtnl **ret_rtnl, struct error *err)
{
	struct rtnl *r;
	int fd, rc;

	rc = netns_socket(ns_fd, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &fd, err);
	if (rc < 0)
		return error_wrap(err, rc, "open rtnetlink");
	set_options(fd);
	r = XNEW(struct rtnl);
	r->fd = fd;
	*ret_rtnl = r;
	return 0;
}

void rtnl_close(struct rtnl *r)
{
	if (!r)
		return;
	(void)close(r->fd);
	free(r);
}

/* --- one exchange ------------------------------------------------------------------------- */

static enum error_code code_of(int errnum)
{
	switch (errnum) {
	case ENODEV:
	case ENXIO:
	case ENOENT:
	case ESRCH:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_ALREADY_EXISTS;
	case EPERM:
	case EACCES:
		return ERR_FORBIDDEN;
	case EOPNOTSUPP:
		return ERR_UNIMPLEMENTED;
	default:
		return ERR_IO;
	}
}

static int rtnl_refuse(struct error *err, const struct rtnl_verdict *v)
{
	char text[128];
	int r = error_set(err, code_of(v->errnum), "%s%s%s%s",
			  strerror_r(v->errnum, text, sizeof(text)), v->text[0] ? " (" : "",
			  v->text, v->text[0] ? ")" : "");

	if (err)
		err->sys_errno = v->errnum;
	return r;
}

static int send_request(struct rtnl *r, struct rtnl_request *q, struct error *err)
{
	struct nlmsghdr *m = rtnl_request_header(q);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	if (q->too_long)
		return error_set(err, ERR_INVALID, "a name is too long");
	m->nlmsg_seq = ++r->sequence;
	do
		n = sendto(r->fd, m, m->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel));
	while (n < 0 && errno == EINTR);
	r->hung = n < 0 && errno == EAGAIN;
	return n < 0 ? rtnl_refuse(err, &(struct rtnl_verdict){ .errnum = errno }) : 0;
}

void rtnl_buffer_init(struct rtnl_buffer *b)
{
	b->large = NULL;
	b->size = 0;
}

void rtnl_buffer_release(struct rtnl_buffer *b)
{
	free(b->large);
}

/* Makes room for the next datagram; or returns the error of receiving it. */
static int rtnl_make_room(int fd, struct rtnl_buffer *b, struct iovec *ret_room)
{
	ssize_t n;

	do
		n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	*ret_room = (struct iovec){ b->bytes, RTNL_RECEIVE };
	if (n <= RTNL_RECEIVE || n > RTNL_RECEIVE_MAX)
		return 0;
	if ((size_t)n > b->size) {
		free(b->large);
		b->size = (size_t)n;
		b->large = xmalloc(b->size);
	}
	*ret_room = (struct iovec){ b->large, b->size };
	return 0;
}

int rtnl_receive(int fd, struct rtnl_buffer *b, struct str *ret_text)
{
	struct sockaddr_nl from;
	struct iovec iov;
	ssize_t n;

	for (;;) {
		int errnum = rtnl_make_room(fd, b, &iov);
		struct msghdr h = { .msg_name = &from,
				    .msg_namelen = sizeof(from),
				    .msg_iov = &iov,
				    .msg_iovlen = 1 };

		if (errnum)
			return errnum;
		n = recvmsg(fd, &h, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (h.msg_namelen != sizeof(from) || from.nl_pid != 0)
			continue;
		if (h.msg_flags & MSG_TRUNC)
			return EMSGSIZE;
		*ret_text = str_of(iov.iov_base, (size_t)n);
		return 0;
	}
}

struct exchange {
	void (*take)(void *arg, const struct nlmsghdr *m);
	void *arg;
	bool over, changed; /* the verdict was received; a list changed while it was read */
	struct rtnl_verdict verdict;
};

static void take_messages(struct rtnl *r, struct exchange *x, struct str text)
{
	const struct nlmsghdr *m;

	while (!x->over && (m = rtnl_message_next(&text))) {
		if (m->nlmsg_seq != r->sequence)
			continue;
		x->changed = x->changed || (m->nlmsg_flags & NLM_F_DUMP_INTR);
		x->over = rtnl_message_read_verdict(m, &x->verdict);
		if (!x->over && x->take)
			x->take(x->arg, m);
	}
}

static int exchange(struct rtnl *r, struct rtnl_request *q, struct exchange *x, struct error *err)
{
	CLEANUP(rtnl_buffer_release) struct rtnl_buffer received;
	struct str text;
	int rc;

	rtnl_buffer_init(&received);
	rc = send_request(r, q, err);
	if (rc < 0)
		return rc;
	while (!x->over) {
		int errnum = rtnl_receive(r->fd, &received, &text);

		r->hung = errnum == EAGAIN;
		if (r->hung)
			return error_set_errno(err, ERR_TIMEOUT, ETIMEDOUT, "no answer in %d s",
					       ANSWER_SECONDS);
		if (errnum)
			return rtnl_refuse(err, &(struct rtnl_verdict){ .errnum = errnum });
		take_messages(r, x, text);
	}
	return x->verdict.errnum ? rtnl_refuse(err, &x->verdict) : 0;
}

int rtnl_ask(struct rtnl *r, struct rtnl_request *q,
	     void (*take)(void *arg, const struct nlmsghdr *m), void *arg, struct error *err)
{
	struct exchange x = { .take = take, .arg = arg };

	return exchange(r, q, &x, err);
}

/* --- lists -------------------------------------------------------------------------------- */

struct listing {
	const struct rtnl_list *list;
	bool full;
};

/* If the list is full, reads on to the end, since the kernel starts no other list before. */
static void take_one(void *arg, const struct nlmsghdr *m)
{
	struct listing *z = arg;

	z->full = z->full || !z->list->take(z->list->arg, m);
}

int rtnl_ask_list(struct rtnl *r, struct rtnl_request *q, const struct rtnl_list *list,
		  struct error *err)
{
	for (int i = 0; i < LIST_TRIES; i++) {
		struct listing z = { .list = list };
		struct exchange x = { .take = take_one, .arg = &z };
		int rc;

		list->clear(list->arg);
		rc = exchange(r, q, &x, err);
		if (rc < 0)
			return rc;
		if (z.full)
			return error_set(err, ERR_TOO_LARGE, "more than %d of them", RTNL_LIST_MAX);
		if (!x.changed)
			return 0;
	}
	return error_set(err, ERR_UNAVAILABLE, "they change faster than they can be listed");
}

void rtnl_label(struct rtnl *r, int index, char out[static RTNL_LABEL])
{
	struct rtnl_link l;

	if (!r->hung && rtnl_link_by_index(r, index, &l, NULL) == 0)
		rtnl_name_print(l.name, out);
	else
		(void)snprintf(out, RTNL_LABEL, "interface %d", index);
}
