/*
 * Attributes have the names that NVIDIA's driver uses, where it has them, so that selectors written
 * for it work here.
 */
#include "drivers/sim/kind.h"

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/tls/pki_sign.h"

/* The rest of VENDOR_ATTRIBUTES is for parts of a device. */
enum { KIND_ATTRIBUTES = 8, KIND_FABRIC_ATTRIBUTES = 6 };

static const struct vendor_kind kinds[] = {
	{ .name = "gpu",
	  .model = "Devplane SimGPU 80GB",
	  .uuid_prefix = "GPU-",
	  .detail_name = "architecture",
	  .capacity = { { "memory", "80Gi" }, { "multiprocessors", "108" } } },
	{ .name = "nic",
	  .model = "Devplane SimNIC 100G",
	  .uuid_prefix = "NIC-",
	  .detail_name = "hardwareAddress",
	  .capacity = { { "bandwidth", "100G" }, { NULL, NULL } } },
	{ .name = "fpga",
	  .model = "Devplane SimFPGA U50",
	  .uuid_prefix = "FPGA-",
	  .detail_name = "bitstream",
	  .capacity = { { "luts", "872k" }, { "memory", "8Gi" } } },
};

const struct vendor_kind *vendor_kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

void vendor_kind_fill(const struct vendor_kind *k, const char *seed, unsigned index, int numa,
		      struct vendor_device *d)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	uint8_t h[PKI_SHA256_SIZE];

	*d = (struct vendor_device){ .index = index, .numa = numa };
	(void)buf_printf(&text, "%s/%s/%u", seed, k->name, index);
	pki_sha256(buf_str(&text), h);
	(void)snprintf(d->name, sizeof(d->name), "%s-%u", k->name, index);
	(void)snprintf(d->uuid, sizeof(d->uuid),
		       "%s%02x%02x%02x%02x-%02x%02x-4%01x%02x-8%01x%02x-%02x%02x%02x%02x%02x%02x",
		       k->uuid_prefix, h[0], h[1], h[2], h[3], h[4], h[5], h[6] & 15, h[7],
		       h[8] & 15, h[9], h[10], h[11], h[12], h[13], h[14], h[15]);
	(void)snprintf(d->bus, sizeof(d->bus), "0000:%02x:%02x.0", (index / 32) & 255, index % 32);
	if (strcmp(k->name, "gpu") == 0)
		(void)snprintf(d->detail, sizeof(d->detail), "Simulated");
	else if (strcmp(k->name, "nic") == 0)
		(void)snprintf(d->detail, sizeof(d->detail), "02:%02x:%02x:%02x:%02x:%02x", h[16],
			       h[17], h[18], h[19], h[20]);
	else
		(void)snprintf(d->detail, sizeof(d->detail), "shell-%02x%02x", h[16], h[17]);
}

static void text(struct dp_attribute *a, const char *name, const char *value)
{
	*a = (struct dp_attribute){ sizeof(*a), DP_STRING, name, value, 0 };
}

static void kind_number(struct dp_attribute *a, const char *name, int64_t value)
{
	*a = (struct dp_attribute){ sizeof(*a), DP_INT, name, NULL, value };
}

void vendor_kind_describe(const struct vendor_kind *k, const struct vendor_device *v,
			  struct dp_attribute *attributes, struct dp_capacity *capacity,
			  struct dp_device *d)
{
	text(&attributes[0], "uuid", v->uuid);
	text(&attributes[1], "productName", k->model);
	text(&attributes[2], "type", k->name);
	text(&attributes[3], k->detail_name, v->detail);
	text(&attributes[4], "pciBusID", v->bus);
	kind_number(&attributes[5], "index", v->index);
	kind_number(&attributes[6], "numaNode", v->numa);
	attributes[7] = (struct dp_attribute){ sizeof(attributes[7]), DP_VERSION, "driverVersion",
					       "1.0.0", 0 };
	/* A network-attached device has no place in a node. */
	if (v->fabric) {
		text(&attributes[2], "type", "fabric");
		attributes[4] = attributes[7];
	}
	*d = (struct dp_device){ .size = sizeof(*d),
				 .health = v->silent   ? DP_UNREPORTED
					   : v->failed ? DP_UNHEALTHY
						       : DP_HEALTHY,
				 .name = v->name,
				 .attributes = attributes,
				 .nattributes = v->fabric ? KIND_FABRIC_ATTRIBUTES
							  : KIND_ATTRIBUTES,
				 .capacity = capacity,
				 .message = v->message,
				 .has_numa = !v->fabric,
				 .numa = v->numa };
	for (size_t i = 0; i < VENDOR_CAPACITIES && k->capacity[i][0]; i++) {
		capacity[i] = (struct dp_capacity){ .size = sizeof(capacity[i]),
						    .name = k->capacity[i][0],
						    .quantity = k->capacity[i][1] };
		d->ncapacity++;
	}
}
