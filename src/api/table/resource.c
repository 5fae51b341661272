/*
 * Columns of resource.k8s.io, with the device status of claims (KEP-4817).
 */
#include "api/table/column.h"

void column_claim_state(const struct json *object, int64_t now_ns, struct buf *out)
{
	bool deleting = column_find(object, "metadata.deletionTimestamp") != NULL;
	bool reserved = json_count(column_find(object, "status.reservedFor")) > 0;

	if (!column_find(object, "status.allocation"))
		column_text(out, deleting ? STR("deleted") : STR("pending"), "");
	else
		column_printf(out, "%sallocated%s", deleting ? "deleted," : "",
			      reserved ? ",reserved" : "");
}

/* Prints "1/2 ready" of the allocated devices; only "2" while no driver has reported readiness. */
void column_claim_devices(const struct json *object, int64_t now_ns, struct buf *out)
{
	size_t all = json_count(column_find(object, "status.allocation.devices.results"));
	size_t told = 0, ready = 0;

	JSON_FOREACH (device, column_find(object, "status.devices")) {
		const struct json *c = json_find(json_getz(device, "conditions"), "type",
						 STR("Ready"));

		told += c != NULL;
		ready += str_eqz(json_text_at(c, "status"), "True");
	}
	if (all == 0)
		column_text(out, STR("<none>"), "");
	else if (told == 0)
		column_printf(out, "%zu", all);
	else
		column_printf(out, "%zu/%zu ready", ready, all);
}

void column_claim_addresses(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(CELL_MAX);

	JSON_FOREACH (device, column_find(object, "status.devices")) {
		JSON_FOREACH (ip, column_find(device, "networkData.ips"))
			(void)buf_printf(&text, "%s%.*s", text.n > 0 ? "," : "",
					 STR_ARG(json_str(ip)));
	}
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

void column_taint_time(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_since(out, column_find_str(object, "spec.taint.timeAdded"), now_ns, "");
}

/* --- pool status requests -------------------------------------------------------------------- */

/* Sums over the found pools; "-" while there is no answer. */
static void pool_sum(const struct json *object, const char *key, struct buf *out)
{
	long long sum = 0;

	if (!json_getz(object, "status") || column_condition(object, STR("Failed"))) {
		column_text(out, STR_NULL, "-");
		return;
	}
	JSON_FOREACH (pool, column_find(object, "status.pools"))
		sum += column_find_i64(pool, key);
	column_printf(out, "%lld", sum);
}

void column_pool_total(const struct json *object, int64_t now_ns, struct buf *out)
{
	pool_sum(object, "totalDevices", out);
}

void column_pool_available(const struct json *object, int64_t now_ns, struct buf *out)
{
	pool_sum(object, "availableDevices", out);
}

void column_pool_allocated(const struct json *object, int64_t now_ns, struct buf *out)
{
	pool_sum(object, "allocatedDevices", out);
}

void column_pool_unavailable(const struct json *object, int64_t now_ns, struct buf *out)
{
	pool_sum(object, "unavailableDevices", out);
}

void column_pool_errors(const struct json *object, int64_t now_ns, struct buf *out)
{
	long long n = 0;

	if (!json_getz(object, "status") || column_condition(object, STR("Failed"))) {
		column_text(out, STR_NULL, "-");
		return;
	}
	JSON_FOREACH (pool, column_find(object, "status.pools"))
		n += json_getz(pool, "validationError") != NULL;
	column_printf(out, "%lld", n);
}

void column_pool_status(const struct json *object, int64_t now_ns, struct buf *out)
{
	size_t told = json_count(column_find(object, "status.pools"));
	int64_t all = column_find_i64(object, "status.poolCount");

	if (column_condition(object, STR("Failed")))
		column_text(out, STR("Failed"), "");
	else if (!column_condition(object, STR("Complete")))
		column_text(out, STR("Pending"), "");
	else if (all > (int64_t)told)
		column_printf(out, "Complete (%zu/%lld pools)", told, (long long)all);
	else
		column_text(out, STR("Complete"), "");
}

void column_pool_completed(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str time = STR_NULL;

	JSON_FOREACH (c, column_find(object, "status.conditions"))
		if (str_eqz(column_find_str(c, "type"), "Complete") &&
		    str_eqz(column_find_str(c, "status"), "True"))
			time = column_find_str(c, "lastTransitionTime");
	column_since(out, time, now_ns, "<none>");
}
