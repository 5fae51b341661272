/*
 * A use as JSON. Members that do not apply are omitted. Parsing uses a struct form, which keeps the
 * first fault and then yields nothing, so that the lists of members below read like the struct.
 * Unknown members are ignored: a newer driver may have written them.
 */
#include "drivers/nic_attach/book_impl.h"

#include <assert.h>
#include <limits.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/cdi_file.h"

static const char *const state_names[] = {
	[NIC_PREPARED] = "prepared",
	[NIC_ATTACHING] = "attaching",
	[NIC_ATTACHED] = "attached",
	[NIC_DETACHING] = "detaching",
};

const char *nic_state_name(enum nic_state state)
{
	return state_names[state];
}

struct nic_use *nic_use_new(void)
{
	struct nic_use *u = XNEW(struct nic_use);

	list_init(&u->link);
	arena_init(&u->arena, NIC_USE_MAX);
	arena_init(&u->stay, NIC_USE_MAX);
	return u;
}

void nic_use_free(struct nic_use *u)
{
	if (!u)
		return;
	arena_release(&u->arena);
	arena_release(&u->stay);
	free(u);
}

/* --- writing ------------------------------------------------------------------------------ */

static void book_form_put_text(struct arena *a, struct json *o, const char *key, const char *text)
{
	if (text && *text)
		json_put_str(a, o, key, str_from(text));
}

static void put_needed(struct arena *a, struct json *o, const char *key, const char *text)
{
	assert(text);
	json_put_str(a, o, key, str_from(text));
}

static void put_number(struct arena *a, struct json *o, const char *key, int64_t n)
{
	if (n)
		json_put_i64(a, o, key, n);
}

static void put_mac(struct arena *a, struct json *o, const char *key, const struct rtnl_mac *mac)
{
	char text[RTNL_MAC_TEXT];

	if (!mac->n)
		return;
	rtnl_mac_print(mac, text);
	json_put_str(a, o, key, arena_str(a, str_from(text)));
}

static void put_link(struct arena *a, struct json *o, const char *key, const struct rtnl_link *l)
{
	struct json *t;

	if (!l->index)
		return;
	t = json_need_object(a, o, key);
	json_put_i64(a, t, "index", l->index);
	book_form_put_text(a, t, "name", l->name);
	book_form_put_text(a, t, "kind", l->kind);
	put_mac(a, t, "mac", &l->mac);
	put_mac(a, t, "permanentMAC", &l->permanent);
	put_number(a, t, "mtu", l->mtu);
	json_put_bool(a, t, "up", l->up);
	json_put_bool(a, t, "running", l->running);
	put_number(a, t, "parent", l->parent);
	json_put_i64(a, t, "parentNSID", l->parent_nsid);
	put_number(a, t, "master", l->master);
	put_number(a, t, "vlan", l->vlan);
}

static void put_hardware(struct arena *a, struct json *o, const struct nic_hardware *h)
{
	struct json *t;

	if (!h->there)
		return;
	t = json_need_object(a, o, "hardware");
	put_number(a, t, "speed", h->speed);
	json_put_i64(a, t, "numa", h->numa);
	book_form_put_text(a, t, "driver", h->driver);
}

static void put_copy(struct arena *a, struct json *o, const char *key, const struct json *v)
{
	struct json *copy;

	if (!v)
		return;
	(void)json_copy(a, v, &copy, NULL); /* the arena has no limit */
	json_setz(o, key, copy);
}

static void put_altnames(const struct nic_use *u, struct arena *a, struct json *o)
{
	struct json *list = u->naltnames ? json_need_array(a, o, "altnames") : NULL;

	for (size_t i = 0; i < u->naltnames; i++)
		json_append(list, json_make_str(a, str_from(u->altnames[i])));
}

