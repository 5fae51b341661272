/*
 * rtnl - network interfaces, their addresses and routes, through the kernel's rtnetlink.
 *
 * A struct rtnl is a socket in one network namespace. Each call is one request and its reply, which
 * the kernel sends immediately, so no call blocks. On failure sys_errno has the kernel's errno, and
 * the text has strerror and the kernel's extended message, if any: "create macvlan net1 on eth1:
 * Device or resource busy". Errors: ERR_NOT_FOUND (no such interface, address, ..),
 * ERR_ALREADY_EXISTS, ERR_FORBIDDEN (no permission), ERR_UNIMPLEMENTED (this kernel lacks the link
 * type), ERR_INVALID (not a namespace, or a name of hundreds of bytes), ERR_TIMEOUT (no reply in 5
 * s), else ERR_IO.
 *
 * Messages are built in rtnl/request.h and parsed in rtnl/message.h, both without I/O, and fuzzed.
 * Threads: a socket belongs to one thread at a time.
 */
#ifndef DRIVERS_RTNL_RTNL_H
#define DRIVERS_RTNL_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

enum {
	RTNL_NAME = 16, /* IFNAMSIZ: an interface's name and NUL */
	RTNL_KIND = 32,
	RTNL_MAC = 32, /* MAX_ADDR_LEN */
	RTNL_ALTNAME = 128, /* ALTIFNAMSIZ: an alternative name and NUL */
};

struct rtnl_mac {
	unsigned char bytes[RTNL_MAC];
	unsigned n; /* 0: none */
};

struct rtnl_link {
	int index;
	char name[RTNL_NAME];
	char kind[RTNL_KIND]; /* "veth", "macvlan", "vlan", "bridge", ..; "" for hardware */
	struct rtnl_mac mac, permanent;
	uint32_t mtu;
	bool up; /* switched on (IFF_UP) */
	bool running; /* and has a carrier (IFF_LOWER_UP, operstate up or unknown) */
	bool loopback;
	int parent; /* index of its parent (macvlan, vlan) or peer (veth); 0: none */
	int parent_nsid; /* -1: in the same namespace */
	int master; /* index of the bridge or bond that it is a port of; 0: none */
	uint16_t vlan; /* VLAN ID; 0: none */
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
	struct rtnl_ip via; /* family 0: directly on the link */
	int index;
	uint32_t metric; /* 0: the kernel's default */
};

struct rtnl;

/* Opens a socket in the namespace `ns_fd` (netns.h). -1: the thread's own namespace. */
int rtnl_open(int ns_fd, struct rtnl **ret_rtnl, struct error *err);
void rtnl_close(struct rtnl *r); /* NULL allowed */

/* --- links ------------------------------------------------------------------------------ */

/*
 * Calls `each` for every link, until it returns a negative number, and returns that. This and all
 * other lists are consistent: if something changes while the kernel lists, listing starts over.
 * `each` is called after that, and may use the socket for other requests.
 */
int rtnl_links(struct rtnl *r, int (*each)(void *arg, const struct rtnl_link *l), void *arg,
	       struct error *err);
int rtnl_link_by_name(struct rtnl *r, const char *name, struct rtnl_link *ret_link,
		      struct error *err);
int rtnl_link_by_index(struct rtnl *r, int index, struct rtnl_link *ret_link, struct error *err);

/* A link to create. Zero: the kernel's default. It is down at first. */
struct rtnl_new_link {
	const char *kind; /* "veth", "macvlan", "vlan", "bridge", "dummy" */
	const char *name;
	int ns_fd; /* its namespace; -1 (not 0): that of the socket */
	int parent; /* macvlan and vlan: index in the socket's namespace */
	uint16_t vlan;
	uint32_t macvlan_mode; /* MACVLAN_MODE_*; 0: bridge */
	const char *peer; /* veth: name of the other end, in the socket's namespace */
	const struct rtnl_mac *mac; /* or NULL */
	uint32_t mtu;
};

