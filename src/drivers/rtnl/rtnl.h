/*
 * rtnl - network interfaces, their addresses and routes, asked of the kernel over rtnetlink.
 *
 * A struct rtnl is a socket in one network namespace; each call is one request and its answer,
 * which the kernel gives at once, so none of them waits for anything. A failure has the kernel's
 * errno in sys_errno and its own words (strerror and, where it says more, its extended message) in
 * the text: "create macvlan net1 on eth1: Device or resource busy". Codes: ERR_NOT_FOUND (no such
 * interface, address, ..), ERR_ALREADY_EXISTS, ERR_FORBIDDEN (not allowed), ERR_UNIMPLEMENTED (this
 * kernel lacks the link type), ERR_INVALID (no namespace, or a name of hundreds of bytes),
 * ERR_TIMEOUT (no answer in 5 s), else ERR_IO.
 *
 * Building and reading messages is in rtnl/request.h and rtnl/message.h, without I/O, and fuzzed.
 * Threads: a socket belongs to one thread at a time.
 */
#ifndef DRIVERS_RTNL_RTNL_H
#define DRIVERS_RTNL_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

enum {
	RTNL_NAME = 16, /* IFNAMSIZ: an interface's name with its NUL */
	RTNL_KIND = 32,
	RTNL_MAC = 32, /* MAX_ADDR_LEN */
	RTNL_ALTNAME = 128, /* ALTIFNAMSIZ: another name, with its NUL */
};

struct rtnl_mac {
	unsigned char bytes[RTNL_MAC];
	unsigned n; /* 0: none */
};

struct rtnl_link {
	int index;
	char name[RTNL_NAME];
	char kind[RTNL_KIND]; /* "veth", "macvlan", "vlan", "bridge", ..; "" of hardware */
	struct rtnl_mac mac, permanent;
	uint32_t mtu;
	bool up; /* switched on (IFF_UP) */
	bool running; /* and has a carrier (IFF_LOWER_UP, operstate up or unknown) */
	bool loopback;
	int parent; /* index of what it is on (macvlan, vlan) or of its peer (veth); 0: none */
	int parent_nsid; /* -1: in the same namespace */
	int master; /* index of the bridge or bond that it is part of; 0: none */
	uint16_t vlan; /* its id; 0: none */
};

/* An address of an interface, IPv4 or IPv6. */
struct rtnl_ip {
	unsigned char bytes[16];
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t prefix; /* bits */
};

struct rtnl_address {
	int index;
	struct rtnl_ip ip;
	uint8_t scope; /* RT_SCOPE_* */
	uint32_t flags; /* IFA_F_* */
};

struct rtnl_route {
	struct rtnl_ip to; /* prefix 0: default */
	struct rtnl_ip via; /* family 0: none, on the link */
	int index;
	uint32_t metric; /* 0: the kernel's */
};

struct rtnl;

/* A socket in the namespace of `ns_fd` (netns.h); -1: the thread's own. */
int rtnl_open(int ns_fd, struct rtnl **ret_rtnl, struct error *err);
void rtnl_close(struct rtnl *r); /* NULL allowed */

/* --- links ------------------------------------------------------------------------------ */

/*
 * Calls for each; stops at a negative number and returns it. This and the other lists are of one
 * moment: what changes while the kernel lists makes it begin again, and only then is `each` called,
 * which may use the socket for other questions.
 */
int rtnl_links(struct rtnl *r, int (*each)(void *arg, const struct rtnl_link *l), void *arg,
	       struct error *err);
int rtnl_link_by_name(struct rtnl *r, const char *name, struct rtnl_link *ret_link,
		      struct error *err);
int rtnl_link_by_index(struct rtnl *r, int index, struct rtnl_link *ret_link, struct error *err);

/* A link to be made; zero: the kernel's choice. It is down at first. */
struct rtnl_new_link {
	const char *kind; /* "veth", "macvlan", "vlan", "bridge", "dummy" */
	const char *name;
	int ns_fd; /* where it is to be; -1 (not 0): the socket's namespace */
	int parent; /* of macvlan and vlan: index in the socket's namespace */
	uint16_t vlan;
	uint32_t macvlan_mode; /* MACVLAN_MODE_*; 0: bridge */
	const char *peer; /* of veth: name of the other end, in the socket's namespace */
	const struct rtnl_mac *mac; /* or NULL */
	uint32_t mtu;
};