static void put_stay(const struct nic_use *u, struct arena *a, struct json *o)
{
	put_needed(a, o, "containerID", u->container_id);
	put_needed(a, o, "netns", u->netns);
	book_form_put_text(a, o, "cniPath", u->cni_path);
	book_form_put_text(a, o, "cniNetwork", u->cni_network);
	json_setz(o, "netnsID", json_make_u64(a, u->netns_id));
	book_form_put_text(a, o, "podInterface", u->interface);
	book_form_put_text(a, o, "cniIfname", u->cni_ifname);
	put_number(a, o, "podIndex", u->index);
	book_form_put_text(a, o, "peer", u->peer);
	put_number(a, o, "parentIndex", u->parent);
	put_link(a, o, "before", &u->before);
	book_form_put_text(a, o, "master", u->master);
	put_altnames(u, a, o);
	put_copy(a, o, "cniResult", u->cni_result);
}

struct json *nic_use_tree(const struct nic_use *u, struct arena *a)
{
	struct json *o = json_make_object(a);

	put_needed(a, o, "claimNamespace", u->claim_ns);
	put_needed(a, o, "claimName", u->claim_name);
	put_needed(a, o, "claimUID", u->claim_uid);
	put_needed(a, o, "podName", u->pod_name);
	put_needed(a, o, "podUID", u->pod_uid);
	put_needed(a, o, "pool", u->pool);
	book_form_put_text(a, o, "shareID", u->share_id);
	book_form_put_text(a, o, "device", u->nic.device);
	book_form_put_text(a, o, "kind", nic_kind_name(u->nic.kind));
	book_form_put_text(a, o, "interface", u->nic.interface);
	book_form_put_text(a, o, "parent", u->nic.parent);
	put_number(a, o, "vlan", u->nic.vlan);
	put_number(a, o, "macvlanMode", u->nic.macvlan_mode);
	put_link(a, o, "link", &u->nic.link);
	put_hardware(a, o, &u->nic.hardware);
	json_setz(o, "config", nic_config_tree(&u->config, a));
	book_form_put_text(a, o, "state", state_names[u->state]);
	if (u->state != NIC_PREPARED)
		put_stay(u, a, o);
	return o;
}

/* --- reading ------------------------------------------------------------------------------ */

struct form {
	const struct json *tree;
	const char *path; /* before a member's name in messages */
	struct error *err;
	int r; /* the first error */
};

static void book_form_fault(struct form *f, const char *key, const char *what)
{
	if (f->r == 0)
		f->r = error_set(f->err, ERR_INVALID, "%s%s %s", f->path, key, what);
}

/* STR_NULL if missing. A NUL is rejected: it would truncate comparisons and file names. */
static struct str text_at(struct form *f, const char *key)
{
	const struct json *v = json_getz(f->tree, key);
	struct str text = json_str(v);

	if (v && (!text.p || memchr(text.p, 0, text.n))) {
		book_form_fault(f, key, "is not a string");
		return STR_NULL;
	}
	return text;
}

static const char *take_text(struct form *f, struct arena *a, const char *key)
{
	struct str text = text_at(f, key);

	return text.p ? arena_strdup(a, text) : NULL;
}

static const char *need_text(struct form *f, struct arena *a, const char *key)
{
	struct str text = text_at(f, key);

	if (!text.p)
		book_form_fault(f, key, "is missing");
	return arena_strdup(a, text);
}

static void take_into(struct form *f, const char *key, char *out, size_t size)
{
	struct str text = text_at(f, key);

	if (text.n >= size)
		book_form_fault(f, key, "is too long");
	else
		(void)snprintf(out, size, "%.*s", STR_ARG(text));
}

static void take_name(struct form *f, const char *key, char out[static RTNL_NAME])
{
	struct str text = text_at(f, key);

	if (text.p && !rtnl_name_is_valid(text))
		book_form_fault(f, key, "is not an interface name");
	else
		take_into(f, key, out, RTNL_NAME);
}

