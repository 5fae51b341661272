/*
 * Lists, finds, creates, changes and deletes links, and checks whether the kernel supports a kind.
 * Names for error messages are looked up only after a failure.
 */
#include "drivers/rtnl/rtnl_impl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/vec.h"
#include "drivers/drivers_limits.h"
#include "drivers/rtnl/message.h"
#include "drivers/rtnl/netns.h"

/* --- listing and finding ------------------------------------------------------------------ */

struct links {
	VEC(struct rtnl_link) list;
};

static void clear_links(void *arg)
{
	((struct links *)arg)->list.n = 0;
}

static bool take_link(void *arg, const struct nlmsghdr *m)
{
	struct links *z = arg;
	struct rtnl_link l;

	return !rtnl_message_read_link(m, &l) || vec_push(&z->list, l);
}

int rtnl_links(struct rtnl *r, int (*each)(void *arg, const struct rtnl_link *l), void *arg,
	       struct error *err)
{
	struct links z;
	struct rtnl_list list = { .clear = clear_links, .take = take_link, .arg = &z };
	struct rtnl_request q;
	int rc;

	vec_init(&z.list, RTNL_LIST_MAX);
	rtnl_request_links(&q);
	rc = rtnl_ask_list(r, &q, &list, err);
	if (rc < 0)
		rc = error_wrap(err, rc, "list network interfaces");
	for (size_t i = 0; i < z.list.n && rc >= 0; i++)
		rc = each(arg, &z.list.v[i]);
	vec_release(&z.list);
	return MIN(rc, 0);
}

struct found {
	struct rtnl_link link;
	bool there;
};

static void take_found(void *arg, const struct nlmsghdr *m)
{
	struct found *f = arg;

	f->there = rtnl_message_read_link(m, &f->link) || f->there;
}

static int find_link(struct rtnl *r, struct rtnl_request *q, struct rtnl_link *ret_link,
		     struct error *err)
{
	struct found f = { .there = false };
	int rc;

	rc = rtnl_ask(r, q, take_found, &f, err);
	if (rc < 0)
		return rc;
	if (!f.there)
		return error_set(err, ERR_PROTOCOL, "the kernel gave no answer");
	*ret_link = f.link;
	return 0;
}

int rtnl_link_by_name(struct rtnl *r, const char *name, struct rtnl_link *ret_link,
		      struct error *err)
{
	struct rtnl_request q;
	int rc;

	rtnl_request_link_by_name(&q, name);
	rc = find_link(r, &q, ret_link, err);
	return rc < 0 ? error_wrap(err, rc, "interface %s", name) : 0;
}

int rtnl_link_by_index(struct rtnl *r, int index, struct rtnl_link *ret_link, struct error *err)
{
	struct rtnl_request q;
	int rc;

	rtnl_request_link_by_index(&q, index);
	rc = find_link(r, &q, ret_link, err);
	return rc < 0 ? error_wrap(err, rc, "interface %d", index) : 0;
}

/* --- making and deleting ------------------------------------------------------------------ */