int rtnl_link_add(struct rtnl *r, const struct rtnl_new_link *l, struct error *err);
int rtnl_link_delete(struct rtnl *r, int index, struct error *err);

/* What is to change, in one request; zero: left as it is. A rename wants the link down. */
struct rtnl_change {
	const char *name;
	bool set_up, up;
	bool set_ns; /* into the namespace ns_fd, which may take a new name at the same time */
	int ns_fd;
	bool set_master;
	int master; /* 0: of none */
	uint32_t mtu;
	const struct rtnl_mac *mac;
};

int rtnl_link_change(struct rtnl *r, int index, const struct rtnl_change *c, struct error *err);

/*
 * Other names that a link has beside its own; a move takes them along, and fails when one of them
 * is taken there. `each` is called as with lists. Names may be any bytes but NUL.
 */
int rtnl_altnames(struct rtnl *r, int index, int (*each)(void *arg, const char *name), void *arg,
		  struct error *err);
int rtnl_altname_add(struct rtnl *r, int index, const char *name, struct error *err);
int rtnl_altname_delete(struct rtnl *r, int index, const char *name, struct error *err);

/*
 * Whether the kernel can make links of this kind: 0, or why not. Tries with one of its own in a
 * namespace of its own, so nothing is to be seen of it.
 */
int rtnl_probe_kind(const char *kind, struct error *err);

/* --- addresses and routes ----------------------------------------------------------------- */

int rtnl_addresses(struct rtnl *r, int index /* 0: of all */,
		   int (*each)(void *arg, const struct rtnl_address *a), void *arg,
		   struct error *err);
/* IPv6 without asking the network first whether somebody else has it: it can be used at once. */
int rtnl_address_add(struct rtnl *r, const struct rtnl_address *a, struct error *err);
int rtnl_address_delete(struct rtnl *r, const struct rtnl_address *a, struct error *err);

/* Unicast ones of the main table; one that leads over several links comes once for each. */
int rtnl_routes(struct rtnl *r, int (*each)(void *arg, const struct rtnl_route *t), void *arg,
		struct error *err);
int rtnl_route_add(struct rtnl *r, const struct rtnl_route *t, struct error *err);

/* --- text --------------------------------------------------------------------------------- */

enum { RTNL_IP_TEXT = 64, RTNL_MAC_TEXT = 3 * RTNL_MAC, RTNL_NAME_TEXT = 4 * RTNL_NAME };

/* "192.0.2.5/24", "2001:db8::5/64": the canonical form that the API server wants. */
void rtnl_ip_print(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT]);
/* The same without the prefix. */
void rtnl_ip_print_plain(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT]);
/* Strict: no leading zeros, no host bits lost. `plain`: an address without a prefix. */
bool rtnl_ip_parse(struct str text, bool plain, struct rtnl_ip *ret_ip);
/* Has no bits beyond its prefix, as the kernel wants a route's target. */
bool rtnl_ip_is_network(const struct rtnl_ip *ip);

/* "02:42:ac:11:00:02" */
void rtnl_mac_print(const struct rtnl_mac *mac, char out[static RTNL_MAC_TEXT]);
bool rtnl_mac_parse(struct str text, struct rtnl_mac *ret_mac); /* six bytes */
bool rtnl_mac_equal(const struct rtnl_mac *a, const struct rtnl_mac *b);

/* What the kernel takes as a name: 1 to 15 bytes, no '/', ':' or space, not "." or "..". */
bool rtnl_name_is_valid(struct str name);
/* And text as well: whoever owns the namespace may have taken bytes that are no UTF-8. */
bool rtnl_name_is_text(const char *name);
/* For people: as it is, or, when it is no text, with all that is not ASCII as "\xff". */
void rtnl_name_print(const char *name, char out[static RTNL_NAME_TEXT]);

DEFINE_CLEANUP(rtnl_close, struct rtnl *);

#endif