static int64_t take_number(struct form *f, const char *key, int64_t min, int64_t max)
{
	const struct json *v = json_getz(f->tree, key);
	int64_t n = 0;

	if (v && (!json_i64(v, &n) || n < min || n > max)) {
		book_form_fault(f, key, "is out of range");
		return 0;
	}
	return n;
}

static bool take_bool(struct form *f, const char *key)
{
	const struct json *v = json_getz(f->tree, key);
	bool b = false;

	if (v && !json_bool(v, &b))
		book_form_fault(f, key, "is neither true nor false");
	return b;
}

/* Any length: those of InfiniBand have 20 bytes. */
static void take_mac(struct form *f, const char *key, struct rtnl_mac *mac)
{
	struct str rest = text_at(f, key), piece;

	mac->n = 0;
	while (rest.p && str_split(&rest, ':', &piece)) {
		int high = piece.n == 2 ? str_hex_digit(piece.p[0]) : -1;
		int low = piece.n == 2 ? str_hex_digit(piece.p[1]) : -1;

		if (high < 0 || low < 0 || mac->n == RTNL_MAC) {
			book_form_fault(f, key, "is not a hardware address");
			return;
		}
		mac->bytes[mac->n++] = (unsigned char)(high << 4 | low);
	}
}

static void take_link(struct form *whole, const char *key, struct rtnl_link *l)
{
	struct form f = { .tree = json_getz(whole->tree, key), .err = whole->err };
	char path[32];

	if (f.tree && !json_is(f.tree, JSON_OBJECT))
		book_form_fault(whole, key, "is not an object");
	if (!f.tree || whole->r < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s.", key);
	f.path = path;
	l->index = (int)take_number(&f, "index", 1, INT_MAX);
	take_name(&f, "name", l->name);
	take_into(&f, "kind", l->kind, sizeof(l->kind));
	take_mac(&f, "mac", &l->mac);
	take_mac(&f, "permanentMAC", &l->permanent);
	l->mtu = (uint32_t)take_number(&f, "mtu", 0, UINT32_MAX);
	l->up = take_bool(&f, "up");
	l->running = take_bool(&f, "running");
	l->parent = (int)take_number(&f, "parent", 0, INT_MAX);
	l->parent_nsid = (int)take_number(&f, "parentNSID", INT_MIN, INT_MAX);
	l->master = (int)take_number(&f, "master", 0, INT_MAX);
	l->vlan = (uint16_t)take_number(&f, "vlan", 0, UINT16_MAX);
	if (l->index == 0 || !l->name[0])
		book_form_fault(&f, "index", "or name is missing");
	if (whole->r == 0)
		whole->r = f.r;
}

static void take_hardware(struct form *whole, struct nic_hardware *h)
{
	struct form f = { .tree = json_getz(whole->tree, "hardware"),
			  .path = "hardware.",
			  .err = whole->err };

	h->numa = -1;
	if (f.tree && !json_is(f.tree, JSON_OBJECT))
		book_form_fault(whole, "hardware", "is not an object");
	if (!f.tree || whole->r < 0)
		return;
	h->there = true;
	h->speed = (uint32_t)take_number(&f, "speed", 0, UINT32_MAX);
	if (json_getz(f.tree, "numa"))
		h->numa = (int)take_number(&f, "numa", -1, INT_MAX);
	take_into(&f, "driver", h->driver, sizeof(h->driver));
	whole->r = f.r;
}

static void take_state(struct form *f, struct nic_use *u)
{
	struct str text = text_at(f, "state");

	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (str_eqz(text, state_names[i])) {
			u->state = (enum nic_state)i;
			return;
		}
	book_form_fault(f, "state", "is unknown");
}

static void take_nic(struct form *f, struct nic *nic)
{
	take_into(f, "device", nic->device, sizeof(nic->device));
	if (!nic->device[0])
		book_form_fault(f, "device", "is missing");
	if (!nic_kind_parse(text_at(f, "kind"), &nic->kind))
		book_form_fault(f, "kind", "is unknown");
	take_name(f, "interface", nic->interface);
	if (nic->kind == NIC_HOST && !nic->interface[0])
		book_form_fault(f, "interface", "is missing");
	take_name(f, "parent", nic->parent);
	nic->vlan = (uint16_t)take_number(f, "vlan", 0, UINT16_MAX);
	nic->macvlan_mode = (uint32_t)take_number(f, "macvlanMode", 0, UINT32_MAX);
	take_link(f, "link", &nic->link);
	take_hardware(f, &nic->hardware);
	nic->present = true;
	nic->health = DP_HEALTHY;
}

static void take_netns_id(struct form *f, uint64_t *ret_id)
{
	const struct json *v = json_getz(f->tree, "netnsID");

	if (!json_u64(v, ret_id))
		book_form_fault(f, "netnsID", "is not the number of a namespace");
}

static void take_altnames(struct form *f, struct nic_use *u)
{
	const struct json *list = json_getz(f->tree, "altnames");

	if (list && !json_is(list, JSON_ARRAY))
		book_form_fault(f, "altnames", "is not a list");
	JSON_FOREACH (it, list) {
		struct str text = json_str(it);

		if (!text.p || text.n >= RTNL_ALTNAME || memchr(text.p, 0, text.n))
			book_form_fault(f, "altnames", "has an entry that is not a name");
		else
			nic_use_add_altname(u, arena_strdup(&u->stay, text));
	}
}

static void take_stay(struct form *f, struct nic_use *u)
{
	const struct json *result = json_getz(f->tree, "cniResult");

	u->container_id = need_text(f, &u->stay, "containerID");
	u->netns = need_text(f, &u->stay, "netns");
	u->cni_path = take_text(f, &u->stay, "cniPath");
	u->cni_network = take_text(f, &u->stay, "cniNetwork");
	take_netns_id(f, &u->netns_id);
	take_name(f, "podInterface", u->interface);
	if (!u->interface[0])
		book_form_fault(f, "podInterface", "is missing");
	take_name(f, "cniIfname", u->cni_ifname);
	if (u->config.cni && !u->cni_ifname[0])
		memcpy(u->cni_ifname, u->interface, RTNL_NAME);
	u->index = (int)take_number(f, "podIndex", 0, INT_MAX);
	take_name(f, "peer", u->peer);
	u->parent = (int)take_number(f, "parentIndex", 0, INT_MAX);
	take_link(f, "before", &u->before);
	if (u->nic.kind == NIC_HOST && !u->config.cni && !u->before.index)
		book_form_fault(f, "before", "is missing");
	take_name(f, "master", u->master);
	take_altnames(f, u);
	if (f->r == 0 && result)
		f->r = nic_use_set_result(u, result, f->err);
}

int nic_use_from_tree(struct nic_use *u, const struct json *tree, struct error *err)
{
	struct form f = { .tree = tree, .path = "", .err = err };

	if (!json_is(tree, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "a use is not an object");
	u->claim_ns = need_text(&f, &u->arena, "claimNamespace");
	if (!cdi_file_is_safe(str_from(u->claim_ns)))
		book_form_fault(&f, "claimNamespace", "can be no file's name");
	u->claim_name = need_text(&f, &u->arena, "claimName");
	u->claim_uid = need_text(&f, &u->arena, "claimUID");
	u->pod_name = need_text(&f, &u->arena, "podName");
	u->pod_uid = need_text(&f, &u->arena, "podUID");
	if (!cdi_file_is_safe(str_from(u->pod_uid)))
		book_form_fault(&f, "podUID", "can be no file's name");
	u->pool = need_text(&f, &u->arena, "pool");
	u->share_id = take_text(&f, &u->arena, "shareID");
	take_nic(&f, &u->nic);
	if (f.r == 0)
		f.r = nic_config_from_tree(&u->arena, json_getz(tree, "config"), &u->config, err);
	take_state(&f, u);
	if (f.r == 0 && u->state != NIC_PREPARED)
		take_stay(&f, u);
	return f.r;
}
