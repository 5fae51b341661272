/* Entries are made from the device's current state. The SDK skips writes that change nothing. */
#include "drivers/sim/status.h"

#include <stdio.h>

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/report/log.h"
#include "base/text/ip6.h"
#include "net/tls/pki_sign.h"

static const struct vendor_device *status_find(const struct vendor_status *s, const char *name)
{
	for (size_t i = 0; i < s->ndevices; i++)
		if (strcmp(s->devices[i].name, name) == 0)
			return &s->devices[i];
	return NULL;
}

static struct dp_condition status_condition_of(const struct vendor_device *d)
{
	struct dp_condition c = {
		.size = sizeof(c), .type = "Ready", .status = DP_TRUE, .reason = "Prepared"
	};

	if (d->removed) {
		c.status = DP_FALSE;
		c.reason = "Unplugged";
	} else if (d->silent) {
		c.status = DP_UNKNOWN_CONDITION;
		c.reason = "Silent";
	} else if (d->failed) {
		c.status = DP_FALSE;
		c.reason = "Unhealthy";
		c.message = d->message;
	}
	return c;
}

/* {"uuid":"..","padding":"xxx.."} */
static void write_data(const struct vendor_status *s, const struct vendor_device *d,
		       struct buf *out)
{
	(void)buf_printf(out, "{\"uuid\":\"%s\"", d->uuid);
	if (s->data_size > 0) {
		(void)buf_addz(out, ",\"padding\":\"");
		while (out->n + 2 < s->data_size)
			(void)buf_addc(out, 'x');
		(void)buf_addc(out, '"');
	}
	(void)buf_addc(out, '}');
}

struct addresses {
	char name[16], v4[24], v6[IP6_TEXT + 4];
	const char *ips[2];
};

static void fill_addresses(const struct vendor_device *d, struct addresses *a)
{
	unsigned char v6[16] = { 0x20, 0x01, 0x0d, 0xb8 };
	uint8_t h[PKI_SHA256_SIZE];
	char text[IP6_TEXT];

	pki_sha256(str_from(d->uuid), h);
	memcpy(&v6[8], h, 8);
	ip6_print(v6, text);
	(void)snprintf(a->name, sizeof(a->name), "sim%u", d->index);
	(void)snprintf(a->v4, sizeof(a->v4), "198.%d.%d.%d/15", 18 + (h[0] & 1), h[1], h[2]);
	(void)snprintf(a->v6, sizeof(a->v6), "%s/32", text);
	a->ips[0] = a->v4;
	a->ips[1] = a->v6;
}

static struct dp_claim_id status_id_of(const struct dp_claim *c)
{
	return (struct dp_claim_id){ .size = sizeof(struct dp_claim_id),
				     .ns = dp_claim_namespace(c),
				     .name = dp_claim_name(c),
				     .uid = dp_claim_uid(c) };
}

static void tell_device(const struct vendor_status *s, const struct dp_claim *c,
			const struct dp_result *r, const struct vendor_device *d)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT(OPAQUE_PARAMETERS_MAX);
	struct dp_condition ready = status_condition_of(d);
	struct dp_claim_id id = status_id_of(c);
	struct dp_device_status status = { .size = sizeof(status),
					   .pool = r->pool,
					   .device = r->device,
					   .share_id = r->share_id,
					   .conditions = &ready,
					   .nconditions = 1 };
	struct addresses a;
	char message[256];

	write_data(s, d, &data);
	status.data = data.p;
	if (strcmp(s->kind->name, "nic") == 0) {
		fill_addresses(d, &a);
		status.interface_name = a.name;
		status.ips = a.ips;
		status.nips = ARRAY_SIZE(a.ips);
		status.hardware_address = d->detail;
	}
	if (dp_driver_set_status(s->driver, &id, &status, message, sizeof(message)) < 0)
		log_warn(s->log, "cannot update claim status", LOG_Z("device", d->name),
			 LOG_Z("error", message));
}

/* `only` may be empty: reports all devices of the claim. */
static void status_tell(const struct vendor_status *s, const struct dp_claim *c, struct str only)
{
	const struct vendor_device *d;
	const struct dp_result *r;

	for (size_t i = 0; (r = dp_claim_result(c, i)); i++) {
		d = only.n == 0 || str_eqz(only, r->device) ? status_find(s, r->device) : NULL;
		if (d)
			tell_device(s, c, r, d);
	}
}

void vendor_status_tell(const struct vendor_status *s, const struct dp_claim *c)
{
	if (!s->off)
		status_tell(s, c, STR_NULL);
}

void vendor_status_clear(const struct vendor_status *s, const struct dp_claim *c)
{
	struct dp_claim_id id = status_id_of(c);

	if (!s->off)
		dp_driver_clear_status(s->driver, &id);
}

struct change {
	const struct vendor_status *status;
	struct str device;
};

static void status_on_claim(void *arg, const struct dp_claim *c)
{
	const struct change *change = arg;

	status_tell(change->status, c, change->device);
}

void vendor_status_changed(const struct vendor_status *s, struct str device)
{
	struct change change = { s, device };

	if (!s->off)
		dp_driver_each_claim(s->driver, status_on_claim, &change);
}
