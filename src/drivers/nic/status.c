/*
 * The device status in claims (KEP-4817). The entry of a use is made again after every change; the
 * SDK writes it only if it differs. For a use in a pod the kernel's state decides, otherwise the
 * last operation.
 */
#include "api/api_limits.h"
#include "base/json/writer.h"
#include "drivers/nic/driver_impl.h"

/* --- what the kernel says -------------------------------------------------------------------- */

static bool has_ip(const struct nic_seen *s, const struct rtnl_ip *ip)
{
	size_t n = ip->family == AF_INET ? 4 : 16;

	for (size_t i = 0; i < s->nips; i++)
		if (s->ips[i].family == ip->family && s->ips[i].prefix == ip->prefix &&
		    memcmp(s->ips[i].bytes, ip->bytes, n) == 0)
			return true;
	return false;
}

static const struct rtnl_ip *missing_ip(const struct nic_use *u, const struct nic_seen *s)
{
	for (size_t i = 0; i < u->config.naddresses; i++)
		if (!has_ip(s, &u->config.addresses[i]))
			return &u->config.addresses[i];
	return NULL;
}

const char *nic_status_judge(const struct nic_use *u, const struct nic_seen *s,
			     char message[static 512])
{
	const struct rtnl_ip *ip;
	char text[RTNL_IP_TEXT], name[RTNL_NAME_TEXT];

	rtnl_name_print(s->there ? s->link.name : u->interface, name);
	if (!s->there) {
		(void)snprintf(message, 512, "%s is no longer in the pod's namespace", name);
		return "InterfaceGone";
	}
	if (!s->link.up || !s->link.running) {
		(void)snprintf(message, 512, "%s %s", name,
			       s->link.up ? "has no carrier" : "is switched off");
		return "LinkDown";
	}
	ip = missing_ip(u, s);
	if (ip) {
		rtnl_ip_print(ip, text);
		(void)snprintf(message, 512, "%s does not have the address %s", name, text);
		return "AddressMissing";
	}
	(void)snprintf(message, 512, "%s is in pod %s/%s", name, u->claim_ns, u->pod_name);
	return "Attached";
}

/* --- data ------------------------------------------------------------------------------------ */

static void status_put(struct json_writer *w, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_writer_keyz(w, key);
	json_writer_strz(w, text);
}

/* Its interface on the node: the moved link, a veth's other end, or the parent. */
static const char *status_on_node(const struct nic_use *u)
{
	if (u->nic.kind == NIC_HOST)
		return u->nic.interface;
	if (u->nic.kind == NIC_VETH && u->peer[0])
		return u->peer;
	return u->nic.parent;
}

static int print_data(struct buf *out, const struct nic_view *v, bool with_result)
{
	const struct nic_use *u = v->use;
	uint32_t mtu = v->pod && v->seen.there ? v->seen.link.mtu : u->config.mtu;
	struct json_writer w;

	buf_clear(out);
	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	status_put(&w, "network", u->config.network);
	status_put(&w, "device", u->nic.device);
	status_put(&w, "kind", nic_kind_name(u->nic.kind));
	status_put(&w, "nodeInterface", status_on_node(u));
	if (mtu > 0) {
		json_writer_keyz(&w, "mtu");
		json_writer_u64(&w, mtu);
	}
	if (with_result && v->pod && u->cni_result) {
		json_writer_keyz(&w, "cniResult");
		json_writer_tree(&w, u->cni_result);
	}
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}

/* --- the entry ------------------------------------------------------------------------------- */

/*
 * Sends the entry. If it is rejected, the pod's data may be the reason, so it is sent again without
 * that data, to report at least Ready. *told (or NULL) says whether that was so the last time.
 */
static void status_say(struct nic_driver *d, const struct dp_claim_id *id,
		       struct dp_device_status *s, struct dp_condition *c, bool *told)
{
	char message[512];
	bool refused;

	refused = dp_driver_set_status(d->driver, id, s, message, sizeof(message)) < 0;
	if (refused && (!told || !*told))
		log_warn(d->opts.log, "claim status truncated", LOG_Z("namespace", id->ns),
			 LOG_Z("claim", id->name), LOG_Z("device", s->device),
			 LOG_Z("error", message));
	if (told)
		*told = refused;
	if (!refused)
		return;
	s->data = s->interface_name = s->hardware_address = NULL;
	s->nips = 0;
	if (dp_driver_set_status(d->driver, id, s, NULL, 0) < 0) {
		c->message = "the rest of the status was rejected";
		(void)dp_driver_set_status(d->driver, id, s, NULL, 0);
	}
}