int rtnl_link_add(struct rtnl *r, const struct rtnl_new_link *l, struct error *err);
int rtnl_link_delete(struct rtnl *r, int index, struct error *err);

/* Changes to make in one request; zero: unchanged. To rename a link, it must be down. */
struct rtnl_change {
	const char *name;
	bool set_up, up;
	bool set_ns; /* move to the namespace ns_fd; may be combined with a new name */
	int ns_fd;
	bool set_master;
	int master; /* 0: no bridge or bond */
	uint32_t mtu;
	const struct rtnl_mac *mac;
};

int rtnl_link_change(struct rtnl *r, int index, const struct rtnl_change *c, struct error *err);

/*
 * Alternative names of a link. They move with the link, and the move fails if one is taken in the
 * new namespace. `each` is called as for other lists. Names may have any bytes except NUL.
 */
int rtnl_altnames(struct rtnl *r, int index, int (*each)(void *arg, const char *name), void *arg,
		  struct error *err);
int rtnl_altname_add(struct rtnl *r, int index, const char *name, struct error *err);
int rtnl_altname_delete(struct rtnl *r, int index, const char *name, struct error *err);

/*
 * Returns 0 if the kernel supports links of this kind, else the error. It creates one in a
 * namespace of its own, so nobody sees it.
 */
int rtnl_probe_kind(const char *kind, struct error *err);

/* --- addresses and routes ----------------------------------------------------------------- */

int rtnl_addresses(struct rtnl *r, int index /* 0: of all */,
		   int (*each)(void *arg, const struct rtnl_address *a), void *arg,
		   struct error *err);
/* IPv6 addresses are added without duplicate address detection, so they are usable immediately. */
int rtnl_address_add(struct rtnl *r, const struct rtnl_address *a, struct error *err);
int rtnl_address_delete(struct rtnl *r, const struct rtnl_address *a, struct error *err);

/* Unicast routes of the main table. A route over several links is reported once per link. */
int rtnl_routes(struct rtnl *r, int (*each)(void *arg, const struct rtnl_route *t), void *arg,
		struct error *err);
int rtnl_route_add(struct rtnl *r, const struct rtnl_route *t, struct error *err);

/* --- text --------------------------------------------------------------------------------- */

enum { RTNL_IP_TEXT = 64, RTNL_MAC_TEXT = 3 * RTNL_MAC, RTNL_NAME_TEXT = 4 * RTNL_NAME };

/* "192.0.2.5/24", "2001:db8::5/64": the canonical form that the API server requires. */
void rtnl_ip_print(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT]);
/* The same without the prefix. */
void rtnl_ip_print_plain(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT]);
/* Strict: rejects leading zeros and host bits. `plain`: an address without a prefix. */
bool rtnl_ip_parse(struct str text, bool plain, struct rtnl_ip *ret_ip);
/* Whether no bits are set beyond the prefix, as the kernel requires for a route's target. */
bool rtnl_ip_is_network(const struct rtnl_ip *ip);

/* "02:42:ac:11:00:02" */
void rtnl_mac_print(const struct rtnl_mac *mac, char out[static RTNL_MAC_TEXT]);
bool rtnl_mac_parse(struct str text, struct rtnl_mac *ret_mac); /* six bytes */
bool rtnl_mac_equal(const struct rtnl_mac *a, const struct rtnl_mac *b);

/* A valid name for the kernel: 1 to 15 bytes, no '/', ':' or space, not "." or "..". */
bool rtnl_name_is_valid(struct str name);
/* Whether it is also UTF-8: the owner of a namespace may use any bytes. */
bool rtnl_name_is_text(const char *name);
/* For people: unchanged if it is UTF-8, else with all non-ASCII bytes as "\xff". */
void rtnl_name_print(const char *name, char out[static RTNL_NAME_TEXT]);

DEFINE_CLEANUP(rtnl_close, struct rtnl *);

#endif