int rtnl_link_add(struct rtnl *r, const struct rtnl_new_link *l, struct error *err)
{
	struct rtnl_request q;
	char parent[RTNL_LABEL] = "";
	int rc;

	rtnl_request_link_add(&q, l);
	rc = rtnl_ask(r, &q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	if (l->parent)
		rtnl_label(r, l->parent, parent);
	return error_wrap(err, rc, "create %s %s%s%s", l->kind, l->name, l->parent ? " on " : "",
			  parent);
}

int rtnl_link_delete(struct rtnl *r, int index, struct error *err)
{
	struct rtnl_request q;
	char label[RTNL_LABEL];
	int rc;

	rtnl_request_link_delete(&q, index);
	rc = rtnl_ask(r, &q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	rtnl_label(r, index, label);
	return error_wrap(err, rc, "delete %s", label);
}

/* --- changing ----------------------------------------------------------------------------- */

/* "name net1, mtu 9000, up" */
static void link_describe(const struct rtnl_change *c, struct buf *out)
{
	char mac[RTNL_MAC_TEXT];

	if (c->name)
		(void)buf_printf(out, ", name %s", c->name);
	if (c->set_ns)
		(void)buf_addz(out, ", into another network namespace");
	if (c->set_master)
		(void)buf_addz(out, c->master ? ", part of another" : ", part of none");
	if (c->mtu)
		(void)buf_printf(out, ", mtu %u", c->mtu);
	if (c->mac) {
		rtnl_mac_print(c->mac, mac);
		(void)buf_printf(out, ", mac %s", mac);
	}
	if (c->set_up)
		(void)buf_addz(out, c->up ? ", up" : ", down");
}

int rtnl_link_change(struct rtnl *r, int index, const struct rtnl_change *c, struct error *err)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT(512);
	struct rtnl_request q;
	char label[RTNL_LABEL];
	struct str text;
	int rc;

	rtnl_request_link_change(&q, index, c);
	rc = rtnl_ask(r, &q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	rtnl_label(r, index, label);
	link_describe(c, &what);
	text = str_skip(buf_str(&what), 2);
	return error_wrap(err, rc, "change %s (%.*s)", label, STR_ARG(text));
}

/* --- other names -------------------------------------------------------------------------- */

struct altnames {
	struct arena arena;
	VEC(const char *) list;
};

static void take_altname(void *arg, struct str name)
{
	struct altnames *z = arg;

	if (name.n > 0 && name.n < RTNL_ALTNAME)
		(void)vec_push(&z->list, arena_strdup(&z->arena, name));
}

static void take_altnames(void *arg, const struct nlmsghdr *m)
{
	rtnl_message_altnames(m, take_altname, arg);
}

int rtnl_altnames(struct rtnl *r, int index, int (*each)(void *arg, const char *name), void *arg,
		  struct error *err)
{
	struct altnames z;
	struct rtnl_request q;
	int rc;

	arena_init(&z.arena, SIZE_MAX);
	vec_init(&z.list, RTNL_LIST_MAX);
	rtnl_request_link_by_index(&q, index);
	rc = rtnl_ask(r, &q, take_altnames, &z, err);
	if (rc < 0)
		rc = error_wrap(err, rc, "interface %d", index);
	for (size_t i = 0; i < z.list.n && rc >= 0; i++)
		rc = each(arg, z.list.v[i]);
	vec_release(&z.list);
	arena_release(&z.arena);
	return MIN(rc, 0);
}

static int change_altname(struct rtnl *r, int index, const char *name, bool add, struct error *err)
{
	struct rtnl_request q;
	char label[RTNL_LABEL];
	int rc;

	rtnl_request_altname(&q, index, name, add);
	rc = rtnl_ask(r, &q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	rtnl_label(r, index, label);
	return error_wrap(err, rc, "%s another name of %s", add ? "add" : "remove", label);
}

int rtnl_altname_add(struct rtnl *r, int index, const char *name, struct error *err)
{
	return change_altname(r, index, name, true, err);
}

int rtnl_altname_delete(struct rtnl *r, int index, const char *name, struct error *err)
{
	return change_altname(r, index, name, false, err);
}

/* --- probing ------------------------------------------------------------------------------ */

/* A parent for a macvlan or vlan; probing must not fail for the lack of one. */
static int make_parent(struct rtnl *r, struct error *err)
{
	static const char *const kinds[] = { "veth", "bridge", "dummy" };
	struct rtnl_new_link l = { .name = "parent", .ns_fd = -1 };
	struct rtnl_link made;
	int rc = -ERR_UNIMPLEMENTED;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && rc < 0; i++) {
		l.kind = kinds[i];
		rc = rtnl_link_add(r, &l, err);
	}
	if (rc >= 0)
		rc = rtnl_link_by_name(r, l.name, &made, err);
	return rc < 0 ? rc : made.index;
}

static int probe(struct rtnl *r, const char *kind, struct error *err)
{
	struct rtnl_new_link l = { .kind = kind, .name = "probe", .ns_fd = -1 };
	int rc;

	if (strcmp(kind, "macvlan") == 0 || strcmp(kind, "vlan") == 0) {
		rc = make_parent(r, err);
		if (rc < 0)
			return rc;
		l.parent = rc;
		l.vlan = 1;
	}
	rc = rtnl_link_add(r, &l, err);
	return rc == -ERR_UNIMPLEMENTED ? error_set(err, ERR_UNIMPLEMENTED,
						    "this kernel has no links of type %s", kind)
					: rc;
}

int rtnl_probe_kind(const char *kind, struct error *err)
{
	struct rtnl *r = NULL;
	int ns, rc;

	rc = netns_make(&ns, err);
	if (rc < 0)
		return rc;
	rc = rtnl_open(ns, &r, err);
	if (rc >= 0)
		rc = probe(r, kind, err);
	rtnl_close(r);
	(void)close(ns);
	return rc;
}