static struct dp_condition ready(const char *reason, const char *message)
{
	return (struct dp_condition){ .size = sizeof(struct dp_condition),
				      .status = strcmp(reason, "Attached") == 0 ? DP_TRUE
										: DP_FALSE,
				      .type = "Ready",
				      .reason = reason,
				      .message = message };
}

static void send_entry(struct nic_view *v, const char *reason, const char *message)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT(OPAQUE_PARAMETERS_MAX);
	const struct nic_use *u = v->use;
	struct dp_claim_id id = {
		.size = sizeof(id), .ns = u->claim_ns, .name = u->claim_name, .uid = u->claim_uid
	};
	struct dp_condition c = ready(reason, message);
	struct dp_device_status s = { .size = sizeof(s),
				      .pool = u->pool,
				      .device = u->nic.device,
				      .share_id = u->share_id,
				      .conditions = &c,
				      .nconditions = 1 };
	char texts[NIC_IPS_MAX][RTNL_IP_TEXT], mac[RTNL_MAC_TEXT];
	const char *ips[NIC_IPS_MAX];

	/* A plugin's result may be too large for an entry; it is then omitted. */
	if (print_data(&data, v, true) == 0 || print_data(&data, v, false) == 0)
		s.data = data.p;
	if (v->pod && v->seen.there) {
		for (; s.nips < v->seen.nips; s.nips++) {
			rtnl_ip_print(&v->seen.ips[s.nips], texts[s.nips]);
			ips[s.nips] = texts[s.nips];
		}
		rtnl_mac_print(&v->seen.link.mac, mac);
		s.ips = ips;
		/* A name that is not UTF-8 is omitted; the message has it in escaped form. */
		if (rtnl_name_is_text(v->seen.link.name))
			s.interface_name = v->seen.link.name;
		s.hardware_address = mac[0] ? mac : NULL;
	}
	status_say(v->driver, &id, &s, &c, &v->untold);
}

static void send_health(struct nic_view *v, const char *reason, const char *message)
{
	bool bad = strcmp(reason, "LinkDown") == 0 || strcmp(reason, "InterfaceGone") == 0;
	uint32_t health = bad ? DP_UNHEALTHY : DP_HEALTHY;

	if (health == v->health)
		return;
	v->health = health;
	(void)nic_inventory_set_health(v->driver->inventory, v->use->nic.device, health,
				       bad ? message : NULL);
	(void)dp_driver_set_health(v->driver->driver, v->use->pool, v->use->nic.device, health,
				   bad ? message : NULL);
}

void nic_status_tell(struct nic_view *v)
{
	const char *reason = v->reason;

	if (v->pod) {
		reason = nic_status_judge(v->use, &v->seen, v->message);
		send_health(v, reason, v->message);
	}
	if (v->several[0])
		send_entry(v, "ReservedForSeveralPods", v->several);
	else if (reason)
		send_entry(v, reason, v->message);
}

void nic_status_set(struct nic_view *v, const char *reason, const char *message)
{
	v->reason = reason;
	(void)snprintf(v->message, sizeof(v->message), "%s", message);
	nic_status_tell(v);
}

void nic_status_refuse(struct nic_driver *d, const struct dp_claim *c, const struct dp_result *r,
		       const char *reason, const char *message)
{
	struct dp_claim_id id = { .size = sizeof(id),
				  .ns = dp_claim_namespace(c),
				  .name = dp_claim_name(c),
				  .uid = dp_claim_uid(c) };
	struct dp_condition condition = ready(reason, message);
	struct dp_device_status s = { .size = sizeof(s),
				      .pool = r->pool,
				      .device = r->device,
				      .share_id = r->share_id,
				      .conditions = &condition,
				      .nconditions = 1 };

	status_say(d, &id, &s, &condition, NULL);
}

void nic_status_interface(const struct nic_use *u, const struct nic_seen *s,
			  struct json_writer *out)
{
	char text[MAX(RTNL_IP_TEXT, RTNL_MAC_TEXT)], name[RTNL_NAME_TEXT];

	rtnl_name_print(s->there ? s->link.name : u->interface, name);
	rtnl_mac_print(&s->link.mac, text);
	json_writer_begin_object(out);
	status_put(out, "name", name);
	status_put(out, "mac", text);
	json_writer_keyz(out, "ips");
	json_writer_begin_array(out);
	for (size_t i = 0; i < s->nips; i++) {
		rtnl_ip_print(&s->ips[i], text);
		json_writer_strz(out, text);
	}
	json_writer_end_array(out);
	json_writer_end_object(out);
}
